# portal_client.py COMMAND…: owns the bus name of the portals, prints a line, and becomes the command when it reads one.
import os
import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
bus.request_name("org.freedesktop.portal.Desktop")
end, ours = os.pipe()
if os.fork() == 0:
    # The bus goes on taking the connection for the parent's. Other programs ask portals for real-time priority, and
    # wait for an answer, an error here.
    os.close(ours)
    loop = GLib.MainLoop()
    GLib.io_add_watch(end, GLib.IOCondition.HUP, lambda *_: loop.quit())
    loop.run()
    sys.exit()
os.set_inheritable(ours, True)
print("owner", flush=True)
sys.stdin.readline()
os.execvp(sys.argv[1], sys.argv[1:])
