# SPDX-License-Identifier: MIT
"""The picture without scripts, with scripts that a policy forbids, and with hostile names."""

import base64
import hashlib
import re
import subprocess
import time
import xml.etree.ElementTree

import pytest

from conftest import KNOWN, OPEN, render
from viewing import serve

LONG = b"x" * 10000
HOSTILE = {
    "cdata": b"]]>;]]><script>window.pwned = 1</script>;<![CDATA[ 3\n",
    "script": b"</script><script>window.pwned = 1</script>;</metadata></svg>;<!-- 3\n",
    "quotes": b"\"';a\" onload=\"window.pwned = 1;&amp;&lt;&;&#0; 3\n",
    "right-to-left":
        "main;\u202eevil\u2066;\u05e9\u05dc\u05d5\u05dd;\u0645\u0631\u062d 3\n".encode(),
    "no-utf8": b"\xff\xfe\xc0\xaf;\xed\xa0\x80;\xf4\x90\x80\x80;\xef\xbf\xbf\x01\x7f\x1b[31m 3\n",
    "long": b"main;" + LONG + b";" + LONG[:5000] + b"<" + LONG + b"> 3\n",
    "deep": b";".join(b"odd" if i % 2 else b"even" for i in range(5000)) + b" 3\n",
    "one": b"main 1\n",
    "wide": b"".join(b"main;f%d 1\n" % i for i in range(5000)),
    "large-weights": b"a;b 4000000000000000\na;c 4000000000000000\n",
}


@pytest.fixture(params=HOSTILE)
def hostile(request, tmp_path):
    return render(HOSTILE[request.param], tmp_path / "hostile.svg")


def test_any_name_gives_well_formed_xml(hostile):
    subprocess.run(["xmllint", "--noout", "--nonet", str(hostile)], check=True)
    root = xml.etree.ElementTree.parse(hostile).getroot()
    assert root.tag.endswith("}svg")
    assert sum(element.tag.endswith("}script") for element in root.iter()) == 1
    assert not [name for element in root.iter() for name in element.attrib
                if name.lower().startswith("on")]


def test_nothing_refers_to_elsewhere(hostile):
    for element in xml.etree.ElementTree.parse(hostile).getroot().iter():
        for name, value in element.attrib.items():
            if name.endswith("href"):
                assert value.startswith("#")


def test_viewers_without_scripts_draw_it(hostile, tmp_path):
    subprocess.run(["rsvg-convert", str(hostile), "-o", str(tmp_path / "r.png")], check=True)
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_no_name_runs_in_a_browser(browser, hostile):
    browser.open(hostile.as_uri())
    browser.wait("document.readyState === 'complete'")
    browser.wait("window.flamerun")
    assert browser.run("return window.pwned") is None
    assert browser.call("GET", "/url") == hostile.as_uri()


def test_deep_graph_scrolls_from_its_root(browser, tmp_path):
    browser.resize(1280, 900)
    browser.open(render(HOSTILE["deep"], tmp_path / "deep.svg").as_uri())
    browser.wait("window.flamerun")
    rows = [b["row"] for b in browser.run("return flamerun.boxes")]
    assert min(rows) == 0 and len(rows) < 100
    browser.run("document.querySelector('.scroller').scrollTop = 0")
    browser.wait("flamerun.boxes.some(b => b.row === 5000)")


# Return the fraction of pixels that differ clearly between two images, the first one scaled to the
# size of the second, and the fraction of pixels that are clearly not white.
COMPARE = """
return (async (...inputs) => {
const load = async url => {
    const image = new Image();
    image.src = url;
    await image.decode();
    return image;
};
const [first, second] = [await load(inputs[0]), await load(inputs[1])];
const read = image => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [second.width, second.height];
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, second.width,
        image.height * second.width / image.width);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
};
const [a, b] = [read(first), read(second)];
let different = 0, inked = 0;
for (let i = 0; i < a.length; i += 4) {
    const distance = Math.max(...[0, 1, 2].map(n => Math.abs(a[i + n] - b[i + n])));
    different += distance > 60;
    inked += a[i] + a[i + 1] + a[i + 2] < 740;
}
return {different: different * 4 / a.length, inked: inked * 4 / a.length};
})(...arguments)
"""


def data_url(path):
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def deep_stacks():
    """Stacks with so many labels that they are not drawn as outlines but as native text."""
    return b"".join(b";".join(b"quite_a_long_function_name_%d_%d" % (j, k) for k in range(130))
                    + b" 2000\n" for j in range(6))


def many_stacks(leaves):
    """@leaves stacks, each of which ends in its own function with a long name."""
    return b"".join(b"main;caller_%02d;function_with_a_name_%04d %d\n" % (i % 20, i, 5 + i % 7)
                    for i in range(leaves))


@pytest.mark.parametrize("leaves,native", [(30, False), (900, True)])
def test_svg_looks_like_png(browser, tmp_path, leaves, native):
    folded = KNOWN.encode() + many_stacks(leaves)
    folded += b"main;" + b"deep;" * 60 + b"x 4000\n"
    if native:
        folded += deep_stacks()
    svg = render(folded, tmp_path / "a.svg")
    png = render(folded, tmp_path / "a.png")
    assert ("<text" in svg.read_text()) == native
    subprocess.run(["rsvg-convert", str(svg), "-o", str(tmp_path / "r.png")], check=True)
    browser.open("about:blank")
    got = browser.run(COMPARE, data_url(png), data_url(tmp_path / "r.png"))
    assert got["inked"] > .05
    assert got["different"] < .02


def policy_of_this_script(picture):
    """A content security policy that allows the script in a picture and no other."""
    script = re.search(r"<script><!\[CDATA\[(.*?)\]\]></script>", picture.read_text(), re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"script-src 'sha256-{digest}'"


@pytest.fixture
def server(known):
    """Serve the known picture. The path determines the content security policy."""
    policies = {"/none.svg": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
                "/self.svg": "script-src 'self'", "/free.svg": None,
                "/inline.svg": "default-src 'none'; script-src 'unsafe-inline'; "
                               "style-src 'unsafe-inline'",
                "/loader.svg": policy_of_this_script(known)}

    with serve(known, policies) as url:
        yield url


# Policies under which files are shown: of Jenkins for artifacts, GitHub's raw files, GitLab, a file
# server, and others that forbid styles or scripts.
POLICIES = [
    "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self';",
    "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "default-src 'self'",
    "default-src 'none'",
    "sandbox",
    "sandbox allow-scripts",
    "style-src 'none'",
    "style-src-attr 'none'; style-src-elem 'none'",
    "script-src 'none'; style-src 'self'; object-src 'none'",
    "default-src 'none'; script-src 'unsafe-inline'",
]
LOOKS = """return [...document.querySelectorAll('#flamerun-static *')].map(one => {
    const {fill, fillOpacity, stroke, strokeWidth, strokeOpacity, strokeLinecap} = getComputedStyle(one);
    return [one.localName, fill, fillOpacity, stroke, strokeWidth, strokeOpacity, strokeLinecap]; })"""


@pytest.fixture(scope="module")
def looks(known):
    """Returns how each element of the static picture looks without a policy."""
    with serve(known, {"/free.svg": None}) as url, OPEN() as browser:
        browser.open(url + "/free.svg")
        browser.wait("document.readyState === 'complete'")
        return browser.run(LOOKS)


@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_no_policy_changes_how_the_static_picture_looks(browser, known, looks, number):
    assert len({stroke for _, _, _, stroke, *_ in looks}) > 3
    with serve(known, {"/p.svg": POLICIES[number]}) as url:
        browser.open(url + "/p.svg")
        browser.wait("document.readyState === 'complete'")
        assert browser.run(LOOKS) == looks


STATIC = """(() => {
    const group = document.getElementById('flamerun-static');
    return !window.flamerun && group.getBoundingClientRect().width > 1000
        && !document.getElementById('flamerun-ui'); })()"""
WHY = "document.querySelector('.flamerun-why')?.textContent"


@pytest.mark.parametrize("path", ["/none.svg", "/self.svg"])
def test_forbidden_scripts_leave_the_static_picture(browser, server, path):
    browser.open(server + path)
    browser.wait("document.readyState === 'complete'")
    assert browser.run(f"return {STATIC}")


@pytest.mark.parametrize("path", ["/free.svg", "/inline.svg"])
def test_where_inline_scripts_may_run_it_is_interactive(browser, server, path):
    browser.open(server + path)
    browser.wait("window.flamerun")


def test_nothing_of_the_static_picture_is_laid_out(viewer):
    """
    Each element has `display: none`, as Chromium computes for the elements in a `g` that has it.
    """
    displays = viewer.run("return [...document.querySelectorAll('#flamerun-static *')]"
                          ".map(each => getComputedStyle(each).display)")
    assert len(displays) > 10 and set(displays) == {"none"}


def test_a_policy_for_the_loader_alone_is_told_of(browser, server):
    browser.open(server + "/loader.svg")
    browser.wait(f"{STATIC} && {WHY}")
    assert "policy" in browser.run(f"return {WHY}")


def test_without_javascript_the_static_picture_stays(known):
    with OPEN(scripts=False) as browser:
        browser.open(known.as_uri())
        time.sleep(.5)
        assert browser.run(f"return {STATIC}")


@pytest.mark.parametrize("damage", [
    lambda text: text.replace('data-format="1"', 'data-format="2"'),
    lambda text: text.replace('urn:flamerun">', 'urn:flamerun">AAAA', 1),
    lambda text: text.replace('id="flamerun" data', 'id="other" data'),
    lambda text: text.replace('id="flamerun-viewer">', 'id="flamerun-viewer">AAAA'),
])
def test_damaged_data_leaves_the_static_picture(browser, known, tmp_path, damage):
    damaged = tmp_path / "damaged.svg"
    damaged.write_text(damage(known.read_text()))
    assert damaged.read_text() != known.read_text()
    browser.open(damaged.as_uri())
    browser.wait(f"{STATIC} && {WHY}")  # the static picture stays hidden until the damage is found
    place = browser.run("""const line = document.querySelector('.flamerun-why')
        .getBoundingClientRect(), all = document.documentElement.getBoundingClientRect();
        return [line.left, line.right, line.bottom, all.right, all.bottom,
            document.elementFromPoint(line.left + 20, line.bottom - 6).getAttribute('class')]""")
    assert place[0] > 0 and place[1] < place[3] and place[2] < place[4]
    assert place[5] == "flamerun-why"


def test_without_decompression_stream_the_static_picture_says_why(browser, known, tmp_path):
    old = tmp_path / "old.svg"
    old.write_text(known.read_text().replace(
        "<script>", "<script>delete window.DecompressionStream</script><script>", 1))
    browser.open(old.as_uri())
    browser.wait(f"{STATIC} && {WHY}")
    assert browser.run("return 'DecompressionStream' in window") is False
    assert browser.run("return [...document.querySelectorAll('.flamerun-why')]"
                       ".map(line => line.textContent)") == [
        "This picture cannot be searched or zoomed here: this browser cannot inflate its data "
        "(no DecompressionStream)"]


def test_saved_after_the_viewer_ran_it_works_again(browser, known, tmp_path):
    browser.resize(1280, 900)
    browser.open(known.as_uri())
    browser.wait("window.flamerun")
    saved = tmp_path / "saved.svg"
    saved.write_text(browser.run(
        "return new XMLSerializer().serializeToString(document)"))
    browser.open(saved.as_uri())
    browser.wait("window.flamerun")
    assert browser.run("return document.querySelectorAll('canvas').length") == 1
    assert browser.run("return document.documentElement.getAttribute('data-width')") == "1200px"
