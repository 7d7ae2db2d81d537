# SPDX-License-Identifier: MIT
"""Marks: their list, and the picture of the samples from one mark to the next."""

import re

import pytest

from marked import mark
from viewing import box, click, fact, press, push, shares, show, text

MARKS = [(1_000_000, "parse"), (2_000_000, "idle </script>"), (2_500_000, "compile")]
# The nodes of the known picture, numbered from 0: all main Compile emit strcmp write_out parse
# read_token strcmp find start [unsampled]. These samples are not in order of time.
SAMPLES = [(200_000, 11, 100), (1_000_000, 8, 100), (1_999_999, 7, 100), (1_200_000, 9, 100),
           (3_000_000, 4, 300), (2_600_000, 5, 200), (3_500_000, 2, 100)]
ROWS = "return [...document.querySelectorAll('.mark')].map(m => m.innerText.split(/\\s*\\n\\s*/))"
CRUMBS = "return [...document.querySelectorAll('.crumb, .chip')].map(c => c.textContent)"
FRAGMENT = "return location.hash"


@pytest.fixture(scope="session")
def marked(known, tmp_path_factory):
    return mark(known, tmp_path_factory.mktemp("marked") / "marked.svg", MARKS, SAMPLES)


@pytest.fixture
def marks(viewer, marked):
    show(viewer, marked)
    return viewer


def crumbs(browser):
    return [one.replace("\u202f", " ") for one in browser.run(CRUMBS)]


def choose(browser, row):
    push(browser, ".bar .marks")
    push(browser, f".mark:nth-child({row})")


@pytest.mark.parametrize("how", [lambda v: push(v, ".bar .marks"), lambda v: press(v, "m")])
def test_the_list(marks, how):
    assert text(marks, ".bar .marks") == "3 marks"
    how(marks)
    rows = [[cell.replace("\u202f", " ") for cell in row if cell] for row in marks.run(ROWS)]
    assert rows == [["before parse", "10.0 %"], ["1.00 s", "parse", "30.0 %"],
                    ["2.00 s", "idle </script>", "0 %"], ["2.50 s", "compile", "60.0 %"]]
    how_many = "return document.querySelectorAll('.mark[disabled]').length"
    assert marks.run(how_many) == 1
    press(marks, "m")
    assert marks.run("return document.querySelector('.dialog')") is None
    assert shares(marks)[1, "main"] == pytest.approx(.9)


def test_between_two_marks(marks):
    choose(marks, 2)
    assert fact(marks, "total") == 300
    assert shares(marks) == {key: pytest.approx(share) for key, share in {
        (1, "main"): 1, (2, "parse"): 1, (3, "read_token"): 2 / 3, (4, "strcmp"): 1 / 3,
        (3, "std::map<Key, Value>::find"): 1 / 3}.items()}
    assert box(marks, "parse: 300 samples")["row"] == 0
    assert crumbs(marks) == ["parse, 1.00 s to 2.00 s", "parse"]
    assert re.fullmatch(r"#mark=[\w-]{3}", marks.run(FRAGMENT))
    choose(marks, 4)
    assert fact(marks, "total") == 600
    assert crumbs(marks) == ["compile, from 2.50 s", "compile"]
    choose(marks, 1)
    assert shares(marks)[2, "[unsampled]"] == pytest.approx(1)
    assert crumbs(marks) == ["before parse, to 1.00 s", "before parse"]


@pytest.mark.parametrize("how", [
    lambda v: push(v, ".reset"), lambda v: press(v, "0"), lambda v: press(v, "Escape"),
    lambda v: push(v, ".chip"), lambda v: v.call("POST", "/back", {})])
def test_the_way_back(marks, how):
    whole = shares(marks)
    choose(marks, 4)
    assert not marks.run("return document.querySelector('.reset').disabled")
    how(marks)
    marks.wait("flamerun.total === 1000")
    assert shares(marks) == whole and crumbs(marks) == ["all"]
    assert marks.run(FRAGMENT) == ""
    assert marks.run("return document.querySelector('.reset').disabled")


def test_by_keys_alone(marks):
    press(marks, "m", "ArrowDown", "ArrowDown", "Enter")
    assert fact(marks, "total") == 300
    press(marks, "m")
    assert "parse" in marks.run("return document.activeElement.innerText")
    press(marks, "Tab", "Enter")  # this skips `idle`, which has no samples and cannot be chosen
    assert fact(marks, "total") == 600
    press(marks, "ArrowUp", "ArrowUp", "ArrowUp", "Enter")
    assert fact(marks, "zoomed") == "Compile"
    press(marks, "Escape")
    assert fact(marks, "zoomed").startswith("compile: 600") and fact(marks, "total") == 600
    press(marks, "Escape")
    assert fact(marks, "total") == 1000


def test_by_a_finger(marks):
    marks.fingers(True)
    try:
        for selector in ".bar .marks", ".mark:nth-child(4)":
            area = marks.run("return document.querySelector(arguments[0])"
                             ".getBoundingClientRect().toJSON()", selector)
            assert area["height"] >= 26
            marks.touch([(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)])
            marks.wait("document.querySelector('.dialog') || flamerun.total === 600")
        marks.wait("flamerun.total === 600")
    finally:
        marks.fingers(False)


def test_with_search_order_and_zoom(marks, marked):
    press(marks, "/", *"strcmp", "Escape", "Escape")
    press(marks, "/", *"strcmp", "Tab")
    marks.run("document.querySelector('canvas').focus()")
    assert fact(marks, "matched")["all"] == pytest.approx(.4)
    choose(marks, 4)
    assert fact(marks, "matched")["all"] == pytest.approx(.5)
    press(marks, "b")
    assert shares(marks)[1, "strcmp"] == pytest.approx(.5)
    assert shares(marks)[1, "write_out"] == pytest.approx(1 / 3)
    click(marks, "strcmp")
    before, fragment = shares(marks), marks.run(FRAGMENT)
    show(marks, marked, fragment)
    assert shares(marks) == before and fact(marks, "zoomed") == "strcmp"
    assert marks.run(FRAGMENT) == fragment and "mark=" in fragment
    choose(marks, 2)
    parse = re.search(r"mark=[\w-]{3}", marks.run(FRAGMENT))[0]
    choose(marks, 4)
    marks.run(f"location.hash = '#{parse}'")
    marks.wait("flamerun.total === 300")
    assert not fact(marks, "bottomUp") and fact(marks, "zoomed").startswith("parse: 300")


@pytest.mark.parametrize("fragment", ["#mark=2", "#mark=99", "#mark=-1", "#mark=1e0", "#mark="])
def test_what_is_no_mark_shows_all(viewer, marked, fragment):
    show(viewer, marked, fragment)
    assert fact(viewer, "total") == 1000


def test_without_times_there_is_the_list(viewer, known, tmp_path):
    show(viewer, mark(known, tmp_path / "a.svg", [(1, "only"), (2, "")]), "#mark=1")
    assert fact(viewer, "total") == 1000
    press(viewer, "m")
    assert [row[-1] for row in viewer.run(ROWS)] == ["only", "(no text)"]
    push(viewer, ".mark")
    assert "no times" in text(viewer, ".dialog")
    press(viewer, "Escape")
    assert shares(viewer)[1, "main"] == pytest.approx(.9)


def test_without_marks_nothing_is_said_of_them(viewer):
    assert viewer.run("return document.querySelector('.bar .marks')") is None
    press(viewer, "m")
    assert viewer.run("return document.querySelector('.dialog')") is None
    assert "No marks" in text(viewer, ".toast")


@pytest.mark.parametrize("samples", [
    [(5, 12, 1)], [(5, -1, 1)], [(5, 2**31 - 1, 1)]])
def test_samples_that_cannot_be_are_refused(viewer, known, tmp_path, samples):
    """The page shows a message and keeps the graph, which does not need the samples."""
    show(viewer, mark(known, tmp_path / "wrong.svg", MARKS, samples))
    whole = shares(viewer)
    press(viewer, "m")
    viewer.wait("document.querySelector('.toast').innerText.includes('cannot be read')")
    assert viewer.run("return document.querySelector('.dialog')") is None
    viewer.run("location.hash = 'time=0-1'")
    viewer.wait("document.querySelector('.toast').innerText.includes('what it selects')")
    assert shares(viewer) == whole


def test_many_marks_stay_within_the_window(viewer, known, tmp_path):
    many = [(i * 1000, f"step {i} " + "long " * 80) for i in range(3000)]
    show(viewer, mark(known, tmp_path / "many.svg", many, [(500, 4, 400), (2_999_500, 5, 600)]))
    press(viewer, "m")
    assert "and 2000 more" in text(viewer, ".dialog")
    assert viewer.run("return document.querySelectorAll('.mark').length") == 1000
    area = viewer.run("return document.querySelector('.dialog').getBoundingClientRect().toJSON()")
    assert 0 <= area["left"] and area["right"] <= 1280
    press(viewer, "Escape")
    assert fact(viewer, "total") == 1000
