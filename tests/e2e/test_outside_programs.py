# SPDX-License-Identifier: MIT
#
# Programs that cannot load the library, sampled from outside: correct profiles, and that the
# programs notice nothing.
import pathlib
import platform
import re
import shutil
import signal
import subprocess

import pytest

import folded
import outside
from profiled import PLAIN, TARGETS, compile_target, looks, profile

pytestmark = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")


@pytest.mark.parametrize("flags, compiler", outside.BUILDS.values(), ids=outside.BUILDS.keys())
def test_split_that_cannot_be_injected(tmp_path, flags, compiler):
    outside.need(compiler or "gcc")
    program = compile_target("split.c", tmp_path, flags, compiler=compiler)
    rate_hz, ms = looks(400, is_outside=True)
    run = profile(tmp_path, program, ms, rate_hz=rate_hz)
    assert run.status == 0
    assert run.stderr.count("it is sampled from outside") == 1
    assert "is [unsampled]" not in run.stderr
    run.assert_truth()
    due = run.truth_s * rate_hz
    assert abs(run.folded.total - due) <= 0.05 * due + run.begin
    # musl has no call-frame information, so a stack that ends in one of its functions has no
    # callers.
    least = 0.95 if compiler else 0.99
    assert run.folded.where(lambda s: "main" in s) >= least * run.folded.total - run.begin
    if not compiler:
        assert run.folded.below("[incomplete stack]") == 0


@pytest.mark.sanitized
@pytest.mark.skipif(platform.machine() != "x86_64", reason="its assembly")
def test_frames_that_only_libunwind_gets_through(tmp_path):
    """The CFA is in a register that the callee saved, as only its call-frame information says."""
    source = pathlib.Path(TARGETS / "odd_registers.S")
    program = compile_target("odd_registers.c", tmp_path, (*PLAIN, str(source)))
    rate_hz, ms = looks(400, is_outside=True)
    run = profile(tmp_path, program, ms, rate_hz=rate_hz, options=["-v", "--outside"])
    assert run.status == 0
    walked = int(re.search(r"(\d+) stacks? walked by libunwind", run.stderr).group(1))
    assert walked >= 50
    whole = ("main", "odd_outer", "odd_inner", "odd_work")
    assert run.folded.where(lambda s: s[-4:] == whole) >= 0.98 * run.folded.below("odd_work")
    assert run.folded.below("odd_work") >= 0.95 * run.folded.total


def test_exceptions_in_a_static_program(tmp_path):
    program = compile_target("exceptions.cc", tmp_path, PLAIN + ("-static",))
    run = profile(tmp_path, program, "800", rate_hz=250)
    assert run.status == 0 and "every throw was caught" in run.stdout
    assert run.folded.below("main") >= 0.97 * run.folded.total
    assert run.folded.below("catcher") > 0


# In a stripped program, names come from a table (pclntab) that the other builds have, too.
@pytest.mark.parametrize("flags", [
    [], pytest.param(["-ldflags", "-s -w"], marks=pytest.mark.sanitized), ["-buildmode=pie"],
], ids=["plain", "stripped", "pie"])
def test_go(tmp_path, flags):
    """
    The work is in a function without a stack frame, but its caller is found. A -buildmode=pie
    program could load the library, which would see neither its threads nor its signals.
    """
    rate_hz, ms = looks(700, is_outside=True)
    run = profile(tmp_path, outside.build_go(tmp_path, flags), ms, rate_hz=rate_hz)
    assert run.status == 0
    assert run.stderr.count("it is sampled from outside") == 1
    said = run.folded.describe() + "\n" + run.stderr
    share = run.folded.below("main.heavy") + run.folded.below("main.light")
    assert share >= 0.95 * run.folded.total, said
    # Several threads of Go's runtime share the work, and not every observation finds the running
    # one.
    part = folded.Folded("")
    part.stacks = [entry for entry in run.folded.stacks if set(run.truth) & set(entry[0])]
    heavy = run.truth["main.heavy"] / sum(run.truth.values())
    folded.assert_share(part, part.below("main.heavy"), heavy, 0.6 * part.total, "main.heavy")
    whole = run.folded.where(lambda s: "runtime.main" in s and "main.main" in s)
    assert whole >= 0.95 * share, said
    # The runtime preempts goroutines by a signal, which is delivered before the timer's signal.
    assert run.folded.below("runtime.asyncPreempt.abi0") <= 0.05 * run.folded.total, said


@pytest.mark.parametrize("flags, with_c", [([], False), (["-buildmode=pie"], False), ([], True)],
                         ids=["plain", "pie", "cgo"])
def test_go_on_its_system_stack(tmp_path, flags, with_c):
    """
    The callers are on the goroutine's stack. A program with cgo loads the library, others are
    sampled from outside.
    """
    program = outside.build_go(tmp_path, flags, outside.GO_SYSTEM_STACK, with_c)
    run = profile(tmp_path, program, rate_hz=997)
    assert run.status == 0
    assert ("it is sampled from outside" in run.stderr) != with_c

    def is_whole(stack):
        names = [name for name in stack if name in ("runtime.main", "main.main", "main.callers")]
        return names == ["runtime.main", "main.main", "main.callers"] and stack[0] == "runtime.goexit.abi0"

    there = run.folded.below("runtime.callers.func1")
    assert there > 50, run.folded.describe()
    assert run.folded.where(lambda s: "runtime.callers.func1" in s and is_whole(s)) >= 0.98 * there, (
        run.folded.describe())


def test_go_that_goes_on_while_it_is_walked(tmp_path):
    """The goroutine may call other functions while flamerun walks a copy of its stack."""
    program = outside.build_go(tmp_path, (), outside.GO_STACKS)
    with outside.running(program, "600000") as process:
        outside.work(process.pid, 0.1)
        flamerun = outside.background(tmp_path, process.pid, "-r", "997")
        outside.work(process.pid, 1)
        status, stderr = outside.end(flamerun)
    assert status == 0, stderr
    stacks = folded.Folded((tmp_path / "b.folded").read_text())
    assert stacks.below("runtime.callers.func1") > 0.5 * stacks.total, stacks.describe()
    assert stacks.below("[incomplete stack]") <= 0.05 * stacks.total, stacks.describe()


@pytest.mark.sanitized
@pytest.mark.parametrize("script, status", [("exit 3", 3), ("kill -TERM $$", -signal.SIGTERM),
                                            ("kill -KILL $$", -signal.SIGKILL)])
def test_the_status_is_the_programs(tmp_path, script, status):
    result = subprocess.run([outside.FLAMERUN, "-q", "--outside", "-o", tmp_path / "x.folded", "--",
                             "sh", "-c", script], check=False, timeout=60)
    assert result.returncode == status


@pytest.mark.sanitized
def test_standard_streams_are_the_programs(tmp_path):
    result = subprocess.run([outside.FLAMERUN, "-q", "--outside", "-o", tmp_path / "x.folded", "--",
                             "sh", "-c", "cat; echo error >&2"], input="through", text=True,
                            capture_output=True, check=False, timeout=60)
    assert (result.stdout, result.stderr) == ("through", "error\n")


def test_not_found_is_still_127(tmp_path):
    result = subprocess.run([outside.FLAMERUN, "--outside", "-o", tmp_path / "x.folded", "--",
                             "no-such-program"], capture_output=True, check=False, timeout=60)
    assert result.returncode == 127


def test_children_of_a_program_from_outside(tmp_path):
    forks = compile_target("forkexec.c", tmp_path, PLAIN + ("-static",))
    run = profile(tmp_path, forks, "1000", rate_hz=250)
    assert run.status == 0
    for name in ("parent", "fork", "exec", "vfork", "spawn"):
        assert run.folded.below(f"{name}_work") > 0, run.folded.describe()
    books = re.search(r"(\d+) samples? in .*; \d+ threads?, (\d+) process", run.stderr)
    assert int(books.group(2)) >= 5


def test_signals_reach_the_program(tmp_path):
    program = compile_target("split.c", tmp_path, PLAIN + ("-static",))
    flamerun = subprocess.Popen([outside.FLAMERUN, "-q", "-o", tmp_path / "x.folded", "--", program,
                                 "600000"], stdout=subprocess.DEVNULL)

    def found():
        return subprocess.run(["pgrep", "-P", str(flamerun.pid), "-x", "split"], text=True,
                              stdout=subprocess.PIPE, check=False).stdout
    outside.wait_until(found)
    outside.work(int(found()), 0.5)
    flamerun.terminate()
    assert flamerun.wait(timeout=60) == -signal.SIGTERM
    assert "main;heavy" in (tmp_path / "x.folded").read_text()


@pytest.mark.skipif(not outside.IS_ROOT, reason="only root may")
def test_set_user_id_as_root_keeps_its_privileges(tmp_path, confined):
    if confined:
        pytest.skip("nothing changes privileges here")
    program = shutil.copy("/usr/bin/id", tmp_path / "id")
    shutil.chown(program, "nobody")
    program.chmod(0o4755)
    tmp_path.chmod(0o755)
    plain = subprocess.run([program, "-un"], capture_output=True, text=True, check=True).stdout
    result = subprocess.run([outside.FLAMERUN, "-o", tmp_path / "x.folded", "--", program, "-un"],
                            capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (0, plain), result.stderr
    assert plain == "nobody\n"
    assert "set-user-id" in result.stderr and "it is sampled from outside" in result.stderr


def test_duration(tmp_path):
    program = compile_target("split.c", tmp_path, PLAIN + ("-static",))
    run = profile(tmp_path, program, "1200", rate_hz=250, options=["-d", "0.3"])
    assert run.status == 0 and "sampling has ended; " in run.stderr
    assert "heavy" in run.truth
    # On a busy machine flamerun samples a little longer, because it gets no CPU to end.
    assert 0 < run.folded.total <= 0.5 * run.truth_s * 250
