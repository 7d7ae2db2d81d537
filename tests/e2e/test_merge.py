# SPDX-License-Identifier: MIT
#
# flamerun merge: the weights of equal stacks add up, whatever the formats; files that cannot be
# added are refused, and losses are reported.
import collections
import json
import os
import random
import re
import subprocess

import pytest

import folded
import picture
import pprof
import profiled

LINES = (32, 33, 34, 35)  # tags of columns: files, numbers, self and total weights
CLOCKS = "flamerun: when samples were taken is left out: each run has a clock of its own\n"


def weights_of(path):
    found = collections.Counter()
    for stack, weight in folded.Folded(path.read_text(errors="surrogateescape")).stacks:
        found[stack] += weight
    return found


def random_folded(path, seed):
    draw = random.Random(seed)
    lines = [";".join(f"f{draw.randint(0, 6)}" for _ in range(draw.randint(1, 7)))
             for _ in range(draw.randint(1, 50))]
    path.write_text("".join(f"{line} {draw.randint(1, 10**6)}\n" for line in lines))
    return path


@pytest.mark.sanitized
def test_weights_add_up(run, tmp_path):
    files = [random_folded(tmp_path / f"{seed}.folded", seed) for seed in range(9)]
    result = run("merge", *files, "-o", "all.folded", "-o", "all.svg", "-o", "all.pb.gz")
    assert result.returncode == 0
    assert result.stderr == "".join(
        f"flamerun: wrote 'all.{suffix}'\n" for suffix in ("folded", "svg", "pb.gz"))
    expected = sum(map(weights_of, files), collections.Counter())
    assert weights_of(tmp_path / "all.folded") == expected
    for name in ("all.svg", "all.pb.gz"):
        run("-q", "render", name, "-o", "back.folded", "--by", "function")
        assert weights_of(tmp_path / "back.folded") == expected
    # Merging a merged part of the files with the others equals merging all.
    run("-q", "merge", *files[:4], "-o", "some.folded")
    run("-q", "merge", "some.folded", *files[4:], "-o", "again.folded")
    assert weights_of(tmp_path / "again.folded") == expected
    run("-q", "merge", *files, "-o", "few.folded", "--focus", "^f1$")
    assert weights_of(tmp_path / "few.folded") == {
        stack: weight for stack, weight in expected.items() if "f1" in stack}


@pytest.mark.sanitized
def test_a_root_for_each_file(run, tmp_path):
    (tmp_path / "folder").mkdir()
    files = [random_folded(tmp_path / name, seed)
             for seed, name in enumerate(("a.folded", "folder/a.folded", "b c.folded"))]
    names = [str(path.relative_to(tmp_path)) for path in files]
    assert run("-q", "merge", *names, "--by", "file", "-o", "all.folded").returncode == 0
    assert weights_of(tmp_path / "all.folded") == {
        (name, *stack): weight for name, path in zip(names, files)
        for stack, weight in weights_of(path).items()}
    # Files stay at the root when stacks are reversed, also when the picture is drawn again.
    run("-q", "merge", *names, "--by", "file", "--reverse", "-o", "turned.svg", "-o", "turned.folded")
    for again in ((), ("render", "turned.svg", "-o", "turned.folded")):
        assert not again or run("-q", *again).returncode == 0
        assert weights_of(tmp_path / "turned.folded") == {
            (name, *stack[::-1]): weight for name, path in zip(names, files)
            for stack, weight in weights_of(path).items()}
    assert run("merge", *names, "--by", "file,thread").stderr == (
        "flamerun: --by file leaves no root to process or thread\n")
    # Tables list functions, however the stacks are grouped.
    told = {}
    for words in ((), ("--by", "file")):
        run("-q", "merge", *names, *words, "-o", "all.json")
        told[words] = json.loads((tmp_path / "all.json").read_text())["functions"]
    assert told[()] == told["--by", "file"]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """
    One program, recorded at two rates: a picture and a profile of each, with threads, marks and
    lines.
    """
    folder = tmp_path_factory.mktemp("runs")
    program = profiled.compile_target("recursion.c", folder, flags=("-O1", "-g"))
    for name, rate in (("slow", 199), ("fast", 997), ("again", 997)):
        run = profiled.profile(folder, program, "100", rate_hz=rate, options=[
            "-q", "-o", folder / f"{name}.svg", "-o", folder / f"{name}.pb.gz", "-o",
            folder / f"{name}.folded"])
        assert run.status == 0
    return folder


def told_of(run, path):
    return json.loads(run("-q", "top", path, "--json").stdout)


def test_runs_of_one_rate_are_samples(run, two_runs, tmp_path):
    result = run("merge", two_runs / "fast.svg", two_runs / "again.pb.gz", "-o", "both.svg", "-o",
                 "both.pb.gz")
    assert (result.returncode, result.stderr) == (
        0, CLOCKS + "flamerun: wrote 'both.svg'\nflamerun: wrote 'both.pb.gz'\n")
    parts = [told_of(run, two_runs / name) for name in ("fast.svg", "again.pb.gz")]
    both = told_of(run, tmp_path / "both.pb.gz")
    assert both["period_ns"] == parts[0]["period_ns"] and both["counted"] == "samples"
    assert both["duration_ns"] == sum(part["duration_ns"] for part in parts)
    assert both["weight"] == sum(part["weight"] for part in parts)
    sums = collections.Counter()
    for part in parts:
        for function in part["functions"]:
            sums[function["name"], function["module"]] += function["total"]
    assert {(f["name"], f["module"]): f["total"] for f in both["functions"]} == sums
    threads = collections.Counter()
    for part in parts:
        for thread in part["threads"]:
            threads[thread["name"]] += thread["weight"]
    assert {thread["name"]: thread["weight"] for thread in both["threads"]} == threads
    assert len(threads) == 2
    assert re.fullmatch(r"2 files: \d+ samples, \d+\.\d\d s of cpu(, and .* of waiting)? in \S+ s",
                        told_of(run, tmp_path / "both.svg")["subtitle"])


@pytest.mark.sanitized
def test_runs_of_two_rates_are_nanoseconds(run, two_runs, tmp_path):
    names = ("slow.svg", "fast.svg", "again.svg")
    result = run("merge", *(two_runs / name for name in names), "-o", "all.pb.gz")
    assert result.stderr == (
        f"flamerun: '{two_runs}/fast.svg' was sampled at another rate: times are added in "
        f"nanoseconds\n{CLOCKS}flamerun: wrote 'all.pb.gz'\n")
    parts = [told_of(run, two_runs / name) for name in names]
    both = told_of(run, tmp_path / "all.pb.gz")
    assert both["weight"] * (both["period_ns"] or 1) == sum(
        part["weight"] * part["period_ns"] for part in parts)
    sums = collections.Counter()
    for part in parts:
        for thread in part["threads"]:
            sums[thread["name"]] += thread["weight"] * part["period_ns"]
    assert {thread["name"]: thread["weight"] for thread in both["threads"]} == sums
    waited = sum(part["waits"]["weight"] * part["period_ns"] for part in parts)
    assert both["waits"]["weight"] == waited


@pytest.mark.sanitized
def test_lines_stay(run, two_runs, tmp_path):
    """Lines are merged from pictures and from profiles, which store them in different ways."""
    def lines_of(path):
        run("-q", "render", path, "-o", "lines.folded", "--by", "line")
        return weights_of(tmp_path / "lines.folded")

    one, two = two_runs / "fast.pb.gz", two_runs / "again.pb.gz"
    run("-q", "merge", one, two, "-o", "both.pb.gz")
    both = lines_of(tmp_path / "both.pb.gz")
    assert both == lines_of(one) + lines_of(two)
    assert any("recursion.c:" in frame for stack in both for frame in stack)

    def table_of(path):
        run("-q", "render", path, "-o", "table.svg")
        found = picture.Picture(tmp_path / "table.svg").columns
        return {tag: list(picture.numbers(found[tag])) for tag in LINES}

    run("-q", "merge", two_runs / "fast.svg", two_runs / "again.svg", "-o", "pictures.svg")
    assert table_of(tmp_path / "pictures.svg") == table_of(tmp_path / "both.pb.gz")
    assert len(table_of(tmp_path / "both.pb.gz")[LINES[-1]]) > 3


@pytest.mark.sanitized
def test_what_cannot_be_added(run, two_runs, tmp_path):
    (tmp_path / "in.folded").write_text("main;work 3\n")
    (tmp_path / "empty.folded").write_text("")
    picture_file = two_runs / "fast.svg"
    for files, said in (
            ((picture_file, "in.folded"), f"cannot add 'in.folded', which counts samples, to "
             f"'{picture_file}', which counts time: cpu"),
            (("in.folded", picture_file), f"cannot add '{picture_file}', which counts time: cpu, to "
             "'in.folded', which counts samples"),
            (("empty.folded", "in.folded", picture_file), f"cannot add '{picture_file}', which "
             "counts time: cpu, to 'in.folded', which counts samples")):
        result = run("-q", "merge", *files, "-o", "out.svg")
        assert (result.returncode, result.stderr) == (
            125, f"flamerun: {said}\nflamerun: hint: as folded stacks both count samples: flamerun "
                 "render FILE -o FILE.folded\n")
        assert not (tmp_path / "out.svg").exists()
    result = run("-q", "merge", "in.folded", "nothere", "-o", "out.svg")
    assert (result.returncode, result.stderr) == (
        125, "flamerun: cannot open 'nothere': No such file or directory\n")
    result = run("-q", "merge")
    assert result.returncode == 125 and "merge wants files of stacks: " in result.stderr
    # An empty file adds nothing and is not an error.
    assert run("-q", "merge", "empty.folded", picture_file, "empty.folded", "-o",
               "out.pb.gz").returncode == 0
    assert told_of(run, tmp_path / "out.pb.gz")["weight"] == told_of(run, picture_file)["weight"]


@pytest.mark.sanitized
def test_counts_of_other_things(run, tmp_path):
    """Bytes are added to bytes, but not to objects, and not if the sum would be inexact."""
    def profile(name, kind, unit, value):
        maker = pprof.Maker((kind, unit))
        maker.function(1, "work")
        maker.sample([1], value)
        maker.write(tmp_path / name)

    profile("a.pb", "inuse_space", "bytes", 1000)
    profile("b.pb", "inuse_space", "bytes", 234)
    profile("c.pb", "inuse_objects", "count", 5)
    profile("d.pb", "inuse_space", "bytes", (1 << 53) - 2)
    profile("e.pb", "alloc_space", "bytes", 7)
    assert run("-q", "merge", "a.pb", "b.pb", "-o", "sum.json").returncode == 0
    told = json.loads((tmp_path / "sum.json").read_text())
    assert (told["weight"], told["counted"], told["period_ns"]) == (1234, "bytes", None)
    for other, said in (("c.pb", "cannot add 'c.pb', which counts inuse_objects, to 'a.pb', which "
                         "counts bytes of inuse_space"),
                        ("e.pb", "cannot add 'e.pb', which counts bytes of alloc_space, to 'a.pb', which "
                         "counts bytes of inuse_space"), ("d.pb", "cannot add 'd.pb': Value too large for defined "
                                                          "data type")):
        result = run("-q", "merge", "a.pb", other, "-o", "x.json")
        assert result.returncode == 125 and said in result.stderr


@pytest.mark.sanitized
def test_marks_are_told(run, tmp_path):
    """
    A single file keeps its marks. Marks of several files are dropped, because the files have no
    common time.
    """
    maker = pprof.Maker(("cpu", "nanoseconds"))
    maker.period("cpu", "nanoseconds", 1000)
    maker.function(1, "work")
    maker.sample([1], 5000)
    for text in ("one", "two"):
        maker.body += pprof.message((13, maker.text(f"mark: 1.500 7 {text}")))
    maker.write(tmp_path / "in.pb")
    result = run("merge", "in.pb", "-o", "same.pb")
    assert result.stderr == "flamerun: wrote 'same.pb'\n"
    assert (tmp_path / "same.pb").read_bytes().count(b"mark: 1.500 7 ") == 2
    result = run("merge", "in.pb", "in.pb", "-o", "both.pb")
    assert result.stderr == ("flamerun: 4 marks are left out: each run has a clock of its own\n"
                             "flamerun: wrote 'both.pb'\n")
    assert b"mark: " not in (tmp_path / "both.pb").read_bytes()


def peak_of(command, folder):
    """Peak memory of @command alone, in KiB."""
    with subprocess.Popen(command, cwd=folder) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    assert status == 0
    return usage.ru_maxrss


def test_memory_is_that_of_the_sum(flamerun, tmp_path):
    """Merging sixty files takes as much memory as merging two."""
    lines = [f"main;f{i % 100};g{i};h{i % 7} {i + 1}\n" for i in range(20000)]
    (tmp_path / "in.folded").write_text("".join(lines))
    peaks = []
    for count in (2, 60):
        peaks.append(peak_of([flamerun, "-q", "merge", *["in.folded"] * count, "-o", "out.folded"],
                             tmp_path))
    assert weights_of(tmp_path / "out.folded") == {
        stack: 60 * weight for stack, weight in weights_of(tmp_path / "in.folded").items()}
    assert peaks[1] < 1.2 * peaks[0]


def random_profile(path, seed):
    """A profile of 300 KB with long names."""
    draw = random.Random(seed)
    maker = pprof.Maker(("samples", "count"), ("cpu", "nanoseconds"))
    names = draw.sample(range(200), 100)
    for number, name in enumerate(names, 1):
        maker.chain(number, (f"f{name} " * 600, "a.c", draw.randint(1, 3)),
                    (f"inlined{name % 5}", "b.c", 7))
    for _ in range(200):
        count = draw.randint(-1, 9)
        maker.sample([draw.randint(1, 100) for _ in range(draw.randint(1, 9))], count,
                     count * 10**7, thread=f"worker {draw.randint(1, 5)}", process=f"p{seed % 3}")
    maker.period("cpu", "nanoseconds", 10**7)
    maker.write(path, seed % 2 == 0)


@pytest.mark.sanitized
def test_processors_make_no_difference(flamerun, tmp_path):
    """Results, messages and errors are the same with one thread and with several."""
    processors = os.sched_getaffinity(0)
    if len(processors) < 2:
        pytest.skip("one processor")

    def merged(*words, on=processors):
        for old in tmp_path.glob("out.*"):
            old.unlink()
        result = subprocess.run(
            [flamerun, "merge", *words, "-o", "out.pb", "-o", "out.folded", "-o", "out.json"],
            cwd=tmp_path, capture_output=True, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, on))
        return (result.returncode, result.stderr,
                {path.name: path.read_bytes() for path in tmp_path.glob("out.*")})

    names = [f"{seed}.pb" for seed in range(12)]
    for seed, name in enumerate(names):
        random_profile(tmp_path / name, seed)
    other = pprof.Maker(("inuse_space", "bytes"))
    other.function(1, "main")
    other.sample([1], 5)
    other.write(tmp_path / "other.pb")
    (tmp_path / "damaged.pb").write_bytes((tmp_path / "1.pb").read_bytes()[:-1])
    finer = pprof.Maker(("cpu", "nanoseconds"))
    finer.function(1, "main")
    finer.sample([1], 10**6)
    finer.period("cpu", "nanoseconds", 10**6)
    finer.write(tmp_path / "finer.pb")
    for words, status in ((names, 0), (["--by", "file", *names], 0), ([*names, "finer.pb"], 0),
                          (["finer.pb", *names], 0), ([*names, "other.pb"], 125),
                          ([*names, "damaged.pb", "other.pb"], 125)):
        several, one = merged(*words), merged(*words, on={min(processors)})
        assert several == one
        assert one[0] == status and one[1].count("less than nothing") > 10
    # Each stack counts once for each file that has it.
    merged(*names)
    expected = sum((weights_of_profile(flamerun, tmp_path / name) for name in names),
                   collections.Counter())
    assert weights_of(tmp_path / "out.folded") == expected


def weights_of_profile(flamerun, path):
    out = path.with_suffix(".folded")
    subprocess.run([flamerun, "render", "-q", path, "-o", out], check=True)
    return weights_of(out)
