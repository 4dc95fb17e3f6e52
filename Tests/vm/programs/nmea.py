#!/usr/bin/python3
"""A receiver for GeoClue: nmea PATH gives whoever connects to the socket a position that moves, every second."""

import os
import socket
import sys
import threading
import time

CIRCLE = 60


def sentence(step):
    """A GGA sentence of NMEA 0183 with its checksum."""
    now = time.strftime("%H%M%S")
    text = f"GPGGA,{now}.00,52{30 + step % CIRCLE / 10:07.4f},N,01322.0000,E,1,08,0.9,50.0,M,40.0,M,,"
    checksum = 0
    for character in text.encode():
        checksum ^= character
    return f"${text}*{checksum:02X}\r\n".encode()


def serve(reader):
    step = 0
    try:
        while True:
            reader.send(sentence(step))
            step += 1
            time.sleep(1)
    except OSError:
        reader.close()


path = sys.argv[1]
# Of an earlier run.
if os.path.exists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
os.chmod(path, 0o666)
listener.listen()
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
