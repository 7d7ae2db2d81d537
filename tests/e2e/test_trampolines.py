# SPDX-License-Identifier: MIT
#
# Generated code without call-frame information and frame pointers: trampolines as CPython makes
# them since 3.12 (-X perf), and CPython itself if it is installed.
import collections
import os
import pathlib
import shutil
import subprocess

import pytest

import outside
import profiled
import pythons

SPINS = ("main", "py::outer", "outer", "py::middle", "middle", "py::leaf", "leaf")
QUICK = ("main", "py::outer", "outer", "py::quick", "quick")

needs_tracing = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")


@pytest.fixture(scope="session")
def newer():
    """A CPython from 3.12 on. A python3 in PATH may be a script that finds no Python."""
    for name in (os.environ.get("PYTHON312"), "python3.12", "python3.13", "python3.14"):
        path = name and shutil.which(name)
        asked = [path, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
        if path and not subprocess.run(asked, check=False, stderr=subprocess.DEVNULL).returncode:
            return path
    return pytest.skip("no CPython from 3.12 on")


NESTED = """
import time
def leaf(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
class Shapes:
    def method(self, depth):
        return self.method(depth - 1) if depth else leaf(2000)
def generated():
    yield Shapes().method(3)
def outer():
    return sorted([2, 1], key=lambda value: sum(generated()))
end = time.process_time() + SECONDS
while time.process_time() < end:
    for _ in range(20):  # takes some ms: see spin_until() in spin.h
        outer()
"""
NESTED_WAY = ["<module>", "outer", "outer.<locals>.<lambda>", "generated", *["Shapes.method"] * 4,
              "leaf"]


def forget_map(pid):
    pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)


def check_ways(folded, least):
    """Assert that every stack through a trampoline is one of the two possible stacks."""
    leaves = collections.Counter()
    for stack, weight in folded.stacks:
        if any(name.startswith("py::") for name in stack):
            assert "main" in stack, folded.describe()
            way = stack[stack.index("main"):]
            assert way in (SPINS[:len(way)], QUICK[:len(way)]), folded.describe()
            leaves[way[-1]] += weight
    assert sum(leaves.values()) >= least and leaves["leaf"] and leaves["quick"], folded.describe()
    # Some samples are at a trampoline's first instructions or after its call.
    assert leaves["py::quick"], "no sample in a trampoline itself\n" + folded.describe()


@pytest.mark.parametrize("flags", [profiled.PLAIN, ("-O2", "-fno-omit-frame-pointer")],
                         ids=["plain", "frame-pointers"])
def test_callers_of_trampolines(tmp_path, flags):
    program = profiled.compile_target("trampolines.c", tmp_path, flags)
    run = profiled.profile(tmp_path, program, "1", clock_hz=1000)
    forget_map(run.truth["pid"])
    assert run.status == 0
    check_ways(run.folded, 500)


@needs_tracing
def test_callers_of_trampolines_from_outside(tmp_path):
    """The program ends after a fixed CPU time."""
    program = profiled.compile_target("trampolines.c", tmp_path)
    with outside.running(program, "2") as process:
        outside.wait_until(lambda: outside.cpu_s(process.pid) > 0)
        run = outside.attach(tmp_path, process.pid, "-r", "500", seconds=100)
    forget_map(process.pid)
    check_ways(run.folded, 100)


def check_python(folded):
    """Assert that all callers of leaf are on the stack whenever leaf is."""
    leaves = 0
    for stack, weight in folded.stacks:
        names = [name.split(":")[2] for name in stack if name.startswith("py::")]
        if "leaf" in names:
            leaves += weight
            assert names == NESTED_WAY, folded.describe()
            assert stack[0] == "_start", folded.describe()
            assert "_PyEval_EvalFrameDefault" in stack, folded.describe()
    assert leaves > folded.total / 2, folded.describe()
    lost = folded.below("[incomplete stack]")
    assert lost <= folded.total / 100, folded.describe()


def test_python_names_its_functions(tmp_path, newer):
    path = pythons.script(tmp_path, "SECONDS = 1" + NESTED + "import os\nprint('pid', os.getpid())")
    run = profiled.profile(tmp_path, newer, "-X", "perf", path, clock_hz=1000,
                           options=["--native"])
    forget_map(run.truth["pid"])
    check_python(run.folded)


def test_no_function_stands_twice(tmp_path, newer):
    """
    Each function has one name in the perf map and one in its frame. Only one of them may be shown.
    """
    path = pythons.script(tmp_path, "SECONDS = 1" + NESTED + "import os\nprint('pid', os.getpid())")
    run = profiled.profile(tmp_path, newer, "-X", "perf", path, clock_hz=1000)
    forget_map(run.truth["pid"])
    twice = run.folded.where(lambda stack: any(name.startswith("py::") for name in stack)
                             and pythons.functions(stack))
    assert twice == 0, run.folded.describe()
    assert pythons.weight_of(run.folded, *NESTED_WAY) > run.folded.total / 2


@needs_tracing
def test_python_names_its_functions_from_outside(tmp_path, newer):
    path = pythons.script(tmp_path, "SECONDS = 3" + NESTED)
    with outside.running(newer, "-X", "perf", path) as process:
        outside.wait_until(lambda: outside.cpu_s(process.pid) > 0.3)
        run = outside.attach(tmp_path, process.pid, "-r", "300", seconds=100)
    forget_map(process.pid)
    check_python(run.folded)
