"""Serves a page that asks for the location, and prints its port and what the page tells."""

import http.server

PAGE = b"""<script>
const tell = what => fetch("/told/" + what)
navigator.geolocation.getCurrentPosition(() => tell("allowed"), error => tell(error.code == 1 ? "denied" : "allowed"))
</script>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/told/"):
            print(self.path[6:], flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE if self.path == "/" else b"")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
