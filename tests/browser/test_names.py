# SPDX-License-Identifier: MIT
"""The viewer's properties have short names in pictures: those alone that are its own."""

import pathlib

import pytest

from conftest import FLAMERUN

NAMES = pathlib.Path(FLAMERUN).parent / "viewer.names"
# Browsers' of objects that the viewer has nothing to do with.
ELSEWHERE = set("""adopt advance canvas columns confirm context count current extend file frame grow kind labels
    list mask navigator node opened order origin page parent profile rows self side span state total
    weight""".split())
# All properties of what can be reached from the window, and from some elements.
REACHED = """
const seen = new Set(), names = new Set();
function reach(value, depth) {
    if (!value || !/function|object/.test(typeof value) || seen.has(value) || depth > 5)
        return;
    seen.add(value);
    for (const [name, {value: inner}] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
        names.add(name);
        reach(inner, depth + 1);
    }
    reach(Object.getPrototypeOf(value), depth);
}
reach(window, 0);
for (const one of [document, navigator, history, location, document.documentElement.style,
        document.createElement('canvas').getContext('2d')])
    reach(one, 0);
return arguments[0].filter(name => names.has(name));"""


@pytest.mark.skipif(not NAMES.exists(), reason="the viewer was not made here")
def test_names_of_browsers_stay(browser):
    browser.open("about:blank")
    short = NAMES.read_text().strip().split("|")
    assert len(short) > 200
    assert not set(browser.run(REACHED, short)) - ELSEWHERE
