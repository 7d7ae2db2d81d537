# SPDX-License-Identifier: MIT
#
# --repeat: the picture has the sum of the runs, the reported spread between them is right, and all
# ways to end early work.
import collections
import csv
import json
import os
import re
import signal
import statistics
import subprocess

import pytest

import folded
import profiled

# JSON has four decimals of a percent.
ROUNDING = 6e-5
# seconds; limit for many runs on a busy machine
SLOW_S = 300


def weights_of(path):
    found = collections.Counter()
    for stack, weight in folded.Folded(path.read_text(errors="surrogateescape")).stacks:
        found[stack] += weight
    return found


def told_of(run, *words):
    return json.loads(run("-q", "top", *words, "--json").stdout)


def spread_of(runs, is_in):
    """The spread, in percent, of the shares of those stacks for which @is_in holds."""
    return statistics.stdev(
        100 * sum(weight for stack, weight in one.items() if is_in(stack)) / sum(one.values())
        for one in runs)


@pytest.fixture(scope="module")
def ten(flamerun, tmp_path_factory):
    """
    Ten runs added up, in all formats, and their single profiles, 0.pb.gz to 9.pb.gz in the folder
    "parts". The eleventh run finds the profiles of the ten runs before it and fails.
    """
    folder = tmp_path_factory.mktemp("ten")
    versions = profiled.compile_target("versions.c", folder)
    (folder / "temporary").mkdir()
    (folder / "job").write_text(f"{versions} 4\necho >>log\n[ $(wc -l <log) -lt 11 ] ||\n"
                                "{ cp -r temporary/flamerun-runs-* parts; exit 3; }\n")
    outputs = [word for suffix in ("json", "svg", "md", "folded", "pb.gz") for word in ("-o", f"all.{suffix}")]
    result = subprocess.run(
        [flamerun, "-r", "997", "--repeat", "11", *outputs, "--", "sh", "job"], cwd=folder, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SLOW_S,
        env={**os.environ, "TMPDIR": str(folder / "temporary")}, check=False)
    assert result.returncode == 3 and not list((folder / "temporary").iterdir())
    assert ("flamerun: 'sh' ended with status 3 in its run 11\n"
            "flamerun: hint: --ignore-failure goes on\n"
            "flamerun: ended after 10 of 11 runs, which are drawn\n") in result.stderr
    (folder / "stderr").write_text(result.stderr)
    return folder


@pytest.mark.sanitized
def test_the_sum_and_how_its_parts_differ(run, tmp_path, ten):
    told = json.loads((ten / "all.json").read_text())
    runs, parts = [], []
    for i in range(10):
        run("-q", "render", ten / f"parts/{i}.pb.gz", "-o", "part.folded")
        runs.append(weights_of(tmp_path / "part.folded"))
        parts.append(told_of(run, ten / f"parts/{i}.pb.gz"))
    assert weights_of(ten / "all.folded") == sum(runs, collections.Counter())
    for sum_of in (lambda one: one["weight"], lambda one: one["waits"]["weight"],
                   lambda one: one["duration_ns"], lambda one: sum(t["weight"] for t in one["threads"])):
        assert sum_of(told) == sum(map(sum_of, parts))
    assert told["waits"]["weight"] > 0 and told["uncertain"]["lost"] is not None
    assert [one["wall_ns"] for one in told["runs"]] == [part["duration_ns"] for part in parts]
    # In folded stacks, functions with the same name are one, such as main() of the program and
    # main() of its shell.
    names = collections.Counter(function["name"] for function in told["functions"])
    checked = 0
    for function in told["functions"]:
        name = function["name"]
        if names[name] > 1:
            continue
        self = spread_of(runs, lambda stack: stack[-1] == name)
        total = spread_of(runs, lambda stack: name in stack)
        assert function["self_spread"] == pytest.approx(self, abs=ROUNDING), name
        assert function["total_spread"] == pytest.approx(total, abs=ROUNDING), name
        checked += total > 0.1
    assert checked >= 10


def test_what_is_said_of_runs(ten):
    stderr = (ten / "stderr").read_text()
    told = json.loads((ten / "all.json").read_text())
    assert re.search(r"^flamerun: 10 runs: \d+ samples, ", stderr, re.M)
    for what, key in (("wall", "wall_ns"), ("CPU", "cpu_ns")):
        times = [one[key] / 1e9 for one in told["runs"]]
        line = re.search(rf"^flamerun:   {what} time (.*)$", stderr, re.M).group(1)
        text = re.fullmatch(r" ?(\S+) s ± (\S+) \((\S+) to (\S+)\)", line).groups()
        digits = len(text[0].partition(".")[2])
        assert list(text) == [f"{value:.{digits}f}" for value in (
            statistics.mean(times), statistics.stdev(times), min(times), max(times))]
        assert line.strip() in (ten / "all.md").read_text()
    hottest = re.search(r"^flamerun: hottest functions by self time, and how runs differ:\n"
                        r"flamerun:  +(\S+) % ± (\S+)  ", stderr, re.M).groups()
    first = told["functions"][0]
    assert hottest == (f"{100 * first['self'] / told['weight']:.1f}", f"{first['self_spread']:.1f}")
    assert re.search(rf"^ *{hottest[0]} % ± *{hottest[1]} ", (ten / "all.md").read_text(), re.M)


@pytest.mark.sanitized
def test_pictures_keep_how_runs_differ(run, tmp_path, ten):
    told = json.loads((ten / "all.json").read_text())
    run("-q", "render", ten / "all.svg", "-o", "again.svg")
    for name in (ten / "all.svg", "again.svg"):
        again = told_of(run, name)
        assert again["runs"] == told["runs"]
        for before, after in zip(told["functions"], again["functions"]):
            assert after == {**before, "self_spread": pytest.approx(before["self_spread"], abs=2e-4),
                             "total_spread": pytest.approx(before["total_spread"], abs=2e-4)}
    rows = list(csv.DictReader(run("-q", "top", ten / "all.svg", "--csv").stdout.splitlines()))
    assert {row["table"]: bool(row["total_spread"]) for row in rows} == {
        "function": True, "module": False}
    # The spread is only valid for all stacks of these runs, not for a part of them or a sum with
    # others.
    assert "self_spread" not in told_of(run, ten / "all.svg", "--focus", "parse")["functions"][0]
    run("-q", "merge", ten / "all.svg", ten / "all.svg", "-o", "two.svg")
    assert "runs" not in told_of(run, "two.svg")
    run("-q", "--repeat", "3", "-o", "three.pb", "--", "true")
    assert b"runs: 3" in (tmp_path / "three.pb").read_bytes()


def test_shares_are_of_what_is_drawn(run, tmp_path, versions):
    assert run("-q", "-n", "3", "--focus", "^read_input$", "-o", "all.json", "--", versions,
               "8").returncode == 0
    told = json.loads((tmp_path / "all.json").read_text())
    functions = {function["name"]: function for function in told["functions"]}
    assert functions["read_input"]["total"] == told["weight"]
    assert functions["read_input"]["total_spread"] == 0 and "tenth" not in functions


def test_warm_ups_are_in_no_number(run, tmp_path, logged, left):
    result = run("-n", "2", "--warmup", "3", "-o", "all.json", "--", logged("job"), "-n", "x")
    assert result.returncode == 0 and left() == []
    assert (tmp_path / "log").read_text() == "job -n x\n" * 5
    assert len(json.loads((tmp_path / "all.json").read_text())["runs"]) == 2


def test_one_run_differs_from_none(run, tmp_path, versions):
    result = run("-n", "1", "-o", "all.json", "-o", "all.svg", "--", versions, "4")
    assert result.returncode == 0 and "±" not in result.stderr
    assert re.search(r"^flamerun:   wall time \d+\.\d{3} s$", result.stderr, re.M)
    told = json.loads((tmp_path / "all.json").read_text())
    assert len(told["runs"]) == 1 and "self_spread" not in told["functions"][0]
    assert told_of(run, "all.svg")["runs"] == told["runs"]


def test_streams(run, tmp_path, logged):
    """The programs' standard output goes elsewhere, so that standard output can be the picture."""
    (tmp_path / "typed").write_text("typed\n")
    with (tmp_path / "typed").open() as typed:
        result = run("-q", "-n", "2", "-o", "-", "--format", "folded", "--",
                     logged("job", "echo loud; echo err >&2; cat >&2"), stdin=typed)
    assert (result.returncode, result.stderr) == (0, "err\nerr\n")
    assert folded.Folded(result.stdout).below("main") > 0


@pytest.mark.sanitized
def test_losses_are_those_of_all_runs(run, logged):
    result = run("-n", "3", "--", "env", "-i", logged("job"))
    assert result.stderr.count("without flamerun's library") == 1
    assert "flamerun: 3 programs started without flamerun's library: their environment was cleared\n" in result.stderr


@pytest.mark.parametrize("then, status, how", [
    ("exit 3", 3, "ended with status 3"),
    ("exit 126", 126, "ended with status 126"),
    ("kill -SEGV $$", -signal.SIGSEGV, "was ended by signal 11 (Segmentation fault)"),
])
def test_a_run_that_fails(run, tmp_path, logged, left, then, status, how):
    """A run fails: the first run, the second, or a warm-up; also with --ignore-failure."""
    program = logged("job", f"[ $(wc -l <log) -ne $FAILS ] || {then}")
    for fails, words, where, drawn in (("2", [], "run 2", 1), ("1", [], "run 1", 0),
                                       ("1", ["--warmup", "1"], "warm-up 1", 0),
                                       ("2", ["--ignore-failure"], "run 2", 3)):
        for name in ("log", "all.json"):
            (tmp_path / name).unlink(missing_ok=True)
        result = run("-n", "3", "-o", "all.json", *words, "--", "env", f"FAILS={fails}", program,
                     timeout=SLOW_S)
        assert result.returncode == (status if drawn < 3 else 0)
        assert result.stderr.count(f"flamerun: 'env' {how} in its {where}\n") == 1
        assert ("hint: --ignore-failure goes on" in result.stderr) == (drawn < 3)
        assert (tmp_path / "all.json").exists() == (drawn > 0)
        if drawn:
            assert len(json.loads((tmp_path / "all.json").read_text())["runs"]) == drawn
        assert left() == []


@pytest.mark.parametrize("words, status, message", [
    (["-n", "2", "--", "./none"], 127, "cannot run './none': No such file or directory"),
    (["-n", "2", "--", "/"], 126, "cannot run '/': Is a directory"),
    (["-n", "0", "--", "true"], 125, "--repeat wants a whole number from 1 to 1000, not '0'"),
    (["-n", "1001", "--", "true"], 125, "--repeat wants a whole number from 1 to 1000, not '1001'"),
    (["--warmup", "1", "--", "true"], 125, "--warmup is for --repeat"),
    (["--ignore-failure", "--", "true"], 125, "--ignore-failure is for --repeat"),
    (["-n", "2", "-p", "1"], 125, "--repeat runs a program, and -p samples what runs already"),
    (["-n", "2", "--live", "--", "true"], 125, "--live shows one run, not those of --repeat"),
    (["-n", "2", "-o", "%p.svg", "--", "true"], 125,
     "'%p.svg': each run of --repeat has another process id"),
    (["-n", "2", "-o", "no/x.svg", "--", "true"], 125,
     "cannot write 'no/x.svg': No such file or directory"),
    (["-n", "2", "--sample-type", "vm", "--", "true"], 125,
     "a run of the program has nothing of the type 'vm'"),
    (["-n", "2", "render", "x.folded"], 125, "--repeat means nothing to render: it runs no program"),
])
def test_refusals(run, tmp_path, left, words, status, message):
    result = run("-q", *words)
    assert (result.returncode, result.stdout) == (status, "")
    assert result.stderr.splitlines()[0] == f"flamerun: {message}"
    assert left() == [] and not (tmp_path / "flame.svg").exists()


def test_where_no_files_can_be(run, logged, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nonesuch")
    result = run("-n", "2", "--", logged("job"))
    assert (result.returncode, result.stderr) == (
        125, "flamerun: cannot make a folder in '/nonesuch': No such file or directory\n")


@pytest.mark.parametrize("number, then", [(1, ":"), (3, "exit 1")])
def test_a_profile_that_cannot_be_written(run, tmp_path, logged, left, number, then):
    """If a run's profile cannot be written, flamerun fails and leaves no files."""
    program = logged("job", f"[ $(wc -l <log) -ne {number} ] ||\n"
                     f"{{ rm -r temporary/flamerun-runs-*; {then}; }}")
    result = run("-n", "3", "--", program)
    assert result.returncode == 125 and left() == []
    first, *rest = result.stderr.splitlines()
    assert re.fullmatch(rf"flamerun: cannot write '.*/flamerun-runs-.*/{number - 1}\.pb\.gz': "
                        "No such file or directory", first)
    assert not any("the stacks are in" in line for line in rest)
    assert not (tmp_path / "flame.svg").exists()


def test_an_interrupt_leaves_the_runs_before_it(flamerun, interrupt, tmp_path, logged, left):
    status, _, err = interrupt([flamerun, "-n", "50", "-o", "all.json", "--", logged("job")],
                               signal.SIGINT, 3)
    assert status == -signal.SIGINT and left() == []
    assert "was ended" not in err
    drawn = int(re.search(r"^flamerun: ended after (\d+) of 50 runs, which are drawn$", err, re.M).group(1))
    assert 2 <= drawn < 50
    assert len(json.loads((tmp_path / "all.json").read_text())["runs"]) == drawn


def test_an_early_end_is_said(flamerun, interrupt, tmp_path, logged, left):
    status, _, err = interrupt([flamerun, "-n", "2", "--", logged("job", "sleep 60")], signal.SIGTERM, 1)
    assert status == -signal.SIGTERM and left() == []
    assert "was ended" not in err
    assert err.splitlines()[-1] == "flamerun: ended before a run of the program was over"
    assert not (tmp_path / "flame.svg").exists()
