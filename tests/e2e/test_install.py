# SPDX-License-Identifier: MIT
#
# `make install` and `make dist`: which files are built at which time, with which tools. The
# compiler is a script that only logs its calls.
import os
import re
import shutil
import subprocess

import pytest

from profiled import ROOT

pytestmark = [
    pytest.mark.skipif(not (ROOT / "Makefile").exists() or "TEST_CONFINED" in os.environ,
                       reason="needs the sources and their tools"),
    pytest.mark.skipif("TEST_SANITIZED" in os.environ, reason="asked without sanitizers"),
]

# A compiler that only creates its output file, and logs one line for each call that compiles.
COMPILER = """#!/bin/sh
for word; do
    case $before in -o) out=$word ;; esac
    case $word in *.c | *.S) source=$word ;; esac
    before=$word
done
[ -n "$out" ] || exit 0
echo "${source:-$out}" >> "$COMPILED"
: > "$out"
"""
# An archiver that is called as "ar rcs ARCHIVE ..." or "objcopy --option FILE".
ARCHIVER = '#!/bin/sh\n[ "$1" != rcs ] || { echo "$2" >> "$COMPILED"; : > "$2"; }\n'


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, text in ("cc", COMPILER), ("ar", ARCHIVER), ("objcopy", ARCHIVER):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def make(tools, tmp_path):
    """Run make in @folder. Returns which files were compiled and linked."""
    def call(*words, folder=ROOT, **variables):
        log = tmp_path / "compiled"
        log.write_text("")
        # Do not inherit the settings of the make that runs this test.
        env = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        result = subprocess.run(
            ["make", "-s", "ccache=", f"CC={tools}/cc", f"AR={tools}/ar",
             f"OBJCOPY={tools}/objcopy", f"BUILD={tmp_path}/build", *words], cwd=folder, timeout=300, text=True,
            env={**env, "COMPILED": str(log), **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert result.returncode == 0, result.stdout
        return log.read_text().splitlines()
    return call


def names_a_folder(source):
    return re.search(r"FLAMERUN_(BIN|LIB|SYSCONF)DIR", (ROOT / source).read_text("utf-8"))


def test_installing_builds_nothing_anew(make, tmp_path):
    assert len(make("all")) > 100
    stage = f"DESTDIR={tmp_path}/stage"
    assert make(stage, "install") == []
    # With another prefix, only the few files that contain the prefix are compiled again.
    again = [one for one in make(stage, "prefix=/elsewhere", "install") if one.endswith(".c")]
    assert 0 < len(again) < 6 and all(names_a_folder(one) for one in again), again
    assert make(stage, "prefix=/elsewhere", "install") == []
    for prefix in "/usr/local", "/elsewhere":
        make(stage, f"prefix={prefix}", "uninstall")
    assert not [path for path in (tmp_path / "stage").rglob("*") if not path.is_dir()]


@pytest.mark.skipif(not shutil.which("mandb"), reason="no man-db")
def test_manuals_are_found_by_what_they_are_about(make, tmp_path):
    make(f"DESTDIR={tmp_path}/stage", "prefix=/usr", "install")
    pages = tmp_path / "stage/usr/share/man"
    # -c: mandb compares times in whole seconds only; -u: do not use the system's pages.
    subprocess.run(["mandb", "-q", "-c", "-u", pages], check=True, timeout=60)
    found = subprocess.run(["man", "-M", pages, "-k", "flame"], check=True, text=True, timeout=60,
                           stdout=subprocess.PIPE).stdout
    for name in "flamerun (1)", "libflameprof (3)", "FLAMEPROF_SCOPE (3)", "flameprof_stub_new (3)":
        assert re.search(rf"^{re.escape(name)} .*- ", found, re.M), found
    where = subprocess.run(["man", "-M", pages, "-w", "FLAMEPROF_SCOPE"], check=True, text=True,
                           timeout=60, stdout=subprocess.PIPE).stdout
    assert "/man3/" in where


def test_what_is_packed_needs_neither_git_nor_esbuild(make, tools, tmp_path):
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "share/viewer"], cwd=ROOT,
                      stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no git here, or a viewer that is not committed")
    make("dist")
    packed, = (tmp_path / "build").glob("flamerun-*.tar.gz")
    subprocess.run(["tar", "-xzf", packed, "-C", tmp_path], check=True, timeout=60)
    folder = tmp_path / packed.name[:-len(".tar.gz")]
    for tool in "git", "esbuild":
        (tools / tool).write_text(f"#!/bin/sh\necho {tool} >> {tmp_path}/called\nexit 127\n")
        (tools / tool).chmod(0o755)
    make(f"BUILD={tmp_path}/other", f"DESTDIR={tmp_path}/stage", "install", folder=folder,
         PATH=f"{tools}:{os.environ['PATH']}")
    assert not (tmp_path / "called").exists()
    for name in "viewer.base64", "loader.js":
        assert (tmp_path / "other" / name).read_bytes() == (tmp_path / "build" / name).read_bytes()
