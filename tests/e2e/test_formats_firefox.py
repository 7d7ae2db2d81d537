# SPDX-License-Identifier: MIT
#
# Files for the Firefox Profiler: the columns are consistent, the weights equal the picture's, and
# Mozilla's profiler-cli shows the same.
import json
import os
import re
import subprocess
import time

import pytest

from folded import Folded
from pprof import Maker
from profiled import ROOT, compile_target

pytestmark = pytest.mark.sanitized

CLI = ROOT / "build/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"
PATIENCE_S = 60


def stacks_of(path):
    sums = {}
    for stack, weight in Folded(path.read_text(errors="surrogateescape")).stacks:
        sums[stack] = sums.get(stack, 0) + weight
    return sums


class Profile:
    """A file for the Firefox Profiler, with all references resolved."""

    def __init__(self, path):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        shared = self.data["shared"]
        assert self.data["meta"]["preprocessedProfileVersion"] == 61
        self.texts = shared["stringArray"]
        for name, table in shared.items():
            if name != "stringArray":
                assert all(len(column) == table["length"] for key, column in table.items()
                           if key != "length"), name
        functions, frames, stacks = (shared[name] for name in (
            "funcTable", "frameTable", "stackTable"))
        resources = [self.texts[name] for name in shared["resourceTable"]["name"]]
        sources = [self.texts[name] for name in shared["sources"]["filename"]]
        self.functions = [
            (self.texts[name], None if resource < 0 else resources[resource],
             None if source is None else sources[source]) for name, resource, source in zip(
                 functions["name"], functions["resource"], functions["source"])]
        assert len(set(self.functions)) == len(self.functions), "a function twice"
        self.lines = [(*self.functions[function], line) for function, line in zip(
            frames["func"], frames["line"])]
        self.frames = [(self.functions[function][0], line, category) for function, line, category
                       in zip(frames["func"], frames["line"], frames["category"])]
        self.stacks = []
        for number, (frame, caller) in enumerate(zip(stacks["frame"], stacks["prefix"])):
            assert caller is None or caller < number
            self.stacks.append((() if caller is None else self.stacks[caller])
                               + (self.frames[frame],))
        self.threads = self.data["threads"]
        for thread in self.threads:
            samples = thread["samples"]
            assert all(len(column) == samples["length"] for key, column in samples.items()
                       if key not in ("length", "weightType"))
            assert samples["time"] == sorted(samples["time"])

    def folded(self, *threads):
        sums = {}
        for thread in threads or self.threads:
            for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
                if stack is None:
                    continue
                names = tuple(frame[0] for frame in self.stacks[stack])
                sums[names] = sums.get(names, 0) + weight
        return sums

    def categories(self):
        names = [one["name"] for one in self.data["meta"]["categories"]]
        return {name: names[category] for name, _, category in self.frames}


@pytest.mark.parametrize("words", [(), ("--wall", "--no-fold-idle")])
def test_a_run_writes_what_it_draws(run, tmp_path, words):
    program = compile_target("threads.c", tmp_path, flags=("-O1", "-g"))
    result = run("-r", "997", *words, "-o", "p.firefox.json", "-o", "p.folded", "-o", "p.json",
                 "--", program, "300")
    assert result.returncode == 0, result.stderr
    profile = Profile(tmp_path / "p.firefox.json")
    period_ms = json.loads((tmp_path / "p.json").read_text())["period_ns"] / 1e6
    drawn = {stack: weight * period_ms for stack, weight in
             stacks_of(tmp_path / "p.folded").items()}
    found = profile.folded()
    assert set(found) == set(drawn)
    assert all(found[stack] == pytest.approx(weight) for stack, weight in drawn.items())
    workers = {}
    for thread in profile.threads:
        assert re.fullmatch(r"threads \(\d+/\d+\)", thread["name"])
        assert thread["name"] == f"threads ({thread['pid']}/{thread['tid']})"
        assert thread["isMainThread"] == (thread["pid"] == str(thread["tid"]))
        workers.update({name: thread["name"] for stack in profile.folded(thread)
                        for name in stack if name.startswith("worker_")})
        # A sample's time is either CPU time or waiting time.
        samples = thread["samples"]
        for stack, weight, delta in zip(samples["stack"], samples["weight"],
                                        samples["threadCPUDelta"]):
            name, _, category = profile.stacks[stack][-1]
            waits = category == 4
            # The program computes in its own code, so only waits end with a name in brackets.
            assert not waits or re.fullmatch(r"\[.*\]", name)
            assert delta == pytest.approx(0 if waits else weight * 1e6)
    assert len(workers) == len(set(workers.values())) == 4
    assert any(value == "Waiting" for value in profile.categories().values()) == bool(words)
    # Frames have line numbers if there is debug information.
    source = (ROOT / "tests/targets/threads.c").read_text().splitlines()
    for worker in workers:
        lines = {(file and file.rpartition("/")[2], line and source[line - 1])
                 for name, _, file, line in profile.lines if name == worker}
        assert lines == {("threads.c", f"WORKER({worker[-1]})")}


def test_names_that_would_break_out(run, tmp_path):
    lines = {b'say "hi";back\\slash;\x01\x7f': 3, b"\xff\xfe\xfd;</script>": 2, b"{};{\"a\":1}": 1,
             "ünder;\U0001f525;\u202e".encode(): 4, b"[kernel: read]": 5}
    (tmp_path / "in.folded").write_bytes(b"".join(
        stack + b" %d\n" % weight for stack, weight in lines.items()))
    assert run("render", "in.folded", "-o", "out.firefox.json").returncode == 0
    profile = Profile(tmp_path / "out.firefox.json")
    stacks = profile.folded()
    assert stacks[('say "hi"', "back\\slash", "\ufffd\ufffd")] == 3
    assert sum(stacks.values()) == 15
    assert profile.categories()["[kernel: read]"] == "Kernel"
    assert profile.threads[0]["samples"]["weightType"] == "samples"
    assert "threadCPUDelta" not in profile.threads[0]["samples"]


def test_times_are_those_of_the_samples(run, tmp_path):
    (tmp_path / "perf").write_text("t 7/8 10.5: 1 e:\n\t 12 z (a)\n\nt 7/8 10.75: 2 e:\n\t 12 b (a)\n")
    assert run("render", "perf", "-o", "perf.firefox.json").returncode == 0
    # The times are the ends of the weights, relative to the smallest start of all profiles.
    (tmp_path / "scope.json").write_text(json.dumps({
        "shared": {"frames": [{"name": "z"}, {"name": "b"}]}, "profiles": [
            {"type": "sampled", "name": f"t (7/{tid})", "unit": "milliseconds", "startValue": start,
             "endValue": start + 20, "samples": [[0], [1]], "weights": [5, 15]}
            for tid, start in ((7, 5000), (8, 5100))]}))
    assert run("render", "scope.json", "-o", "scope.firefox.json").returncode == 0
    for name, expected in (("perf", {8: [0, 250]}), ("scope", {7: [5, 20], 8: [105, 120]})):
        profile = Profile(tmp_path / f"{name}.firefox.json")
        assert {thread["tid"]: thread["samples"]["time"] for thread in profile.threads} == expected
        for thread in profile.threads:
            assert [profile.stacks[stack][-1][0] for stack in thread["samples"]["stack"]] == [
                "z", "b"]


def test_lines_are_frames_of_one_function(run, tmp_path):
    (tmp_path / "in.json").write_text(json.dumps({"shared": {"frames": [
        {"name": "f", "file": "a.c", "line": 3}, {"name": "f", "file": "a.c", "line": 4},
        {"name": "f", "file": "b.c", "line": 4}, {"name": "f", "file": "lib.so"}]}, "profiles": [
            {"type": "sampled", "name": "t", "unit": "none", "startValue": 0, "endValue": 10,
             "samples": [[0], [1], [2], [3]], "weights": [1, 2, 3, 4]}]}))
    assert run("render", "in.json", "-o", "out.firefox.json").returncode == 0
    profile = Profile(tmp_path / "out.firefox.json")
    assert sorted(map(repr, profile.functions)) == sorted(map(repr, [
        ("[all]", None, None), ("f", None, "a.c"), ("f", None, "b.c"), ("f", "lib.so", None)]))
    assert sorted(profile.lines, key=repr) == sorted([
        ("[all]", None, None, None), ("f", None, "a.c", 3), ("f", None, "a.c", 4),
        ("f", None, "b.c", 4), ("f", "lib.so", None, None)], key=repr)


def test_what_is_on_no_stack_weighs_as_well(run, tmp_path):
    maker = Maker(("samples", "count"))
    maker.function(1, "main")
    maker.sample([1], 3)
    maker.sample([], 4)
    maker.write(tmp_path / "in.pb")
    assert run("render", "in.pb", "-o", "out.firefox.json").returncode == 0
    assert Profile(tmp_path / "out.firefox.json").folded() == {("main",): 3, ("[all]",): 4}


def test_a_full_disk_is_said(run, tmp_path):
    (tmp_path / "in.folded").write_text("a;b 1\n")
    result = run("render", "in.folded", "-o", "/dev/full", "--format", "firefox.json")
    assert result.returncode == 125
    assert "No space left on device" in result.stderr


# ---- by Mozilla's profiler -------------------------------------------------------------------------

@pytest.fixture
def profiler(tmp_path, short_folder):
    """profiler(*words) -> the output of profiler-cli, decoded if it is JSON."""
    if not CLI.exists():
        pytest.skip("no profiler-cli: npm install --prefix build @firefox-devtools/profiler-cli")
    env = dict(os.environ, PROFILER_CLI_SESSION_DIR=short_folder)

    def call(*words, check=True):
        result = subprocess.run(["node", CLI, *words], cwd=tmp_path, env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
        assert not check or result.returncode == 0, result.stderr
        return result

    yield call
    call("stop", "--all", check=False)


def load(profiler, name):
    """
    Load a file and wait until it is loaded, because profiler-cli itself waits only half a second
    for its server.
    """
    profiler("load", name, check=False)
    deadline = time.monotonic() + PATIENCE_S
    while (result := profiler("profile", "info", check=False)).returncode:
        assert time.monotonic() < deadline, result.stderr
        assert "Tried to access" not in result.stderr, result.stderr
        time.sleep(0.2)
    return result.stdout


def test_the_profiler_says_the_same(run, tmp_path, profiler):
    program = compile_target("threads.c", tmp_path)
    assert run("-r", "997", "--wall", "--no-fold-idle", "-o", "p.firefox.json", "-o", "p.folded",
               "--", program, "300").returncode == 0
    profile = Profile(tmp_path / "p.firefox.json")
    assert "5 threads across 1 processes" in load(profiler, "p.firefox.json")
    for number, thread in enumerate(profile.threads):
        said = json.loads(profiler("thread", "functions", "--json", "--include-idle", "--thread",
                                   f"t-{number}").stdout)
        assert said["friendlyThreadName"] == thread["name"]
        rows = {}
        for row in said["functions"]:
            own, total = rows.get(row["name"], (0, 0))
            rows[row["name"]] = own + row["selfSamples"], total + row["totalSamples"]
        stacks = profile.folded(thread)
        assert set(rows) == {name for stack in stacks for name in stack}
        for name, (own, total) in rows.items():
            assert own == pytest.approx(sum(
                weight for stack, weight in stacks.items() if stack[-1] == name))
            assert total == pytest.approx(sum(
                weight for stack, weight in stacks.items() if name in stack))


@pytest.mark.parametrize("folded", ["", "[all] 3\na;b;a 4\n"])
def test_the_profiler_opens_what_has_no_times(run, tmp_path, profiler, folded):
    (tmp_path / "in.folded").write_text(folded)
    assert run("render", "in.folded", "-o", "p.firefox.json").returncode == 0
    assert "1 threads across 1 processes" in load(profiler, "p.firefox.json")
    said = json.loads(profiler("thread", "functions", "--json", "--include-idle").stdout)
    assert {row["name"]: row["totalSamples"] for row in said["functions"]} == (
        {"[all]": 3, "a": 4, "b": 4} if folded else {})
