# SPDX-License-Identifier: MIT
#
# Compare samples with Python's own stack trace. In tests/targets/python_truth.py every function
# that uses the CPU is called in one way only and prints its stack. All samples in the function must
# show this stack completely, with the line of each caller.
import collections
import json
import os
import re
import subprocess

import pytest

import firefox
import outside
import profiled
import pythons

SECONDS = 0.02
RATE = 997
DEEPEST = 4096
# If CPython keeps nothing on the C stack, flamerun counts frames. This does not work if the stack
# was cut, and the interpreter of a thread is then unknown.
UNCOUNTED = ("spin_deep", "spin_inside_a", "spin_inside_b", "spin_inside_c", "spin_inside_d")
# Versions in which a thread's state can be found from its stack, as is necessary from outside and
# for sleeping threads.
PLACED = [path for path in pythons.known() if pythons.version_of(path) >= (3, 10)]
LOOP = range(1, 8)  # lines of a function that spins, in all of which it may be sampled


def functions(stack):
    """[(name, file, first line, line)] of the Python functions in @stack."""
    found = []
    for name, line in stack:
        match = pythons.FUNCTION.match(name)
        if match:
            found.append((match[1], os.path.basename(match[2]), int(match[3]), line))
    return found


def is_true(shown, told):
    """
    Returns whether @shown equals the printed stack @told. The last line may be any line of the
    loop.
    """
    told = [(name, os.path.basename(file), first, line) for name, file, first, line in told]
    if len(told) > DEEPEST - 100:
        told = told[-len(shown):]
    return (len(shown) == len(told) and shown[:-1] == told[:-1] and shown[-1][:3] == told[-1][:3]
            and shown[-1][3] in LOOP)


def sort_stacks(picture, told):
    """
    (expected stacks, {function that spins: time of its stacks}). Asserts that no stack is wrong.
    """
    expected = json.loads(told.read_text(encoding="utf-8"))
    true, false = collections.Counter(), {}
    for _, stack, weight in firefox.stacks_of(picture):
        shown = functions(stack)
        spinning = [name for name, *_ in shown if name.startswith("spin_")]
        if not spinning:
            continue
        if is_true(shown, expected[spinning[-1]]):
            true[spinning[-1]] += weight
        else:
            false[spinning[-1]] = shown
    assert not false, {name: (shown, expected[name]) for name, shown in false.items()}
    return expected, true


def run_truth(folder, python, *words, options=(), seconds=SECONDS, rate=RATE):
    picture, told = folder / "p.firefox.json", folder / "told.json"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "-r", str(rate), *options, "-o", picture,
                    "--", python, profiled.TARGETS / "python_truth.py", told, str(seconds), *words],
                   check=True, timeout=600, input="\n", text=True)
    return sort_stacks(picture, told)


def attach_truth(folder, python, *words, options=(), seconds=SECONDS, rate=RATE):
    """Like run_truth(), but from outside, by -p."""
    picture, told = folder / "p.firefox.json", folder / "told.json"
    with outside.running(python, profiled.TARGETS / "python_truth.py", told, str(seconds), *words,
                         stdin=subprocess.PIPE) as process:
        flamerun = outside.background(folder, process.pid, "-r", str(rate), "-o", picture, *options)
        process.stdin.write("\n")
        process.stdin.flush()
        status, stderr = outside.end_of(flamerun)
        assert status == 0 and process.wait() == 0, stderr
    return sort_stacks(picture, told)


def name_python(path):
    return re.search(r"versions/([\d.]+)|bin/(python3\.\d+)$", path)[0].replace("/", "-")


each_python = pytest.mark.parametrize("python", pythons.ALL, ids=name_python)
# The test above covers the layout of each version. Other behaviour does not depend on the version.
first_and_last = pytest.mark.parametrize("python", [
    pytest.param(path, marks=() if path in (PLACED[0], PLACED[-1]) else profiled.of_all)
    for path in pythons.ALL], ids=name_python)


@each_python
def test_every_stack_is_the_programs_own(tmp_path, python):
    if python not in pythons.known():
        pytest.skip("its functions have no names")
    expected, true = run_truth(tmp_path, python, "spin")
    for name in expected:
        if python in PLACED or name not in UNCOUNTED:
            # A deferred sample, mostly of a deep stack, may be counted for the next function.
            assert true[name] > SECONDS * 1000 / 4, (name, true)


def has_jit(python):
    return subprocess.run([python, "-c", "import sys; sys.exit(not sys._jit.is_available())"],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


@each_python
def test_no_stack_through_the_jit_is_false(tmp_path, monkeypatch, python):
    if python not in pythons.known() or not has_jit(python):
        pytest.skip("it has no JIT")
    monkeypatch.setenv("PYTHON_JIT", "1")
    expected, true = run_truth(tmp_path, python, "spin")
    # The JIT's code has no call-frame information, so many stacks are incomplete.
    assert len(true) > len(expected) * 0.2, true


# Maximum time in seconds between two observations: usually 25 to 75 ms, if flamerun gets a CPU.
LOOKED_S = 0.2


@pytest.mark.sleeps
@first_and_last
@pytest.mark.parametrize("way", [run_truth, attach_truth], ids=["inside", "outside"])
def test_every_stack_that_sleeps_is_the_programs_own(tmp_path, python, way):
    if python not in PLACED:
        pytest.skip("its functions have no names there")
    expected, true = way(tmp_path, python, "sleep+", options=["--wall"], seconds=LOOKED_S, rate=197)
    told = [name for name in expected if true[name]]
    assert len(told) > len(expected) * 0.8, set(expected) - set(told)
    assert sum(true.values()) > 1000 * LOOKED_S * len(expected) * 0.6


@first_and_last
def test_every_stack_from_outside_is_the_programs_own(tmp_path, python):
    if python not in PLACED:
        pytest.skip("its functions have no names there")
    expected, true = attach_truth(tmp_path, python, "spin+", options=["--no-waits"], rate=499)
    told = [name for name in expected if true[name]]
    assert len(told) > len(expected) * 0.8, set(expected) - set(told)
    assert sum(true.values()) > 1000 * SECONDS * len(expected) * 0.6


def is_called(caller, name):
    """Returns whether @caller calls @name in python_calls.py."""
    return caller == name.rpartition("_")[0] or (caller == name and name.endswith("R"))


ENDS = {("<module>", "main", "run"), ("_bootstrap", "_bootstrap_inner", "run", "run")}
# Stack of Thread.run() before it calls the function of the same name, and after the call.
THREAD_RUN = ("_bootstrap", "_bootstrap_inner", "run")


def assert_calls_are_true(picture):
    """
    Assert that functions of python_calls.py are below their callers, and that most of them have
    names.
    """
    named = total = 0
    for _, stack, weight in firefox.stacks_of(picture):
        # Only some versions have qualified names such as "Thread.run".
        shown = [name.rpartition(".")[2] for name, *_ in functions(stack)]
        own = [name for name in shown if name.startswith("run_")]
        total += weight
        if not own and "run" not in shown:
            continue
        named += weight
        ends = tuple(shown[:len(shown) - len(own)])
        assert ends in ENDS or (ends == THREAD_RUN and not own), shown
        assert all(map(is_called, ["run", *own], own)), shown
    # All other time is the start and end of Python, and the first and last instructions of
    # functions.
    assert named > 0.8 * total, (named, total)


@each_python
def test_no_function_that_begins_or_ends_is_false(tmp_path, python):
    if python not in pythons.known():
        pytest.skip("its functions have no names")
    picture = tmp_path / "p.firefox.json"
    subprocess.run([profiled.BUILD / "flamerun", "-q", "-r", "4000", "--no-waits", "-o", picture, "--", python,
                    profiled.TARGETS / "python_calls.py", "0.5"], check=True, timeout=600)
    assert_calls_are_true(picture)


# A placeholder, because pytest cannot name the parameters of an empty list.
NO_PYTHON_3_10 = pytest.param("", marks=pytest.mark.skip(reason="no Python 3.10 here"), id="none")


@pytest.mark.parametrize("python", [path for path in PLACED if pythons.version_of(path) == (3, 10)] or
                         [NO_PYTHON_3_10], ids=name_python)
def test_no_function_that_begins_or_ends_is_false_outside(tmp_path, python):
    picture = tmp_path / "p.firefox.json"
    with outside.running(python, profiled.TARGETS / "python_calls.py", "0.5+", stdin=subprocess.PIPE) as process:
        flamerun = outside.background(tmp_path, process.pid, "-r", "4000", "--no-waits", "-o", picture)
        process.stdin.write("\n")
        process.stdin.flush()
        status, stderr = outside.end_of(flamerun)
        assert status == 0 and process.wait() == 0, stderr
    assert_calls_are_true(picture)
