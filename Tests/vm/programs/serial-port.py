#!/usr/bin/python3
"""A serial port by Bluetooth: serial-port DEVICE serves one, connects DEVICE's when it is paired, and sends a line."""

import os
import socket
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

BLUEZ = "org.bluez"
SERIAL_PORT = "00001101-0000-1000-8000-00805f9b34fb"


class Profile(dbus.service.Object):
    ends = []

    @dbus.service.method(f"{BLUEZ}.Profile1", in_signature="oha{sv}")
    def NewConnection(self, path, descriptor, properties):
        end = socket.socket(fileno=descriptor.take())
        end.setblocking(True)
        self.ends.append(end)
        if len(self.ends) == 2:
            self.ends[0].sendall(b"from end to end\n")
            print("received:", self.ends[1].makefile().readline().strip(), flush=True)

    @dbus.service.method(f"{BLUEZ}.Profile1", in_signature="o")
    def RequestDisconnection(self, path):
        print("disconnected", flush=True)

    @dbus.service.method(f"{BLUEZ}.Profile1")
    def Release(self):
        pass


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    profile = Profile(bus, "/test/profile")
    manager = dbus.Interface(bus.get_object(BLUEZ, "/org/bluez", introspect=False), f"{BLUEZ}.ProfileManager1")
    options = dbus.Dictionary({"Name": "permd-test", "Channel": dbus.UInt16(7)}, signature="sv")
    for name in ["RequireAuthentication", "RequireAuthorization"]:
        options[name] = dbus.Boolean(False)
    manager.RegisterProfile(profile, SERIAL_PORT, options)
    print("registered", flush=True)

    device = dbus.Interface(bus.get_object(BLUEZ, sys.argv[1], introspect=False), f"{BLUEZ}.Device1")
    changes = None

    def failed(error):
        print("failed:", error, flush=True)
        os._exit(1)

    def changed(interface, properties, invalidated):
        # What a device offers is read when it is paired.
        if SERIAL_PORT in properties.get("UUIDs", []):
            changes.remove()
            device.ConnectProfile(
                SERIAL_PORT, timeout=60, reply_handler=lambda: print("connected", flush=True), error_handler=failed
            )

    changes = bus.add_signal_receiver(
        changed, "PropertiesChanged", "org.freedesktop.DBus.Properties", BLUEZ, sys.argv[1]
    )
    GLib.MainLoop().run()


main()
