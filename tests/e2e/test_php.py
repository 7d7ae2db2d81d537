# SPDX-License-Identifier: MIT
#
# PHP's own traceback is the truth: tests/targets/php_truth.php writes down each stack in which its
# work() is called, with the lines of callers. All samples taken in work() have to show one of them,
# whole and in order.
import collections
import math
import pathlib
import platform
import re
import shutil
import struct
import subprocess

import pytest

import firefox
import outside
import told_stacks
from profiled import TARGETS, profile

PHP = shutil.which("php8.2")

pytestmark = pytest.mark.skipif(not PHP, reason="no php8.2 here")

FUNCTION = re.compile(r"^(.+) \([^()]*(?:\([^()]*\)[^()]*)*:\d+\)$")


def shown_in(stack, builtins):
    """PHP's functions in @stack down to work(), as they are told; None: it is not in work()."""
    shown = []
    for name, line in stack:
        match = FUNCTION.match(name)
        if name in builtins:
            shown.append(name)
        elif match and match[1] == "work":
            return tuple(shown + ["work"])
        elif match:
            shown.append(f"{match[1]}:{line}")
    return None


def shown_of(told):
    builtins = told_stacks.without_lines(told)
    return lambda stack: shown_in(stack, builtins)


OUTSIDE = [pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")]
# Debian has opcache in a package of its own, and its compiler is told here on x86_64 alone.
HAS_COMPILER = PHP and platform.machine() == "x86_64" and "Zend OPcache" in subprocess.run(
    [PHP, "-m"], capture_output=True, text=True, check=False).stdout


def compiled(way, mode):
    return pytest.param(way, 4000 if way == "inside" else 197, mode, marks=[
        pytest.mark.skipif(not HAS_COMPILER, reason="no opcache, or it compiles nothing here"),
        *(OUTSIDE if way == "outside" else [])])


@pytest.mark.parametrize("way,rate_hz,compiler", [
    ("inside", 4000, None), pytest.param("outside", 197, None, marks=OUTSIDE),
    compiled("inside", "tracing"), compiled("inside", "function"), compiled("outside", "tracing")])
def test_every_stack_is_phps_own(tmp_path, way, rate_hz, compiler):
    settings = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=64M",
                "-d", f"opcache.jit={compiler}"] if compiler else []
    run, told, true = told_stacks.run_truth(
        tmp_path, way, rate_hz, [PHP, *settings, TARGETS / "php_truth.php", "700"], shown_of)
    assert len(told) > 15
    if way == "outside":
        assert true
        return
    told_stacks.assert_few_native(run)
    is_php = run.folded.where(lambda stack: any(name.startswith("{main} (") for name in stack))
    assert sum(true.values()) > 0.7 * is_php > 0, run.folded.describe()
    assert len(true) > 10, true


def with_globals_of(tmp_path, size):
    """PHP whose executor_globals are said to have @size bytes."""
    symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", PHP], capture_output=True, text=True,
                             check=True).stdout
    address, now = re.search(r": ([0-9a-f]{16}) +(\d+) .* executor_globals$", symbols, re.M).groups()
    entry = struct.pack("<QQ", int(address, 16), int(now))
    program = pathlib.Path(PHP).read_bytes()
    assert program.count(entry) == 1
    (tmp_path / "php").write_bytes(program.replace(entry, struct.pack("<QQ", int(address, 16), size)))
    (tmp_path / "php").chmod(0o755)
    return tmp_path / "php"


@pytest.mark.parametrize("size, is_known", [(1768, False), (1776, True), (1800, True), (1848, False)])
def test_releases_of_8_2(tmp_path, size, is_known):
    """8.2.0 has executor_globals of 1,776 bytes, 8.2.36 of 1,800, the last ones for what is new."""
    run = profile(tmp_path, with_globals_of(tmp_path, size), TARGETS / "php_truth.php", "100",
                  rate_hz=997)
    assert bool(run.folded.below("work (php_truth.php:10)")) == is_known, run.folded.describe()
    assert ("is not a version whose functions can be named" in run.stderr) != is_known


@pytest.mark.parametrize("way,rate_hz,ms", [
    ("inside", 997, "800"), pytest.param("outside", 197, "1400", marks=pytest.mark.skipif(
        outside.IS_CONFINED, reason="nobody may trace here"))])
def test_the_line_that_runs(tmp_path, way, rate_hz, ms):
    """Also where the frame has no note of it: each line has the share that PHP's clock tells."""
    picture = tmp_path / "p.firefox.json"
    run = profile(tmp_path, PHP, TARGETS / "php_lines.php", ms, rate_hz=rate_hz, options=[
        "--no-waits", "-o", picture, *(["--outside"] if way == "outside" else [])])
    seen = collections.Counter()
    for _, stack, _ in firefox.stacks_of(picture):
        seen.update(line for name, line in stack if name.startswith("lines ("))
    total = sum(seen.values())
    told = re.findall(r"^(\w+) (\d+) ([\d.]+)$", run.stdout, re.M)
    assert total > 100 and len(told) == 5
    for name, line, share in told:
        share = float(share)
        doubt = 5 * math.sqrt(share * (1 - share) / total) + 0.01
        assert seen[int(line)] / total == pytest.approx(share, abs=doubt), (name, seen, told)
    # Between the lines that are counted it reads the clock.
    assert sum(seen[int(line)] for _, line, _ in told) > 0.97 * total, (seen, told)


def test_waits_have_names(tmp_path):
    script = tmp_path / "naps.php"
    script.write_text("<?php\nfunction naps()\n{\n    usleep(1500000);\n}\nnaps();\n")
    run = profile(tmp_path, PHP, script, options=["--wall"])
    naps = run.folded.where(lambda stack: "naps (naps.php:2)" in stack and "usleep" in stack and
                            stack[-1] == "[clock_nanosleep]")
    assert naps == pytest.approx(1.5 * run.rate_hz, rel=0.1), run.folded.describe()


@pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
def test_a_running_one_has_names(tmp_path):
    """A built-in server, which nobody started for flamerun: `-p`."""
    (tmp_path / "index.php").write_text(
        "<?php\nfunction spins()\n{\n    for ($i = 0; $i < 3000000; $i++);\n}\nspins();\n")
    with outside.running(PHP, "-q", "-S", "127.0.0.1:0", "-t", tmp_path,
                         stderr=subprocess.PIPE) as process:
        port = re.search(r"127.0.0.1:(\d+)", process.stderr.readline())[1]
        with outside.running(
                "/usr/bin/python3", "-c", "import sys, urllib.request\nwhile True:\n"
                f"    urllib.request.urlopen('http://127.0.0.1:{port}/').read()"):
            run = outside.attach(tmp_path, process.pid, "-r", "199", "--no-waits")
    spins = run.folded.where(lambda stack: "spins (index.php:2)" in stack)
    assert spins > 0.8 * run.folded.total > 0, run.folded.describe()
