"""A text editor. Prints `text` and its text, as JSON, whenever that changes, and `state` and which of `active`,
`maximized` and `fullscreen` its window is.

editor.py [--fullscreen] TITLE
"""

import json
import sys

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, Gio, GLib, Gtk


def text(buffer):
    return buffer.get_text(buffer.get_start_iter(), buffer.get_end_iter(), True)


def tell(*words):
    print(*words, flush=True)


def tell_state(surface, _):
    # Without a keyboard, GTK never makes the window itself active.
    kind = Gdk.ToplevelState
    states = (kind.FOCUSED, "active"), (kind.MAXIMIZED, "maximized"), (kind.FULLSCREEN, "fullscreen")
    tell("state", *(name for state, name in states if surface.get_state() & state))


def show(app):
    style = Gtk.CssProvider()
    style.load_from_string("textview text { background: #26a269; color: white; }")
    Gtk.StyleContext.add_provider_for_display(Gdk.Display.get_default(), style, Gtk.STYLE_PROVIDER_PRIORITY_USER)
    title = sys.argv[-1]
    window = Gtk.ApplicationWindow(application=app, title=title, default_width=600, default_height=400)
    view = Gtk.TextView(monospace=True, left_margin=12, top_margin=12)
    view.get_buffer().connect("changed", lambda buffer: tell("text", json.dumps(text(buffer))))
    window.set_child(view)
    window.connect("realize", lambda *_: window.get_surface().connect("notify::state", tell_state))
    if "--fullscreen" in sys.argv:
        window.fullscreen()
    window.present()
    view.grab_focus()
    window.ask = ask
    # Each line of the input is a method of the window, such as fullscreen.
    GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN, obey, window)


def ask():
    """Requests the camera as the editor itself."""
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    arguments = GLib.Variant("(asa{sv})", (["camera"], {}))
    bus.call_sync("org.permd", "/org/permd", "org.permd.Access1", "RequestAccess", arguments, None, 0, -1)


def obey(_channel, _condition, window):
    line = sys.stdin.readline()
    if line:
        getattr(window, line.strip())()
    return line != ""


app = Gtk.Application(application_id="org.example.Editor", flags=Gio.ApplicationFlags.NON_UNIQUE)
app.connect("activate", show)
app.run([])
