# SPDX-License-Identifier: MIT
"""
Files for speedscope, as speedscope shows them: threads, their totals, functions, and the order of
stacks.
"""

import contextlib
import functools
import http.server
import json
import re
import shutil
import subprocess
import threading

import pytest

from conftest import FLAMERUN, ROOT
from marked import mark

SPEEDSCOPE = ROOT / "build" / "node_modules" / "speedscope" / "dist" / "release"
NS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
# The samples of conftest.KNOWN: (us, node, weight, thread). test_marks.py lists the nodes' numbers.
COMPILE, EMIT_STRCMP, WRITE_OUT, READ_TOKEN, TOKEN_STRCMP, FIND, UNSAMPLED = 2, 4, 5, 7, 8, 9, 11
SAMPLES = [(5, COMPILE, 100, 1), (10, EMIT_STRCMP, 150, 0), (15, TOKEN_STRCMP, 100, 1),
           (16, READ_TOKEN, 100, 1), (17, FIND, 100, 1), (20, WRITE_OUT, 200, 0),
           (25, EMIT_STRCMP, 150, 0), (30, UNSAMPLED, 100, 1)]
THREADS = ["first (7/7)", 'second "quoted" </script> (7/8)']
EXPECTED = {  # function -> total and self, in milliseconds
    THREADS[0]: {"main": (500, 0), "Compile": (500, 0), "emit": (500, 0), "strcmp": (300, 300),
                 "write_out": (200, 200)},
    THREADS[1]: {"main": (400, 0), "Compile": (100, 100), "parse": (300, 0),
                 "read_token": (200, 100), "strcmp": (100, 100),
                 "std::map<Key, Value>::find": (100, 100), "start": (100, 0),
                 "[unsampled]": (100, 100)},
}


@contextlib.contextmanager
def serve(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()


@pytest.fixture
def site(tmp_path):
    """Serve a folder with speedscope in it. Yields the folder and its URL."""
    if not SPEEDSCOPE.is_dir():
        pytest.skip("no speedscope: npm install --prefix build speedscope")
    shutil.copytree(SPEEDSCOPE, tmp_path / "site")
    with serve(tmp_path / "site") as url:
        yield tmp_path / "site", url


def flamerun(*words):
    subprocess.run([FLAMERUN, "-q", *words], check=True, timeout=60)


def show(browser, url, name):
    browser.open("about:blank")
    browser.open(f"{url}/index.html#profileURL={name}&view=sandwich")
    browser.wait("document.querySelector('table') || document.body.innerText.includes('wrong')")


def thread(browser):
    """The thread that the page shows: its name, its number, and how many threads there are."""
    return re.fullmatch(r"(.*) \((\d+)/(\d+)\)", browser.run(
        "return document.body.innerText.split('\\n').find(line => /\\(\\d+\\/\\d+\\)$/.test(line))")
    ).groups()


def table(browser):
    """{function: (total, self) in milliseconds}, as the table on the page has them."""
    def milliseconds(cell):
        number, unit = re.match(r"([\d.]+)(\D+) \(", cell).groups()
        return float(number) * NS[unit] / 1e6

    rows = browser.run("""return [...document.querySelectorAll('table tr')].map(
        row => [...row.querySelectorAll('td')].map(cell => cell.innerText.trim())
    ).filter(row => row.length === 3 && row[0].includes('%'))""")
    return {row[2]: (milliseconds(row[0]), milliseconds(row[1])) for row in rows}


def test_threads_have_their_functions(browser, known, site):
    folder, url = site
    mark(known, folder / "in.svg", [], SAMPLES, THREADS, period_ns=1000000)
    flamerun("render", folder / "in.svg", "-o", folder / "run.speedscope.json", "--title", "The title")
    show(browser, url, "run.speedscope.json")
    assert browser.run("return document.title") == "The title - speedscope"
    # The heaviest thread is shown first. Its table is so short that all rows exist at the same
    # time.
    assert thread(browser) == (THREADS[0], "1", "2")
    assert table(browser) == EXPECTED[THREADS[0]]
    browser.keys("n")
    assert thread(browser) == (THREADS[1], "2", "2")
    assert table(browser) == EXPECTED[THREADS[1]]
    data = json.loads((folder / "run.speedscope.json").read_text("utf-8"))
    found = {one["name"]: [
        (data["shared"]["frames"][stack[-1]]["name"], weight)
        for stack, weight in zip(one["samples"], one["weights"])] for one in data["profiles"]}
    # The order of time, which here differs from the order of the weights and of the stacks.
    assert found == {THREADS[0]: [("strcmp", 150e6), ("write_out", 200e6), ("strcmp", 150e6)],
                     THREADS[1]: [(name, 100e6) for name in (
                         "Compile", "strcmp", "read_token", "std::map<Key, Value>::find",
                         "[unsampled]")]}


def event(kind, frame, at):
    return {"type": kind, "frame": frame, "at": at}


# A file as other programs write it: functions are entered and left, with fractions, a start other
# than 0, and idle time.
FOREIGN = {
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "shared": {"frames": [{"name": "main"}, {"name": "work", "file": "a.c", "line": 3},
                          {"name": "wörk \"x\"\n"}]},
    "profiles": [
        {"type": "evented", "name": "events", "unit": "microseconds", "startValue": 1000,
         "endValue": 3000, "events": [
             event("O", 0, 1000), event("O", 1, 1000.5), event("O", 1, 1100), event("C", 1, 1200),
             event("C", 1, 1500.25), event("C", 0, 1750), event("O", 0, 2000), event("O", 2, 2000),
             event("C", 2, 2999.75), event("C", 0, 3000)]},
        {"type": "sampled", "name": "samples", "unit": "milliseconds", "startValue": 0,
         "endValue": 4, "samples": [[0, 1], [], [0, 2, 1, 2], [0]],
         "weights": [1.5, 1, 0.25, 1.25]},
    ],
}


@pytest.mark.parametrize("number", [0, 1])
def test_what_others_wrote_weighs_the_same(browser, site, number):
    folder, url = site
    one = dict(FOREIGN, profiles=[FOREIGN["profiles"][number]])
    (folder / "in.speedscope.json").write_text(json.dumps(one))
    show(browser, url, "in.speedscope.json")
    told = json.loads(subprocess.run([FLAMERUN, "top", folder / "in.speedscope.json", "--json"],
                                     check=True, stdout=subprocess.PIPE, timeout=60).stdout)
    ours = {row["name"].replace("\ufffd", " "): (row["total"] / 1e6, row["self"] / 1e6)
            for row in told["functions"]}
    theirs = table(browser)
    assert {name.strip() for name in ours} == set(theirs)
    for name, weights in ours.items():
        # The comparison is as exact as the digits that the page shows.
        assert theirs[name.strip()] == pytest.approx(weights, rel=0.005, abs=0.00001), name
