"""Closes a window of an X server that has no window manager, as a person does: close.py WINDOW"""

import ctypes
import sys

x11 = ctypes.CDLL("libX11.so.6")
for name in ("XOpenDisplay", "XInternAtom"):
    getattr(x11, name).restype = ctypes.c_void_p


class Message(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("is_sent", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 12),
    ]


CLIENT_MESSAGE = 33
display = ctypes.c_void_p(x11.XOpenDisplay(None))
window = int(sys.argv[1], 0)
protocols, delete = (x11.XInternAtom(display, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW"))
message = Message(CLIENT_MESSAGE, 0, 1, display, window, protocols, 32, (delete, 0, 0, 0, 0))
x11.XSendEvent(display, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(message))
x11.XSync(display, 0)
