# SPDX-License-Identifier: MIT
"""CPU time, waiting time, and both; kinds of waits and holders of locks; idle threads."""

import pathlib
import re
import subprocess
import sys

import pytest

from conftest import FLAMERUN, ROOT, render
from viewing import box, click, fact, middle, pixel, press, pressed, push, shares, show, text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from pprof import Maker  # noqa: E402

MS = 1000000
FUNCTIONS = ["main", "work", "load", "start", "pool", "[futex]", "[read: pipe]", "[no CPU]",
             "[futex: held by load]", "[futex: held by std::map::find]"]
# stack, kind of wait, ms on a CPU, ms waiting, ms ready
MAIN = [("main work", "", 100, 0, 0), ("main work [futex]", "lock", 0, 200, 0),
        ("main load [read: pipe]", "io", 0, 300, 0), ("main [no CPU]", "", 0, 0, 50)]
POOL = [("start pool [futex]", "lock", 0, 1000, 0)]


def draw(output, threads, *options):
    """Draw a picture of @threads, each of which is a list of stacks like MAIN."""
    maker = Maker(("samples", "count"), ("cpu", "nanoseconds"), ("wait", "nanoseconds"),
                  ("runnable", "nanoseconds"))
    for ident, name in enumerate(FUNCTIONS, 1):
        maker.function(ident, name)
    for number, stacks in enumerate(threads):
        for stack, kind, cpu, wait, ready in stacks:
            # Names in brackets contain blanks.
            names = re.findall(r"\[.*?\]|\S+", stack)
            labels = {"thread": f"t (1/{number})", **({"wait": kind} if kind else {})}
            maker.sample([FUNCTIONS.index(name) + 1 for name in reversed(names)],
                         cpu, cpu * MS, wait * MS, ready * MS, **labels)
    maker.period("cpu", "nanoseconds", MS)
    source = output.with_suffix(".in.pb")
    maker.write(source)
    subprocess.run([FLAMERUN, "render", "-q", "--no-config", *options, source, "-o", output],
                   check=True, timeout=60)
    return output


@pytest.fixture(scope="session")
def picture(tmp_path_factory):
    return draw(tmp_path_factory.mktemp("waits") / "waits.svg", [MAIN, POOL, POOL])


@pytest.fixture
def waits(viewer, picture):
    show(viewer, picture)
    return viewer


def names(browser):
    return {b["name"] for b in fact(browser, "boxes") if b["row"]}


def spans(browser):
    """{name of a box: the milliseconds that it stands for}"""
    total = fact(browser, "total")
    return {name: round(share * total) for (_, name), share in shares(browser).items()}


CPU = {"main": 100, "work": 100}
WAITS = {"main": 550, "work": 200, "[futex]": 200, "load": 300, "[read: pipe]": 300,
         "[no CPU]": 50, "[idle: 2 threads]": 2000}
BOTH = {**WAITS, "main": 650, "work": 300}


def test_w_goes_through_the_times(waits):
    for times, boxes, label in [
            ("cpu", CPU, "all: 100 samples, 100 ms of CPU time"),
            ("waits", WAITS, "all: 2.55 s of waiting time"),
            ("both", BOTH, "all: 2.65 s of CPU and waiting time"),
            ("cpu", CPU, "all: 100 samples, 100 ms of CPU time")]:
        assert fact(waits, "times") == times
        # Boxes end on whole pixels, so a box may be one pixel (of 1232) too wide or too narrow.
        assert spans(waits) == {name: pytest.approx(ms, abs=3) for name, ms in boxes.items()}
        assert box(waits, "all", 0)["name"].replace("\u202f", " ") == label
        assert [pressed(waits, f".times button:nth-child({n})") for n in (1, 2, 3)] == [
            times == one for one in ("cpu", "waits", "both")]
        assert waits.run("return location.hash") == ("" if times == "cpu" else f"#times={times}")
        assert bool(waits.run("return document.querySelector('.legend').offsetHeight")) == (
            times != "cpu")
        press(waits, "w")
        assert text(waits, ".spoken") == box(waits, "all", 0)["name"].replace("\u202f", " ")


def test_the_buttons_say_what_they_are(waits):
    push(waits, ".times button:nth-child(3)")
    assert fact(waits, "times") == "both"
    nodes = (waits.cdp("Accessibility.getFullAXTree") or {}).get("nodes")
    if not nodes:
        pytest.skip("this browser does not tell")
    said = {(node["role"]["value"], node["name"]["value"]): {
        one["name"]: one["value"].get("value") for one in node.get("properties", [])}
        for node in nodes if "role" in node and "name" in node}
    assert ("group", "Time that is shown") in said
    assert [said["button", name].get("pressed") for name in ("CPU", "Waits", "Both")] == [
        "false", "false", "true"]


def test_the_address_has_the_times(waits, picture):
    press(waits, "w")
    click(waits, "load")
    fragment = waits.run("return location.hash")
    show(waits, picture, fragment)
    assert fact(waits, "times") == "waits" and fact(waits, "zoomed") == "load"
    press(waits, "w")  # the zoom stays as long as its box exists
    assert fact(waits, "zoomed") == "load"
    press(waits, "w")
    assert fact(waits, "times") == "cpu" and fact(waits, "zoomed") == "main"
    show(waits, picture, "#times=nonsense")
    assert fact(waits, "times") == "cpu"


def color(browser, selector):
    return browser.run("return getComputedStyle(document.querySelector(arguments[0]))"
                       ".backgroundColor.match(/\\d+/g).map(Number)", selector)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_legend_has_the_colors_of_the_boxes(waits, scheme):
    waits.media(prefers_color_scheme=scheme)
    waits.wait(f"document.querySelector('.flamerun').dataset.theme === '{scheme}'")
    press(waits, "w")
    assert " ".join(text(waits, ".legend").split()).startswith(
        "Waiting for: lock 200 ms input, output 300 ms ready, no CPU free 50 ms "
        "idle threads 2.00 s function")
    for n, name in enumerate(["[futex]", "[read: pipe]", "[no CPU]", "[idle"], 1):
        b = box(waits, name)
        assert color(waits, f".legend span:nth-of-type({n}) i") == pixel(
            waits, b["right"] - 3, b["top"] + 3)[:3]


def test_idle_threads_are_one_box_that_opens(waits):
    press(waits, "w")
    assert "pool" not in names(waits)
    idle = box(waits, "[idle")
    # Above the folded box there must be nothing to point at.
    waits.pointer((idle["left"] + idle["right"]) / 2, idle["top"] - idle["height"] / 2)
    assert fact(waits, "hovered") == ""
    click(waits, "[idle")
    assert {"start", "pool", "[futex]"} <= names(waits)
    press(waits, "Escape")
    assert "pool" not in names(waits)
    press(waits, "0")
    # By keys, into the box of idle threads.
    waits.pointer(5, 5)
    click(waits, "all")
    press(waits, "ArrowUp")
    assert fact(waits, "selected").startswith("[idle") and "pool" not in names(waits)
    press(waits, "ArrowUp")
    assert fact(waits, "selected") == "start" and "pool" in names(waits)


def test_a_match_among_idle_threads_is_reached(waits):
    press(waits, "w", "/", "p", "o", "o", "l")
    assert fact(waits, "matched")["all"] == pytest.approx(2000 / 2550)
    press(waits, "Enter")
    assert fact(waits, "selected") == "pool" and "pool" in names(waits)


def test_bottom_up_idle_threads_stay_together(waits):
    press(waits, "w", "b")
    assert spans(waits)["[idle: 2 threads]"] == pytest.approx(2000, abs=3)
    assert {row for (row, name) in shares(waits) if name == "[futex]"} == {1}
    assert "pool" not in names(waits) and {"work", "load"} <= names(waits)
    click(waits, "[idle")
    assert shares(waits)[2, "[futex]"] == pytest.approx(1, abs=.01)
    assert "pool" in names(waits)
    press(waits, "/", "w", "o", "r", "k")
    assert fact(waits, "matched")["all"] == pytest.approx(200 / 2550)
    press(waits, "Escape", "Escape", "0", "w")
    assert fact(waits, "bottomUp") and shares(waits)[1, "work"] == pytest.approx(100 / 2650, abs=.01)


def parts(browser, name):
    browser.pointer(*middle(box(browser, name)))
    browser.wait(f"document.querySelector('.tooltip .name').innerText === '{name}'")
    return [line.split("\t") for line in text(browser, ".tooltip .parts").splitlines()]


def test_a_box_tells_all_of_its_time(waits):
    for times in ("cpu", "waits", "both"):
        assert fact(waits, "times") == times
        assert parts(waits, "work") == [["CPU", "100 ms"], ["lock", "200 ms"]]
        assert "lock 200 ms" in text(waits, ".details")
        press(waits, "w")
    press(waits, "w")
    click(waits, "[idle")
    assert parts(waits, "pool") == [["lock", "2.00 s"]]


def test_a_box_tells_its_time_in_system_calls(viewer, tmp_path):
    show(viewer, render(b"main;copy;read;[kernel: read] 30\nmain;copy 10\nmain;think 60\n",
                        tmp_path / "kernel.svg"))
    assert parts(viewer, "main") == [["CPU", "70 samples"], ["CPU, in the kernel", "30 samples"]]
    assert parts(viewer, "copy") == [["CPU", "10 samples"], ["CPU, in the kernel", "30 samples"]]
    # `think` has no time in the kernel, so its tooltip has no parts.
    viewer.pointer(*middle(box(viewer, "think")))
    viewer.wait("document.querySelector('.tooltip .name').innerText === 'think'")
    assert not viewer.run("return document.querySelector('.tooltip .parts')")


# `work` waits for a lock: 650 ms while `load` holds it, 200 ms while std::map::find holds it, 150
# ms without a known holder. `load` waits only for locks without known holders.
LOCKS = [("main work [futex: held by load]", "lock", 0, 650, 0),
         ("main work [futex: held by std::map::find]", "lock", 0, 200, 0),
         ("main work [futex]", "lock", 0, 150, 0), ("main load [futex]", "lock", 0, 500, 0),
         ("main load", "", 100, 0, 0)]


def test_a_box_tells_who_had_its_locks(viewer, tmp_path):
    show(viewer, draw(tmp_path / "locks.svg", [LOCKS]))
    press(viewer, "w")
    held = "Locks held by load 65.0 %, std::map::find 20.0 %, unknown 15.0 %"
    for name in ("work", "main"):
        assert parts(viewer, name)
        assert text(viewer, ".tooltip .holders") == held
        assert held in text(viewer, ".details")
    assert parts(viewer, "load") == [["CPU", "100 ms"], ["lock", "500 ms"]]
    assert viewer.run("return document.querySelector('.tooltip .holders')") is None
    assert box(viewer, "[futex: held by load]")
    # In bottom-up mode, the lock has a box for each holder.
    press(viewer, "b")
    assert parts(viewer, "[futex: held by load]") == [["lock", "650 ms"]]
    assert text(viewer, ".tooltip .holders") == "Locks held by load 100 %"


def test_without_waits_w_says_so(viewer):
    press(viewer, "w")
    assert text(viewer, ".toast") == "No waits in here"
    assert viewer.run("return document.querySelector('.times')") is None
    assert box(viewer, "all", 0)["name"] == "all: 1,000 samples"


def test_a_program_that_only_waits_is_shown_waiting(viewer, tmp_path):
    picture = draw(tmp_path / "sleeps.svg", [MAIN[1:3]])
    show(viewer, picture)
    assert fact(viewer, "times") == "waits" and fact(viewer, "total") == 500
    assert viewer.run("return location.hash") == ""
    press(viewer, "w")
    assert text(viewer, ".toast") == "Nothing but waits in here"


def test_wall_shows_both_at_first(viewer, tmp_path):
    show(viewer, draw(tmp_path / "wall.svg", [MAIN, POOL, POOL], "--wall"))
    assert fact(viewer, "times") == "both" and viewer.run("return location.hash") == ""
    press(viewer, "w")
    assert fact(viewer, "times") == "cpu"
    assert viewer.run("return location.hash") == "#times=cpu"


def test_idle_threads_can_stay_as_they_are(viewer, tmp_path):
    show(viewer, draw(tmp_path / "all.svg", [MAIN, POOL, POOL], "--wall", "--no-fold-idle"))
    assert "pool" in names(viewer) and not any(name.startswith("[idle") for name in names(viewer))


def test_a_phone_has_room(viewer, picture):
    viewer.viewport(360, 640)
    try:
        show(viewer, picture, "#times=both")
        for selector in (".times", ".legend", ".views", ".bar"):
            left, right, height = viewer.run("""
                const area = document.querySelector(arguments[0]).getBoundingClientRect();
                return [area.left, area.right, area.height]""", selector)
            assert left >= 0 and right <= 360 and height > 15, selector
    finally:
        viewer.resize_back()


def test_kinds_have_one_name():
    """The static picture and the viewer must name the kinds of wait alike, in the same order."""
    drawn = re.search(r"palette_waits\[PALETTE_WAITS\] = \{(.*?)\};",
                      (ROOT / "render" / "palette.c").read_text(), re.S)[1]
    viewed = re.search(r"WAIT_KINDS = new Map\(\[(.*?)\]\);",
                       (ROOT / "share" / "viewer" / "waits.js").read_text(), re.S)[1]
    told = re.findall(r'\{"(.*?)", "(.*?)"', drawn)
    assert len(told) == 7 and told == re.findall(r"\['(.*?)', '(.*?)'\]", viewed)
