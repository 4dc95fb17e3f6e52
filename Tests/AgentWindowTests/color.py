"""Prints the red, green and blue of a point of the screen: color.py X Y."""

import ctypes
import sys

x11 = ctypes.CDLL("libX11.so.6")
for name in ("XOpenDisplay", "XGetImage"):
    getattr(x11, name).restype = ctypes.c_void_p
x11.XDefaultRootWindow.restype = ctypes.c_ulong
x11.XGetPixel.restype = ctypes.c_ulong
display = ctypes.c_void_p(x11.XOpenDisplay(None))
root = ctypes.c_ulong(x11.XDefaultRootWindow(display))
all_planes, z_pixmap = ctypes.c_ulong(0xFFFFFFFF), 2
image = ctypes.c_void_p(x11.XGetImage(display, root, int(sys.argv[1]), int(sys.argv[2]), 1, 1, all_planes, z_pixmap))
pixel = x11.XGetPixel(image, 0, 0)
print(pixel >> 16 & 255, pixel >> 8 & 255, pixel & 255)
