# SPDX-License-Identifier: MIT
#
# A store of two real servers. Each profile that was pushed can be read once, even if a server dies;
# symbols that were pushed also name earlier samples; queries return the profiles that they select.
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
from urllib.parse import quote

import pytest

from profiled import PLAIN, compile_target
from stores import Failing, Once, Servers, total, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

TABLES = ("attempts", "profiles", "frames", "stacks", "weights")


@pytest.fixture(scope="module")
def servers():
    with Servers(2) as two:
        yield two


@pytest.fixture(autouse=True)
def spool(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "flamerun" / "spool"


@pytest.fixture
def store(servers, request):
    """The address of a database that only this test uses, on both servers."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)[:60]
    return f"clickhouse://{servers.host(0)},{servers.host(1)}/t_{name}"


def database(store):
    return store.rsplit("/", 1)[1]


def write_profiles(folder, count, stacks=300, seed=1):
    """
    Write different profiles that have some stacks in common. Returns (files, sum of their weights).
    """
    chance = random.Random(seed)
    paths, weight = [], 0
    for number in range(count):
        path = folder / f"p{number}.folded"
        lines = [f"main;f{i % 7};g{i};h{i * 31 % 11} {chance.randint(1, 9)}"
                 for i in chance.sample(range(2 * stacks), stacks)]
        path.write_text("\n".join(lines) + "\n")
        weight += total(path.read_text())
        paths.append(path)
    return paths, weight


def folded(run, tmp_path, selection):
    out = tmp_path / "read.folded"
    result = run("render", "-q", selection, "-o", out)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return out.read_text()


def test_what_goes_in_comes_out(run, tmp_path, store):
    """
    The store adds profiles up as `flamerun merge` does, selected by labels, for a picture and for a
    table.
    """
    files, weight = write_profiles(tmp_path, 6)
    for number, path in enumerate(files):
        pushed = run("push", store, path, "--label", "service=api", "--label", f"version={number % 2}",
                     "--label", f"host=h{number}", "--label", f"start=2026-01-0{number + 1}T10:00")
        assert pushed.returncode == 0, pushed.stderr
    run("merge", *files, "-o", "all.folded")
    run("merge", *files[::2], "-o", "even.folded")
    assert folded(run, tmp_path, f"{store}?service=api") == (tmp_path / "all.folded").read_text()
    assert folded(run, tmp_path, f"{store}?version=0") == (tmp_path / "even.folded").read_text()
    assert total(folded(run, tmp_path, store)) == weight
    assert folded(run, tmp_path, f"{store}?host=h3") == folded(run, tmp_path, files[3])
    days = f"{store}?from=2026-01-02&to=2026-01-04T10:00"
    run("merge", *files[1:3], "-o", "days.folded")
    assert folded(run, tmp_path, days) == (tmp_path / "days.folded").read_text()
    none = run("render", f"{store}?service=other", "-o", "none.svg")
    assert none.returncode == 125 and "no profile" in none.stderr
    table = run("top", f"{store}?service=api", "--json")
    assert table.returncode == 0 and "main" in table.stdout


def test_a_run_and_its_waits(run, tmp_path, store):
    """
    The graph of a run that is read from the store equals the run's other outputs, including waits
    and lines.
    """
    program = compile_target("split.c", tmp_path, PLAIN)
    result = run("-o", "run.pb.gz", "-o", store, "--label", "version=7", "--", program, "400")
    assert result.returncode == 0 and "pushed 1 profile" in result.stderr, result.stderr
    assert folded(run, tmp_path, f"{store}?service={pathlib.Path(program).name}&version=7") == \
        folded(run, tmp_path, "run.pb.gz")
    for sort in ("--wall", "--by=line"):
        run("render", "-q", store, sort, "-o", "stored.folded")
        run("render", "-q", "run.pb.gz", sort, "-o", "file.folded")
        assert (tmp_path / "stored.folded").read_text() == (tmp_path / "file.folded").read_text()


def test_what_runs_already(run, tmp_path, store):
    program = compile_target("split.c", tmp_path, PLAIN)
    with subprocess.Popen([program, "1000000"], stdout=subprocess.DEVNULL) as process:
        result = run("-p", process.pid, "-d", "1", "-o", store, "--label", "service=split")
        process.kill()
    assert result.returncode == 0 and "pushed 1 profile" in result.stderr, result.stderr
    assert total(folded(run, tmp_path, f"{store}?service=split&from=-1h")) > 0


def test_what_is_written_so_far_is_not_pushed(run, flamerun, tmp_path, store):
    """A store gets each run once, however many times other outputs are written during the run."""
    program = compile_target("split.c", tmp_path, PLAIN)
    with subprocess.Popen([flamerun, "-o", "run.folded", "-o", store, "--", program, "1000000"],
                          cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        time.sleep(1)
        process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=60)[1].decode()
    assert err.count("pushed 1 profile") == 1, err
    assert folded(run, tmp_path, store) == folded(run, tmp_path, "run.folded")


def test_the_same_push_twice_counts_once(run, tmp_path, store):
    files, weight = write_profiles(tmp_path, 3)
    shutil.copy(files[0], tmp_path / "copy.folded")
    os.utime(tmp_path / "copy.folded", (1, 1))
    for _ in range(2):
        assert run("push", store, *files, tmp_path / "copy.folded", "--label", "service=x").returncode == 0
    assert total(folded(run, tmp_path, store)) == weight


@pytest.mark.parametrize("what", ["lose the answer", "half", "close", (500, b"no"), (503, b"")])
@pytest.mark.parametrize("query", ["INSERT INTO {}.attempts", "INSERT INTO {}.frames", "INSERT INTO {}.stacks",
                                   "INSERT INTO {}.weights", "INSERT INTO {}.profiles",
                                   "SELECT attempt, uniqExact"])
def test_what_fails_in_between_is_done_again(run, tmp_path, servers, request, query, what):
    """Rows of an attempt to push that failed do not count. push repeats the attempt."""
    name = f"f_{abs(hash(request.node.name)) % 10 ** 12}"
    files, weight = write_profiles(tmp_path, 4)
    decide = Once(query.format(name), what)
    with Failing(decide, servers.port(0)) as proxy:
        address = f"clickhouse://{proxy.host}/{name}"
        first = run("push", address, files[0], "--label", "service=x")  # creates the tables
        assert first.returncode == 0, first.stderr
        decide.left = 1
        pushed = run("push", address, *files, "--label", "service=x")
        assert pushed.returncode == 0 and not decide.left, pushed.stderr
        again = run("push", address, *files, "--label", "service=x")
        assert again.returncode == 0, again.stderr
    assert total(folded(run, tmp_path, f"clickhouse://{servers.host(0)}/{name}")) == weight


def test_what_waits_is_sent_by_the_next_push(run, tmp_path, servers, store, spool):
    """If a server is down, profiles for it wait in a private folder until the next push."""
    files, weight = write_profiles(tmp_path, 8)
    servers.kill(1)
    try:
        pushed = run("push", store, *files[:7], "--label", "service=x")
        assert pushed.returncode == 0 and "waiting for the next push" in pushed.stderr, pushed.stderr
        assert 0 < len(list(spool.iterdir())) < 7
        assert spool.stat().st_mode & 0o77 == 0
        assert all(path.stat().st_mode & 0o77 == 0 for path in spool.iterdir())
        away = run("render", store, "-o", "part.svg")
        assert away.returncode == 125 and servers.host(1) in away.stderr, "a part is not all"
    finally:
        servers.start(1)
    pushed = run("push", store, files[7], "--label", "service=x")
    assert pushed.returncode == 0, pushed.stderr
    assert not list(spool.iterdir())
    assert total(folded(run, tmp_path, store)) == weight


def test_a_damaged_file_of_the_spool_is_set_aside(run, tmp_path, servers, store, spool):
    files, _ = write_profiles(tmp_path, 2)
    with Failing(lambda query: (503, b"")) as away:
        pushed = run("push", f"clickhouse://{away.host}/{database(store)}", files[0], "--label", "service=x")
        assert "waiting" in pushed.stderr
        [waiting] = spool.iterdir()
        waiting.write_bytes(waiting.read_bytes()[:-9])
        away.decide, away.behind = lambda query: None, servers.port(0)
        pushed = run("push", f"clickhouse://{away.host}/{database(store)}", files[1], "--label", "service=x")
    assert pushed.returncode == 0 and "is damaged" in pushed.stderr, pushed.stderr
    assert [path.name.endswith(".damaged") for path in spool.iterdir()] == [True]
    assert total(folded(run, tmp_path, f"clickhouse://{servers.host(0)}/{database(store)}")) == \
        total(files[1].read_text())


def test_a_server_dies_in_mid_insert(run, flamerun, tmp_path, servers, store):
    """If a server is killed while it inserts rows, and started again, all totals are exact."""
    files, weight = write_profiles(tmp_path, 60, stacks=2000)
    for moment in range(3):
        with subprocess.Popen([flamerun, "push", store, *files[moment * 20:moment * 20 + 20], "--label",
                               "service=x"], stderr=subprocess.DEVNULL) as process:
            time.sleep(0.15 + 0.1 * moment)
            servers.kill(moment % 2)
            time.sleep(0.3)
            servers.start(moment % 2)
            assert process.wait(120) == 0
    assert run("push", store, *files, "--label", "service=x").returncode == 0
    assert total(folded(run, tmp_path, store)) == weight


def test_a_client_dies_in_mid_push(run, flamerun, tmp_path, store):
    files, weight = write_profiles(tmp_path, 40, stacks=2000)
    deaths = 0
    for moment in range(12):
        with subprocess.Popen([flamerun, "push", store, *files, "--label", "service=x"],
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(0.02 + 0.04 * moment)
            process.kill()
            deaths += process.wait() == -signal.SIGKILL
    assert deaths > 3
    assert run("push", store, *files, "--label", "service=x").returncode == 0
    assert total(folded(run, tmp_path, store)) == weight


def test_many_push_at_once(run, flamerun, tmp_path, store):
    """
    Several processes push the same files at once, before the tables exist. Each file counts once.
    """
    files, weight = write_profiles(tmp_path, 12)
    clients = [subprocess.Popen([flamerun, "push", store, *files, "--label", "service=x"],
                                stderr=subprocess.PIPE, text=True) for _ in range(5)]
    for client in clients:
        err = client.communicate(timeout=120)[1]
        assert client.returncode == 0, err
    assert total(folded(run, tmp_path, store)) == weight


def test_one_server_more(run, tmp_path, servers, store):
    """A profile that is pushed to one server and then to both counts once."""
    files, weight = write_profiles(tmp_path, 10)
    alone = f"clickhouse://{servers.host(0)}/{database(store)}"
    assert run("push", alone, *files, "--label", "service=x").returncode == 0
    assert run("push", store, *files, "--label", "service=x").returncode == 0
    assert int(servers.ask(1, f"SELECT count() FROM {database(store)}.profiles")[0][0]) > 0
    assert total(folded(run, tmp_path, store)) == weight


def test_rates_that_differ(run, tmp_path, store):
    """
    Times are added in nanoseconds, also of profiles with different rates. Other counts are not
    added to times.
    """
    program = compile_target("split.c", tmp_path, PLAIN)
    for rate in (100, 250):
        run("-r", rate, "-o", f"{rate}.pb.gz", "--", program, "400")
        assert run("push", store, f"{rate}.pb.gz", "--label", "service=x").returncode == 0
    run("merge", "-q", "100.pb.gz", "250.pb.gz", "-o", "both.folded")
    assert folded(run, tmp_path, store) == (tmp_path / "both.folded").read_text()
    [counts], _ = write_profiles(tmp_path, 1)
    run("push", store, counts, "--label", "service=x")
    mixed = run("render", store, "-o", "mixed.svg")
    assert mixed.returncode == 125 and "&unit=" in mixed.stderr
    assert folded(run, tmp_path, f"{store}?unit=samples") == folded(run, tmp_path, counts)


@pytest.mark.parametrize("each", (1, 3_000_000), ids=("small", "beyond-32-bits"))
def test_versions_are_compared_by_hosts(run, tmp_path, store, each):
    """diff of two selections from the store equals diff of the files of these hosts."""
    chance = random.Random(5)
    sides = ([], [])
    for version in (0, 1):
        for host in "abcdef":
            path = tmp_path / f"{version}{host}.folded"
            path.write_text("".join(
                f"main;{name} {each * round(chance.gauss(mean, mean ** .5))}\n"
                for name, mean in (("same", 4000), ("slower", 1000 + 700 * version), ("other", 3000))))
            sides[version].append(path)
            assert run("push", "-q", store, path, "--label", "service=x", "--label", f"version={version}",
                       "--label", f"host={host}").returncode == 0
    told = run("diff", f"{store}?version=0", f"{store}?version=1", "-o", "diff.svg")
    assert told.returncode == 0, told.stderr
    assert told.stdout == run("diff", *sides[0], "--", *sides[1]).stdout
    assert "slower" in told.stdout and "6 old runs and 6 new" in told.stdout
    # If each version has one host, the servers compute the sums.
    assert (run("diff", f"{store}?version=0&host=c", f"{store}?version=1&host=c").stdout ==
            run("diff", sides[0][2], sides[1][2]).stdout)
    # One profile may belong to both versions.
    both = [tmp_path / f"both{host}.folded" for host in "abcdef"]
    for pair in zip(*sides, both):
        assert run("merge", "-q", *pair[:2], "-o", pair[2]).returncode == 0
    assert (run("diff", f"{store}?version=0", store).stdout ==
            run("diff", *sides[0], "--", *both).stdout)
    assert run("diff", f"{store}?version=0", sides[1][0]).returncode == 125
    gone = run("diff", f"{store}?version=0", f"{store}?version=9")
    assert gone.returncode == 125 and "new version" in gone.stderr


def test_symbols_are_pushed_once(run, tmp_path, store, servers):
    """Pushed symbols give names to the samples of a stripped program that has the same build-id."""
    program = compile_target("split.c", tmp_path, (*PLAIN, "-Wl,--build-id=sha1"))
    whole = tmp_path / "whole"
    shutil.copy(program, whole)
    subprocess.run(["strip", program], check=True)
    assert run("-o", store, "-o", "run.pb.gz", "--", program, "400").returncode == 0
    unnamed = folded(run, tmp_path, store)
    assert "+0x" in unnamed and "light" not in unnamed
    for times in ("pushed the names of", "the names of"):
        pushed = run("push", store, "--symbols", whole)
        assert pushed.returncode == 0 and times in pushed.stderr, pushed.stderr
    rows = servers.ask(0, f"SELECT count() FROM {database(store)}.symbols")[0][0]
    assert run("push", store, "--symbols", whole).returncode == 0
    assert servers.ask(0, f"SELECT count() FROM {database(store)}.symbols")[0][0] == rows
    named = folded(run, tmp_path, store)
    assert total(named) == total(unnamed)
    for function in ("light", "heavy"):
        assert function in named, named
    # The names also apply to a profile that was written when the symbols were missing.
    assert run("push", f"{store}2", "run.pb.gz", "--label", "service=split").returncode == 0
    assert run("push", f"{store}2", "--symbols", whole).returncode == 0
    assert "heavy" in folded(run, tmp_path, f"{store}2")


def test_symbols_of_what_has_none(run, tmp_path, store):
    text = tmp_path / "text"
    text.write_text("no program")
    assert "no 64-bit ELF" in run("push", store, "--symbols", text).stderr


def test_a_day_is_dropped(run, tmp_path, servers, store):
    """The command in the manual deletes a day from all tables. All other days stay complete."""
    files, _ = write_profiles(tmp_path, 2)
    for day, path in zip(("2026-02-01", "2026-02-02"), files):
        run("push", store, path, "--label", "service=x", "--label", f"start={day}T12:00")
    for number, table in existing(servers, store):
        if table in TABLES:
            servers.ask(number, f"ALTER TABLE {database(store)}.{table} DROP PARTITION '2026-02-01'")
    assert folded(run, tmp_path, store) == folded(run, tmp_path, files[1])


def existing(servers, store):
    """The (server, table) pairs that exist. A server that has no profiles has no tables."""
    return [(number, table) for number in (0, 1) for [table] in
            servers.ask(number, f"SELECT name FROM system.tables WHERE database = '{database(store)}'")]


def test_what_is_missing_is_said(run, tmp_path, servers, store):
    files, _ = write_profiles(tmp_path, 1)
    run("push", store, files[0], "--label", "service=x")
    for number, table in existing(servers, store):
        if table == "weights":
            servers.ask(number, f"TRUNCATE TABLE {database(store)}.weights")
    result = run("render", store, "-o", "none.svg")
    assert "parts of it were dropped" in result.stderr


HOSTILE = ["it's", "back\\slash", "\\'", "'; DROP TABLE x --", "new\nline", "tab\tx", "\x01\x7f", "%25&=", "é漢",
           "\\x41", "\\0", "''", "`a`", "$1 {x:String} ?"]


def test_labels_are_any_text(run, tmp_path, store):
    """
    Any text can be a label and selects only its own profiles. Names of functions can be any text
    too.
    """
    for number, text in enumerate(HOSTILE):
        path = tmp_path / f"{number}.folded"
        name = text.replace(";", ":").replace("\n", " ").replace("\t", " ").replace("\x01\x7f", "  ")
        path.write_text(f"main;{name} {number + 1}\n")
        pushed = run("push", store, path, "--label", f"service={text}", "--label", f"version={text}",
                     "--label", f"host={text}")
        assert pushed.returncode == 0, pushed.stderr
    for number, text in enumerate(HOSTILE):
        for label in ("service", "version", "host"):
            read = folded(run, tmp_path, f"{store}?{label}={quote(text)}")
            assert read == folded(run, tmp_path, f"{number}.folded"), text


def test_every_byte_of_a_literal(run, servers, store):
    """The server must read the text of a selection in a query as exactly the same bytes."""
    chance = random.Random(3)
    texts = [bytes(range(1, 256))] + [
        bytes(chance.choice(b"\\'x0n\n\xc3 ") for _ in range(chance.randint(1, 80))) for _ in range(20)]
    for text in texts:
        with Failing(lambda query: (200, b"")) as recorder:
            run("render", f"clickhouse://{recorder.host}/{database(store)}?service={quote(text)}", "-o", "x.svg")
        query = recorder.queries[0].encode("utf-8", "surrogateescape")
        literal = query.split(b" AND service = ")[1].rsplit(b" FORMAT", 1)[0]
        assert servers.ask(0, b"SELECT hex(%s)" % literal) == [[text.hex().upper()]]


USERS = """<yandex><profiles><default></default></profiles><users>
<default><password>secret word</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default>
<writer><password>other</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></writer></users>
<quotas><default></default></quotas></yandex>"""


def test_who_may(run, tmp_path, monkeypatch):
    """
    Passwords are read from environment variables or a private netrc file. Messages never contain
    them.
    """
    users = tmp_path / "users.xml"
    users.write_text(USERS)
    [path], weight = write_profiles(tmp_path, 1)
    with Servers(1, users) as one:
        store = f"clickhouse://{one.host(0)}/t"
        words = ("push", store, path, "--label", "service=x")
        refused = run(*words)
        assert refused.returncode == 125 and "waiting" not in refused.stderr
        monkeypatch.setenv("CLICKHOUSE_PASSWORD", "secret word")
        assert run(*words).returncode == 0
        monkeypatch.setenv("CLICKHOUSE_USER", "writer")
        wrong = run(*words)
        assert wrong.returncode == 125 and "secret" not in wrong.stderr
        monkeypatch.delenv("CLICKHOUSE_USER")
        monkeypatch.delenv("CLICKHOUSE_PASSWORD")
        netrc = tmp_path / "config" / "flamerun" / "netrc"
        netrc.parent.mkdir(parents=True)
        netrc.write_text("machine 127.0.0.1 login writer password other\n")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        netrc.chmod(0o644)
        read = run(*words)
        assert read.returncode == 125 and "chmod 600" in read.stderr
        netrc.chmod(0o600)
        assert run(*words).returncode == 0
        assert total(folded(run, tmp_path, store)) == weight


def certificate(folder, of):
    """Write a file with a self-signed certificate for @of and its key."""
    path = folder / f"{of.replace(':', '-')}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=x", "-addext", f"subjectAltName={of}", "-keyout", path, "-out", f"{path}.one"],
                   check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + path.with_suffix(".pem.one").read_bytes())
    return path


def test_by_https(run, tmp_path, servers, monkeypatch):
    """A server with a wrong certificate gets no query, and one line on stderr says so."""
    [path], weight = write_profiles(tmp_path, 1)
    right, wrong = certificate(tmp_path, "IP:127.0.0.1"), certificate(tmp_path, "DNS:other.example")

    def refused(server, command, *words):
        result = run(command, f"clickhouses://{server.host}/t_by_https", *words)
        assert result.returncode == 125 and len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith(f"flamerun: '{server.host}': ") and not server.queries
        return result.stderr

    with Failing(lambda query: None, servers.port(0), wrong) as server:
        for known in (right, wrong):
            monkeypatch.setenv("CURL_CA_BUNDLE", str(known))
            assert "certificate" in refused(server, "push", path, "--label", "service=x")
            assert "certificate" in refused(server, "render", "-o", "no.folded")
    with Failing(lambda query: None, servers.port(0)) as server:
        refused(server, "render", "-o", "no.folded")
    monkeypatch.setenv("CURL_CA_BUNDLE", str(right))
    with Failing(lambda query: None, servers.port(0), right) as server:
        store = f"clickhouses://{server.host}/t_by_https"
        assert run("push", store, path, "--label", "service=x").returncode == 0
        assert total(folded(run, tmp_path, store)) == weight and server.queries
    down = run("render", store, "-o", "no.folded")
    assert down.returncode == 125 and len(down.stderr.splitlines()) == 1
