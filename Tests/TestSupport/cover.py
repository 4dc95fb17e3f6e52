"""Covers an X screen with a window of the editor's color, for as long as it runs. It is of the prompt's kind, which window
managers put above others; with the argument `unmanaged`, no window manager arranges it. Prints `ready` when it is there.
"""

import ctypes
import signal
import sys

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


class Attributes(ctypes.Structure):
    """XSetWindowAttributes."""

    _fields_ = (
        [(f"pixel{index}", ctypes.c_ulong) for index in range(4)]
        + [(f"setting{index}", ctypes.c_int) for index in range(3)]
        + [(f"plane{index}", ctypes.c_ulong) for index in range(2)]
        + [("save_under", ctypes.c_int), ("event_mask", ctypes.c_long), ("do_not_propagate_mask", ctypes.c_long)]
        + [("override_redirect", ctypes.c_int), ("colormap", ctypes.c_ulong), ("cursor", ctypes.c_ulong)]
    )


if "unmanaged" in sys.argv:
    CW_OVERRIDE_REDIRECT = 1 << 9
    attributes = Attributes(override_redirect=1)
    x11.XChangeWindowAttributes(display, window, ctypes.c_ulong(CW_OVERRIDE_REDIRECT), ctypes.byref(attributes))
x11.XMapRaised(display, window)
x11.XSync(display, 0)
print("ready", flush=True)
signal.pause()
