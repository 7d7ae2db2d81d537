# SPDX-License-Identifier: MIT
#
# libflameprof.a in every kind of program, alone and together with the shared library; and which
# files of the library `make install` installs.
import errno
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import library
import profiled

# Use S seconds of CPU time of the calling thread, however fast the CPU is.
BURN = """
    #include <time.h>

    static double used_s(void)
    {
        struct timespec used;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
    }

    #define BURN(S) do { \\
        double until_s = used_s() + (S); \\
        do { \\
            for (volatile unsigned long i = 0; i < 6000000; i++); \\
        } while (used_s() < until_s); \\
    } while (0)
"""

SELF = BURN + """
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include "flameprof_profile.h"

    /* What the library calls its own: a program may have these, too. */
    int session, sampler, modules_init, queue_init, ring_push, say, injected;

    __attribute__((noinline)) static void burn(void)
    {
        BURN(0.25);
        __asm__ volatile("");
    }

    static void *works(void *unused)
    {
        burn();
        return unused;
    }

    int main(void)
    {
        struct flameprof_options options = {.rate = 997};
        struct flameprof_profile *profile = NULL;
        struct flameprof_profile_summary info;
        pthread_t thread;
        int error = flameprof_start(&options);

        printf("start %d\\nstatus %d\\nactive %d\\n", error, (int)flameprof_status(),
            flameprof_active());
        printf("pause %d\\n", flameprof_pause());
        printf("resume %d\\n", flameprof_resume());
        printf("mark %d\\n", flameprof_mark("from the program"));
        if (pthread_create(&thread, NULL, works, NULL))
            return 1;
        burn();
        pthread_join(thread, NULL);
        printf("stop %d\\n", flameprof_stop(&profile, -1));
        if (!profile)
            return 0;
        flameprof_profile_info(profile, &info);
        printf("threads %u\\nmarks %u\\n", info.threads, info.marks);
        printf("write %d\\n", flameprof_profile_write(profile, "self.folded"));
        flameprof_profile_free(profile);
        return 0;
    }
"""


def build_self(folder, **options):
    return library.build(library.write(folder, "self.c", SELF), folder, **options)


@pytest.mark.parametrize("compiler, link, flags", [
    ("gcc", "archive", ("-O2",)), ("clang", "archive", ("-O0", "-no-pie", "-fno-pie")),
    ("gcc", "archive", ("-O2", "-Wl,--gc-sections", "-ffunction-sections")),
    ("gcc", "static-pie", ("-O0",)), ("clang", "static", ("-O0",)),
    *(pytest.param(*way, marks=profiled.of_all) for way in (
        ("gcc", "archive", ("-O0",)), ("gcc", "archive", ("-O2", "-no-pie", "-fno-pie")),
        ("gcc", "archive", ("-O2", "-rdynamic")), ("clang", "archive", ("-O2",)),
        ("gcc", "static", ("-O2",)))),
])
def test_a_program_holds_the_library(compiler, link, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    program = build_self(tmp_path, compiler=compiler, link=link, flags=flags)
    said = library.said(library.run(program, cwd=tmp_path))
    assert [said[name] for name in ("start", "pause", "resume", "mark", "stop", "write")] == [0] * 6
    assert (said["status"], said["active"]) == (1, 1)
    # Nothing informs the archive of new threads. It searches for them, late on a busy machine.
    assert (said["threads"], said["marks"]) == (2, 1)
    stacks = library.stacks(tmp_path / "self.folded")
    in_main = stacks.below("main")
    in_thread = stacks.total - in_main
    assert stacks.below("burn") >= 0.9 * stacks.total, stacks.describe()
    assert min(in_thread, in_main) >= 0.1 * stacks.total, stacks.describe()
    # The stacks of a new thread are short until the worker thread has found the bounds of its
    # stack.
    assert stacks.below("works") >= 0.5 * in_thread, stacks.describe()


@pytest.mark.parametrize("is_opened", [False, True])
def test_only_a_library_of_the_program_links_it(is_opened, tmp_path):
    """
    If libc precedes libflameprof, the library can intercept no calls. The profile must still be
    complete.
    """
    source = library.write(tmp_path, "inner.c", SELF.replace("int main(", "int inner("))
    inner = library.build(source, tmp_path, flags=("-O2", "-shared", "-fPIC"), output="inner.so")
    if is_opened:
        source = library.write(tmp_path, "outer.c", """
            #include <dlfcn.h>
            int main(int argc, char **argv)
            {
                void *inner = dlopen(argv[argc - 1], RTLD_NOW);
                return inner ? ((int (*)(void))dlsym(inner, "inner"))() : 1;
            }""")
        program = profiled.compile_target(source, tmp_path)
    else:
        source = library.write(tmp_path, "outer.c", """
            int inner(void);
            int main(void) { return inner(); }""")
        program = tmp_path / "outer"
        profiled.compile_once(("gcc", source, inner, f"-Wl,-rpath-link,{profiled.BUILD}",
                               f"-Wl,-rpath,{tmp_path}"), program, False)
    said = library.said(library.run(program, inner, cwd=tmp_path))
    assert [said[name] for name in ("start", "pause", "resume", "mark", "stop", "write")] == [0] * 6
    assert (said["threads"], said["marks"]) == (2, 1)
    stacks = library.stacks(tmp_path / "self.folded")
    assert stacks.below("burn") >= 0.9 * stacks.total, stacks.describe()


PLUGIN = """
    #include "flameprof_profile.h"

    __attribute__((visibility("default"))) int begin(void)
    {
        struct flameprof_options options = {.rate = 997};

        return flameprof_start(&options);
    }

    __attribute__((visibility("default"))) int end(const char *path)
    {
        struct flameprof_profile *profile = NULL;
        int error = flameprof_stop(&profile, -1);

        if (error)
            return error;
        error = flameprof_profile_write(profile, path);
        flameprof_profile_free(profile);
        return error;
    }
"""

CLOSES = BURN + """
    #include <dlfcn.h>
    #include <stdio.h>

    __attribute__((noinline)) static void burn(void)
    {
        BURN(0.3);
        __asm__ volatile("");
    }

    int main(int argc, char **argv)
    {
        void *plugin = dlopen(argv[1], RTLD_NOW);
        int (*begin)(void) = plugin ? (int (*)(void))dlsym(plugin, "begin") : NULL;
        int (*end)(const char *);

        if (argc != 2 || !begin)
            return 1;
        printf("begin %d\\n", begin());
        printf("close %d\\n", dlclose(plugin));
        burn();
        plugin = dlopen(argv[1], RTLD_NOW);
        end = (int (*)(const char *))dlsym(plugin, "end");
        printf("end %d\\n", end("plugin.folded"));
        return 0;
    }
"""


def test_a_plugin_is_closed_while_it_samples(tmp_path):
    """
    A plugin that contains the library stays mapped after it is closed, while its handler and its
    worker thread still run.
    """
    plugin = library.plugin(tmp_path, PLUGIN)
    program = profiled.compile_target(library.write(tmp_path, "closes.c", CLOSES), tmp_path)
    said = library.said(library.run(program, plugin, cwd=tmp_path))
    assert said == {"begin": 0, "close": 0, "end": 0}
    stacks = library.stacks(tmp_path / "plugin.folded")
    assert stacks.below("burn") >= 0.9 * stacks.total, stacks.describe()


def test_it_serves_cxx(tmp_path):
    program = library.build("scopes.cc", tmp_path, flags=("-O2", "-std=gnu++20"), link="static")
    said = library.said(library.run(program, "throw", cwd=tmp_path))
    assert (said["caught"], said["error"]) == (1, 0)
    assert library.stacks(tmp_path / "throw.folded").below("inside")


def test_static_linking_is_silent(tmp_path):
    """gcc -static omits call-frame information, so only the leaves of stacks have names."""
    source = library.write(tmp_path, "self.c", SELF)
    result = subprocess.run(["gcc", "-O2", "-static", f"-I{library.HEADERS}", "-o",
                             tmp_path / "self", source, library.ARCHIVE], text=True, check=True,
                            stderr=subprocess.PIPE)
    assert result.stderr == ""
    said = library.said(library.run(tmp_path / "self", cwd=tmp_path))
    assert (said["start"], said["write"]) == (0, 0)
    stacks = library.stacks(tmp_path / "self.folded")
    assert stacks.self("burn") >= 0.9 * stacks.total, stacks.describe()


@pytest.mark.parametrize("flags", [("-O2",), ("-O2", "-rdynamic")])
def test_under_flamerun_there_is_one_profiler(flags, flamerun, tmp_path):
    program = build_self(tmp_path, link="archive", flags=flags)
    result = library.run(flamerun, "-q", "-o", "all.folded", "-o", "all.pb.gz", "--", program,
                         cwd=tmp_path)
    said = library.said(result)
    assert (said["start"], said["stop"]) == (-errno.EBUSY, -errno.ESRCH)
    assert (said["status"], said["active"]) == (5, 1)
    assert [said[name] for name in ("pause", "resume", "mark")] == [0, 0, 0]
    stacks = library.stacks(tmp_path / "all.folded")
    assert stacks.below("burn") >= 0.8 * stacks.total, stacks.describe()
    data = subprocess.run(["gzip", "-dc", "all.pb.gz"], cwd=tmp_path, check=True,
                          stdout=subprocess.PIPE).stdout
    assert b"from the program" in data


def test_pausing_is_passed_on(flamerun, tmp_path):
    source = library.write(tmp_path, "paused.c", BURN + """
        #include "flameprof.h"
        __attribute__((noinline)) static void seen(void) {
            BURN(0.1);
            __asm__ volatile("");
        }
        __attribute__((noinline)) static void unseen(void) {
            BURN(0.1);
            __asm__ volatile("nop");
        }
        int main(void) {
            seen();
            seen();
            flameprof_pause();
            unseen();
            flameprof_resume();
            seen();
            return 0;
        }""")
    program = library.build(source, tmp_path, link="archive")
    library.run(flamerun, "-q", "-o", "all.folded", "--", program, cwd=tmp_path)
    stacks = library.stacks(tmp_path / "all.folded")
    assert stacks.below("seen") >= 10, stacks.describe()
    # One sample may be taken while sampling stops.
    assert stacks.below("unseen") <= 1, stacks.describe()


def test_beside_a_preloaded_library_it_does_not_start(tmp_path):
    program = build_self(tmp_path, link="archive")
    env = library.environment(LD_PRELOAD=str(library.SHARED))
    said = library.said(library.run(program, cwd=tmp_path, env=env))
    assert said["start"] == -errno.EBUSY
    assert (said["status"], said["active"]) == (0, 0)


def test_preloaded_and_linked_shared_are_one(flamerun, tmp_path):
    program = build_self(tmp_path)
    env = library.environment(LD_PRELOAD=str(library.SHARED))
    said = library.said(library.run(program, cwd=tmp_path, env=env))
    assert (said["start"], said["stop"]) == (0, 0)
    result = library.run(flamerun, "-q", "-o", "all.folded", "--", program, cwd=tmp_path)
    said = library.said(result)
    assert (said["start"], said["status"]) == (-errno.EBUSY, 5)


def test_its_names_are_its_own():
    names = subprocess.run(["nm", "-g", "--defined-only", "-P", library.ARCHIVE], check=True,
                           text=True, stdout=subprocess.PIPE).stdout.splitlines()
    names = {line.split()[0] for line in names if " " in line}
    assert "flameprof_start" in names
    # gdb finds generated code by these two names, in whichever library they are.
    gdb = {"__jit_debug_descriptor", "__jit_debug_register_code"}
    assert not [name for name in names - gdb if not name.startswith("flameprof_")]


@pytest.mark.skipif(os.environ.get("TEST_CONFINED") is not None, reason="needs what was built")
def test_what_is_installed_can_be_used(tmp_path):
    root = profiled.ROOT
    prefix, stage = "/opt/flamerun", tmp_path / "stage"
    env = library.environment()
    make = ["make", "-s", "-C", root, f"BUILD={os.path.relpath(profiled.BUILD, root)}",
            f"DESTDIR={stage}", f"prefix={prefix}", f"libdir={prefix}/lib/multi"]
    # Test only the installed paths. Do not build again for the other prefix.
    subprocess.run([*make, "-o", "all", "install"], check=True, env=env, stdout=subprocess.DEVNULL)
    installed = stage / prefix[1:]
    headers = sorted(path.name for path in (installed / "include").iterdir())
    assert headers == sorted(path.name for path in (root / "libprof").glob("flameprof*.h"))
    env["PKG_CONFIG_PATH"] = str(installed / "lib/multi/pkgconfig")
    env["PKG_CONFIG_SYSROOT_DIR"] = str(stage)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "flameprof"], check=True, text=True,
                           env=env, stdout=subprocess.PIPE).stdout.split()
    assert f"-L{installed}/lib/multi" in flags and f"-I{installed}/include" in flags
    version = subprocess.run(["pkg-config", "--modversion", "flameprof"], check=True, text=True,
                             env=env, stdout=subprocess.PIPE).stdout.strip()
    source = library.write(tmp_path, "self.c", SELF)
    for more in ([], ["-static"]):
        subprocess.run(["gcc", "-O2", "-o", tmp_path / "self", source, *flags, *more], check=True)
        run_env = {**env, "LD_LIBRARY_PATH": str(installed / "lib/multi"),
                   "PATH": f"{installed}/bin:{os.environ['PATH']}"}
        said = library.said(library.run(tmp_path / "self", cwd=tmp_path, env=run_env))
        assert (said["start"], said["stop"], said["write"]) == (0, 0, 0)
    assert re.search(rf"\b{re.escape(version)}\b", subprocess.run(
        [installed / "bin/flamerun", "--version"], check=True, text=True,
        stdout=subprocess.PIPE).stdout)
    for header in headers:
        subprocess.run(["gcc", "-fsyntax-only", "-x", "c", installed / "include" / header],
                       check=True)
    subprocess.run([*make, "uninstall"], check=True, env=env, stdout=subprocess.DEVNULL)
    assert not [path for path in pathlib.Path(stage).rglob("*") if not path.is_dir()]
