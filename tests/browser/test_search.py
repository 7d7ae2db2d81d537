# SPDX-License-Identifier: MIT
"""Searching: the matches, their share of the time, and moving from match to match."""

import pytest

from conftest import render
from viewing import box, click, fact, pixel, press, pressed, push, serve, shares, show, text

WHERE = ("return [document.querySelector('.scroller').scrollTop,"
         "location.hash.replace(/&search.*/, '')]")


def found(viewer):
    """Wait for the end of the search, which may come long after the key was pressed."""
    viewer.wait("!flamerun.searching")


def test_nested_matches_count_once(viewer):
    viewer.keys("/", *"STRCMP")
    assert fact(viewer, "matched")["all"] == pytest.approx(.4)
    assert "40.0 %" in text(viewer, ".matched")
    viewer.keys("Escape")
    assert text(viewer, ".matched") == ""
    viewer.keys(*"it")  # emit, and write_out inside of it
    assert fact(viewer, "matched")["all"] == pytest.approx(.5)
    assert text(viewer, ".count") == "2"
    press(viewer, "Enter", "Enter")
    assert row_and_count(viewer) == ("write_out", "2/2")


def test_share_of_the_view_follows_the_zoom(viewer):
    click(viewer, "Compile")
    viewer.keys("/", *"strcmp")
    matched = fact(viewer, "matched")
    assert matched["all"] == pytest.approx(.4)
    assert matched["view"] == pytest.approx(.5)
    assert text(viewer, ".matched") == "Matched 50.0 % of view · 40.0 % of all"
    assert fact(viewer, "zoomed") == "Compile"
    push(viewer, ".reset")
    assert text(viewer, ".matched") == "Matched 40.0 % of all"


def test_matches_stand_out(viewer):
    b = box(viewer, "write_out")
    place = b["right"] - 4, b["top"] + 4
    plain = pixel(viewer, *place)
    viewer.keys("/", *"write")
    viewer.wait("!flamerun.animating")
    found = pixel(viewer, *place)
    assert found != plain and found[3] == 255
    viewer.keys("x")
    viewer.wait("!flamerun.animating")
    faded = pixel(viewer, *place)
    assert faded[3] < 255 and fact(viewer, "matched")["all"] == 0


def test_typing_moves_nothing(viewer):
    click(viewer, "Compile")
    before, where = shares(viewer), viewer.run(WHERE)
    viewer.keys("/")
    for letter in "read_token":
        viewer.keys(letter)
        assert shares(viewer) == before and viewer.run(WHERE) == where
        assert fact(viewer, "zoomed") == "Compile"


@pytest.mark.parametrize("how", ["push", "key"])
def test_case_matters_when_asked_for(viewer, how):
    viewer.keys("/", *"compile")
    assert fact(viewer, "matched")["all"] == pytest.approx(.6)
    if how == "push":
        push(viewer, ".case")
    else:
        viewer.keys("Alt+c")
    assert pressed(viewer, ".case")
    assert fact(viewer, "matched")["all"] == 0


@pytest.mark.parametrize("how", ["push", "key"])
def test_regular_expressions_when_asked_for(viewer, how):
    viewer.keys("/", *"^(emit|parse)$")
    assert fact(viewer, "matched")["all"] == 0
    if how == "push":
        push(viewer, ".regex")
    else:
        viewer.keys("Alt+r")
    assert pressed(viewer, ".regex")
    found(viewer)
    assert fact(viewer, "matched")["all"] == pytest.approx(.8)
    assert viewer.run("return document.querySelector('.search input').value") == "^(emit|parse)$"


def test_an_expression_that_is_none_yet_is_said_quietly(viewer):
    viewer.keys("/", *"(emi", "Alt+r")
    assert "nterminated" in text(viewer, ".matched")
    assert viewer.run("return document.querySelector('.search input').ariaInvalid") == "true"
    viewer.keys(*"t)")
    found(viewer)
    assert fact(viewer, "matched")["all"] == pytest.approx(.5)
    assert viewer.run("return document.querySelector('.search input').ariaInvalid") == "false"


def test_what_is_special_in_expressions_is_literal_else(viewer):
    viewer.keys("/", *"map<Key, Value>")
    assert fact(viewer, "matched")["all"] == pytest.approx(.1)
    viewer.keys("Escape", *"[unsampled]")
    assert fact(viewer, "matched")["all"] == pytest.approx(.1)


def row_and_count(viewer):
    return fact(viewer, "selected"), text(viewer, ".count")


def test_from_match_to_match(viewer):
    viewer.keys("/", *"strcmp")
    press(viewer, "Enter")
    assert row_and_count(viewer) == ("strcmp", "1/2")
    first = viewer.run("return document.querySelector('.ring').getBoundingClientRect().left")
    press(viewer, "Enter")
    assert row_and_count(viewer) == ("strcmp", "2/2")
    assert viewer.run("return document.querySelector('.ring').getBoundingClientRect().left") > first
    press(viewer, "Enter")
    assert row_and_count(viewer) == ("strcmp", "1/2")
    press(viewer, "Shift+Enter")
    assert row_and_count(viewer) == ("strcmp", "2/2")
    viewer.run("document.activeElement.blur()")
    press(viewer, "n")
    assert row_and_count(viewer) == ("strcmp", "1/2")
    press(viewer, "Shift+N")
    assert row_and_count(viewer) == ("strcmp", "2/2")
    push(viewer, ".search .next")
    assert row_and_count(viewer) == ("strcmp", "1/2")
    push(viewer, ".search .previous")
    assert row_and_count(viewer) == ("strcmp", "2/2")


def test_a_match_out_of_sight_is_brought_into_it(viewer):
    click(viewer, "parse")
    viewer.keys("/", *"write")
    press(viewer, "Enter")
    b = box(viewer, "write_out")
    assert b["right"] - b["left"] > 50


def test_matches_bottom_up(viewer):
    press(viewer, "b", "/", *"read")
    assert fact(viewer, "matched")["all"] == pytest.approx(.2)
    press(viewer, "Enter")
    assert row_and_count(viewer)[1] == "1/2"
    press(viewer, "Escape", *"main")
    assert fact(viewer, "matched")["all"] == pytest.approx(.9)


def test_without_matches_there_is_no_next_one(viewer):
    disabled = "return document.querySelector('.search .next').disabled"
    assert viewer.run(disabled)
    viewer.keys("/", *"strcmp")
    assert not viewer.run(disabled)
    viewer.keys("q")
    assert viewer.run(disabled)
    press(viewer, "Enter")
    assert fact(viewer, "selected") == ""


# The expression tries all ways to divide a row of letters "a" into groups, so each letter more
# doubles the time.
ENDLESS = "(a+)+$"


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    return render(b"main;%s! 1\nmain;b%s 1\nmain;see (a+)+$ 2\n" % (b"a" * 60, b"a" * 40),
                  tmp_path_factory.mktemp("letters") / "letters.svg")


@pytest.mark.parametrize("how", ["typed", "link"])
def test_a_search_without_end_is_given_up(viewer, letters, how):
    if how == "link":
        show(viewer, letters, "#search=(a%2B)%2B%24&regex")
    else:
        show(viewer, letters)
        viewer.keys("/", *ENDLESS, "Alt+r")
    viewer.wait("document.querySelector('.matched').innerText === 'Searching\u2026'")
    press(viewer, "i")  # meanwhile the page still answers
    assert viewer.run("return document.readyState") == "complete"
    found(viewer)
    assert text(viewer, ".matched") == "Given up after 2 s"
    viewer.run("const field = document.querySelector('.search input');"
               "field.value = '^b'; field.dispatchEvent(new Event('input'))")
    found(viewer)
    assert fact(viewer, "matched")["all"] == pytest.approx(.25)


def test_what_is_typed_next_does_not_wait(viewer, letters):
    show(viewer, letters, "#search=(a%2B)%2B%24&regex")
    assert fact(viewer, "searching")
    # Measure by the page's own clock, because a busy machine may be slow to send keys.
    viewer.run("""addEventListener('input', () => (window.typed = performance.now(), window.found = 0), true);
        setInterval(() => window.typed && !flamerun.searching && (window.found ||= performance.now()), 5)""")
    viewer.keys("/", *"^b")
    found(viewer)
    viewer.wait("window.found")
    assert viewer.run("return found - typed") < 1900
    assert fact(viewer, "matched")["all"] == pytest.approx(.25)


def test_without_a_worker_it_is_searched_as_text(viewer, letters):
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    with serve(letters, {"/inline.svg": policy}) as url:
        viewer.open(url + "/inline.svg#search=(a%2B)%2B%24&regex")
        viewer.wait("window.flamerun")
        found(viewer)
        assert fact(viewer, "matched")["all"] == pytest.approx(.5)
        assert "plain text" in text(viewer, ".matched")
        viewer.keys("/", *"^b.*a$")
        found(viewer)
        assert fact(viewer, "matched")["all"] == pytest.approx(.25)
        assert text(viewer, ".matched") == "Matched 25.0 % of all"
