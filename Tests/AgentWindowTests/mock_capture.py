"""Runs the browser whose path is given with WebKit's mock devices, and prints how its page was answered."""

import runpy
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gtk, WebKit2  # noqa: E402, F401

PAGE = """<script>
navigator.mediaDevices.getUserMedia({video: true, audio: true}).then(
    stream => document.title = stream.getTracks().map(track => track.kind).sort(), error => document.title = error.name)
</script>"""


def begin():
    view = Gtk.Window.list_toplevels()[0].get_child()
    view.get_settings().set_enable_mock_capture_devices(True)
    view.connect("notify::title", lambda *_: print(view.get_title(), flush=True))
    view.load_html(PAGE, "https://call.example/")
    main()


main, Gtk.main = Gtk.main, begin
runpy.run_path(sys.argv[1], run_name="__main__")
