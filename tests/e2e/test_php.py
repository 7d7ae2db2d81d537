# SPDX-License-Identifier: MIT
#
# Compare samples with PHP's own stack trace. tests/targets/php_truth.php prints each stack in which
# its work() is called, with the lines of callers. All samples in work() must show one of these
# stacks completely.
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

# sizeof(executor_globals) in the first release of each version that flamerun supports.
KNOWN = {"8.2": 1776, "8.4": 1960}

PHP = shutil.which("php")
VERSION = PHP and subprocess.run([PHP, "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;"],
                                 capture_output=True, text=True, check=True).stdout

pytestmark = pytest.mark.skipif(VERSION not in KNOWN, reason=f"PHP {VERSION} is not known")

FUNCTION = re.compile(r"^(.+) \([^()]*(?:\([^()]*\)[^()]*)*:\d+\)$")


def shown_in(stack, builtins):
    """
    The PHP functions in @stack down to work(), as the script prints them; None if work() is not in
    it.
    """
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
# Debian has opcache in a package of its own. flamerun reads its JIT on x86_64 only.
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
    # Starting a fiber maps a stack. The share of this time depends on how fast work() is.
    assert sum(true.values()) > 0.5 * is_php > 0, run.folded.describe()
    assert len(true) > 10, true


def with_bytes(tmp_path, old, new):
    """A copy of PHP in which @new replaces the bytes @old."""
    program = pathlib.Path(PHP).read_bytes()
    assert program.count(old) == 1
    (tmp_path / "php").write_bytes(program.replace(old, new))
    (tmp_path / "php").chmod(0o755)
    return tmp_path / "php"


def assert_known(tmp_path, php, is_known):
    run = profile(tmp_path, php, TARGETS / "php_truth.php", "100", rate_hz=997)
    in_work = run.folded.where(lambda stack: any(name.startswith("work (") for name in stack))
    assert bool(in_work) == is_known, run.folded.describe()
    assert ("is not a version whose functions can be named" in run.stderr) != is_known


@pytest.mark.parametrize("more, is_known", [(-8, False), (0, True), (24, True), (72, False)])
def test_releases_of_one_version(tmp_path, more, is_known):
    """
    The first release of a version has an executor_globals of the size in KNOWN; later releases
    append members. Smaller and much larger sizes are unknown.
    """
    symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", PHP], capture_output=True, text=True,
                             check=True).stdout
    address, now = re.search(r": ([0-9a-f]{16}) +(\d+) .* executor_globals$", symbols, re.M).groups()
    said = [struct.pack("<QQ", int(address, 16), size) for size in (int(now), KNOWN[VERSION] + more)]
    assert_known(tmp_path, with_bytes(tmp_path, *said), is_known)


@pytest.mark.skipif(VERSION == "8.2" or platform.machine() != "x86_64",
                    reason="its version is told in another way, or the code is not known here")
@pytest.mark.parametrize("version, is_known", [(80300, False), (80499, True), (80500, False)])
def test_other_versions(tmp_path, version, is_known):
    """
    The version that php_version_id() returns decides, even if everything else matches a supported
    version.
    """
    now = subprocess.run([PHP, "-r", "echo PHP_VERSION_ID;"], capture_output=True, text=True,
                         check=True).stdout
    code = [b"\xb8" + struct.pack("<I", number) + b"\xc3" for number in (int(now), version)]
    assert_known(tmp_path, with_bytes(tmp_path, *code), is_known)


@pytest.mark.parametrize("way,rate_hz,ms", [
    ("inside", 997, "800"), pytest.param("outside", 197, "1400", marks=pytest.mark.skipif(
        outside.IS_CONFINED, reason="nobody may trace here"))])
def test_the_line_that_runs(tmp_path, way, rate_hz, ms):
    """
    Lines have the shares that PHP's clock measures, even if the frame does not store the line.
    """
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
    # Only the lines between the counted ones are missing, and they only read the clock.
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
    """With -p, functions also have names in a built-in server that flamerun did not start."""
    (tmp_path / "index.php").write_text(
        "<?php\nfunction spins()\n{\n    for ($i = 0; $i < 3000000; $i++);\n}\nspins();\n")
    with outside.running(PHP, "-q", "-S", "127.0.0.1:0", "-t", tmp_path,
                         stderr=subprocess.PIPE) as process:
        port = re.search(r"127.0.0.1:(\d+)", process.stderr.readline())[1]
        with outside.running(
                "/usr/bin/python3", "-c", "import sys, urllib.request\nwhile True:\n"
                f"    urllib.request.urlopen('http://127.0.0.1:{port}/').read()"):
            stacks = outside.attach_while_it_works(tmp_path, process.pid, "-r", "199", "--no-waits")
    spins = stacks.where(lambda stack: "spins (index.php:2)" in stack)
    assert spins > 0.8 * stacks.total > 0, stacks.describe()
