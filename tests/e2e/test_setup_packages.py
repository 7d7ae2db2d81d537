# SPDX-License-Identifier: MIT
#
# The setup scripts ask before they install packages and print the exact command; a build only
# reports missing packages. dpkg-query, apt-get, apt-cache, sudo and id are scripts that log their
# calls.
import os
import pty
import subprocess

import pytest

from profiled import ROOT

PACKAGES = ROOT / "tests" / "setup" / "packages.sh"
PROBE = ROOT / "tests" / "setup" / "probe.sh"

pytestmark = pytest.mark.skipif(not PACKAGES.exists(), reason="a copy without the set-up")


def stand_in(folder, name, body):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path):
    """
    A PATH for root with tools for which only the package "here" is installed and no release has
    "unheard-of". The file "asked" logs the calls of apt-get.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    stand_in(tools, "dpkg-query", 'for last; do :; done; [ "$last" = here ] && echo "ii "')
    stand_in(tools, "apt-get", f'echo "$@" >> {tmp_path}/asked')
    stand_in(tools, "apt-cache", """shift
for package; do
    case $package in
    unheard-of) ;;
    virtual) printf '%s:\\n  Candidate: (none)\\n' "$package" ;;
    *) printf '%s:\\n  Candidate: 1\\n' "$package" ;;
    esac
done""")
    stand_in(tools, "id", "echo 0")
    return tools


def read_all(terminal):
    """Everything that the terminal got, which may arrive in pieces."""
    text = b""
    try:
        while True:
            text += os.read(terminal, 65536)
    except OSError:
        return text


@pytest.fixture
def setup(machine):
    def call(*packages, answer=None, **variables):
        env = {"PATH": f"{machine}:/usr/bin:/bin", **variables}
        if answer is None:
            return subprocess.run([PACKAGES, *packages], env=env, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        result = subprocess.run([PACKAGES, *packages], env=env, stdin=theirs, stderr=theirs,
                                stdout=subprocess.PIPE, timeout=60)
        os.close(theirs)
        result.stderr = read_all(ours).decode()
        os.close(ours)
        return result

    return call


def asked(machine):
    log = machine.parent / "asked"
    return log.read_text().splitlines() if log.exists() else []


def installs(machine):
    return [line for line in asked(machine) if "install" in line.split()]


def test_nothing_is_missing(setup, machine):
    result = setup("here")
    assert (result.returncode, result.stderr, asked(machine)) == (0, "", [])


def test_goes_ahead_without_a_terminal(setup, machine):
    result = setup("here", "gone", "lost")
    assert result.returncode == 0
    assert "apt-get install --no-install-recommends gone lost\n" in result.stderr
    assert installs(machine) == ["install -y --no-install-recommends gone lost"]


def test_leaves_out_what_the_release_does_not_have(setup, machine):
    result = setup("here", "gone", "unheard-of", "lost", "virtual")
    assert result.returncode == 0
    assert result.stderr.count("this release of Debian does not have: unheard-of virtual\n") == 1
    assert installs(machine) == ["install -y --no-install-recommends gone lost"]
    assert setup("here", "unheard-of").returncode == 0
    assert len(installs(machine)) == 1


@pytest.mark.parametrize("answer, status", [(b"\n", 0), (b"y\n", 0), (b"n\n", 1), (b"what\n", 1)])
def test_asks_on_a_terminal(setup, machine, answer, status):
    result = setup("gone", answer=answer)
    assert "go ahead? [Y/n]" in result.stderr
    assert result.returncode == status
    assert len(installs(machine)) == (status == 0)


def test_yes_answers(setup, machine):
    result = setup("gone", answer=b"n\n", YES="1")
    assert "go ahead?" not in result.stderr
    assert result.returncode == 0 and installs(machine)


def test_through_sudo_when_not_root(setup, machine):
    stand_in(machine, "id", "echo 1000")
    stand_in(machine, "sudo", f'echo sudo >> {machine.parent / "asked"}; exec "$@"')
    result = setup("gone")
    assert result.returncode == 0
    assert "  sudo apt-get install --no-install-recommends gone\n" in result.stderr
    assert asked(machine)[-2:] == ["sudo", "install -y --no-install-recommends gone"]


def test_neither_root_nor_sudo(setup, machine):
    stand_in(machine, "id", "echo 1000")
    for tool in ("sh", "printf"):
        (machine / tool).symlink_to(f"/bin/{tool}" if tool == "sh" else "/usr/bin/printf")
    result = setup("gone", PATH=str(machine))
    assert result.returncode == 1
    assert "apt-get install --no-install-recommends gone" in result.stderr
    assert asked(machine) == []


def test_fresh_lists_after_a_failure(setup, machine):
    log = machine.parent / "asked"
    stand_in(machine, "apt-get", f'echo "$@" >> {log}; [ "$1" = update ] || grep -q update {log}')
    assert setup("gone").returncode == 0
    assert asked(machine)[-2:] == ["update", "install -y --no-install-recommends gone"]


def test_failure_is_a_failure(setup, machine):
    stand_in(machine, "apt-get", "exit 100")
    result = setup("gone")
    assert result.returncode == 1
    assert "the packages could not be installed: gone" in result.stderr


def test_a_build_names_what_is_missing(tmp_path):
    env = dict(os.environ, CC="gcc", PKG_CONFIG="sh")
    result = subprocess.run([PROBE, "libc6-dev:stdio.h", "libnone-dev:none/none.h"], env=env,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 1
    assert result.stderr == ("flamerun: missing none: apt-get install libnone-dev\n"
                             "flamerun: hint: apt-get install libnone-dev\n")


def test_a_build_names_a_missing_compiler():
    env = dict(os.environ, CC="aarch64-linux-gnu-gcc-none", PKG_CONFIG="no-such-pkg-config -x")
    result = subprocess.run([PROBE], env=env, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 1
    assert "missing the compiler aarch64-linux-gnu-gcc-none" in result.stderr
    assert "missing no-such-pkg-config: apt-get install pkg-config" in result.stderr


def test_a_build_names_tools_that_are_missing():
    env = dict(os.environ, CC="gcc", PKG_CONFIG="sh", TOOLS="sh none-such")
    result = subprocess.run([PROBE], env=env, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=60)
    assert (result.returncode, result.stderr) == (1, (
        "flamerun: missing none-such: apt-get install none-such\n"
        "flamerun: hint: apt-get install none-such\n"))
