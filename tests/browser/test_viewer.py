# SPDX-License-Identifier: MIT
"""The picture in a browser: boxes, zoom, tooltips, and windows that change their size."""

import pytest

from conftest import render
from viewing import box, click, middle, pixel, press, shares


def test_boxes_have_their_shares(viewer):
    got = shares(viewer)
    assert len(got) == 10  # strcmp is there twice
    for key, share in {(1, "main"): .9, (1, "start"): .1, (2, "parse"): .3, (2, "Compile"): .6,
                       (3, "emit"): .5, (4, "write_out"): .2, (2, "[unsampled]"): .1}.items():
        assert got[key] == pytest.approx(share, abs=1e-6)


def test_boxes_are_painted_where_they_are_said_to_be(viewer):
    for name in "main", "parse", "write_out":
        b = box(viewer, name)
        x = b["right"] - 4
        assert pixel(viewer, x, b["top"] + 4)[3] == 255
    last = box(viewer, "write_out")
    assert pixel(viewer, last["right"] + 40, last["top"] + 4)[3] == 0


def test_click_zooms_and_ancestors_stay(viewer):
    click(viewer, "parse")
    assert viewer.run("return flamerun.zoomed") == "parse"
    got = shares(viewer)
    assert got[2, "parse"] == pytest.approx(1)
    assert got[1, "main"] == pytest.approx(1)
    assert got[3, "read_token"] == pytest.approx(2 / 3)
    assert (2, "Compile") not in got and (1, "start") not in got
    click(viewer, "main")
    assert viewer.run("return flamerun.zoomed") == "main"
    assert shares(viewer)[2, "Compile"] == pytest.approx(2 / 3)


def test_reset_by_button_by_key_and_by_root(viewer):
    button = "document.querySelector('.reset')"
    assert viewer.run(f"return {button}.disabled")
    before = shares(viewer)
    for reset in (lambda: viewer.run(f"{button}.click()"), lambda: viewer.keys("Escape"),
                  lambda: click(viewer, "all")):
        click(viewer, "emit")
        assert not viewer.run(f"return {button}.disabled")
        reset()
        viewer.wait("!flamerun.animating")
        assert viewer.run("return flamerun.zoomed").startswith("all")
        assert shares(viewer) == before


def test_zoom_moves_unless_motion_is_unwanted(viewer):
    viewer.run("window.flamerun_frames = []; const tick = () => { flamerun_frames.push(flamerun.boxes.find("
               "b => b.name === 'parse')?.right); requestAnimationFrame(tick); }; tick()")

    def places():
        viewer.run("window.flamerun_frames = []")
        click(viewer, "parse")
        viewer.run("return new Promise(requestAnimationFrame)")
        seen = len(set(viewer.run("return window.flamerun_frames")))
        press(viewer, "Escape")
        return seen
    # A busy machine may show only the end of a zoom's animation.
    assert any(places() > 3 for _ in range(20))
    viewer.media(prefers_reduced_motion="reduce")
    assert places() <= 2


def test_tooltip_tells_name_samples_and_shares(viewer):
    viewer.pointer(*middle(box(viewer, "Compile")))
    viewer.wait("document.querySelector('.tooltip').offsetHeight > 0")
    text = viewer.run("return document.querySelector('.tooltip').innerText").replace("\u202f", " ")
    assert "Compile" in text
    assert "600 samples" in text and "60.0 %" in text
    assert "100 samples" in text and "10.0 %" in text
    viewer.pointer(3, 3)
    viewer.wait("document.querySelector('.tooltip').offsetHeight === 0")


def test_the_picture_follows_the_window(viewer):
    before = box(viewer, "all")
    assert before["right"] - before["left"] == viewer.run("return innerWidth") - 48
    viewer.resize(700, 500)
    viewer.wait("innerWidth <= 700 && flamerun.boxes.some("
                "b => b.row === 0 && b.right - b.left === innerWidth - 48)")
    assert shares(viewer)[1, "main"] == pytest.approx(.9)
    assert viewer.run("return document.documentElement.scrollWidth <= innerWidth")


def test_device_pixels_are_used(viewer):
    try:
        viewer.viewport(1000, 700, ratio=2)
        viewer.wait("document.querySelector('canvas').width === 2 * (1000 - 48)")
    finally:
        viewer.resize_back()


def test_dark_by_preference(viewer):
    b = box(viewer, "parse")
    place = b["right"] - 4, b["top"] + 4
    background = "getComputedStyle(document.querySelector('.flamerun')).backgroundColor"
    light, light_box = viewer.run(f"return {background}"), pixel(viewer, *place)
    viewer.media(prefers_color_scheme="dark")
    viewer.wait(f"{background} !== '{light}'")
    assert sum(pixel(viewer, *place)[:3]) < sum(light_box[:3]) - 150


def test_nothing_is_loaded_from_elsewhere(viewer):
    assert viewer.run("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("rows", (10, 200))
def test_the_first_picture_is_drawn_once(viewer, tmp_path, rows):
    """The canvas is painted once, also if the page must scroll to the root below many rows."""
    stack = ";".join(f"f{row}" for row in range(rows))
    picture = render(f"{stack} 10\n".encode(), tmp_path / "stack.svg")
    counts = viewer.cdp("Page.addScriptToEvaluateOnNewDocument", source="""
        window.drawn = 0;
        const clear = CanvasRenderingContext2D.prototype.clearRect;
        CanvasRenderingContext2D.prototype.clearRect = function(...area) {
            drawn++;
            clear.apply(this, area);
        };""")["identifier"]
    try:
        viewer.open(picture.as_uri())
        viewer.wait("window.flamerun")
        viewer.run("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        assert viewer.run("return document.querySelector('.scroller').scrollTop > 0") == (rows > 99)
        assert viewer.run("return drawn") == 1
    finally:
        viewer.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=counts)
