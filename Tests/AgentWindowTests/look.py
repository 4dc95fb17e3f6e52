"""Prints the accessible widgets of a program, one per line: role, name, description, states and place."""

import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi


def walk(node):
    states = node.get_state_set()
    names = [state.value_nick for state in (Atspi.StateType.SENSITIVE, Atspi.StateType.SHOWING, Atspi.StateType.FOCUSED)
             if states.contains(state)]
    try:
        box = node.get_extents(Atspi.CoordType.WINDOW)
        place = f"{box.x} {box.y} {box.width} {box.height}"
    except Exception:
        place = "- - - -"
    # Until 2024 the role was named "push button".
    role = node.get_role_name().removeprefix("push ")
    print("|".join([role, node.get_name() or "", node.get_description() or "", " ".join(names), place]))
    for index in range(node.get_child_count()):
        child = node.get_child_at_index(index)
        if child is not None:
            walk(child)


desktop = Atspi.get_desktop(0)
for index in range(desktop.get_child_count()):
    program = desktop.get_child_at_index(index)
    if program is not None and program.get_name() == sys.argv[1]:
        walk(program)
