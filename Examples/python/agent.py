#!/usr/bin/python3
"""A template of an agent: shows the prompts of permd as text, and reads the answers as lines. Replace `show` and `typed`.

Requires python3-dbus and python3-gi.
"""

import sys

import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

GUARD = 500  # Milliseconds for which no answer counts: the person has to have seen the question.
ANSWERS = {"once": ("grant", "once"), "always": ("grant", "always"), "never": ("deny", "always")}


class Agent(dbus.service.Object):
    prompt = asked = None  # Path, permissions and reply of the prompt that is shown, and of the one that may be answered.

    @dbus.service.method("org.permd.Agent1", "oa{sv}", "sa{sa{sv}}", ("reply", "_error"), sender_keyword="sender")
    def Prompt(self, path, details, reply, _error, sender):
        if sender != bus.get_name_owner("org.permd"):
            raise dbus.DBusException("only permd may call this")
        self.prompt = path, [item["permission"] for item in details["items"]], reply
        show(details)
        GLib.timeout_add(GUARD, self.ask, self.prompt)

    @dbus.service.method("org.permd.Agent1", "os")
    def Withdraw(self, path, why):
        if self.prompt and path == self.prompt[0]:
            self.prompt = None
            print(f"withdrawn: {why}", flush=True)

    def ask(self, prompt):
        if prompt is self.prompt:
            self.asked = prompt
            print("once, always, never, or anything else for not now?", flush=True)

    def answer(self, word):
        if self.prompt is None or self.asked is not self.prompt:
            return print("nothing is asked, or has been for long enough", flush=True)
        (_, permissions, reply), self.prompt = self.prompt, None
        pairs = zip(("decision", "duration"), ANSWERS.get(word, ()))
        decisions = dict.fromkeys(permissions if word in ANSWERS else (), dbus.Dictionary(pairs, "sv"))
        reply("answered" if decisions else "dismissed", dbus.Dictionary(decisions, "sa{sv}"))


def show(details):
    if "explanation" in details:
        print("{app} says: {0} {1}".format(*details["explanation"], app=details["app_name"]))
    for item in details["items"]:
        print("{app_name} ({app}) wants to use: {permission} {device_name}".format(**details | item), flush=True)


def typed(_channel, _condition):
    agent.answer(line.strip()) if (line := sys.stdin.readline()) else loop.quit()
    return line != ""


def permd_changed(owner):
    agent.prompt = None  # A prompt that was open comes again.
    if owner:
        manager = dbus.Interface(bus.get_object("org.permd", "/org/permd"), "org.permd.AgentManager1")
        manager.RegisterAgent("/org/example/agent", {"level": "desktop"})
        print("prompts are shown here", flush=True)


bus = dbus.SessionBus(mainloop=dbus.mainloop.glib.DBusGMainLoop())
agent = Agent(bus, "/org/example/agent")
loop = GLib.MainLoop()
bus.watch_name_owner("org.permd", permd_changed)
GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN, typed)
loop.run()
