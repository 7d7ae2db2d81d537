# SPDX-License-Identifier: MIT
#
# The command line: help, mistakes, reserved words, and the render command.
import os
import re

import pytest

import profiled

pytestmark = pytest.mark.sanitized

TRY = "flamerun: hint: flamerun --help lists the options\n"


def test_help_and_version(run, tmp_path):
    short, long = run("-h"), run("--help")
    for result in (short, long):
        assert result.returncode == 0 and result.stderr == ""
        assert result.stdout.startswith("usage: flamerun [option...] ")
    assert len(short.stdout.splitlines()) <= 24 < len(long.stdout.splitlines())
    for words, result in (("-qh", short), ("render x -h", short), ("--help -h", short), ("-help", long),
                          ("render --help", long), ("top x --help", long), ("-h --help", long)):
        assert run(*words.split()).stdout == result.stdout, words
    version = run("--version")
    makefile = (profiled.ROOT / "Makefile").read_text()
    assert version.stdout == "flamerun " + re.search(r"^VERSION := (\S+)", makefile, re.M)[1] + "\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_nobody_can_read_is_a_failure(run, word):
    with open("/dev/full", "w", encoding="ascii") as full:
        result = run(word, stdout=full)
    assert result.returncode == 125
    assert result.stderr == "flamerun: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("words, message", [
    (["--nope"], "flamerun: unknown option '--nope'\n" + TRY),
    (["-Z", "ls"], "flamerun: unknown option '-Z'\n" + TRY),
    (["-r", "0", "ls"], "flamerun: --rate wants a whole number from 1 to 10000, not '0'\n"),
    (["--rate=10001", "ls"],
     "flamerun: --rate wants a whole number from 1 to 10000, not '10001'\n"),
    (["-d", "soon", "ls"],
     "flamerun: --duration wants seconds, more than 0 (2 or 0.5), not 'soon'\n"),
    (["-o"], "flamerun: -o wants FILE\n"),
    (["--quiet=1", "ls"], "flamerun: --quiet takes no value\n"),
    (["-o", "x.gif", "ls"], "flamerun: cannot tell the format of 'x.gif' by its name\n"
                            "flamerun: hint: known endings: .svg .png .pdf .folded .pb.gz .pb "
                            ".pgo .speedscope.json .firefox.json .json .md, or say it with --format\n"),
    ([],
     "flamerun: no program given\nflamerun: hint: flamerun [option...] [--] program [argument...]; "
     "flamerun --help tells more\n"),
    (["--"],
     "flamerun: no program given\nflamerun: hint: flamerun [option...] [--] program [argument...]; "
     "flamerun --help tells more\n"),
    (["-q", "--\033[31m"], "flamerun: unknown option '--?[31m'\n" + TRY),
])
def test_mistakes(run, tmp_path, words, message):
    result = run(*words)
    assert (result.returncode, result.stdout, result.stderr) == (125, "", message)
    assert list(tmp_path.iterdir()) == []


def test_a_program_of_a_reserved_name(run, tmp_path):
    for word in ("diff", "merge", "render", "top"):
        program = tmp_path / word
        program.write_text("#!/bin/sh\nexit 42\n")
        program.chmod(0o755)
        assert run("-q", "--", word,
                   env=dict(os.environ, PATH=f"{tmp_path}:/usr/bin:/bin")).returncode == 42
        assert run("-q", f"./{word}").returncode == 42


def test_options_behind_the_program_are_its_own(run):
    assert run("-q", "echo", "-r", "0", "--help", "--", "-o").stdout == "-r 0 --help -- -o\n"
    assert run("-q", "--", "echo", "--", "x").stdout == "-- x\n"


def test_quiet_normal_and_verbose(run):
    assert run("-q", "--", "true").stderr == ""
    normal, verbose = run("--", "true").stderr, run("-v", "--", "true").stderr
    for text in (normal, verbose):
        assert "flamerun: wrote 'flame.svg'\n" in text
        assert all(line.startswith("flamerun: ") for line in text.splitlines())
        assert ("MiB at most\n" in text) == (text == verbose)


def test_the_cost_has_two_digits(run, tmp_path):
    """The cost of sampling is measured from a thread's ninth sample on, so `true` shows none."""
    line = r"flamerun: (\S+) % of the CPU time was spent taking samples\n"
    assert not re.search(line, run("-v", "--", "true").stderr)
    program = profiled.compile_target("recursion.c", tmp_path)
    said = re.search(line, run("-v", "-r", "997", "--", program, "200").stderr)
    assert re.fullmatch(r"[1-9]\d?|[1-9]\.\d|0\.0*[1-9]\d?", said[1])


def test_duration(run, tmp_path):
    """
    After the duration (-d) the picture is written, but flamerun ends with the program and its
    status.
    """
    script = 'while ! [ -e x.folded ]; do sleep 0.02; done; echo saw it; sleep 0.1; exit 5'
    result = run("-d", "0.2", "-o", "x.folded", "--", "sh", "-c", script)
    assert result.stdout == "saw it\n"
    assert result.returncode == 5
    assert result.stderr.count("flamerun: wrote 'x.folded'\n") == 1


def test_a_duration_the_program_does_not_reach(run, tmp_path):
    result = run("-d", "1000", "--", "sh", "-c", "exit 5", timeout=30)
    assert result.returncode == 5
    assert result.stderr.count("flamerun: wrote 'flame.svg'\n") == 1


FOLDED = "main;work;more 30\nmain;idle 10\n"


def test_render(run, tmp_path):
    (tmp_path / "in.folded").write_text(FOLDED)
    result = run("render", "in.folded", "-o", "a.svg", "--title", "A <title>", "-o", "b.png",
                 "-oc.folded")
    assert result.returncode == 0
    assert result.stderr == "".join(f"flamerun: wrote '{name}'\n" for name in ("a.svg", "b.png",
                                                                               "c.folded"))
    assert "A &lt;title&gt;" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert sorted((tmp_path / "c.folded").read_text().splitlines()) == sorted(FOLDED.splitlines())
    again = run("-q", "-o", "d.folded", "render", "--", "in.folded")
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "d.folded").read_text() == (tmp_path / "c.folded").read_text()
    assert not (tmp_path / "flame.svg").exists()


def test_render_reads_standard_input_and_writes_the_default(run, tmp_path):
    (tmp_path / "in").write_text(FOLDED)
    with open(tmp_path / "in", encoding="ascii") as stdin:
        assert run("render", "-", stdin=stdin).returncode == 0
    assert run("render", "in", "-o", "other.svg").returncode == 0
    assert (tmp_path / "flame.svg").read_text() == (tmp_path / "other.svg").read_text()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["in.folded", "in.speedscope.json", "in"])
def test_render_reads_what_windows_writes(run, tmp_path, name, encoding):
    """A byte order mark, and UTF-16, as PowerShell's > writes it."""
    (tmp_path / "plain.folded").write_text("main;\u00e9t\u00e9 3\nmain;b 1\n", encoding="utf-8")
    assert run("render", "plain.folded", "-o", "plain.speedscope.json").returncode == 0
    plain = tmp_path / ("plain.folded" if name == "in.folded" else "plain.speedscope.json")
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    (tmp_path / name).write_bytes((mark + plain.read_text(encoding="utf-8")).encode(encoding))
    assert run("render", name, "-o", "out.folded").returncode == 0
    assert (tmp_path / "out.folded").read_text(encoding="utf-8") == "main;b 1\nmain;\u00e9t\u00e9 3\n"


def test_render_counts_what_it_cannot_parse(run, tmp_path):
    (tmp_path / "in.folded").write_text("a;b 1\nno weight\n\na;c -5\n" + "a;d 2\n" * 40)
    result = run("render", "in.folded", "-o", "out.folded")
    assert result.returncode == 0
    said = re.search(r"'in.folded': (\d+) lines are not \"stack weight\" and left out, the first is line 2\n",
                     result.stderr)
    assert said and int(said[1]) == 2
    assert sorted((tmp_path / "out.folded").read_text().splitlines()) == ["a;b 1", "a;d 80"]


@pytest.mark.parametrize("words, message", [
    (["render"], "render wants a file of stacks: folded, or of pprof, speedscope, perf or flamerun"),
    (["render", "a", "b"], "render takes one file, not also 'b'"),
    (["render", "none.folded"], "cannot open 'none.folded': No such file or directory"),
    (["render", "."], "no files of a job's nodes in '.'"),
    (["render", "noise"], "noise:1: a NUL byte, where \"outer;inner weight\" was expected"),
    (["render", "words"], "words:1: not \"outer;inner weight\""),
    (["render", "empty", "-r", "9"], "--rate means nothing to render: it runs no program"),
    (["-d", "9", "render", "empty"], "--duration means nothing to render: it runs no program"),
    (["render", "empty", "-o", "none/x.svg"],
     "cannot write 'none/x.svg': No such file or directory"),
])
def test_render_refuses(run, tmp_path, words, message):
    (tmp_path / "empty").touch()
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "words").write_text("no weight here\n")
    result = run(*words)
    assert result.returncode == 125
    assert f"flamerun: {message}\n" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "noise", "words"]
