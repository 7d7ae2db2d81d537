# SPDX-License-Identifier: MIT
"""On a phone the page is as wide as the screen, and fingers can do everything."""

import pytest

from marked import mark
from test_waits import MAIN, MS, draw
from viewing import SEEN, box, fact, middle, show, text

WIDTH, HEIGHT = 360, 640


@pytest.fixture
def phone(viewer, known):
    viewer.phone(WIDTH, HEIGHT)
    try:
        show(viewer, known)
        viewer.wait("flamerun.boxes.length")
        yield viewer
    finally:
        viewer.desk()
        viewer.open("about:blank")


def tap(browser, selector):
    browser.touch([browser.run("""
        const area = document.querySelector(arguments[0]).getBoundingClientRect();
        return [(area.left + area.right) / 2, (area.top + area.bottom) / 2]""", selector)])
    browser.wait("!window.flamerun || !flamerun.animating")


def test_the_page_is_as_wide_as_the_screen(phone):
    assert phone.run("return innerWidth") == WIDTH
    assert phone.run("return [document.documentElement.clientWidth || innerWidth,"
                     "visualViewport.scale]") == [WIDTH, 1]
    assert box(phone, "all", 0)["right"] == pytest.approx(WIDTH - 12, abs=1)


def test_hints_speak_of_fingers(phone):
    assert "Tap" in text(phone, ".details") and "Click" not in text(phone, ".details")
    tap(phone, ".help")
    assert "Two fingers" in text(phone, ".dialog")


def test_a_desk_is_not_told_of_fingers(viewer):
    assert "Tap" not in text(viewer, ".details")
    viewer.keys("?")
    assert "Two fingers" not in text(viewer, ".dialog")
    assert box(viewer, "all", 0)["height"] == 18


@pytest.mark.parametrize("selector", ["button", ".dialog button"])
def test_what_is_tapped_is_large_enough(phone, selector):
    if "dialog" in selector:
        tap(phone, ".help")
    sizes = phone.run("""return [...document.querySelectorAll(arguments[0])].map(one => {
        const area = one.getBoundingClientRect();
        return [one.className, area.width, area.height]; }).filter(one => one[1] > 0)""", selector)
    assert len(sizes) > 5
    for name, width, height in sizes:
        assert height >= 40 and (width >= 40 or name == "crumb"), name
    assert box(phone, "main")["height"] >= 24


def test_everything_is_on_the_screen(phone):
    for selector in ".search input", ".tools .help", ".bar", ".details", "canvas":
        left, right, top, bottom = phone.run("""
            const area = document.querySelector(arguments[0]).getBoundingClientRect();
            return [area.left, area.right, area.top, area.bottom]""", selector)
        assert 0 <= left < right <= WIDTH and 0 <= top < bottom <= HEIGHT, selector
    assert phone.run("return document.querySelector('canvas').clientHeight") > HEIGHT / 3


def test_a_small_phone_shows_eight_rows(viewer, tmp_path):
    """With a strip of time, choices of view and of time, colours explained, and zoomed in."""
    picture = mark(draw(tmp_path / "waits.svg", [MAIN], "--wall"), tmp_path / "timed.svg", [],
                   [(10_000 * i, 2, 1) for i in range(401)], period_ns=MS)
    viewer.phone(320, 568)
    try:
        show(viewer, picture, "#times=both")
        viewer.wait("document.querySelector('.plot')")
        for name in "", "main":
            if name:
                for _ in range(2):
                    viewer.touch([middle(box(viewer, name))])
                    viewer.wait("!flamerun.animating")
                assert fact(viewer, "zoomed") == name
            for selector in ".strip", ".legend", ".times", ".views", ".details":
                assert viewer.run("return document.querySelector(arguments[0]).offsetHeight",
                                  selector) > 0
            height = viewer.run("return document.querySelector('.scroller').clientHeight")
            assert height >= 8 * box(viewer, "all", 0)["height"]
        viewer.run("document.querySelector('.search input').focus()")
        viewer.keys(*"load")
        width = viewer.run("return document.querySelector('.search').offsetWidth")
        assert width == 320 - 2 * 12 and "100 %" not in text(viewer, ".matched")
    finally:
        viewer.desk()
        viewer.open("about:blank")


def test_keys_are_buttons_of_the_sheet(phone):
    tap(phone, ".help")
    phone.run("[...document.querySelectorAll('.key')].find(one => one.textContent === 'b')"
              ".scrollIntoView()")
    phone.run("[...document.querySelectorAll('.key')].find(one => one.textContent === 'b')"
              ".id = 'wanted'")
    tap(phone, "#wanted")
    phone.wait(f"{SEEN['bottomUp']} && !document.querySelector('.dialog')")


def test_a_finger_that_stays_opens_the_menu(phone):
    x, y = middle(box(phone, "main"))
    phone.call("POST", "/actions", {"actions": [
        {"type": "pointer", "id": "finger", "parameters": {"pointerType": "touch"}, "actions": [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 0}, {"type": "pause", "duration": 700},
            {"type": "pointerUp", "button": 0}]}]})
    phone.wait("document.querySelector('.menu')")
    assert "Copy the name" in text(phone, ".menu")
    assert fact(phone, "selected") == "main" and fact(phone, "zoomed").startswith("all")


def test_the_static_picture_has_no_viewport(viewer, known, tmp_path):
    assert "<meta" not in known.read_text().split("</script>")[-1]
    damaged = tmp_path / "damaged.svg"
    damaged.write_text(known.read_text().replace('data-format="1"', 'data-format="0"'))
    viewer.open(damaged.as_uri())
    viewer.wait("document.getElementById('flamerun-static').getBoundingClientRect().width > 1000")
    assert viewer.run("return document.querySelectorAll('meta').length") == 0


def test_a_page_around_it_keeps_its_own_viewport(viewer, known, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><title>a</title><body>" + known.read_text().split("?>", 1)[1])
    viewer.open(page.as_uri())
    viewer.wait("document.readyState === 'complete'")
    assert viewer.run("return document.querySelectorAll('meta').length") == 0
    assert viewer.run("return document.querySelectorAll('canvas').length") == 0
