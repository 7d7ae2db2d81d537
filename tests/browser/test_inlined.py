# SPDX-License-Identifier: MIT
"""Source lines of functions, and inlined functions, which are drawn dashed and can be folded."""

import pathlib
import re
import subprocess
import sys

import pytest

from conftest import FLAMERUN
from viewing import box, click, fact, middle, pixel, press, shares, show, text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from pprof import Maker  # noqa: E402

MAIN = ("main", "/src/prog/main.rs", 40)
WORDS = ("words", "/src/prog/words.rs", 12)


def draw(folder, *options):
    """
    A picture of 1,000 samples: 900 in main, 600 of these in words, which is inlined into main.
    """
    maker = Maker(("samples", "count"))
    maker.chain(1, MAIN, WORDS, ("split", "/lib/str.rs", 600))
    maker.chain(2, ("main", MAIN[1], 41), ("words", WORDS[1], 13))
    maker.chain(3, ("main", MAIN[1], 50))
    maker.chain(4, MAIN, WORDS)
    maker.chain(5, ("free", "", 0))
    for line in range(20, 32):
        maker.chain(line, ("hash", "/src/prog/hash.rs", line))
        maker.sample([line, 4], 25)
    maker.sample([1], 200)
    maker.sample([2], 100)
    maker.sample([3], 300)
    maker.sample([5], 100)
    maker.write(folder / "in.pb")
    subprocess.run([FLAMERUN, "render", "-q", "--no-config", *options, folder / "in.pb", "-o",
                    folder / "inlined.svg"], check=True, timeout=60)
    return folder / "inlined.svg"


@pytest.fixture(scope="session")
def picture(tmp_path_factory):
    return draw(tmp_path_factory.mktemp("inlined"))


def dashed(picture):
    """How many boxes are dashed in the static picture. All their edges are in one path."""
    paths = re.findall(r"<path[^>]*dasharray[^>]*>", picture.read_text("utf-8"))
    assert len(paths) <= 1
    return sum(len(re.findall("[mM]", re.search(r' d="([^"]*)"', path)[1])) for path in paths)


@pytest.fixture
def inlined(viewer, picture):
    show(viewer, picture)
    return viewer


WHOLE = {(1, "main"): .9, (2, "words"): .6, (3, "split"): .2, (3, "hash"): .3, (1, "free"): .1}
FOLDED = {(1, "main"): .9, (2, "hash"): .3, (1, "free"): .1}


def test_the_tooltip_tells_the_hottest_lines(inlined):
    for name, module, lines in [("words", "/src/prog/words.rs", ["words.rs:12 83.3 %",
                                                                 "words.rs:13 16.7 %"]),
                                ("hash", "/src/prog/hash.rs", ["hash.rs:20 8.33 %",
                                                               "hash.rs:21 8.33 %",
                                                               "hash.rs:22 8.33 %"])]:
        inlined.pointer(*middle(box(inlined, name)))
        inlined.wait("document.querySelector('.tooltip').offsetHeight > 0")
        said = [line.replace("\t", " ") for line in text(inlined, ".tooltip").splitlines()]
        assert module in said
        assert said[-len(lines):] == lines
    assert "Lines hash.rs:20 8.33 %" in text(inlined, ".details")
    inlined.pointer(*middle(box(inlined, "free")))
    inlined.wait("document.querySelector('.tooltip .name').innerText === 'free'")
    assert inlined.run("return document.querySelector('.tooltip .lines')") is None


def test_the_sheet_of_lines(inlined):
    press(inlined, *["ArrowUp"] * 4)
    assert fact(inlined, "selected") == "hash"
    press(inlined, "l")
    sheet = text(inlined, ".dialog")
    assert "/src/prog/hash.rs" in sheet and "and 4 more" in sheet
    rows = inlined.run("return [...document.querySelectorAll('.dialog tr')].map(r => r.innerText)")
    assert len(rows) == 8
    assert rows[0].replace("\u202f", " ").split("\t") == [
        "hash.rs:20", "8.33 %", "25 samples", "25 samples of its own"]
    press(inlined, "l")
    assert inlined.run("return document.querySelector('.dialog')") is None
    press(inlined, "Home", "ArrowDown", "ArrowDown", "ArrowLeft")
    assert fact(inlined, "selected") == "free"
    press(inlined, "l")
    assert "No source lines" in text(inlined, ".toast")


def test_inlined_boxes_are_folded_and_shown(inlined, picture):
    assert shares(inlined) == {key: pytest.approx(share) for key, share in WHOLE.items()}
    press(inlined, "f")
    assert fact(inlined, "folded")
    assert shares(inlined) == {key: pytest.approx(share) for key, share in FOLDED.items()}
    assert inlined.run("return location.hash") == "#inlined=folded"
    press(inlined, "b")  # includes inlined functions
    assert shares(inlined)[1, "main"] == pytest.approx(.6)
    fragment = inlined.run("return location.hash")
    show(inlined, picture, fragment)
    assert fact(inlined, "folded") and shares(inlined)[1, "main"] == pytest.approx(.6)
    press(inlined, "f", "b")
    assert shares(inlined) == {key: pytest.approx(share) for key, share in WHOLE.items()}
    assert inlined.run("return location.hash") == ""


def test_what_fills_the_view_stays(inlined):
    click(inlined, "hash")
    press(inlined, "f")
    assert fact(inlined, "zoomed") == "hash"
    assert shares(inlined)[2, "hash"] == pytest.approx(1)
    press(inlined, "f")
    click(inlined, "words")
    press(inlined, "f")
    assert fact(inlined, "zoomed") == "main"


def test_without_inlined_functions_nothing_is_folded(viewer):
    press(viewer, "f")
    assert not fact(viewer, "folded")
    assert "Nothing in here was inlined" in text(viewer, ".toast")


def edge(browser, name):
    """The colours of 20 pixels along the lower edge of a box, near its left end."""
    b = box(browser, name)
    y = b["top"] + b["height"] - 2
    return [tuple(pixel(browser, b["left"] + 20 + x, y)) for x in range(20)]


def test_inlined_boxes_have_dashes(inlined, picture):
    assert len(set(edge(inlined, "words"))) > 1
    assert len(set(edge(inlined, "hash"))) == 1
    assert dashed(picture) == 2  # words and split


def test_no_inline_draws_none(viewer, tmp_path):
    picture = draw(tmp_path, "--no-inline")
    show(viewer, picture)
    assert shares(viewer) == {key: pytest.approx(share) for key, share in FOLDED.items()}
    assert dashed(picture) == 0
