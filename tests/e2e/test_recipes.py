# SPDX-License-Identifier: MIT
#
# The commands of share/recipes.md run unchanged, in a folder with the programs that they name. Of
# the container, which needs Docker, only the command, packages, folders and stages are checked.
import os
import re
import shutil
import stat
import subprocess

import pytest

from profiled import ROOT

RECIPES = (ROOT / "share/recipes.md").read_text()
BURN = "#!/bin/sh\ni=0; while [ $i -lt %d ]; do i=$((i+1)); done\n"


def blocks(section, kind):
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", RECIPES, re.M | re.S)[1]
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


def put(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def shell(flamerun, tmp_path):
    """shell(text, status=0) runs commands in a folder. Returns their standard output."""
    (tmp_path / "bin").mkdir()
    os.symlink(flamerun, tmp_path / "bin" / "flamerun")
    env = dict(os.environ, PATH=f"{tmp_path}/bin:/usr/bin:/bin", HOME=str(tmp_path),
               GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
               GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_NOSYSTEM="1")

    def call(text, status=0):
        result = subprocess.run(["sh", "-ec", text], cwd=tmp_path, env=env, text=True, timeout=200,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        assert result.returncode == status, (text, result.stderr)
        return result.stdout

    return call


def test_before_and_after(shell, tmp_path):
    for name, loops in (("old", 30000), ("new", 120000)):
        put(tmp_path / name, BURN % loops)
    commands = blocks("Before and after", "sh")
    assert len(commands) == 2
    for command, runs in zip(commands, (10, 5)):
        (tmp_path / "diff.svg").unlink(missing_ok=True)
        assert f"{runs} old runs and {runs} new" in shell(command)
        assert (tmp_path / "diff.svg").stat().st_size > 1000
    shell("flamerun diff old-*.pb.gz -- new-*.pb.gz -o old-new.folded")
    lines = (tmp_path / "old-new.folded").read_text().splitlines()
    assert lines and all(re.fullmatch(r".+ \d+ \d+", line) for line in lines)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not here")
@pytest.mark.parametrize("loops, status", [(40000, 0), (200000, 1)])
def test_continuous_integration(shell, tmp_path, loops, status):
    """A version that is equally fast passes; a version in which everything is slower does not."""
    (tmp_path / "prog.in").write_text(BURN % 40000)
    (tmp_path / "Makefile").write_text("prog: prog.in\n\tcp prog.in prog && chmod +x prog\n")
    shell("git init -q . && git add Makefile prog.in && git commit -qm base &&"
          "git update-ref refs/remotes/origin/main HEAD")
    (tmp_path / "prog.in").write_text(f"{BURN % loops}# changed\n")
    shell("git commit -qam change")
    compare, text = blocks("Continuous integration", "sh")
    # A program that is twice as slow is found on any machine. A change of 5 % may be chance.
    assert compare.count("--fail-over 5 ") == 1
    shell(compare.replace("--fail-over 5 ", "--fail-over 100 "), status)
    assert re.search("10 old runs and 10 new", (tmp_path / "diff.txt").read_text())
    assert (tmp_path / "diff.svg").exists()
    (tmp_path / "prog").unlink()
    assert "self time  function" in shell(text)
    assert (tmp_path / "build.svg").exists() and (tmp_path / "prog").exists()


@pytest.mark.confined
def test_the_containers_command(shell, tmp_path):
    """
    The command after the image's name runs unchanged. It needs only one folder of the container.
    """
    put(tmp_path / "job", BURN % 60000)
    (tmp_path / "out").mkdir()
    line, = re.findall(r"^    (docker run .*)$", RECIPES, re.M)
    asked, command = line.split(" image ")
    assert asked == 'docker run --rm -v "$PWD:/out"'
    shell(command.replace("/out/", f"{tmp_path}/out/"))
    assert (tmp_path / "out" / "job.svg").stat().st_size > 1000
    assert stat.S_ISREG((tmp_path / "out" / "job.svg").stat().st_mode)


def test_the_images_packages():
    """The recipe for the image names the packages and files that the build makes."""
    stages, = blocks("Docker", "dockerfile")
    names = re.findall(r"^Package: (\S+)$", (ROOT / "share/debian/control").read_text(), re.M)
    for name in re.findall(r"/tmp/packages/(\w[\w-]*)_\*", stages):
        assert name in names
    makefile = (ROOT / "Makefile").read_text()
    assert "COPY --from=packages /flamerun/build/deb/*.deb" in stages
    assert re.search(r"^deb: ", makefile, re.M) and "mkdir -p $(BUILD)/deb" in makefile
    # build-dep installs the packages in share/debian/control, and build-essential.
    asked, = re.findall(r"^deb_needs = (.*) \$\(shell .* share/debian/control\)$", makefile, re.M)
    assert "apt-get build-dep -y ./share" in stages
    assert set(asked.split()) - {"build-essential"} <= set(
        re.search(r"install -y (.*)", stages)[1].split())
