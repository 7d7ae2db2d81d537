# SPDX-License-Identifier: MIT
#
# Stacks that a virtual machine reports: their shapes and weights under flamerun and in sessions, in
# every format. Weights are in ticks, which the machine counts, so they do not depend on how busy
# the computer is.
import json
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
BOOKS = re.compile(r"due \(CPU time x \d+ Hz\) = (\d+) sampled \(\d+ by overrun\) \+ (\d+) credited "
                   r"\+ (\d+) exec \+ (\d+) exit")


def is_vm(stack):
    return FIB[0] in stack


# Read the stacks in a picture's data, as the viewer does.
DECODE = """
import {readFileSync} from 'node:fs';
const viewer = await import(process.argv[1]);
const text = readFileSync(process.argv[2], 'utf8');
const pieces = [...text.matchAll(/<piece[^>]*>([^<]*)<\\/piece>/g)].map(match => match[1]);
const profile = viewer.readProfile(viewer.readColumns(await viewer.inflate(pieces)));
const {frame, self, parent} = profile.tree;
const stack = node => node ? [...stack(parent[node]), profile.name(frame[node])] : [];
console.log(JSON.stringify([...self.keys()].filter(node => self[node])
	.map(node => [stack(node), self[node]])));
"""


def drawn(picture):
    viewer = profiled.ROOT / "tests" / "browser" / "viewer.mjs"
    out = subprocess.run(["node", "--input-type=module", "-e", DECODE, viewer, picture], check=True,
                         text=True, stdout=subprocess.PIPE).stdout
    return {tuple(stack): weight for stack, weight in json.loads(out)}


def flamerun(*words):
    return subprocess.run([profiled.BUILD / "flamerun", *words], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def of_type(folder, profile, kind):
    """Draw the values of the sample type @kind of @profile. None means its default type."""
    out = folder / f"{kind}-of-it.folded"
    chosen = ["--sample-type", kind] if kind else []
    flamerun("-q", "render", profile, "-o", out, *chosen)
    return folded.Folded(out.read_text())


def machine(folder, *words, link="shared", options=(), status=0):
    """
    Run machine.c. run.folded is drawn with default options, run.told has the stacks that the
    machine reported.
    """
    program = library.build("machine.c", folder, link=link)
    profile = folder / "run.pb.gz"
    run = profiled.profile(folder, program, *words, options=("-o", profile, *options))
    assert run.status == status, run.stderr
    run.told = of_type(folder, profile, "vm")
    assert not any(is_vm(stack) or "[vm]" in stack for stack, _ in run.folded.stacks)
    assert all(is_vm(stack) for stack, _ in run.told.stacks), run.told.describe()
    return run


def check_weight(weight, ticks, threads=1):
    """
    Assert that @weight, in periods, is the weight of @ticks. It may be off by one for each thread.
    """
    expected = ticks * TICK_S * RATE_HZ
    assert ticks >= 20, "the machine got too few ticks to tell anything"
    assert expected - threads <= weight <= expected + threads, (weight, expected)


def check_beside(stacks):
    shapes = {stack for stack, _ in stacks.stacks if is_vm(stack)}
    assert shapes == {("[vm]", *FIB), ("[vm]", *FIB, "string.rep")}, stacks.describe()


@pytest.mark.parametrize("link", ["shared", "archive"])
def test_beside(tmp_path, link):
    """The machine's stacks are recorded, also in a program with its own copy of the library."""
    run = machine(tmp_path, "300", link=link)
    check_beside(run.told)
    check_weight(run.told.total, run.truth["ticks"])
    assert run.truth["refused"] == 0
    assert run.folded.below("run_machine") > 0


def test_above(tmp_path):
    run = machine(tmp_path, "300", "above")
    for stack, _ in run.told.stacks:
        at = stack.index(FIB[0])
        assert stack[at:] in (FIB, (*FIB, "string.rep")), stack
        # The caller is the next frame. The library's own frames are not shown.
        assert stack[at - 2:at] == ("run_machine", "on_ticks"), stack
        assert "main" in stack[:at] and "[vm]" not in stack, stack
    check_weight(run.told.total, run.truth["ticks"])


def test_books_hold_cpu_time_alone(tmp_path):
    run = machine(tmp_path, "300", options=("-v",))
    assert sum(map(int, BOOKS.search(run.stderr).groups())) == run.folded.total
    told = float(re.search(r"([0-9.]+) s of elapsed time in stacks that virtual machines reported", run.stderr).group(1))
    assert abs(told - run.truth["ticks"] * TICK_S) <= 1 / RATE_HZ + 0.005


@pytest.mark.parametrize("place", ["beside", "above"])
def test_no_sum_of_two_times(tmp_path, place):
    """In every output, each total and percentage is of the one kind of time that is shown."""
    program = library.build("machine.c", tmp_path)
    outputs = [tmp_path / f"run.{ending}" for ending in ("folded", "svg", "pb.gz", "pdf")]
    for kind, other in (("cpu", "vm"), ("vm", "cpu")):
        result = flamerun("--sample-type", kind, *(word for out in outputs for word in ("-o", out)),
                          "--", program, "400", *(["above"] if place == "above" else []))
        stacks = folded.Folded(outputs[0].read_text())
        assert all(is_vm(stack) == (kind == "vm") for stack, _ in stacks.stacks), stacks.describe()
        if kind == "vm":
            check_weight(stacks.total, library.said(result)["ticks"])
        # The file has both values in columns of their own, and the selected one is its default.
        profile = pprof.Profile(outputs[2])
        names = [name for name, _ in profile.types]
        # There are columns for waits only if an observation found this busy program waiting.
        assert names in (["samples", "cpu", "vm"], ["samples", "cpu", "vm", "wait", "runnable"])
        assert {sum(map(bool, values[1:])) for _, values, _ in profile.stacks} == {1}
        assert all(bool(values[0]) == bool(values[1]) for _, values, _ in profile.stacks)
        assert of_type(tmp_path, outputs[2], None).stacks == stacks.stacks
        besides = of_type(tmp_path, outputs[2], other)
        assert all(is_vm(stack) == (other == "vm") for stack, _ in besides.stacks)
        assert besides.total > 0
        # Shares in the summary.
        shares = re.findall(r"^flamerun: +([0-9.]+) %  (\[.+\]|.+?)(?: \[.*)?$", result.stderr, re.M)
        assert len(shares) > (kind == "vm")
        for share, name in shares:
            assert abs(float(share) - 100 * stacks.self(name) / stacks.total) <= 0.051, name
        assert f"reported: {'the picture shows these' if kind == 'vm' else '--sample-type vm draws them'}" in \
            result.stderr
        # Check the picture's boxes and texts. With CPU time, the browser can also show waits.
        boxes = drawn(outputs[1])
        assert all(stack[-1].endswith("]") and kind == "cpu" for stack in boxes.keys()
                   - dict(stacks.stacks).keys())
        assert {stack: boxes.get(stack) for stack, _ in stacks.stacks} == dict(stacks.stacks)
        text = re.search("<desc[^>]*>([^<]*)", outputs[1].read_text()).group(1)
        told = re.search(r"[0-9.]+ s reported by virtual machines", text)
        clock = re.search(r"[0-9.]+ s of CPU", text)
        assert (clock.start() < told.start()) == (kind == "cpu"), text
        assert ("(--sample-type vm)" in text) == (kind == "cpu"), text
        text = subprocess.run(["pdftotext", outputs[3], "-"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        assert re.search(rf"all: {stacks.total:,} samples", text), text
        assert ("main chunk" in text) == (kind == "vm"), text


def test_what_is_not_asked_for_is_told_of(tmp_path):
    """
    A profile with two kinds of time is drawn by its default kind. A message names the other kind.
    """
    run = machine(tmp_path, "700")
    result = flamerun("render", tmp_path / "run.pb.gz", "-o", tmp_path / "out.svg")
    assert "time of another kind as well: --sample-type vm draws it" in result.stderr
    assert "--sample-type vm" in (tmp_path / "out.svg").read_text()
    assert of_type(tmp_path, tmp_path / "run.pb.gz", None).stacks == run.folded.stacks
    result = flamerun("render", tmp_path / "run.pb.gz", "-o", tmp_path / "out.svg",
                      "--sample-type", "vm")
    assert "another kind" not in result.stderr


@pytest.mark.sanitized
def test_a_run_has_two_sample_types(tmp_path):
    def ask(*words):
        command = [profiled.BUILD / "flamerun", *words, "--", "touch", tmp_path / "ran"]
        return subprocess.run(command, cwd=tmp_path, text=True, stderr=subprocess.PIPE)

    for words in (("--sample-type", "space"), ("--wall", "--sample-type", "wall")):
        result = ask(*words)
        assert result.returncode == 125
        assert f"a run has no sample type '{words[-1]}'" in result.stderr
        assert "it has cpu, wait, and vm" in result.stderr
    assert not (tmp_path / "ran").exists()
    # The program reported no stacks, so the picture is empty and says so.
    assert ask("--sample-type", "vm", "-o", "out.pdf").returncode == 0
    text = subprocess.run(["pdftotext", tmp_path / "out.pdf", "-"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    assert "no virtual machine reported a stack" in text


def test_fork_child_names_its_own(tmp_path):
    run = machine(tmp_path, "300", "fork")
    check_beside(run.told)
    check_weight(run.told.total, run.truth["ticks"] + run.truth["child_ticks"], 2)
    assert run.truth["child_ticks"] >= 20


def test_after_exec(tmp_path):
    run = machine(tmp_path, "300", "exec")
    check_beside(run.told)
    both = sum(int(ticks) for ticks in re.findall(r"^ticks (\d+)$", run.stdout, re.M))
    assert run.stdout.count("ticks ") == 2
    check_weight(run.told.total, both, 2)


def test_killed(tmp_path):
    """Recorded stacks keep their names, whichever process is killed."""
    run = machine(tmp_path, "300", "die", status=-9)
    check_beside(run.told)
    check_weight(run.told.total, run.truth["ticks"])


@pytest.mark.sanitized
def test_a_flood_of_names(tmp_path):
    """
    Some hundred new functions per tick are too many to be read at once, so they are read later.
    """
    run = machine(tmp_path, "600", "names=300")
    named = {name for stack, _ in run.told.stacks for name in stack if name.startswith("made ")}
    assert len(named) >= 300 * 10
    assert run.told.below("[unknown code]") == 0 or \
        "names may be missing" in run.stderr


@pytest.mark.sanitized
@pytest.mark.parametrize("writer", ["flamerun", "library"])
def test_pprof_has_files_and_lines(tmp_path, writer):
    program = library.build("machine.c", tmp_path)
    path = tmp_path / ("run.pb" if writer == "library" else "run.pb.gz")
    if writer == "flamerun":
        result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", path, "--", program,
                                 "700"], check=True, text=True, stdout=subprocess.PIPE)
    else:
        result = library.run(program, "400", f"scope={path}", "clock=cpu", cwd=tmp_path)
    ticks = library.said(result)["ticks"]
    profile = pprof.Profile(path)
    # Native functions may also have files.
    functions = {entry for entry in profile.lines if entry[1].endswith(".lua")}
    assert functions == {("fib", "script.lua", 12), ("main chunk", "script.lua", 1)}
    waits = [("wait", "nanoseconds"), ("runnable", "nanoseconds")]
    assert [one for one in profile.types if one not in waits] == [
        ("samples", "count"), ("cpu", "nanoseconds"), ("vm", "nanoseconds")]
    for names, values, _ in profile.stacks:
        assert (values[2] > 0) == ("main chunk" in names), names
        assert sum(value > 0 for value in values[1:]) == 1, (names, values)
        assert (values[0] > 0) == (values[1] > 0), (names, values)
    told = sum(values[2] for _, values, _ in profile.stacks)
    check_weight(told / 1e9 * RATE_HZ, ticks)
    check_beside(of_type(tmp_path, path, "vm"))
    assert not any(map(is_vm, dict(of_type(tmp_path, path, None).stacks)))
    # flamerun writes the same again.
    again = tmp_path / "again.pb"
    subprocess.run([profiled.BUILD / "flamerun", "render", path, "-o", again], check=True)
    assert {entry for entry in pprof.Profile(again).lines if entry[1].endswith(".lua")} == functions


@pytest.mark.parametrize("link", library.LINKS)
def test_a_scope_without_a_clock(tmp_path, link):
    program = library.build("machine.c", tmp_path, link=link)
    out = tmp_path / "machine.folded"
    result = library.run(program, "500", f"scope={out}", "clock=vm", cwd=tmp_path)
    stacks = library.stacks(out)
    check_beside(stacks)
    assert stacks.total == library.said(result)["ticks"]
    assert library.said(result)["refused"] == 0


@pytest.mark.sanitized
def test_a_picture_says_what_was_told(tmp_path):
    program = library.build("machine.c", tmp_path)
    out = tmp_path / "machine.svg"
    result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", out, "--", program, "500"],
                            check=True, text=True, stdout=subprocess.PIPE)
    told = re.search(r"([0-9.]+) s reported by virtual machines", out.read_text())
    assert abs(float(told.group(1)) - library.said(result)["ticks"] * TICK_S) < 0.02
