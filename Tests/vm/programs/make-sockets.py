#!/usr/bin/python3
"""make-sockets PROTOCOL…: makes a Bluetooth socket of each, and says how that went."""

import os
import socket
import sys

KINDS = {"RFCOMM": socket.SOCK_STREAM, "HCI": socket.SOCK_RAW}

for name in sys.argv[1:]:
    try:
        protocol = getattr(socket, f"BTPROTO_{name}")
        socket.socket(socket.AF_BLUETOOTH, KINDS.get(name, socket.SOCK_SEQPACKET), protocol).close()
        print(f"{name}: made", flush=True)
    except OSError as error:
        print(f"{name}: {os.strerror(error.errno)}", flush=True)
