# SPDX-License-Identifier: MIT
#
# Source lines and inlined functions: the effect of options on them, in every output.
import os
import pathlib
import re
import subprocess

import pytest

from folded import Folded
from pprof import Maker, Profile
from profiled import TARGETS, compile_target, looks
from profiled import profile as profile_of

pytestmark = pytest.mark.sanitized


@pytest.fixture
def profile(tmp_path):
    """
    write() -> a profile of 1,000 samples in main, with words inlined at one of three lines; words
    calls hash.
    """
    def write(folder="/build/src", other="/build/lib"):
        maker = Maker(("samples", "count"))
        maker.chain(1, ("main", f"{folder}/main.rs", 40), ("words", f"{folder}/words.rs", 12))
        maker.chain(2, ("main", f"{folder}/main.rs", 41))
        maker.chain(3, ("hash", f"{other}/hash.rs", 7))
        maker.chain(4, ("hash", f"{other}/hash.rs", 8), ("mix", f"{other}/hash.rs", 3))
        maker.sample([1], 500)
        maker.chain(5, ("main", f"{folder}/main.rs", 42))
        maker.sample([2], 150)
        maker.sample([5], 50)
        maker.sample([3, 1], 100)
        maker.sample([4, 1], 200)
        maker.write(tmp_path / "in.pb")
    write()
    return write


@pytest.fixture
def folded(run, tmp_path, profile):
    def render(*options):
        result = run("render", "in.pb", "-o", "out.folded", "-o", "out.pb", *options)
        assert result.returncode == 0, result.stderr
        return dict(line.rsplit(" ", 1) for line in
                    (tmp_path / "out.folded").read_text().splitlines())
    return render


WHOLE = {"main": "200", "main;words": "500", "main;words;hash": "100", "main;words;hash;mix": "200"}


def test_functions_are_whole(folded, tmp_path):
    assert folded() == WHOLE
    chains = Profile(tmp_path / "out.pb").chains.values()
    assert len(chains) == 5  # a profile keeps lines apart


def test_by_line(folded):
    assert folded("--by", "line") == {
        "main main.rs:41": "150", "main main.rs:42": "50",
        "main main.rs:40;words words.rs:12": "500",
        "main main.rs:40;words words.rs:12;hash hash.rs:7": "100",
        "main main.rs:40;words words.rs:12;hash hash.rs:8;mix hash.rs:3": "200"}


def test_no_lines_to_go_by(run, tmp_path, profile):
    (tmp_path / "in.folded").write_text("main;hash 3\n")
    result = run("render", "in.folded", "-o", "out.folded", "--by", "line")
    assert "no lines are known" in result.stderr
    assert (tmp_path / "out.folded").read_text() == "main;hash 3\n"
    assert "no lines" not in run("render", "in.pb", "-o", "out.folded", "--by", "line").stderr
    result = run("render", "in.pb", "-o", "out.folded", "--by", "line,module")
    assert result.returncode == 125 and "lines or modules" in result.stderr


def test_no_inline(folded, tmp_path):
    assert folded("--no-inline") == {"main": "700", "main;hash": "300"}
    assert folded("--no-inline", "--by", "line") == {
        "main main.rs:40": "500", "main main.rs:41": "150", "main main.rs:42": "50",
        "main main.rs:40;hash hash.rs:7": "100",
        "main main.rs:40;hash hash.rs:8": "200"}
    assert all(len(chain) == 1 for chain in Profile(tmp_path / "out.pb").chains.values())
    assert folded("--no-inline", "--inline") == WHOLE


def test_inline_suffix(run, folded, tmp_path):
    marked = {"main": "200", "main;words_[i]": "500", "main;words_[i];hash": "100",
              "main;words_[i];hash;mix_[i]": "200"}
    assert folded("--inline-suffix") == marked
    # Reading the stacks with --inline-suffix recognises the suffix and writes it only once.
    assert run("render", "out.folded", "-o", "again.folded", "--inline-suffix").returncode == 0
    assert (tmp_path / "again.folded").read_text() == (tmp_path / "out.folded").read_text()
    assert run("render", "out.folded", "-o", "none.folded", "--no-inline").returncode == 0
    assert (tmp_path / "none.folded").read_text() == "main 700\nmain;hash 300\n"


def test_filters_know_inlined_functions_and_what_is_left_has_lines(folded, tmp_path):
    assert folded("--focus", "^mix$") == {"main;words;hash;mix": "200"}
    assert sorted(line[1:] for line in Profile(tmp_path / "out.pb").lines) == [
        ("/build/lib/hash.rs", 3), ("/build/lib/hash.rs", 8), ("/build/src/main.rs", 40),
        ("/build/src/words.rs", 12)]
    assert folded("--hide", "^words$") == {
        "main": "700", "main;hash": "100", "main;hash;mix": "200"}
    # --reverse does not reverse a pprof profile, because the readers of pprof profiles do that.
    assert folded("--reverse")["mix;hash;words;main"] == "200"
    assert Profile(tmp_path / "out.pb").folded()["main", "words", "hash", "mix"] == 200


def test_what_is_saved_has_whole_functions(run, tmp_path, profile):
    with open(tmp_path / "in.pb", "rb") as file:
        result = run("render", "-", "-o", "/dev/full", "--by", "line", stdin=file,
                     env=dict(os.environ, TMPDIR=str(tmp_path)))
    assert result.returncode == 125
    saved = pathlib.Path(re.search(r"the stacks are in '(.*)'", result.stderr)[1])
    assert {";".join(stack): str(n) for stack, n in Profile(saved).folded().items()} == WHOLE


@pytest.mark.parametrize("maps, files", [
    (["/build=/my"], ["/my/lib/hash.rs", "/my/src/main.rs", "/my/src/words.rs"]),
    # The longest folder wins, whatever the order of the options. A folder matches only whole
    # components of a path.
    (["/build/src=/s", "/build=/my/"], ["/my/lib/hash.rs", "/s/main.rs", "/s/words.rs"]),
    (["/build/=/my", "/build/src//=/s/"], ["/my/lib/hash.rs", "/s/main.rs", "/s/words.rs"]),
    (["/build/sr=/x", "/build/lib=", "build=/y"],
     ["/build/src/main.rs", "/build/src/words.rs", "hash.rs"]),
    (["/build/src/main.rs=/a=b.rs", "/=/top"],
     ["/a=b.rs", "/top/build/lib/hash.rs", "/top/build/src/words.rs"]),
    (["/build=/x", "/build=/y"], ["/y/lib/hash.rs", "/y/src/main.rs", "/y/src/words.rs"]),
])
def test_source_map(folded, tmp_path, maps, files):
    assert folded(*(f"--source-map={one}" for one in maps)) == WHOLE
    assert sorted({line[1] for line in Profile(tmp_path / "out.pb").lines}) == files


def test_source_maps_that_are_none(run, profile):
    for wrong in "/build", "=/my", "=":
        result = run("render", "in.pb", "-o", "out.pb", f"--source-map={wrong}")
        assert result.returncode == 125
        assert result.stderr == f"flamerun: --source-map wants OLD=NEW, not '{wrong}'\n"


def test_a_long_path_is_cut_and_harms_nothing(folded, profile, tmp_path):
    profile("/build/" + "x" * 4000)
    assert folded("--source-map=/build=/" + "y" * 2000) == WHOLE
    longest = max(len(line[1]) for line in Profile(tmp_path / "out.pb").lines)
    assert 2000 < longest < os.pathconf("/", "PC_PATH_MAX")


# ---- a run ---------------------------------------------------------------------------------------

SOURCE = (TARGETS / "inlined.c").read_text().splitlines()


def line_of(text):
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """One run of inlined.c with debug information."""
    folder = tmp_path_factory.mktemp("recorded")
    program = compile_target("inlined.c", folder, flags=("-O2", "-g"))
    options = ("--inline-suffix", "-o", folder / "p.pb", "-o", folder / "p.svg")
    rate_hz, ms = looks(1400)
    return profile_of(folder, program, ms, rate_hz=rate_hz, options=options), folder


def test_a_run_knows_what_was_inlined(recorded):
    run, _ = recorded
    truth = {"heavy_[i]": run.truth["heavy"], "light_[i]": run.truth["light"],
             "light": run.truth["called"]}
    run.assert_truth(truth)
    for name in truth:
        # All samples except those in the few instructions before and after the inlined spin().
        assert run.folded.where(lambda stack, name=name: stack[-3:] == (
            "main", name, "spin_[i]")) >= 0.9 * run.folded.below(name)


def test_its_profile_has_the_lines(recorded):
    _, folder = recorded
    wanted = {(("heavy", line_of("heavy's call")), ("main", line_of("main's first"))),
              (("light", line_of("light's call")), ("main", line_of("main's second"))),
              (("light", line_of("light's call")),)}
    found = set()
    for chain in Profile(folder / "p.pb").chains.values():
        (name, file, line), *around = chain
        if name == "spin":
            assert os.path.basename(file) == "spin.h" and line
            assert {os.path.basename(file) for _, file, _ in around} == {"inlined.c"}
            found.add(tuple((name, line) for name, _, line in around))
    assert found == wanted
    assert any(chain[0][0] == "main" and chain[0][2] == line_of("main's third")
               for chain in Profile(folder / "p.pb").chains.values())


def test_the_summary_takes_both_for_one_function(tmp_path):
    program = compile_target("inlined.c", tmp_path, flags=("-O2", "-g"))
    said = profile_of(tmp_path, program, "400", options=("--hide", "^spin$")).stderr
    hottest = re.findall(r"([\d.]+) % +(light|heavy) \[inlined\]", said)
    assert sorted(name for _, name in hottest) == ["heavy", "light"], said


def test_the_same_without_inlined_functions(run, recorded, tmp_path):
    recording, folder = recorded
    assert run("render", folder / "p.pb", "-o", "out.folded", "--no-inline").returncode == 0
    whole = Folded((tmp_path / "out.folded").read_text())
    assert whole.total == recording.folded.total
    assert whole.self("main") == recording.folded.where(
        lambda stack: "main" in stack and all(name.endswith("_[i]") for name in
                                              stack[stack.index("main") + 1:]))


def test_without_debug_information_they_are_part_of_main(tmp_path):
    program = compile_target("inlined.c", tmp_path)
    recording = profile_of(tmp_path, program, "400", options=("-o", tmp_path / "p.pb"))
    own = recording.folded.self("main") + recording.folded.self("light")
    assert own >= 0.9 * recording.folded.below("main") > 0
    lines = {line for name, _, line in Profile(tmp_path / "p.pb").lines if name == "main"}
    assert lines == {0}


def test_addresses_of_others_profiles_are_chains(run, tmp_path):
    program = compile_target("inlined.c", tmp_path, flags=("-O2", "-g", "-no-pie"))
    symbols = subprocess.run(["nm", "-S", program], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    found = re.search(r"^(\w+) (\w+) T main$", symbols, re.M)
    start, size = (int(word, 16) for word in found.groups())
    addresses = range(start, start + size)
    told = subprocess.run(["addr2line", "-e", program, "-f", "-i", "-s", "-a",
                           *map(hex, addresses)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    told = re.sub(r" \(discriminator \d+\)", "", told)
    chains = [chain.split() for chain in told.split("0x")[1:]]
    deepest = max(chains, key=len)
    assert deepest[1::2] in [["spin", "heavy", "main"], ["spin", "light", "main"]]
    maker = Maker(("samples", "count"))
    maker.mapping(1, 0x400000, 0x500000, 0, program)
    maker.address(1, 1, int(deepest[0], 16))
    maker.sample([1], 5)
    maker.write(tmp_path / "in.pb")
    assert run("render", "in.pb", "-o", "out.folded", "-o", "out.pb", "--inline-suffix"
               ).returncode == 0
    inner, outer = deepest[1], deepest[3]
    assert (tmp_path / "out.folded").read_text() == f"main;{outer}_[i];{inner}_[i] 5\n"
    chain, = Profile(tmp_path / "out.pb").chains.values()
    assert [(name, f"{os.path.basename(file)}:{line}") for name, file, line in chain] == list(
        zip(deepest[1::2], deepest[2::2]))
