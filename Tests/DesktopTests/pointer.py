"""A pointer of a wlroots compositor, for as long as it runs. Each line of its input is a place and the size of all outputs,
as `X Y WIDTH HEIGHT`, where it clicks; with a fifth word it only moves there. Prints `ready` and, after each, `done`.
"""

import ctypes
import sys

from wayland import Display, interface, number, request

POINTER = interface(
    b"zwlr_virtual_pointer_v1",
    (b"motion", b"uff", None),
    (b"motion_absolute", b"uuuuu", None),
    (b"button", b"uuu", None),
    (b"axis", b"uuf", None),
    (b"frame", b"", None),
)
MANAGER = interface(
    b"zwlr_virtual_pointer_manager_v1",
    (b"create_virtual_pointer", b"?on", (ctypes.c_void_p * 2)(None, ctypes.addressof(POINTER))),
)
LEFT = 0x110

display = Display()
pointer = request(display.bind(MANAGER), 0, None, None, makes=ctypes.byref(POINTER))
display.wait()
print("ready", flush=True)
for line in sys.stdin:
    words = line.split()
    request(pointer, 1, number(0), *(number(int(word)) for word in words[:4]))
    request(pointer, 4)
    if len(words) == 4:
        for state in (1, 0):
            request(pointer, 2, number(0), number(LEFT), number(state))
            request(pointer, 4)
    display.wait()
    print("done", flush=True)
