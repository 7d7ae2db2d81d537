# SPDX-License-Identifier: MIT
#
# libflameprof in difficult programs: with ThreadSanitizer, with much thread-local storage, and
# under valgrind.
import shutil
import subprocess

import pytest

import library

HEAD = """
    #include <stdio.h>
    #include <time.h>
    #include "flameprof_profile.h"

    static double used_s(void)
    {
        struct timespec used;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
    }

    static int begin(void)
    {
        struct flameprof_options options = {.rate = 997};

        return flameprof_start(&options);
    }

    static int end(void)
    {
        struct flameprof_profile *profile = NULL;
        struct flameprof_profile_summary info = {0};
        int error = flameprof_stop(&profile, -1);

        flameprof_profile_info(profile, &info);
        printf("stop %d\\nweight %d\\n", error, (int)info.weight);
        flameprof_profile_free(profile);
        return error;
    }
"""

BURNS = HEAD + """
    #ifdef THREAD_LOCAL_BYTES
    __thread char large[THREAD_LOCAL_BYTES];
    #else
    char large[1];
    #endif

    int main(void)
    {
        double until_s = used_s() + 0.3;

        large[0] = 1;
        printf("start %d\\n", begin());
        while (used_s() < until_s)
            ;
        return end() != 0;
    }
"""

# The stack grows by steps that end at varying offsets in a page, and signals arrive at each step.
GROWS = HEAD + """
    __attribute__((noinline)) static int grow(int depth)
    {
        volatile char room[20000];
        double until_s = used_s() + 0.004;

        room[0] = 1;
        while (used_s() < until_s)
            ;
        return depth ? grow(depth - 1) + room[0] : 0;
    }

    int main(void)
    {
        printf("start %d\\n", begin());
        printf("depth %d\\n", grow(100));
        return end() != 0;
    }
"""


def assert_sampled(said):
    # 0.3 s at 997 Hz. A busy machine merges samples but does not lose their weight.
    assert (said["start"], said["stop"]) == (0, 0)
    assert said["weight"] >= 150


@pytest.mark.parametrize("link", ["shared", "archive"])
def test_much_thread_local_storage(link, tmp_path):
    """
    Thread-local storage takes 3 MiB of the stack of every thread, including the worker thread's.
    """
    program = library.build(library.write(tmp_path, "burns.c", BURNS), tmp_path, link=link,
                            flags=("-O1", f"-DTHREAD_LOCAL_BYTES={3 << 20}"))
    assert_sampled(library.said(library.run(program, cwd=tmp_path)))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_thread_sanitizer_and_the_shared_library(compiler, tmp_path):
    """
    gcc's ThreadSanitizer has a megabyte of thread-local storage. The ThreadSanitizers of both
    compilers end a program that joins a thread which they do not know.
    """
    source = library.write(tmp_path, "burns.c", BURNS)
    probe = subprocess.run([compiler, "-fsanitize=thread", "-x", "c", "-", "-o",
                            tmp_path / "probe"], input="int main(void) { return 0; }", text=True,
                           check=False, stderr=subprocess.DEVNULL) \
        if shutil.which(compiler) else None
    if not probe or probe.returncode:
        pytest.skip(f"no ThreadSanitizer for {compiler}")
    program = library.build(source, tmp_path, compiler=compiler,
                            flags=("-O1", "-g", "-fsanitize=thread"))
    assert_sampled(library.said(library.run(program, cwd=tmp_path)))


@pytest.mark.parametrize("link", ["shared", "archive"])
def test_valgrind_extends_the_stack(link, tmp_path):
    """Signals arrive while the stack grows, and valgrind must report no error in the library."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    program = library.build(library.write(tmp_path, "grows.c", GROWS), tmp_path, link=link,
                            flags=("-O1", "-g"))
    said = library.said(library.run("valgrind", "-q", program, cwd=tmp_path))
    assert said["depth"] == 100
    assert_sampled(said)


def test_a_scope_below_valgrind_is_drawn(tmp_path):
    """
    valgrind cannot run a process in the memory of another, as the drawing process usually runs.
    """
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    source = library.write(tmp_path, "scope.c", HEAD + """
    #include "flameprof_scope.h"

    int main(void)
    {
        double until_s = used_s() + 0.3;

        FLAMEPROF_SCOPE_AS(scope, "scope.svg", .rate = 997);
        while (used_s() < until_s)
            ;
        printf("stop %d\\n", flameprof_scope_end(&scope));
        return begin != NULL && end != NULL ? 0 : 1;
    }
""")
    program = library.build(source, tmp_path, flags=("-O1", "-g"))
    assert library.said(library.run("valgrind", "-q", program, cwd=tmp_path))["stop"] == 0
    assert "</svg>" in (tmp_path / "scope.svg").read_text()
