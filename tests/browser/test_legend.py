# SPDX-License-Identifier: MIT
"""The legend explains the colours in the picture. It opens by key or button, and in the sheet."""

import pytest

from conftest import KNOWN, render
from viewing import box, pixel, press, pressed, push, show, text

ALWAYS = ["too narrow to be drawn apart", "what was searched for"]


def meanings(browser, of=".legend"):
    return browser.run("return [...document.querySelectorAll(`${arguments[0]} span`)]"
                       ".map(one => one.textContent)", of)


def shown(browser):
    return browser.run("return document.querySelector('.legend').offsetHeight") > 0


@pytest.mark.parametrize("how", [lambda v: push(v, ".colors"), lambda v: press(v, "k")])
def test_only_what_is_there(viewer, how):
    assert not shown(viewer)
    how(viewer)
    assert shown(viewer) and pressed(viewer, ".colors")
    assert meanings(viewer) == ["function, whatever the hue", "not sampled, or cut off", *ALWAYS]
    area = viewer.run("return document.querySelector('.scroller').getBoundingClientRect().toJSON()")
    viewer.wait(f"document.querySelector('canvas').clientHeight === {round(area['height'])}")
    how(viewer)
    assert not shown(viewer) and not pressed(viewer, ".colors")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_swatches_have_the_colors_of_the_boxes(viewer, tmp_path, scheme):
    show(viewer, render(KNOWN.encode() + b"[a.so+0x10];b 500\n", tmp_path / "a.svg",
                        "--palette", "okabe-ito"))
    viewer.media(prefers_color_scheme=scheme)
    viewer.wait(f"document.querySelector('.flamerun').dataset.theme === '{scheme}'")
    press(viewer, "k")
    fills = viewer.run("return [...document.querySelectorAll('.legend i')].map(one => "
                       "getComputedStyle(one).background.match(/rgb\\([^)]*\\)/g))")
    told = dict(zip(meanings(viewer), fills))
    b = box(viewer, "[unsampled]")
    near = pixel(viewer, b["right"] - 3, b["top"] + 3)[:3]
    shade = [int(n) for n in told["not sampled, or cut off"][0][4:-1].split(",")]
    assert max(abs(a - b) for a, b in zip(near, shade)) < 16
    assert len(told["function, whatever the hue"]) == 3
    assert "no symbol" in told


def test_the_sheet_of_keys_has_them(viewer):
    press(viewer, "?")
    assert meanings(viewer, ".meanings") == [
        "function, whatever the hue", "not sampled, or cut off", *ALWAYS]
    assert "Colours" in text(viewer, ".dialog")
