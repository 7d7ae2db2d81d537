# SPDX-License-Identifier: MIT
#
# Filters and grouping, in folded stacks and in pictures, for runs and for stored stacks.
import html
import os
import re
import shutil
import subprocess

import pytest

import pixels
from folded import Folded
from pprof import Maker, Profile
from profiled import compile_target, profile

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
    (["--focus", "^parse$"], {"main;parse;lex": 5, "main;parse": 3},
     "7 samples left out: no frame of theirs matches --focus"),
    (["--focus", "emit", "--focus", "other"], {"main;emit;lex": 2, "other;lex": 4},
     "9 samples left out: no frame of theirs matches --focus"),
    (["--ignore", "parse", "--ignore", "^other$"], {"main;emit;lex": 2, "main": 1},
     "12 samples left out: a frame of theirs matches --ignore"),
    # A filter matches all functions of a stack, including those that --root or --hide removes.
    (["--root", "lex", "--focus", "main", "--ignore", "emit"], {"lex": 5},
     "4 samples left out: no frame of theirs matches --focus\n"
     "2 samples left out: a frame of theirs matches --ignore\n"
     "4 samples left out: no frame of theirs matches --root"),
    (["--hide", "parse", "--focus", "parse"], {"main;lex": 5, "main": 3},
     "7 samples left out: no frame of theirs matches --focus"),
    (["--by", "module"], {"[unknown module]": 15}, ""),
    (["--by", "function", "--by", "process,thread", "--hide", "lex"],
     {"main;parse": 8, "main;emit": 2, "main": 1, "other": 4}, ""),
]

# Recursive stacks, and the stacks that --collapse-recursion makes of them.
RECURSION = [
    ("a;a;a;b", "a;b"),
    ("a;b;a;b;c", "a;b;c"),
    ("a;b;a;c", "a;c"),
    ("m;eval;apply;eval;apply;eval;add", "m;eval;add"),
    ("m;eval;apply;eval;apply", "m;eval;apply"),
    ("[exec];[exec];a", "[exec];[exec];a"),
]


@pytest.mark.sanitized
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


@pytest.mark.sanitized
def test_profiles_say_what_is_left_out(run, tmp_path):
    """
    A comment in the profile names all filters, including those of the profile that was rendered.
    """
    (tmp_path / "in").write_text("main;a 5\nmain;b 3\nstart;c 2\n")

    def comments(name):
        return [text for text in Profile(tmp_path / name).comments if text.startswith("filters")]

    run("render", "in", "-o", "whole.pb", "--collapse-recursion", check=True)
    assert comments("whole.pb") == []
    run("render", "in", "-o", "1.pb.gz", "--focus", "main", "--hide", "^a$", check=True)
    assert comments("1.pb.gz") == ["filters: focus: main; hide: ^a$ (80.0 %)"]
    run("render", "1.pb.gz", "-o", "2.pb", "-o", "2.svg", "--ignore", "b", check=True)
    assert comments("2.pb") == ["filters: ignore: b (62.5 %) of focus: main; hide: ^a$ (80.0 %)"]
    assert ("ignore: b (62.5 %) of focus: main; hide: ^a$ (80.0 %) of 8 samples"
            in (tmp_path / "2.svg").read_text())
    run("render", "2.pb", "-o", "3.pb", check=True)
    assert comments("3.pb") == comments("2.pb")


@pytest.mark.sanitized
@pytest.mark.parametrize("stack, expected", RECURSION)
def test_recursion_is_collapsed(run, tmp_path, stack, expected):
    (tmp_path / "in").write_text(f"{stack} 7\n")
    result = run("render", "in", "-o", "-", "--format", "folded", "--collapse-recursion")
    assert (result.returncode, result.stdout) == (0, f"{expected} 7\n")


HOSTILE = ["", ".", "(a+)+$", "(a|aa)*c", "x{0}^", "[^a]", "(|a)+$"]


@pytest.mark.sanitized
@pytest.mark.parametrize("expression", HOSTILE)
def test_hostile_names(run, tmp_path, expression):
    """
    Long names and names that are no valid text are in the picture, or are counted as left out.
    """
    names = [b"a" * 5000 + b"b", b"\xff\xfe\x80;\xc3(", b"\x01\x7f", "\u202e\u00e9".encode(), b"a"]
    (tmp_path / "in").write_bytes(b"".join(name + b" 1\n" for name in names))
    for option in ("--focus", "--ignore", "--hide", "--root"):
        result = run("render", "in", "-o", "x.folded", "-o", "x.svg", "-o", "x.pb", option,
                     expression)
        assert result.returncode == 0, result.stderr
        lost = sum(int(count) for count in re.findall(r"(\d+) samples? left out", result.stderr))
        kept = (tmp_path / "x.folded").read_bytes().count(b" 1\n")
        assert kept + lost == len(names)


@pytest.mark.sanitized
@pytest.mark.parametrize("expression, is_kept", [
    ("^one.two$", True), ("^two$", False), ("one$", False), ("[[:space:]]", True)])
def test_a_name_of_two_lines_is_one(run, tmp_path, expression, is_kept):
    made = Maker(("samples", "count"))
    made.function(1, "one\ntwo")
    made.sample([1], 5)
    made.write(tmp_path / "in.pb")
    result = run("-q", "render", "in.pb", "-o", "-", "--format", "folded", "--focus", expression)
    assert (result.returncode, result.stdout) == (0, "one two 5\n" if is_kept else "")


@pytest.mark.parametrize("expression, kept", [
    (r"\d+", "main;f1 5\n"), (r"\bd\b", "main;d 3\n"), (r"(.)\1", "main;ee 2\n")])
def test_the_syntax_is_the_viewer_s(run, tmp_path, expression, kept):
    (tmp_path / "in").write_text("main;f1 5\nmain;d 3\nmain;ee 2\n")
    result = run("-q", "render", "in", "-o", "-", "--format", "folded", "--focus", expression)
    assert (result.returncode, result.stdout) == (0, kept)


@pytest.mark.sanitized
def test_an_expression_that_takes_too_long_is_given_up(run, tmp_path):
    (tmp_path / "in").write_text("main;" + "a" * 4000 + " 5\n" + "a" * 3000 + " 2\nmain;b 3\n")
    result = run("render", "in", "-o", "o.folded", "--focus", "(a+)+[bc]|b")
    assert result.returncode == 0
    assert result.stderr.count("--focus: matching takes too long for some names, which count as no match") == 1
    assert (tmp_path / "o.folded").read_text() == "main;b 3\n"


@pytest.mark.sanitized
def test_what_is_too_much(run, tmp_path):
    (tmp_path / "in").write_text(STACKS)
    for option in ("--focus", "--ignore"):
        for words, said in (([option, "((((a{99}){99}){99}){99}"], "missing closing parenthesis in"),
                            ([option, "(((a{99}){99}){99}){99}"], "regular expression is too large"),
                            ([option, "a"] * 33, "was given more than 32 times")):
            result = run("render", "in", "-o", "x.svg", *words)
            assert result.returncode == 125
            assert result.stderr.startswith(f"flamerun: {option}") and said in result.stderr
            assert result.stderr.count("\n") == 1
    assert run("render", "in", "-o", "x.svg", *["--focus", "m"] * 32).returncode == 0


@pytest.mark.sanitized
def test_a_picture_says_what_it_lacks(run, tmp_path):
    """The subtitle names the filters, unless --subtitle gives another text."""
    (tmp_path / "in").write_text(STACKS)

    def subtitle(*words):
        assert run("render", "in", "-o", "x.svg", *words).returncode == 0
        found = re.search(r'id="flamerun-desc">([^<]*)<', (tmp_path / "x.svg").read_text())
        return html.unescape(found[1])

    assert subtitle("--focus", "lex", "--focus", "a<b>", "--hide", "^main$") == \
        "focus: lex, a<b>; hide: ^main$ (73.3 %)"
    assert subtitle("--hide", "^lex$", "--hide", "^main$", "--ignore", "other") == \
        "ignore: other; hide: ^lex$, ^main$ (66.7 %)"
    assert subtitle("--collapse-recursion") == "recursion collapsed"
    assert subtitle("--focus", "lex", "--subtitle", "mine") == "mine"
    assert subtitle("--focus", "\u00e9" * 150).endswith("\u2026 (0.0 %)")


@pytest.mark.parametrize("option", ["focus", "ignore"])
@pytest.mark.parametrize("expression", ["^parse$", "lex", "ma|ot", "nowhere", "."])
def test_as_pprof_does(run, tmp_path, option, expression):
    if not shutil.which("go"):
        pytest.skip("golang-go is not installed")
    (tmp_path / "in").write_text(STACKS)
    assert run("render", "in", "-o", "p.pb.gz").returncode == 0
    env = dict(os.environ, HOME=str(tmp_path), PPROF_TMPDIR=str(tmp_path))
    subprocess.run(["go", "tool", "pprof", "-proto", "-output=theirs.pb.gz",
                    f"-{option}={expression}", "p.pb.gz"], cwd=tmp_path, env=env,
                   capture_output=True, check=True)
    drawn = []
    for path, words in (("theirs.pb.gz", ()), ("p.pb.gz", (f"--{option}", expression))):
        result = run("-q", "render", path, "-o", "-", "--format", "folded", *words)
        assert result.returncode == 0, result.stderr
        drawn.append(result.stdout)
    assert drawn[0] == drawn[1]


@pytest.mark.sanitized
def test_nothing_left(run, tmp_path):
    (tmp_path / "in").write_text(STACKS)
    result = run("render", "in", "-o", "x.svg", "-o", "x.pdf", "-o", "x.folded", "--root",
                 "nowhere")
    assert result.returncode == 0
    assert "15 samples left out: no frame of theirs matches --root\n" in result.stderr
    assert "no stacks are left by --focus, --ignore, --root and --hide" in pixels.output_of(
        "pdftotext", tmp_path / "x.pdf", "-").decode()
    assert (tmp_path / "x.folded").read_text() == ""
    assert (tmp_path / "x.svg").read_text().rstrip().endswith("</svg>")


@pytest.mark.sanitized
@pytest.mark.parametrize("option", ["--focus", "--ignore", "--hide", "--root"])
def test_a_bad_expression_is_refused_before_the_program_starts(run, tmp_path, option):
    result = run(option, "a(b", "--", "touch", "started")
    assert result.returncode == 125
    assert "a(b" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    return compile_target("split.c", tmp_path_factory.mktemp("split"))


def test_a_run(split, tmp_path):
    plain = profile(tmp_path, split, "150", clock_hz=1000)
    assert plain.folded.below("heavy") > 0
    hidden = profile(tmp_path, split, "150", clock_hz=1000, options=("--hide", "^(main|_.*)$"))
    assert hidden.folded.below("main") == 0
    rooted = profile(tmp_path, split, "150", clock_hz=1000, options=("--root", "^heavy$"))
    assert {stack[0] for stack, _ in rooted.folded.stacks} == {"heavy"}
    lost = int(re.search(r"([\d,]+) samples? left out: no frame of theirs matches --root\n",
                         rooted.stderr)[1].replace(",", ""))
    due = int(re.search(r"flamerun: (\d+) samples? in ", rooted.stderr)[1])
    assert lost > 0
    assert rooted.folded.total + lost >= due, "nothing else is lost"
    turned = profile(tmp_path, split, "150", clock_hz=1000, options=("--reverse",))
    assert all(stack[-1] != "heavy" for stack, _ in turned.folded.stacks if "main" in stack)
    # The summary is about the stacks that are drawn, whether reversed or not.
    for run, names in ((plain, {"heavy", "light"}), (rooted, {"heavy"}),
                       (turned, {"heavy", "light"})):
        said = set(re.findall(r"% +(heavy|light) \[split\]", run.stderr))
        assert said == names, run.stderr


def test_the_summary_speaks_of_what_is_drawn(split, tmp_path):
    """
    The summary lists functions by self weight, even if boxes are modules or stacks are reversed.
    """
    shapes = ((), ("--reverse",), ("--by", "module"), ("--by", "process,thread", "--reverse"))
    for shape in shapes:
        run = profile(tmp_path, split, "150", clock_hz=1000, options=("--focus", "^heavy$", *shape))
        part, whole, share = re.search(r"flamerun: drawn: ([\d,]+) of ([\d,]+) samples? "
                                       r"\(([\d.]+) %\)\n", run.stderr).groups()
        lost = re.search(r"flamerun: ([\d,]+) samples? left out: no frame of theirs matches --focus\n",
                         run.stderr)[1]
        part, whole, lost = (int(text.replace(",", "")) for text in (part, whole, lost))
        assert part == run.folded.total and part + lost == whole
        assert float(share) == round(100 * part / whole, 1)
        hottest = re.findall(r"  +([\d.]+) %  (.*)\n", run.stderr.split("by self time:\n")[1])
        assert hottest[0][1] == "heavy [split]" and float(hottest[0][0]) > 95
        assert sum(float(share) for share, _ in hottest) < 100.3
        assert "light" not in run.stderr and "module" not in run.stderr
    whole = profile(tmp_path, split, "150", clock_hz=1000)
    assert "drawn: " not in whole.stderr


def test_waits_are_not_counted_as_samples(run, split, tmp_path):
    """Of a picture with waits, the summary says in seconds how much of the run is drawn."""
    done = run("-o", tmp_path / "out.svg", "--wall", "--focus", "^heavy$", "--", "sh", "-c",
               f"{split} 150; sleep 0.3")
    part, whole, share = map(float, re.search(
        r"flamerun: drawn: ([\d.]+) s of ([\d.]+) s \(([\d.]+) %\)\n", done.stderr).groups())
    assert 0 < part < whole and 0.3 < whole
    assert share == pytest.approx(100 * part / whole, abs=100 * 0.02 / whole)


def roots_of(folded):
    return {stack[0] for stack, _ in folded.stacks}


def test_a_root_for_each_process(split, run, tmp_path):
    script = f"{split} 300; {split} 300; :"
    made = profile(tmp_path, "sh", "-c", script, clock_hz=1000,
                   options=("--by", "process", "-o", str(tmp_path / "by.pb.gz")))
    splits = {root for root in roots_of(made.folded) if re.fullmatch(r"split \(\d+\)", root)}
    assert len(splits) == 2, roots_of(made.folded)
    # The process frames replace the common frame "split".
    assert all("split" not in stack for stack, _ in made.folded.stacks if stack[0] in splits)
    for root in splits:
        assert made.folded.where(lambda stack, root=root: stack[0] == root and "heavy" in stack) > 0


@pytest.mark.sanitized
def test_processes_of_a_profile(split, run, tmp_path):
    """The profile of a run has its processes, however the picture was grouped."""
    script = f"{split} 300; {split} 300; :"
    plain = profile(tmp_path, "sh", "-c", script, clock_hz=1000,
                    options=("-o", str(tmp_path / "p.pb.gz")))
    assert "split" in roots_of(plain.folded)

    def again(*words):
        result = run("-q", "render", "p.pb.gz", "-o", "-", "--format", "folded", *words)
        assert result.returncode == 0, result.stderr
        return Folded(result.stdout)

    by_process = again("--by", "process")
    splits = {root for root in roots_of(by_process) if re.fullmatch(r"split \(\d+\)", root)}
    assert len(splits) == 2, roots_of(by_process)
    together = {}
    for stack, weight in by_process.stacks:
        name = re.sub(r" \(\d+\)$", "", stack[0])
        together[(name, *stack[1:])] = together.get((name, *stack[1:]), 0) + weight
    assert together == dict(plain.folded.stacks)
    both = again("--by", "process,thread", "--reverse")
    assert both.total == by_process.total and splits <= roots_of(both)
    for stack, _ in both.stacks:
        if stack[0] in splits:
            pid = stack[0].split()[1][1:-1]
            assert re.fullmatch(rf"split \({pid}/\d+\)", stack[1]), stack
            if "heavy" in stack and "main" in stack:
                assert stack.index("heavy") < stack.index("main"), stack


@pytest.mark.sanitized
def test_a_module(split, tmp_path):
    """An expression that begins with an escaped bracket also matches modules."""
    for expression, is_shown in (("^\\[split\\]", False), ("\\[sp", False), ("split", True),
                                 ("^[[]split", True)):
        run = profile(tmp_path, split, "150", clock_hz=1000, options=("--hide", expression))
        assert bool(run.folded.below("heavy")) == is_shown
        assert run.folded.total, "what the library's functions have is left"


def test_a_root_for_each_thread(tmp_path):
    threads = compile_target("threads.c", tmp_path)
    run = profile(tmp_path, threads, "150", clock_hz=1000, options=("--threads",))
    roots = {stack[0] for stack, _ in run.folded.stacks}
    named = {root for root in roots if re.fullmatch(r".+ \(\d+/\d+\)", root)}
    assert len(named) >= 2, roots
    without = profile(tmp_path, threads, "150", clock_hz=1000)
    assert not any(re.fullmatch(r".+ \(\d+/\d+\)", stack[0]) for stack, _ in without.folded.stacks)
