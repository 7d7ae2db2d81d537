# SPDX-License-Identifier: MIT
"""A picture of two versions: the viewer's colours are the static picture's, and a box tells its change."""

import random
import subprocess

import pytest

from conftest import FLAMERUN
from viewing import box, middle, pixel, press, show, text

SHARES = {"main;parse": 40, "main;order": 30, "main;emit": 20, "main;check": 10}


@pytest.fixture
def changed(tmp_path):
    """Five runs of each version; order is twice as slow in the new one, emit half as slow."""
    draw = random.Random(3)
    words = []
    for side, factors in (("old", {}), ("new", {"order": 2, "emit": 0.5})):
        for run in range(5):
            path = tmp_path / f"{side}-{run}.folded"
            path.write_text("".join(
                f"{stack} {round(50 * share * factors.get(stack[5:], 1) * draw.uniform(.97, 1.03))}\n"
                for stack, share in SHARES.items()))
            words.append(path)
    subprocess.run([FLAMERUN, "-q", "diff", *words[:5], "--", *words[5:], "-o", tmp_path / "d.svg"],
                   check=True, stdout=subprocess.DEVNULL)
    return tmp_path / "d.svg"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_are_verdicts(viewer, changed, scheme):
    show(viewer, changed)
    viewer.media(prefers_color_scheme=scheme)
    viewer.wait(f"document.querySelector('.flamerun').dataset.theme === '{scheme}'")
    seen = {}
    for name in ("order", "emit", "parse"):
        b = box(viewer, name)
        seen[name] = pixel(viewer, b["right"] - 3, b["top"] + 3)[:3]
    assert seen["order"][0] > seen["order"][2] + 40
    assert seen["emit"][2] > seen["emit"][0] + 40
    assert max(seen["parse"]) - min(seen["parse"]) < 16
    press(viewer, "k")
    legend = text(viewer, ".legend")
    assert all(word in legend for word in ("slower", "faster", "no change that is more than chance"))


def test_a_box_tells_its_change(viewer, changed):
    show(viewer, changed)
    viewer.pointer(*middle(box(viewer, "order")))
    tooltip = text(viewer, ".tooltip .change")
    assert " a run, +" in tooltip and " % to +" in tooltip
    assert tooltip in text(viewer, ".details")
