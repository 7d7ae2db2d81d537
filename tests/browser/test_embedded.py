# SPDX-License-Identifier: MIT
"""
Several pictures in one page. In frames all are interactive; pasted into the page all stay static.
"""

import functools
import http.server
import threading

import pytest

from conftest import KNOWN, render
from viewing import SEEN


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two pictures with different letters: alone, pasted into a page, and in frames of a page."""
    path = tmp_path_factory.mktemp("pages")
    pictures = [render(KNOWN.encode(), path / "one.svg", "--title", "first"),
                render(b"zygote;quux_ 7\nzygote;waxy 9\n", path / "two.svg", "--title", "second")]
    texts = [one.read_text() for one in pictures]
    assert not any("<text" in one for one in texts), "letters are outlines here"
    pasted = "<br>".join(one.split("?>", 1)[1] for one in texts)
    head = "<!DOCTYPE html><meta charset=utf-8><title>two</title><style>body{margin:0}</style>"
    (path / "pasted.html").write_text(head + pasted)
    for name, tag in ("iframe", "<iframe src=%s width=900 height=400></iframe>"), (
            "object", "<object data=%s width=900 height=400></object>"):
        (path / f"{name}.html").write_text(head + "".join(tag % one.name for one in pictures))
    return path


@pytest.fixture(scope="module")
def site(folder):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()


@pytest.mark.parametrize("tag", ["iframe", "object"])
def test_frames_are_all_alive(browser, site, tag):
    browser.resize(1280, 900)
    browser.open(f"{site}/{tag}.html")
    frames = f"[...document.querySelectorAll('{tag}')].map(one => one.contentWindow)"
    browser.wait(f"{frames}.every(one => one && one.flamerun && one.flamerun.boxes.length)")
    browser.run(f"const [first] = {frames}; first.document.querySelector('.icicle').click()")
    assert browser.run(f"return {frames}.map(({{document}}) => {SEEN['icicle']})") == [True, False]
    assert browser.run(f"return {frames}.map(one => one.location.hash)") == ["#layout=icicle", ""]
    assert browser.run("return location.hash") == ""


def test_pasted_ones_stay_static_and_apart(browser, site):
    browser.resize(1280, 900)
    browser.open(f"{site}/pasted.html")
    browser.wait("document.readyState === 'complete'")
    assert browser.run("return [document.querySelectorAll('canvas').length, !!window.flamerun?.boxes,"
                       "document.querySelectorAll('svg[role=img]').length]") == [0, False, 2]
    # Each letter must be drawn by a symbol of its own picture, not by a symbol of the other
    # picture.
    strangers = browser.run("""
        return [...document.querySelectorAll('use')].filter(one => {
            const name = one.getAttribute('xlink:href') || one.getAttribute('href');
            return !one.closest('svg[role=img]').contains(document.querySelector(name)); })
            .map(one => one.outerHTML).slice(0, 3)""")
    assert strangers == []
    assert browser.run("return document.querySelectorAll('use').length") > 50


def test_pasted_ones_have_their_own_names(browser, site):
    browser.open(f"{site}/pasted.html")
    browser.wait("document.readyState === 'complete'")
    nodes = (browser.cdp("Accessibility.getFullAXTree") or {}).get("nodes")
    names = [node["name"]["value"] for node in nodes
             if not node["ignored"] and node["role"]["value"] in ("image", "img")]
    assert names == ["first", "second"]
