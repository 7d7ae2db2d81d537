# SPDX-License-Identifier: MIT
#
# Scripts print their own stacks as "stack F:LINE;F;...", outermost function first, and samples must
# show these stacks. The language decides which functions have lines.
import collections
import re

import firefox
import profiled


def told_by(stdout):
    """The stacks that the program printed, each a tuple of names with lines."""
    return {tuple(stack.split(";")) for stack in re.findall(r"^stack (.*)", stdout, re.M)}


def without_lines(told):
    """Functions that call others and have no line, which are those of the runtime itself."""
    return {name for stack in told for name in stack[:-1] if not re.search(r":\d+$", name)}


def sort_stacks(path, told, shown_in):
    """
    Sum up the stacks of the Firefox profile at @path. Returns ({stack of @told: ms}, {any other
    stack: ms}). shown_in([(name, line)]) returns the stack as the program prints it, or None to
    ignore it.
    """
    true, false = collections.Counter(), collections.Counter()
    for _, stack, weight in firefox.stacks_of(path):
        shown = shown_in(stack)
        if shown:
            (true if shown in told else false)[shown] += weight
    return true, false


def run_truth(folder, way, rate_hz, command, shown_of):
    """
    Run @command, which prints its stacks, with flamerun "inside" or "outside". Returns the run, the
    printed stacks, and {stack: samples}. Asserts that the samples have no other stacks.
    @shown_of(printed stacks) returns shown_in() for sort_stacks().
    """
    picture = folder / "p.firefox.json"
    run = profiled.profile(folder, *command, rate_hz=rate_hz, options=[
        "-v", "--no-waits", "-o", picture, *(["--outside"] if way == "outside" else [])])
    assert run.status == 0, run.stderr
    told = told_by(run.stdout)
    true, false = sort_stacks(picture, told, shown_of(told))
    assert not false, (false, told)
    return run, told, {stack: ms * rate_hz / 1000 for stack, ms in true.items()}


def assert_few_native(run):
    """
    Assert that most samples have functions of the language. Only samples at the start of a call of
    the evaluator may have none.
    """
    kept_native = re.search(r"(\d+) samples? without the language's functions", run.stderr)
    assert not kept_native or int(kept_native[1]) < 0.05 * run.folded.total, run.stderr
