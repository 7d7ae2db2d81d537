# SPDX-License-Identifier: MIT
#
# Named stubs under flamerun: an interpreter's functions have their own names and true shares.
import re

import pytest

import folded
import library
import profiled

METHOD = re.compile(r"method-\d+")
HEAVY = 3


def innermost(stack):
    """The method to which a sample belongs, or None."""
    return next((name for name in reversed(stack) if METHOD.fullmatch(name)), None)


def check_shares(run):
    """Compare shares by CPU time with those that the target measures."""
    truth = {name: ns for name, ns in run.truth.items() if METHOD.fullmatch(name)}
    for name, ns in truth.items():
        share = ns / (run.truth_s * 1e9)
        # Lighter methods have too few samples for this bound.
        if share < 0.25:
            continue
        weight = run.folded.where(lambda stack, n=name: innermost(stack) == n)
        folded.assert_share(run.folded, weight, share, run.folded.total, name)


def check_shape(run, depth):
    """Stacks are main, then stub and evaluate alternately, then burn."""
    burning = [(stack, weight) for stack, weight in run.folded.stacks if stack[-1] == "burn"]
    assert sum(weight for _, weight in burning) > 0.9 * run.folded.total, run.folded.describe()
    depths = set()
    for stack, _ in burning:
        inner = stack[stack.index("main") + 1:-1]
        assert len(inner) % 2 == 0 and inner, stack
        assert all(METHOD.fullmatch(name) for name in inner[0::2]), stack
        assert set(inner[1::2]) == {"evaluate"}, stack
        depths.add(len(inner) // 2)
    assert 0.8 * depth < max(depths) <= depth and min(depths) < 0.2 * depth


def test_methods_by_name(tmp_path):
    """Methods have names in a program with the archive. The tests below use the shared library."""
    program = library.build("stubs.c", tmp_path, link="archive")
    rate_hz, ms = profiled.looks(1100)
    run = profiled.profile(tmp_path, program, ms, rate_hz=rate_hz)
    assert run.status == 0, run.stderr
    check_shape(run, 30)
    check_shares(run)


def test_deep_recursion(tmp_path):
    program = library.build("stubs.c", tmp_path)
    rate_hz, ms = profiled.looks(400)
    run = profiled.profile(tmp_path, program, ms, "500", rate_hz=rate_hz)
    assert run.status == 0, run.stderr
    check_shape(run, 500)


def test_names_of_stubs_that_are_gone(tmp_path):
    """
    Later stubs get the addresses of earlier ones. Samples must keep the names that were valid at
    their time.
    """
    program = library.build("stubs.c", tmp_path)
    rate_hz, ms = profiled.looks(1400)
    run = profiled.profile(tmp_path, program, ms, "30", "4", rate_hz=rate_hz)
    assert run.status == 0, run.stderr
    check_shape(run, 30)
    said = {name for name in run.truth if METHOD.fullmatch(name)}
    assert said == {f"method-{i + 100 * life}" for life in range(4) for i in range(HEAVY)}
    met = {innermost(stack) for stack, _ in run.folded.stacks}
    assert said <= met
    for life in range(4):
        names = {f"method-{i + 100 * life}" for i in range(HEAVY)}
        share = sum(run.truth[name] for name in names) / (run.truth_s * 1e9)
        weight = run.folded.where(lambda stack, n=names: innermost(stack) in n)
        folded.assert_share(run.folded, weight, share, run.folded.total, f"life {life}")


def test_library_profiles_itself(tmp_path):
    """The names are the same if the program profiles itself."""
    source = library.write(tmp_path, "self.c", (profiled.TARGETS / "stubs.c").read_text()
                           .replace("int main(", "static int run(", 1) + """
        #include "flameprof_profile.h"
        int main(int argc, char **argv)
        {
            struct flameprof_profile *profile;
            struct flameprof_options options = {.rate = 200};
            if (flameprof_start(&options))
                return 2;
            if (run(argc, argv) || flameprof_stop(&profile, -1))
                return 3;
            return flameprof_profile_write(profile, "out.folded") ? 4 : 0;
        }
        """)
    program = library.build(source, tmp_path)
    library.run(program, "1500", cwd=tmp_path)
    stacks = library.stacks(tmp_path / "out.folded")
    named = stacks.where(lambda stack: innermost(stack) is not None)
    assert named > 0.9 * stacks.total, stacks.describe()
    assert stacks.where(lambda stack: any("evaluate" in name for name in stack)) >= named
