# SPDX-License-Identifier: MIT
"""A thread's samples in order of time, and the hot path."""

import pytest

from conftest import render
from marked import mark
from test_saved import folded, save, through_flamerun
from viewing import click, fact, middle, press, pressed, push, show, text

THREADS = ["main (7/7)", "worker (7/8)", "worker (7/9)", "<img src=x onerror=alert(1)>\u202e (7/10)"]
PERIOD_US = 10_000


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """
    In this picture the first worker has 100 ms of Compile until 0.2 s, a pause, 50 ms each of emit,
    parse and emit until 0.6 s, a pause, and 100 ms of parse until 1 s. The other threads do less.
    """
    folder = tmp_path_factory.mktemp("timed")
    picture = render(b"main;Compile 10\nmain;emit 10\nmain;parse;read 10\n", folder / "known.svg")
    # Numbers of the nodes in the file: main 1, Compile 2, emit 3, parse 4, read 5.
    run = [(200_000, 2, 10, 1), (500_000, 3, 5, 1), (550_000, 5, 5, 1), (600_000, 3, 5, 1),
           (1_000_000, 5, 10, 1)]
    others = [(300_000, 2, 3, 0), (700_000, 5, 2, 2), (800_000, 3, 1, 3)]
    return mark(picture, folder / "timed.svg", [], sorted(run + others), THREADS,
                1000 * PERIOD_US)


def boxes(viewer):
    """
    The boxes above the root: [(row, name, from, to)], where from and to are fractions of the root's
    width.
    """
    found = viewer.run("return flamerun.boxes")
    root = next(b for b in found if b["row"] == 0)
    width = root["right"] - root["left"]
    return sorted((b["row"], b["name"], round((b["left"] - root["left"]) / width, 3),
                   round((b["right"] - root["left"]) / width, 3)) for b in found if b["row"])


def choose(viewer, number):
    """Choose a thread by keys: the one that is @number further down in the list."""
    viewer.run("document.querySelector('.timeline select').focus()")
    for _ in range(number):
        viewer.keys("ArrowDown")
    viewer.wait("!flamerun.animating")


def test_a_thread_is_drawn_in_order_of_time(viewer, timed):
    show(viewer, timed)
    press(viewer, "o")
    viewer.wait("flamerun.boxes[0].name.startsWith('worker (7/8)')")
    assert boxes(viewer) == [
        (1, "main", 0.1, 0.2), (1, "main", 0.45, 0.6), (1, "main", 0.9, 1.0),
        (2, "Compile", 0.1, 0.2), (2, "emit", 0.45, 0.5), (2, "emit", 0.55, 0.6),
        (2, "parse", 0.5, 0.55), (2, "parse", 0.9, 1.0),
        (3, "read", 0.5, 0.55), (3, "read", 0.9, 1.0)]
    assert pressed(viewer, ".views-time") and not pressed(viewer, ".views-graph")
    assert viewer.run("return document.querySelector('.bottom-up').disabled")
    assert text(viewer, ".timeline .known") == "350 ms of CPU time in 1.00 s"
    press(viewer, "b")
    assert not fact(viewer, "bottomUp")
    press(viewer, "g")
    assert fact(viewer, "total") == 30
    assert not viewer.run("return document.querySelector('.timeline').offsetHeight")


def test_what_is_said_of_a_box_in_time_is_when(viewer, timed):
    show(viewer, timed, "#view=time")
    click(viewer, "Compile")
    facts = text(viewer, ".details")
    assert "100 ms" in facts and "0.10 s to 0.20 s" in facts and "10.0 %" in facts
    assert "samples" not in facts
    viewer.pointer(*[640, 5])
    assert "100 ms" in text(viewer, ".spoken") and "0.10 s to 0.20 s" in text(viewer, ".spoken")


def test_seconds_stand_above_their_places(viewer, timed):
    show(viewer, timed, "#view=time&time=0.4-0.8")
    ticks = viewer.run("""
        const area = document.querySelector('canvas').getBoundingClientRect();
        return [...document.querySelectorAll('.ruler span')].map(tick => [tick.textContent,
            (tick.getBoundingClientRect().left - area.left) / area.width])""")
    assert len(ticks) > 4
    for name, share in ticks:
        seconds = float(name.replace("\u202fs", ""))
        assert abs(0.4 + 0.4 * share - seconds) < 1e-3, ticks
    press(viewer, "ArrowUp", "+", "+")
    assert viewer.run("return document.querySelectorAll('.ruler span').length") > 2


def test_another_thread_is_chosen_by_keys_and_by_a_link(viewer, timed):
    show(viewer, timed, "#view=time")
    names = viewer.run("return [...document.querySelectorAll('.timeline option')].map(o => o.value)")
    assert names == [THREADS[1], THREADS[0], THREADS[2],
                     THREADS[3].replace("\u202e", "\ufffd")]
    choose(viewer, 1)
    viewer.wait("flamerun.boxes[0].name.startsWith('main (7/7)')")
    assert [b[1:] for b in boxes(viewer) if b[0] == 2] == [("Compile", 0.27, 0.3)]
    assert "of=main" in viewer.run("return location.hash")
    viewer.run("history.back()")
    viewer.wait("flamerun.boxes[0].name.startsWith('worker (7/8)')")
    show(viewer, timed, "#view=time&of=worker (7%2F9)")
    assert fact(viewer, "zoomed").startswith("worker (7/9)")
    # In a link from another run the thread's numbers differ, so the name decides.
    show(viewer, timed, "#view=time&of=main (1%2F1)")
    assert fact(viewer, "zoomed").startswith("main (7/7)")
    show(viewer, timed, "#view=time&of=nobody")
    assert "nobody" in text(viewer, ".toast")
    show(viewer, timed, "#view=time&of=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%EF%BF%BD (7%2F10)")
    assert fact(viewer, "zoomed").startswith("<img")
    assert not viewer.run("return document.querySelectorAll('.flamerun img').length")


def test_keys_in_the_list_of_threads_are_the_lists(viewer, timed):
    show(viewer, timed, "#view=time")
    viewer.run("document.querySelector('.timeline select').focus()")
    press(viewer, "g")
    assert pressed(viewer, ".views-time")


def test_zoom_in_time_and_its_link(viewer, timed):
    show(viewer, timed, "#view=time")
    second = [b for b in viewer.run("return flamerun.boxes") if b["name"] == "read"][1]
    viewer.pointer((second["left"] + second["right"]) / 2, second["top"] + 5, click=True)
    viewer.wait("!flamerun.animating")
    assert "0.90 s to 1.00 s" in text(viewer, ".details")
    link = viewer.run("return location.hash")
    show(viewer, timed, link)
    assert fact(viewer, "zoomed") == "read"
    assert [b[1] for b in boxes(viewer)] == ["main", "parse", "read"]
    viewer.run("document.querySelector('canvas').focus()")
    press(viewer, "ArrowDown")
    assert "900 ms" not in text(viewer, ".details")
    # A link without `span` leads to the first box with that path.
    show(viewer, timed, link.split("&span")[0])
    assert fact(viewer, "zoomed") == "read"
    press(viewer, "+")
    span = viewer.run("return location.hash").split("span=")[1].split("-")
    assert 0.5 < float(span[0]) < float(span[1]) < 0.55
    press(viewer, "0")
    assert fact(viewer, "zoomed").startswith("worker (7/8)")


def test_a_box_stays_selected_from_view_to_view(viewer, timed):
    show(viewer, timed)
    click(viewer, "read")
    press(viewer, "o")
    viewer.wait("flamerun.selected === 'read' && document.querySelector('.timeline:not([hidden])')")
    assert "0.500 s to 0.550 s" in text(viewer, ".details")
    press(viewer, "g")
    viewer.wait("!document.querySelector('.timeline:not([hidden])')")
    assert fact(viewer, "selected") == "read" and "10 samples" in text(viewer, ".details")


def test_matches_in_time_are_their_time(viewer, timed):
    show(viewer, timed, "#view=time&search=parse")
    assert text(viewer, ".matched") == "Matched 15.0 % of all"
    assert text(viewer, ".matched") and viewer.run(
        "return document.querySelector('.count').textContent") == "2"
    press(viewer, "n")
    assert "0.500 s to 0.550 s" in text(viewer, ".details")
    press(viewer, "n")
    assert "0.90 s to 1.00 s" in text(viewer, ".details")


def test_narrow_boxes_with_gaps_are_seen(viewer, tmp_path, timed):
    samples = [(1_000_000 * i, 2, 1, 0) for i in range(1, 1001)]
    picture = render(b"main;Compile 10\nmain;emit 10\n", tmp_path / "plain.svg")
    show(viewer, mark(picture, tmp_path / "long.svg", [], samples, ["t (1/1)"], 10_000), "#view=time")
    runs = [b for b in viewer.run("return flamerun.boxes") if b["row"] == 1]
    assert all(b["merged"] for b in runs) and len(runs) > 900
    assert all(0.4 < b["right"] - b["left"] < 1.5 for b in runs)


def test_without_times_there_is_no_order_of_them(viewer, known):
    press(viewer, "o")
    assert "no times" in text(viewer, ".toast") and pressed(viewer, ".views-graph")
    show(viewer, known, "#view=time")
    assert pressed(viewer, ".views-graph") and "its times" in text(viewer, ".toast")


@pytest.mark.parametrize("count", [1, 300])
def test_one_sample_and_many_threads(viewer, tmp_path, count):
    picture = render(b"main;Compile 10\n", tmp_path / "plain.svg")
    samples = [(1000 * i, 2, 1 + i, i) for i in range(count)]
    names = [f"thread {i} (1/{i})" for i in range(count)]
    show(viewer, mark(picture, tmp_path / "many.svg", [], samples, names, 1000), "#view=time")
    assert viewer.run("return document.querySelectorAll('.timeline option').length") == count
    assert fact(viewer, "zoomed").startswith(f"thread {count - 1}")


def test_a_phone_has_room_for_time(viewer, timed):
    viewer.phone(360, 740)
    try:
        show(viewer, timed, "#view=time")
        wide, list_height, last = viewer.run("""
            const list = document.querySelector('.timeline select').getBoundingClientRect();
            return [document.scrollingElement.scrollWidth, list.height,
                Math.max(...[...document.querySelectorAll('.timeline *')].filter(one =>
                    !one.closest('.ruler')).map(one => one.getBoundingClientRect().right))]""")
        assert wide <= 360 and list_height >= 44 and last <= 360
        assert len(boxes(viewer)) == 10
    finally:
        viewer.desk()


def test_h_opens_the_hot_path(viewer, known, timed):
    # main has 900 samples: 600 are in Compile, 500 of these in emit, 300 of these in strcmp.
    press(viewer, "h")
    assert fact(viewer, "selected") == "strcmp"
    assert "30.0 %" in text(viewer, ".details") and "4 levels" in text(viewer, ".spoken")
    click(viewer, "main")
    press(viewer, "Escape", "b", "h")
    assert fact(viewer, "selected").startswith("all")
    show(viewer, timed, "#view=time&time=0.8-1")
    press(viewer, "h")
    assert fact(viewer, "selected") == "read"


def test_what_is_saved_is_the_thread_that_is_shown(viewer, timed, tmp_path):
    show(viewer, timed, "#view=time&thread=main")
    assert folded(save(viewer, "Folded")[1]) == {"main;Compile": 3}
    show(viewer, timed, "#view=time")
    assert folded(save(viewer, "Folded")[1]) == {"main;Compile": 10, "main;emit": 10, "main;parse;read": 15}
    viewer.pointer(*middle([b for b in fact(viewer, "boxes") if b["name"] == "read"][0]), click=True)
    viewer.wait("flamerun.zoomed === 'read' && !flamerun.animating")
    assert folded(save(viewer, "Folded")[1]) == {"main;parse;read": 5}
    assert through_flamerun(save(viewer, "pprof")[1], tmp_path, "pb.gz") == {"main;parse;read": 5}
