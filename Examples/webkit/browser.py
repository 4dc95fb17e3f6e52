#!/usr/bin/python3
"""A browser whose pages have the person asked, through permd, before they use the camera, the microphone or the location.

Requires gir1.2-webkit2-4.1. WebKitGTK asks nobody itself: it leaves that to the program.
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gio, GLib, Gtk, WebKit2  # noqa: E402

bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def permissions_of(request):
    if isinstance(request, WebKit2.GeolocationPermissionRequest):
        return ["location"]
    if isinstance(request, WebKit2.UserMediaPermissionRequest):
        devices = [("camera", WebKit2.user_media_permission_is_for_video_device),
                   ("microphone", WebKit2.user_media_permission_is_for_audio_device)]
        return [permission for permission, is_for in devices if is_for(request)]
    return []


def ask(view, request):
    permissions = permissions_of(request)
    if not permissions:
        return False
    token = f"page_{id(request)}"
    path = f"/org/permd/request/{bus.get_unique_name()[1:].replace('.', '_')}/{token}"
    reason = f"For {GLib.Uri.parse(view.get_uri(), 0).get_host() or 'this page'}"
    options = {"handle_token": GLib.Variant("s", token),
               "reasons": GLib.Variant("a{ss}", dict.fromkeys(permissions, reason))}

    def answer(is_granted):
        bus.signal_unsubscribe(match)
        request.allow() if is_granted else request.deny()

    def responded(_bus, _sender, _path, _interface, _signal, response):
        code, results = response.unpack()
        answer(code == 0 and results["refused"] == "")

    def called(_bus, reply):
        try:
            bus.call_finish(reply)
        except GLib.Error as error:
            print(f"permd: {error.message}", file=sys.stderr)
            answer(False)

    match = bus.signal_subscribe("org.permd", "org.permd.Request1", "Response", path, None, 0, responded)
    bus.call("org.permd", "/org/permd", "org.permd.Access1", "RequestAccess",
             GLib.Variant("(asa{sv})", (permissions, options)), None, 0, GLib.MAXINT, None, called)
    return True


view = WebKit2.WebView()
view.get_settings().set_enable_media_stream(True)
view.connect("permission-request", ask)
view.load_uri(sys.argv[1] if sys.argv[1:] else "https://webrtc.github.io/samples/src/content/getusermedia/gum/")
window = Gtk.Window()
window.add(view)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
