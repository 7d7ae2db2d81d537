# SPDX-License-Identifier: MIT
#
# While outputs are written: the progress line, interrupts by the user, and opening a browser.
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import signal
import subprocess
import threading
import time

import pytest

import outside
from folded import Folded
from profiled import compile_target

pytestmark = pytest.mark.sanitized

SLOW_S = 1.6


def open_small(path):
    """
    Open the FIFO @path for reading, with the smallest buffer, before anything is written to it.
    """
    fifo = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    os.set_blocking(fifo.fileno(), True)
    fcntl.fcntl(fifo, fcntl.F_SETPIPE_SZ, 4096)
    return fifo


def read_late(fifo, is_time, delay_s):
    with fifo:
        select.select([fifo], [], [])
        is_time.wait(60)
        time.sleep(delay_s)
        while fifo.read(65536):
            pass


def on_terminal(flamerun, folder, *words, until="", delay_s=0):
    """
    Run render with the FIFO slow.svg as output. The FIFO is read @delay_s seconds after @until was
    printed. Returns the text on stderr, which is a terminal.
    """
    os.mkfifo(folder / "slow.svg")
    (folder / "in").write_text("main;work 3\n")
    is_time = threading.Event()
    reader = threading.Thread(target=read_late, args=(open_small(folder / "slow.svg"), is_time, delay_s),
                              daemon=True)
    reader.start()
    child, master = pty.fork()
    if not child:
        os.chdir(folder)
        # Keep the pipe open across exec, so that its reader sees the end only when flamerun ends.
        os.set_inheritable(os.open("slow.svg", os.O_WRONLY), True)
        os.execv(flamerun, [flamerun, *words])
    text = b""
    try:
        while True:
            if until in text.decode():
                is_time.set()
            text += os.read(master, 4096)
    except OSError:
        pass
    assert os.waitpid(child, 0)[1] == 0
    os.close(master)
    return text.decode()


LINE = "flamerun: drawing 'slow.svg' ..."


def test_slow_drawing_is_announced(flamerun, tmp_path):
    text = on_terminal(flamerun, tmp_path, "render", "in", "-o", "slow.svg", until=LINE)
    assert text == f"{LINE}\r{' ' * len(LINE)}\rflamerun: wrote 'slow.svg'\r\n"


def test_quick_drawing_is_not(flamerun, tmp_path):
    for attempt in range(10):  # on a busy machine it may be slow
        folder = tmp_path / str(attempt)
        folder.mkdir()
        started = time.monotonic()
        text = on_terminal(flamerun, folder, "render", "in", "-o", "slow.svg")
        if time.monotonic() - started < 1:
            break
    assert text == "flamerun: wrote 'slow.svg'\r\n"


def test_quiet_drawing_is_not(flamerun, tmp_path):
    assert on_terminal(flamerun, tmp_path, "-q", "render", "in", "-o", "slow.svg",
                       delay_s=SLOW_S) == ""


def wait_until(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    """A program whose symbols are in a separate debug file."""
    folder = tmp_path_factory.mktemp("stripped")
    program = compile_target("split.c", folder, ("-O2", "-g"))
    debug = folder / "split.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    return program


def interrupted(flamerun, folder, program, interrupts):
    """
    Run @program from a shell that ends while a child of it lives. flamerun waits a moment for this
    child. With @interrupts, send SIGINT at this time; earlier, flamerun would pass SIGINT on to the
    shell.
    """
    with subprocess.Popen([flamerun, "-q", "-o", "x.folded", "--", "sh", "-c",
                           f"echo $$; '{program}' 300 > /dev/null; sleep 0.5 & exit 3"],
                          cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
        if interrupts:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 3
    return Folded((folder / "x.folded").read_text())


@pytest.mark.confined
def test_an_interrupt_after_the_end_does_without_debug_files(flamerun, tmp_path, stripped):
    assert interrupted(flamerun, tmp_path, stripped, False).below("heavy") > 0
    for _ in range(10):  # On a busy machine the signal may be late.
        profile = interrupted(flamerun, tmp_path, stripped, True)
        assert profile.total > 10
        if not profile.below("heavy"):
            break
    assert not profile.below("heavy")
    assert any("split+0x" in frame for stack, _ in profile.stacks for frame in stack)


def test_a_second_interrupt_ends_flamerun(flamerun, tmp_path):
    """flamerun is blocked in writing to a FIFO. The first interrupt must not end it."""
    os.mkfifo(tmp_path / "slow.svg")
    reader = os.open(tmp_path / "slow.svg", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    try:
        with subprocess.Popen([flamerun, "-q", "-o", "slow.svg", "-o", "other.svg", "--",
                               "sh", "-c", "echo $$; exit 3"], cwd=tmp_path,
                              stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            assert select.select([reader], [], [], 60)[0], "it is writing"
            outside.send(process.pid, signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == -signal.SIGINT
        assert os.listdir(tmp_path) == ["slow.svg"]
    finally:
        os.close(reader)


BROWSER = """#!/bin/sh
{ for word; do echo "word $word"; done
  ps -o sid= -p $$; readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2
  ls /proc/$$/fd | tr '\\n' ' '; grep SigIgn /proc/$$/status; } > "$SEEN.part"
mv "$SEEN.part" "$SEEN"
for i in $(seq 1000); do [ -e "$SEEN.end" ] || sleep 0.1; done
"""


@pytest.fixture
def browser(tmp_path):
    """
    (an environment with a browser that logs how it was started and stays until the end, the log)
    """
    program = tmp_path / "bin" / "browser"
    program.parent.mkdir()
    program.write_text(BROWSER)
    program.chmod(0o755)
    seen = tmp_path / "seen"
    yield dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", SEEN=str(seen),
               BROWSER="none-such:browser --new %s --last"), seen
    (tmp_path / "seen.end").touch()


def noted(seen):
    wait_until(seen.exists)
    return seen.read_text().splitlines()


def ignored_by_children():
    """
    The signals that children ignore: the test's own, except for those that subprocess restores.
    """
    status = pathlib.Path("/proc/self/status").read_text()
    ignored = int(re.search(r"^SigIgn:\s*(\w+)", status, re.M).group(1), 16)
    return ignored & ~(1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


@pytest.mark.confined
def test_open(flamerun, tmp_path, browser):
    environment, seen = browser
    inherited = os.dup2(os.open(os.devnull, os.O_RDONLY), 77)
    # flamerun must end without waiting for the browser, which continues.
    result = subprocess.run([flamerun, "--open", "-o", "x.png", "-o", "-x y.svg", "-o", "z.svg",
                             "--", "sh", "-c", "exit 3"], cwd=tmp_path, env=environment,
                            capture_output=True, text=True, timeout=60, pass_fds=[inherited])
    os.close(inherited)
    assert result.returncode == 3
    lines = noted(seen)
    assert lines[:3] == ["word --new", f"word {tmp_path / '-x y.svg'}", "word --last"]
    assert int(lines[3]) != os.getsid(0)
    assert lines[4:7] == ["/dev/null", str(seen) + ".part", "/dev/null"]
    descriptors = lines[7].split("SigIgn")[0].split()
    assert "0" in descriptors and "77" not in descriptors
    assert int(lines[7].split(":")[1], 16) == ignored_by_children()


def test_open_for_render_and_by_xdg_open(flamerun, tmp_path, browser):
    environment, seen = browser
    (tmp_path / "in").write_text("main 1\n")
    shutil.move(tmp_path / "bin" / "browser", tmp_path / "bin" / "xdg-open")
    del environment["BROWSER"]
    environment["WAYLAND_DISPLAY"] = "wayland-0"
    result = subprocess.run([flamerun, "-q", "render", "in", "--open"], cwd=tmp_path,
                            env=environment, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert noted(seen)[0] == f"word {tmp_path / 'flame.svg'}"


def test_not_opened_unless_asked(flamerun, tmp_path, browser):
    environment, seen = browser
    subprocess.run([flamerun, "-q", "--", "true"], cwd=tmp_path, env=environment, timeout=60)
    time.sleep(0.3)
    assert not seen.exists()


def test_nobody_to_open_it(run, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "BROWSER"}
    environment.update(PATH=str(tmp_path), DISPLAY=":0")
    result = run("-q", "--open", "--", "/bin/sh", "-c", "exit 3", env=environment)
    assert result.returncode == 3
    assert result.stderr == (
        "flamerun: cannot show 'flame.svg': xdg-open: No such file or directory\n"
        "flamerun: hint: set BROWSER to a browser, or install xdg-utils\n")
    (tmp_path / "in").write_text("main 1\n")
    assert run("-q", "--open", "render", "in", env=environment).returncode == 125


def test_no_display(run, tmp_path, browser):
    """
    flamerun must not use xdg-open here, because xdg-open would report success and show nothing.
    """
    environment, seen = browser
    shutil.copy(tmp_path / "bin" / "browser", tmp_path / "bin" / "xdg-open")
    del environment["BROWSER"]
    result = run("-q", "--open", "--", "sh", "-c", "exit 3", env=environment)
    assert result.returncode == 3
    assert result.stderr == (
        "flamerun: cannot show 'flame.svg': there is no display here\n"
        f"flamerun: hint: where there is one: scp '{socket.gethostname()}:{tmp_path}/flame.svg' . "
        "and open it in a browser\n")
    time.sleep(0.3)
    assert not seen.exists()


def test_nothing_to_open(run, tmp_path, browser):
    result = run("-q", "--open", "-o", "x.folded", "-o", "/dev/null", "--", "true", env=browser[0])
    assert result.returncode == 0
    assert result.stderr == "flamerun: nothing to open: no SVG was written to a file\n"
