# SPDX-License-Identifier: MIT
#
# The programs of share/examples that use the library work as their head comments say. They are
# built by `make examples`, or by the tests.
import re
import subprocess
import time

import pytest

import library
import profiled
from snapshots import Program, connected

EXAMPLES = profiled.ROOT / "share" / "examples"


def example(name, folder):
    built = profiled.BUILD / "examples" / name
    return built if built.exists() else library.build(EXAMPLES / f"{name}.c", folder)


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batch")
    return folder, library.run(example("batch", folder), "3000000", "folded", cwd=folder)


def names_in(folder, phase):
    stacks = library.stacks(folder / f"{phase}.folded").stacks
    return {name for stack, _ in stacks for name in stack}


def test_batch_draws_each_phase(batch):
    folder, result = batch
    assert sorted(path.name for path in folder.glob("*.folded*")) == \
        ["make.folded", "parse.folded", "report.folded", "total.folded"]
    phases = {"make": {"make_sale"}, "parse": {"find_customer", "parse"}, "report": {"by_cents"}}
    for phase, names in phases.items():
        found = names_in(folder, phase)
        assert names <= found
        for other in phases:
            assert other == phase or not phases[other] & found
    assert phases["make"] | phases["parse"] <= names_in(folder, "total")
    assert not phases["report"] & names_in(folder, "total")
    assert re.search(r"report: [1-9]\d+ samples in \d+\.\d\d s", result.stdout)


def test_the_whole_is_the_sum_of_its_phases(batch):
    folder, _ = batch
    make, parse, total = (library.stacks(folder / f"{phase}.folded").total
                          for phase in ("make", "parse", "total"))
    # Samples between the last flush and the stop are in neither picture.
    assert make + parse == total


def test_batch_draws_pictures(tmp_path):
    library.run(example("batch", tmp_path), "100000", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == \
        ["make.svg", "parse.svg", "report.svg", "total.svg"]


def test_batch_works_whatever_becomes_of_its_pictures(batch, tmp_path):
    """Under flamerun the program cannot profile itself: it says so, and its output is the same."""
    _, alone = batch
    result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", "all.folded", "--",
                             example("batch", tmp_path), "3000000"], cwd=tmp_path, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    assert result.stdout == "".join(alone.stdout.splitlines(True)[:3])
    assert "batch: start: Device or resource busy" in result.stderr
    assert library.stacks(tmp_path / "all.folded").below("by_cents")


def ask_until(stream, words, is_over, patience_s=60):
    until = time.monotonic() + patience_s
    answers = {}
    while not answers or not is_over():
        assert time.monotonic() < until, "it never was over"
        for word in words:
            print(word, file=stream, flush=True)
            answers[word] = stream.readline().strip()
    return answers


def test_server_answers_and_draws_itself(tmp_path):
    path = tmp_path / "spelling"
    with Program(tmp_path, example("server", tmp_path), path, preload=False,
                 settings="duration=1.5:rate=500:output=a.folded") as server:
        with connected(path) as client, client.makefile("rw") as stream:
            ask_until(stream, ["bacan"], lambda: True)  # until its dictionary is read
            server.ask()
            answers = ask_until(stream, ["bacan", "bacon", "stastaa", "zzzz"],
                                (tmp_path / "a.folded").exists)
        stacks = library.stacks(tmp_path / "a.folded")
        assert server.said() == ""
        assert server.process.poll() is None
    assert answers["bacon"] == "bacon"
    assert answers["stastaa"] == "stasta"
    # The share of the kernel in such a short request varies.
    assert stacks.below("correct") > 0.25 * stacks.total, stacks.describe()
    assert stacks.below("serve") > 0.9 * stacks.total, stacks.describe()
    assert {"serve", "correct", "may_be_nearer", "edit_distance"} <= \
        {name for stack, _ in stacks.stacks for name in stack}


@pytest.mark.parametrize("clock,type_of_it,names", [
    ("cpu", "cpu", ("mix", "count")),
    ("elapsed", "vm", ("mix (program.vm:5)", "count (program.vm:9)"))])
def test_the_machines_functions_have_their_shares(tmp_path, clock, type_of_it, names):
    """
    The shares in native frames and in reported stacks equal those that the virtual machine's own
    clocks measure.
    """
    run = profiled.profile(tmp_path, example("machine", tmp_path), "1300",
                           options=["--sample-type", type_of_it])
    assert run.status == 0, run.stderr
    said = library.said(run)
    mix, count = (run.folded.where(lambda stack, name=name: name in stack) for name in names)
    times = [said[f"{name}_{clock}_ns"] for name in ("mix", "count")]
    share = times[0] / sum(times)
    assert 0.1 < share < 0.9 and mix + count >= 100, (share, mix, count)
    # The least number of independent samples: the kernel checks a CPU clock at each tick, 100 times
    # per second.
    looks = min(mix + count, sum(times) / 1e7)
    sigma = (share * (1 - share) / looks) ** 0.5
    assert abs(mix / (mix + count) - share) <= 5 * sigma, (mix, count, share)
    if type_of_it == "vm":
        chunk = ("[vm]", "chunk (program.vm:1)")
        assert {(*chunk, names[0]), (*chunk, names[1], "collatz")} <= \
            {stack for stack, _ in run.folded.stacks}
        return
    # The builtin has its caller below it, under both of the caller's names; so has the self time of
    # eval().
    assert run.folded.where(lambda stack: "collatz" in stack and stack.index("chunk") <
                            stack.index("count") < stack.index("collatz"))
    assert not run.folded.where(lambda stack: "eval" in stack)
    assert run.folded.where(lambda stack: stack[-1] == "mix") > mix * 0.9, run.folded.describe()
