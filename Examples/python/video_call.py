#!/usr/bin/python3
"""A video call that requests camera and microphone from permd, with an explanation first.

Requires python3-dbus and python3-gi.
"""

import os
import sys

import dbus
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
loop = GLib.MainLoop()
answer = {}


def ask(permission, reason, **options):
    """Requests a permission and returns its status. Subscribes before the call, so that no response is missed."""
    token = f"call_{os.getpid()}_{permission}"
    sender = bus.get_unique_name()[1:].replace(".", "_")

    def response(code, results):
        answer.update(results, code=code)
        loop.quit()

    match = bus.add_signal_receiver(
        response, "Response", "org.permd.Request1", path=f"/org/permd/request/{sender}/{token}")
    permd = dbus.Interface(bus.get_object("org.permd", "/org/permd"), "org.permd.Access1")
    permd.RequestAccess([permission], {"handle_token": token, "reasons": dbus.Dictionary({permission: reason}), **options})
    loop.run()
    match.remove()
    if answer["code"] == 2:
        sys.exit(f"permd: {answer['message']}")
    print(f"{permission}: {answer['statuses'][permission]}", flush=True)
    return answer["statuses"][permission]


try:
    about = dbus.Struct(("Before your call", "The others see and hear you only while the call lasts."))
    camera = ask("camera", "So that the others can see you", explanation=about, hold=dbus.UInt32(15))
    microphone = ask("microphone", "So that the others can hear you")
except dbus.DBusException as error:
    sys.exit(f"permd: {error.get_dbus_message()}")
if microphone != "granted":
    sys.exit("A call needs a microphone.")
print("The call runs." if camera == "granted" else "The call runs without a picture.")
