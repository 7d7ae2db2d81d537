# SPDX-License-Identifier: MIT
#
# A program writes its own profile: the library writes .pb files, flamerun makes all other formats.
# The program does not notice that flamerun runs.
import os
import pathlib
import shutil
import subprocess

import pytest

import library
from folded import assert_share
from pprof import Profile
from profiled import BUILD, IS_ALL

# For tests that only check whether there is a picture.
BRIEF = {"BRIEF": "1"}
UNNOTICED = {"waited": 1, "sigchld": 1, "descriptors": 0, "handler": 1, "mask": 1}


# How the library is linked does not matter for sanitizers and containers.
@pytest.fixture(scope="module", params=["shared", pytest.param("static", marks=pytest.mark.skipif(
    bool({"TEST_SANITIZED", "TEST_CONFINED"} & set(os.environ)) and not IS_ALL, reason="as shared"))])
def program(request, tmp_path_factory):
    return library.build("draws.c", tmp_path_factory.mktemp("draws"), link=request.param)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return library.build("draws.c", tmp_path_factory.mktemp("draws"))


@pytest.mark.sanitized
@pytest.mark.confined
def test_every_format(program, tmp_path):
    names = ["s.pb", "s.svg", "s.png", "s.pdf", "s.folded", "s.pb.gz"]
    result = library.run(program, *names, cwd=tmp_path)
    assert library.said(result) == {**{name: 0 for name in names}, **UNNOTICED}
    # The temporary profile was removed.
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    stacks = library.stacks(tmp_path / "s.folded")
    # 1.2 s of CPU time at 250 independent samples per second.
    assert_share(stacks, stacks.below("left"), 2 / 3, 290, "left")
    assert stacks.below("right") > 50
    assert "title" not in stacks.describe()
    assert 'id="flamerun-title">two &amp; threads<' in (tmp_path / "s.svg").read_text()
    profile = Profile(tmp_path / "s.pb.gz")
    assert profile.folded() == {stack: weight for stack, weight in stacks.stacks}
    assert {labels["thread"].split()[0] for names, _, labels in profile.stacks
            if "right" in names} == {"second"}
    assert [comment.split()[-2:] for comment in profile.comments if comment.startswith("mark")] \
        == [["both", "run"]]
    # flamerun must draw the library's profile in the same way later.
    subprocess.run([BUILD / "flamerun", "render", "s.pb", "-o", "again.folded"], cwd=tmp_path,
                   check=True, stderr=subprocess.DEVNULL)
    assert (tmp_path / "again.folded").read_text() == (tmp_path / "s.folded").read_text()


def test_names_are_taken_as_they_are(shared, tmp_path):
    (tmp_path / "-o").mkdir()
    result = library.run(shared, "-o/%p.folded", cwd=tmp_path, env=library.environment(**BRIEF))
    assert "-o/%p.folded 0" in result.stdout
    assert [path.name for path in (tmp_path / "-o").iterdir()] == ["%p.folded"]


@pytest.mark.confined
def test_what_cannot_be_written(shared, tmp_path):
    result = library.run(shared, "s.txt", ".svg", "no/s.svg", "no/s.pb", cwd=tmp_path,
                         env=library.environment(**BRIEF))
    assert library.said(result) == {"s.txt": -22, ".svg": -22, "no/s.svg": -2, "no/s.pb": -2,
                                    **UNNOTICED}
    assert not list(tmp_path.iterdir())


def test_settings_of_others_do_not_reach_it(shared, tmp_path):
    (tmp_path / ".flamerun.ini").write_text("title = of the project\n")
    library.run(shared, "s.svg", cwd=tmp_path,
                env=library.environment(FLAMERUN_TITLE="of the user", LD_PRELOAD="", **BRIEF))
    assert 'id="flamerun-title">two &amp; threads<' in (tmp_path / "s.svg").read_text()


@pytest.fixture
def moved(tmp_path):
    """(a program that has its own copy of the library, the copy's folder)"""
    folder = tmp_path / "lib"
    folder.mkdir()
    shutil.copy(library.SHARED, folder)
    program = folder / "draws"
    source = library.profiled.TARGETS / "draws.c"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{library.profiled.ROOT}",
                    f"-I{library.HEADERS}", "-O2", "-o", program, source,
                    folder / library.SHARED.name, f"-Wl,-rpath,{folder}", "-lpthread"], check=True)
    return program, folder


@pytest.mark.skipif(pathlib.Path("/usr/local/bin/flamerun").exists(),
                    reason="a flamerun is installed")
def test_without_flamerun(moved, tmp_path):
    program, _ = moved
    work = tmp_path / "work"
    work.mkdir()
    env = library.environment(PATH="/usr/bin:/bin", **BRIEF)
    result = library.run(program, "s.svg", cwd=work, env=env)
    assert library.said(result) == {"s.svg": -2, **UNNOTICED}
    assert [path.name for path in work.iterdir()] == ["s.svg.pb"]
    # The profile from which the picture would have been made is kept.
    subprocess.run([BUILD / "flamerun", "render", "s.svg.pb", "-o", "s.folded"], cwd=work,
                   check=True, stderr=subprocess.DEVNULL)
    assert library.stacks(work / "s.folded").below("left")


def test_a_flamerun_that_fails(moved, tmp_path):
    program, folder = moved
    work = tmp_path / "work"
    work.mkdir()
    (folder / "flamerun").write_text("#!/bin/sh\necho noise; echo noise >&2; exit 125\n")
    (folder / "flamerun").chmod(0o755)
    result = library.run(program, "s.svg", cwd=work, env=library.environment(**BRIEF))
    assert library.said(result) == {"s.svg": -5, **UNNOTICED}
    assert [path.name for path in work.iterdir()] == ["s.svg.pb"]


@pytest.mark.confined
def test_under_a_tracer(shared, tmp_path, confined):
    if confined or not shutil.which("strace"):
        pytest.skip("nothing is traced here")
    result = subprocess.run(["strace", "-f", "-o", "trace", shared, "s.folded"], cwd=tmp_path,
                            env=library.environment(**BRIEF), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=120, check=True)
    assert library.said(result) == {"s.folded": 0, **UNNOTICED}
    # strace -f follows every child of the program, but must not have seen that flamerun was
    # started.
    assert "execve" not in (tmp_path / "trace").read_text().split("\n", 1)[1]
