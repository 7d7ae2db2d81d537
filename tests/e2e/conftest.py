# SPDX-License-Identifier: MIT
#
# Fixtures of the end-to-end tests: the flamerun under test, and a way to run it in a folder of its
# own.
# The environment variable FLAMERUN names the program to test; the default is the one in TEST_BUILD.
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import profiled


# Tests with these marks also run with a sanitized flamerun, which preloads the unsanitized library
# (TEST_SANITIZED), and as a user with fewer rights in a container (TEST_CONFINED). `make check`
# runs only marked tests in these two ways, `make check-all` runs all tests.
MARKS = {
    "confined": "what is claimed depends on rights, system calls or processes that a container lacks",
    "sanitized": "comes to code of flamerun's own, on a way that no other test goes as shortly",
    # Read by tests/setup/pytest.sh.
    "sleeps": "waits for most of its time",
}


def pytest_configure(config):
    """Make the tests independent of the environment: settings, ignored signals, HOME and SHELL."""
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    config.option.strict_markers = True
    for name in [name for name in os.environ if name.startswith("FLAMERUN_")]:
        del os.environ[name]
    for name in ("PYTHONPATH", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME",
                 "SOURCE_DATE_EPOCH", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "DEBUGINFOD_URLS",
                 "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_MAXTIME"):
        os.environ.pop(name, None)
    # A shell's background jobs and nohup(1) ignore these signals, and children inherit ignored
    # signals.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    config.home = tempfile.TemporaryDirectory(prefix="flamerun-home.")
    # Another user who runs flamerun must also be able to read the folder.
    os.chmod(config.home.name, 0o755)
    os.environ["HOME"] = config.home.name
    os.environ["SHELL"] = "/bin/sh"  # hints contain its name


def pytest_collection_modifyitems(items):
    """
    Run the last files first: they contain the tests that wait, which then run beside many other
    tests. Short tests are left for the end.
    """
    items.sort(key=lambda item: item.path, reverse=True)


def pytest_unconfigure(config):
    config.home.cleanup()


@pytest.fixture(scope="session", autouse=True)
def reachable(tmp_path_factory):
    """
    Let other users enter the parents of the test folders: two levels, with parallel tests three.
    """
    folder = tmp_path_factory.getbasetemp()
    while folder.stat().st_uid == os.geteuid() and folder != pathlib.Path(tempfile.gettempdir()):
        folder.chmod(0o755)
        folder = folder.parent


@pytest.fixture(scope="session")
def flamerun():
    path = pathlib.Path(os.environ.get("FLAMERUN", profiled.BUILD / "flamerun")).resolve()
    assert os.access(path, os.X_OK), f"{path}: build it first"
    return str(path)


@pytest.fixture(scope="session")
def flamerun_of_all(flamerun):
    """Make a copy of flamerun for other users, who may have no access to the checkout."""
    with tempfile.TemporaryDirectory(prefix="flamerun-program.") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(pathlib.Path(flamerun).parent / "libflameprof.so.1", folder)
        yield shutil.copy(flamerun, folder)


@pytest.fixture
def run(flamerun, tmp_path):
    """run(*words, **subprocess options) -> CompletedProcess of flamerun, run in tmp_path."""

    def call(*words, **options):
        options.setdefault("cwd", tmp_path)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("timeout", 60)
        if "stdout" not in options:
            options["stdout"] = subprocess.PIPE
        if "stderr" not in options:
            options["stderr"] = subprocess.PIPE
        return subprocess.run([flamerun, *map(str, words)], text=True, **options)

    return call


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    return profiled.compile_target("versions.c", tmp_path_factory.mktemp("versions"))


@pytest.fixture
def logged(tmp_path, versions):
    """
    logged(name, then="") -> a program that works, appends its name and arguments to "log", and runs
    @then.
    """
    def make(name, then=""):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\n{versions} 4 >&2\necho {name} "$@" >>log\n{then}\n')
        path.chmod(0o755)
        return f"./{name}"
    return make


@pytest.fixture
def left(tmp_path, monkeypatch):
    """left() -> the files that are in the folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return lambda: list(folder.iterdir())


@pytest.fixture
def interrupt(tmp_path):
    """
    interrupt(words, number, lines) -> status, stdout and stderr of a command in tmp_path. When the
    file "log" has @lines lines, the command's process group gets the signal @number.
    """
    def call(words, number, lines):
        with subprocess.Popen([*map(str, words)], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True) as process:
            log = tmp_path / "log"
            while not log.exists() or len(log.read_text().splitlines()) < lines:
                assert process.poll() is None
                time.sleep(0.02)
            os.killpg(process.pid, number)
            out, err = process.communicate(timeout=300)
        return process.returncode, out, err
    return call


@pytest.fixture(scope="session")
def confined():
    """Returns whether no_new_privs is set, so that no program can change privileges."""
    with open("/proc/self/status", encoding="ascii") as status:
        return any(line.split() == ["NoNewPrivs:", "1"] for line in status)


def pytest_addoption(parser):
    parser.addoption("--rewrite-goldens", action="store_true",
                     help="make tests/e2e/goldens what is said now")


@pytest.fixture
def short_folder():
    """A temporary folder with a short path, because the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="flamerun-", dir="/tmp") as folder:
        yield folder
