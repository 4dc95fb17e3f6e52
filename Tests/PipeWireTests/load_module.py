# A client of the PulseAudio server that loads a module, and leaves with it before PipeWire has seen either.
#
#     load_module.py MODULE ARGUMENT…
#
# It prints a line when it has connected, and when it reads one, has the module loaded, leaves and prints another.
import os, socket, struct, sys

AUTH, SET_CLIENT_NAME, LOAD_MODULE = 8, 9, 51
VERSION, COOKIE_LENGTH, NO_CHANNEL = 35, 256, 0xFFFFFFFF


# The values of a tag structure (PulseAudio's native protocol): a tag, and a value in network order.
def number(value):
    return b"L" + struct.pack(">I", value)


def text(value):
    return b"t" + value.encode() + b"\0"


def data(value):
    return b"x" + struct.pack(">I", len(value)) + value


def send(server, command, *values):
    body = number(command) + number(command) + b"".join(values)
    server.sendall(struct.pack(">IIIII", len(body), NO_CHANNEL, 0, 0, 0) + body)


def call(server, command, *values):
    send(server, command, *values)
    while True:
        length, channel = struct.unpack(">II12x", receive(server, 20))
        answer = receive(server, length)
        if channel == NO_CHANNEL and answer[5:10] == number(command):
            return


def receive(server, length):
    received = b""
    while len(received) < length:
        received += server.recv(length - len(received)) or sys.exit("the server has closed the connection")
    return received


def connect():
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.environ["XDG_RUNTIME_DIR"] + "/pulse/native")
    call(server, AUTH, number(VERSION), data(bytes(COOKIE_LENGTH)))
    return server


server = connect()
name = b"load_module.py\0"
call(server, SET_CLIENT_NAME, b"P" + text("application.name") + number(len(name)) + data(name) + b"N")
print("connected", flush=True)
sys.stdin.readline()
# The server answers when PipeWire knows of the module.
send(server, LOAD_MODULE, text(sys.argv[1]), text(" ".join(sys.argv[2:])))
server.shutdown(socket.SHUT_WR)
# When this is answered, it has read all of that.
connect().close()
print("left", flush=True)
