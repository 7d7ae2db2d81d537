# SPDX-License-Identifier: MIT
"""Everything that can be done by keyboard, and the messages for screen readers."""

import pytest

from conftest import render
from viewing import box, click, fact, middle, press, push, text


def test_arrows_walk_as_the_flame_stands(viewer):
    press(viewer, "ArrowUp")
    assert fact(viewer, "selected").startswith("all")
    for key, name in [("ArrowUp", "main"), ("ArrowUp", "Compile"), ("ArrowRight", "parse"),
                      ("ArrowRight", "parse"), ("ArrowLeft", "Compile"), ("ArrowUp", "emit"),
                      ("ArrowUp", "strcmp"), ("ArrowUp", "strcmp"), ("End", "write_out"),
                      ("Home", "strcmp"), ("ArrowDown", "emit"), ("ArrowDown", "Compile")]:
        press(viewer, key)
        assert fact(viewer, "selected") == name, key


def test_arrows_walk_as_the_icicle_hangs(viewer):
    press(viewer, "i", "ArrowDown", "ArrowDown")
    assert fact(viewer, "selected") == "main"
    press(viewer, "ArrowDown", "ArrowUp", "ArrowUp")
    assert fact(viewer, "selected").startswith("all")


def test_the_selected_box_has_a_ring(viewer):
    press(viewer, "ArrowUp", "ArrowUp", "ArrowUp", "ArrowRight")
    b = box(viewer, "parse")
    ring = viewer.run("const r = document.querySelector('.ring').getBoundingClientRect();"
                      "return [r.left, r.right, r.top, r.bottom]")
    assert ring[0] == pytest.approx(b["left"], abs=2)
    assert ring[1] == pytest.approx(b["right"], abs=2)
    assert ring[2] == pytest.approx(b["top"], abs=2)
    assert ring[3] == pytest.approx(b["top"] + b["height"], abs=2)


def test_a_sibling_out_of_sight_is_brought_into_it(viewer):
    click(viewer, "Compile")
    press(viewer, "ArrowRight")
    assert fact(viewer, "selected") == "parse"
    b = box(viewer, "parse")
    assert b["right"] - b["left"] > 100


def test_a_row_out_of_sight_is_scrolled_to(viewer, tmp_path):
    deep = ";".join(f"level_{i}" for i in range(200)).encode() + b" 5\n"
    viewer.open(render(deep, tmp_path / "deep.svg").as_uri())
    viewer.wait("window.flamerun")
    viewer.run("document.querySelector('.scroller').scrollTop = 0")
    viewer.wait("flamerun.boxes.every(b => b.row > 100)")
    press(viewer, "ArrowUp")
    viewer.wait("flamerun.boxes.some(b => b.row === 0)")
    press(viewer, *["ArrowUp"] * 120)
    viewer.wait("flamerun.boxes.some(b => b.row === 120) && flamerun.boxes.every(b => b.row > 0)")
    b = box(viewer, "level_119")
    area = viewer.run("return document.querySelector('.scroller').getBoundingClientRect().toJSON()")
    assert area["top"] <= b["top"] and b["top"] + b["height"] <= area["bottom"]


def test_a_low_window_still_shows_the_graph(viewer):
    try:
        viewer.viewport(600, 257)
        viewer.wait("innerHeight === 257")
        viewer.wait("document.querySelector('canvas').clientHeight >= 90")
    finally:
        viewer.resize_back()


def test_enter_zooms_and_escape_backspace_and_zero_lead_out(viewer):
    press(viewer, "ArrowUp", "ArrowUp", "Enter", "ArrowUp", "ArrowUp", "Enter")
    assert fact(viewer, "zoomed") == "emit"
    press(viewer, "Backspace")
    assert fact(viewer, "zoomed") == "main"
    press(viewer, "Escape")
    assert fact(viewer, "zoomed").startswith("all")
    press(viewer, "Enter")
    assert fact(viewer, "zoomed") == "emit"
    press(viewer, "0")
    assert fact(viewer, "zoomed").startswith("all")


def test_keys_of_the_browser_are_left_alone(viewer):
    viewer.run("addEventListener('keydown', e => window.prevented = e.defaultPrevented)")
    for key, ours in [("Control+c", False), ("Control+d", False), ("Alt+ArrowLeft", False),
                      ("q", False), ("d", True), ("Control+f", True)]:
        viewer.run("window.prevented = null")
        press(viewer, key)
        assert viewer.run("return window.prevented") is ours, key
    assert not viewer.run("return document.querySelector('.search input').value")


def test_free_zoom_by_key(viewer):
    whole = box(viewer, "Compile")
    press(viewer, "+")
    b = [x for x in fact(viewer, "boxes") if x["name"] == "Compile"][0]
    assert b["right"] - b["left"] > whole["right"] - whole["left"]
    assert not viewer.run("return document.querySelector('.reset').disabled")
    press(viewer, "-")
    assert box(viewer, "Compile") == whole
    assert viewer.run("return document.querySelector('.reset').disabled")


def test_the_sheet_of_keys(viewer):
    press(viewer, "?")
    sheet = text(viewer, ".dialog")
    for words in "zoom into", "bottom-up", "regular expression", "copy":
        assert words in sheet
    assert viewer.run("return document.activeElement.className") == "close"
    press(viewer, "b", "Tab")
    assert not fact(viewer, "bottomUp")
    assert viewer.run("return document.activeElement.className") == "key"
    press(viewer, "Shift+Tab")
    assert viewer.run("return document.activeElement.className") == "close"
    press(viewer, "Escape")
    assert viewer.run("return document.querySelector('.dialog')") is None
    push(viewer, ".help")
    assert "Keys" in text(viewer, ".dialog")
    push(viewer, ".close")
    assert viewer.run("return document.querySelector('.dialog')") is None
    assert viewer.run("return document.activeElement.className") == "help"


def test_nothing_below_a_sheet_is_reached(viewer):
    b = box(viewer, "main")
    place = b["left"] + 20, middle(b)[1]  # beside the sheet
    press(viewer, "?")
    viewer.pointer(*place)
    assert not fact(viewer, "hovered")
    viewer.run("document.querySelector('.icicle').focus()")
    assert viewer.run("return document.activeElement.className") == "close"
    viewer.pointer(*place, click=True)  # a click outside the sheet closes it and does nothing else
    viewer.wait("!document.querySelector('.dialog')")
    assert fact(viewer, "zoomed").startswith("all")


def test_every_control_is_reached_by_tab_and_named(viewer):
    seen = []
    for _ in range(20):
        viewer.keys("Tab")
        if not viewer.run("return document.hasFocus()"):
            break  # the focus is now on the browser's own controls
        seen.append(viewer.run("""
            const at = document.activeElement || document.documentElement;
            const style = getComputedStyle(at.closest('.search input') ? at.parentNode : at);
            return [at.getAttribute('class') || at.localName,
                at.getAttribute('aria-label') || at.textContent,
                style.boxShadow !== 'none' || at.localName === 'canvas'
                    && getComputedStyle(at.closest('.scroller')).boxShadow !== 'none']"""))
    controls = {"input", "case", "regex", "bottom-up", "icicle", "dark", "help", "crumb", "over",
                "canvas"}
    reached = [one for one in seen if one[0] in controls or one[0] == ""]
    assert controls - {"over"} <= {one[0] for one in reached}
    for name, label, ring in reached:
        assert label and ring, name


def test_enter_on_a_button_is_the_buttons(viewer):
    viewer.run("document.querySelector('.icicle').focus()")
    press(viewer, "Enter")
    assert fact(viewer, "icicle") and fact(viewer, "zoomed").startswith("all")


def test_what_is_spoken(viewer):
    spoken = "return document.querySelector('[aria-live=polite]').textContent"
    press(viewer, "ArrowUp", "ArrowUp", "ArrowUp", "ArrowRight")
    assert viewer.run(spoken) == "parse, 30.0 %, 2 of 2"
    press(viewer, "Enter")
    assert viewer.run(spoken) == "Zoomed into parse, 30.0 %, 2 of 2"
    canvas = viewer.run("""const c = document.querySelector('canvas');
        return [c.getAttribute('role'), c.getAttribute('aria-label'), c.tabIndex]""")
    assert canvas == ["tree", "Flame graph", 0]


@pytest.fixture
def clipboard(viewer):
    viewer.allow_clipboard(True)
    yield lambda: viewer.run("return navigator.clipboard.readText()")
    viewer.allow_clipboard(False)


TOAST = "document.querySelector('.toast').textContent"


def test_copying(viewer, clipboard):
    viewer.pointer(*middle(box(viewer, "write_out")))
    viewer.wait("flamerun.hovered === 'write_out'")
    press(viewer, "c")
    viewer.wait("document.querySelector('.toast.shown')")
    assert clipboard() == "write_out"
    press(viewer, "C")
    viewer.wait(f"{TOAST} === 'Copied a stack of 4'")
    assert clipboard() == "main\nCompile\nemit\nwrite_out"
    viewer.pointer(3, 3)
    press(viewer, "b", "ArrowUp", "ArrowUp", "ArrowUp", "C")
    assert fact(viewer, "selected") == "emit"
    viewer.wait(f"{TOAST} === 'Copied a stack of 2'")
    assert clipboard() == "emit\nstrcmp"


def browsers_copy(viewer):
    """Press Ctrl+C. WebDriver's keys would not make the browser copy."""
    for kind in "keyDown", "keyUp":
        viewer.cdp("Input.dispatchKeyEvent", type=kind, key="c", code="KeyC", modifiers=2,
                   windowsVirtualKeyCode=67, commands=["copy"] if kind == "keyDown" else [])


def test_the_browsers_key_copies_what_the_pointer_is_on(viewer, clipboard):
    assert viewer.run("return document.activeElement?.localName || ''") in ("", "svg")
    viewer.pointer(*middle(box(viewer, "write_out")))
    viewer.wait("flamerun.hovered === 'write_out'")
    browsers_copy(viewer)
    assert clipboard() == "write_out"
    viewer.wait(f"{TOAST} === 'Copied write_out'")
    press(viewer, "t")
    viewer.wait("document.querySelectorAll('.rows .row').length === 10")
    place = viewer.run("""const area = document.querySelector('.rows .row:nth-child(4)')
        .getBoundingClientRect(); return [area.left + 90, area.top + 9]""")
    viewer.pointer(*place)
    browsers_copy(viewer)
    assert clipboard() == "read_token"
    # The row that a key chose counts until the pointer moves.
    press(viewer, "ArrowDown", "ArrowDown")
    browsers_copy(viewer)
    assert clipboard() == "Compile"


def test_copying_where_our_keys_may_not(viewer, clipboard):
    viewer.run("window.refused = navigator.clipboard.writeText;"
               "Clipboard.prototype.writeText = () => Promise.reject(new Error('refused'))")
    press(viewer, "ArrowUp", "ArrowUp", "ArrowUp", "C")
    viewer.wait("document.querySelector('.toast.shown')")
    assert "Ctrl+C" in text(viewer, ".toast")
    browsers_copy(viewer)
    viewer.run("Clipboard.prototype.writeText = refused")
    assert clipboard() == "main\nCompile"
