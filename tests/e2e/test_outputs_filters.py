# SPDX-License-Identifier: MIT
#
# Stacks cut and merged before anything is drawn: in folded text as in pictures, for a run as for
# stacks that were written elsewhere.
import re

import pytest

from folded import Folded
from profiled import compile_target, profile

pytestmark = pytest.mark.sanitized

STACKS = "main;parse;lex 5\nmain;parse 3\nmain;emit;lex 2\nmain 1\nother;lex 4\n"
CASES = [
    ([], {"main;parse;lex": 5, "main;parse": 3, "main;emit;lex": 2, "main": 1, "other;lex": 4}, ""),
    (["--hide", "^parse$"], {"main;lex": 5, "main": 4, "main;emit;lex": 2, "other;lex": 4}, ""),
    (["--hide", "^parse$", "--hide", "^emit$"],
     {"main;lex": 7, "main": 4, "other;lex": 4}, ""),
    (["--hide", "lex", "--hide", "", "--hide", "^parse$"],
     {"main;lex": 5, "main": 4, "main;emit;lex": 2, "other;lex": 4}, ""),
    (["--root", "parse", "--root", "^other$"], {"parse;lex": 5, "parse": 3, "other;lex": 4},
     "3 samples left out: no frame of theirs matches --root"),
    (["--hide", "main|parse"], {"lex": 5, "emit;lex": 2, "other;lex": 4},
     "4 samples left out: all their frames are hidden"),
    (["--hide", "^(main|other|emit|lex)$"], {"parse": 8},
     "7 samples left out: all their frames are hidden"),
    (["--root", "parse|emit"], {"parse;lex": 5, "parse": 3, "emit;lex": 2},
     "5 samples left out: no frame of theirs matches --root"),
    (["--root", "main", "--hide", "^main$"], {"parse;lex": 5, "parse": 3, "emit;lex": 2},
     "1 sample left out: all their frames are hidden"),
    (["--reverse"], {"lex;parse;main": 5, "parse;main": 3, "lex;emit;main": 2, "main": 1,
                     "lex;other": 4}, ""),
    (["--reverse", "--root", "parse"], {"lex;parse": 5, "parse": 3},
     "7 samples left out: no frame of theirs matches --root"),
]


@pytest.mark.parametrize("words, expected, left_out", CASES)
def test_render(run, tmp_path, words, expected, left_out):
    (tmp_path / "in").write_text(STACKS)
    result = run("render", "in", "-o", "-", "--format", "folded", *words)
    assert result.returncode == 0
    have = {";".join(stack): weight for stack, weight in Folded(result.stdout).stacks}
    assert have == expected
    for line in left_out.splitlines():
        assert f"flamerun: {line}\n" in result.stderr
    assert ("left out" in result.stderr) == bool(left_out)


def test_nothing_left(run, tmp_path):
    (tmp_path / "in").write_text(STACKS)
    result = run("render", "in", "-o", "x.svg", "-o", "x.folded", "--root", "nowhere")
    assert result.returncode == 0
    assert "15 samples left out: no frame of theirs matches --root\n" in result.stderr
    assert (tmp_path / "x.folded").read_text() == ""
    assert (tmp_path / "x.svg").read_text().rstrip().endswith("</svg>")


@pytest.mark.parametrize("option", ["--hide", "--root"])
def test_a_bad_expression_is_refused_before_the_program_starts(run, tmp_path, option):
    result = run(option, "a(b", "--", "touch", "started")
    assert result.returncode == 125
    assert "a(b" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    return compile_target("split.c", tmp_path_factory.mktemp("split"))


def test_a_run(split, tmp_path):
    plain = profile(tmp_path, split, "400", clock_hz=1000)
    assert plain.folded.below("heavy") > 0
    hidden = profile(tmp_path, split, "400", clock_hz=1000, options=("--hide", "^(main|_.*)$"))
    assert hidden.folded.below("main") == 0
    rooted = profile(tmp_path, split, "400", clock_hz=1000, options=("--root", "^heavy$"))
    assert {stack[0] for stack, _ in rooted.folded.stacks} == {"heavy"}
    lost = int(re.search(r"([\d,]+) samples? left out: no frame of theirs matches --root\n",
                         rooted.stderr)[1].replace(",", ""))
    due = int(re.search(r"flamerun: (\d+) samples? in ", rooted.stderr)[1])
    assert lost > 0
    assert rooted.folded.total + lost >= due, "nothing else is lost"
    turned = profile(tmp_path, split, "400", clock_hz=1000, options=("--reverse",))
    assert all(stack[-1] != "heavy" for stack, _ in turned.folded.stacks if "main" in stack)
    # What is said is about what is drawn, whichever way the picture looks.
    for run, names in ((plain, {"heavy", "light"}), (rooted, {"heavy"}),
                       (turned, {"heavy", "light"})):
        said = set(re.findall(r"% +(heavy|light) \[split\]", run.stderr))
        assert said == names, run.stderr


def test_a_module(split, tmp_path):
    """As functions without names are written, and all functions of it are meant."""
    for expression, is_shown in (("^\\[split\\]", False), ("\\[sp", False), ("split", True),
                                 ("^[[]split", True)):
        run = profile(tmp_path, split, "400", clock_hz=1000, options=("--hide", expression))
        assert bool(run.folded.below("heavy")) == is_shown
        assert run.folded.total, "what the library's functions have is left"


def test_a_root_for_each_thread(tmp_path):
    threads = compile_target("threads.c", tmp_path)
    run = profile(tmp_path, threads, "400", clock_hz=1000, options=("--threads",))
    roots = {stack[0] for stack, _ in run.folded.stacks}
    named = {root for root in roots if re.fullmatch(r".+ \(\d+/\d+\)", root)}
    assert len(named) >= 2, roots
    without = profile(tmp_path, threads, "400", clock_hz=1000)
    assert not any(re.fullmatch(r".+ \(\d+/\d+\)", stack[0]) for stack, _ in without.folded.stacks)
