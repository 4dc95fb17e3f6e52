"""What the scripts here need of libwayland-client, for protocols that have no library."""

import ctypes

library = ctypes.CDLL("libwayland-client.so.0")
number = ctypes.c_uint32
connect = library.wl_display_connect
marshal = library.wl_proxy_marshal_flags
connect.restype = marshal.restype = ctypes.c_void_p


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


def interface(name, *methods, version=1):
    nothing = (ctypes.c_void_p * 5)()
    messages = (Message * len(methods))(*(Message(method, signature, types or nothing) for method, signature, types in methods))
    return Interface(name, version, len(methods), messages, 0, None)


def request(proxy, opcode, *arguments, makes=None, version=1):
    return marshal(ctypes.c_void_p(proxy), number(opcode), makes, number(version), number(0), *arguments)


class Display:
    """A connection to the compositor."""

    def __init__(self):
        self.display = ctypes.c_void_p(connect(None))

    def wait(self):
        """Until the compositor has handled all requests."""
        library.wl_display_roundtrip(self.display)

    def bind(self, wanted):
        """Returns the compositor's object of an interface, which it has to have."""
        found = []
        kind = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "wl_registry_interface")))
        registry = request(self.display.value, 1, None, makes=kind)

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_uint32)
        def add(_data, registry, name, kind, _version):
            if kind == wanted.name:
                arguments = number(name), ctypes.c_char_p(kind), number(wanted.version), None
                made = request(registry, 0, *arguments, makes=ctypes.byref(wanted), version=wanted.version)
                found.append(made)

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        def remove(_data, _registry, _name):
            pass

        self.listener = (ctypes.c_void_p * 2)(ctypes.cast(add, ctypes.c_void_p), ctypes.cast(remove, ctypes.c_void_p))
        self.functions = add, remove
        library.wl_proxy_add_listener(ctypes.c_void_p(registry), self.listener, None)
        self.wait()
        return found[0]
