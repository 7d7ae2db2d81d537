# SPDX-License-Identifier: MIT
#
# Stores without ClickHouse: refusals, timeouts and invalid answers. tests/e2e/test_clickhouse.py
# has the other tests.
import os
import pathlib
import random
import shlex
import subprocess

import pytest

from profiled import PLAIN, compile_target
from stores import Failing

TOP = pathlib.Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def spool(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "flamerun" / "spool"


@pytest.fixture
def stacks(tmp_path):
    path = tmp_path / "stacks.folded"
    path.write_text("main;work 10\nmain;rest 5\n")
    return path


@pytest.mark.parametrize("address, what", [
    ("clickhouse://", "host"), ("clickhouse:///db", "host"), ("clickhouse://h", "database"),
    ("clickhouse://h/", "database"), ("clickhouse://h/1db", "database"), ("clickhouse://h/a-b", "database"),
    ("clickhouse://h/a;b", "database"), ("clickhouse://h:x/db", "port"), ("clickhouse://h:123456/db", "port"),
    ("clickhouse://h,h/db", "twice"), ("clickhouse://h,,i/db", "host"), ("clickhouse://h h/db", "host"),
    ("clickhouse://h/db?x=1", "not this"), ("clickhouse://h/db?from=soon", "value"),
    ("clickhouse://h/db?service=%zz", "value"), ("clickhouse://h/db?service=%00", "value"),
    ("clickhouse://h/db?service", "value"), ("clickhouse://h/db?timeout=0", "value"),
])
def test_addresses_that_are_none(run, stacks, address, what):
    for words in (("render", address, "-o", "x.svg"), ("push", address, stacks)):
        result = run(*words)
        assert result.returncode == 125 and what in result.stderr, result.stderr


def test_no_password_in_words(run, stacks):
    result = run("push", "clickhouse://me:secret@127.0.0.1:1/db", stacks)
    assert result.returncode == 125
    assert "secret" not in result.stderr and "CLICKHOUSE_PASSWORD" in result.stderr


def test_words_that_are_none(run, stacks, tmp_path):
    store = "clickhouse://127.0.0.1:1/db"
    for words, what in (
            (("push",), "address of a store"), (("push", stacks), "address of a store"),
            (("push", store), "files behind"), (("push", store, "gone.folded"), "cannot open"),
            (("push", store, tmp_path), "no file"), (("push", store, stacks), "--label service=NAME"),
            (("push", store, stacks, "--label", "color=red"), "service, version"),
            (("push", store, stacks, "--label", "start=soon"), "wants a time"),
            (("push", store + "?service=x", stacks), "is not selected"),
            (("render", stacks, "--symbols"), "flamerun push"),
            (("diff", stacks, store), "not both"),
            (("diff", stacks, stacks, "-o", store), "not comparisons"),
            (("-o", store, "--label", "x=1", "--", "true"), "service, version")):
        result = run(*words)
        assert result.returncode == 125 and what in result.stderr, (words, result.stderr)


@pytest.mark.sleeps
def test_an_absent_server_is_waited_for(run, stacks, tmp_path, spool):
    """
    A push that fails is tried again with growing delays, then the profile is kept. A run keeps its
    program's exit status.
    """
    with Failing(lambda query: (503, b"")) as away:
        pushed = run("push", f"clickhouse://{away.host}/db", stacks, "--label", "service=x")
        asked = len([query for query in away.queries if query.startswith("INSERT INTO db.attempts")])
    assert pushed.returncode == 0 and "1 profile is waiting" in pushed.stderr, pushed.stderr
    assert "503" in pushed.stderr and asked == 6
    assert len(list(spool.iterdir())) == 1
    result = run("-o", "clickhouse://127.0.0.1:1/db", "--", "sh", "-c", "exit 3")
    assert result.returncode == 3 and "waiting" in result.stderr
    assert len(list(spool.iterdir())) == 2


@pytest.mark.sleeps
def test_the_spool_is_bounded(run, tmp_path, spool):
    """If the spool is full, the oldest profiles are removed, and a message says so."""
    spool.mkdir(parents=True)
    spool.chmod(0o700)
    old = spool / f"{1:012x}-{0:016x}-{0:032x}.profile"
    with open(old, "wb") as file:
        file.truncate(256 << 20)
    path = tmp_path / "some.folded"
    path.write_text("main 1\n")
    pushed = run("push", "clickhouse://127.0.0.1:1/db", path, "--label", "service=x")
    assert pushed.returncode == 0 and "1 oldest profile is gone" in pushed.stderr, pushed.stderr
    assert not old.exists() and len(list(spool.iterdir())) == 1


@pytest.mark.sleeps
def test_a_spool_that_others_write_is_not_used(run, stacks, spool):
    spool.mkdir(parents=True)
    spool.chmod(0o777)
    pushed = run("push", "clickhouse://127.0.0.1:1/db", stacks, "--label", "service=x")
    assert pushed.returncode == 125 and "cannot spool" in pushed.stderr
    assert not list(spool.iterdir())


def test_what_time_does_not_mend_is_said_at_once(run, stacks, spool):
    for answer, what in (((500, b"Code: 516, e.displayText() = DB::Exception: Authentication failed"), "516"),
                         ((401, b""), "401"), ((404, b"<html>not here</html>"), "404"),
                         ((302, b""), "302"), ((200, b"<html>log in</html>"), "200")):
        with Failing(lambda query, answer=answer: answer) as server:
            pushed = run("push", f"clickhouse://{server.host}/db", stacks, "--label", "service=x")
            assert len(server.queries) <= 4
        assert pushed.returncode == 125 and what in pushed.stderr, pushed.stderr
    assert not spool.exists()


def test_who_keeps_nothing_is_found_out(run, stacks):
    """A server accepts everything, as a captive portal does, but keeps nothing."""
    with Failing(lambda query: (200, b"")) as server:
        pushed = run("push", f"clickhouse://{server.host}/db", stacks, "--label", "service=x")
        assert not any("profiles" in query for query in server.queries if query.startswith("INSERT"))
    assert pushed.returncode == 125 and "does not keep" in pushed.stderr


def test_a_server_that_says_nothing(run):
    with Failing(lambda query: "hang") as server:
        result = run("render", f"clickhouse://{server.host}/db?timeout=1", "-o", "x.svg")
    assert result.returncode == 125 and server.host in result.stderr


def test_answers_that_are_none(run, tmp_path):
    """If the server answers with random bytes, there is one error line and no output."""
    chance = random.Random(7)
    profile = (b"\x20" + b"0" * 32 + bytes(4) + bytes(4) + b"\x01\x00" + bytes(4) + bytes(8) +
               (1000000).to_bytes(8, "little") + (5).to_bytes(8, "little") +
               b"\x01s\x01h\x03cpu\x07samples\x01t")
    for number in range(60):
        def answer(query):
            if "FROM db.profiles" in query and number % 3:
                return 200, profile
            return 200, bytes(chance.choice(b"\x00\x01\x08\x20\xff\x80main") for _ in range(chance.randint(0, 200)))
        with Failing(answer) as server:
            result = run("render", f"clickhouse://{server.host}/db", "-o", "x.svg")
        assert result.returncode in (0, 125) and result.stderr, number
        if result.returncode == 0:  # valid rows, but inconsistent
            assert "parts of it were dropped" in result.stderr


def test_credentials_go_in_a_header(run, monkeypatch):
    monkeypatch.setenv("CLICKHOUSE_USER", "me")
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", "secret word")
    with Failing(lambda query: (200, b"")) as server:
        run("render", f"clickhouse://{server.host}/db", "-o", "x.svg")
        assert server.agents[0]["Authorization"].startswith("Basic ")
        assert "secret" not in "".join(server.queries)


def exec_start(name):
    """The command that the systemd unit runs for the service @name."""
    text = (TOP / "share" / "systemd" / "flamerun@.service").read_text(encoding="ascii")
    [line] = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    return [word.replace("%i", name).replace("$$", "$") for word in shlex.split(line.split("=", 1)[1])]


def test_the_unit_profiles_a_service(run, flamerun, tmp_path, spool):
    """The unit's command finds the service's processes and pushes their profile."""
    program = compile_target("split.c", tmp_path, PLAIN)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "flamerun").symlink_to(flamerun)
    group = tmp_path / "group"
    group.mkdir()
    (tools / "systemctl").write_text(f"#!/bin/sh\n[ \"$*\" = 'show -P ControlGroup web.service' ] && "
                                     f"echo '/../../../{group}'\n")
    (tools / "systemctl").chmod(0o755)
    services = [subprocess.Popen([program, "2500"], stdout=subprocess.DEVNULL) for _ in range(2)]
    (group / "cgroup.procs").write_text("".join(f"{service.pid}\n" for service in services))
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", PROFILE_SECONDS="0.3",
                       STORE="clickhouse://127.0.0.1:1/db", LABELS="--label version=3")
    result = subprocess.run(exec_start("web"), env=environment, stderr=subprocess.PIPE, text=True,
                            timeout=120, check=False)
    for service in services:
        service.kill()
        service.wait()
    assert result.returncode == 0 and "waiting for the next push" in result.stderr, result.stderr
    assert len(list(spool.iterdir())) == 1
