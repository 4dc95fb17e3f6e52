# A client of PipeWire that asks for the end of others before it has heard anything, in one message to the server.
#
#     destroy.py ID…
#
# It ends when the server has answered all of it.
import os, socket, struct, sys


# Simple Plug-in API objects (POD): size, type, value, padding. The types are those of spa/utils/type.h.
def pod(kind, value):
    return struct.pack("<II", len(value), kind) + value + bytes(-len(value) % 8)


def integer(number):
    return pod(4, struct.pack("<i", number))


def string(text):
    return pod(8, text.encode() + b"\0")


def message(target, method, *arguments):
    body = pod(14, b"".join(arguments))
    return struct.pack("<IIII", target, method << 24 | len(body), 0, 0) + body


CORE, CLIENT, REGISTRY = 0, 1, 2
HELLO, SYNC, GET_REGISTRY = 1, 2, 5
UPDATE_PROPERTIES, DESTROY = 2, 2
DONE = 1

request = message(CORE, HELLO, integer(3))
name = pod(14, integer(1) + string("application.name") + string("destroy.py"))
request += message(CLIENT, UPDATE_PROPERTIES, name)
request += message(CORE, GET_REGISTRY, integer(3), integer(REGISTRY))
for number in sys.argv[1:]:
    request += message(REGISTRY, DESTROY, integer(int(number)))
request += message(CORE, SYNC, integer(0), integer(0))

server = socket.socket(socket.AF_UNIX)
server.connect(os.environ["XDG_RUNTIME_DIR"] + "/pipewire-0")
server.sendall(request)
answers = server.makefile("rb")
while header := answers.read(16):
    source, event, _, _ = struct.unpack("<IIII", header)
    answers.read(event & 0xFFFFFF)
    if (source, event >> 24) == (CORE, DONE):
        print("done")
        break
