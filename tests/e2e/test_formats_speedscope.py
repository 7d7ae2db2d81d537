# SPDX-License-Identifier: MIT
#
# Files for speedscope: threads are in order of time, weights equal the picture's, files of other
# programs are read, and damaged files are refused. tests/browser/test_speedscope.py tests
# speedscope itself.
import json
import re

import pytest

from folded import Folded
from pprof import Maker
from profiled import compile_target

pytestmark = pytest.mark.sanitized

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def stacks_of(path):
    sums = {}
    for stack, weight in Folded(path.read_text(errors="surrogateescape")).stacks:
        sums[stack] = sums.get(stack, 0) + weight
    return sums


def profiles_of(path):
    """{thread: [(stack, weight)] in the file's order}. Also checks that the file is consistent."""
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["$schema"] == SCHEMA
    names = [frame["name"] for frame in data["shared"]["frames"]]
    found = {}
    for one in data["profiles"]:
        assert one["type"] == "sampled"
        assert len(one["samples"]) == len(one["weights"])
        assert one["endValue"] - one["startValue"] == sum(one["weights"])
        assert one["name"] not in found
        found[one["name"]] = [(tuple(names[frame] for frame in stack), weight)
                              for stack, weight in zip(one["samples"], one["weights"])]
    return found


def added_up(profiles):
    sums = {}
    for stack, weight in (pair for one in profiles.values() for pair in one):
        sums[stack] = sums.get(stack, 0) + weight
    return sums


@pytest.mark.parametrize("words", [(), ("--wall", "--no-fold-idle")])
def test_a_run_writes_what_it_draws(run, tmp_path, words):
    program = compile_target("threads.c", tmp_path)
    result = run("-r", "997", *words, "-o", "p.speedscope.json", "-o", "p.folded", "-o", "p.json",
                 "--", program, "300")
    assert result.returncode == 0, result.stderr
    profiles = profiles_of(tmp_path / "p.speedscope.json")
    period = json.loads((tmp_path / "p.json").read_text())["period_ns"]
    drawn = {stack: weight * period for stack, weight in stacks_of(tmp_path / "p.folded").items()}
    assert added_up(profiles) == drawn
    workers = {}
    for name, samples in profiles.items():
        for stack, _ in samples:
            workers.update({frame: name for frame in stack if frame.startswith("worker_")})
    assert len(workers) == len(set(workers.values())) == 4
    assert all(re.fullmatch(r"threads \(\d+/\d+\)", name) for name in profiles)
    assert any("[futex" in frame for stack in drawn for frame in stack) == bool(words)


def test_names_that_would_break_out(run, tmp_path):
    lines = {b'say "hi";back\\slash;\x01\x7f': 3, b"\xff\xfe;</script>": 2, b"{};{\"a\":1}": 1,
             "ünder;\U0001f525;\u202e".encode(): 4, b"[all]": 5}
    (tmp_path / "in.folded").write_bytes(b"".join(
        stack + b" %d\n" % weight for stack, weight in lines.items()))
    assert run("render", "in.folded", "-o", "out.speedscope.json").returncode == 0
    stacks = added_up(profiles_of(tmp_path / "out.speedscope.json"))
    assert stacks[('say "hi"', "back\\slash", "\ufffd\ufffd")] == 3
    assert sum(stacks.values()) == 15
    # The file can be read again. Its format is recognised by its content.
    (tmp_path / "out.speedscope.json").rename(tmp_path / "any.json")
    for name in ("any.json", "any"):
        assert run("render", name, "-o", "again.speedscope.json").returncode == 0
        assert added_up(profiles_of(tmp_path / "again.speedscope.json")) == stacks
        (tmp_path / "any.json").exists() and (tmp_path / "any.json").rename(tmp_path / "any")


def test_nothing_is_a_profile_too(run, tmp_path):
    (tmp_path / "in.folded").write_text("")
    assert run("render", "in.folded", "-o", "out.speedscope.json").returncode == 0
    assert profiles_of(tmp_path / "out.speedscope.json") == {"[no samples]": []}
    assert run("render", "out.speedscope.json", "-o", "out.svg").returncode == 0


def test_what_is_on_no_stack_weighs_as_well(run, tmp_path):
    maker = Maker(("samples", "count"))
    maker.function(1, "main")
    maker.sample([1], 3)
    maker.sample([], 4)
    maker.write(tmp_path / "in.pb")
    assert run("render", "in.pb", "-o", "out.speedscope.json").returncode == 0
    assert added_up(profiles_of(tmp_path / "out.speedscope.json")) == {("main",): 3, ("[all]",): 4}


def test_a_full_disk_is_said(run, tmp_path):
    (tmp_path / "in.folded").write_text("a;b 1\n")
    result = run("render", "in.folded", "-o", "/dev/full", "--format", "speedscope.json")
    assert result.returncode == 125
    assert "No space left on device" in result.stderr


def test_lines_come_through(run, tmp_path):
    frames = [{"name": "main"}, {"name": "work", "file": "src/a.c", "line": 30},
              {"name": "read", "file": "/usr/lib/libc.so.6"}]
    write(tmp_path, sampled([[0, 1], [0, 2]], [7, 8]), frames)
    assert run("render", "in.json", "-o", "out.speedscope.json", "-o", "out.json").returncode == 0
    told = json.loads((tmp_path / "out.json").read_text())
    assert {(row["name"], row["module"]) for row in told["functions"]} == {
        ("main", ""), ("work", ""), ("read", "libc.so.6")}
    frames[2]["file"] = "libc.so.6"
    found = json.loads((tmp_path / "out.speedscope.json").read_text())["shared"]["frames"]
    assert sorted(found[1:], key=lambda frame: frame["name"]) == sorted(
        frames, key=lambda frame: frame["name"])


# ---- files of other programs -----------------------------------------------------------------------

FRAMES = [{"name": "main"}, {"name": "work"}]


def sampled(samples, weights, unit="none", **others):
    return {"type": "sampled", "name": "t", "unit": unit, "startValue": 0,
            "endValue": sum(weights), "samples": samples, "weights": weights, **others}


def evented(*events, unit="none", end=100):
    return {"type": "evented", "name": "t", "unit": unit, "startValue": 0, "endValue": end,
            "events": [dict(zip(("type", "frame", "at"), event)) for event in events]}


def write(tmp_path, *profiles, frames=None, **others):
    if profiles and isinstance(profiles[-1], list):
        *profiles, frames = profiles
    (tmp_path / "in.json").write_text(json.dumps(dict(
        {"$schema": SCHEMA, "shared": {"frames": frames or FRAMES}, "profiles": list(profiles)},
        **others)))


def drawn(run, tmp_path, *words):
    result = run("render", "in.json", *words, "-o", "out.folded")
    assert result.returncode == 0, result.stderr
    return stacks_of(tmp_path / "out.folded"), result.stderr


@pytest.mark.parametrize("unit, factor", [("nanoseconds", 1), ("microseconds", 1e3),
                                          ("milliseconds", 1e6), ("seconds", 1e9)])
def test_time_is_nanoseconds(run, tmp_path, unit, factor):
    write(tmp_path, sampled([[0, 1], [0], []], [2.5, 1.5, 9], unit))
    stacks, _ = drawn(run, tmp_path)
    assert sum(stacks.values()) == 4 * factor
    assert stacks[("main", "work")] == pytest.approx(2.5 * factor, abs=0.5)


def test_decimals_add_up(run, tmp_path):
    write(tmp_path, sampled([[0], [1]] * 500, [0.1] * 1000))
    assert sum(drawn(run, tmp_path)[0].values()) == 100


def test_a_weight_beyond_32_bits(run, tmp_path):
    write(tmp_path, sampled([[0]], [10 ** 13]))
    assert drawn(run, tmp_path)[0] == {("main",): 10 ** 13}


def test_units_are_not_added_up(run, tmp_path):
    write(tmp_path, sampled([[0]], [7], "bytes"), sampled([[1]], [5], "seconds"),
          sampled([[0]], [1], "milliseconds"), activeProfileIndex=2)
    stacks, said = drawn(run, tmp_path)
    assert stacks == {("work",): 5 * 10 ** 9, ("main",): 10 ** 6}
    assert "'in.json': 1 profile is of another unit than time left out" in said
    assert drawn(run, tmp_path, "--sample-type", "bytes")[0] == {("main",): 7}
    result = run("render", "in.json", "--sample-type", "cpu", "-o", "x.folded")
    assert (result.returncode, result.stderr.splitlines()[0]) == (
        125, "flamerun: 'in.json' has no sample type 'cpu'")


def test_surrogates_and_escapes(run, tmp_path):
    (tmp_path / "in.json").write_text(
        '{"profiles":[%s],"shared":{"frames":[{"name":"a\\ud83d\\ude00\\ud800\\u0000\\u00e9"},'
        '{"name":"\\"\\\\\\/\\n"}]}}' % json.dumps(sampled([[0, 1]], [3])))
    assert drawn(run, tmp_path)[0] == {("a\U0001f600\ufffd\ufffdé", '"\\/ '): 3}


@pytest.mark.parametrize("profile, what", [
    (sampled([[2]], [1]), "a frame that is not there"),
    (sampled([[-1]], [1]), "a frame that is not there"),
    (sampled([[0], [1]], [1]), "a sample without a weight"),
    (sampled([[0]], [-1]), "a sample without a weight"),
    (sampled([0], [1]), "a sample that is no list"),
    (sampled([[0]], [1e300]), "a number out of range"),
    (sampled([[0]], [1], "parsecs"), "an unknown unit"),
    ({"type": "guessed", "name": "t", "unit": "none"}, "a profile of an unknown type"),
    ({"type": "sampled", "name": "t", "unit": "none"}, "no lists of samples and weights"),
    (evented(("O", 0, 5), ("C", 1, 7)), "the end of what is not innermost"),
    (evented(("C", 0, 5)), "the end of what is not innermost"),
    (evented(("O", 0, 5), ("O", 1, 4)), "an event before the one before it"),
    (evented(("X", 0, 5)), "the end of what is not innermost"),
    (evented(("O", 0, "5")), "a damaged event"),
    (5, "a profile that is no object"),
])
def test_damage_has_a_place(run, tmp_path, profile, what):
    write(tmp_path, profile)
    result = run("render", "in.json", "-o", "x.svg")
    assert result.returncode == 125
    assert re.fullmatch(rf"flamerun: cannot read 'in.json': {what} at byte \d+\n", result.stderr)
    assert not (tmp_path / "x.svg").exists()


def test_every_cut_is_refused(run, tmp_path):
    write(tmp_path, sampled([[0, 1], [1]], [3, 4], "seconds"))
    whole = (tmp_path / "in.json").read_bytes()
    for size in range(1, len(whole), 7):
        (tmp_path / "in.speedscope.json").write_bytes(whole[:size])
        result = run("render", "in.speedscope.json", "-o", "x.svg")
        assert (result.returncode, len(result.stderr.splitlines())) == (125, 1), size


def test_other_json_is_named(run, tmp_path):
    (tmp_path / "in.json").write_text('{"a": [1, 2]}\n')
    result = run("render", "in.json", "-o", "x.svg")
    assert result.stderr.startswith("flamerun: 'in.json' is JSON of another program")
    (tmp_path / "in.json").rename(tmp_path / "in")
    result = run("render", "in", "-o", "x.svg")
    assert result.stderr.startswith("flamerun: 'in' is JSON of another program")
    (tmp_path / "in").write_text("{lambda};{x 12\n")
    assert run("render", "in", "-o", "x.folded").returncode == 0
    assert stacks_of(tmp_path / "x.folded") == {("{lambda}", "{x"): 12}
