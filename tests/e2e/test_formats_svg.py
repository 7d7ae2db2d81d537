# SPDX-License-Identifier: MIT
#
# Pictures as input: drawing a picture again gives the same stacks, however it was drawn, and
# picture.py, which follows the manual, reads the same.
import collections
import pathlib
import re

import pytest

from folded import Folded
from picture import Picture, columns
from profiled import compile_target

LINES_MORE = 31
PICTURES = pathlib.Path(__file__).resolve().parents[1] / "pictures"
OUTPUTS = ["svg", "folded", "png", "pb"]


@pytest.fixture(scope="module")
def works_and_sleeps(tmp_path_factory):
    """A command that runs two programs at once, one of which works while the other sleeps."""
    folder = tmp_path_factory.mktemp("svg")
    worker = compile_target("split.c", folder, ("-O1", "-g"))
    sleeper = compile_target("sleeps.c", folder, ("-O1", "-g"))
    return "sh", "-c", f"{sleeper} 200 & {worker} 200; wait"


@pytest.fixture
def drawn(run, works_and_sleeps, tmp_path):
    """drawn(*options) -> the path of a picture of the two programs."""
    def call(*words, command=works_and_sleeps):
        outputs = [word for kind in OUTPUTS for word in ("-o", f"run.{kind}")]
        result = run(*words, *outputs, "--", *command)
        assert result.returncode == 0, result.stderr
        return tmp_path / "run.svg"

    return call


def again(run, tmp_path, *words, source="run.svg"):
    outputs = [word for kind in OUTPUTS for word in ("-o", f"again.{kind}")]
    result = run("render", source, *words, *outputs)
    assert result.returncode == 0, result.stderr
    return result


def assert_equal_pictures(tmp_path):
    """
    Assert that the columns are equal, except LINES_MORE: a picture has only the heaviest lines.
    """
    first, second = (columns(tmp_path / f"{name}.svg") for name in ("run", "again"))
    assert first.keys() == second.keys()
    assert [tag for tag in first if first[tag] != second[tag] and tag != LINES_MORE] == []
    for kind in ("folded", "png"):
        assert (tmp_path / f"run.{kind}").read_bytes() == (tmp_path / f"again.{kind}").read_bytes()


@pytest.mark.parametrize("words", [
    (), ("--wall",), ("--sample-type", "wait"), ("--reverse",), ("--icicle", "--palette", "blue"),
    ("--by", "thread", "--wall"), ("--by", "process", "--wall"), ("--reverse", "--by", "thread"),
    ("--reverse", "--by", "process", "--wall"), ("--by", "module"), ("--by", "line"),
    ("--no-fold-idle", "--wall"), ("--notes", "one\ntwo", "--title", "ü <&>"),
    ("--focus", "nothing at all"),
], ids=" ".join)
def test_a_picture_of_a_picture_is_that_picture(drawn, run, tmp_path, words):
    drawn(*words)
    again(run, tmp_path)
    assert_equal_pictures(tmp_path)


def test_processes_come_through(drawn, run, tmp_path):
    drawn("--wall")
    again(run, tmp_path)
    assert_equal_pictures(tmp_path)
    again(run, tmp_path, "--by", "process")
    text = (tmp_path / "again.folded").read_text()
    assert {re.sub(r" \(\d+\)$", "", line.split(";")[0]) for line in text.splitlines()} >= {
        "sleeps", "split", "sh"}
    # A profile that was written in the same run gives the same stacks.
    again(run, tmp_path, "--by", "process", "--wall", source="run.pb")
    assert (tmp_path / "again.folded").read_text() == text


def assert_samples_weigh_what_nodes_do(picture):
    sampled = collections.Counter()
    for _, node, _, weight, _ in picture.samples:
        sampled[node] += weight
    assert sampled == {node: weight for node, weight in enumerate(picture.weights) if weight}


def test_the_manual_is_enough_to_read_a_picture(drawn, tmp_path):
    picture = Picture(drawn("--wall"))
    stacks = {tuple(stack): weight
              for stack, weight in Folded((tmp_path / "run.folded").read_text()).stacks}
    assert picture.stacks() == stacks
    assert_samples_weigh_what_nodes_do(picture)
    times = [time for time, *_ in picture.samples]
    assert times == sorted(times) and times[0] == 0 < times[-1]
    assert {kind for *_, kind in picture.samples} >= {0, 2}
    assert any("split" in thread for thread in picture.threads)


def test_other_options_draw_it_otherwise(drawn, run, tmp_path):
    drawn("--reverse", "--wall")
    lines = (tmp_path / "run.folded").read_text().splitlines()
    assert any("[clock_nanosleep];" in line for line in lines)
    again(run, tmp_path, "--no-reverse", "--no-wall")
    text = (tmp_path / "again.folded").read_text()
    assert "heavy;" in text and "nanosleep]" not in text
    assert not any(line.startswith("spin;") for line in text.splitlines())
    again(run, tmp_path, "--no-reverse", "--focus", "nanosleep")
    lines = (tmp_path / "again.folded").read_text().splitlines()
    assert lines and all(re.search(r";\[clock_nanosleep\] \d+$", line) for line in lines)


def test_within_a_page(drawn, run, tmp_path):
    picture = drawn().read_text()
    assert picture.count('id="flamerun" data') == 1
    picture = picture.replace('id="flamerun" data', "id='flamerun' data")
    (tmp_path / "page.html").write_text(f"<!doctype html><p>A & B<br>{picture}</html>")
    again(run, tmp_path, source="page.html")
    assert_equal_pictures(tmp_path)


def test_from_standard_input(drawn, run, tmp_path):
    with drawn().open() as picture:
        result = run("render", "-", "-o", "again.folded", stdin=picture)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "again.folded").read_text() == (tmp_path / "run.folded").read_text()


@pytest.mark.parametrize("text,why", [
    ("<svg xmlns='http://www.w3.org/2000/svg'/>", "is no picture of flamerun's: it has no data"),
    ("", "is no picture of flamerun's: it has no data"),
    ("<metadata id='flamerun' data-version='2'></metadata>", "another version of flamerun drew it"),
    ("<metadata id='flamerun' data-format='2'></metadata>", "another version of flamerun drew it"),
    ("<metadata id='flamerun' data-format='1'></metadata>", "text that is damaged or cut off"),
    ("<metadata id='flamerun' data-format='1'><piece>!</piece></metadata>",
     "text that is damaged or cut off"),
])
def test_what_is_none_is_refused(run, tmp_path, text, why):
    (tmp_path / "in.svg").write_text(text)
    result = run("render", "in.svg", "-o", "out.svg")
    assert result.returncode == 125
    assert why in result.stderr
    assert not (tmp_path / "out.svg").exists()


@pytest.mark.sanitized
def test_a_cut_picture_is_refused(drawn, run, tmp_path):
    text = drawn().read_text()
    end = text.index("</metadata>")
    for at in (end, end - 40, end - 400, text.index("<piece") + 30):
        (tmp_path / "cut.svg").write_text(text[:at] + "</piece></metadata></svg>")
        result = run("render", "cut.svg", "-o", f"{at}.png")
        assert (result.returncode, (tmp_path / f"{at}.png").exists()) == \
            ((0, True) if at == end else (125, False))


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=str)
def test_pictures_of_all_versions_are_read(run, tmp_path, path):
    expected = path.with_suffix(".folded").read_text()
    result = run("render", path, "-o", "out.folded")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.folded").read_text() == expected
    picture = Picture(path)
    assert picture.stacks() == {tuple(stack): weight for stack, weight in Folded(expected).stacks}
    assert_samples_weigh_what_nodes_do(picture)
    assert len(picture.samples) > 10


def test_old_samples_are_written_by_time(run, tmp_path):
    """A picture from before version 1 has samples in any order."""
    old = Picture(PICTURES / "version-3.svg")
    result = run("render", PICTURES / "version-3.svg", "-o", "new.svg")
    assert result.returncode == 0, result.stderr
    new = Picture(tmp_path / "new.svg")
    assert new.samples != old.samples
    assert new.samples == sorted(old.samples, key=lambda sample: sample[0])
