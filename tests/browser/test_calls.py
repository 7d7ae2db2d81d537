# SPDX-License-Identifier: MIT
"""The tree of calls, whose rows unfold: by pointer, keys and screen reader; ways to the graph."""

import pytest

from conftest import render
from test_access import AXE, told
from test_table import active, names, rows, wait_for
from viewing import click, fact, press, push, show, text


@pytest.fixture
def calls(viewer):
    press(viewer, "y")
    wait_for(viewer, "tree")
    return viewer


def levels(browser):
    """{name of a row: [its level, whether it is unfolded, None for a leaf]}"""
    return browser.run("""return Object.fromEntries([...document.querySelectorAll('.rows .row')].map(
        row => [row.firstChild.textContent, [Number(row.getAttribute('aria-level')),
            {'true': true, 'false': false}[row.getAttribute('aria-expanded')] ?? null]]))""")


def test_rows_unfold_and_fold_by_keys(calls):
    assert names(calls) == ["all", "main", "start"]
    assert active(calls) == ["all", "false"]
    press(calls, "ArrowDown", "ArrowRight")
    assert names(calls) == ["all", "main", "Compile", "parse", "start"]
    assert active(calls) == ["main", "true"]
    assert rows(calls)[2] == ["Compile", "", "100 samples", "10.0 %", "600 samples", "60.0 %"]
    press(calls, "ArrowRight", "ArrowRight")
    assert active(calls)[0] == "Compile"
    assert levels(calls) == {"all": [1, True], "main": [2, True], "Compile": [3, True],
                             "emit": [4, False], "parse": [3, False], "start": [2, False]}
    press(calls, "*")
    assert names(calls)[3:6] == ["emit", "strcmp", "write_out"] and levels(calls)["strcmp"] == [5, None]
    press(calls, "ArrowLeft", "ArrowLeft")
    assert active(calls)[0] == "main"
    press(calls, "ArrowLeft")
    assert names(calls) == ["all", "main", "start"]
    press(calls, "End")
    assert active(calls)[0] == "start"
    press(calls, "Enter")
    assert active(calls)[0] == "start" and names(calls)[-1] == "[unsampled]"


def test_clicks_choose_and_unfold(calls):
    push(calls, ".rows .row:nth-child(2)")
    assert active(calls) == ["main", "true"] and len(names(calls)) == 3
    assert "900 samples" in text(calls, ".details")
    push(calls, ".rows .row:nth-child(2)")
    assert len(names(calls)) == 5
    push(calls, ".rows .row:nth-child(3) .twisty")
    assert active(calls) == ["Compile", "true"] and "emit" in names(calls)
    push(calls, ".rows .row:nth-child(3) .twisty")
    assert "emit" not in names(calls)


def test_graph_and_tree_are_at_the_same_stack(viewer):
    click(viewer, "emit")
    press(viewer, "ArrowUp", "y")
    wait_for(viewer, "tree")
    assert active(viewer) == ["strcmp", "true"]
    assert "parse" in names(viewer) and levels(viewer)["strcmp"][0] == 5
    push(viewer, ".crumb:nth-child(3)")
    viewer.wait("document.activeElement.firstChild?.textContent === 'Compile'")
    assert fact(viewer, "zoomed") == "Compile"
    press(viewer, "ArrowDown", "ArrowDown", "ArrowDown", "x")
    assert active(viewer)[0] == "button" and "Show in the graph" in text(viewer, ".menu")
    press(viewer, "Enter")
    wait_for(viewer, "graph")
    assert fact(viewer, "selected") == "write_out" and fact(viewer, "zoomed") == "Compile"


def test_bottom_up_callers_are_below_what_ran(calls):
    press(calls, "b", "ArrowDown", "ArrowRight")
    assert names(calls)[:4] == ["all", "strcmp", "emit", "read_token"]
    press(calls, "ArrowRight", "*")
    assert names(calls)[2:5] == ["emit", "Compile", "main"]
    press(calls, "Escape")
    wait_for(calls, "graph")
    assert fact(calls, "bottomUp") and fact(calls, "selected") == "emit"


def test_a_search_unfolds_what_it_finds(calls):
    calls.keys("/", *"strcmp")
    press(calls, "Enter")
    assert text(calls, ".count") == "1/2" and "strcmp" in names(calls)
    matching = "return [...document.querySelectorAll('.rows .match')].map(one => one.firstChild.textContent)"
    assert calls.run(matching) == ["strcmp"]
    press(calls, "Enter")
    assert calls.run(matching) == ["strcmp", "strcmp"]
    assert calls.run("return document.querySelector('.rows [aria-selected=true]').ariaLevel") == "5"
    press(calls, "Escape", "Escape")
    assert active(calls) == ["strcmp", "true"]


def test_a_deep_stack_stays_in_sight(viewer, tmp_path):
    deep = ";".join(f"level_{i}" for i in range(2000)).encode() + b" 5\nother 1\n"
    show(viewer, render(deep, tmp_path / "deep.svg"), "#view=tree")
    press(viewer, "ArrowDown", "*")
    press(viewer, "End", "ArrowUp")
    assert active(viewer)[0] == "level_1999"
    left, right, top, bottom = viewer.run("""
        const range = document.createRange();
        range.selectNode(document.activeElement.firstChild.lastChild);
        const area = range.getBoundingClientRect();
        return [area.left, area.right, area.top, area.bottom]""")
    assert 0 < left < right < 640 and 0 < top < bottom < 900
    assert len(rows(viewer)) < 100


def test_a_screen_reader_gets_a_tree_of_rows(calls):
    assert ("treegrid", "Calls") in [one[:2] for one in told(calls)]
    press(calls, "ArrowDown")
    row = next(one for one in told(calls) if one[0] == "row" and one[2].get("focused"))
    assert (row[2]["level"], row[2]["expanded"], row[2]["selected"]) == (2, False, True)
    assert calls.run("return document.querySelector('.spoken').textContent") != "main, 90.0 %, 1 of 2"


def test_the_link_has_it_and_back_leads_back(viewer, known):
    show(viewer, known, "#view=tree&focus=parse")
    assert names(viewer) == ["selected", "main", "parse", "read_token", "std::map<Key, Value>::find"] \
        or names(viewer)[:3] == ["selected", "main", "parse"]
    press(viewer, "g")
    wait_for(viewer, "graph")
    viewer.run("history.back()")
    wait_for(viewer, "tree")
    assert viewer.run("return document.querySelector('.icicle').disabled")


def test_axe_finds_nothing(calls):
    if not AXE.exists():
        pytest.skip("no axe-core: npm install --prefix build axe-core")
    press(calls, "ArrowDown", "*", "/", *"strcmp", "Enter")
    calls.run(AXE.read_text() + "; window.axe = axe")
    assert calls.run("return axe.run(document).then(({violations}) => violations.map(one => [one.id, "
                     "one.nodes.map(node => node.failureSummary)]))") == []
