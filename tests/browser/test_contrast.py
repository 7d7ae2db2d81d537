# SPDX-License-Identifier: MIT
"""Colours for people who need more contrast, or who have chosen their own colours in the system."""

import time

import pytest

from conftest import render
from viewing import box, fact, pixel, press, pressed
from webdriver import PATIENCE_S

BACKGROUND = "getComputedStyle(document.querySelector('.flamerun')).backgroundColor"


def luminance(color):
    """Relative luminance, WCAG 2.2."""
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + .055) / 1.055) ** 2.4 for c in color[:3]]
    return .2126 * parts[0] + .7152 * parts[1] + .0722 * parts[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + .05) / (low + .05)


def edge_and_fill(browser, name):
    b = box(browser, name)
    return (pixel(browser, b["left"] + 10, b["top"]),
            pixel(browser, b["right"] - 5, b["top"] + 5))


def css_color(browser, name, part="color"):
    """The computed colour of an element, as numbers."""
    return browser.run("""
        const parts = getComputedStyle(document.querySelector(arguments[0]))[arguments[1]];
        return parts.match(/[\\d.]+/g).map(Number)""", name, part)


@pytest.fixture
def emulate(viewer):
    def change(**features):
        viewer.media(prefers_reduced_motion="reduce", **features)
        viewer.run("return new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        return viewer
    yield change
    viewer.media(prefers_contrast="no-preference", forced_colors="none")


def has_edges(browser):
    edge, fill = edge_and_fill(browser, "Compile")
    return edge != fill


def comes(it_is_there):
    """
    Wait for a condition, because the browser may pass on a preference late. Returns whether it
    became true.
    """
    end = time.monotonic() + PATIENCE_S
    while not it_is_there():
        if time.monotonic() > end:
            return False
    return True


def test_boxes_have_no_edges_by_default(viewer):
    assert not has_edges(viewer)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_more_contrast_gives_edges_and_stronger_words(emulate, scheme):
    browser = emulate(prefers_color_scheme=scheme)
    assert comes(lambda: pressed(browser, ".dark") == (scheme == "dark"))
    words = [".flamerun p", ".flamerun .details", ".flamerun .search"]
    ground = css_color(browser, ".flamerun", "backgroundColor")
    before = [contrast(css_color(browser, one), ground) for one in words]
    emulate(prefers_color_scheme=scheme, prefers_contrast="more")
    assert comes(lambda: has_edges(browser))
    ground = css_color(browser, ".flamerun", "backgroundColor")
    after = [contrast(css_color(browser, one), ground) for one in words]
    assert all(a >= 12 and a >= b for a, b in zip(after, before))
    assert contrast(edge_and_fill(browser, "Compile")[0], ground) >= 12


def test_labels_can_be_read_beside_matches(emulate):
    browser = emulate(prefers_color_scheme="light", prefers_contrast="more")
    assert comes(lambda: has_edges(browser))
    press(browser, "/", "e", "m", "i", "t")
    b = box(browser, "Compile")

    def seen(x):
        *color, alpha = pixel(browser, x, b["top"] + b["height"] / 2)
        return luminance([255 + (c - 255) * alpha / 255 for c in color])
    assert min(seen(b["left"] + 5 + x / 2) for x in range(80)) < .02


def test_forced_colors_are_all_there_is(emulate):
    browser = emulate(forced_colors="active", prefers_color_scheme="light")
    canvas, text, highlight = browser.run("""
        const probe = document.querySelector('.flamerun').appendChild(document.createElementNS(
            'http://www.w3.org/1999/xhtml', 'i'));
        const colors = ['Canvas', 'CanvasText', 'Highlight'].map(color => {
            probe.style.cssText = `forced-color-adjust: none; color: ${color}`;
            return getComputedStyle(probe).color.match(/\\d+/g).slice(0, 3).map(Number);
        });
        probe.remove();
        return colors""")
    assert comes(lambda: [c[:3] for c in edge_and_fill(browser, "Compile")] == [text, canvas])
    press(browser, "/", "e", "m", "i", "t")
    assert edge_and_fill(browser, "emit")[1][:3] == pytest.approx(highlight, abs=2)
    assert max(abs(h - c) for h, c in zip(highlight, canvas)) > 60


def test_colors_follow_while_it_is_open(emulate):
    browser = emulate(prefers_color_scheme="light")
    plain = edge_and_fill(browser, "Compile")
    emulate(prefers_color_scheme="light", prefers_contrast="more")
    assert comes(lambda: edge_and_fill(browser, "Compile") != plain)
    emulate(prefers_color_scheme="light", prefers_contrast="no-preference")
    assert comes(lambda: edge_and_fill(browser, "Compile") == plain)


# Functions so narrow that more than fifty share a pixel: one group left of `middle` and one right
# of it, each drawn as one box. `needle` is above a function of the left group. In bottom-up mode,
# the functions of both groups are callers' callers of `hay`.
SLIVERS = b"main;middle 60000\n" + b"".join(
    b"main;%s%04d;g%04d;%s 1\n" % (b"az"[i % 2:i % 2 + 1], i, i, b"needle" if i == 1234 else b"hay")
    for i in range(6000))


@pytest.mark.parametrize("keys,query", [((), "needle"), (("b",), "a1236")])
def test_a_match_in_a_sliver_is_seen(browser, tmp_path, keys, query):
    browser.resize(1280, 900)
    browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    browser.open(render(SLIVERS, tmp_path / "slivers.svg").as_uri())
    browser.wait("window.flamerun")
    if keys:
        press(browser, *keys)
    match = [0xa3, 0x71, 0xf7]

    def colors():
        return [pixel(browser, (b["left"] + b["right"]) / 2, b["top"] + 5)[:3]
                for b in fact(browser, "boxes") if b["merged"]]
    runs = len(colors())
    assert runs == (1 if keys else 2) and match not in colors()
    press(browser, "/", *query)
    assert colors().count(match) == 1
    press(browser, "x")
    assert len(colors()) == runs and match not in colors()
