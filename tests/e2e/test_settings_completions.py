# SPDX-License-Identifier: MIT
#
# Completions by real bash, zsh and fish: the tests type words and Tab at a terminal, and a script
# named flamerun prints the arguments that it gets.
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

import profiled

# The completion scripts. In these tests, flamerun is a script that prints its arguments.
COMPLETIONS = profiled.ROOT / "completions"
BASH = """
PS1='ready> '; HISTFILE=
source /usr/share/bash-completion/bash_completion
source {completions}/flamerun.bash
bind 'set bell-style none'
"""
BARE_BASH = """
PS1='ready> '; HISTFILE=
source {completions}/flamerun.bash
bind 'set bell-style none'
"""
ZSH = """
unsetopt prompt_cr prompt_sp; PS1='ready> '; zle_bracketed_paste=()
fpath=({completions} $fpath)
autoload -Uz compinit && compinit -u -D
"""
SHELLS = {
    "bash": (["bash", "--noprofile", "--rcfile", "{rc}", "-i"], BASH),
    "bash alone": (["bash", "--noprofile", "--rcfile", "{rc}", "-i"], BARE_BASH),
    "zsh": (["zsh", "-i"], ZSH),
}
# The text that is typed before Tab, and the expected words of the command line.
CASES = [
    ("--rat", ["--rate"]),
    ("--no-ici", ["--no-icicle"]),
    ("--ground d", ["--ground", "dark"]),
    ("--ground=d", ["--ground=dark"]),
    ("-o pict", ["-o", "picture.svg"]),
    ("--output pict", ["--output", "picture.svg"]),
    ("-qo pict", ["-qo", "picture.svg"]),
    ("-q zany", ["-q", "zanyprogram"]),
    ("-r 99 zany", ["-r", "99", "zanyprogram"]),
    ("--rate=99 -- zany", ["--rate=99", "--", "zanyprogram"]),
    ("@fast zany", ["@fast", "zanyprogram"]),
    ("@fast --rat", ["@fast", "--rate"]),
    ("@post", ["@poster"]),
    ("-q @post", ["-q", "@poster"]),
    ("@ze", ["@zebra"]),
    ("zanyprogram pict", ["zanyprogram", "picture.svg"]),
    ("-- zanyprogram --rat", ["--", "zanyprogram", "--rat"]),
    ("zanyprogram --rat", ["zanyprogram", "--rat"]),
    ("rend", ["render"]),
    ("merg", ["merge"]),
    ("merge stacks.folded pict", ["merge", "stacks.folded", "picture.svg"]),
    ("top stack", ["top", "stacks.folded"]),
    ("top stacks.folded --limi", ["top", "stacks.folded", "--limit"]),
    ("push stack", ["push", "stacks.folded"]),
    ("push stacks.folded --labe", ["push", "stacks.folded", "--label"]),
    ("render stack", ["render", "stacks.folded"]),
    ("render stacks.folded --ground da", ["render", "stacks.folded", "--ground", "dark"]),
    ("render stacks.folded --rev", ["render", "stacks.folded", "--reverse"]),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with files to complete, and with programs in bin."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "bin").mkdir()
    (folder / ".flamerun.ini").write_text("[preset poster]\n[preset fine]\n")
    # XDG_CONFIG_HOME is set to config/, so the file in .config/ must not be read.
    for where, preset in (("config", "zebra"), (".config", "zero")):
        (folder / where / "flamerun").mkdir(parents=True)
        (folder / where / "flamerun" / "flamerun.ini").write_text(f"[preset {preset}]\n")
    for name, text in (("flamerun", 'echo "GOT<$(printf "%s|" "$@")>"'), ("zanyprogram", ":")):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    for name in ("picture.svg", "stacks.folded"):
        (folder / name).write_text("")
    return folder


def environment(place):
    return dict(os.environ, PATH=f"{place}/bin:/usr/bin:/bin", HOME=str(place), TERM="dumb",
                ZDOTDIR=str(place), INPUTRC="/dev/null", XDG_CONFIG_HOME=str(place / "config"),
                LC_ALL="C.UTF-8")


class Shell:
    def __init__(self, name, place):
        words, start = SHELLS[name]
        if shutil.which(words[0]) is None:
            pytest.skip(f"no {words[0]}")
        rc = place / (".zshrc" if words[0] == "zsh" else "bashrc")
        rc.write_text(start.format(completions=COMPLETIONS))
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            try:
                os.chdir(place)
                os.execvpe(words[0], [word.format(rc=rc) for word in words], environment(place))
            finally:
                os._exit(99)
        self.text = ""
        self.wait("ready> ")

    def wait(self, what, seconds=60):
        limit = time.monotonic() + seconds
        while what not in self.text:
            left = limit - time.monotonic()
            assert left > 0 and select.select([self.terminal], [], [], left)[0], self.text
            self.text += os.read(self.terminal, 4096).decode(errors="replace")

    def complete(self, typed):
        """The words that flamerun gets if Tab is pressed after @typed."""
        self.text = ""
        os.write(self.terminal, f"flamerun {typed}\t".encode())
        os.write(self.terminal, b"\n")
        self.wait(">\r\n")
        self.wait("ready> ")
        return re.findall(r"GOT<(.*)>", self.text)[-1].split("|")[:-1]

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, place):
    started = Shell(request.param, place)
    yield started
    started.close()


@pytest.mark.parametrize("typed, expected", CASES, ids=[case[0] for case in CASES])
def test_bash_and_zsh(shell, typed, expected):
    assert shell.complete(typed) == expected


@pytest.mark.parametrize("typed, expected", CASES, ids=[case[0] for case in CASES])
def test_fish(place, typed, expected):
    if shutil.which("fish") is None:
        pytest.skip("no fish")
    result = subprocess.run(
        ["fish", "--no-config", "-c",
         f"source {COMPLETIONS}/flamerun.fish; complete -C 'flamerun {typed}'"],
        cwd=place, env=environment(place), stdout=subprocess.PIPE, text=True, timeout=60,
        check=True)
    offered = [line.split("\t")[0] for line in result.stdout.splitlines()]
    if expected == typed.split():  # no completion after the program
        assert offered == []
    else:
        assert expected[-1] in offered
        assert all(len(word) >= len(typed.split()[-1]) for word in offered)
