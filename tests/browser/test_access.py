# SPDX-License-Identifier: MIT
"""
Use without seeing the picture: by the accessibility tree for screen readers, and by keys alone.
"""

import pytest

from conftest import KNOWN, ROOT, render
from viewing import click, fact, press, show
from test_static import deep_stacks

AXE = ROOT / "build" / "node_modules" / "axe-core" / "axe.min.js"


def told(browser):
    """The nodes of the accessibility tree that a screen reader gets: [(role, name, properties)]."""
    nodes = (browser.cdp("Accessibility.getFullAXTree") or {}).get("nodes")
    return [(node["role"]["value"], node.get("name", {}).get("value", ""), {
        one["name"]: one["value"].get("value") for one in node.get("properties", [])})
        for node in nodes if not node["ignored"]]


def current(browser):
    """Text and ARIA attributes of the graph's current item, and whether the item is in the tree."""
    return browser.run("""
        const tree = document.querySelector('[role=tree]');
        const item = document.getElementById(tree.getAttribute('aria-activedescendant'));
        return [item.textContent, ...['level', 'posinset', 'setsize', 'selected', 'expanded']
            .map(one => item.getAttribute(`aria-${one}`)), tree.contains(item)]""")


def focus(browser, name, key="Tab"):
    """Press Tab (or @key) until the control whose name begins with @name has the focus."""
    for _ in range(30):
        browser.keys(key)
        label = browser.run("""const at = document.activeElement || document.documentElement;
            return at.getAttribute('aria-label') || at.textContent""")
        if label.startswith(name):
            return
    raise AssertionError(f"no {name} is reached")


@pytest.fixture
def labelled(viewer, tmp_path):
    """A picture with so many labels that its static part contains them as text."""
    picture = render(KNOWN.encode() + deep_stacks(), tmp_path / "many.svg")
    assert picture.read_text().count("<text") > 100
    show(viewer, picture)
    return viewer


def test_the_page_is_no_image_and_the_graph_one_tree(labelled):
    nodes = told(labelled)
    roles = [role for role, _, _ in nodes]
    assert not {"image", "img", "graphics-symbol"} & set(roles)
    assert [name for role, name, _ in nodes if role == "tree"] == ["Flame graph"]
    assert roles.count("main") == 1 and "application" not in roles


def test_what_is_hidden_is_not_told(labelled):
    words = " ".join(name for _, name, _ in told(labelled))
    assert "quite_a_long" not in words and "Open this file" not in words
    assert labelled.run("return document.getElementById('flamerun-static')"
                        ".getAttribute('aria-hidden')") == "true"


def test_the_item_one_is_at_says_what_and_where(viewer):
    assert current(viewer)[0] == "all, 100 %, 1,000 samples"
    focus(viewer, "Flame graph")
    press(viewer, "ArrowUp", "ArrowUp", "ArrowUp")
    assert current(viewer) == ["Compile, 60.0 %, 600 samples", "3", "1", "2", "true", "true", True]
    press(viewer, "ArrowRight")
    assert current(viewer) == ["parse, 30.0 %, 300 samples", "3", "2", "2", "true", "true", True]
    assert viewer.run("return document.querySelector('.spoken').textContent") == ""
    press(viewer, "Enter", "ArrowUp", "ArrowUp")
    assert current(viewer)[:2] == ["strcmp, 10.0 %, 100 samples", "5"]
    assert current(viewer)[5] is None  # a leaf
    press(viewer, "b")
    assert current(viewer)[0] == "all, 100 %, 1,000 samples"


def test_the_browser_tells_it_so(viewer):
    viewer.run("document.querySelector('canvas').focus()")
    press(viewer, "ArrowUp", "ArrowUp")
    assert ("treeitem", "main, 90.0 %, 900 samples") in [one[:2] for one in told(viewer)]
    properties = next(one[2] for one in told(viewer) if one[:2] == ("tree", "Flame graph"))
    assert properties["focused"] and properties["focusable"]
    item = next(one[2] for one in told(viewer) if one[1].startswith("main, "))
    assert (item["level"], item["selected"]) == (2, True)


def test_keys_alone(viewer):
    focus(viewer, "Search functions")
    viewer.keys(*"emit", "Enter")
    viewer.wait("flamerun.selected === 'emit'")
    # Focus them in their order on the page: once Tab has left the page in Firefox, keys no longer
    # reach it.
    for name in ("Match case", "Regular expression", "Next match", "Bottom-up"):
        focus(viewer, name)
    press(viewer, "Enter", "Enter")
    for name in ("Icicle", "What the colours", "Dark or light", "Keys", "all"):
        focus(viewer, name)
    focus(viewer, "Flame graph")
    press(viewer, "ArrowUp", "ArrowUp", "ArrowUp", "Enter")
    assert fact(viewer, "zoomed") == "Compile"
    focus(viewer, "Reset zoom", "Shift+Tab")
    viewer.keys("Enter")
    viewer.wait("flamerun.zoomed.startsWith('all') && !flamerun.animating")
    press(viewer, "?", *["Tab"] * 4, "Enter")
    assert viewer.run("return document.querySelector('.dialog')") is None


STATES = {
    "at first": lambda v: None,
    "searched": lambda v: press(v, "/", *"strcmp", "Enter"),
    "zoomed": lambda v: click(v, "Compile"),
    "colours": lambda v: press(v, "k", "d"),
    "keys": lambda v: press(v, "?"),
    "hovered": lambda v: v.pointer(200, 700),
}


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(viewer, state):
    if not AXE.exists():
        pytest.skip("no axe-core: npm install --prefix build axe-core")
    STATES[state](viewer)
    viewer.run(AXE.read_text() + "; window.axe = axe")
    violations, passes = viewer.run("""return axe.run(document).then(({violations, passes}) =>
        [violations.map(one => [one.id, one.nodes.map(node => node.failureSummary)]),
         passes.length])""")
    assert violations == [] and passes > 15
