# SPDX-License-Identifier: MIT
#
# What scripts tell of their own stacks, "stack F:LINE;F;..." from the outermost function on, is the
# truth for samples of them. Who has a line and who has none is the language's own.
import collections
import re

import firefox


def told_by(stdout):
    """The stacks that the program told, each a tuple of names with lines."""
    return {tuple(stack.split(";")) for stack in re.findall(r"^stack (.*)", stdout, re.M)}


def without_lines(told):
    """Functions that call others and have no line: the runtime's own."""
    return {name for stack in told for name in stack[:-1] if not re.search(r":\d+$", name)}


def sort_stacks(path, told, shown_in):
    """
    How often each stack of @told was seen in the Firefox profile at @path, and what was seen that is
    none of them. @shown_in: of [(name, line)] what is shown, as it is told; None: not in question.
    """
    true, false = collections.Counter(), collections.Counter()
    for _, stack, _ in firefox.stacks_of(path):
        shown = shown_in(stack)
        if shown:
            (true if shown in told else false)[shown] += 1
    return true, false
