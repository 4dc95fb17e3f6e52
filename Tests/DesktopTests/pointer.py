"""A pointer of a wlroots compositor, for as long as it runs. Each line of its input is a place and the size of all outputs,
as `X Y WIDTH HEIGHT`, where it clicks; with a fifth word it only moves there. Prints `ready` and, after each, `done`.
"""

import ctypes
import sys

wayland = ctypes.CDLL("libwayland-client.so.0")


class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("signature", ctypes.c_char_p), ("types", ctypes.POINTER(ctypes.c_void_p))]


class Interface(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_int),
        ("method_count", ctypes.c_int),
        ("methods", ctypes.POINTER(Message)),
        ("event_count", ctypes.c_int),
        ("events", ctypes.c_void_p),
    ]


def interface(name, *methods):
    nothing = (ctypes.c_void_p * 5)()
    messages = (Message * len(methods))(*(Message(method, signature, types or nothing) for method, signature, types in methods))
    return Interface(name, 1, len(methods), messages, 0, None)


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
REGISTRY = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(wayland, "wl_registry_interface")))
LEFT = 0x110

connect = wayland.wl_display_connect
marshal = wayland.wl_proxy_marshal_flags
connect.restype = marshal.restype = ctypes.c_void_p
number = ctypes.c_uint32


def request(proxy, opcode, *arguments, makes=None):
    return marshal(ctypes.c_void_p(proxy), number(opcode), makes, number(1), number(0), *arguments)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_uint32)
def found(_data, registry, name, kind, _version):
    if kind == MANAGER.name:
        manager.append(
            request(registry, 0, number(name), ctypes.c_char_p(kind), number(1), None, makes=ctypes.byref(MANAGER))
        )


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
def gone(_data, _registry, _name):
    pass


manager = []
display = ctypes.c_void_p(connect(None))
registry = request(display.value, 1, None, makes=REGISTRY)
listener = (ctypes.c_void_p * 2)(ctypes.cast(found, ctypes.c_void_p), ctypes.cast(gone, ctypes.c_void_p))
wayland.wl_proxy_add_listener(ctypes.c_void_p(registry), listener, None)
wayland.wl_display_roundtrip(display)
pointer = request(manager[0], 0, None, None, makes=ctypes.byref(POINTER))
wayland.wl_display_roundtrip(display)
print("ready", flush=True)
for line in sys.stdin:
    words = line.split()
    request(pointer, 1, number(0), *(number(int(word)) for word in words[:4]))
    request(pointer, 4)
    if len(words) == 4:
        for state in (1, 0):
            request(pointer, 2, number(0), number(LEFT), number(state))
            request(pointer, 4)
    wayland.wl_display_roundtrip(display)
    print("done", flush=True)
