#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# The viewer in a headless Chromium: bytes, time until two frames are painted, and the longest frames
# while one turns the wheel, types, zooms and turns the graph round. Prints; asserts nothing.
#
# usage: bench_viewer.py [rounds]     BUILD: the build folder
# BASELINE: another flamerun, whose pictures of the same stacks are beside. ASYNC_PROFILER: classes or
# jar of its converter, for its HTML.
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from webdriver import Browser  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
SIZES = [12_000, 200_000, 1_000_000]
DEEPEST = 60
FUNCTIONS = 5000
WORDS = "parse expr tree node alloc list find walk token type decl lower emit match hash block".split()

# Each peer draws on a canvas: the first box, then the second frame after it.
OPENED = """(() => {
    const fill = CanvasRenderingContext2D.prototype.fillRect;
    let drawn = false;
    CanvasRenderingContext2D.prototype.fillRect = function (...area) {
        if (!drawn)
            requestAnimationFrame(() => requestAnimationFrame(() => {
                window.opened = performance.now();
            }));
        drawn = true;
        fill.apply(this, area);
    };
})()"""


def name_of(function):
    first, second = WORDS[function % 16], WORDS[function // 16 % 16]
    return (f"compiler::{first}::{second}_visitor<std::vector<{first}_{function}>>::visit"
            if function % 3 else f"{first}_{second}_{function}")


def write_stacks(path, nodes):
    """A tree of so many nodes in which each function calls a few others often and some seldom."""
    chance = random.Random(7)
    functions, depths, texts, callees = [0], [0], [""], [set()]
    with path.open("w") as out:
        while len(functions) < nodes:
            count = len(functions)
            above = chance.randrange(max(0, count - 30) if chance.random() < .75 else 0, count)
            seldom = min(int(chance.expovariate(1)), 11)
            callee = (functions[above] * 2654435761 + seldom * 40503) % FUNCTIONS + 1
            if depths[above] > DEEPEST or callee in callees[above]:
                continue
            callees[above].add(callee)
            callees.append(set())
            functions.append(callee)
            depths.append(depths[above] + 1)
            texts.append(texts[above] + (";" if above else "") + name_of(callee))
            out.write(f"{texts[-1]} {1 + chance.randrange(9)}\n")


def draw(folder, nodes):
    """Pictures of the same stacks, by who made them."""
    stacks = folder / f"{nodes}.folded"
    write_stacks(stacks, nodes)
    pictures = {}
    for who, program in (("flamerun", BUILD / "flamerun"), ("baseline", os.environ.get("BASELINE"))):
        if program:
            pictures[who] = folder / f"{who}-{nodes}.svg"
            subprocess.run([program, "render", "-q", "--no-config", stacks, "-o", pictures[who]],
                           check=True)
    if os.environ.get("ASYNC_PROFILER"):
        pictures["async-profiler"] = folder / f"async-{nodes}.html"
        subprocess.run(["java", "-cp", os.environ["ASYNC_PROFILER"], "one.convert.Main", stacks,
                        pictures["async-profiler"]], check=True, stdout=subprocess.DEVNULL)
    stacks.unlink()
    return pictures


def parts_of(picture):
    """Bytes of a picture of ours by what they are for."""
    text = picture.read_text("utf-8")

    def size(pattern):
        return sum(len(match.encode()) for match in re.findall(pattern, text, re.S))

    return {"viewer": size(r'<metadata id="flamerun-viewer".*?</metadata>'),
            "script": size(r"<script.*?</script>"), "style": size(r"<style.*?</style>"),
            "data": size(r'<metadata id="flamerun".*?</metadata>'),
            "static": size(r'<g id="flamerun-static".*')}


def print_bytes(what, picture):
    parts = parts_of(picture) if picture.suffix == ".svg" else {}
    said = ", ".join(f"{part} {size / 1000:.1f}" for part, size in parts.items() if size)
    print(f"  {what:<32} {picture.stat().st_size / 1000:8.1f} KB  {said}", flush=True)


def opening(pictures):
    """In turns, so that a noisy machine hits all alike."""
    times = {who: [] for who in pictures}
    with Browser() as browser:
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=OPENED)
        for turn in range(ROUNDS + 1):
            for who, picture in pictures.items():
                browser.open("about:blank")
                browser.open(picture.as_uri())
                opened = browser.wait("window.opened")
                if turn:  # the first time what is common to all is loaded
                    times[who].append(opened)
    for who, values in times.items():
        print(f"  opens, {who:<25} median {statistics.median(values):6.0f} ms, "
              f"least {min(values):6.0f}", flush=True)


def frames(who, picture, nodes):
    with Browser() as browser:
        browser.open(picture.as_uri())
        browser.wait("window.flamerun", 300)
        time.sleep(1)
        browser.run((ROOT / "tests" / "bench" / "frames.js").read_text())
        for what in ("wheel", "typing", "zoom", "bottomUp"):
            browser.run("window.longest = null;"
                        f"bench.{what}({2 * ROUNDS}).then(ms => {{ window.longest = ms; }})")
            longest = sorted(browser.wait("window.longest", 600))
            fast = sum(ms <= 1000 / 30 for ms in longest)
            print(f"  {what}, {nodes} nodes, {who:<12} longest {longest[-1]:5.0f} ms, "
                  f"95 % {longest[int(len(longest) * .95) - 1]:5.0f}, "
                  f"median {statistics.median(longest):5.0f}, {fast} of {len(longest)} in 33",
                  flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="flamerun-bench-") as place:
        folder = pathlib.Path(place)
        true = folder / "true.svg"
        subprocess.run([BUILD / "flamerun", "-q", "--no-config", "-o", true, "--", "true"], check=True)
        print("Bytes:")
        print_bytes("/bin/true", true)
        for nodes in SIZES:
            pictures = draw(folder, nodes)
            for who, picture in pictures.items():
                print_bytes(f"{who}, {nodes} nodes", picture)
            print(f"{nodes} nodes, load {os.getloadavg()[0]:.1f}:")
            opening(pictures)
            for who, picture in pictures.items():
                if picture.suffix == ".svg":
                    frames(who, picture, nodes)


if __name__ == "__main__":
    main()
