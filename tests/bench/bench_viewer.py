#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure the viewer in a headless Chromium, and other viewers of the same stacks: bytes, time and
# CPU time until two frames are painted, memory, and the longest frames while zooming into the same
# boxes and searching the same words; for flamerun's viewer also while turning the wheel and
# reversing the graph. Each viewer has its own browser, and they take turns. Prints; asserts
# nothing.
#
# usage: bench_viewer.py [-r ROUNDS] [-z ZOOMS] [-k FOLDER] [-s SIDE,...] [STACKS...]
#
# STACKS are numbers of nodes to make up, NODES:SAMPLES for this number of samples with times, files
# of folded stacks, or flamerun's pictures. Only flamerun's viewer shows samples and pictures. Files
# that are made are kept in FOLDER, so that a later call measures at once; --prepare only makes
# them. Viewers that are not installed are left out with a message. Environment:
#   BUILD           the build folder
#   BASELINE        another flamerun
#   FLAMEGRAPH      flamegraph.pl
#   ASYNC_PROFILER  classes or jar of its converter
#   NODE_MODULES    a folder with speedscope, d3 and d3-flame-graph
import argparse
import array
import collections
import contextlib
import functools
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))
import marked  # noqa: E402
import webdriver  # noqa: E402
from webdriver import Browser  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
FRAMES = (ROOT / "tests" / "bench" / "frames.js").read_text()
SIZES = ["12000", "200000", "1000000"]
DEEPEST = 60
FUNCTIONS = 5000
WORDS = "parse expr tree node alloc list find walk token type decl lower emit match hash block".split()

ZOOMS = 100
HIGHEST = 30  # deepest row to zoom into; all viewers show it without scrolling
NARROWEST = 8 / 1200  # narrowest box to zoom into, as a share of the view
PATIENCE_S = 100  # limit for each action of a side

# Resolves at the first box and then the second frame after it. On a canvas this is when the box is
# drawn; in an SVG file, when the box exists.
OPENED = """(() => {
    const frames = (n, then) => n ? requestAnimationFrame(() => frames(n - 1, then)) : then();
    window.hasOpened = new Promise(resolve => {
        window.paints = () => {
            window.paints = () => {};
            frames(2, () => resolve(performance.now()));
        };
    });
    for (const [context, ...names] of [[CanvasRenderingContext2D, 'fillRect'],
            [WebGLRenderingContext, 'drawArrays', 'drawElements']])
        for (const name of names) {
            const draw = context.prototype[name];
            context.prototype[name] = function (...area) {
                window.paints();
                draw.apply(this, area);
            };
        }
    addEventListener('load', () => document.querySelector('#frames') && window.paints());
})()"""

D3_PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>{style}</style><div id="chart"></div>
<script>{d3}</script><script>{flamegraph}</script><script type="application/json" id="stacks">{data}
</script><script>
const chart = flamegraph.default().width(1200);
d3.select('#chart').datum(JSON.parse(document.querySelector('#stacks').textContent)).call(chart);
paints();
</script>"""


# ---- stacks -------------------------------------------------------------------------------------

def name_of(function):
    first, second = WORDS[function % 16], WORDS[function // 16 % 16]
    return (f"compiler::{first}::{second}_visitor<std::vector<{first}_{function}>>::visit"
            if function % 3 else f"{first}_{second}_{function}")


def write_stacks(path, nodes):
    """
    Write a tree of @nodes nodes, in which each function often calls a few others and seldom some
    more.
    """
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


class Tree:
    """The tree of a file of folded stacks. Parents come before their children."""

    def __init__(self, path):
        self.name, self.parent, self.depth, self.total = ["all"], [0], [0], [0]
        known = {}
        with path.open(errors="replace") as lines:
            for line in lines:
                stack, weight = line.rstrip("\n").rsplit(" ", 1)
                node = 0
                self.total[0] += int(weight)
                for name in stack.split(";"):
                    above, node = node, known.setdefault((node, name), len(self.name))
                    if node == len(self.name):
                        self.name.append(name)
                        self.parent.append(above)
                        self.depth.append(self.depth[above] + 1)
                        self.total.append(0)
                    self.total[node] += int(weight)
        self.children = collections.defaultdict(list)
        for node in range(1, len(self.name)):
            self.children[self.parent[node]].append(node)

    def as_d3(self):
        made = [{"name": name, "value": total} for name, total in zip(self.name, self.total)]
        for above, children in self.children.items():
            made[above]["children"] = [made[node] for node in children]
        sys.setrecursionlimit(10 * max(self.depth) + 1000)
        return json.dumps(made[0], separators=(",", ":"))

    def places(self):
        """Return for each node the weight to its left if heavier siblings come first."""
        left = [0] * len(self.name)
        for above in range(len(left)):
            at = left[above]
            for node in sorted(self.children.get(above, ()), key=lambda one: -self.total[one]):
                left[node] = at
                at += self.total[node]
        return left

    def within(self, top):
        """Return the nodes below @top that are wide enough to click if @top fills the view."""
        found, rest = [], [top]
        while rest:
            node = rest.pop()
            found.append(node)
            if self.depth[node] < HIGHEST:
                rest += [child for child in self.children.get(node, ())
                         if self.total[child] >= self.total[top] * NARROWEST]
        return found[1:]

    def zooms(self, count):
        """Return @count zoom targets: in, deeper, then out (None). The random seed is fixed."""
        chance, left, steps, top = random.Random(7), self.places(), [], 0
        while len(steps) < count:
            below = self.within(top) if len(steps) % 3 < 2 else []
            top = chance.choice(below) if below else 0
            steps.append({"name": self.name[top], "depth": self.depth[top],
                          "total": self.total[top], "left": left[top]} if top else None)
        return steps

    def words(self):
        """Return the beginnings of five names, from heavy to light functions."""
        weights = collections.Counter()
        for name, total in zip(self.name[1:], self.total[1:]):
            weights[name] += total
        names = [match[0] for name, _ in weights.most_common()
                 if (match := re.match(r"[a-z]\w{3,8}", name))]
        return [names[len(names) * i // 5] for i in range(5)]


def facts_of(stacks):
    """Return a tree's size, zoom targets and search words, from a file if they were made before."""
    kept = stacks.with_suffix(".json")
    if not kept.exists():
        tree = Tree(stacks)
        kept.write_text(json.dumps({"nodes": len(tree.name), "total": tree.total[0],
                                    "rows": max(tree.depth), "steps": tree.zooms(3 * ZOOMS),
                                    "words": tree.words()}))
    return json.loads(kept.read_text())


# ---- samples ------------------------------------------------------------------------------------

def planes(numbers):
    """
    Store 32-bit numbers as planes: the lowest byte of all numbers, then the next byte of all, and
    so on.
    """
    data = numbers.tobytes()
    return b"".join(data[plane::4] for plane in range(4))


def put_samples(picture, output, nodes, count):
    """
    Write a copy of a picture with @count samples of 8 threads, 1 ms apart. A thread's next sample
    is near its last node, as in programs, and sometimes elsewhere.
    """
    chance = random.Random(7)
    svg = picture.read_text("utf-8")
    begin, end = svg.index("<piece"), svg.rindex("</piece>") + len("</piece>")
    columns = marked.unpack("".join(re.findall(r">([^<]*)</piece>", svg[begin:end])))
    at, steps, threads = [0] * 8, array.array("I", bytes(4 * count)), bytearray(count)
    far = [chance.randrange(nodes) for _ in range(4096)]
    near = [chance.randrange(-200, 200) for _ in range(4096)]
    for i in range(count):
        dice = chance.getrandbits(17)
        thread = dice & 7
        was = at[thread]
        node = far[dice >> 5] if dice & 24 == 0 else was + near[dice >> 5]
        node = min(max(node, 0), nodes - 1)
        steps[i] = (node - was) << 1 if node >= was else (was - node - 1) << 1 | 1
        at[thread], threads[i] = node, thread
    numbers = list(marked.read_varints(columns[marked.NUMBERS]))
    numbers[marked.PERIOD], numbers[marked.THREAD_COUNT], numbers[marked.SAMPLES] = 10 ** 6, 8, count
    names = [f"worker (1/{i + 1})".encode() for i in range(8)]
    columns.update({
        marked.NUMBERS: b"".join(map(marked.varint, numbers)),
        marked.THREADS: b"".join(marked.varint(len(name)) + name for name in names),
        marked.PROCESSES: bytes(8), marked.TICK: marked.varint(1000),
        marked.SAMPLE_TIMES: b"\1" * count, marked.SAMPLE_NODES: planes(steps),
        marked.SAMPLE_THREADS: bytes(threads), marked.SAMPLE_WEIGHTS: b"\1" * count,
        marked.SAMPLE_KINDS: bytes(count)})
    text = marked.pack(columns)
    pieces = "".join(f'<piece xmlns="urn:flamerun">{text[i:i + 2 ** 20]}</piece>\n'
                     for i in range(0, len(text), 2 ** 20))
    output.write_text(svg[:begin] + pieces + svg[end:], "utf-8")


# ---- sides --------------------------------------------------------------------------------------

# path: the URL's path; bytes: size of the files; kind: key of `viewers` in frames.js
Side = collections.namedtuple("Side", "who path bytes kind")


def size_of(*files):
    return sum(file.stat().st_size for file in files)


def flamerun_side(who, program, folder, stacks):
    picture = folder / f"{who}-{stacks.stem}.svg"
    if not picture.exists() or picture.stat().st_mtime < pathlib.Path(program).stat().st_mtime:
        subprocess.run([program, "render", "-q", "--no-config", stacks, "-o", picture], check=True)
    return Side(who, picture.name, size_of(picture), "flamerun")


def flamegraph_side(script, folder, stacks):
    picture = folder / f"flamegraph-{stacks.stem}.svg"
    if not picture.exists():
        with picture.open("wb") as out:
            subprocess.run(["perl", script, stacks], stdout=out, stderr=subprocess.DEVNULL, check=True)
    return Side("flamegraph.pl", picture.name, size_of(picture), "flamegraph")


def async_side(classes, folder, stacks):
    page = folder / f"async-{stacks.stem}.html"
    if not page.exists():
        subprocess.run(["java", "-cp", classes, "one.convert.Main", stacks, page], check=True,
                       stdout=subprocess.DEVNULL)
    return Side("async-profiler", page.name, size_of(page), "async")


def speedscope_side(modules, folder, stacks):
    """Copy the installed speedscope, and put the stacks beside it."""
    app = folder / "speedscope"
    if not app.exists():
        shutil.copytree(modules / "speedscope" / "dist" / "release", app)
    return Side("speedscope", f"speedscope/index.html#view=left-heavy&profileURL=/{stacks.name}",
                size_of(stacks, app / "index.html", *app.glob("speedscope-*")), "speedscope")


def d3_side(modules, folder, stacks):
    page = folder / f"d3-{stacks.stem}.html"
    built = modules / "d3-flame-graph" / "dist"
    if page.exists():
        return Side("d3-flame-graph", page.name, size_of(page), "d3")
    page.write_text(D3_PAGE.format(
        style=(built / "d3-flamegraph.css").read_text(),
        d3=(modules / "d3" / "dist" / "d3.min.js").read_text(),
        flamegraph=(built / "d3-flamegraph.umd.min.js").read_text(),
        data=Tree(stacks).as_d3().replace("<", "\\u003c")))
    return Side("d3-flame-graph", page.name, size_of(page), "d3")


def draw(folder, stacks, wanted):
    """Return the requested viewers that are installed, each for the same stacks."""
    peers = {
        "flamerun": ("", lambda _: flamerun_side("flamerun", BUILD / "flamerun", folder, stacks)),
        "baseline": ("BASELINE", lambda place: flamerun_side("baseline", place, folder, stacks)),
        "flamegraph.pl": ("FLAMEGRAPH", lambda place: flamegraph_side(place, folder, stacks)),
        "async-profiler": ("ASYNC_PROFILER", lambda place: async_side(place, folder, stacks)),
        "speedscope": ("NODE_MODULES",
                       lambda place: speedscope_side(pathlib.Path(place), folder, stacks)),
        "d3-flame-graph": ("NODE_MODULES",
                           lambda place: d3_side(pathlib.Path(place), folder, stacks))}
    sides = []
    for who, (variable, make) in peers.items():
        if wanted and who not in wanted.split(","):
            continue
        if variable and variable not in os.environ:
            print(f"  without {who}, which {variable} would name")
        else:
            sides.append(make(os.environ.get(variable)))
    return sides


def parts_of(picture):
    """Return the bytes of each part of one of flamerun's pictures."""
    text = picture.read_text("utf-8")

    def size(pattern):
        return sum(len(match.encode()) for match in re.findall(pattern, text, re.S))

    return {"viewer": size(r'<metadata id="flamerun-viewer".*?</metadata>'),
            "script": size(r"<script.*?</script>"), "style": size(r"<style.*?</style>"),
            "data": size(r'<metadata id="flamerun".*?</metadata>'),
            "static": size(r'<g id="flamerun-static".*')}


def print_bytes(picture):
    said = ", ".join(f"{part} {size / 1000:.1f}" for part, size in parts_of(picture).items() if size)
    print(f"  {picture.name:<24} {size_of(picture) / 1000:8.1f} KB: {said}", flush=True)


# ---- a browser's process ------------------------------------------------------------------------

def processes_below(pid):
    """Return all descendants of process @pid, as folders in /proc."""
    children = collections.defaultdict(list)
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children[int(entry.read_text().rpartition(")")[2].split()[1])].append(entry.parent)
    found, rest = [], [pid]
    while rest:
        below = children[rest.pop()]
        found += below
        rest += [int(entry.name) for entry in below]
    return found


def field(file, name):
    """Return a field of a file in /proc, in KiB."""
    return int(re.search(rf"^{name}:\s+(\d+)", file.read_text(), re.M)[1])


def tab_of(browser):
    """
    Return the folder in /proc of the largest renderer process, which is the one that shows the
    page.
    """
    return max((entry for entry in processes_below(browser.driver.pid)
                if b"--type=renderer" in (entry / "cmdline").read_bytes()),
               key=lambda entry: field(entry / "status", "VmRSS"))


def cpu_ms(process):
    used = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) * 1000 / os.sysconf("SC_CLK_TCK")


def metric(browser, name):
    return next(one["value"] for one in browser.cdp("Performance.getMetrics")["metrics"]
                if one["name"] == name)


# ---- measuring ----------------------------------------------------------------------------------

class Measured:
    """The measured values of one viewer, by name of the value."""

    def __init__(self):
        self.values = collections.defaultdict(list)
        self.missed = 0
        self.failed = ""

    def add(self, what, *values):
        self.values[what] += values

    def middle(self, what):
        return statistics.median(self.values[what])


def measure_opening(browser, url, measured):
    browser.open(url)
    measured.add("opens", browser.run("return window.hasOpened"))
    tab = tab_of(browser)
    measured.add("opens cpu", cpu_ms(tab))
    time.sleep(1)
    measured.add("tab", field(tab / "smaps_rollup", "Pss") / 1024)
    measured.add("peak", field(tab / "status", "VmHWM") / 1024)
    browser.cdp("HeapProfiler.collectGarbage")
    measured.add("heap", metric(browser, "JSHeapUsedSize") / 2 ** 20)
    return tab


def perform(browser, what, *details):
    """
    Return the answer of a function in frames.js. Poll seldom, because polling disturbs the page.
    """
    browser.run("window.answer = null; const keep = answer => { window.answer = answer; };"
                "bench[arguments[0]](...arguments[1])"
                ".then(keep, error => keep({error: String(error)}))", what, details)
    deadline = time.monotonic() + PATIENCE_S
    while (answer := browser.run("return window.answer")) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} takes longer than {PATIENCE_S} s")
        time.sleep(1)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def measure_frames(browser, tab, kind, measured, steps, facts):
    browser.run(FRAMES)
    perform(browser, "use", kind, {"total": facts["total"], "rows": facts["rows"]})
    for what, details in (("zoom", steps), ("search", facts["words"])):
        before = cpu_ms(tab)
        answer = perform(browser, what, *details)
        measured.add(what, *answer["longest"])
        measured.add(f"{what} cpu", (cpu_ms(tab) - before) / len(answer["longest"]))
        measured.missed += answer["missed"]
    measured.add("tab after", field(tab / "smaps_rollup", "Pss") / 1024)
    if kind == "flamerun":
        for what in ("wheel", "bottomUp"):
            measured.add(what, *perform(browser, what)["longest"])


def print_measured(side, measured):
    said = f"  {side.who:<15} {side.bytes / 1000:9.0f} KB"
    if measured.values["opens"]:
        least = min(measured.values["opens"])
        said += (f"  opens {measured.middle('opens'):6.0f} ms (least {least:.0f},"
                 f" CPU {measured.middle('opens cpu'):.0f}), heap {measured.middle('heap'):.0f},"
                 f" tab {measured.middle('tab'):.0f}, at most {measured.middle('peak'):.0f} MiB")
    print(said, flush=True)
    for what in ("zoom", "search", "wheel", "bottomUp"):
        longest = sorted(measured.values[what])
        if longest:
            fast = sum(ms <= 1000 / 30 for ms in longest)
            cpu = f", CPU {measured.middle(f'{what} cpu'):.0f} ms each" \
                if measured.values[f"{what} cpu"] else ""
            print(f"      {what:<9} longest {longest[-1]:5.0f} ms, 95 % "
                  f"{longest[int(len(longest) * .95) - 1]:5.0f}, median "
                  f"{statistics.median(longest):4.0f}, {fast} of {len(longest)} in 33{cpu}", flush=True)
    if measured.values["tab after"]:
        print(f"      tab afterwards {measured.middle('tab after'):.0f} MiB"
              + (f", {measured.missed} boxes not found" if measured.missed else ""), flush=True)
    if measured.failed:
        print(f"      failed: {measured.failed}", flush=True)


def measure_once(side, url, measured, steps, facts):
    # Allow WebGL without a graphics card. Viewers that draw on a 2D canvas are not affected.
    with Browser("--enable-unsafe-swiftshader", is_whole=True) as browser:
        limit_ms = PATIENCE_S * 1000
        browser.call("POST", "/timeouts", {"script": limit_ms, "pageLoad": limit_ms})
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=OPENED)
        browser.cdp("Performance.enable")
        tab = measure_opening(browser, f"{url}/{side.path}", measured)
        measure_frames(browser, tab, side.kind, measured, steps, facts)


def measure(sides, url, rounds, zooms, facts):
    """Measure all viewers in turns, so that other load affects all of them alike."""
    measured = {side.who: Measured() for side in sides}
    each = 3 * -(-zooms // (3 * rounds))
    steps = facts["steps"]
    for turn in range(rounds):
        for side in sides:
            one = measured[side.who]
            if one.failed:
                continue
            try:
                measure_once(side, url, one, steps[turn * each:][:each], facts)
            except (OSError, RuntimeError) as error:
                one.failed = str(error).splitlines()[0] if str(error) else type(error).__name__
    for side in sides:
        print_measured(side, measured[side.who])


@contextlib.contextmanager
def serve(folder):
    """Serve @folder over HTTP, which speedscope needs. Yields the URL of the folder."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def prepare(folder, wanted, who):
    """Return the viewers and facts for one STACKS argument of the command line."""
    nodes, _, samples = wanted.partition(":")
    stacks = folder / f"{pathlib.Path(nodes).stem}.folded"
    if nodes.isdigit():
        if not stacks.exists():
            write_stacks(stacks, int(nodes))
        if samples:
            picture = folder / f"samples-{nodes}-{samples}.svg"
            if not picture.exists():
                put_samples(folder / flamerun_side("flamerun", BUILD / "flamerun", folder, stacks).path,
                            picture, int(nodes), int(samples))
            return [Side("flamerun", picture.name, size_of(picture), "flamerun")], facts_of(stacks)
    elif not wanted.endswith(".svg"):
        shutil.copy(wanted, stacks)
    else:
        subprocess.run([BUILD / "flamerun", "render", "-q", "--no-config", wanted, "-o", stacks],
                       check=True)
        picture = folder / pathlib.Path(wanted).name
        shutil.copy(wanted, picture)
        return [Side("flamerun", picture.name, size_of(picture), "flamerun")], facts_of(stacks)
    return draw(folder, stacks, who), facts_of(stacks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-z", "--zooms", type=int, default=ZOOMS)
    parser.add_argument("-k", "--keep", type=pathlib.Path)
    parser.add_argument("-s", "--sides")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("stacks", nargs="*", default=SIZES)
    options = parser.parse_args()
    webdriver.PATIENCE_S = PATIENCE_S
    for wanted in options.stacks:
        with contextlib.ExitStack() as stack:
            folder = options.keep or pathlib.Path(stack.enter_context(
                tempfile.TemporaryDirectory(prefix="flamerun-bench-")))
            folder.mkdir(exist_ok=True)
            url = stack.enter_context(serve(folder))
            true = folder / "true.svg"
            subprocess.run([BUILD / "flamerun", "-q", "--no-config", "-o", true, "--", "true"],
                           check=True)
            sides, facts = prepare(folder, wanted, options.sides)
            print(f"{wanted}: {facts['nodes']} nodes, load {os.getloadavg()[0]:.1f}:", flush=True)
            for picture in [true, *(folder / one.path for one in sides if one.kind == "flamerun")]:
                print_bytes(picture)
            if not options.prepare:
                measure(sides, url, options.rounds, options.zooms, facts)


if __name__ == "__main__":
    main()
