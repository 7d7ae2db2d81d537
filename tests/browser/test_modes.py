# SPDX-License-Identifier: MIT
"""The modes icicle, bottom-up and dark. The URL remembers them."""

import pytest

from conftest import KNOWN, render
from viewing import box, click, fact, press, pressed, push, shares, show, text


@pytest.fixture
def reopen(viewer, known):
    """Open the known picture with a URL fragment, as a link does."""
    def one(fragment):
        viewer.open("about:blank")
        viewer.open(known.as_uri() + fragment)
        viewer.wait("window.flamerun")
        viewer.wait("!flamerun.animating")
    return one


def fragment(viewer):
    return viewer.run("return location.hash")


@pytest.mark.parametrize("how", [lambda v: push(v, ".icicle"), lambda v: press(v, "i")])
def test_icicle(viewer, how):
    flame = shares(viewer)
    assert box(viewer, "main")["top"] < box(viewer, "all")["top"]
    how(viewer)
    assert pressed(viewer, ".icicle")
    assert box(viewer, "main")["top"] > box(viewer, "all")["top"]
    assert shares(viewer) == flame
    how(viewer)
    assert box(viewer, "main")["top"] < box(viewer, "all")["top"]


@pytest.mark.parametrize("how", [lambda v: push(v, ".bottom-up"), lambda v: press(v, "b")])
def test_bottom_up(viewer, how):
    top_down = shares(viewer)
    how(viewer)
    assert pressed(viewer, ".bottom-up")
    got = shares(viewer)
    for key, share in {(1, "strcmp"): .4, (1, "write_out"): .2, (1, "Compile"): .1,
                       (1, "[unsampled]"): .1, (1, "read_token"): .1, (2, "read_token"): .1,
                       (2, "start"): .1}.items():
        assert got[key] == pytest.approx(share, abs=1e-6), key
    assert sum(share for (row, _), share in got.items() if row == 1) == pytest.approx(1)
    # The heaviest function is leftmost. Its callers are above it.
    assert box(viewer, "strcmp")["left"] == box(viewer, "all")["left"]
    above = [b for b in fact(viewer, "boxes") if b["row"] == 2 and b["name"] == "emit"]
    assert min(b["left"] for b in above) == box(viewer, "strcmp")["left"]
    click(viewer, "strcmp")
    assert shares(viewer)[2, "emit"] == pytest.approx(.75)
    how(viewer)
    assert shares(viewer) == top_down


def test_bottom_up_of_a_tree_already_merged_from_the_leaf(viewer, tmp_path):
    picture = render(KNOWN.encode(), tmp_path / "reversed.svg", "--reverse")
    viewer.open(picture.as_uri())
    viewer.wait("window.flamerun")
    assert pressed(viewer, ".bottom-up") and fact(viewer, "bottomUp")
    assert shares(viewer)[1, "strcmp"] == pytest.approx(.4)
    press(viewer, "b")
    assert not pressed(viewer, ".bottom-up")
    assert shares(viewer)[1, "main"] == pytest.approx(.9)
    assert fragment(viewer) == "#order=top-down"


def test_an_icicle_stays_one(viewer, tmp_path):
    viewer.open(render(KNOWN.encode(), tmp_path / "icicle.svg", "--icicle").as_uri())
    viewer.wait("window.flamerun")
    assert fact(viewer, "icicle") and pressed(viewer, ".icicle")
    press(viewer, "i")
    assert fragment(viewer) == "#layout=flame"


def test_counts_have_their_name(viewer, tmp_path):
    viewer.open(render(KNOWN.encode(), tmp_path / "count.svg", "--count-name", "pages").as_uri())
    viewer.wait("window.flamerun")
    assert box(viewer, "all")["name"] == "all: 1,000 pages"


BACKGROUND = "getComputedStyle(document.querySelector('.flamerun')).backgroundColor"


@pytest.mark.parametrize("how", [lambda v: push(v, ".dark"), lambda v: press(v, "d")])
def test_dark_by_choice(viewer, how):
    light = viewer.run(f"return {BACKGROUND}")
    how(viewer)
    dark = viewer.run(f"return {BACKGROUND}")
    assert dark != light and pressed(viewer, ".dark")
    assert viewer.run("return document.documentElement.style.background") == dark
    how(viewer)
    assert viewer.run(f"return {BACKGROUND}") == light


def test_a_chosen_theme_is_stronger_than_a_preferred_one(viewer):
    light = viewer.run(f"return {BACKGROUND}")
    viewer.media(prefers_color_scheme="dark")
    viewer.wait(f"{BACKGROUND} !== '{light}'")
    press(viewer, "d")
    assert viewer.run(f"return {BACKGROUND}") == light


def test_the_url_remembers(viewer, reopen):
    assert fragment(viewer) == ""
    click(viewer, "Compile")
    click(viewer, "emit")
    press(viewer, "i", "d", "/", *"a|write (", "Alt+r", "Alt+c")
    before = shares(viewer)
    viewer.wait("location.hash.endsWith('case')")
    address = fragment(viewer)
    reopen(address)
    assert fact(viewer, "zoomed") == "emit" and fact(viewer, "icicle")
    assert shares(viewer) == before
    assert viewer.run("return document.querySelector('.search input').value") == "a|write ("
    for button in ".dark", ".regex", ".case", ".icicle":
        assert pressed(viewer, button), button
    assert fragment(viewer) == address


def test_the_url_remembers_bottom_up(viewer, reopen):
    press(viewer, "b")
    click(viewer, "strcmp")
    before = shares(viewer)
    reopen(fragment(viewer))
    assert fact(viewer, "bottomUp") and fact(viewer, "zoomed") == "strcmp"
    assert shares(viewer) == before


def test_the_url_remembers_a_free_view(viewer, reopen):
    press(viewer, "+", "+")
    before = shares(viewer)
    assert "span=" in fragment(viewer)
    reopen(fragment(viewer))
    after = shares(viewer)
    assert after.keys() == before.keys()
    for key, share in before.items():
        assert after[key] == pytest.approx(share, abs=1e-3)


def test_back_and_forward(viewer):
    click(viewer, "Compile")
    click(viewer, "emit")
    viewer.call("POST", "/back", {})
    viewer.wait("flamerun.zoomed === 'Compile' && !flamerun.animating")
    viewer.call("POST", "/back", {})
    viewer.wait("flamerun.zoomed.startsWith('all') && !flamerun.animating")
    viewer.call("POST", "/forward", {})
    viewer.wait("flamerun.zoomed === 'Compile' && !flamerun.animating")


def test_the_way_out_is_kept_by_the_browser(viewer):
    click(viewer, "main")
    click(viewer, "emit")
    viewer.run("window.isBefore = true; location.reload()")
    viewer.wait("!window.isBefore && window.flamerun && flamerun.zoomed === 'emit'")
    press(viewer, "Escape")
    assert fact(viewer, "zoomed") == "main"
    viewer.call("POST", "/back", {})
    viewer.wait("flamerun.zoomed === 'emit' && !flamerun.animating")
    press(viewer, "Escape")
    assert fact(viewer, "zoomed") == "main"
    press(viewer, "Escape")
    assert fact(viewer, "zoomed").startswith("all")


def test_an_edited_fragment_is_followed(viewer):
    press(viewer, "i")
    viewer.run("location.hash = '#search=emit&theme=dark'")
    viewer.wait("flamerun.matched.all > 0")
    assert not fact(viewer, "icicle") and pressed(viewer, ".dark")
    assert fact(viewer, "matched")["all"] == pytest.approx(.5)


@pytest.mark.parametrize("nonsense", [
    "#box=zzzzzz.-1..%", "#span=1-0", "#span=a-b&box=999", "#search=%E0%A4%A&regex", "#order=no",
    "#regex&search=(((", "#box=" + "0." * 3000, "#box=abcdef.99999&mark=abc"])
def test_nonsense_in_the_fragment_does_no_harm(viewer, reopen, nonsense):
    reopen(nonsense)
    assert shares(viewer)[1, "main"] == pytest.approx(.9)
    press(viewer, "ArrowUp", "ArrowUp", "Enter")
    assert fact(viewer, "zoomed") == "main"


def test_a_link_leads_to_the_same_function_of_another_run(viewer, tmp_path):
    click(viewer, "emit")
    link = fragment(viewer)
    assert len(link) < 20
    other = KNOWN.replace("main;", "main;begin;", 1) + "aaa 5\nmain;Compile;aaa 7\n"
    show(viewer, render(other.encode(), tmp_path / "other.svg"), link)
    assert fact(viewer, "zoomed") == "emit"
    assert text(viewer, ".toast") == ""
    gone = KNOWN.replace("emit", "renamed")
    show(viewer, render(gone.encode(), tmp_path / "gone.svg"), link)
    assert fact(viewer, "zoomed") == "Compile"
    said = "Not in this picture of the link: 1 of its 3 levels"
    assert text(viewer, ".toast") == said
    assert viewer.run("return document.querySelector('[aria-live=polite]').textContent") == said


def test_breadcrumbs(viewer):
    assert text(viewer, ".crumbs") == "all"
    click(viewer, "emit")
    crumbs = viewer.run("return [...document.querySelectorAll('.crumb')].map(c => c.textContent)")
    assert crumbs == ["all", "main", "Compile", "emit"]
    assert viewer.run("return document.querySelector('[aria-current]').textContent") == "emit"
    push(viewer, ".crumb:nth-child(2)")
    assert fact(viewer, "zoomed") == "main"
    push(viewer, ".crumb:nth-child(1)")
    assert fact(viewer, "zoomed").startswith("all")


def test_many_breadcrumbs_end_in_sight(viewer, tmp_path):
    names = [f"function_number_{i}" for i in range(60)]
    viewer.open(render(";".join(names).encode() + b" 1\nother 1\n", tmp_path / "d.svg").as_uri())
    viewer.wait("window.flamerun")
    press(viewer, *["ArrowUp"] * 60, "Enter")
    assert fact(viewer, "zoomed") == names[58]
    area = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
    last, bar = viewer.run(area, "[aria-current]"), viewer.run(area, ".crumbs")
    assert bar["left"] <= last["left"] and last["right"] <= bar["right"] + 1
    assert viewer.run("return document.querySelectorAll('.crumb').length") <= 40
    assert viewer.run("return document.querySelectorAll('.crumb')[1].textContent") == "…"


SEEN = "return [...new Set(flamerun.boxes.map(one => one.name))].sort()"


def test_what_is_small_is_hidden(viewer, known, reopen):
    """All views leave it out; what is shown keeps its weight."""
    before = shares(viewer)
    box(viewer, "write_out")
    reopen("#least=15")
    assert text(viewer, ".chip") == "hidden: below 15 %"
    assert viewer.run(SEEN) == ["Compile", "all: 1,000 samples", "emit", "main", "parse", "read_token",
                                "strcmp", "write_out"]
    after = shares(viewer)
    assert after.pop((4, "strcmp")) == pytest.approx(.3)  # the other one is hidden
    assert all(before[place] == share >= .15 for place, share in after.items())
    press(viewer, "b")
    assert viewer.run(SEEN) == ["Compile", "all: 1,000 samples", "emit", "main", "strcmp", "write_out"]
    press(viewer, "t")
    viewer.wait("document.querySelectorAll('.rows .row').length === 7")
    press(viewer, "y")
    viewer.wait("document.querySelector('[role=treegrid] .row[aria-level]')")
    press(viewer, "Escape", "/", *"strcmp")
    assert text(viewer, ".count") == "1"
    push(viewer, ".chip")
    viewer.wait("!document.querySelector('.chip')")
    assert text(viewer, ".count") == "1" and fact(viewer, "bottomUp")


def test_a_key_and_the_menu_hide_what_is_small(viewer):
    for percent in "0.1", "0.5", "1", "2", "5":
        press(viewer, "%")
        viewer.wait(f"location.hash === '#least={percent}'")
    press(viewer, "%")
    viewer.wait("location.hash === ''")
    press(viewer, "ArrowUp", "ArrowUp", "ArrowUp", "ArrowRight", "x")
    viewer.run("[...document.querySelectorAll('.menu button')].find("
               "one => one.innerText.replace('\u202f', ' ') === 'Hide what is below 30 %').click()")
    viewer.wait("location.hash === '#least=30'")
    assert "parse" in viewer.run(SEEN) and "write_out" not in viewer.run(SEEN)


def test_a_percentage_that_is_none_is_told(reopen, viewer):
    reopen("#least=most")
    assert viewer.run("return document.querySelector('.chip')") is None
    assert "most" in text(viewer, ".toast")
