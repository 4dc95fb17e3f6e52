#!/usr/bin/python3
"""A camera on USB without hardware: the driver of real ones, uvcvideo, finds it at the kernel's virtual USB controller.

usb-camera: plugs it in, prints "plugged in", and serves it until it is killed, which unplugs it. SIGUSR1 closes its
shutter, or opens it. Its node cannot be read like a file. It speaks USB/IP over a socket of its own, and sends its images, 160x120 YUYV, over a bulk endpoint.
"""

import select
import signal
import socket
import struct
import time

WIDTH, HEIGHT = 160, 120
SIZE = WIDTH * HEIGHT * 2
PERIOD = 0.1
PAYLOAD = SIZE + 2
INTERVAL = int(PERIOD * 10_000_000)
EPIPE, ECONNRESET = -32, -104

# The answer to every question about the stream (UVC 1.0, video probe and commit controls).
PROBE = struct.pack("<HBBIHHHHHII", 1, 1, 1, INTERVAL, 0, 0, 0, 0, 0, SIZE, PAYLOAD)
STRINGS = ["", "permd", "Test camera on USB"]


def descriptor(kind, content):
    return bytes([len(content) + 2, kind]) + content


def interface_specific(subtype, content):
    return descriptor(0x24, bytes([subtype]) + content)


def configuration():
    terminals = interface_specific(2, struct.pack("<BHBB3HB3s", 1, 0x0201, 0, 0, 0, 0, 0, 3, b"\0\0\4"))
    terminals += interface_specific(3, struct.pack("<BHBBB", 2, 0x0101, 0, 1, 0))
    control = interface_specific(1, struct.pack("<HHIBB", 0x0100, 13 + len(terminals), 48_000_000, 1, 1)) + terminals
    yuyv = bytes.fromhex("5955593200001000800000aa00389b71")
    formats = interface_specific(4, struct.pack("<BB16sBBBBBB", 1, 1, yuyv, 16, 1, 0, 0, 0, 0))
    rate = SIZE * 8 * 10
    formats += interface_specific(5, struct.pack("<BBHHIIIIBI", 1, 0, WIDTH, HEIGHT, rate, rate, SIZE, INTERVAL, 1, INTERVAL))
    formats += interface_specific(13, bytes([1, 1, 4]))
    streaming = interface_specific(1, struct.pack("<BHBBBBBBBB", 1, 14 + len(formats), 0x81, 0, 2, 0, 0, 0, 1, 0)) + formats
    body = descriptor(11, bytes([0, 2, 0x0E, 3, 0, 2]))
    body += descriptor(4, bytes([0, 0, 0, 0x0E, 1, 0, 2])) + control
    body += descriptor(4, bytes([1, 0, 1, 0x0E, 2, 0, 0])) + streaming
    body += descriptor(5, struct.pack("<BBHB", 0x81, 2, 512, 0))
    return descriptor(2, struct.pack("<HBBBBB", 9 + len(body), 2, 1, 0, 0x80, 50)) + body


DEVICE = descriptor(1, struct.pack("<HBBBBHHHBBBB", 0x0200, 0xEF, 2, 1, 64, 0x1D6B, 0x0102, 0x0100, 1, 2, 0, 1))
CONFIGURATION = configuration()


shutter = {"is closed": 0}


def use_shutter(*_):
    shutter["is closed"] ^= 1


def text(index):
    if index == 0:
        return descriptor(3, struct.pack("<H", 0x0409))
    return descriptor(3, STRINGS[index].encode("utf-16-le"))


def answer_control(setup):
    """The bytes for a control request, or None for one that the device does not know."""
    kind, request, value, index, length = struct.unpack("<BBHHH", setup)
    if kind == 0x80 and request == 6:
        number = value & 0xFF
        found = {1: DEVICE, 2: CONFIGURATION, 3: text(number) if number < len(STRINGS) else None}.get(value >> 8)
        return found and found[:length]
    if kind == 0xA1 and index == 1 and value >> 8 in (1, 2):
        return {0x85: struct.pack("<H", len(PROBE)), 0x86: b"\3"}.get(request, PROBE)[:length]
    # The camera terminal's privacy control, which changes by itself.
    if kind == 0xA1 and index == 0x0100 and value >> 8 == 0x11:
        closed = bytes([shutter["is closed"]])
        return {0x81: closed, 0x82: b"\0", 0x83: b"\1", 0x84: b"\1", 0x85: b"\1\0", 0x86: b"\x09", 0x87: b"\0"}.get(request)
    if kind & 0x80:
        return b"\0" * min(length, 2) if kind & 0x60 == 0 else None
    return b""


def image(number):
    line = bytes((column + 8 * number) & 0xFF for column in range(WIDTH * 2))
    return bytes([2, 0x82 | number & 1]) + line * HEIGHT


class Camera:
    def __init__(self, link):
        self.link = link
        self.waiting = {}
        self.number = 0
        self.left = b""

    def receive(self, count):
        data = self.link.recv(count, socket.MSG_WAITALL)
        if len(data) < count:
            raise SystemExit("unplugged")
        return data

    def reply(self, sequence, status, data=b"", length=None):
        size = len(data) if length is None else length
        self.link.sendall(struct.pack(">5IiIIII8x", 3, sequence, 0, 0, 0, status, size, 0, 0, 0) + data)

    def serve_one(self):
        command, sequence, _, is_input, endpoint, *rest = struct.unpack(">5I5I8s", self.receive(48))
        if command == 2:
            was_waiting = self.waiting.pop(rest[0], None)
            self.link.sendall(struct.pack(">5Ii24x", 4, sequence, 0, 0, 0, 0 if was_waiting is None else ECONNRESET))
            return
        length, setup = rest[1], rest[5]
        sent = b"" if is_input else self.receive(length)
        if endpoint:
            self.waiting[sequence] = length
        else:
            answer = answer_control(setup)
            if answer is None:
                self.reply(sequence, EPIPE)
            else:
                self.reply(sequence, 0, answer if is_input else b"", None if is_input else len(sent))

    def send(self):
        """Sends what is left of the image to the transfers that wait, in their order."""
        while self.left and self.waiting:
            sequence = min(self.waiting)
            length = self.waiting.pop(sequence)
            self.reply(sequence, 0, self.left[:length])
            self.left = self.left[length:]

    def run(self):
        due = time.monotonic()
        while True:
            if select.select([self.link], [], [], max(0, due - time.monotonic()))[0]:
                self.serve_one()
            if time.monotonic() >= due:
                due += PERIOD
                self.number += 1
                self.left = self.left or image(self.number)
            self.send()


signal.signal(signal.SIGUSR1, use_shutter)
ours, theirs = socket.socketpair()
# The first port of the controller for devices of high speed (3).
with open("/sys/devices/platform/vhci_hcd.0/attach", "w") as attach:
    attach.write(f"0 {theirs.fileno()} 65538 3")
theirs.close()
print("plugged in", flush=True)
Camera(ours).run()
