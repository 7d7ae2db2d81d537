# SPDX-License-Identifier: MIT
"""Saving and copying: files for other programs, and text for the clipboard."""

import base64
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import FLAMERUN, KNOWN
from viewing import box, click, fact, middle, press, push, show, text

KEEP = """
    window.saved = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = blob => { window.blob = blob; return make(blob); };
    HTMLAnchorElement.prototype.click = function () {
        const reader = new FileReader(), name = this.download;
        reader.onload = () => saved.push([name, reader.result]);
        reader.readAsDataURL(blob);
    };"""
STACKS = {stack: int(weight) for stack, weight in
          (line.rsplit(" ", 1) for line in KNOWN.splitlines())}


def save(browser, what):
    """Save in the format whose button begins with @what. Returns the file's name and bytes."""
    browser.run(KEEP)
    press(browser, "S")
    browser.run("""[...document.querySelectorAll('.format')]
        .find(one => one.innerText.startsWith(arguments[0])).click()""", what)
    browser.wait("window.saved.length || document.querySelector('.toast').innerText")
    (name, data), = browser.run("return saved")
    return name, base64.b64decode(data.split(",", 1)[1])


def folded(content):
    return {stack: int(weight) for stack, weight in
            (line.rsplit(" ", 1) for line in content.decode().splitlines())}


def through_flamerun(content, path, suffix, *options):
    """The stacks that flamerun reads from the saved content: {stack: weight}."""
    saved = path / f"saved.{suffix}"
    saved.write_bytes(content)
    subprocess.run([FLAMERUN, "render", "-q", "--no-config", *options, str(saved), "-o",
                    str(path / "read.folded")], check=True, timeout=60)
    return folded((path / "read.folded").read_bytes())


@pytest.mark.parametrize("order", ["", "#order=bottom-up"])
def test_folded_stacks(viewer, known, order):
    show(viewer, known, order)
    name, content = save(viewer, "Folded")
    assert name.endswith(".folded") and folded(content) == STACKS


def test_a_pprof_profile(viewer, tmp_path):
    name, content = save(viewer, "pprof")
    assert name.endswith(".pb.gz")
    assert through_flamerun(content, tmp_path, "pb.gz") == STACKS


def test_only_what_is_selected(viewer, tmp_path):
    click(viewer, "Compile")
    part = {stack: weight for stack, weight in STACKS.items() if "Compile" in stack}
    assert folded(save(viewer, "Folded")[1]) == part
    press(viewer, "0")
    viewer.run("location.hash = 'hide=emit&focus=Compile'")
    viewer.wait("flamerun.total === 600")
    wanted = {"main;Compile;strcmp": 300, "main;Compile;write_out": 200, "main;Compile": 100}
    assert folded(save(viewer, "Folded")[1]) == wanted
    assert through_flamerun(save(viewer, "pprof")[1], tmp_path, "pb.gz") == wanted


def test_drawings(viewer):
    click(viewer, "Compile")
    name, content = save(viewer, "SVG")
    drawing = xml.etree.ElementTree.fromstring(content)
    texts = {one.text for one in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert name.endswith(".svg") and {"Compile", "emit", "strcmp"} <= texts and "parse" not in texts
    assert drawing.get("width") == "1200"
    name, content = save(viewer, "PNG")
    assert name.endswith(".png") and content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") == 2400


def test_a_text_tree(viewer):
    click(viewer, "main")
    lines = save(viewer, "Text")[1].decode().splitlines()
    at = lines.index("  100 %  main")
    assert lines[at + 1:at + 9] == [
        " 66.7 %  ├ Compile", " 55.6 %  │ └ emit", " 33.3 %  │   ├ strcmp", " 22.2 %  │   └ write_out",
        " 33.3 %  └ parse", " 22.2 %    ├ read_token", " 11.1 %    │ └ strcmp",
        " 11.1 %    └ std::map<Key, Value>::find"]
    assert lines[-1] == "100 % are 900 samples"


def menu(browser):
    return browser.run("return [...document.querySelectorAll('.menu button')].map(one => one.innerText)")


def choose(browser, name, what):
    """Choose @what from the menu of a box, which the right mouse button opens."""
    x, y = middle(box(browser, name))
    browser.call("POST", "/actions", {"actions": [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 2}, {"type": "pointerUp", "button": 2}]}]})
    browser.wait("document.querySelector('.menu')")
    browser.run("""[...document.querySelectorAll('.menu button')]
        .find(one => one.innerText.startsWith(arguments[0])).click()""", what)
    assert browser.run("return document.querySelector('.menu')") is None


def chips(browser):
    return browser.run("return [...document.querySelectorAll('.chip')].map(one => one.innerText)")


def test_a_box_has_a_menu(viewer):
    choose(viewer, "emit", "Hide it")
    viewer.wait("flamerun.boxes.every(one => one.name !== 'emit')")
    assert chips(viewer) == ["hidden: emit"] and fact(viewer, "total") == 1000
    choose(viewer, "Compile", "Only stacks")
    viewer.wait("flamerun.total === 600")
    assert viewer.run("return location.hash") == "#hide=emit&focus=Compile"
    push(viewer, ".chip:nth-child(1)")
    viewer.wait("flamerun.boxes.some(one => one.name === 'emit')")
    assert chips(viewer) == ["with Compile"]
    viewer.call("POST", "/back", {})
    viewer.wait("flamerun.boxes.every(one => one.name !== 'emit')")
    viewer.call("POST", "/back", {})
    viewer.wait("flamerun.total === 1000")
    assert chips(viewer) == ["hidden: emit"]
    press(viewer, "Escape")
    viewer.wait("!document.querySelector('.chip')")


def test_the_menu_by_keys(viewer):
    press(viewer, "ArrowDown", "ArrowUp", "Shift+F10")
    assert "Zoom in" in menu(viewer)
    assert viewer.run("return document.activeElement.innerText") == "Zoom in"
    press(viewer, "ArrowUp")
    assert viewer.run("return document.activeElement.innerText").startswith("Save")
    press(viewer, "Home", "ArrowDown")
    assert viewer.run("return document.activeElement.innerText") == "Callers and callees"
    press(viewer, "Escape")
    assert not menu(viewer) and viewer.run("return document.activeElement.localName") == "canvas"
    press(viewer, "x", "Tab")
    assert not menu(viewer)


def test_what_is_left_without_anything_is_refused(viewer):
    viewer.run("location.hash = 'focus=parse&ignore=main'")
    viewer.wait("document.querySelector('.toast').innerText.includes('what it selects')")
    assert fact(viewer, "total") == 1000 and not chips(viewer)


def test_a_link_names_what_is_not_there(viewer, known):
    show(viewer, known, "#hide=emit&focus=nowhere&thread=x")
    assert "Not in this picture of the link: nowhere, x" in text(viewer, ".toast")
    assert chips(viewer) == ["hidden: emit"]
