# SPDX-License-Identifier: MIT
#
# V8's own traceback is the truth: in tests/targets/node_truth.js every function that uses the CPU is
# called by one way alone and has written down its stack. All samples that have it on theirs have to
# show that stack, whole and in order, down to it.
import collections
import json
import os
import subprocess

import pytest

import firefox
import nodes
import profiled

MS = 40
RATE = 4000
DEEPEST = 4096
# What V8's optimising compilers inline has no frame of its own.
WHOLE = ["--no-turbo-inlining", "--no-maglev-inlining"]
TIERS = {
    "interpreted": ["--no-opt", "--no-sparkplug", "--no-maglev"],
    "baseline": ["--no-opt", "--always-sparkplug", "--no-maglev"],
    "optimised": WHOLE,
    "moving": WHOLE + ["--gc-interval=2000", "--stress-compaction"],
}


def is_part(shown, told):
    """Are @shown some of @told, in that order, with the last of them?"""
    rest = iter(told)
    return shown[-1] == told[-1] and all(function in rest for function in shown)


def is_true(shown, told, is_whole):
    """Is @shown what the program @told of its stack, as far as that function?"""
    told = [(name, os.path.basename(file), first) for name, file, first, _ in told]
    if len(told) > DEEPEST - 200:
        told = told[-len(shown):]
    return shown == told if is_whole else is_part(shown, told)


def sort_stacks(picture, told, is_whole):
    """Returns what was expected, and by function that spins the weight of stacks: none is false."""
    expected = json.loads(told.read_text(encoding="utf-8"))
    true, false = collections.Counter(), {}
    for _, stack, weight in firefox.stacks_of(picture):
        shown = [(match[1], match[2], int(match[3])) for match in (
            nodes.FUNCTION.match(name) for name, _ in stack) if match]
        spinning = [i for i, (name, *_) in enumerate(shown) if name.startswith("spin_")]
        if not spinning:
            continue
        name = shown[spinning[-1]][0]
        if is_true(shown[:spinning[-1] + 1], expected[name], is_whole):
            true[name] += weight
        else:
            false[name] = shown[:spinning[-1] + 1]
    assert not false, {name: (shown, expected[name]) for name, shown in false.items()}
    return expected, true


def flags_of(node, flags):
    """Those that it knows."""
    known = subprocess.run([node, "--v8-options"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    names = {line.split()[0].removeprefix("--").replace("_", "-")
             for line in known.splitlines() if line.strip().startswith("--")}
    return [flag for flag in flags if flag.split("=")[0].removeprefix("--").removeprefix(
        "no-") in names or flag.split("=")[0].removeprefix("--") in names]


def run_truth(folder, node, flags, is_whole=True):
    picture, told = folder / "p.firefox.json", folder / "told.json"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "-r", str(RATE), "-o", picture,
                    "--", node, *flags_of(node, flags), profiled.TARGETS / "node_truth.js", told,
                    str(MS)], check=True, timeout=600)
    expected, true = sort_stacks(picture, told, is_whole)
    # Each spins for MS, of which flamerun may have half. What comes in the beginning or is put off
    # is no quarter of it.
    few = {name: true[name] for name in expected if true[name] < MS / 8}
    assert len(few) < len(expected) / 10, few


@nodes.each_known()
@pytest.mark.parametrize("tier", TIERS)
def test_every_stack_is_the_programs_own(tmp_path, node, tier):
    run_truth(tmp_path, node, TIERS[tier])


@nodes.each_known()
def test_what_is_inlined_is_all_that_is_missing(tmp_path, node):
    run_truth(tmp_path, node, [], is_whole=False)
