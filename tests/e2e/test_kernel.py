# SPDX-License-Identifier: MIT
#
# The option --kernel shows the kernel's functions above the program's. These tests compare their
# times with the program's own clock and with perf, check that system calls return the same, and
# check the messages of refusals.
import pathlib
import re
import shutil
import subprocess

import pytest

import folded
import profiled

SYMBOLS = pathlib.Path("/proc/kallsyms")
SUFFIX = "_[k]"


@pytest.fixture(scope="session")
def kernel():
    """The names of the kernel's functions. Skips the test if the kernel does not allow sampling."""
    result = subprocess.run([profiled.BUILD / "flamerun", "--kernel", "-o", "/dev/null", "--format",
                             "folded", "--", "true"], text=True, capture_output=True, check=False)
    refusal = re.search("^flamerun: (--kernel: .*)", result.stderr, re.M)
    if refusal:
        pytest.skip(refusal[1])
    return {line.split()[2] for line in SYMBOLS.read_text().splitlines()}


def of_kernel(stack):
    """The names of the kernel's frames in @stack, without their mark."""
    return [name[:-len(SUFFIX)] for name in stack if name.endswith(SUFFIX)]


def test_functions_and_their_share(tmp_path, kernel):
    """
    The program spends a third of its time each in computing, in reading zeros by system calls, and
    in page faults.
    """
    program = profiled.compile_target("in_kernel.c", tmp_path)
    run = profiled.profile(tmp_path, program, "2000", rate_hz=1000, options=["--kernel"])
    total = sum(run.truth.values())
    for name, true_ns in run.truth.items():
        # The kernel measures its time by ticks, 160 of each kind: 5 sigma are 40 %.
        assert abs(run.folded.below(name) / run.folded.total - true_ns / total) \
            < 0.4 * true_ns / total, run.folded.describe()
    reads = run.folded.where(lambda stack: "reads" in stack and "vfs_read" in of_kernel(stack))
    assert reads > 0.6 * run.folded.below("reads"), run.folded.describe()
    # A page fault begins with interrupts off. If the host must find the page, most of the time is
    # sampled where interrupts are enabled again, before handle_mm_fault().
    faults = run.folded.where(lambda stack: "touches" in stack and any(
        "page_fault" in name for name in of_kernel(stack)))
    assert faults > 0.6 * run.folded.below("touches"), run.folded.describe()
    assert run.folded.where(lambda stack: "touches" in stack
                            and "handle_mm_fault" in of_kernel(stack)), run.folded.describe()
    for stack, _ in run.folded.stacks:
        mine, theirs = of_kernel(stack), stack[:len(stack) - len(of_kernel(stack))]
        # The kernel's frames are the innermost frames and have names that the kernel knows.
        assert not any(name.endswith(SUFFIX) for name in theirs), stack
        assert set(mine) <= kernel, stack
        # Code that only computes enters the kernel by interrupts, never by calls.
        assert not ("computes" in stack and set(mine) & {"vfs_read", "do_anonymous_page"}), stack
    computes = run.folded.where(lambda stack: "computes" in stack and of_kernel(stack))
    assert computes < 0.3 * run.folded.below("computes"), run.folded.describe()
    told = float(re.search(r"([0-9.]+) s in the kernel\)", run.stderr)[1])
    inside = run.folded.where(lambda stack: of_kernel(stack) or stack[-1].startswith("[kernel"))
    assert abs(told - inside / 1000) < 0.006


def test_as_perf_sees_it(tmp_path, kernel):
    """
    Functions with 3 % of the kernel's time or more have the shares that perf shows, within 5 sigma.
    """
    if not shutil.which("perf"):
        pytest.skip("no perf")
    program = profiled.compile_target("in_kernel.c", tmp_path)
    run = profiled.profile(tmp_path, program, "2000", rate_hz=500, options=["--kernel"])
    recorded = tmp_path / "perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "500", "-g", "-o", recorded,
                    program, "2000"], check=True, capture_output=True)
    text = subprocess.run(["perf", "script", "-F", "ip,sym", "-i", recorded], text=True, check=True,
                          capture_output=True).stdout
    stacks = [{line.split()[1] for line in block.splitlines()
               if len(line.split()) > 1 and int(line.split()[0], 16) >> 47}
              for block in text.split("\n\n") if block.strip()]
    stacks = [stack for stack in stacks if stack]
    inside = run.folded.where(of_kernel)
    compared = 0
    for name in sorted(kernel & set().union(*stacks)):
        share = sum(name in stack for stack in stacks) / len(stacks)
        if share < 0.03:
            continue
        mine = run.folded.where(lambda stack, name=name: name in of_kernel(stack)) / inside
        # Both shares vary: perf's has len(stacks) samples, flamerun's has at least 300 independent
        # ones.
        bound = 5 * (share * (1 - share) * (1 / len(stacks) + 1 / 300)) ** 0.5
        assert abs(mine - share) < bound + 0.01, (name, mine, share)
        compared += 1
    assert compared >= 8, text[:2000]


def test_below_functions_of_a_language(tmp_path, kernel):
    """A Python function has only the kernel's functions of its own system calls."""
    script = tmp_path / "two.py"
    script.write_text("""
import os
zero = os.open("/dev/zero", 0)
def reads():
    for _ in range(40):
        os.read(zero, 1 << 16)
def draws():
    for _ in range(3):
        os.urandom(20000)
for _ in range(2500):
    reads()
    draws()
""")
    run = profiled.profile(tmp_path, "/usr/bin/python3", script, rate_hz=1000, options=["--kernel"])
    seen = {}
    for stack, weight in run.folded.stacks:
        for name in ("reads", "draws"):
            if any(frame.startswith(f"{name} (two.py:") for frame in stack):
                inside = set(of_kernel(stack))
                what = "read" if "vfs_read" in inside else "random" if inside & {
                    "__x64_sys_getrandom", "__arm64_sys_getrandom"} else ""
                seen[name, what] = seen.get((name, what), 0) + weight
    assert seen.get(("reads", "read"), 0) > 30 and seen.get(("draws", "random"), 0) > 30, seen
    assert ("reads", "random") not in seen and ("draws", "read") not in seen, seen


def test_calls_return_the_same(tmp_path, kernel):
    """
    The target exits with 1 if a read is cut short, as by a signal that arrives during the call.
    """
    program = profiled.compile_target("in_kernel.c", tmp_path)
    run = profiled.profile(tmp_path, program, "1000", rate_hz=10000, options=["--kernel"])
    assert run.status == 0 and set(run.truth) == {"computes", "reads", "touches"}, run.stderr


def test_again_from_folded_text(tmp_path, kernel):
    """The mark identifies a kernel function and is not part of its name."""
    program = profiled.compile_target("in_kernel.c", tmp_path)
    run = profiled.profile(tmp_path, program, "500", rate_hz=1000, options=["--kernel"])
    first = tmp_path / "first.folded"
    first.write_text("".join(f"{';'.join(stack)} {weight}\n" for stack, weight in run.folded.stacks))
    for through in ("again.pb.gz", "again.svg", "again.folded"):
        subprocess.run([profiled.BUILD / "flamerun", "-q", "render", first, "-o", tmp_path / through],
                       check=True)
        first = tmp_path / through
    assert dict(folded.Folded(first.read_text()).stacks) == dict(run.folded.stacks)


def test_what_a_refusal_says(tmp_path):
    """If sampling the kernel is refused, flamerun prints one line and the run continues."""
    confine = tmp_path / "confine"
    subprocess.run(["gcc", "-D_GNU_SOURCE", profiled.ROOT / "tests" / "e2e" / "confine.c", "-o",
                    confine], check=True)
    tmp_path.chmod(0o777)
    result = subprocess.run([confine, "65534", profiled.BUILD / "flamerun", "--kernel", "-o",
                             "out.folded", "--", "sh", "-c", "exit 3"], text=True,
                            capture_output=True, check=False, cwd=tmp_path, timeout=60)
    if result.returncode == 125 or "out.folded" not in result.stderr:
        pytest.skip("no other user may run this build")
    assert result.returncode == 3
    assert len(re.findall("^flamerun: --kernel: the kernel's functions are not shown, "
                          "(kernel.perf_event_paranoid is \\d+|a sandbox forbids "
                          "perf_event_open\\(2\\))$", result.stderr, re.M)) == 1


def test_from_outside(run):
    result = run("--kernel", "--outside", "-o", "out.folded", "--", "true")
    assert result.returncode == 0
    assert "--kernel: the kernel's functions are shown only for programs that are sampled from " \
        "inside\n" in result.stderr
