# SPDX-License-Identifier: MIT
#
# Shares of CPU time seen from outside: of threads that sleep after a few microseconds of work, of
# many threads, of real programs, compared with what they measured of themselves, with the same
# program sampled from inside, and with the kernel's books.
import contextlib
import math
import re
import shutil
import subprocess

import pytest

import folded
import outside
from profiled import PLAIN, compile_target, profile

pytestmark = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")

# Only who goes before others gets the CPU at the moment it asks for.
needs_priority = pytest.mark.skipif(not outside.IS_ROOT, reason="needs a higher priority")


# A sample waits for a look that finds its thread running, and stands for what was used until then.
DISTINCT = 0.6


def part_of(stacks, names):
    """The stacks with one of @names in them."""
    part = folded.Folded("")
    part.stacks = [entry for entry in stacks.stacks if any(name in entry[0] for name in names)]
    return part


def assert_same(one, other, looks, what):
    """Two shares, of @looks coin tosses each, differ by less than 5 sigma."""
    middle = (one * looks[0] + other * looks[1]) / sum(looks)
    sigma = math.sqrt(middle * (1 - middle) * (1 / looks[0] + 1 / looks[1]))
    assert abs(one - other) <= folded.SIGMAS * sigma, (
        f"{what}: {one:.3f} and {other:.3f} differ by {abs(one - other) / sigma:.1f} sigma")


@needs_priority
@pytest.mark.parametrize("threads, flags", [(1, ()), (8, ()), (200, ()), (8, ("-static",))],
                         ids=["one", "eight", "two-hundred", "static"])
def test_bursts(tmp_path, threads, flags):
    """
    Who looks late sees the beginning of 50 us of work too rarely, or its end. What rest uses is
    between its calls, where no sampler of this kind gets: less of it is seen, and never more.
    """
    program = compile_target("bursts.c", tmp_path, PLAIN + flags)
    run = profile(tmp_path, program, str(threads), "9000", rate_hz=250, options=["-v", "--outside"])
    truth = run.truth
    assert truth.pop("eintr") == 0, "a call was broken off"
    all_ns = sum(truth.values())
    rest = truth.pop("rest") / all_ns
    part = part_of(run.folded, truth)
    looks = part.total * DISTINCT
    for name, time_ns in truth.items():
        folded.assert_share(part, part.below(name), time_ns / sum(truth.values()), looks, name)
    assert run.folded.below("rest") <= 1.25 * rest * run.folded.total
