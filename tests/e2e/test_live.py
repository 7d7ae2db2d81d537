# SPDX-License-Identifier: MIT
#
# --live on a terminal. tmux is the terminal, and the tests read the text of its pane.
import re
import shutil
import subprocess
import time

import pytest

import folded
from profiled import BUILD, compile_target

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux")

KEYS = "p pause   r reset   w write the picture   q quit"
PATIENCE_S = 60


class Terminal:
    """A shell in a pane of tmux, with a tmux server of its own."""

    def __init__(self, folder, socket, columns=90, rows=24, term=None):
        self.base = ["tmux", "-S", socket, "-f", "/dev/null"]
        environment = ["env", *([f"TERM={term}"] if term else []), "PS1=ready> "]
        self.call("new", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder),
                  *environment, "sh", "-i")
        self.type("trap : INT", "Enter")  # so that Ctrl-C does not end the shell

    def call(self, *words):
        return subprocess.run([*self.base, *words], check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def type(self, *keys):
        self.call("send-keys", *keys)

    def run(self, *words):
        self.type(" ".join(str(word) for word in words) + "; echo status $?", "Enter")

    def text(self, history=False):
        return self.call("capture-pane", "-p", "-J", *(["-S", "-"] if history else []))

    def wait(self, what, history=False):
        """Wait until @what(text of the pane) is true. Returns the text."""
        limit = time.monotonic() + PATIENCE_S
        while not what(text := self.text(history)):
            assert time.monotonic() < limit, text
            time.sleep(0.1)
        return text

    def ended(self):
        """The whole text of the terminal once the command has ended."""
        return self.wait(lambda text: re.search(r"^status \d+$", text, re.M), history=True)


@pytest.fixture
def terminal(tmp_path, short_folder):
    made = []

    def begin(**options):
        made.append(Terminal(tmp_path, f"{short_folder}/tmux", **options))
        return made[-1]
    yield begin
    for one in made:
        subprocess.run([*one.base, "kill-server"], check=False)


def live(*words):
    return (BUILD / "flamerun", "--live", *words)


def shares_of(text):
    """{function: (now, self, total)} in percent."""
    rows = re.findall(r"^ *([\d.]+)% +([\d.]+)% +([\d.]+)% +(\S.*)$", text, re.M)
    return {name.split(" [")[0].strip(): tuple(map(float, shares)) for *shares, name in rows}


def has_counted(samples):
    def look(text):
        found = re.search(r"(\d+) samples", text)
        return found and int(found[1]) >= samples
    return look


def test_a_screen_of_functions_and_threads(tmp_path, terminal):
    program = compile_target("split.c", tmp_path)
    pane = terminal()
    pane.run(*live("-o", "out.folded", "--", program, "5000"))
    text = pane.wait(has_counted(350))
    assert KEYS in text and text.startswith("split 5000\n"), text
    shares = shares_of(text)
    # 350 samples, two thirds of them in heavy(): sigma is 2.5 percentage points.
    assert shares["heavy"][1] == pytest.approx(67, abs=13), text
    assert shares["light"][2] == pytest.approx(33, abs=13) and shares["main"][2] > 90
    assert re.search(r"^ *[\d.]+% +\d+% .*split, \d+$", text, re.M), text
    text = pane.ended()
    # The live screen is gone. The program's output and flamerun's messages are on the terminal.
    assert KEYS not in text and "status 0" in text
    assert re.search(r"^heavy \d+$", text, re.M) and "wrote 'out.folded'" in text
    whole = folded.Folded((tmp_path / "out.folded").read_text())
    assert whole.below("heavy") / whole.total == pytest.approx(2 / 3, abs=0.1)


def test_keys(tmp_path, terminal):
    program = compile_target("split.c", tmp_path)
    pane = terminal()
    pane.run(*live("-o", "out.folded", "-o", "/dev/full", "--", program, "60000"))
    pane.wait(has_counted(100))
    pane.type("p")
    before = pane.wait(lambda text: text.startswith("[paused]"))
    time.sleep(2.5)
    assert pane.text() == before
    pane.type("p")
    pane.wait(has_counted(200))
    assert not (tmp_path / "out.folded").exists()
    pane.type("w")
    pane.wait(lambda text: "not all could be written" in text)
    early = folded.Folded((tmp_path / "out.folded").read_text()).total
    pane.type("r")
    pane.wait(lambda text: "shown from now on" in text)
    pane.wait(lambda text: "heavy" in shares_of(text))
    pane.type("q")
    # The program continues and has the terminal.
    pane.wait(lambda text: KEYS not in text and "--live" in text)
    pane.type("C-c")
    text = pane.ended()
    assert text.count("cannot write '/dev/full'") == 2 and "status 130" in text, text
    assert folded.Folded((tmp_path / "out.folded").read_text()).total > early > 100


def test_a_screen_that_changes_its_size(tmp_path, terminal):
    program = compile_target("split.c", tmp_path)
    pane = terminal(columns=100, rows=30)
    pane.run(*live("-o", "out.folded", "--", program, "60000"))
    pane.wait(has_counted(50))
    pane.call("resize-window", "-x", "50", "-y", "12")

    def is_redrawn(text):
        lines = [line.rstrip() for line in text.splitlines()]
        return lines[:1] == ["split 60000"] and lines[11:] == [KEYS]
    lines = pane.wait(is_redrawn).splitlines()
    assert "samples" in lines[1]
    assert max(map(len, lines)) <= 50
    pane.type("C-c")
    # Ctrl-C goes to the program, and the picture is written.
    assert "wrote 'out.folded'" in pane.ended()
    assert (tmp_path / "out.folded").exists()


def test_of_what_runs_already(tmp_path, terminal):
    program = compile_target("split.c", tmp_path)
    pane = terminal()
    with subprocess.Popen([program, "60000"], stdout=subprocess.DEVNULL) as split:
        try:
            pane.run(*live("-p", split.pid, "-o", "out.folded"))
            text = pane.wait(has_counted(60))
            assert f"split, process {split.pid}" in text and "heavy" in shares_of(text)
            pane.type("q")
            assert "status 0" in pane.ended()
            assert split.poll() is None
        finally:
            split.kill()
    assert folded.Folded((tmp_path / "out.folded").read_text()).total >= 60


@pytest.mark.parametrize("term", ["dumb", "nothing-of-the-kind"])
def test_terminals_without_a_cursor_get_lines(tmp_path, terminal, term):
    program = compile_target("split.c", tmp_path)
    pane = terminal(term=term)
    pane.run(*live("-o", "out.folded", "--", program, "1500"))
    text = pane.ended()
    assert "this terminal can show no screen" in text
    assert re.search(r"^flamerun: \d+ s: [\d.]+ CPUs, [\d.]+ % heavy \[split\]", text, re.M), text
    assert re.search(r"^heavy \d+$", text, re.M)


def test_a_job_in_the_background_gets_lines(tmp_path, terminal):
    program = compile_target("split.c", tmp_path)
    pane = terminal()
    pane.type("set -m", "Enter")
    pane.run(*live("-o", "out.folded", "--", program, "1500"), "& wait")
    text = pane.ended()
    assert re.search(r"^flamerun: \d+ s: [\d.]+ CPUs, [\d.]+ % ", text, re.M), text
    assert KEYS not in text and (tmp_path / "out.folded").exists()


def test_lines_where_nobody_looks(tmp_path):
    program = compile_target("split.c", tmp_path)
    done = subprocess.run(live("-o", "out.folded", "--", program, "2200"), cwd=tmp_path, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE_S)
    lines = re.findall(r"^flamerun: (\d+) s: ([\d.]+) CPUs, ([\d.]+) % heavy \[split\]",
                       done.stderr, re.M)
    assert done.returncode == 0 and lines and done.stdout.count("\n") == 2, done.stderr
    seconds = [int(second) for second, *_ in lines]
    assert seconds == sorted(set(seconds))
    assert all(0 < float(cpus) < 1.5 and float(share) > 20 for _, cpus, share in lines), lines
