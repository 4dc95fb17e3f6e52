#!/usr/bin/python3
"""Shows in a bar which apps use the camera, the microphone, Bluetooth or the location.

Waybar, in its configuration:

    "custom/permd": {
        "exec": "/usr/share/doc/permd/examples/in_use.py", "return-type": "json",
        "on-click": "permd-settings", "restart-interval": 5
    }

Its class is "granted" or "ungranted", for the style. ironbar, with only the signs:

    { type = "script", mode = "watch", cmd = "/usr/share/doc/permd/examples/in_use.py --plain" }
"""

import html
import json
import subprocess
import sys

SIGNS = {"camera": "📷", "microphone": "🎙", "bluetooth": "ᛒ", "location": "📍"}


def line(use):
    # Bars read markup, and a program chooses its own name.
    name = use.get("app_name") or use.get("app") or "(unknown)"
    return html.escape(f"{use['permission']}: {name}", quote=False)


def module(uses):
    used = {use["permission"] for use in uses}
    return {
        # Without a text, the bar has no module.
        "text": " ".join(sign for permission, sign in SIGNS.items() if permission in used),
        "tooltip": "\n".join(sorted({line(use) for use in uses})),
        "class": "granted" if all(use["status_now"] == "granted" for use in uses) else "ungranted",
    }


is_plain = sys.argv[1:] == ["--plain"]
with subprocess.Popen(["permctl", "in-use", "--watch", "--json"], stdout=subprocess.PIPE, text=True) as permctl:
    for uses in permctl.stdout:
        shown = module(json.loads(uses))
        print(shown["text"] if is_plain else json.dumps(shown), flush=True)
sys.exit(permctl.returncode)
