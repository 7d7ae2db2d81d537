# SPDX-License-Identifier: MIT
#
# Programs built with ThreadSanitizer, whose runtime defers signals until a libc call; and sanitizer
# runtimes in LD_PRELOAD, as an interpreter needs for instrumented extensions.
import os
import subprocess

import pytest

import folded
from profiled import compile_target, profile

FLAGS = ("-O1", "-g", "-fsanitize=thread")


@pytest.fixture(params=["gcc", "clang-14"])
def build(request, tmp_path):
    """
    Compile a target with ThreadSanitizer. gcc's runtime is a library, clang's is part of the
    program.
    """
    def one(name):
        try:
            return compile_target(name, tmp_path, FLAGS, compiler=request.param)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("not installed")
    return one


def test_samples_come_when_they_are_due(build, tmp_path):
    run = profile(tmp_path, build("split.c"), "1000", rate_hz=250)
    assert run.status == 0 and "ThreadSanitizer" not in run.stderr
    heavy = run.truth["heavy"] / sum(run.truth.values())
    folded.assert_share(run.folded, run.folded.below("heavy"), heavy, run.folded.total, "heavy")
    assert run.folded.where(lambda s: "main" in s and "_start" in s) >= .95 * run.folded.total


def test_every_thread_is_sampled(build, tmp_path):
    run = profile(tmp_path, build("threads.c"), "700")
    assert run.status == 0 and "ThreadSanitizer" not in run.stderr
    for number in range(4):
        due = run.truth[f"worker_{number}"] * run.rate_hz / 1e9
        assert run.folded.below(f"worker_{number}") == pytest.approx(due, rel=.5, abs=5)


@pytest.mark.parametrize("case", ["blocked", "caught-once", "waited-for"])
def test_the_programs_own_signal(build, tmp_path, case):
    program = build("own_signals.c")
    alone = subprocess.run([program, case], stdout=subprocess.PIPE, text=True, timeout=60,
                           check=False, env={**os.environ, "BRIEF": "1"})
    run = profile(tmp_path, program, case)
    assert (run.status, run.stdout) == (alone.returncode, alone.stdout)


RUNTIMES = [("gcc", "libasan.so"), ("gcc", "liblsan.so"), ("gcc", "libtsan.so"),
            ("clang-14", f"libclang_rt.asan-{os.uname().machine}.so")]


@pytest.fixture(params=RUNTIMES, ids=lambda way: way[1])
def runtime(request):
    """The library of a sanitizer. It fails or ends the program if it is not the first library."""
    compiler, name = request.param
    try:
        path = os.path.realpath(subprocess.check_output(
            [compiler, f"-print-file-name={name}"], text=True).strip())
    except (OSError, subprocess.CalledProcessError):
        path = ""
    if not os.path.exists(path):
        pytest.skip("not installed")
    return path


# Leak checkers attach to the process, which a container may forbid.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0"}


@pytest.mark.parametrize("way", ["around flamerun", "behind the library", "before a linked one"])
def test_a_preloaded_runtime_stays_first(runtime, tmp_path, way):
    is_linked = way == "before a linked one"
    if is_linked and "asan" not in runtime:
        pytest.skip("it does not look whether it is the first")
    clang = ("clang-14", ("-shared-libasan",)) if "clang" in runtime else (None, ())
    program = compile_target("split.c", tmp_path, (
        "-O2", "-g", *(("-fsanitize=address", *clang[1]) if is_linked else ())), compiler=clang[0])
    env = {**os.environ, **NO_LEAKS}
    if way == "behind the library":
        run = profile(tmp_path, "sh", "-c",
                      f'LD_PRELOAD="$LD_PRELOAD:{runtime}" {program} 500', env=env)
    else:
        run = profile(tmp_path, program, "500", env={**env, "LD_PRELOAD": runtime})
    assert run.status == 0 and "runtime does not come first" not in run.stderr
    assert "without flamerun's library" not in run.stderr
    due = run.truth_s * run.rate_hz
    below = run.folded.below("light") + run.folded.below("heavy")
    assert below == pytest.approx(due, rel=.5, abs=5), run.folded.describe() + run.stderr
