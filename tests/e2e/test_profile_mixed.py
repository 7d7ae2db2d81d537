# SPDX-License-Identifier: MIT
#
# Programs that cannot load the library are started by a program that has it: they are in one
# picture and one accounting.
import ctypes
import os
import re
import signal
import shutil
import subprocess

import pytest

import folded
import outside
import profiled
from profiled import PLAIN, compile_target, crowd, looks, of_all, profile

needs_trace = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")

STATIC = PLAIN + ("-static",)
# Clear the environment, as programs that start others may do.
BARE = "env -u LD_PRELOAD -u FLAMERUN_CHANNEL "
# The most CPU time that a program without the library may use before it is found and sampled. A
# usual machine needs half of it.
EARLY_S = 0.05


def below_shell(folder, script, **options):
    run = profile(folder, "sh", "-c", script, options=["-v"], **options)
    assert run.status == 0, run.stderr
    return run


def assert_books(run, truth_s, uninjected=1):
    """
    Assert that all CPU time is counted once, compared with the kernel's sum and with the programs'
    clocks.
    """
    due = int(re.search(r"(\d+) due ", run.stderr)[1])
    said = f"{run.folded.describe()}\n{run.stderr}"
    # The samples equal the time that was due, except for rounding when the tracer detaches from
    # threads.
    assert abs(run.folded.total - due) <= 4 + 0.02 * due + uninjected ** 0.5, said
    assert run.folded.total >= (truth_s - 0.02) * run.rate_hz, said


def assert_early(run, name, uninjected=1):
    early = run.folded.where(lambda s: s[0] == name and s[-1] == "[unsampled]")
    assert early <= uninjected * 2 * crowd() * EARLY_S * run.rate_hz + 3, run.folded.describe()


def build_uninjected(kind, folder):
    if kind.startswith("go"):
        return outside.build_go(folder, ["-buildmode=pie"] if kind == "go-pie" else [])
    flags, compiler = outside.BUILDS[kind]
    outside.need(compiler or "gcc")
    return compile_target("split.c", folder, flags, compiler=compiler)


@pytest.mark.confined
@needs_trace
@pytest.mark.parametrize("kind, script", [
    # From its exec on, a forked child is traced in the same way for all kinds of programs, so test
    # one kind for each C library.
    pytest.param(kind, script, id=f"{kind}-{way}",
                 marks=of_all if way == "fork" and kind not in ("static", "musl") else ())
    for kind in (*outside.BUILDS, "go", "go-pie") for way, script in (("exec", "exec {}"), ("fork", "{}; :"))])
def test_a_program_of_another_kind(tmp_path, kind, script):
    program = build_uninjected(kind, tmp_path)
    rate_hz, ms = looks(400, is_outside=True)
    run = below_shell(tmp_path, script.format(f"{program} {ms}"), rate_hz=rate_hz)
    assert_books(run, run.truth_s)
    assert_early(run, "split")
    # On a busy machine, messages say that the program waited and that frequent observations are
    # expensive. Ignore these messages.
    said = re.sub(r".*(; the time it waited|% of the CPU time was spent taking samples: ).*\n", "", run.stderr)
    assert "hint" not in said and "could not" not in said, said
    if not kind.startswith("go"):
        run.assert_truth()
    whole = sum(run.folded.below(name) for name in run.truth)
    assert whole >= (run.truth_s - 2 * crowd() * EARLY_S) * run.rate_hz * 0.93, run.folded.describe()


@pytest.mark.sanitized
@pytest.mark.confined
@needs_trace
def test_a_preload_that_was_taken_away(tmp_path):
    """A program without the library runs, then one with it. Both have their shares."""
    program = compile_target("strange.c", tmp_path)
    rate_hz, ms = looks(450, is_outside=True)
    run = below_shell(tmp_path, f"{BARE}{program} before {ms}; {program} private {ms}", rate_hz=rate_hz)
    assert_books(run, run.truth_s)
    early = run.folded.below("[unsampled]")
    assert early <= 2 * crowd() * EARLY_S * rate_hz + 4, run.folded.describe()
    # The first 50 ms have no function.
    truth = dict(run.truth)
    truth["before_work"] -= early * 1e9 / rate_hz
    run.assert_truth(truth)


@pytest.mark.confined
@needs_trace
def test_a_stranger_that_becomes_one_of_us(tmp_path):
    static = compile_target("strange.c", tmp_path, STATIC, output="static")
    dynamic = compile_target("split.c", tmp_path)
    run = below_shell(tmp_path, f"{static} before 500 {dynamic} 400", rate_hz=250)
    assert_books(run, run.truth_s)
    assert_early(run, "static")
    names = {stack[0] for stack, _ in run.folded.stacks if "before_work" in stack}
    assert names == {"static"}
    assert run.folded.where(lambda s: s[0] == "split" and "main" in s) >= 0.93 * 0.4 * 250


@pytest.mark.confined
@needs_trace
def test_a_library_that_comes_late(tmp_path):
    """A constructor runs before the library's: the tracer samples this time and nothing later."""
    source = tmp_path / "late.c"
    source.write_text('#include "tests/targets/spin.h"\n'
                      "BOX void late_work(void) { spin_until(500000000); }\n"
                      "__attribute__((constructor)) static void begin(void) { late_work(); }\n")
    library = tmp_path / "liblate.so"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O2", f"-I{profiled.ROOT}", "-shared", "-fPIC", "-o",
                    library, source], check=True)
    program = compile_target("split.c", tmp_path, (*PLAIN, "-Wl,--no-as-needed", str(library)))
    run = below_shell(tmp_path, f"{program} 400; :", rate_hz=250)
    assert_books(run, run.truth_s + 0.5)
    late = run.folded.below("late_work")
    assert 0.3 * 250 <= late <= 0.5 * 250 + 3, run.folded.describe()
    known = run.folded.below("heavy") + run.folded.below("light")
    assert abs(known - run.truth_s * 250) <= 3 + 0.03 * run.truth_s * 250, run.folded.describe()


def may_compare_processes():
    """
    Returns whether kcmp(2) is allowed. Some containers forbid it although they allow ptrace(2).
    """
    number = {"x86_64": 312, "aarch64": 272}[os.uname().machine]
    return ctypes.CDLL(None).syscall(number, os.getpid(), os.getpid(), 1, 0, 0) == 0


@pytest.mark.sanitized
@pytest.mark.confined
@needs_trace
def test_a_vfork_child(tmp_path):
    """
    If kcmp(2) is allowed, the CPU time that the vfork child used before it was found is on its
    first stack.
    """
    program = compile_target("strange.c", tmp_path)
    rate_hz, ms = looks(500, is_outside=True)
    run = profile(tmp_path, program, "vfork", ms, options=["-v"], rate_hz=rate_hz)
    assert run.status == 0
    assert_books(run, run.truth_s)
    early = run.folded.below("[unsampled]")
    truth = dict(run.truth)
    truth["child_work"] -= early * 1e9 / rate_hz
    limit_s = 0 if may_compare_processes() else 2 * crowd() * EARLY_S
    assert early <= (limit_s + 0.016) * rate_hz, run.folded.describe()
    run.assert_truth(truth)


@pytest.mark.confined
@needs_trace
def test_many_short_ones(tmp_path):
    """No sample is counted twice if programs end at about the time when the tracer attaches."""
    program = compile_target("strange.c", tmp_path, STATIC)
    run = below_shell(tmp_path, f"for i in $(seq 50); do {program} before 30; done >/dev/null")
    due = int(re.search(r"(\d+) due ", run.stderr)[1])
    assert due >= 0.95 * 50 * 0.03 * run.rate_hz
    seen = run.folded.below("[unsampled: strange]") + run.folded.below("strange")
    assert 0.2 * due <= seen, run.folded.describe()
    assert run.folded.total <= due + 4, run.folded.describe()


@needs_trace
def test_many_at_once(tmp_path):
    program = compile_target("strange.c", tmp_path, STATIC)
    run = below_shell(tmp_path, f"for i in $(seq 16); do {program} before 250 & done; wait")
    assert_books(run, 16 * 0.25, 16)
    assert run.folded.below("before_work") >= 0.5 * run.folded.total, run.folded.describe()


@pytest.mark.confined
@pytest.mark.skipif(not outside.IS_ROOT, reason="needs another user")
def test_who_may_not_be_traced(flamerun_of_all, tmp_path):
    """The CPU time of a program that may not be traced is in [unsampled], with the reason."""
    tmp_path.chmod(0o777)
    program = compile_target("strange.c", tmp_path, STATIC)
    result = subprocess.run(
        outside.as_nobody(flamerun_of_all, "-v", "-o", tmp_path / "x.folded", "--", "sh", "-c",
                          f"{program} private 1000; {program} before 1000"),
        text=True, capture_output=True, check=True, timeout=120)
    run = profiled.Profiled(result, (tmp_path / "x.folded").read_text(), 197)
    unsampled = run.folded.below("[unsampled: strange]")
    if outside.IS_CONFINED:
        assert abs(unsampled - 2 * 197) <= 0.05 * 2 * 197
        assert "2 programs could not be sampled from outside" in run.stderr
    else:
        assert abs(unsampled - 197) <= 0.05 * 197
        assert re.search(r"1 program could not be sampled from outside, either: process \d+ "
                         r"\(strange\) keeps its memory to itself", run.stderr), run.stderr


@pytest.mark.confined
@needs_trace
def test_leaks_are_found_untraced(tmp_path):
    """LeakSanitizer fails if it cannot trace the program, so flamerun must not trace it."""
    program = compile_target("strange.c", tmp_path, (*PLAIN, "-fsanitize=address"))
    run = below_shell(tmp_path, f"{BARE}{program} before 500")
    assert "LeakSanitizer" not in run.stderr
    assert abs(run.folded.below("[unsampled: strange]") - 0.5 * 197) <= 0.15 * 0.5 * 197, run.folded.describe()
    assert "sanitizer" in run.stderr


@pytest.mark.sanitized
@pytest.mark.confined
@needs_trace
def test_pids_of_a_namespace_of_their_own(tmp_path):
    """
    A process with the library is identified by its slot in the arena, whatever its pid is in its
    namespace.
    """
    if subprocess.run(["unshare", "-pf", "true"]).returncode:
        pytest.skip("no namespaces here")
    dynamic = compile_target("split.c", tmp_path)
    static = compile_target("strange.c", tmp_path, STATIC)
    run = below_shell(tmp_path, f"unshare -pf sh -c '{dynamic} 500; {static} before 1000'")
    assert_books(run, run.truth_s)
    assert run.folded.below("before_work") >= 0.85 * 1.0 * 197
    assert run.folded.where(lambda s: s[0] == "split" and s[-1].startswith("[unsampled")) <= 5
    assert "still run" not in run.stderr


@needs_trace
@pytest.mark.parametrize("way", ["forked", "by a shell"])
def test_the_first_process_of_a_pid_namespace(tmp_path, way):
    """
    A process whose /proc does not show flamerun is identified by its parent's slot in the arena.
    """
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no namespaces here")
    program = compile_target("split.c", tmp_path)
    run = profile(tmp_path, *command, *(["sh", "-c", 'exec "$0" 1000'] if way == "by a shell" else []),
                  program, *(["1000"] if way == "forked" else []))
    assert run.status == 0
    below = run.folded.below("light") + run.folded.below("heavy")
    assert_early(run, "split")
    assert below >= .6 * run.truth_s * run.rate_hz, run.folded.describe() + run.stderr
    assert "still run" not in run.stderr


def test_a_sandbox_leaves_nothing_running(tmp_path):
    """
    bubblewrap makes its first process by a raw clone(2) in a new namespace, and this process forks.
    """
    sandbox = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid"]
    if not shutil.which("bwrap") or subprocess.run([*sandbox, "true"], check=False).returncode:
        pytest.skip("no bubblewrap, or no namespaces here")
    run = profile(tmp_path, *sandbox, compile_target("split.c", tmp_path), "200")
    assert run.status == 0
    assert "still run" not in run.stderr


def start(folder, program, *options):
    """Start flamerun with a traced program. Returns the pids of both, and flamerun's process."""
    path = folder / "pid"
    script = f"{program} before 600000 & echo $! >{path}.new; mv {path}.new {path}; wait"
    flamerun = subprocess.Popen([outside.FLAMERUN, "-v", "-o", folder / "x.folded", *options, "--",
                                 "sh", "-c", script], text=True, stderr=subprocess.PIPE)
    outside.wait_until(path.exists)
    pid = int(path.read_text())
    outside.wait_until(lambda: outside.tracer_of(pid) > 0)
    return flamerun, pid, outside.tracer_of(pid)


@pytest.mark.sanitized
@pytest.mark.confined
@needs_trace
@pytest.mark.parametrize("how", ["deadline", "kill"])
def test_the_stranger_goes_on(tmp_path, how):
    program = compile_target("strange.c", tmp_path, STATIC)
    flamerun, pid, tracer = start(tmp_path, program, *["-d", "2"] * (how == "deadline"))
    try:
        if how == "kill":
            flamerun.kill()
            flamerun.wait()
        outside.wait_until(lambda: outside.tracer_of(pid) == 0)
        outside.wait_until(lambda: not os.path.exists(f"/proc/{tracer}")
                           or outside.state_of(tracer) == "Z")
        outside.work(pid, 0.1)
    finally:
        os.kill(pid, signal.SIGKILL)
        flamerun.communicate()
    if how == "deadline":
        run = folded.Folded((tmp_path / "x.folded").read_text())
        assert run.below("before_work") >= 0.8 * run.total > 0
