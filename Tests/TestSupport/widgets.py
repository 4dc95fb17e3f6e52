"""Answers questions about the visible widgets of programs, as assistive technology sees them.

A question is a line with the name of a program. The answer has a line for each widget: role, name, description, states and
place. Of a list, only the first rows are printed: GTK makes some hundreds of a long one. If the question has a role and a
name after the program, separated by "|", the first such widget that can be pressed is, and the answer is "pressed". An
empty line ends an answer.
"""

import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib

MOST_ROWS = 40
STATES = (Atspi.StateType.SENSITIVE, Atspi.StateType.FOCUSED)


def size(node):
    """The place of a widget, which is empty for widgets on hidden pages; None for what has no place of its own."""
    try:
        return node.get_extents(Atspi.CoordType.WINDOW)
    except GLib.Error:
        return None


def is_named(node, wanted):
    """Whether the widget, or a label in it, has that name: in libadwaita 1.2 a toast's button has none of its own."""
    children = (node.get_child_at_index(index) for index in range(node.get_child_count()))
    return node.get_name() == wanted or any(child is not None and child.get_name() == wanted for child in children)


def press(node):
    action = Atspi.Accessible.get_action_iface(node)
    return action is not None and action.do_action(0)


def walk(node, wanted):
    """Yields the lines of an answer."""
    try:
        box = size(node)
        # Until 2024 the role was named "push button".
        role = node.get_role_name().removeprefix("push ")
        # Of some programs, the program itself has an empty place.
        if box is not None and role != "application":
            if box.width <= 0 or box.height <= 0:
                return
            states = node.get_state_set()
            name = (node.get_name() or "").replace("\n", " ")
            words = " ".join(state.value_nick for state in STATES if states.contains(state))
            if wanted and role == wanted[0] and "sensitive" in words and is_named(node, wanted[1]) and press(node):
                yield "pressed"
            place = f"{box.x} {box.y} {box.width} {box.height}"
            if not wanted:
                yield "|".join([role, name, node.get_description() or "", words, place])
        count = node.get_child_count()
        children = [node.get_child_at_index(index) for index in range(min(count, MOST_ROWS) if role == "list" else count)]
    except GLib.Error:
        # The widget is gone.
        return
    for child in children:
        if child is not None:
            yield from walk(child, wanted)


def answer(program, wanted):
    """Prints the lines of an answer about a program."""
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        candidate = desktop.get_child_at_index(index)
        if candidate is not None and candidate.get_name() == program:
            for line in walk(candidate, wanted):
                print(line)
                if line == "pressed":
                    return


for question in sys.stdin:
    while GLib.MainContext.default().iteration(False):
        pass
    # Not all toolkits tell of every change.
    Atspi.get_desktop(0).clear_cache()
    program, *wanted = question.rstrip("\n").split("|")
    answer(program, wanted)
    print(flush=True)
