"""Requests permissions for an app, as an enforcement point, and waits for ever.

ask.py APP PERMISSION… [-- [reason=TEXT] [explain=TITLE|BODY]]
"""

import sys

from gi.repository import Gio, GLib

words, options = sys.argv[1:], {}
if "--" in words:
    end = words.index("--")
    words, given = words[:end], dict(word.split("=", 1) for word in words[end + 1 :])
    if "reason" in given:
        options["reasons"] = GLib.Variant("a{ss}", {permission: given["reason"] for permission in words[1:]})
    if "explain" in given:
        options["explanation"] = GLib.Variant("(ss)", tuple(given["explain"].split("|", 1)))

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
arguments = GLib.Variant("(vasa{sv})", (GLib.Variant("s", words[0]), words[1:], options))
interface = "org.permd.Enforcement1"
bus.call_sync("org.permd", "/org/permd", interface, "RequestAccessFor", arguments, None, 0, -1)
GLib.MainLoop().run()
