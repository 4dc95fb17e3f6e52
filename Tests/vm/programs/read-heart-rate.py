#!/usr/bin/python3
"""Programs of Bluetooth as people have them: finds the device of heart-rate with bleak, then reads, follows and writes.

bleak takes a device for disconnected of which BlueZ has not said that it is connected, as it does not if both ends are its
own; nor does it always answer Connect then. So the rest is done by calls.
"""

import asyncio
import os
import select
import sys
import time

import dbus
import dbus.mainloop.glib
from bleak import BleakScanner

VALUE = "00002a37-0000-1000-8000-00805f9b34fb"
BLUEZ = "org.bluez"
# Seconds, on an emulated machine.
PATIENCE = 60
# Seconds of a scan. Its adapter reports an emulated device once, at its beginning, when the kernel may not listen yet.
SCAN = 3
NONE = dbus.Dictionary({}, signature="sv")


def say(*words):
    print(*words, flush=True)


async def find():
    for _ in range(PATIENCE // SCAN):
        device = await BleakScanner.find_device_by_filter(
            lambda device, _: device.name == "permd-test", timeout=SCAN, adapter="hci0")
        if device:
            return device.address
    return None


def characteristic(bus, device):
    """The object of the value, once BlueZ has asked the device for its services."""
    root = dbus.Interface(bus.get_object(BLUEZ, "/", introspect=False), "org.freedesktop.DBus.ObjectManager")
    for _ in range(2 * PATIENCE):
        for path, interfaces in root.GetManagedObjects().items():
            found = interfaces.get(f"{BLUEZ}.GattCharacteristic1", {})
            if path.startswith(device) and found.get("UUID") == VALUE:
                return bus.get_object(BLUEZ, path, introspect=False)
        time.sleep(0.5)
    sys.exit("it has no such value")


address = asyncio.run(find())
if address is None:
    sys.exit("it was not found")
say("found:", address)
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
path = f"/org/bluez/hci0/dev_{address.replace(':', '_')}"
device = bus.get_object(BLUEZ, path, introspect=False)
device.Connect(dbus_interface=f"{BLUEZ}.Device1", reply_handler=lambda: None, error_handler=say)
value = dbus.Interface(characteristic(bus, path), f"{BLUEZ}.GattCharacteristic1")
say("read:", bytes(value.ReadValue(NONE)).decode())
descriptor, _ = value.AcquireNotify(NONE)
descriptor = descriptor.take()
select.select([descriptor], [], [], PATIENCE)
say("followed:", os.read(descriptor, 64).decode())
value.WriteValue(dbus.ByteArray(b"from a program"), NONE)
say("connected")
sys.stdin.readline()
