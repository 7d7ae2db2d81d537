# SPDX-License-Identifier: MIT
"""The sandwich view: a function's callers above it and its callees below it, for all its calls."""

import pytest

from conftest import KNOWN, render
from test_access import current, told
from test_table import active, open_table, wait_for
from viewing import box, click, fact, middle, press, push, shares, show, text


@pytest.fixture
def emit(viewer, known):
    """
    The sandwich of emit: it has 500 samples, is called by Compile, and calls strcmp and write_out.
    """
    show(viewer, known, "#view=sandwich&of=emit")
    return viewer


@pytest.fixture
def recursive(viewer, tmp_path):
    """The sandwich of f, which recurs through g: g calls f and is called by it."""
    stacks = b"g;f;g;x 4\ng;f;x 3\nh;g;f;g;f 2\nf 1\nelse 10\n"
    picture = render(stacks, tmp_path / "recursive.svg")
    show(viewer, picture, "#view=sandwich&of=f")
    viewer.picture = picture
    return viewer


def test_callers_are_above_and_callees_below(emit):
    root = box(emit, "emit", 2)
    assert root["name"] == "emit: 500 samples; self 0 samples"
    tops = [box(emit, name)["top"] for name in ("main", "Compile", "emit", "strcmp")]
    assert tops == sorted(tops) and len(set(tops)) == 4
    assert box(emit, "strcmp")["top"] == box(emit, "write_out")["top"]
    widths = {b["name"]: b["right"] - b["left"] for b in fact(emit, "boxes")}
    assert widths["Compile"] == widths["main"] == root["right"] - root["left"]
    assert widths["strcmp"] / widths["main"] == pytest.approx(0.6, abs=0.01)


def test_over_all_calls(viewer, known):
    show(viewer, known, "#view=sandwich&of=strcmp")
    assert box(viewer, "strcmp")["name"] == "strcmp: 400 samples; self 400 samples"
    assert len([b for b in fact(viewer, "boxes") if b["name"] == "main"]) == 2
    assert {b["name"] for b in fact(viewer, "boxes")} \
        == {"strcmp: 400 samples; self 400 samples", "emit", "Compile", "read_token", "parse", "main"}


def test_recursion_counts_once(recursive):
    root = box(recursive, "f: ")
    assert root["name"] == "f: 10 samples; self 3 samples"
    boxes = {(b["row"] - root["row"], b["name"]): round(10 * (b["right"] - b["left"])
             / (root["right"] - root["left"])) for b in fact(recursive, "boxes") if b is not root}
    boxes.pop((0, root["name"]))
    assert boxes == {(-1, "g"): 9, (-2, "h"): 2, (1, "g"): 6, (1, "x"): 3, (2, "x"): 4, (2, "f"): 2}


def test_by_keys_both_ways(emit):
    emit.run("document.querySelector('canvas').focus()")
    press(emit, "ArrowUp")
    assert fact(emit, "selected").startswith("emit: ")
    press(emit, "ArrowUp")
    assert fact(emit, "selected") == "Compile"
    press(emit, "ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown")
    assert fact(emit, "selected") == "strcmp"
    assert current(emit)[:4] == ["strcmp, 30.0 %, 300 samples", "2", "1", "2"]
    press(emit, "ArrowRight")
    assert fact(emit, "selected") == "write_out"
    press(emit, "Enter")
    assert fact(emit, "zoomed") == "write_out"
    press(emit, "Escape")
    assert fact(emit, "zoomed").startswith("emit: ")
    press(emit, "Escape")
    wait_for(emit, "graph")
    assert fact(emit, "selected") == "write_out"


def test_what_is_said_of_a_box_is_of_the_function(emit):
    emit.pointer(*middle(box(emit, "strcmp")))
    said = text(emit, ".details")
    for part in ("Total 300 samples", "Of all 30.0 %", "Of view 60.0 %", "Of parent 60.0 %"):
        assert part in said
    assert ("tree", "Callers and callees") in [one[:2] for one in told(emit)]


def test_s_moves_on_and_back_leads_back(viewer):
    click(viewer, "Compile")
    press(viewer, "s")
    wait_for(viewer, "sandwich")
    assert fact(viewer, "zoomed").startswith("Compile: 600 samples; self 100 samples")
    assert viewer.run("return location.hash") == "#view=sandwich&of=Compile"
    click(viewer, "strcmp")
    press(viewer, "s")
    viewer.wait("flamerun.zoomed.startsWith('strcmp: 400')")
    viewer.run("history.back()")
    viewer.wait("flamerun.zoomed === 'strcmp'")
    viewer.run("history.back()")
    viewer.wait("flamerun.zoomed.startsWith('Compile: 600')")
    viewer.run("history.back()")
    wait_for(viewer, "graph")
    assert fact(viewer, "zoomed") == "Compile"


def test_a_function_is_the_same_in_all_views(viewer):
    open_table(viewer)
    press(viewer, "ArrowDown", "s")
    wait_for(viewer, "sandwich")
    assert fact(viewer, "selected").startswith("write_out: 200")
    press(viewer, "ArrowUp")
    assert fact(viewer, "selected") == "emit"
    open_table(viewer)
    assert active(viewer) == ["emit", "true"]
    press(viewer, "g")
    wait_for(viewer, "graph")
    assert fact(viewer, "selected") == "emit"


def test_links_tell_callers_from_callees(recursive):
    for row, total in ((1, 6), (-1, 9)):
        show(recursive, recursive.picture, "#view=sandwich&of=f")
        press(recursive, "0")
        click(recursive, "g", box(recursive, "f: ")["row"] + row)
        link = recursive.run("return location.hash")
        assert "box=" in link
        show(recursive, recursive.picture, link)
        assert fact(recursive, "zoomed") == "g"
        assert text(recursive, ".crumbs").split() == ["f", "g"]
        recursive.run("document.querySelector('canvas').focus()")
        press(recursive, "ArrowUp")
        assert f"Total {total} samples" in text(recursive, ".details")


def test_a_search_marks_and_weighs(emit):
    emit.keys("/", *"compile")
    emit.wait("!flamerun.searching")
    assert "100 % of view" in text(emit, ".matched") and "60.0 % of all" in text(emit, ".matched")
    emit.keys("Escape", *"write", "Enter")
    emit.wait("flamerun.selected === 'write_out'")
    assert "40.0 % of view" in text(emit, ".matched") and "20.0 % of all" in text(emit, ".matched")


def test_which_way_it_stands_is_no_choice(emit):
    before = shares(emit), box(emit, "main")["top"]
    press(emit, "b", "i")
    assert (shares(emit), box(emit, "main")["top"]) == before
    assert emit.run("return [document.querySelector('.icicle').disabled,"
                    "document.querySelector('.bottom-up').disabled]") == [True, True]


def test_links_without_the_function_or_of_another_run(viewer, known):
    show(viewer, known, "#view=sandwich&of=gone")
    assert "gone" in text(viewer, ".toast")
    assert viewer.run("return document.querySelector('.views [aria-pressed=true]').className") == "views-graph"
    # without a function, the view shows the one that costs most
    show(viewer, known, "#view=sandwich")
    assert fact(viewer, "zoomed").startswith("strcmp: 400")
    show(viewer, known, "#focus=parse&view=sandwich&of=emit")
    assert "Not in this picture" in text(viewer, ".toast")


def test_a_bottom_up_file_has_its_callers_above(viewer, tmp_path):
    picture = render(KNOWN.encode(), tmp_path / "reversed.svg", "--reverse")
    show(viewer, picture, "#view=sandwich&of=emit")
    tops = [box(viewer, name)["top"] for name in ("main", "Compile", "emit", "strcmp")]
    assert tops == sorted(tops) and len(set(tops)) == 4
    assert box(viewer, "emit")["name"] == "emit: 500 samples; self 0 samples"
    press(viewer, "ArrowUp", "ArrowUp")
    assert fact(viewer, "selected") == "Compile"


def test_it_prints_what_it_shows(emit):
    emit.run("window.dispatchEvent(new Event('beforeprint'))")
    labels = emit.run("""return [...document.querySelectorAll('#flamerun-print text')].map(
        one => [one.textContent, Number(one.getAttribute('y'))])""")
    emit.run("window.dispatchEvent(new Event('afterprint'))")
    at = dict(labels)
    order = [at[name] for name in ("main", "Compile", "emit: 500 samples; self 0 samples", "strcmp")]
    assert order == sorted(order) and len(set(order)) == 4


def test_the_stack_is_copied_callers_first(emit):
    emit.allow_clipboard(True)
    click(emit, "main")
    press(emit, "C")
    emit.wait("document.querySelector('.toast').innerText.includes('stack of 3')")
    push(emit, ".crumb")
    assert fact(emit, "zoomed").startswith("emit: ")


def test_deep_and_wide(viewer, tmp_path):
    deep = ";".join(["r"] * 5000)
    wide = b"".join(b"main;c%d;f;d%d 1\n" % (i, i) for i in range(20000))
    show(viewer, render(wide + f"{deep};f;{deep} 20000\n".encode(), tmp_path / "deep.svg"),
         "#view=sandwich&of=f")
    viewer.wait("flamerun.zoomed.startsWith('f: 40,000')")
    viewer.wait("/^↓ 49\\d\\d more rows$/.test(document.querySelector('.below').textContent)")
    viewer.wait("/^↑ 49\\d\\d more rows$/.test(document.querySelector('.above').textContent)")
    assert box(viewer, "f: ")
