# SPDX-License-Identifier: MIT
"""The strip of the run's time: ranges by pointer, finger and key; seconds and lanes below it."""

import pytest

import marked
from marked import mark
from viewing import fact, press, push, show, text

MARKS = [(500_000, "begin <b>"), (2_000_000, "middle")]
# A weight of 2 every 10 ms, in six nodes one after the other. test_marks.py lists the nodes.
SAMPLES = [(10_000 * i, (4, 5, 7, 8, 9, 11)[i * 6 // 401], 2) for i in range(401)]
LONG = [(100_000 * i, (4, 5)[i // 600 % 2], 20) for i in range(1201)]
CHIPS = "return [...document.querySelectorAll('.chip')].map(c => c.textContent)"
TRACK = "return document.querySelector('.track').getBoundingClientRect().toJSON()"


@pytest.fixture(scope="session")
def timed(known, tmp_path_factory):
    return mark(known, tmp_path_factory.mktemp("timed") / "timed.svg", MARKS, SAMPLES)


@pytest.fixture(scope="session")
def long(known, tmp_path_factory):
    return mark(known, tmp_path_factory.mktemp("long") / "long.svg", [], LONG)


def with_threads(picture, output, threads, of_sample):
    """
    Make a copy of a picture in which sample i belongs to thread of_sample(i), an index in @threads
    [(name, process)]. There must be fewer than 128 threads.
    """
    svg = picture.read_text("utf-8")
    columns = marked.unpack(marked.PIECE.search(svg)[2])
    numbers = list(marked.read_varints(columns[marked.NUMBERS]))
    numbers[5] = len(threads)
    texts = [b"".join(bytes([len(name.encode())]) + name.encode() for name in names)
             for names in zip(*threads)]
    columns |= {marked.NUMBERS: b"".join(map(marked.varint, numbers)), 15: texts[0], 40: texts[1],
                48 if 46 in columns else 18: bytes(map(of_sample, range(numbers[6])))}
    output.write_text(marked.PIECE.sub(lambda piece: piece[1] + marked.pack(columns) + piece[3], svg,
                                       count=1), "utf-8")
    return output


THREADS = [("main (1/1)", "job (1)"), ("io <b>&amp; (1/2)", "job (1)"), ("x\n\u202ey (7/7)", "other (7)")]


@pytest.fixture(scope="session")
def threaded(timed, tmp_path_factory):
    return with_threads(timed, tmp_path_factory.mktemp("threaded") / "threaded.svg", THREADS,
                        lambda i: (0, 0, 0, 1, 1, 2)[i % 6])


@pytest.fixture
def strip(viewer, timed):
    show(viewer, timed)
    drawn(viewer)
    return viewer


def drawn(browser):
    browser.wait("document.querySelector('.track .kept')")


def chips(browser):
    return [one.replace("\u202f", " ") for one in browser.run(CHIPS)]


def at(browser, seconds, run=4.000001):
    area = browser.run(TRACK)
    return area["left"] + area["width"] * seconds / run, area["top"] + 20


def drag(browser, *seconds, up=True, places=None):
    places = places or [at(browser, one) for one in seconds]
    moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0} for x, y in places]
    actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:],
               *([{"type": "pointerUp", "button": 0}] if up else [])]
    browser.call("POST", "/actions", {"actions": [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
         "actions": actions}]})


def drop(browser):
    browser.call("POST", "/actions", {"actions": [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
         "actions": [{"type": "pointerUp", "button": 0}]}]})


def chosen(browser):
    """The edges of the chosen range in seconds, as the link has them; None without a range."""
    fragment = browser.run("return location.hash")
    times = [part[5:] for part in fragment.lstrip("#").split("&") if part.startswith("time=")]
    return [float(one) if one else None for one in times[0].split("-")] if times else None


def settled(browser):
    browser.wait("!flamerun.animating && !document.querySelector('.flamerun[aria-busy]')")


def entered(browser):
    """
    How many entries the page has added to the history. history.length cannot be used, because it
    stops at 50.
    """
    return browser.run("""
        if (window.entered === undefined) {
            const push = history.pushState;
            window.entered = 0;
            history.pushState = (...entry) => { window.entered++; push.apply(history, entry); };
        }
        return window.entered""")


def test_a_drag_is_a_range_and_one_step_back(strip):
    whole, entries = fact(strip, "total"), entered(strip)
    drag(strip, 1, 1.2, 1.5, 1.8, 2)
    strip.wait("location.hash.includes('time=')")
    assert chosen(strip) == [pytest.approx(1, abs=.01), pytest.approx(2, abs=.01)]
    assert fact(strip, "total") == pytest.approx(200, abs=4)
    assert entered(strip) == entries + 1
    assert len(chips(strip)) == 1
    strip.call("POST", "/back", {})
    strip.wait(f"flamerun.total === {whole}")
    assert not chips(strip)


def test_the_graph_follows_the_drag(strip):
    drag(strip, 1, 2, up=False)
    strip.wait("flamerun.total < 210")
    assert strip.run("return location.hash") == ""
    drop(strip)
    strip.wait("location.hash.includes('time=')")


def test_escape_takes_a_drag_back(strip):
    whole, entries = fact(strip, "total"), entered(strip)
    drag(strip, 1, 2, up=False)
    strip.wait("flamerun.total < 210")
    press(strip, "Escape")
    strip.wait(f"flamerun.total === {whole}")
    drop(strip)
    assert [strip.run("return location.hash"), entered(strip)] == ["", entries]
    assert not chips(strip)


def test_edges_and_the_range_are_dragged(strip):
    drag(strip, 1, 2)
    strip.wait("location.hash.includes('time=')")
    drag(strip, 2, 2.5, 3)
    strip.wait("flamerun.total > 350")
    strip.wait("/time=\\S+-(3|2.99)/.test(location.hash)")
    drag(strip, 2, 2.2, 2.5)
    strip.wait("/-3.[45]/.test(location.hash)")
    assert chosen(strip) == [pytest.approx(1.5, abs=.02), pytest.approx(3.5, abs=.02)]
    drag(strip, 1.5, 0)
    strip.wait("/time=-3/.test(location.hash)")
    assert chosen(strip)[0] is None


def test_a_click_outside_clears(strip):
    whole = fact(strip, "total")
    drag(strip, 1, 2)
    strip.wait("location.hash.includes('time=')")
    strip.pointer(*at(strip, 1.5), click=True)
    assert len(chips(strip)) == 1
    strip.pointer(*at(strip, 3), click=True)
    strip.wait(f"flamerun.total === {whole}")


def test_a_range_without_samples(strip, known, tmp_path):
    show(strip, mark(known, tmp_path / "gap.svg", [], [(0, 4, 2), (1_000_000, 5, 3), (4_000_000, 7, 4)]))
    drawn(strip)
    drag(strip, 2, 3)
    settled(strip)
    assert fact(strip, "total") == 1000 and not chips(strip)
    drag(strip, .5, 2)
    strip.wait("flamerun.total === 3")


def test_by_keys_alone(strip):
    grips = strip.run("return [...document.querySelectorAll('.grip')].map(g => [g.getAttribute('role'),"
                      "g.getAttribute('aria-valuetext'), g.tabIndex])")
    assert grips == [["slider", "0 s to 4.00 s", -1], ["slider", "0 s to 4.00 s", 0],
                     ["slider", "0 s to 4.00 s", 0]]
    entries = entered(strip)
    strip.run("document.querySelector('.grip.from').focus()")
    strip.keys("Shift+ArrowRight", "Shift+ArrowRight", "ArrowRight")
    strip.wait("location.hash.includes('time=')")
    assert chosen(strip) == [pytest.approx(.42, abs=.01), None]
    assert strip.run("return document.activeElement.className") == "grip from"
    strip.run("document.querySelector('.grip.to').focus()")
    strip.keys(*["Shift+ArrowLeft"] * 5)
    strip.wait("/-3/.test(location.hash)")
    strip.run("document.querySelector('.grip.range').focus()")
    strip.keys("Shift+ArrowRight")
    strip.wait("/-3.2/.test(location.hash)")
    assert chosen(strip) == [pytest.approx(.62, abs=.01), pytest.approx(3.2, abs=.01)]
    assert "620 ms to 3.20 s" == strip.run(
        "return document.activeElement.getAttribute('aria-valuetext')")
    strip.keys("End")
    strip.wait("/time=\\S+-(&|$)/.test(location.hash)")
    strip.run("document.querySelector('.grip.from').focus()")
    strip.keys("Home")
    strip.wait("!location.hash.includes('time=')")
    assert entered(strip) == entries + 5


def test_marks_and_times_at_the_pointer(strip):
    x, y = at(strip, .5)
    strip.pointer(x, y)
    strip.wait("!document.querySelector('.tooltip').hidden")
    told = text(strip, ".tooltip")
    assert "begin <b>" in told and "500 ms" in told
    assert strip.run("return document.querySelector('.ticks[d*=M]').getAttribute('d').match(/M/g)"
                     ".length") == 2
    strip.pointer(*at(strip, 3))
    strip.wait("!document.querySelector('.tooltip').innerText.includes('begin')")


def test_what_is_kept_is_told_from_all(strip, timed):
    areas = "return ['all', 'kept'].map(c => document.querySelector('.track .' + c).getAttribute('d'))"
    every = strip.run(areas)
    assert every[0] == every[1]
    show(strip, timed, "#focus=parse")
    drawn(strip)
    part = strip.run(areas)
    assert part[0] == every[0] and part[1] != every[1]


def test_opened_and_in_the_link(strip, timed):
    press(strip, "a")
    assert not strip.run("return document.querySelector('.lanes').hidden")
    assert strip.run("return location.hash") == "#strip=lanes"
    height = strip.run("return document.querySelector('.stage canvas').clientHeight")
    push(strip, ".lanes-shown")
    assert strip.run("return document.querySelector('.lanes').hidden")
    assert strip.run("return location.hash") == ""
    assert height <= strip.run("return document.querySelector('.stage canvas').clientHeight")
    show(strip, timed, "#time=1-2&strip=lanes")
    drawn(strip)
    assert not strip.run("return document.querySelector('.lanes').hidden")
    assert fact(strip, "total") == 200


ASKED = """
    window.asked = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (question) {
        if (question.task === 'binActivity')
            asked.push(['bins', 'laneBins', 'heatUs'].filter(part => question.details[part]));
        post.call(this, question);
    };"""


def test_what_is_known_is_not_asked_again(viewer, known, tmp_path):
    samples = [(2000 * i, (4, 5)[i // 6000 % 2], 1) for i in range(60000)]
    show(viewer, mark(known, tmp_path / "many.svg", [], samples, ["worker (1/1)"]))
    drawn(viewer)
    viewer.run(ASKED)
    press(viewer, "a")
    viewer.wait("document.querySelector('.lane .kept')")
    press(viewer, "a", "a")
    push(viewer, ".heat-shown")
    viewer.wait("asked.length > 1")
    assert viewer.run("return asked") == [["laneBins"], ["heatUs"]]


def test_seconds_side_by_side(viewer, long):
    show(viewer, long, "#strip=heat")
    viewer.wait("document.querySelector('.heat canvas') && document.querySelector('.heat canvas').width > 9")
    area = viewer.run("return document.querySelector('.heat canvas').getBoundingClientRect().toJSON()")
    place = lambda second, part: (area["left"] + area["width"] * (second + .5) / 121,
                                  area["top"] + area["height"] * (1 - part))
    drag(viewer, places=[place(10, .5), place(11, .5), place(20, .5)])
    viewer.wait("location.hash.includes('time=')")
    assert chosen(viewer) == [pytest.approx(10.5, abs=.1), pytest.approx(20.5, abs=.1)]
    assert fact(viewer, "total") == pytest.approx(2000, abs=40)
    push(viewer, ".heat-shown")
    assert not viewer.run("return document.querySelector('.heat canvas')")


def test_short_runs_have_no_seconds_to_compare(strip):
    press(strip, "a")
    assert strip.run("return document.querySelector('.heat-shown').hidden")


def test_pictures_without_times_have_none(viewer):
    assert viewer.run("return document.querySelector('.strip')") is None
    press(viewer, "a")
    assert "no times" in text(viewer, ".toast")


def test_by_a_finger(viewer, timed):
    viewer.phone(360, 640)
    try:
        show(viewer, timed)
        drawn(viewer)
        height = viewer.run(TRACK)["height"]
        assert height >= 40
        viewer.touch([at(viewer, 1), at(viewer, 1.5), at(viewer, 2)])
        viewer.wait("location.hash.includes('time=')")
        assert chosen(viewer) == [pytest.approx(1, abs=.03), pytest.approx(2, abs=.03)]
        # A finger 12 pixels beside an edge must still drag the edge.
        x, y = at(viewer, 2)
        viewer.touch([(x + 12, y), at(viewer, 2.5), at(viewer, 3)])
        viewer.wait("flamerun.total > 350")
    finally:
        viewer.desk()
        viewer.open("about:blank")


LANES = "return [...document.querySelectorAll('.lane')].map(l => [l.getAttribute('aria-label')"\
    ".replace('\\u202f', ' '), l.getAttribute('aria-selected')])"


def test_lanes(viewer, threaded):
    show(viewer, threaded, "#strip=lanes")
    viewer.wait("document.querySelector('.lane .kept')")
    names = [name.split(",")[0] for name, _ in viewer.run(LANES)]
    assert names == ["process job (1)", "thread main (1/1)", "thread io <b>&amp; (1/2)",
                     "process other (7)"]
    push(viewer, ".lane:nth-child(2)")
    viewer.wait("flamerun.total < 410 && document.querySelector('.lane[aria-selected=true]')")
    assert [chosen for _, chosen in viewer.run(LANES)] == ["false", "true", "false", "false"]
    assert len(chips(viewer)) == 1 and "thread=main" in viewer.run("return location.hash")
    assert fact(viewer, "total") == 2 * 201
    viewer.keys("ArrowDown", "ArrowDown", "Enter")
    viewer.wait("flamerun.total > 410")
    viewer.wait("document.querySelectorAll('.lane[aria-selected=true]').length === 2")
    assert "process other (7)" in viewer.run("return document.activeElement.getAttribute('aria-label')")
    viewer.keys("Enter")
    viewer.wait("flamerun.total < 410")
    viewer.wait("document.querySelectorAll('.lane[aria-selected=true]').length === 1")
    viewer.call("POST", "/back", {})
    viewer.wait("flamerun.total > 410")
    viewer.keys("Home")
    assert "process job" in viewer.run("return document.activeElement.getAttribute('aria-label')")


def test_lanes_of_threads_have_one_scale(viewer, known, tmp_path):
    # In each millisecond one thread is on a CPU all of the time, the other thread for a quarter of
    # it.
    samples = [(1000 * i, 4, weight, thread) for i in range(4001) for thread, weight in ((0, 4), (1, 1))]
    show(viewer, mark(known, tmp_path / "two.svg", [], samples, ["busy (1/1)", "idler (1/2)"], 250_000),
         "#strip=lanes")
    viewer.wait("document.querySelector('.lane .kept')")
    highest = viewer.run(r"""return [...document.querySelectorAll('.lane .all')].map(
        one => 100 - Math.min(...one.getAttribute('d').match(/(?<=V)[\d.]+/g).map(Number)))""")
    assert highest[0] == 100 and highest[1] == pytest.approx(25, abs=3)
    assert [name.replace("\u202f", " ") for name, _ in viewer.run(LANES)] == [
        "thread busy (1/1), 4.00 s, at most 1.0 CPUs", "thread idler (1/2), 1.00 s, at most 0.25 CPUs"]
    assert text(viewer, ".strip-head").splitlines()[1:] == ["≤\u00a01.3 CPUs", "threads ≤\u00a01.0"]


def test_many_threads_are_lanes_by_name(viewer, timed, tmp_path):
    many = with_threads(timed, tmp_path / "many.svg",
                        [(f"pool-{i % 3} (1/{i})", "job (1)") for i in range(120)], lambda i: i % 120)
    show(viewer, many, "#strip=lanes")
    viewer.wait("document.querySelector('.lane .kept')")
    assert [name.split(",")[0] for name, _ in sorted(viewer.run(LANES))] == [
        f"thread pool-{i} \u00d740" for i in range(3)]
    push(viewer, ".lane")
    viewer.wait("location.hash.includes('thread=pool')")
    assert fact(viewer, "total") == pytest.approx(802 / 3, abs=5)
    area = viewer.run("return document.querySelector('.lanes').getBoundingClientRect().height")
    assert area <= 900 * .3 + 1
    # Its members are listed below it, and a single one can be chosen.
    viewer.wait("document.querySelectorAll('.lane').length === 43")
    viewer.keys("ArrowDown", "Enter")
    viewer.wait("document.querySelectorAll('.lane[aria-selected=true]').length === 1")
    assert len(chips(viewer)) == 1 and "/" in chips(viewer)[0]
    assert fact(viewer, "total") == pytest.approx(802 / 120, abs=2)
    viewer.keys("Enter")
    viewer.wait("document.querySelectorAll('.lane').length === 3")
    assert chips(viewer) == []
