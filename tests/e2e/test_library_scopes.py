# SPDX-License-Identifier: MIT
#
# Profiling scopes: one picture for every way out of a block, with only the samples of the block, in
# C11, C++17 and C++20, compiled by gcc and clang.
import datetime
import errno
import re
import shutil
import subprocess

import pytest

import library
from profiled import of_all

BLOCK, THREAD, PROCESS, LEFT = range(4)
# inside() uses 100 ms at 997 Hz. The kernel's tick (at least 100 Hz) merges the samples into fewer
# ones of more weight. Allow for losing half of the weight to other processes.
LEAST_WEIGHT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scopes")


@pytest.fixture(scope="module")
def program(folder):
    return library.build("scopes.c", folder)


def leave(program, way, folder, status=0):
    return library.said(library.run(program, way, cwd=folder, status=status))


def assert_only_inside(path):
    stacks = library.stacks(path)
    assert stacks.total >= LEAST_WEIGHT, stacks.describe()
    # A late tick may arrive at the end of the scope, with the weight of all periods by which it is
    # late.
    assert stacks.below("inside") >= 0.5 * stacks.total, stacks.describe()
    assert stacks.below("outside") == 0, stacks.describe()
    # Naming and drawing happen after sampling has stopped, so they have no samples.
    assert stacks.below("flameprof_profile_write") == 0, stacks.describe()


@pytest.mark.parametrize("way, status, left", [
    ("return", 0, BLOCK), ("break", 0, BLOCK), ("continue", 0, BLOCK), ("goto", 0, BLOCK),
    ("end", 0, BLOCK), ("thread", 0, THREAD), ("cancel", 0, THREAD), ("exit", 7, None),
    ("exit-thread", 7, None), ("jump-scope", 0, None), ("jump-flush", 0, LEFT),
    ("jump-stop", 0, LEFT), ("jump-exit", 7, None), ("jump-thread", 0, THREAD),
    ("jump-back", 0, BLOCK), ("folder", 0, BLOCK),
])
def test_each_way_out_writes(program, tmp_path, way, status, left):
    said = leave(program, way, tmp_path, status)
    assert_only_inside(tmp_path / f"{way}.folded")
    if left is not None:
        assert (said["last"], said["error"], said["left"]) == (0, 0, left)
        assert said["weight"] == library.stacks(tmp_path / f"{way}.folded").total


@pytest.mark.parametrize("way", ["return", "thread", "cancel", "exit"])
def test_with_exceptions_c_is_left_at_once(tmp_path, way):
    program = library.build("scopes.c", tmp_path, flags=("-O2", "-fexceptions"))
    said = leave(program, way, tmp_path, 7 if way == "exit" else 0)
    assert_only_inside(tmp_path / f"{way}.folded")
    assert said.get("left", BLOCK) == BLOCK


def test_results_are_kept(program, tmp_path):
    said = leave(program, "return", tmp_path)
    assert said["status"] == 0
    assert said["errno"] == 1
    assert said["elapsed_us"] >= 95_000


def test_a_jump_is_noticed_by_the_next_start(program, tmp_path):
    said = leave(program, "jump-start", tmp_path)
    assert_only_inside(tmp_path / "jump-start.folded")
    assert (said["start"], said["stop"], said["left"]) == (0, 0, LEFT)


def test_after_a_jump_the_next_one_has_its_turn(program, tmp_path):
    said = leave(program, "jump-scope", tmp_path)
    assert said["next"] == 0
    assert (tmp_path / "next.folded").exists()
    # After the scope that was left has ended, there is nothing to stop or to flush.
    assert leave(program, "jump-stop", tmp_path)["stop"] == -errno.ESRCH
    assert leave(program, "jump-flush", tmp_path)["flush"] == -errno.ESRCH


def test_one_scope_at_a_time(program, tmp_path):
    said = leave(program, "nested", tmp_path)
    assert (said["inner"], said["outer"], said["start"]) == (-errno.EBUSY, 0, -errno.EBUSY)
    assert not (tmp_path / "inner.folded").exists()
    assert_only_inside(tmp_path / "nested.folded")
    said = leave(program, "concurrent", tmp_path)
    assert said["other"] == -errno.EBUSY
    assert_only_inside(tmp_path / "concurrent.folded")


def test_calls_from_the_block_do_not_end_it(program, tmp_path):
    said = leave(program, "deeper", tmp_path)
    assert (said["deeper"], said["scope"], said["left"]) == (-errno.EBUSY, 0, BLOCK)


def test_an_ended_scope_stays_ended(program, tmp_path):
    said = leave(program, "end", tmp_path)
    assert (said["end"], said["again"]) == (0, 0)


def test_a_fork_child_leaves_it_to_the_parent(program, tmp_path):
    said = leave(program, "fork", tmp_path)
    assert (said["child"], said["child_end"]) == (-errno.ESRCH, -errno.ESRCH)
    assert_only_inside(tmp_path / "fork.folded")
    assert_only_inside(tmp_path / "child.folded")


def test_the_end_of_the_program_waits_for_a_picture(program, tmp_path):
    picture = tmp_path / "exit-drawing.folded"
    # On a busy machine the picture may be finished before the program checks that it is not.
    for _ in range(10):
        picture.unlink(missing_ok=True)
        if leave(program, "exit-drawing", tmp_path, 7)["early"]:
            break
    else:
        pytest.fail("the picture was always there first")
    assert_only_inside(picture)


def test_the_program_may_stop_it(program, tmp_path):
    said = leave(program, "stopped", tmp_path)
    assert (said["stop"], said["end"]) == (0, -errno.ESRCH)
    assert not (tmp_path / "stopped.folded").exists()


def test_an_abrupt_end_writes_nothing(program, tmp_path):
    leave(program, "_exit", tmp_path, 7)
    assert not list(tmp_path.glob("*.folded*"))


def test_what_cannot_be_written_is_told(program, tmp_path):
    (tmp_path / "return.folded").mkdir()
    said = leave(program, "return", tmp_path)
    assert said["error"] < 0


def test_the_picture_tells_what_it_is(program, tmp_path):
    source = library.write(tmp_path, "titled.c", """
        #include "flameprof_scope.h"
        int main(void) {
            FLAMEPROF_SCOPE("titled.pdf", .rate = 997, .title = "ways out");
            for (volatile unsigned long i = 0; i < 100000000; i++);
            return 0;
        }""")
    before = datetime.datetime.now()
    library.run(library.build(source, tmp_path), cwd=tmp_path)
    text = subprocess.run(["pdftotext", "titled.pdf", "-"], cwd=tmp_path, check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    assert "ways out" in text
    assert re.search(r"\d+ samples of cpu, \d+\.\d\d s in \d+\.\d\d s", text)
    started = datetime.datetime.strptime(
        re.search(r"started (20\d\d-\d\d-\d\d \d\d:\d\d:\d\d)", text).group(1), "%Y-%m-%d %H:%M:%S")
    assert abs(started - before) < datetime.timedelta(seconds=60)
    assert "dropped" not in text


def test_what_is_missing_is_told(tmp_path):
    source = library.write(tmp_path, "full.c", """
        #include <stdio.h>
        #include "flameprof_scope.h"
        static unsigned long deep(unsigned left) {
            volatile unsigned long i = 0;
            if (left)
                return deep(left - 1) + i;
            while (i < 100000000)
                i++;
            return i;
        }
        static void work(void) {
            FLAMEPROF_SCOPE("full.pdf", .rate = 997, .profile_bytes = 1);
            deep(4000);
        }
        int main(void) {
            struct flameprof_scope_report last;
            work();
            if (!flameprof_scope_last(&last))
                printf("dropped %lu\\n", (unsigned long)last.dropped_weight);
            return 0;
        }""")
    dropped = library.said(library.run(library.build(source, tmp_path), cwd=tmp_path))["dropped"]
    text = subprocess.run(["pdftotext", "full.pdf", "-"], cwd=tmp_path, check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    assert dropped > 0
    assert f", {dropped} dropped" in text


STANDARDS = [("gcc", "scopes.c", "c11"), ("clang", "scopes.c", "c11"), ("gcc", "scopes.c", "c2x"),
             ("g++", "scopes.cc", "c++17"), ("clang++", "scopes.cc", "c++17"),
             ("g++", "scopes.cc", "c++20"), ("clang++", "scopes.cc", "c++20")]


# Without optimisation, the language standard does not matter, only how each compiler leaves a
# block.
@pytest.mark.parametrize("level, compiler, source, standard", [
    pytest.param(level, *way, marks=of_all if level == "-O0" and way[2] in ("c2x", "c++20") else ())
    for level in ("-O0", "-O2") for way in STANDARDS])
def test_it_compiles_silently_in(compiler, source, standard, level, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    # Include only this header, because the target's other headers do not compile with strict
    # options.
    uses = """
        #include "flameprof_scope.h"
        static int phase(const char *name) {
            SCOPES
            return name ? 0 : 1;
        }
        int main(void) { return phase("x"); }
"""
    scopes = 'FLAMEPROF_SCOPE("a.svg");\nFLAMEPROF_SCOPE("b.svg", .rate = 7, .title = name);\n' \
        'FLAMEPROF_SCOPE_AS(c, "c.svg", .rate = 7);\nif (flameprof_scope_status(&c)) return 2;'
    if standard == "c++17":
        scopes = 'flameprof_options o; o.title = name;\nFLAMEPROF_SCOPE("a.svg");\n' \
            'FLAMEPROF_SCOPE("b.svg", o);\nflameprof_scope c("c.svg", o);\n' \
            'if (c.status()) return 2;'
    text = library.write(tmp_path, "uses" + source[6:], uses.replace("SCOPES", scopes))
    library.build(text, tmp_path, compiler=compiler, flags=(
        level, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror"))
    program = library.build(source, tmp_path, compiler=compiler, output="program", flags=(
        level, "-std=" + standard.replace("c", "gnu", 1)))
    way = "throw" if source.endswith("cc") else "break"
    leave(program, way, tmp_path)
    assert_only_inside(tmp_path / f"{way}.folded")


@pytest.fixture(scope="module")
def cxx(folder):
    return library.build("scopes.cc", folder, output="scopes_cc", flags=("-O2", "-std=gnu++17"))


def test_exceptions(cxx, tmp_path):
    said = leave(cxx, "throw", tmp_path)
    assert (said["caught"], said["error"], said["left"]) == (1, 0, BLOCK)
    assert_only_inside(tmp_path / "throw.folded")
    said = leave(cxx, "inside", tmp_path)
    assert (said["status"], said["end"]) == (0, 0)
    assert_only_inside(tmp_path / "inside.folded")


def test_objects_of_cxx(cxx, tmp_path):
    assert leave(cxx, "thread", tmp_path)["left"] == BLOCK
    assert_only_inside(tmp_path / "thread.folded")
    assert leave(cxx, "heap", tmp_path)["status"] == 0
    assert_only_inside(tmp_path / "heap.folded")
    leave(cxx, "abort", tmp_path, -6)
    assert not (tmp_path / "abort.folded").exists()


def test_under_flamerun_it_is_silent(program, flamerun, tmp_path):
    result = library.run(flamerun, "-q", "-o", "all.folded", "--", program, "return",
                         cwd=tmp_path)
    assert library.said(result)["status"] == -errno.EBUSY
    assert not (tmp_path / "return.folded").exists()
    stacks = library.stacks(tmp_path / "all.folded")
    assert stacks.below("inside") and stacks.below("outside")
