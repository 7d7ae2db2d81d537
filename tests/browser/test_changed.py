# SPDX-License-Identifier: MIT
"""
If a picture compares two versions, the viewer has the same colours as the static picture, and the
tooltip of a box has its change. In a picture of several runs, the tooltip has their spread.
"""

import json
import random
import subprocess

import pytest

from conftest import FLAMERUN
from viewing import box, middle, pixel, press, show, text

SHARES = {"main;parse": 40, "main;order": 30, "main;emit": 20, "main;check": 10}


@pytest.fixture
def changed(tmp_path):
    """
    Make five runs of each version. In the new one, order is twice as slow and emit half as slow.
    """
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


def test_a_box_tells_how_runs_differ(viewer, tmp_path):
    """
    The shell's loop differs between three runs. The tooltip must have the spread that `flamerun
    top` prints.
    """
    work = "f() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }; echo >>log; f $(($(wc -l <log) * 40000))"
    subprocess.run([FLAMERUN, "-q", "-r", "997", "-n", "3", "-o", "r.svg", "--", "sh", "-c",
                    f"{work}; seq 300 | sort -R >/dev/null"], check=True, cwd=tmp_path)
    told = json.loads(subprocess.run([FLAMERUN, "-q", "top", "r.svg", "--json"], cwd=tmp_path, text=True,
                                     check=True, stdout=subprocess.PIPE).stdout)
    show(viewer, tmp_path / "r.svg")
    # Choose a function with a single box, because `top` sums up all boxes of a function.
    names = [shown["name"] for shown in viewer.run("return flamerun.boxes")]
    function = max((function for function in told["functions"] if function["total_spread"] > 0.1 and
                    sum(name.startswith(function["name"]) for name in names) == 1),
                   key=lambda function: function["total"])
    viewer.pointer(*middle(box(viewer, function["name"])))
    assert text(viewer, ".tooltip .change") == (
        f"share over 3 runs: \u00b1 {function['total_spread']:.1f} points, by itself "
        f"\u00b1 {function['self_spread']:.1f}")
