# SPDX-License-Identifier: MIT
"""Fingers, printing, windows of any size, deep and large pictures, and a page that was saved."""

import base64
import re
import subprocess

import pytest

from conftest import KNOWN, render
from viewing import box, click, fact, middle, press, pixel, push, shares, show, text


@pytest.fixture
def touch(viewer, known):
    viewer.fingers(True)
    show(viewer, known)
    yield viewer
    viewer.fingers(False)


def test_the_first_tap_selects_and_the_second_zooms(touch):
    place = middle(box(touch, "parse"))
    touch.touch([place])
    touch.wait("flamerun.selected === 'parse'")
    assert fact(touch, "zoomed").startswith("all")
    assert "300 samples" in text(touch, ".details")
    touch.touch([place])
    touch.wait("flamerun.zoomed === 'parse' && !flamerun.animating")


def test_a_tap_elsewhere_selects_that(touch):
    touch.touch([middle(box(touch, "parse"))])
    touch.touch([middle(box(touch, "emit"))])
    touch.wait("flamerun.selected === 'emit'")
    assert fact(touch, "zoomed").startswith("all")


def test_two_fingers_zoom_where_they_are(touch):
    b = box(touch, "Compile")
    x, y = middle(b)
    share = x / touch.run("return innerWidth")
    touch.touch([(x - 50, y), (x - 80, y), (x - 150, y)], [(x + 50, y), (x + 80, y), (x + 150, y)])
    touch.wait("location.hash.includes('span=')")
    after = [one for one in fact(touch, "boxes") if one["name"] == "emit"][0]
    assert after["right"] - after["left"] > 1.5 * (b["right"] - b["left"]) * 5 / 6 \
        or after["left"] <= 24
    assert fact(touch, "zoomed").startswith(("all", "main", "Compile"))
    assert .1 < share < .9
    assert fact(touch, "selected") == ""


def test_a_finger_pans_what_is_zoomed(touch):
    click(touch, "Compile")
    before = box(touch, "emit")
    x, y = middle(before)
    touch.touch([(x, y), (x - 60, y), (x - 200, y)])
    touch.wait("location.hash.includes('span=')")
    after = box(touch, "emit")
    assert before["right"] - after["right"] == pytest.approx(200, abs=12)


def test_dragging_is_no_click(viewer):
    click(viewer, "Compile")
    x, y = middle(box(viewer, "strcmp"))
    viewer.call("POST", "/actions", {"actions": [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": round(x) - 100, "y": round(y), "duration": 50},
            {"type": "pointerUp", "button": 0}]}]})
    viewer.wait("location.hash.includes('span=')")
    assert fact(viewer, "zoomed") != "strcmp"


def test_wheel_with_control_zooms_where_the_pointer_is(viewer):
    x, y = middle(box(viewer, "parse"))
    for _ in range(3):
        viewer.wheel(x, y, -100, held="Control")
    viewer.wait("location.hash.includes('span=')")
    b = box(viewer, "parse")
    assert b["left"] < x < b["right"] and b["right"] - b["left"] > 600


def test_paper_gets_the_view_as_vectors(viewer):
    click(viewer, "Compile")
    viewer.keys("/", *"strcmp")
    viewer.run("addEventListener('beforeprint', () => { window.printed = {"
               "texts: [...document.querySelectorAll('#flamerun-print text')].map("
               "t => t.textContent),"
               "fills: [...document.querySelectorAll('#flamerun-print rect')].map("
               "r => r.getAttribute('fill')),"
               "box: document.documentElement.getAttribute('viewBox')} })")
    pdf = base64.b64decode(viewer.call("POST", "/print", {}))
    printed = viewer.run("return window.printed")
    assert {"all: 1,000 samples", "main", "Compile", "emit", "strcmp", "write_out"} \
        <= set(printed["texts"])
    assert "parse" not in printed["texts"]
    assert any("strcmp" in one and "40.0" in one for one in printed["texts"])
    assert printed["fills"].count("#a371f7") == 1 and printed["box"].startswith("0 0 1200 ")
    assert b"/Subtype /Image" not in pdf
    words = subprocess.run(["pdftotext", "-", "-"], input=pdf, stdout=subprocess.PIPE,
                           check=True).stdout.decode()
    assert "write_out" in words and "Zoomed into Compile" in words
    assert "Bottom-up" not in words and "Reset zoom" not in words
    assert viewer.run("return document.querySelector('#flamerun-print')") is None
    assert viewer.run("return document.documentElement.getAttribute('viewBox')") is None
    assert shares(viewer)[2, "Compile"] == pytest.approx(1)


@pytest.mark.parametrize("how", ["by key", "preferred"])
def test_paper_is_white_though_the_page_is_dark(viewer, how):
    if how == "preferred":
        viewer.media(prefers_color_scheme="dark")
    else:
        press(viewer, "d")
    viewer.wait("document.querySelector('.flamerun').dataset.theme === 'dark'")
    pdf = base64.b64decode(viewer.call("POST", "/print", {"background": True}))
    gray = subprocess.run(["pdftoppm", "-gray", "-r", "20", "-singlefile", "-"], input=pdf,
                          stdout=subprocess.PIPE, check=True).stdout
    _, width, _, pixels = re.match(rb"P5\s((\d+) (\d+))\s255\s(.*)", gray, re.DOTALL).groups()
    middles = pixels[int(width) // 2::int(width)]  # the middle of each row of the sheet
    assert set(middles[-len(middles) // 4:]) == {255}
    assert min(pixels) < 128  # the title is black


PRINTED = """[...document.querySelectorAll('#flamerun-print text')].map(t => t.textContent)"""


def test_paper_gets_all_rows_or_those_in_sight(viewer, tmp_path):
    show(viewer, deep(tmp_path, 300))
    viewer.run("addEventListener('beforeprint', () => { window.printed = " + PRINTED + "; });"
               "window.print = () => { dispatchEvent(new Event('beforeprint'));"
               "dispatchEvent(new Event('afterprint')); }")
    viewer.run("print()")
    texts = viewer.run("return window.printed")
    assert {f"level_{i}" for i in range(300)} <= set(texts)
    assert not any("Rows" in one for one in texts)
    rows = sorted({one["row"] for one in fact(viewer, "boxes")})
    press(viewer, "p")
    texts = viewer.run("return window.printed")
    assert sorted(one for one in texts if one.startswith("level_")) \
        == sorted(f"level_{row - 1}" for row in rows[1:])
    assert f"Rows 1 to {rows[-1] + 1} of 301" in texts
    viewer.run("document.querySelector('.scroller').scrollTop = 0")
    viewer.wait("flamerun.boxes.some(b => b.row === 300)")
    press(viewer, "p")
    texts = viewer.run("return window.printed")
    assert "level_299" in texts and "level_0" not in texts


def deep(tmp_path, levels):
    """A picture of one stack with @levels levels and one shallow stack."""
    stack = ";".join(f"level_{i}" for i in range(levels))
    return render(f"{stack} 5\nshallow 5\n".encode(), tmp_path / "deep.svg")


def more(browser):
    """The numbers of rows out of sight, above and below, that the page shows."""
    browser.run("return new Promise(done => setTimeout(done, 250))")  # until scrolling has ended
    said = browser.run("return [...document.querySelectorAll('.more')].map("
                       "one => one.hidden ? '0' : one.textContent)")
    return [int(re.sub(r"\D", "", one)) for one in said]


def test_more_rows_than_fit_are_told(viewer, tmp_path):
    assert more(viewer) == [0, 0]
    show(viewer, deep(tmp_path, 200))
    seen = len({one["row"] for one in fact(viewer, "boxes")})
    assert 20 < seen < 60
    above, below = more(viewer)
    assert below == 0 and above == pytest.approx(201 - seen, abs=1)
    push(viewer, ".above")
    viewer.wait(f"flamerun.boxes.some(b => b.row >= {seen + 5})")
    above, below = more(viewer)
    assert below > 0 and above + below == pytest.approx(201 - seen, abs=2)
    viewer.run("document.querySelector('.scroller').scrollTop = 0")
    assert more(viewer)[0] == 0 and more(viewer)[1] == pytest.approx(201 - seen, abs=1)
    press(viewer, "i")
    assert more(viewer) == [pytest.approx(201 - seen, abs=1), 0]


def test_rows_of_what_is_not_shown_are_not_told(viewer, tmp_path):
    show(viewer, deep(tmp_path, 200))
    click(viewer, "shallow")
    assert more(viewer) == [0, 0]


def places(browser):
    return browser.run("""return ['canvas', '.search', '.details', '.crumbs', '.help'].map(one => {
        const area = document.querySelector(one).getBoundingClientRect();
        return [one, area.left, area.top, one === '.crumbs' ? 0 : area.right, area.bottom]; })""")


def test_nothing_moves_but_the_graph(viewer):
    before = places(viewer)
    viewer.pointer(*middle(box(viewer, "parse")))
    viewer.wait("flamerun.hovered === 'parse'")
    assert places(viewer) == before
    click(viewer, "Compile")
    assert places(viewer) == before
    press(viewer, "/", *"strcmp")
    assert places(viewer) == before
    press(viewer, "Alt+r", "(")
    assert places(viewer) == before
    press(viewer, "Escape", "Escape", "b")
    assert places(viewer) == before


@pytest.mark.parametrize("width,height,ratio", [
    (300, 500, 1), (300, 500, 2), (640, 480, 1), (1000, 700, 1), (2560, 1400, 1), (2560, 1400, 2)])
def test_windows_of_any_size(viewer, width, height, ratio):
    try:
        viewer.viewport(width, height, ratio)
        viewer.wait(f"innerWidth === {width} && document.querySelector('canvas').width === "
                    f"{ratio} * document.querySelector('.scroller').clientWidth")
        viewer.keys("/", *"strcmp")
        press(viewer, "Enter")
        outside = viewer.run("""
            return [...document.querySelectorAll('button, input, h1, canvas, .matched, .fact')]
                .filter(one => !one.closest('.crumbs')).filter(one => {
                    const area = one.getBoundingClientRect();
                    return area.width && (area.left < 0 || area.right > innerWidth
                        || area.bottom > innerHeight); })
                .map(one => one.outerHTML.slice(0, 80))""")
        assert outside == []
        assert viewer.run("return document.documentElement.scrollWidth") == width
        field = viewer.run("return document.querySelector('.search input').clientWidth")
        assert field >= 40
        b = box(viewer, "write_out")
        assert pixel(viewer, (b["left"] + b["right"]) / 2, b["top"] + 3)[3] > 0
    finally:
        viewer.resize_back()


def test_details_tell_everything(viewer):
    click(viewer, "parse")
    viewer.pointer(*middle(box(viewer, "read_token")))
    viewer.wait("flamerun.hovered === 'read_token'")
    details = text(viewer, ".details")
    for words in ("read_token", "Total 200 samples", "Self 100 samples", "Of all 20.0 %",
                  "Of view 66.7 %", "Of parent 66.7 %"):
        assert words in details
    tooltip = text(viewer, ".tooltip")
    assert "Of view" in tooltip and "66.7 %" in tooltip
    viewer.pointer(3, 3)
    viewer.wait("document.querySelector('.tooltip').offsetHeight === 0")
    assert "parse" in text(viewer, ".details")  # the clicked box stays selected


@pytest.mark.parametrize("order", ["flame", "icicle"])
def test_a_large_tree_bottom_up_and_back(viewer, tmp_path, order):
    stacks = b"".join(b"m;" + b";".join(b"f%d" % ((i * 7 + j * j) % 97) for j in range(1 + i % 23))
                      + b" %d\n" % (1 + i % 5) for i in range(3000))
    options = ["--icicle"] if order == "icicle" else []
    viewer.open(render(stacks, tmp_path / "large.svg", *options).as_uri())
    viewer.wait("window.flamerun")
    total = fact(viewer, "total")
    press(viewer, "b")
    assert fact(viewer, "total") == total
    first_row = [b for b in fact(viewer, "boxes") if b["row"] == 1]
    width = sum(b["right"] - b["left"] for b in first_row)
    assert width == pytest.approx(viewer.run("return innerWidth") - 48, abs=1)
    up = "ArrowDown" if order == "icicle" else "ArrowUp"
    press(viewer, *[up] * 4, "Enter", *[up] * 4, "Enter", "0", "b")
    assert fact(viewer, "zoomed").startswith("all")


def test_a_saved_page_shows_the_picture_without_scripts(viewer, known, tmp_path):
    press(viewer, "d", "b")
    saved = tmp_path / "saved.svg"
    saved.write_text(re.sub(r"<script>.*</script>", "", viewer.run(
        "return new XMLSerializer().serializeToString(document)"), flags=re.S))
    viewer.open(saved.as_uri())
    viewer.wait("document.readyState === 'complete'")
    assert viewer.run("return document.getElementById('flamerun-static')"
                      ".getBoundingClientRect().width > 1000")
    assert viewer.run("return document.querySelector('.flamerun').offsetHeight") == 0
