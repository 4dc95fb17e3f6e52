"""Covers an X screen with a window of the editor's color, for as long as it runs. It is of the prompt's kind, which window
managers put above others. Prints `ready` when it is there.
"""

import ctypes
import signal

x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
for name in ("XDefaultRootWindow", "XCreateSimpleWindow", "XInternAtom"):
    getattr(x11, name).restype = ctypes.c_ulong

display = ctypes.c_void_p(x11.XOpenDisplay(None))
root, paper = (ctypes.c_ulong(value) for value in (x11.XDefaultRootWindow(display), 0x26A269))
window = ctypes.c_ulong(x11.XCreateSimpleWindow(display, root, 0, 0, 1280, 720, 0, paper, paper))


def atom(name):
    return ctypes.c_ulong(x11.XInternAtom(display, name, 0))


kinds = (ctypes.c_ulong * 2)(
    atom(b"_KDE_NET_WM_WINDOW_TYPE_CRITICAL_NOTIFICATION"), atom(b"_NET_WM_WINDOW_TYPE_NOTIFICATION")
)
x11.XChangeProperty(display, window, atom(b"_NET_WM_WINDOW_TYPE"), atom(b"ATOM"), 32, 0, kinds, 2)
x11.XMapRaised(display, window)
x11.XSync(display, 0)
print("ready", flush=True)
signal.pause()
