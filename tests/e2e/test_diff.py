# SPDX-License-Identifier: MIT
#
# flamerun diff: equal versions cause no alarm, a change is found in the right function, and text,
# picture and status agree. tests/unit/test-shifts.c compares the statistics with R.
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import shutil
import subprocess

import pytest

import diffs
import picture
import pixels
import pprof

FRAME_TEXTS, LEGEND = 51, 38


def compare(run, *words):
    result = run("-q", "diff", "--json", *words)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return json.loads(result.stdout)


def named(found):
    return {(one["name"], one["of"]): one for one in found["changes"] if one["named"]}


def is_alarm(found):
    return found["program"]["significant"] or any(one["significant"] for one in found["changes"])


@pytest.mark.parametrize("name, runs", [("versions", 60), ("cc1plus", 20)])
def test_equal_runs_raise_no_alarm(run, tmp_path, name, runs):
    """
    Compare five runs with five runs of the same version, 120 times. By chance 5 % of the
    comparisons cause an alarm; 7.5 % are allowed.
    """
    equal = diffs.recorded(name, tmp_path)[:runs]
    draw = random.Random(4)
    splits = [draw.sample(equal, 10) for _ in range(120)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        alarms = sum(pool.map(
            lambda split: is_alarm(compare(run, *split[:5], "--", *split[5:])), splits))
    assert alarms <= 0.075 * len(splits)


def heap(path, **functions):
    """Write a heap profile: bytes that each function holds below main()."""
    maker = pprof.Maker(("inuse_objects", "count"), ("inuse_space", "bytes"))
    for number, name in enumerate(["main", *functions], 1):
        maker.function(number, name)
    for number, name in enumerate(functions, 2):
        maker.sample([number, 1], functions[name] // 100, functions[name])
    maker.write(path)
    return path


def test_bytes_are_judged_by_a_threshold(run, tmp_path):
    """
    By the statistics of samples, a change by 1 of a million bytes would be significant, and a
    function that holds twice as much would be taken for a slower machine.
    """
    old = heap(tmp_path / "old.pb", cache=6_000_000, parse=3_000_000, log=1_000_000)
    new = heap(tmp_path / "new.pb", cache=12_000_000, parse=3_050_000, log=1_000_001)
    found = compare(run, old, new)
    assert found["counted"] == "bytes" and found["common"] is None
    assert list(named(found)) == [("cache", "self")]
    cache = named(found)["cache", "self"]
    assert (round(cache["points"], 3), round(cache["change"], 3)) == (60, 1)
    assert cache["low"] is cache["high"] is cache["p"] is None
    assert {one["name"]: one["significant"] for one in found["changes"] if one["of"] == "self"} == {
        "cache": True, "parse": False, "log": False}
    text = run("-q", "diff", old, new).stdout
    assert "1 old run and 1 new, 26,050,001 bytes\na run: 10.0 MB -> 16.1 MB, +60.5 %\n" in text
    assert re.search(r"\+60\.0 +6\.0 MB +12\.0 MB +\+100 % +cache\n", text)
    assert text.endswith("Nothing else moved by 1 point or more. How much bytes differ by chance is not known.\n")
    assert not is_alarm(compare(run, old, old))


def test_a_change_is_found_among_recorded_runs(run, tmp_path):
    runs = diffs.recorded("versions", tmp_path)
    found = compare(run, *runs[:60], "--", *runs[60:])
    assert list(named(found)) == [("tenth", "total")]
    change = named(found)["tenth", "total"]
    assert 0 < change["low"] < 0.15 < change["high"]
    # If the versions are swapped, the change must be the inverse.
    back = named(compare(run, *runs[60:], "--", *runs[:60]))["tenth", "total"]
    assert math.isclose(math.log1p(back["change"]), -math.log1p(change["change"]), rel_tol=1e-4)


@pytest.mark.sanitized
def test_a_change_is_named_where_it_is(run, tmp_path):
    """
    A change is reported at the function that became slower, not at its callers, nor at callees that
    it shares with other functions.
    """
    found = compare(run, *diffs.two_sides(tmp_path, 1, 10, 4000, {"order": 1.4}))
    assert set(named(found)) == {("order", "total")}
    significant = {one["name"] for one in found["changes"] if one["significant"]}
    assert significant >= {"order", "plan"}
    change = named(found)["order", "total"]
    assert change["low"] < 0.4 < change["high"] and change["high"] - change["low"] < 0.25
    assert 4 < change["points"] < 8  # 15 % of the program became 40 % slower
    found = compare(run, *diffs.two_sides(tmp_path, 2, 10, 4000, {"tenth": 1.5}))
    assert set(named(found)) == {("tenth", "total")}


def test_functions_come_and_go(run, tmp_path):
    words = diffs.two_sides(tmp_path, 3, 6, 4000, {})
    for path in words[:6]:
        path.write_text(path.read_text() + "_start;main;removed 300\n")
    for path in words[7:]:
        path.write_text(path.read_text() + "_start;main;added 300\n")
    found = compare(run, *words)
    assert {name: one["change"] for (name, _), one in named(found).items()} == {
        "added": None, "removed": None}
    text = run("-q", "diff", *words).stdout
    assert re.search(r"\+[67]\.\d +0\.0 +\d+ +new +added$", text, re.M)
    assert re.search(r"-[67]\.\d +\d+ +0\.0 +gone +removed$", text, re.M)


def test_a_caller_that_was_inlined_cost_nothing(run, tmp_path):
    """
    A function that is now inlined only disappears from the stacks of its callees, so it is not
    reported.
    """
    words = diffs.two_sides(tmp_path, 16, 6, 4000, {"tenth": 1.5})
    for path in words[7:]:
        path.write_text(path.read_text().replace("plan;", ""))
    found = compare(run, *words)
    assert set(named(found)) == {("tenth", "total")}
    assert [one["new"] for one in found["changes"]
            if one["name"] == "plan" and one["significant"]] == [0]


def test_a_callee_that_is_jumped_to_cost_nothing(run, tmp_path):
    """A tail call removes `block` from the stacks of some callees, so `block` is not reported."""
    words = diffs.two_sides(tmp_path, 20, 6, 4000, {"tenth": 1.5})
    for i, path in enumerate(words):
        if path != "--":
            path.write_text(path.read_text() + "main;frame;block;literals 300\n" + (
                "main;frame;block;dispatch;sequences 600\n" if i < 6 else "main;frame;sequences 600\n"))
    found = compare(run, *words)
    assert set(named(found)) == {("tenth", "total")}
    assert [round(one["change"], 1) for one in found["changes"]
            if one["name"] == "block" and one["significant"]] == [-0.7]


@pytest.mark.parametrize("old, new", [
    ("f.constprop.0", "f.isra.0.cold"),
    ("f [clone .part.0]", "f"),
    ("core::run::h0123456789abcdef", "core::run::hfedcba9876543210"),
    ("core::run::h0123456789abcdef", "core::run"),
    ("App$$Lambda$4.run", "App$$Lambda$7.run"),
    ("com.sun.proxy.$Proxy12.get", "com.sun.proxy.$Proxy13.get"),
])
def test_copies_of_a_function_are_one(run, tmp_path, old, new):
    words = diffs.two_sides(tmp_path, 4, 4, 2000, {})
    for i, path in enumerate(words):
        if path != "--":
            path.write_text(f"{path.read_text()}_start;{old if i < 4 else new} 500\n")
    found = compare(run, *words)
    assert not named(found)
    names = (old, new, "f", "core::run", "App$$Lambda.run", "com.sun.proxy.$Proxy.get")
    assert sum(one["name"] in names for one in found["changes"]) == 1


def test_names_stay_themselves_in_a_picture(run, tmp_path):
    (tmp_path / "in").write_text("main;App$$Lambda$4.run 3\nmain;App$$Lambda$7.run 5\n")
    run("-q", "render", "in", "-o", "o.folded", check=True)
    assert (tmp_path / "o.folded").read_text() == (tmp_path / "in").read_text()


@pytest.mark.parametrize("new, names", [
    (("0x10", "0x20"), {"[lib.so+0x10]", "[lib.so+0x20]"}), (("0x30", "0x44"), {"[lib.so]"})])
def test_code_without_names(run, tmp_path, new, names):
    """
    Addresses are compared only if both versions have the same ones. Otherwise their modules are
    compared.
    """
    words = diffs.two_sides(tmp_path, 15, 4, 2000, {})
    for i, path in enumerate(words):
        if path != "--":
            one, other = ("0x10", "0x20") if i < 4 else new
            path.write_text(f"{path.read_text()}main;[lib.so+{one}] 300\nmain;[lib.so+{other}] 500\n")
    found = compare(run, *words)
    assert not named(found)
    assert {one["name"] for one in found["changes"] if "lib.so" in one["name"]} == names


def test_an_edit_moves_lines_only(run, tmp_path):
    """A name has the line where the function begins. In unchanged files it tells functions apart."""
    words = diffs.two_sides(tmp_path, 4, 4, 2000, {})
    for i, path in enumerate(words):
        if path != "--":
            lines = (("f", 10), ("<lambda>", 3), ("<lambda>", 4)) if i < 4 else (
                ("f", 12), ("<lambda>", 3), ("<lambda>", 4))
            path.write_text(path.read_text() + "".join(f"_start;{name} (a.py:{line}) 500\n" for name, line in lines))
    found = compare(run, *words)
    assert not named(found)
    assert {one["name"] for one in found["changes"] if "a.py" in one["name"]} == {
        "f (a.py)", "<lambda> (a.py:3)", "<lambda> (a.py:4)"}


RENAMED = [f"main;{{}}_{number};burn {weight}\n"
           for number, weight in enumerate((40000, 30000, 20000))] + [f"main;{name} 10000\n" for name in "abcd"]


def test_renamed_functions_are_listed(run, tmp_path):
    """No change of weight is named here, so the table lists the functions that are new and gone."""
    for side in ("old", "new"):
        (tmp_path / side).write_text("".join(RENAMED).format(*[side] * 3))
    result = run("diff", "old", "new", "-o", "diff.svg", check=True)
    assert "\nThese functions were renamed or inlined, or others call them:" in result.stdout
    rows = re.findall(r" (gone|new) +(\w+), with what it calls$", result.stdout, re.M)
    assert sorted(rows) == sorted((how, f"{side}_{number}") for how, side in (("gone", "old"), ("new", "new"))
                                  for number in range(3))
    assert "\nNothing else moved by more than " in result.stdout
    assert "1 old run and 1 new, 0 changes, 6 by renaming or inlining" in (tmp_path / "diff.svg").read_text()
    result = run("-q", "diff", "old", "new", "--limit", "2", check=True)
    assert result.stdout.count(", with what it calls\n") == 2 and "\nand 4 more: --limit\n" in result.stdout


def test_what_doubles_moves_nothing_else(run, tmp_path):
    """If `parse` doubles, the shares of all other functions fall, but none of them is reported."""
    found = compare(run, *diffs.two_sides(tmp_path, 5, 10, 8000, {"parse": 2}))
    assert set(named(found)) == {("parse", "total")}
    assert abs(named(found)["parse", "total"]["change"] - 1) < 0.15
    assert abs(found["common"]) < 0.03
    assert found["program"]["significant"] and 0.15 < found["program"]["change"] < 0.25


def test_all_alike_is_the_program(run, tmp_path):
    found = compare(run, *diffs.two_sides(tmp_path, 6, 8, 4000, {"spin_[i]": 1.5}))
    assert not named(found)
    assert found["program"]["significant"] and abs(found["program"]["change"] - 0.5) < 0.05
    assert abs(found["common"] - 0.5) < 0.05


def test_one_run_each_tells_large_changes_only(run, tmp_path):
    words = diffs.two_sides(tmp_path, 7, 1, 8000, {"tenth": 1.3})
    result = run("-q", "diff", words[0], words[2])
    assert "one run each: only large changes can be seen\n" in result.stdout
    assert "Nothing moved by more" in result.stdout
    words = diffs.two_sides(tmp_path, 7, 1, 8000, {"tenth": 3})
    assert set(named(compare(run, *words))) == {("tenth", "total")}


def test_few_runs_of_many(run, tmp_path):
    """The picture shows weights per run. `tenth` makes the new version 10 % heavier."""
    words = diffs.two_sides(tmp_path, 8, 6, 4000, {"tenth": 2})
    found = compare(run, *words[:3], "--", *words[7:])
    assert (found["old_runs"], found["new_runs"]) == (3, 6)
    assert set(named(found)) == {("tenth", "total")}
    assert run("-q", "diff", *words[:3], "--", *words[7:], "-o", "d.svg", "--by", "process"
               ).returncode == 0
    drawn = picture.Picture(tmp_path / "d.svg")
    weights = collections.Counter()
    for path, weight in zip(drawn.paths, picture.numbers(drawn.columns[picture.WEIGHTS])):
        weights[path[:1]] += weight
    assert abs(weights["new",] / weights["old",] - 1.1) < 0.05


def test_runs_of_different_length_raise_no_alarm(run, tmp_path):
    """By chance 5 % of 60 comparisons cause an alarm; 12 alarms are 5 sigma above that."""
    def is_alarm_of(seed):
        draw, folder = random.Random(seed), tmp_path / str(seed)
        folder.mkdir()
        sides = [[diffs.made(folder / f"{runs}-{samples}-{i}", draw, samples) for i in range(runs)]
                 for runs, samples in ((1, 500), (1, 20000))]
        found = compare(run, *sides[0], "--", *sides[1])
        # Ignore found["program"], because the program as a whole did change.
        return any(one["significant"] for one in found["changes"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        assert sum(pool.map(is_alarm_of, range(60))) <= 12


def test_of_two_functions_time_tells_which_moved(run, tmp_path):
    """With two functions there is no majority that would show how much slower the machine was."""
    for side, counts in (("old", (6000, 4000)), ("new", (9000, 4000))):
        (tmp_path / side).write_text("main;slow {}\nmain;same {}\n".format(*counts))
    found = compare(run, "old", "new")
    assert found["common"] is None and found["common_low"] is None
    assert {name: round(one["change"], 2) for (name, _), one in named(found).items()} == {"slow": 0.5}
    text = run("-q", "diff", "old", "new").stdout
    assert "\nit is not known whether all became slower: too few functions changed alike\n" in text


def test_two_releases_that_share_little_are_compared_as_they_are(run, tmp_path):
    """
    Most functions are new or gone. The few others cannot show how much slower the machine was.
    """
    draw = random.Random(12)
    def write(side, shares):
        paths = []
        for i in range(8):
            paths.append(tmp_path / f"{side}-{i}.folded")
            paths[-1].write_text("".join(
                f"main;{name} {diffs.toss(draw, 4000 * share * math.exp(draw.gauss(0, 0.01)))}\n"
                for name, share in shares.items()))
        return paths
    stayed = {"count": 0.1, "hash": 0.05, "encode": 0.06}
    old = write("old", {"find_chain": 0.5, "insert_chain": 0.2, **stayed})
    new = write("new", {"find_row": 0.4, "insert_row": 0.15,
                        **{name: 0.6 * share for name, share in stayed.items()}})
    found = compare(run, *old, "--", *new)
    assert found["common"] is None
    assert {name for name, _ in named(found)} == {
        "find_chain", "insert_chain", "find_row", "insert_row", *stayed}
    for name in stayed:
        one = named(found)[name, "self"]
        assert one["low"] < -0.4 < one["high"] and one["high"] - one["low"] < 0.25
    assert found["most_points"] < 5


# ---- text output --------------------------------------------------------------------------------

def test_the_text_says_what_json_does(run, tmp_path):
    words = diffs.two_sides(tmp_path, 9, 10, 4000, {"tenth": 1.4, "scan": 0.7})
    found, text = compare(run, *words), run("-q", "diff", *words).stdout
    assert text.startswith("10 old runs and 10 new, ")
    rows = re.findall(r"^ +([+-][\d.]+) +(\d+) +(\d+) +([+-][\d.]+) % \(([+-][\d.]+) % to "
                      r"([+-][\d.]+) %\) +(\w+), with what it calls$", text, re.M)
    assert len(rows) == len(named(found)) == 2
    for points, old, new, change, low, high, name in rows:
        one = named(found)[name, "total"]
        assert float(points) == pytest.approx(one["points"], abs=0.051)
        assert [int(old), int(new)] == pytest.approx([one["old"], one["new"]], abs=0.51)
        assert [float(change), float(low), float(high)] == pytest.approx(
            [100 * one[key] for key in ("change", "low", "high")], abs=0.051)
    low, high, chance = re.search(r"^a run: .* \(([+-][\d.]+) % to ([+-][\d.]+) %\)(, may be chance)?$",
                                  text, re.M).groups()
    program = found["program"]
    assert [float(low), float(high)] == pytest.approx(
        [100 * program["low"], 100 * program["high"]], abs=0.051)
    # A change "may be chance" if and only if its interval contains 0.
    assert bool(chance) == (not program["significant"]) == (float(low) <= 0 <= float(high))
    assert f"moved by more than {found['most_points']:.1f} points" in text
    assert f"to change by {100 * found['detectable']:.1f} % to be seen" in text


def test_times_are_times(run, tmp_path):
    words = diffs.two_sides(tmp_path, 10, 3, 4000, {})
    for i, path in enumerate(words):
        if path != "--":
            run("-q", "merge", path, "-o", f"{i}.pb.gz")
    profiles = sorted(tmp_path.glob("*.pb.gz"))
    assert run("-q", "diff", *profiles[:3], "--", *profiles[3:]).stdout == run(
        "-q", "diff", *words).stdout


@pytest.mark.parametrize("limit, status", [
    ("30", 1), ("50", 0), ("tenth=30", 1), ("^tenth$=50", 0), ("scan=1", 0), ("x=y=1", 0)])
def test_fail_over(run, tmp_path, limit, status):
    words = diffs.two_sides(tmp_path, 11, 10, 4000, {"tenth": 1.4, "scan": 0.6})
    result = run("diff", *words, "--fail-over", limit)
    assert result.returncode == status
    assert bool(re.search(r"^flamerun: tenth is slower: \+\d+\.\d % .*--fail-over", result.stderr,
                          re.M)) == bool(status)
    assert "tenth" in result.stdout


def test_the_program_can_fail_too(run, tmp_path):
    words = diffs.two_sides(tmp_path, 12, 8, 4000, {"spin_[i]": 1.5})
    result = run("diff", *words, "--fail-over", "20")
    assert result.returncode == 1
    assert "flamerun: the program is slower: +" in result.stderr


# ---- the picture --------------------------------------------------------------------------------

def test_the_picture_has_the_verdicts(run, tmp_path):
    words = diffs.two_sides(tmp_path, 13, 10, 4000, {"order": 1.6, "tenth": 0.5})
    assert run("-q", "diff", *words, "-o", "d.svg", "-o", "d.png", "-o", "d.pdf").returncode == 0
    drawn = picture.Picture(tmp_path / "d.svg")
    lengths = list(picture.numbers(drawn.columns[picture.LENGTHS]))
    names, at = [], 0
    for length in lengths:
        names.append(drawn.columns[picture.NAMES][at:at + length].decode())
        at += length
    colors = dict(zip(names, picture.numbers(drawn.columns[11])))
    shades = [tuple(drawn.columns[4][3 * i:3 * i + 3]) for i in range(len(drawn.columns[4]) // 3)]
    shade = {name: shades[color] for name, color in colors.items()}
    assert shade["order"][0] > shade["order"][2] + 60  # red
    assert shade["tenth"][2] > shade["tenth"][0] + 60  # blue
    assert 0 < shade["plan"][0] - shade["plan"][2] < shade["order"][0] - shade["order"][2]  # paler
    assert max(shade["scan"]) - min(shade["scan"]) < 8  # grey
    texts = dict(zip(names, picture.texts(drawn.columns[FRAME_TEXTS])))
    found = named(compare(run, *words))["order", "total"]
    assert texts["order"] == (
        f"{found['old']:.0f} to {found['new']:.0f} a run, {100 * found['change']:+.1f} % "
        f"({100 * found['low']:+.1f} % to {100 * found['high']:+.1f} %)")
    assert texts["plan"].endswith("; by others") and texts["scan"].endswith("; may be chance")
    assert list(picture.texts(drawn.columns[LEGEND])) == [
        "slower", "slower by others", "faster", "no change that is more than chance"]
    # The SVG must have the same colours as the PNG.
    text = (tmp_path / "d.svg").read_text()
    for name in ("order", "tenth", "plan"):
        assert re.search(r"rgb\(" + r", ?".join(f"{value / 255 * 100:.2f}"[:4] + r"[\d.]*%"
                         for value in shade[name]), text), name
    png = pixels.read(tmp_path / "d.png")
    seen = {png.at(x, y) for y in range(0, png.height, 3) for x in range(0, png.width, 3)}
    assert {shade["order"], shade["tenth"], shade["plan"]} <= seen


def test_a_palette_for_other_eyes(run, tmp_path):
    words = diffs.two_sides(tmp_path, 14, 8, 4000, {"order": 2, "tenth": 0.5})
    for palette in ("hot", "okabe-ito", "cividis"):
        run("-q", "diff", *words, "-o", f"{palette}.svg", "--palette", palette)
    light = {name: picture.columns(tmp_path / f"{name}.svg")[4]
             for name in ("hot", "okabe-ito", "cividis")}
    assert light["hot"] != light["okabe-ito"] == light["cividis"]


# ---- two counts in a line -----------------------------------------------------------------------

def two_counts(*sides):
    """The sorted lines that difffolded.pl writes for two files of folded stacks."""
    counts = collections.defaultdict(lambda: [0, 0])
    for side, paths in enumerate(sides):
        for path in paths:
            for line in path.read_text().splitlines():
                stack, _, count = line.rpartition(" ")
                counts[stack][side] += int(count)
    return sorted(f"{stack} {old} {new}" for stack, (old, new) in counts.items())


@pytest.mark.sanitized
def test_two_counts_in_a_line_are_written(run, tmp_path):
    """
    The two counts of a stack are sums over all runs of a version, however many runs the other
    version has.
    """
    words = diffs.two_sides(tmp_path, 17, 6, 4000, {"tenth": 2})
    for path in words[:3]:
        path.write_text(path.read_text() + "_start;main;removed 30\n")
    for path in words[7:]:
        path.write_text(path.read_text() + "_start;main;added 30\n")
    for old, new in ((words[:1], words[7:8]), (words[:2], words[7:]), (words[:6], words[7:11])):
        assert run("-q", "diff", *old, "--", *new, "-o", "d.folded").returncode == 0
        lines = (tmp_path / "d.folded").read_text().splitlines()
        assert sorted(lines) == two_counts(old, new)
        assert [line for line in lines if " 0 " in line and "added" not in line] == []
    result = run("-q", "diff", words[0], words[7], "-o", "-", "--format", "folded")
    assert sorted(result.stdout.splitlines()) == two_counts(words[:1], words[7:8])
    # Functions that are hidden from the comparison must also be hidden in the stacks.
    result = run("-q", "diff", words[0], words[7], "-o", "-", "--format", "folded", "--hide", "^work")
    assert "tenth" in result.stdout and "work" not in result.stdout


@pytest.mark.sanitized
@pytest.mark.parametrize("is_piped", [False, True])
def test_two_counts_in_a_line_are_read(run, tmp_path, is_piped):
    words = diffs.two_sides(tmp_path, 18, 1, 8000, {"tenth": 3})
    text = "\n".join(two_counts(words[:1], words[2:])) + "\n"
    (tmp_path / "both.folded").write_text(text)
    for options in ((), ("--json",), ("--focus", "plan")):
        result = run("-q", "diff", "-" if is_piped else "both.folded", *options, "-o", "both.svg",
                     stdin=(tmp_path / "both.folded").open(encoding="ascii"))
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout == run("-q", "diff", words[0], words[2], *options).stdout
    assert b"plan" in picture.columns(tmp_path / "both.svg")[picture.NAMES]
    # Writing the two counts a second time must give the same file.
    assert run("-q", "diff", "both.folded", "-o", "again.folded").returncode == 0
    assert sorted((tmp_path / "again.folded").read_text().splitlines()) == text.splitlines()
    for command in ("render", "top", "merge"):
        result = run(command, "both.folded", *(("-o", "x.svg") if command != "top" else ()))
        assert (result.returncode, result.stdout) == (125, "")
        assert "flamerun: hint: flamerun diff FILE compares them\n" in result.stderr


@pytest.mark.skipif(not shutil.which("flamegraph.pl"), reason="flamegraph.pl is not here")
def test_flamegraph_reads_two_counts_in_a_line(run, tmp_path):
    words = diffs.two_sides(tmp_path, 19, 1, 8000, {"tenth": 3})
    run("-q", "diff", words[0], words[2], "-o", "d.folded")
    drawn = subprocess.run(["flamegraph.pl", "d.folded"], cwd=tmp_path, text=True, check=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert drawn.stderr == ""
    rows = [line.rsplit(" ", 2) for line in two_counts(words[:1], words[2:])]
    total = sum(int(new) for _, _, new in rows)
    assert f"<title>all ({total:,} samples, 100%)" in drawn.stdout
    # flamegraph.pl draws widths by the new counts. The change in the title is the change of the
    # leaf.
    (old, new), = [row[1:] for row in rows if "tenth;" in row[0]]
    assert (f"({int(new):,} samples, {100 * int(new) / total:.2f}%; "
            f"{100 * (int(new) - int(old)) / total:+.2f}%)</title>") in drawn.stdout


# ---- refusals -----------------------------------------------------------------------------------

@pytest.fixture
def two(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("main;f 100\nmain;g 100\n")


@pytest.mark.parametrize("words, message", [
    (["a"], "diff wants files of two versions, -- between"),
    ([], "diff wants files of two versions, -- between"),
    (["a", "b", "a"], "diff wants files of two versions, -- between"),
    (["a", "--"], "diff wants files of two versions, -- between"),
    (["--", "a", "b"], "diff wants files of two versions, -- between"),
    (["a", "--", "b", "--", "a"], "diff compares two versions, not three"),
    (["a", "c"], "cannot open 'c': No such file or directory"),
    (["-q", "a", "b", "--focus", "x"], "nothing is left to compare of the old version"),
    (["a", "empty"], "'empty' has no stacks to compare"),
    (["a", "b", "-o", "d.pb"], "diff writes pictures and folded stacks, not 'd.pb'"),
    (["both", "-o", "d.json"], "diff writes pictures and folded stacks, not 'd.json'"),
    (["both", "a"], "both: two counts in every line, as difffolded.pl writes to compare two runs"),
    (["both", "--"], "diff wants files of two versions, -- between"),
    (["half"], "diff wants files of two versions, -- between"),
    (["empty"], "'empty' has no stacks to compare"),
    (["gone"], "'gone' has no stacks to compare"),
    (["none"], "cannot open 'none': No such file or directory"),
    (["a", "b", "-o", "no/d.svg"], "cannot write 'no/d.svg': No such file or directory"),
    (["a", "b", "--by", "module"], "diff compares functions, with --by process a root for each version"),
    (["a", "b", "--csv"], "--csv is for flamerun top"),
    (["a", "b", "-r", "99"], "--rate means nothing to diff: it runs no program"),
    (["a", "b", "-n", "2"], "diff -n wants two programs behind --"),
    (["a", "---", "b"], "--- stands between two programs, which follow -n N --"),
    (["-n", "2", "true", "---", "true"], "--- stands between two programs, which follow -n N --"),
    (["a", "b", "--open"], "nothing to open: diff draws with -o FILE.svg"),
    (["-n", "2", "--", "true"], "diff -n wants two programs, --- between"),
    (["-n", "2", "--", "true", "---"], "diff -n wants two programs, --- between"),
    (["-n", "0", "--", "true", "---", "true"], "--repeat wants a whole number from 1 to 1000, not '0'"),
    (["a", "b", "--fail-over", ""], "--fail-over wants PERCENT or REGEX=PERCENT"),
    (["a", "b", "--fail-over", "f=x"], "--fail-over wants PERCENT or REGEX=PERCENT, not 'f=x'"),
    (["a", "b", "--fail-over", "=5"], "--fail-over wants PERCENT or REGEX=PERCENT, not '=5'"),
    (["a", "b", "--fail-over", "("], "--fail-over: missing closing parenthesis in '('"),
])
def test_refusals(run, two, tmp_path, words, message):
    (tmp_path / "empty").write_text("")
    (tmp_path / "both").write_text("main;f 100 90\n")
    (tmp_path / "half").write_text("main;f 100\nmain;thread 7 100\nmain;g 100\n")
    (tmp_path / "gone").write_text("main;f 100 0\n")
    result = run("diff", *words)
    assert (result.returncode, result.stdout) == (125, "")
    first, *hints = result.stderr.splitlines()
    assert first == f"flamerun: {message}"
    assert all(hint.startswith("flamerun: hint: ") for hint in hints)


def test_what_other_commands_do_not_take(run, two):
    for words in (["top", "a"], ["render", "a", "-o", "x.svg"], ["true"]):
        result = run("-q", "--fail-over", "5", *words)
        assert (result.returncode, result.stderr) == (
            125, "flamerun: --fail-over is for flamerun diff\n")


@pytest.mark.sanitized
def test_odd_profiles(run, tmp_path):
    """
    Compare profiles with one sample, equal profiles, and profiles with invalid names. No control
    byte may reach a terminal.
    """
    (tmp_path / "one").write_text("f 1\n")
    (tmp_path / "huge").write_text("f 9007199254740000\n")
    (tmp_path / "odd").write_bytes(b"\033[31m\xff;\"\\ 900\nmain;\xc2\x9bx 1000\n")
    (tmp_path / "even").write_bytes(b"\033[31m\xff;\"\\ 90\nmain;\xc2\x9bx 1000\n")
    assert "These runs are too few to say anything.\n" in run("-q", "diff", "one", "one").stdout
    for words in (["one", "one"], ["one", "one", "--", "one", "one", "one"], ["odd", "one"]):
        found = compare(run, *words)
        assert not named(found)
    assert run("-q", "diff", "huge", "--", "huge", "huge").returncode == 125
    for words in (["odd", "even"], ["odd", "odd", "--", "even", "even"]):
        result = run("-q", "diff", *words, "-o", "d.svg")
        assert result.returncode == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stdout)
        json.loads(run("-q", "diff", "--json", *words).stdout)


def test_where_nobody_reads(run, flamerun, two, tmp_path):
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = subprocess.run([flamerun, "-q", "diff", "a", "b"], cwd=tmp_path, stdout=full,
                                stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (
        125, "flamerun: cannot write to standard output: No space left on device\n")
    assert run("-q", "diff", "a", "b", "-o", "/dev/full", "--format", "svg").returncode == 125
    result = run("-q", "diff", "a", "b", "-o", "-", "--format", "svg")
    assert result.returncode == 0 and result.stdout.startswith("<?xml")
