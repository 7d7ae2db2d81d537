# SPDX-License-Identifier: MIT
#
# Compile a program of tests/targets, run it under flamerun, hand back everything that came out.
# TEST_BUILD: the build folder, from the Makefile.
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile

import folded

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TEST_BUILD", ROOT / "build"))
TARGETS = ROOT / "tests" / "targets"

# Of programs that use glibc.
LOADER = {"x86_64": "/lib64/ld-linux-x86-64.so.2",
          "aarch64": "/lib/ld-linux-aarch64.so.1"}[os.uname().machine]

# As a distribution builds: optimised, no frame pointers, symbols but no debug information.
PLAIN = ("-O2", "-fomit-frame-pointer")

# What this process has compiled of tests/targets: the programs, by the command.
COMPILED = {}
COMPILED_FOLDER = tempfile.TemporaryDirectory(prefix="flamerun-compiled.")


def compile_target(name, folder, flags=PLAIN, output=None, compiler=None):
    """Build tests/targets/@name (with suffix) into @folder; returns the path."""
    source = TARGETS / name
    program = pathlib.Path(folder) / (output or source.stem)
    compiler = compiler or ("g++" if source.suffix == ".cc" else "gcc")
    standard = ["-std=gnu11"] if source.suffix == ".c" else []
    command = (compiler, *standard, "-D_GNU_SOURCE", f"-I{ROOT}", *flags, source, "-lpthread", "-ldl")
    # What lies in a test's folder is that test's, and so is what gets written beside a program.
    is_alike = source.parent == TARGETS and not any("/" in str(flag) or "split" in str(flag)
                                                    for flag in flags)
    if command not in COMPILED:
        subprocess.run([*command, "-o", program], check=True)
        if is_alike:
            COMPILED[command] = f"{COMPILED_FOLDER.name}/{len(COMPILED)}"
            shutil.copy(program, COMPILED[command])
    else:
        shutil.copy(COMPILED[command], program)
    return program


class Profiled:
    """One run: status, stdout, stderr, the folded profile, and the truth the target printed."""

    def __init__(self, result, text, rate_hz):
        self.status = result.returncode
        self.stdout = result.stdout
        self.stderr = result.stderr
        self.rate_hz = rate_hz
        self.folded = folded.Folded(text)

    @property
    def truth(self):
        """Lines "function nanoseconds" of stdout."""
        pairs = [line.split() for line in self.stdout.splitlines()]
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    @property
    def truth_s(self):
        return sum(self.truth.values()) / 1e9


def profile(folder, *command, rate_hz=197, clock_hz=None, options=(), env=None):
    """
    Run @command under flamerun into @folder. With @clock_hz it samples by the monotonic clock at that
    rate, so that a second gives thousands of stacks.
    """
    out = pathlib.Path(folder) / "profile.folded"
    flamerun = BUILD / "flamerun"
    clock = ["-r", str(rate_hz)]
    if clock_hz:
        clock = ["--test-clock", str(clock_hz)]
    result = subprocess.run([flamerun, "-o", out, *clock, *options, "--", *command], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=300)
    assert out.exists(), result.stderr
    return Profiled(result, out.read_text(errors="surrogateescape"), clock_hz or rate_hz)


def side_by_side(call, ways):
    """What @call returns for each of @ways, called at once: for programs that hardly use the CPU."""
    with concurrent.futures.ThreadPoolExecutor(len(ways)) as pool:
        return list(pool.map(call, ways))


def folder(parent, name):
    """A new one in @parent."""
    path = pathlib.Path(parent) / name
    path.mkdir()
    return path
