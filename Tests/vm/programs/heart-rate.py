#!/usr/bin/python3
"""A Bluetooth device: heart-rate ADAPTER… serves a value that can be read, written and followed, and advertises it."""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "permd-test"
SERVICE = "0000180d-0000-1000-8000-00805f9b34fb"
VALUE = "00002a37-0000-1000-8000-00805f9b34fb"
BLUEZ = "org.bluez"
PROPERTIES = "org.freedesktop.DBus.Properties"
CHARACTERISTIC = f"{BLUEZ}.GattCharacteristic1"


class Application(dbus.service.Object):
    """The objects that BlueZ serves to other machines."""

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        service = dbus.ObjectPath("/test/service")
        return {
            service: {f"{BLUEZ}.GattService1": {"UUID": SERVICE, "Primary": True}},
            dbus.ObjectPath("/test/service/value"): {
                CHARACTERISTIC: {"UUID": VALUE, "Service": service, "Flags": ["read", "write", "notify"]}
            },
        }


class Value(dbus.service.Object):
    beats = 60
    is_followed = False

    def bytes(self):
        return dbus.ByteArray(f"{self.beats} beats".encode())

    def beat(self):
        self.beats += 1
        if self.is_followed:
            self.PropertiesChanged(CHARACTERISTIC, {"Value": self.bytes()}, [])
        return True

    @dbus.service.method(CHARACTERISTIC, in_signature="a{sv}", out_signature="ay")
    def ReadValue(self, options):
        return self.bytes()

    @dbus.service.method(CHARACTERISTIC, in_signature="aya{sv}")
    def WriteValue(self, value, options):
        print("written:", bytes(value).decode(), flush=True)

    @dbus.service.method(CHARACTERISTIC)
    def StartNotify(self):
        self.is_followed = True

    @dbus.service.method(CHARACTERISTIC)
    def StopNotify(self):
        self.is_followed = False

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass


class Advertisement(dbus.service.Object):
    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return {"Type": "peripheral", "ServiceUUIDs": [SERVICE], "LocalName": NAME}

    @dbus.service.method(f"{BLUEZ}.LEAdvertisement1")
    def Release(self):
        pass


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
application = Application(bus, "/test")
value = Value(bus, "/test/service/value")
advertisements = []
waiting = 2 * len(sys.argv[1:])


def registered():
    global waiting
    waiting -= 1
    if waiting == 0:
        print("ready", flush=True)


def failed(error):
    sys.exit(str(error))


for name in sys.argv[1:]:
    adapter = bus.get_object(BLUEZ, f"/org/bluez/{name}", introspect=False)
    advertisements.append(Advertisement(bus, f"/test/{name}"))
    for interface, member, path in (
        ("GattManager1", "RegisterApplication", "/test"),
        ("LEAdvertisingManager1", "RegisterAdvertisement", f"/test/{name}"),
    ):
        call = adapter.get_dbus_method(member, f"{BLUEZ}.{interface}")
        call(dbus.ObjectPath(path), dbus.Dictionary({}, signature="sv"), reply_handler=registered, error_handler=failed)
GLib.timeout_add_seconds(1, value.beat)
GLib.MainLoop().run()
