# SPDX-License-Identifier: MIT
#
# Settings: help and error messages, compared with tests/e2e/goldens (which `pytest-3
# tests/e2e/test_settings.py --rewrite-goldens` rewrites); settings files, presets, the environment,
# and --show-config.
import os
import pathlib
import re
import shlex
import subprocess

import pytest

pytestmark = pytest.mark.sanitized

GOLDENS = pathlib.Path(__file__).with_name("goldens")

# One command line each. goldens/mistakes.txt has the expected messages.
MISTAKES = """
--
--nope ls
--pallete=hot ls
--no-icycle ls
--fo x ls
--n ls
-Z ls
-F 99 ls
--freq=99 ls
-p 4194304
--inverted ls
-qZ ls
--rate
-o
--quiet=1 ls
--no-quiet=1 ls
--no-rate ls
--=3 ls
-r 0 ls
-r 1e3 ls
--rate=10001 ls
--width=10 ls
--font-size=big ls
--min-width=0 ls
-d soon ls
-d 0 ls
--ground=drak ls
--ground=blue ls
--palette=hott ls
--palette=neon ls
--format=jpeg ls
--completions=tcsh
--hide 'a(b' ls
--focus '[z-a]' ls
--ignore 'a**' ls
--by functions ls
--by process,modul ls
--root 'x[' ls
--hide 'a{2,1}' ls
--hide '(((a{99}){99}){99})' ls
-o '' ls
-o x.gif ls
--config missing.ini ls
--config . ls
--config bad.ini ls
--config stray.ini ls
--config section.ini ls
--config command.ini ls
--config line.ini ls
@fast ls
@fast --config preset.ini ls
@fine @poster ls
@
"""
FILES = {
    "bad.ini": "\n# comment\nrate = many\n",
    "stray.ini": "pallette = hot\n",
    "section.ini": "[presets]\nrate = 5\n",
    "command.ini": "config = other.ini\n",
    "line.ini": "title = x\nwhat is this\n",
    "preset.ini": "[preset fats]\nrate = 5\n",
}


@pytest.fixture
def golden(request):
    """
    golden(name, text): assert that @text equals the file. --rewrite-goldens writes the file first.
    """

    def compare(name, text):
        path = GOLDENS / name
        if request.config.getoption("--rewrite-goldens"):
            path.write_text(text)
        assert text == path.read_text()

    return compare


@pytest.fixture
def home(tmp_path):
    """An environment without the user's settings, and the path of its settings file."""
    folder = tmp_path / "home"
    (folder / ".config/flamerun").mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("FLAMERUN_", "XDG_"))}
    return dict(environment, HOME=str(folder)), folder / ".config/flamerun/flamerun.ini"


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def shown(result):
    """{name: (value, origin)} as --show-config prints them; for lists the last value."""
    assert result.returncode == 0, result.stderr
    found = {}
    for line in result.stdout.splitlines():
        name, value, origin = re.fullmatch(r";?([\w-]+) =(.*?) +; (.*)", line).groups()
        found[name] = (value.strip(), origin)
    return found


def test_help(run, golden):
    golden("help.txt", run("--help").stdout)
    golden("help-short.txt", run("-h").stdout)


def test_mistakes(run, golden, home, work):
    for name, text in FILES.items():
        (work / name).write_text(text)
    said = ""
    for words in MISTAKES.strip().splitlines():
        result = run(*shlex.split(words), cwd=work, env=home[0])
        # The program "@" does not exist, so the exit status is that of a failed exec.
        status = 127 if words == "@" else 125
        assert (result.returncode, result.stdout) == (status, ""), words
        lines = result.stderr.splitlines()
        assert 1 <= len(lines) <= 2 and lines[-1].startswith("flamerun: ")
        assert len(lines) == 1 or lines[1].startswith("flamerun: hint: ")
        said += f"$ flamerun {words}\n{result.stderr}"
    golden("mistakes.txt", said)
    assert sorted(p.name for p in work.iterdir()) == sorted([".git", *FILES])


def test_show_config(run, golden, home, work):
    home[1].write_text("palette = mem\n[preset fine]\nrate = 997\n")
    (work / ".flamerun.ini").write_text("title = of the project\n")
    result = run("@fine", "--show-config", "--icicle", "-o", "a.svg", "-ob.png", cwd=work,
                 env=dict(home[0], FLAMERUN_COUNT_NAME="loops"))
    text = result.stdout.replace(str(work.parent), "/tmp")
    golden("show-config.txt", text)
    assert result.returncode == 0 and result.stderr == ""


def test_show_config_is_a_settings_file(run, home, work):
    words = ["--title", "a b", "-d", "0.1", "--min-width=0.3", "--hide", "^x|y$", "-o", "a.svg",
             "-o", "b.png", "-q", "--reverse", "--ground=dark", "--format=png", "--subtitle="]
    first = run("--show-config", *words, cwd=work, env=home[0])
    (work / "again.ini").write_text(first.stdout)
    second = run("--show-config", "--config", "again.ini", cwd=work, env=home[0])
    values = {name: value for name, (value, _) in shown(first).items()}
    assert {name: value for name, (value, _) in shown(second).items()} == values
    assert re.findall(r"^output = (\S+)", second.stdout, re.M) == ["a.svg", "b.png"]
    assert values["duration"] == "0.1" and values["quiet"] == "yes" and values["verbose"] == "no"


def test_levels(run, home, work):
    """
    Each source of settings overrides the sources before it, until its file or variable is removed.
    """
    environment, user = home
    deep = work / "a/b"
    deep.mkdir(parents=True)

    def rate(*words, env=environment):
        return shown(run("--show-config", *words, cwd=deep, env=env))["rate"]

    assert rate() == ("197", "built-in")
    user.write_text("rate = 2\n[preset p]\nrate = 5\n")
    assert rate() == ("2", f"{user}:1")
    project = work / ".flamerun.ini"
    project.write_text("rate = 3\n")
    assert rate() == ("3", f"{project}:1")
    variable = dict(environment, FLAMERUN_RATE="4")
    assert rate(env=variable) == ("4", "environment, FLAMERUN_RATE")
    assert rate("@p", env=variable) == ("5", f"{user}:3")
    assert rate("@p", "-r6", env=variable) == ("6", "command line")
    other = work / "other.ini"
    other.write_text("rate = 7\n")
    assert rate("--config", other) == ("7", f"{other}:1")
    assert rate("--no-config") == ("197", "built-in")
    assert rate("--no-config", env=variable) == ("4", "environment, FLAMERUN_RATE")
    assert rate(env=dict(environment, FLAMERUN_RATE="")) == ("3", f"{project}:1")
    (work / "xdg/flamerun").mkdir(parents=True)
    (work / "xdg/flamerun/flamerun.ini").write_text("rate = 8\n")
    project.unlink()
    assert rate(env=dict(environment, XDG_CONFIG_HOME=str(work / "xdg")))[0] == "8"
    assert rate(env=dict(environment, XDG_CONFIG_HOME="../../xdg"))[0] == "2"


def test_settings_take_effect(run, home, work):
    home[1].write_text("output = mine.svg\noutput = mine.folded\ntitle = Of mine\nquiet = yes\n")
    (work / "in.folded").write_text("main;work 5\n")
    result = run("render", "in.folded", cwd=work, env=home[0])
    assert (result.returncode, result.stderr) == (0, "")
    assert "Of mine" in (work / "mine.svg").read_text()
    assert (work / "mine.folded").exists()
    assert run("--", "sh", "-c", "exit 3", cwd=work, env=home[0]).returncode == 3


def test_a_projects_file_does_no_harm(run, home, work):
    (work / ".flamerun.ini").write_text(
        "output = /tmp/elsewhere.svg\nopen = yes\ntitle = \x1b[31m\n")
    (work / "in.folded").write_text("main;work 5\n")
    result = run("render", "in.folded", cwd=work, env=home[0])
    path = work / ".flamerun.ini"
    assert result.stderr == (f"flamerun: {path}:1: a project's file may not say 'output'\n"
                             f"flamerun: {path}:2: a project's file may not say 'open'\n"
                             "flamerun: wrote 'flame.svg'\n")
    assert "\x1b" not in run("--show-config", cwd=work, env=home[0]).stdout
    path.chmod(0o666)
    result = run("-v", "render", "in.folded", cwd=work, env=home[0])
    assert f"'{path}' is not read: everybody can write to it\n" in result.stderr


def test_what_is_no_file(run, home, work):
    """flamerun neither waits for a FIFO without a writer nor reads it."""
    os.mkfifo(work / "fifo")
    result = run("--config", "fifo", "--show-config", cwd=work, env=home[0])
    assert result.returncode == 125
    assert result.stderr == "flamerun: cannot read 'fifo': it is not a regular file\n"
    home[1].mkdir()
    result = run("--show-config", cwd=work, env=home[0])
    assert shown(result)["rate"][0] == "197"
    assert result.stderr == f"flamerun: cannot read '{home[1]}': it is a directory\n"
    assert run("-q", "--show-config", cwd=work, env=home[0]).stderr == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_the_home_of_somebody_else(flamerun_of_all, home):
    """A folder that may not be entered causes no message, but a file that may not be read does."""
    home[1].write_text("rate = 5\n")
    for folder in home[1].parents[:4]:
        folder.chmod(folder.stat().st_mode | 0o055)
    home[1].chmod(0o600)

    def other_user():
        return subprocess.run([flamerun_of_all, "--show-config"], cwd="/", env=home[0], text=True,
                              capture_output=True, timeout=60, user=12345, group=12345,
                              extra_groups=[])

    assert other_user().stderr == f"flamerun: cannot read '{home[1]}': Permission denied\n"
    home[1].parent.chmod(0o700)
    result = other_user()
    assert result.stderr == "" and shown(result)["rate"] == ("197", "built-in")


def test_help_needs_no_settings(run, home, work):
    home[1].write_text("rate = many\n")
    assert run("--help", cwd=work, env=home[0]).returncode == 0
    result = run("true", cwd=work, env=home[0])
    assert result.returncode == 125
    assert result.stderr == (
        f"flamerun: {home[1]}:1: rate wants a whole number from 1 to 10000, not 'many'\n"
        "flamerun: hint: flamerun --no-config runs without settings files\n")
    assert run("--no-config", "-q", "true", cwd=work, env=home[0]).returncode == 0


def test_lists_add_up_within_a_level_and_replace_those_below(run, home, work):
    """The functions that are left show which expressions applied."""
    environment, user = home
    (work / "in.folded").write_text("a;b;c;d 1\n")

    def left(*words, env=environment):
        result = run("render", "in.folded", "-q", "-o", "-", "--format", "folded", *words, cwd=work,
                     env=env)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout.split()[0]

    assert left() == "a;b;c;d"
    user.write_text("hide = ^a\nhide = ^b\n[preset p]\nhide = ^c\nhide = ^d\n")
    assert left() == "c;d"
    assert left("@p") == "a;b"
    assert left("--hide", "^d") == "a;b;c"
    assert left("--hide", "^d", "--hide", "^a") == "b;c"
    assert left("@p", "--hide=") == "a;b;c;d", "nothing is hidden any more"
    (work / ".flamerun.ini").write_text("hide = ^c\n")
    assert left() == "a;b;d"
    assert left(env=dict(environment, FLAMERUN_HIDE="^a")) == "b;c;d"
    assert left(env=dict(environment, FLAMERUN_HIDE="")) == "a;b;d"
    lines = re.findall(r"^hide = (\S+) +; (.*)$", run(
        "@p", "--show-config", cwd=work, env=environment).stdout, re.M)
    assert lines == [("^c", f"{user}:5"), ("^d", f"{user}:5")]


def test_the_tests_own_home_is_empty():
    """A flamerun that the tests start must not get the user's settings."""
    home = pathlib.Path(os.environ["HOME"])
    assert list(home.glob(".config/flamerun/*")) == []
    assert "XDG_CONFIG_HOME" not in os.environ
    assert not [name for name in os.environ if name.startswith("FLAMERUN_")]
