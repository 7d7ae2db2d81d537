# SPDX-License-Identifier: MIT
#
# Compile a program of tests/targets, run it under flamerun, and return its output and the profile.
# TEST_BUILD is the build folder; the Makefile sets it.
import concurrent.futures
import functools
import hashlib
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

import pytest

import folded

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TEST_BUILD", ROOT / "build"))
TARGETS = ROOT / "tests" / "targets"

# The dynamic loader of glibc.
LOADER = {"x86_64": "/lib64/ld-linux-x86-64.so.2",
          "aarch64": "/lib/ld-linux-aarch64.so.1"}[os.uname().machine]

# Flags as distributions use them: optimised, no frame pointers, with symbols, no debug information.
PLAIN = ("-O2", "-fomit-frame-pointer")

# Compiled programs of tests/targets, named by a hash of the command. All processes of one pytest
# run share the folder (tests/setup/pytest.sh sets it); without the variable, each process has its
# own.
COMPILED_HERE = tempfile.TemporaryDirectory(prefix="flamerun-compiled.")
COMPILED = pathlib.Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", COMPILED_HERE.name)) / "compiled"


def compile_once(command, program, is_kept):
    """Make @program with @command and -o. If @is_kept, reuse the result of an equal command."""
    kept = COMPILED / hashlib.sha1(repr(command).encode()).hexdigest()
    if is_kept and kept.exists():
        shutil.copy(kept, program)
        return
    subprocess.run([*command, "-o", program], check=True)
    if is_kept:
        COMPILED.mkdir(exist_ok=True)
        # Another process or thread may compile the same program at the same time, so replace the
        # file atomically.
        mine = f"{kept}.{threading.get_native_id()}"
        shutil.copy(program, mine)
        os.replace(mine, kept)


def compile_target(name, folder, flags=PLAIN, output=None, compiler=None):
    """Build tests/targets/@name (with suffix) into @folder. Returns the program's path."""
    source = TARGETS / name
    program = pathlib.Path(folder) / (output or source.stem)
    compiler = compiler or ("g++" if source.suffix == ".cc" else "gcc")
    standard = ["-std=gnu11"] if source.suffix == ".c" else []
    command = (compiler, *standard, "-D_GNU_SOURCE", f"-I{ROOT}",
               f"-I{ROOT}/arch/{os.uname().machine}", *flags, source, "-lpthread", "-ldl")
    # Do not share programs whose source is in a test's folder, or that have files beside them.
    is_alike = source.parent == TARGETS and not any("/" in str(flag) or "split" in str(flag)
                                                    for flag in flags)
    compile_once(command, program, is_alike)
    return program

# Go compiles its standard library once for each kind of build. This cache keeps it for later runs.
GO_ENVIRONMENT = {**os.environ, "GOCACHE": str(ROOT / "build" / "go-cache"), "GO111MODULE": "off"}


class Profiled:
    """
    The results of one run: status, stdout, stderr, the folded profile, the true distribution that
    the target printed, and the fraction of samples that are independent.
    """

    def __init__(self, result, text, rate_hz, looks=1):
        self.status = result.returncode
        self.stdout = result.stdout
        self.stderr = result.stderr
        self.rate_hz = rate_hz
        self.looks = looks
        self.folded = folded.Folded(text)

    @property
    def truth(self):
        """{function: ns} from the lines "function nanoseconds" of stdout."""
        pairs = [line.split() for line in self.stdout.splitlines()]
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    @property
    def truth_s(self):
        return sum(self.truth.values()) / 1e9

    @property
    def begin(self):
        """The most samples that may fall before main(): those of 20 ms, because machines differ."""
        return 0.02 * self.rate_hz

    def assert_truth(self, truth=None):
        """
        Assert that the functions have the shares of @truth or, without it, those that the target
        printed.
        """
        folded.assert_truth(self.folded, truth or self.truth, self.looks)


@functools.lru_cache(maxsize=None)
def has_events():
    """Returns whether flamerun can use perf events here. root can, unless a sandbox forbids it."""
    return subprocess.run([BUILD / "flamerun", "-q", "--no-config", "--clock=perf", "-r", "10000", "-o", "/dev/null",
                           "--format", "folded", "--", "true"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


# From outside, some samples repeat a stack, because a sample is only recorded when its thread is
# found running. At least this fraction of the samples is independent, even on a busy machine.
OUTSIDE_LOOKS = 0.75


def looks(count, is_outside=False):
    """
    (rate, milliseconds as a word) for a target that computes, so that @count independent samples
    are taken. Perf events and sampling from outside need a quarter of the time that timers need.
    """
    if is_outside:
        return 997, str(math.ceil(count / OUTSIDE_LOOKS * 1000 / 997))
    rate_hz = 997 if has_events() else folded.TICK_HZ
    return rate_hz, str(math.ceil(count * 1000 / rate_hz))


def profile(folder, *command, rate_hz=197, clock_hz=None, options=(), env=None):
    """
    Run @command under flamerun in @folder. With @clock_hz, sample by elapsed time at this rate.
    """
    out = pathlib.Path(folder) / "profile.folded"
    flamerun = BUILD / "flamerun"
    clock = ["-r", str(rate_hz)]
    if clock_hz:
        clock = ["--test-clock", str(clock_hz)]
    result = subprocess.run([flamerun, "-o", out, *clock, *options, "--", *command], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=300)
    assert out.exists(), result.stderr
    if "--outside" in options or "sampled from outside" in result.stderr:
        distinct = OUTSIDE_LOOKS
    else:
        distinct = 1 if "--clock=tick" not in options and has_events() else folded.distinct(rate_hz)
    return Profiled(result, out.read_text(errors="surrogateescape"), clock_hz or rate_hz, distinct)


def crowd():
    """
    How much busier the machine is than in the tests' usual load of two programs per CPU; at least
    1.
    """
    minute, _, _, running, _ = pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()
    return max(1, max(float(minute), int(running.split("/")[0])) / (2 * os.cpu_count()))


# `of_all` marks tests that cover the same code as the tests beside them. Only `make check-all` runs
# them.
IS_ALL = bool(os.environ.get("TEST_ALL"))
of_all = pytest.mark.skipif(not IS_ALL, reason="make check-all has it")


def side_by_side(call, ways):
    """
    [@call(way) for each of @ways], with the calls in parallel. For programs that use little CPU
    time.
    """
    with concurrent.futures.ThreadPoolExecutor(len(ways)) as pool:
        return list(pool.map(call, ways))


def folder(parent, name):
    """A new folder in @parent."""
    path = pathlib.Path(parent) / name
    path.mkdir()
    return path
