# SPDX-License-Identifier: MIT
"""
A second picture is dropped on the page: the page shows the same changes of functions as `flamerun
diff` for these two files. If the file is no picture, the page shows an error and stays usable.
"""

import base64
import json
import pathlib
import random
import re
import subprocess
import sys
import zlib

import pytest

from conftest import FLAMERUN, ROOT, render
from test_access import AXE, focus
from viewing import box, fact, middle, press, pressed, push, serve, shares, show, text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import diffs  # noqa: E402, pylint: disable=wrong-import-position
import pprof  # noqa: E402, pylint: disable=wrong-import-position

# Functions that become twice as slow, become faster, are in only one picture, or stay the same; and
# some that have too few samples for a result.
OLD = {"a;x": 3000, "b;y": 3000, "c;z": 3000, "d;v": 600, "e;w": 600, "f;u": 3000, "gone": 500,
       "same": 5000, **{f"small{i}": 1 for i in range(6)}}
NEW = {**OLD, "a;x": 6000, "b;y": 1200, "fresh": 500}
del NEW["gone"]

DROP = """
const bytes = Uint8Array.from(atob(arguments[0]), one => one.charCodeAt(0));
const data = new DataTransfer();
data.items.add(new File([bytes], arguments[1]));
if (arguments[2]) {
    const input = document.querySelector('input[type=file]');
    input.files = data.files;
    input.dispatchEvent(new Event('change'));
} else {
    const over = new DragEvent('dragover', {dataTransfer: data, bubbles: true, cancelable: true});
    document.querySelector('canvas').dispatchEvent(over);
    document.querySelector('canvas').dispatchEvent(
        new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    return over.defaultPrevented;
}"""
# For each function that has a text on its change: name, module, kind, meaning of its colour, text,
# colour.
CHANGES = """
const profile = flamerun.profile(), colors = profile[arguments[0]];
const meanings = new Map(profile.legend.map(({text, places}) => [colors[places[0]], text]));
return Array.from({length: profile.frames}, (_, i) => [profile.name(i),
    profile.modules[profile.frameModule[i]], profile.frameKind[i],
    meanings.get(colors[profile.frameColor[i]]) || 'no change that is more than chance',
    profile.texts[i] || '', colors[profile.frameColor[i]]]).filter(one => one[4])"""


def folded(stacks, root="main;"):
    return "".join(f"{root}{stack} {weight}\n" for stack, weight in stacks.items()).encode()


def settle(viewer):
    viewer.wait("!document.querySelector('.flamerun').hasAttribute('aria-busy') && !flamerun.animating")


def drop(viewer, data, name="new.svg", chosen=False):
    """
    Drop a file on the page or, with @chosen, give it to the file field, and wait for the page.
    """
    prevented = viewer.run(DROP, base64.b64encode(data).decode(), name, chosen)
    settle(viewer)
    return prevented


def line(viewer):
    return text(viewer, ".compared .versions")


def refusal(viewer):
    return text(viewer, ".compared .wrong")


def changes(viewer, ground="light"):
    """
    The sorted results of CHANGES, without confidence intervals, and without colours if there is no
    change.
    """
    found = []
    for *facts, change, color in viewer.run(CHANGES, ground):
        numbers = re.findall(r"\d+", color) if color.startswith("rgb") else [
            str(int(color[i:i + 2], 16)) for i in (1, 3, 5)]
        is_told = not facts[-1].startswith("no change")
        found.append((*facts, re.sub(r" \(.*?\)", "", change), tuple(numbers) if is_told else ()))
    return sorted(found)


def compare(viewer, old, new):
    """Let the viewer compare two pictures (paths)."""
    show(viewer, old)
    drop(viewer, new.read_bytes(), new.name)
    assert line(viewer) and not refusal(viewer)


@pytest.fixture
def pair(tmp_path):
    return [render(folded(stacks), tmp_path / f"{name}.svg") for name, stacks in
            (("old", OLD), ("new", NEW))]


@pytest.fixture
def compared(viewer, pair):
    compare(viewer, *pair)
    return viewer


# ---- changes of functions --------------------------------------------------------------------------

def drawn(tmp_path, paths, *options):
    made = []
    for path in paths:
        made.append(tmp_path / f"{path.stem}.svg")
        subprocess.run([FLAMERUN, "-q", "render", "--no-config", path, "-o", made[-1], *options], check=True)
    return made


def known_pair(tmp_path):
    return [render(folded(stacks), tmp_path / f"{name}.svg") for name, stacks in
            (("old", OLD), ("new", NEW))]


def recorded_pair(tmp_path):
    runs = diffs.recorded("versions", tmp_path)
    return drawn(tmp_path, [runs[3], runs[70]])


def compiler_pair(tmp_path):
    """
    Two runs of a compiler. In the second run one function has five times the samples and another a
    tenth; a third function has the name of a copy that a compiler made (.constprop.0).
    """
    runs = diffs.recorded("cc1plus", tmp_path)[:2]
    counts = {}
    for stack in (one.rsplit(" ", 1) for one in runs[1].read_text().splitlines()):
        for name in set(stack[0].split(";")):
            counts[name] = counts.get(name, 0) + int(stack[1])
    heavy = sorted(counts, key=lambda name: -counts[name])[10:40:10]
    lines = []
    for one in runs[1].read_text().splitlines():
        stack, weight = one.rsplit(" ", 1)
        names = stack.split(";")
        factor = 5 if heavy[0] in names else 0.1 if heavy[1] in names else 1
        names = [f"{name}.constprop.0" if name == heavy[2] else name for name in names]
        lines.append(f"{';'.join(names)} {max(round(int(weight) * factor), 1)}\n")
    runs[1].write_text("".join(lines))
    return drawn(tmp_path, runs)


def made_pair(tmp_path):
    """
    Functions for which there is a rule for joining: compilers' copies, Rust hashes, numbers of a
    run, lines, unnamed code, recursion.
    """
    draw = random.Random(5)
    sides = []
    for side, factors in enumerate(({}, {"tenth": 4, "order": 0.2})):
        path = diffs.made(tmp_path / f"made-{side}.folded", draw, 8000, factors)
        other = ("f.isra.0.cold", "core::run::hfedcba9876543210", "[lib.so+0x10]", "[app.so+0x44]",
                 "g", "App$$Lambda$4.run", "a ((eval 3):1)", "h (a.py:5)", "k (a.py:2)", "k (a.py:9)") if side else (
                     "f.constprop.0", "core::run::h0123456789abcdef", "[lib.so+0x10]", "[app.so+0x10]",
                     "g [clone .part.0]", "App$$Lambda$7.run", "a ((eval 5):1)", "h (a.py:3)", "k (a.py:2)", "k (a.py:7)")
        path.write_text(path.read_text() + "".join(f"_start;main;{name} 400\n" for name in other)
                        + "_start;main;plan;_start;main;plan 700\n")
        sides.append(path)
    return drawn(tmp_path, sides)


def release_pair(tmp_path):
    """Two releases that have too few functions in common to compute a common change."""
    sides = ({"find_chain": 4000, "insert": 1600, "count": 900, "hash": 500, "main": 300},
             {"find_row": 3200, "update": 1300, "count": 500, "hash": 320, "main": 310})
    made = []
    for side, counts in zip(("old", "new"), sides):
        made.append(tmp_path / f"release-{side}.folded")
        made[-1].write_text("".join(f"_start;run;{name} {count}\n" for name, count in counts.items()))
    return drawn(tmp_path, made)


def run_pair(tmp_path):
    """
    Two recordings at different rates, so that times are compared instead of samples. They have
    modules, kinds of functions and inlined functions.
    """
    made = []
    for name, rate, percent in (("versions-1", 997, 0), ("versions-2", 499, 900)):
        program = tmp_path / name
        subprocess.run(["cc", "-O2", "-g", "-I", ROOT, ROOT / "tests/targets/versions.c", "-o", program],
                       check=True)
        made.append(tmp_path / f"{name}.svg")
        subprocess.run([FLAMERUN, "-q", "--no-config", "-r", str(rate), "-o", made[-1], "--", program, "40",
                        str(percent)], check=True)
    return made


def heap_pair(tmp_path):
    """Bytes, which have no known chance: changes are found by a threshold, without a common factor."""
    made = []
    for name, held in (("old", (6000, 3000, 10, 990)), ("new", (12000, 3050, 0, 991))):
        maker = pprof.Maker(("inuse_objects", "count"), ("inuse_space", "bytes"))
        for number, function in enumerate(("main", "cache", "parse", "few", "log"), 1):
            maker.function(number, function)
        for number, count in enumerate(held, 2):
            maker.sample([number, 1], count, count * 1000)
        maker.write(tmp_path / f"{name}.pb")
        made.append(tmp_path / f"{name}.pb")
    return drawn(tmp_path, made)


@pytest.mark.parametrize("pictures", [known_pair, recorded_pair, compiler_pair, made_pair,
                                      release_pair, run_pair, heap_pair])
def test_what_is_told_is_what_flamerun_diff_tells(viewer, tmp_path, pictures):
    old, new = pictures(tmp_path)
    said = subprocess.run([FLAMERUN, "-q", "diff", "--no-config", "--json", old, new, "-o",
                           tmp_path / "diff.svg"], check=True, capture_output=True, text=True)
    found = json.loads(said.stdout)
    show(viewer, tmp_path / "diff.svg")
    wanted = changes(viewer)
    compare(viewer, old, new)
    assert changes(viewer) == wanted and wanted
    named = sum(one["named"] for one in found["changes"])
    assert f"· {named} change{'' if named == 1 else 's'} ·" in line(viewer)
    if pictures is not recorded_pair:
        assert named and len({one[3] for one in wanted}) > 1
    assert (found["common"] is None) == (pictures in (release_pair, heap_pair))
    if pictures is heap_pair:
        assert line(viewer).endswith("1 change \u00b7 how much bytes differ by chance is not known")
    elif found["common"] is None:
        assert "· it is not known whether all became slower: too few functions changed alike ·" in line(viewer)
    else:
        common = float(re.search(r"every function: ([-+.\d]+) %", line(viewer))[1])
        assert common == pytest.approx(100 * found["common"], abs=0.0501)


def test_renaming_is_said(viewer, tmp_path):
    """As `flamerun diff` says it: no function's own weight changed."""
    sides = []
    for side in ("old", "new"):
        sides.append(tmp_path / f"{side}.folded")
        sides[-1].write_text(f"main;{side}_f;burn 40000\nmain;{side}_g;burn 30000\n"
                             + "".join(f"main;{name} 10000\n" for name in "abcd"))
    old, new = drawn(tmp_path, sides)
    compare(viewer, old, new)
    assert "· 0 changes, 4 by renaming or inlining ·" in line(viewer)


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize("palette", ["hot", "okabe-ito"])
def test_colors_are_those_of_flamerun_diff(viewer, tmp_path, palette, ground):
    old, new = [render(folded(stacks), tmp_path / f"{name}.svg", "--palette", palette)
                for name, stacks in (("old", OLD), ("new", NEW))]
    subprocess.run([FLAMERUN, "-q", "diff", "--no-config", "--palette", palette, old, new, "-o",
                    tmp_path / "diff.svg"], check=True, stdout=subprocess.DEVNULL)
    show(viewer, tmp_path / "diff.svg")
    wanted = changes(viewer, ground)
    compare(viewer, old, new)
    assert changes(viewer, ground) == wanted
    assert {one[3] for one in wanted} >= {"slower", "slower by others", "faster", "new", "gone"}
    assert len({one[5] for one in wanted}) == 7


def test_a_box_tells_its_change(compared):
    compared.pointer(*middle(box(compared, "a", 2)))
    assert text(compared, ".tooltip .change") == "3000 to 6000 a run, +100 %"
    compared.pointer(*middle(box(compared, "x")))
    assert text(compared, ".tooltip .change").endswith("+100 %; by others")
    assert text(compared, ".tooltip .change") in text(compared, ".details")
    compared.pointer(*middle(box(compared, "gone")))
    assert text(compared, ".tooltip .change") == "own code 500 to 0.0 a run, gone"


# ---- the graph -------------------------------------------------------------------------------------

def test_widths_are_both_the_old_ones_or_the_new_ones(viewer, pair):
    alone = []
    for picture in pair:
        show(viewer, picture)
        alone.append({name: share for (_, name), share in shares(viewer).items() if name})
    compare(viewer, *pair)
    both = {name: share for (_, name), share in shares(viewer).items() if name}
    assert {"gone", "fresh"} <= both.keys()
    assert box(viewer, "both")["name"] == "both: 38,612 samples"
    for how, side in ((lambda: press(viewer, "u"), 0), (lambda: push(viewer, ".widths-new"), 1)):
        how()
        viewer.wait(f"flamerun.boxes[0].name.startsWith('{('old', 'new')[side]}: ')")
        got = {name: share for (_, name), share in shares(viewer).items() if name}
        assert got == pytest.approx(alone[side], abs=1e-9)
        assert pressed(viewer, f".widths-{('old', 'new')[side]}")
    press(viewer, "u")
    viewer.wait("flamerun.boxes[0].name.startsWith('both')")
    assert shares(viewer)[2, "a"] == pytest.approx(9000 / 38612)


def test_other_views_of_a_comparison(compared):
    press(compared, "b")
    assert shares(compared)[1, "x"] == pytest.approx(9000 / 38612)
    press(compared, "b", "t")
    compared.wait("document.querySelector('.rows .row')")
    assert text(compared, ".rows .row").split("\n")[0].startswith("a")
    press(compared, "u")
    compared.wait("document.querySelector('.rows').textContent.includes('5,000')")
    press(compared, "g")
    compared.wait("flamerun.boxes[0].name.startsWith('old: ')")
    for key in ("o", "a"):
        press(compared, key)
        assert "no times" in text(compared, ".toast")


def test_the_line_says_which_is_old_and_e_exchanges_them(compared, pair):
    assert line(compared).startswith("Old: old.svg · New: new.svg · 4 changes")
    assert "one run each: only large changes can be seen" in line(compared)
    assert text(compared, ".legend").startswith("slower")
    before = {one[0]: one[3] for one in changes(compared)}
    press(compared, "e")
    settle(compared)
    compared.wait("document.querySelector('.compared').textContent.startsWith('Old: new.svg')")
    after = {one[0]: one[3] for one in changes(compared)}
    assert (before["a"], after["a"], before["gone"], after["gone"]) == ("slower", "faster", "gone", "new")
    show(compared, pair[1])
    drop(compared, pair[0].read_bytes(), "old.svg")
    assert {one[0]: one[3] for one in changes(compared)} == after


def test_what_was_shown_before_comes_back(viewer, pair):
    show(viewer, pair[0])
    press(viewer, "/", *"same")
    viewer.run("document.querySelector('canvas').focus()")
    pointed = middle(box(viewer, "a", 2))
    viewer.pointer(*pointed, click=True)
    viewer.wait("flamerun.zoomed === 'a' && !flamerun.animating")
    before = [fact(viewer, "boxes"), text(viewer, ".matched"), text(viewer, ".crumbs"),
              viewer.run("return location.hash")]
    drop(viewer, pair[1].read_bytes())
    assert fact(viewer, "total") == 38612 and "25.9 %" in text(viewer, ".matched")  # 10,000 of 38,612
    push(viewer, ".leave")
    settle(viewer)
    viewer.wait("flamerun.zoomed === 'a' && !flamerun.animating")
    assert viewer.run("return document.querySelector('.compared').hidden")
    assert [fact(viewer, "boxes"), text(viewer, ".matched"), text(viewer, ".crumbs"),
            viewer.run("return location.hash")] == before


def test_a_third_picture_takes_the_place_of_the_second(compared, pair):
    drop(compared, pair[0].read_bytes(), "third.svg")
    assert line(compared).startswith("Old: old.svg · New: third.svg · 0 changes")
    assert {one[3] for one in changes(compared)} == {"no change that is more than chance"}


def test_who_leaves_meanwhile_has_left(compared):
    press(compared, "e", "v")
    compared.wait("document.querySelector('.compared').hidden && flamerun.total === 18706")
    settle(compared)
    # The exchange that the key `e` began must not happen after the key `v` has left the comparison.
    compared.run("return new Promise(done => setTimeout(done, 300))")
    assert fact(compared, "total") == 18706
    assert compared.run("return document.querySelector('.compared').hidden")


# ---- how the second picture gets to the page -------------------------------------------------------

def test_a_file_is_chosen_by_key_and_menu(viewer, pair):
    show(viewer, pair[0])
    viewer.run("window.chosen = 0;"
               "document.querySelector('input[type=file]').click = () => { window.chosen++; }")
    press(viewer, "v")
    assert viewer.run("return window.chosen") == 1
    press(viewer, "x")
    viewer.run("[...document.querySelectorAll('.menu button')]"
               ".find(one => one.textContent.startsWith('Compare')).click()")
    assert viewer.run("return window.chosen") == 2
    press(viewer, "e", "u")
    assert "Nothing is compared" in text(viewer, ".toast")
    drop(viewer, pair[1].read_bytes(), chosen=True)
    assert line(viewer).startswith("Old: old.svg · New: new.svg")
    press(viewer, "v")
    viewer.wait("document.querySelector('.compared').hidden && flamerun.total === 18706")


def test_keys_alone_reach_all_of_it(viewer, pair):
    show(viewer, pair[0])
    drop(viewer, pair[1].read_bytes(), chosen=True)
    assert "Old: old.svg" in viewer.run("return document.querySelector('.spoken').textContent")
    focus(viewer, "Old")
    viewer.keys("Enter")
    viewer.wait("flamerun.boxes[0].name.startsWith('old: ')")
    focus(viewer, "Exchange")
    viewer.keys("Enter")
    viewer.wait("document.querySelector('.compared').textContent.startsWith('Old: new.svg')")
    focus(viewer, "Leave")
    viewer.keys("Enter")
    viewer.wait("flamerun.total === 18706")


def test_where_workers_are_refused_the_page_does_it(viewer, pair):
    policies = {"/one.svg": "worker-src 'none'"}
    with serve(pair[0], policies) as url:
        viewer.open(f"{url}/one.svg")
        viewer.wait("window.flamerun")
        drop(viewer, pair[1].read_bytes())
        assert line(viewer).startswith("Old: one.svg · New: new.svg · 4 changes")
    viewer.open("about:blank")


def test_many_stacks_are_joined_and_filtered(viewer, tmp_path):
    """
    The comparison takes more steps than the page would make without a worker (FEW_STEPS in
    worker.js).
    """
    stacks = {f"f{i % 300};g{i % 700};h{i}": 1 + i % 3 for i in range(60000)}
    old = render(folded(stacks), tmp_path / "old.svg")
    new = render(folded({**stacks, "f0;more": 40000}), tmp_path / "new.svg")
    compare(viewer, old, new)
    assert fact(viewer, "total") == 2 * sum(stacks.values()) + 40000
    assert [one[3] for one in changes(viewer) if one[0] == "more"] == ["new"]
    press(viewer, "u")
    viewer.wait(f"flamerun.total === {sum(stacks.values())}")
    press(viewer, "v")
    viewer.wait("document.querySelector('.compared').hidden")


# ---- files that are no picture, or damaged ---------------------------------------------------------

def rewritten(picture, change):
    """The picture with its data replaced by change(data)."""
    words = picture.read_text()
    pieces = re.findall(r"<piece[^>]*>([^<]*)</piece>", words)
    data = zlib.decompress(b"".join(map(base64.b64decode, pieces)))
    packed = base64.b64encode(zlib.compress(change(data))).decode()
    head, rest = words.split("<piece", 1)
    return (head + '<piece xmlns="urn:flamerun">' + packed + "</piece></metadata>"
            + rest.split("</metadata>", 1)[1]).encode()


def other_names(data):
    """Replace names in the data by markup of the same length."""
    assert b"same" in data
    return data.replace(b"small0small1small2small3small4", b"<img src=x onerror=alert(1)>//")


def scrambled(seed):
    def change(data):
        draw = random.Random(seed)
        data = bytearray(data)
        for _ in range(30):
            data[draw.randrange(len(data))] = draw.randrange(256)
        return bytes(data)
    return change


FILES = {
    "text": (lambda new: b"what is this?", "it is no picture of flamerun"),
    "nothing": (lambda new: b"", "it is damaged or too large"),
    "an SVG": (lambda new: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
               "it is no picture"),
    "another version": (lambda new: new.read_bytes().replace(b'data-format="1"', b'data-format="2"'),
                        "another version of flamerun drew it"),
    "cut": (lambda new: new.read_bytes().split(b"</piece>")[0][:-200], "it is damaged"),
    "other letters": (lambda new: re.sub(rb"(<piece[^>]*>)....", rb"\1\\\\\\\\", new.read_bytes()),
                      "it is damaged"),
    "no columns": (lambda new: rewritten(new, lambda data: b""), "it is damaged"),
    "half a column": (lambda new: rewritten(new, lambda data: data[:len(data) // 2]), "it is damaged"),
    "a bomb": (lambda new: rewritten(new, lambda data: bytes(14 * 10**7)), "it is damaged or too large"),
}


@pytest.mark.parametrize("what", FILES)
def test_what_is_no_picture_is_refused_in_one_line(viewer, pair, what):
    show(viewer, pair[0])
    before = fact(viewer, "boxes")
    make, why = FILES[what]
    drop(viewer, make(pair[1]), "<b>odd\u202e.svg")
    assert refusal(viewer).startswith("<b>odd\ufffd.svg cannot be compared: ") and why in refusal(viewer)
    assert fact(viewer, "total") == 18706
    assert [b["name"] for b in fact(viewer, "boxes")] == [b["name"] for b in before]
    drop(viewer, pair[1].read_bytes())
    assert not refusal(viewer)
    drop(viewer, make(pair[1]), "odd.svg")
    assert why in refusal(viewer) and fact(viewer, "total") == 38612
    assert line(viewer).startswith("Old: old.svg · New: new.svg")
    press(viewer, "v")
    viewer.wait("document.querySelector('.compared').hidden && flamerun.total === 18706")


def test_other_units_and_kinds_are_refused(viewer, tmp_path, pair):
    timed = tmp_path / "timed.svg"
    subprocess.run([FLAMERUN, "-q", "--no-config", "-o", timed, "--", "sh", "-c",
                    "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"], check=True)
    show(viewer, pair[0])
    drop(viewer, timed.read_bytes(), "timed.svg")
    assert refusal(viewer) == "timed.svg cannot be compared: it counts time: cpu, and this picture samples"
    reverse = render(folded(NEW), tmp_path / "reverse.svg", "--reverse")
    drop(viewer, reverse.read_bytes(), "reverse.svg")
    assert refusal(viewer).endswith("one of the two was drawn by --reverse")
    push(viewer, ".leave")
    assert viewer.run("return document.querySelector('.compared').hidden")


def test_names_are_never_markup(viewer, pair):
    show(viewer, pair[0])
    viewer.run("window.alert = () => { window.alarmed = true; }")
    drop(viewer, rewritten(pair[1], other_names), "<img src=x onerror=alert(1)>.svg")
    assert line(viewer).startswith("Old: old.svg · New: <img src=x onerror=alert(1)>.svg")
    assert any("<img " in one for one in viewer.run(
        "return Array.from({length: flamerun.profile().frames}, (_, i) => flamerun.profile().name(i))"))
    assert not viewer.run("return document.querySelector('img') || window.alarmed")


def test_whatever_the_data_is_the_page_goes_on(viewer, pair):
    show(viewer, pair[0])
    for seed in range(25):
        drop(viewer, rewritten(pair[1], scrambled(seed)), "odd.svg")
        assert re.match(r"odd\.svg cannot be compared|$", refusal(viewer)), seed
        press(viewer, "t", "g")
        assert fact(viewer, "total") > 0


@pytest.mark.parametrize("state", ["compared", "refused"])
def test_axe_finds_nothing(viewer, pair, state):
    if not AXE.exists():
        pytest.skip("no axe-core: npm install --prefix build axe-core")
    show(viewer, pair[0])
    drop(viewer, pair[1].read_bytes() if state == "compared" else b"nothing", "new.svg")
    viewer.run(AXE.read_text() + "; window.axe = axe")
    violations, passes = viewer.run("""return axe.run(document).then(({violations, passes}) =>
        [violations.map(one => [one.id, one.nodes.map(node => node.failureSummary)]),
         passes.length])""")
    assert violations == [] and passes > 15


# ---- the table -------------------------------------------------------------------------------------

def cells(viewer):
    """{function: its cells [own change, old, new, change]}, in order"""
    return viewer.run("""return [...document.querySelectorAll('.rows .row')].map(row =>
        [...row.children].map(cell => cell.textContent.replace(/\u202f/g, ' ')))""")


def test_the_table_is_sorted_by_difference(compared):
    press(compared, "t")
    compared.wait("document.querySelectorAll('.rows .row').length > 20")
    heads = "return [...document.querySelectorAll('.table-head button')].map(one => one.textContent)"
    assert compared.run(heads)[:6] == ["Function", "Module", "Own change", "Old", "New", "Change \u2193"]
    found = cells(compared)
    assert [row[0] for row in found[:2]] == ["a", "x"]
    assert [row[0] for row in found[-2:]] == ["b", "y"]
    by_name = {row[0]: row[2:] for row in found}
    assert by_name["a"] == ["0 samples", "3,000 samples", "6,000 samples", "+100 % +3,000 samples"]
    assert by_name["x"] == ["+3,000 samples", "3,000 samples", "6,000 samples", "+100 % +3,000 samples"]
    assert by_name["y"][3] == "-60.0 % -1,800 samples" and by_name["y"][0] == "-1,800 samples"
    assert by_name["gone"][1:] == ["500 samples", "0 samples", "gone -500 samples"]
    assert by_name["fresh"][1:] == ["0 samples", "500 samples", "new +500 samples"]
    assert by_name["z"] == ["0 samples", "3,000 samples", "3,000 samples", "+0.0 % 0 samples"]
    push(compared, ".table-head [aria-sort] button")
    assert [row[0] for row in cells(compared)[:2]] == ["b", "y"]
    assert compared.run("return document.querySelector('.spoken').textContent") \
        == "sorted by change, rising"
    press(compared, "Home", "ArrowRight")
    assert compared.run(heads)[0].startswith("Function")
    assert "a run, -60.0 %" in text(compared, ".details")
    press(compared, "v")
    compared.wait("document.querySelector('.compared').hidden")
    press(compared, "t")
    compared.wait("document.querySelectorAll('.table-head button').length === 6")
    assert compared.run(heads)[2] == "Self"


def test_the_table_leaves_out_what_slowed_all_functions(viewer, tmp_path):
    """Old and new are those of the texts about changes: without the machine's part."""
    stacks = {f"f{i};g{i}": 2000 + i for i in range(12)}
    slower = {stack: 2 * weight for stack, weight in stacks.items()} | {"f0;g0": 8000}
    compare(viewer, render(folded(stacks), tmp_path / "old.svg"), render(folded(slower), tmp_path / "new.svg"))
    press(viewer, "t")
    viewer.wait("document.querySelectorAll('.rows .row').length > 20")
    found = {row[0]: row[2:] for row in cells(viewer)}
    assert found["g5"][3].startswith("+0.0 %") and found["g0"][3].startswith("+100 %")
