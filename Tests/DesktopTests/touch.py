"""A touch screen of KWin, for as long as it runs. Each line of its input is a place `X Y` that it touches. Prints `ready` and,
after each, `done`.
"""

import sys

from wayland import Display, interface, number, request

FAKE_INPUT = interface(
    b"org_kde_kwin_fake_input",
    (b"authenticate", b"ss", None),
    (b"pointer_motion", b"ff", None),
    (b"button", b"uu", None),
    (b"axis", b"uf", None),
    (b"touch_down", b"2uff", None),
    (b"touch_motion", b"2uff", None),
    (b"touch_up", b"2u", None),
    (b"touch_cancel", b"2", None),
    (b"touch_frame", b"2", None),
    version=2,
)

display = Display()
screen = display.bind(FAKE_INPUT)
request(screen, 0, b"permd", b"a test", version=2)
display.wait()
print("ready", flush=True)
for line in sys.stdin:
    # In the fixed-point numbers of Wayland.
    place = (number(int(word) * 256) for word in line.split())
    request(screen, 4, number(1), *place, version=2)
    request(screen, 8, version=2)
    request(screen, 6, number(1), version=2)
    request(screen, 8, version=2)
    display.wait()
    print("done", flush=True)
