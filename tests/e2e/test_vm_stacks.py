# SPDX-License-Identifier: MIT
#
# Stacks that a virtual machine tells of itself: their shapes and weights under flamerun and in
# sessions, in every format, beside books that know nothing of them. Weights are those of ticks,
# which the machine counts, so that nothing here depends on how busy the computer is.
import re
import subprocess

import pytest

import folded
import library
import pprof
import profiled

RATE_HZ = 197
TICK_S = 0.01
FIB = ("main chunk (script.lua:1)", "fib (script.lua:12)")
BOOKS = re.compile(r"due \(CPU time x \d+ Hz\) = (\d+) sampled \(\d+ by overrun\) \+ (\d+) credited")


def is_vm(stack):
    return FIB[0] in stack


def machine(folder, *words, link="shared", options=(), status=0):
    program = library.build("machine.c", folder, link=link)
    run = profiled.profile(folder, program, *words, options=options)
    assert run.status == status, run.stderr
    return run


def check_weight(weight, ticks, threads=1):
    """Ticks in periods of the profile; each thread's first one begins at random."""
    expected = ticks * TICK_S * RATE_HZ
    assert ticks >= 20, "the machine got too few ticks to tell anything"
    assert expected - threads <= weight <= expected + threads, (weight, expected)


def check_beside(stacks):
    shapes = {stack for stack, _ in stacks.stacks if is_vm(stack)}
    assert shapes == {("[vm]", *FIB), ("[vm]", *FIB, "string.rep")}, stacks.describe()


@pytest.mark.parametrize("link", ["shared", "archive"])
def test_beside(tmp_path, link):
    """Also where the program has a copy of the library of its own."""
    run = machine(tmp_path, "1000", link=link)
    check_beside(run.folded)
    check_weight(run.folded.where(is_vm), run.truth["ticks"])
    assert run.truth["refused"] == 0
    assert not any("[vm]" in stack for stack, _ in run.folded.stacks if not is_vm(stack))
    assert run.folded.where(lambda stack: not is_vm(stack) and "run_machine" in stack) > 0


def test_above(tmp_path):
    run = machine(tmp_path, "1000", "above")
    stacks = [(stack, weight) for stack, weight in run.folded.stacks if is_vm(stack)]
    for stack, _ in stacks:
        at = stack.index(FIB[0])
        assert stack[at:] in (FIB, (*FIB, "string.rep")), stack
        # Up to the caller; the library's own frames are no part of the program.
        assert stack[at - 2:at] == ("run_machine", "on_ticks"), stack
        assert "main" in stack[:at] and "[vm]" not in stack, stack
    check_weight(sum(weight for _, weight in stacks), run.truth["ticks"])


def test_books_hold_cpu_time_alone(tmp_path):
    run = machine(tmp_path, "1000", options=("-v",))
    sampled, credited = map(int, BOOKS.search(run.stderr).groups())
    assert sampled + credited == run.folded.where(lambda stack: not is_vm(stack))
    told = float(re.search(r"besides, ([0-9.]+) s of elapsed time", run.stderr).group(1))
    assert abs(told - run.truth["ticks"] * TICK_S) <= 1 / RATE_HZ + 0.005


def test_only_them_or_all_but_them(tmp_path):
    """The recipes of the manual."""
    run = machine(tmp_path, "700", options=("--root", r"\[vm\]"))
    check_beside(run.folded)
    check_weight(run.folded.total, run.truth["ticks"])
    program = library.build("machine.c", tmp_path)
    profile = tmp_path / "run.pb.gz"
    result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", profile, "--", program,
                             "700", "above"], check=True, text=True, stdout=subprocess.PIPE)
    ticks = library.said(result)["ticks"]
    for kind, wanted in (("cpu", False), ("vm", True)):
        out = tmp_path / f"{kind}.folded"
        subprocess.run([profiled.BUILD / "flamerun", "render", profile, "-o", out,
                        "--sample-type", kind], check=True)
        stacks = folded.Folded(out.read_text())
        assert stacks.total > 0
        assert all(is_vm(stack) == wanted for stack, _ in stacks.stacks), stacks.describe()
        if wanted:
            check_weight(stacks.total, ticks)


def test_fork_child_names_its_own(tmp_path):
    run = machine(tmp_path, "500", "fork")
    check_beside(run.folded)
    check_weight(run.folded.where(is_vm), run.truth["ticks"] + run.truth["child_ticks"], 2)
    assert run.truth["child_ticks"] >= 20


def test_after_exec(tmp_path):
    run = machine(tmp_path, "500", "exec")
    check_beside(run.folded)
    both = sum(int(ticks) for ticks in re.findall(r"^ticks (\d+)$", run.stdout, re.M))
    assert run.stdout.count("ticks ") == 2
    check_weight(run.folded.where(is_vm), both, 2)


def test_killed(tmp_path):
    """What was recorded has its names, whoever is killed."""
    run = machine(tmp_path, "500", "die", status=-9)
    check_beside(run.folded)
    check_weight(run.folded.where(is_vm), run.truth["ticks"])


def test_a_flood_of_names(tmp_path):
    """Some hundred new functions a tick are more than flamerun reads in time; they come later."""
    run = machine(tmp_path, "600", "names=300")
    named = {name for stack, _ in run.folded.stacks for name in stack if name.startswith("made ")}
    assert len(named) >= 300 * 10
    assert run.folded.where(lambda stack: "[unknown code]" in stack) == 0 or \
        "names may be missing" in run.stderr


@pytest.mark.parametrize("writer", ["flamerun", "library"])
def test_pprof_has_files_and_lines(tmp_path, writer):
    program = library.build("machine.c", tmp_path)
    path = tmp_path / ("run.pb" if writer == "library" else "run.pb.gz")
    if writer == "flamerun":
        result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", path, "--", program,
                                 "700"], check=True, text=True, stdout=subprocess.PIPE)
    else:
        result = library.run(program, "700", f"scope={path}", "clock=cpu", cwd=tmp_path)
    ticks = library.said(result)["ticks"]
    profile = pprof.Profile(path)
    functions = {(name, file, line) for name, file, line in profile.lines if file}
    assert functions == {("fib", "script.lua", 12), ("main chunk", "script.lua", 1)}
    assert profile.types == [("samples", "count"), ("cpu", "nanoseconds"), ("vm", "nanoseconds")]
    for names, values, _ in profile.stacks:
        assert (values[2] > 0) == ("main chunk" in names), names
        assert (values[1] > 0) != (values[2] > 0), (names, values)
    told = sum(values[2] for _, values, _ in profile.stacks)
    check_weight(told / 1e9 * RATE_HZ, ticks)
    out = tmp_path / "again.folded"
    subprocess.run([profiled.BUILD / "flamerun", "render", path, "-o", out], check=True)
    check_beside(folded.Folded(out.read_text()))
    # And through flamerun's own writer once more.
    again = tmp_path / "again.pb"
    subprocess.run([profiled.BUILD / "flamerun", "render", path, "-o", again], check=True)
    assert {entry for entry in pprof.Profile(again).lines if entry[1]} == functions


@pytest.mark.parametrize("link", library.LINKS)
def test_a_scope_without_a_clock(tmp_path, link):
    program = library.build("machine.c", tmp_path, link=link)
    out = tmp_path / "machine.folded"
    result = library.run(program, "500", f"scope={out}", "clock=vm", cwd=tmp_path)
    stacks = library.stacks(out)
    check_beside(stacks)
    assert stacks.total == library.said(result)["ticks"]
    assert library.said(result)["refused"] == 0


def test_a_picture_says_what_was_told(tmp_path):
    program = library.build("machine.c", tmp_path)
    out = tmp_path / "machine.svg"
    result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", out, "--", program, "500"],
                            check=True, text=True, stdout=subprocess.PIPE)
    told = re.search(r"([0-9.]+) s told by virtual machines", out.read_text())
    assert abs(float(told.group(1)) - library.said(result)["ticks"] * TICK_S) < 0.02
