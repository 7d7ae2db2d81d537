# SPDX-License-Identifier: MIT
#
# Tables of functions, by `flamerun top` and in run.json and run.md. The tests compute the same
# numbers from the folded stacks and with pprof.
import collections
import contextlib
import csv
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import termios

import pytest

import folded
import profiled


def selves_and_totals(stacks):
    """For each name: the weight of the stacks that end in it, and of those that contain it."""
    selves, totals = collections.Counter(), collections.Counter()
    for stack, weight in stacks:
        selves[stack[-1]] += weight
        for name in set(stack):
            totals[name] += weight
    return selves, totals


def edges(stacks, name, step):
    """
    {caller or callee of @name: weight of the stacks with this pair}. None stands for the root.
    """
    found = collections.Counter()
    for stack, weight in stacks:
        beside = set()
        for i, frame in enumerate(stack):
            if frame == name and 0 <= i + step < len(stack):
                beside.add(stack[i + step])
            elif frame == name and i + step < 0:
                beside.add(None)
        for other in beside:
            found[other] += weight
    return dict(found)


def random_stacks(seed):
    """Random stacks with few names and great depth, so that most names recur."""
    draw = random.Random(seed)
    names = [f"f{i}" for i in range(draw.randint(1, 12))]
    found = {}
    for _ in range(draw.randint(1, 60)):
        stack = tuple(draw.choice(names) for _ in range(draw.randint(1, 9)))
        found[stack] = found.get(stack, 0) + draw.randint(1, 1000)
    return list(found.items())


def write_folded(path, stacks):
    path.write_text("".join(f"{';'.join(stack)} {weight}\n" for stack, weight in stacks))
    return path


def rows_of(text, table):
    return [row for row in csv.DictReader(io.StringIO(text)) if row["table"] == table]


@pytest.mark.sanitized
@pytest.mark.parametrize("seed", range(12))
def test_functions_of_any_stacks(run, tmp_path, seed):
    stacks = random_stacks(seed)
    selves, totals = selves_and_totals(stacks)
    path = write_folded(tmp_path / "in.folded", stacks)
    result = run("top", path, "--csv")
    assert (result.returncode, result.stderr) == (0, "")
    rows = rows_of(result.stdout, "function")
    assert {row["name"]: (int(row["self"]), int(row["total"])) for row in rows} == {
        name: (selves[name], totals[name]) for name in totals}
    order = [(-int(row["self"]), -int(row["total"]), row["name"]) for row in rows]
    assert order == sorted(order)
    told = json.loads(run("top", path, "--json", "--of", ".").stdout)
    assert [(f["name"], f["self"], f["total"]) for f in told["functions"]] == [
        (row["name"], int(row["self"]), int(row["total"])) for row in rows]
    assert told["weight"] == sum(weight for _, weight in stacks)
    assert {of["function"]["name"] for of in told["of"]} == set(totals)
    for of in told["of"]:
        name = of["function"]["name"]
        for side, step in (("callers", -1), ("callees", 1)):
            assert {f["name"]: f["total"] for f in of[side]} == edges(stacks, name, step), name
    # Filtered stacks are counted in the same way.
    kept = [(stack, weight) for stack, weight in stacks if "f0" in stack]
    few = json.loads(run("-q", "top", path, "--json", "--focus", "^f0$").stdout)
    assert {f["name"]: f["total"] for f in few["functions"]} == dict(selves_and_totals(kept)[1])


@pytest.mark.sanitized
def test_the_hot_path(run, tmp_path):
    path = write_folded(tmp_path / "in.folded", [
        (("main", "a", "x"), 40), (("main", "a", "y"), 30), (("main", "b"), 25), (("main", "a"), 5)])
    told = json.loads(run("top", path, "--json").stdout)
    assert [(f["name"], f["self"], f["total"]) for f in told["path"]] == [
        ("main", 0, 100), ("a", 5, 75), ("x", 40, 40)]


@pytest.mark.sanitized
def test_what_a_terminal_shows(run, tmp_path):
    long = "outer" * 30 + "::inner"
    path = write_folded(tmp_path / "in.folded", [
        (("main", long), 3), (("main", "\x1b[31mred\x1b[0m"), 2), (("main", "\u6587" * 200), 1)])
    for columns in (50, 80, 200):
        for words in ((), ("--of", "main"), ("--by", "module")):
            result = run("top", path, *words, env=dict(os.environ, COLUMNS=str(columns)))
            assert result.returncode == 0 and "\x1b" not in result.stdout
            for line in result.stdout.splitlines():
                wide = sum(2 if char == "\u6587" else 1 for char in line)
                assert wide <= columns, line
    lines = result.stdout.splitlines()
    assert long in run("top", path, env=dict(os.environ, COLUMNS="250")).stdout
    text = run("top", path, "--limit", "1", env=dict(os.environ, COLUMNS="60")).stdout
    assert re.search(r"^ 50\.0 %   50\.0 %           3  outer\S*\u2026\S*inner$", text, re.M), text
    assert text.count("%") == 3 * 2 and len(lines) > 3
    assert run("top", path, "--of", "nothing").stdout == "no function matches --of\n"


def test_the_terminals_own_width(flamerun, tmp_path):
    """Without COLUMNS, the terminal's width is used."""
    path = write_folded(tmp_path / "in.folded", [(("main", "long" * 100), 3)])
    ours, its = os.openpty()
    termios.tcsetwinsize(its, (24, 57))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run([flamerun, "top", path], stdout=its, check=True, env=env, timeout=60)
    os.close(its)
    text = b""
    # A read from a terminal may return only a part, and fails with EIO at the end.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65536):
            text += part
    assert max(map(len, text.decode().split("\r\n"))) == 57
    os.close(ours)


@pytest.mark.sanitized
def test_a_reader_that_goes_away(flamerun, run, tmp_path):
    """
    If its reader ends, `top` ends silently, as other programs in a pipeline do. A full disk is
    reported.
    """
    path = write_folded(tmp_path / "in.folded", [((f"function{i}",), 1) for i in range(20000)])
    for words in (("--json",), ("--csv",), ("--limit", "20000")):
        with subprocess.Popen([flamerun, "top", path, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as top:
            top.stdout.readline()
            top.stdout.close()
            assert (top.stderr.read(), top.wait()) == (b"", -signal.SIGPIPE)
    with open("/dev/full", "w", encoding="ascii") as full:
        result = run("top", path, "--json", stdout=full)
    assert (result.returncode, result.stderr) == (
        125, "flamerun: cannot write to standard output: No space left on device\n")


@pytest.mark.parametrize("words, message", [
    (["top"], "top wants a file of stacks: folded, or of pprof, speedscope, perf or flamerun\n"
              "flamerun: hint: flamerun top flame.svg\n"),
    (["top", "a", "b"], "top takes one file, not also 'b'\n"),
    (["top", "a", "-r", "9"], "--rate means nothing to top: it runs no program\n"),
    (["top", "a", "--json", "--csv"], "either --json or --csv\n"),
    (["top", "a", "-o", "b.json"], "top writes to standard output, and no file\n"
                                   "flamerun: hint: flamerun render FILE -o run.json, or > FILE\n"),
    (["top", "a", "--of", "("], "--of: missing closing parenthesis in '('\n"),
    (["top", "a", "--limit", "0"],
     "--limit wants a whole number from 1 to 100000, not '0'\n"),
    (["top", "a", "--by", "file"], "--by file is for flamerun merge\n"),
    (["top", "a"], "cannot open 'a': No such file or directory\n"),
    (["render", "a", "--csv"], "--csv is for flamerun top\n"),
    (["--json", "ls"], "--json is for flamerun top and flamerun diff\n"),
    (["--by", "file", "ls"], "--by file is for flamerun merge\n"),
])
def test_mistakes(run, tmp_path, words, message):
    result = run(*words)
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr == "flamerun: " + message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sanitized
def test_names_that_would_break_out(run, tmp_path):
    names = ['"', '\\', ',"x', "```", "# head", "a|b", "\r", "\x07bell", "\u202egnp.exe", "=1+1",
             "</script>", "x" * 5000, "\u6587" * 3000, "\u0301" * 900,
             *(str(i) + "\u20ac" * 300 for i in range(30))]
    stacks = [(("main", f"{name}{i}"), i + 1) for i, name in enumerate(names)]
    path = write_folded(tmp_path / "in.folded", stacks)
    with open(path, "ab") as more:
        more.write(b"main;\xff\xfe raw 99\n")
    for options in ((), ("--title", "``` \n```\n# x" + "\u6587" * 900), ("--hide", "no" * 400)):
        result = run("-q", "render", path, "-o", "run.json", "-o", "run.md", *options)
        assert (result.returncode, result.stderr) == (0, "")
        told = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
        assert {f["name"] for f in told["functions"]} >= {'"0', "\\1", "\ufffd\ufffd raw"}
        text = (tmp_path / "run.md").read_bytes()
        assert len(text) <= 4096
        text = text.decode()
        assert not set(text) & set("\r\x07\u202e\x1b")
        fences = [line for line in text.splitlines() if line.startswith("`")]
        assert fences == ["```text", "```"] * (len(fences) // 2)
        assert [line for line in text.splitlines() if line.startswith("#")] == [
            line for line in text.splitlines() if re.match(r"#{1,2} [A-Z]", line)]
    rows = list(csv.reader(io.StringIO(run("top", path, "--csv").stdout)))
    assert {len(row) for row in rows} == {7}
    assert '"0' in {row[2] for row in rows} and "=1+19" in {row[2] for row in rows}


def test_nothing_at_all(run, tmp_path):
    (tmp_path / "in.folded").write_text("")
    result = run("-q", "render", "in.folded", "-o", "run.json", "-o", "run.md")
    assert result.returncode == 0
    told = json.loads((tmp_path / "run.json").read_text())
    assert (told["flamerun"], told["weight"], told["functions"], told["path"]) == (1, 0, [], [])
    assert "nan" not in (tmp_path / "run.md").read_text()
    assert run("-q", "top", "in.folded").returncode == 0


# ---- of programs ---------------------------------------------------------------------------------

def python_job(folder):
    script = folder / "job.py"
    script.write_text("import json, time\ntime.sleep(0.02)\nfor _ in range(25000):\n"
                      "    json.loads(json.dumps({'a': list(range(90))}))\n")
    return ["/usr/bin/python3", script]


# Programs of known shapes, and realistic programs.
PROGRAMS = {
    "recursion": lambda folder: [profiled.compile_target("recursion.c", folder), "400"],
    "threads": lambda folder: [profiled.compile_target("threads.c", folder), "1000"],
    "sleeps": lambda folder: [profiled.compile_target("sleeps.c", folder)],
    "python": python_job,
    "sort": lambda folder: ["/bin/sh", "-c", "seq 60000 | sort -R | sort -n | tail -1"],
}
QUESTIONS = {
    "which function has most by itself?":
        (".functions[0].self", lambda told: max(told.selves.values())),
    "is there one of that weight and name?":
        (".functions[0] | [.name, .self]", lambda told: min(
            [-told.selves[name], -told.totals[name], name.encode(errors="surrogateescape"),
             [name, told.selves[name]]] for name in told.totals)[-1]),
    "how much is everything?": (".weight", lambda told: told.total),
    "how many functions are there?":
        ("[.functions[].name] | unique | length", lambda told: len(told.totals)),
    "what do all of them have by themselves?":
        ("[.functions[].self] | add", lambda told: told.total),
    "which has the greatest total?":
        ("[.functions[].total] | max", lambda told: max(told.totals.values())),
    "how many never ran themselves?":
        ("[.functions[] | {name, self}] | group_by(.name) | map(map(.self) | add) | "
         "map(select(. == 0)) | length",
         lambda told: sum(told.selves[name] == 0 for name in told.totals)),
    "how much is below main?":
        ('[.functions[] | select(.name == "main") | .total] | max // 0',
         lambda told: told.totals["main"]),
    "how many are above a tenth by themselves?":
        (".weight as $all | [.functions[] | select(.self * 10 > $all)] | length",
         lambda told: sum(weight * 10 > told.total for weight in told.selves.values())),
    "how much ended in the kernel?":
        ('[.functions[] | select(.kind == "kernel") | .self] | add // 0',
         lambda told: told.self_where(lambda name: name.startswith("[kernel"))),
    "how much is in code without a name?":
        (".uncertain.unnamed", lambda told: told.self_where(
            lambda name: re.fullmatch(r"\[.*\+0x[0-9a-f]+\]|\[unknown (code|module)\]", name))),
    "how much was not sampled?":
        (".uncertain.unsampled", lambda told: told.self_where(
            lambda name: name.startswith("[unsampled"))),
    "how much lacks its beginning?":
        (".uncertain.incomplete", lambda told: told.where(lambda stack: any(
            name.startswith(("[incomplete stack]", "[deeper than ")) for name in stack))),
    "how much did starting it take?":
        ('[.functions[] | select(.name == "[exec]") | .self] | add // 0',
         lambda told: told.self("[exec]")),
    "where does the hot path begin?":
        (".path[0].total", lambda told: max(told.level(0).values())),
    "what comes next on it?":
        (".path[1].total", lambda told: told.next_on_the_path()),
    "what do modules have by themselves?":
        ("[.modules[].self] | add", lambda told: told.total),
    "what was lost?": (".uncertain.lost", lambda told: 0),
    # Several functions with one name, in different modules, may each have less than half.
    "how many functions have half of all as total?":
        ("[.weight as $all | .functions[] | select(.total * 2 >= $all) | .name] | unique | length",
         lambda told: sum(weight * 2 >= told.total for weight in told.totals.values())),
    "what do all threads have, but what is nobody's?":
        ("([.threads[].weight] | add) <= .weight", lambda told: True),
}


class Told(folded.Folded):
    """Answers computed from a folded file. @has_roots is set if stacks begin with their process."""

    def __init__(self, text, has_roots):
        super().__init__(text)
        self.selves, self.totals = selves_and_totals(
            [(stack[has_roots:], weight) for stack, weight in self.stacks])

    def self_where(self, condition):
        return sum(weight for name, weight in self.selves.items() if condition(name))

    def level(self, depth, above=()):
        found = collections.Counter()
        for stack, weight in self.stacks:
            if stack[:depth] == above and len(stack) > depth:
                found[stack[depth]] += weight
        return found

    def hottest_of_languages(self):
        """
        The function with most self weight, if native code counts for the language function that
        called it.
        """
        found = collections.Counter()
        for stack, weight in self.stacks:
            languages = [name for name in stack if re.search(r" \(.+:\d+\)$", name)]
            found[(languages or stack)[-1]] += weight
        return min(found.items(), key=lambda item: (-item[1], item[0]))

    def next_on_the_path(self):
        """
        The weight of the heaviest root's heaviest callee; None if it has less than a tenth of the
        total.
        """
        roots = self.level(0)
        root = min(roots, key=lambda name: (-roots[name], name.encode()))
        most = max(self.level(1, (root,)).values(), default=0)
        return most if most * 10 >= self.total else None


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not here")
@pytest.mark.parametrize("program", PROGRAMS)
def test_twenty_questions(run, tmp_path, program):
    assert len(QUESTIONS) == 20
    command = PROGRAMS[program](tmp_path)
    result = run("-r", "997", "-o", "run.json", "-o", "run.folded", "-o", "run.md", "-o", "run.svg",
                 "--", *command, cwd=tmp_path)
    assert (tmp_path / "run.json").exists(), result.stderr
    has_roots = re.search(r"[; ](\d+) process", result.stderr)[1] != "1"
    told = Told((tmp_path / "run.folded").read_text(errors="surrogateescape"), has_roots)
    for question, (line, answer) in QUESTIONS.items():
        said = subprocess.run(["jq", "-c", line, tmp_path / "run.json"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        assert json.loads(said) == answer(told), f"{question} {line}"
    # The page has the same numbers, if it has room for them, and the summary has the same shares.
    text = (tmp_path / "run.md").read_text()
    assert len(text.encode()) <= 4096
    row = json.loads((tmp_path / "run.json").read_text())["functions"][0]
    share = f"{100 * row['self'] / told.total:.1f} %  "
    assert re.search(rf"self time  function\n *{re.escape(share)}", text)
    name, weight = told.hottest_of_languages()
    hottest = re.search(r"hottest functions by self time.*:\n(.*)", result.stderr)[1]
    assert hottest.startswith(f"flamerun:   {100 * weight / told.total:5.1f} %  {name[:160]}")
    # The picture keeps everything that is known of the run, except for the losses.
    again = run("-q", "render", "run.svg", "-o", "again.json")
    assert again.returncode == 0
    told, again = (json.loads((tmp_path / name).read_text()) for name in ("run.json", "again.json"))
    assert again["uncertain"].pop("lost") is None and told["uncertain"].pop("lost") == 0
    assert again == told
    assert run("top", "run.svg", "--json").stdout == (tmp_path / "again.json").read_text()


def test_equal_profiles_give_equal_bytes(run, tmp_path):
    """The order in the input file does not matter."""
    stacks = random_stacks(1)
    for name, order in (("a", stacks), ("b", stacks[::-1])):
        write_folded(tmp_path / f"{name}.folded", order)
        assert run("-q", "render", f"{name}.folded", "-o", f"{name}.json", "-o", f"{name}.md",
                   "--title", "same").returncode == 0
    for suffix in ("json", "md"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_files_tell_what_was_sampled(run, tmp_path):
    """Tables do not depend on how the picture is grouped or reversed. Filters apply to both."""
    path = write_folded(tmp_path / "in.folded", random_stacks(3))
    for words in ((), ("--reverse", "--by", "module"), ("--collapse-recursion",)):
        run("-q", "render", path, "-o", "now.json", "-o", "now.md", *words)
        texts = [(tmp_path / f"now.{suffix}").read_text() for suffix in ("json", "md")]
        if not words:
            plain = texts
        assert [re.sub("recursion collapsed", "", text) for text in texts] == plain or (
            "recursion" in texts[0] and json.loads(texts[0])["functions"] ==
            json.loads(plain[0])["functions"])


def test_threads_and_waits(run, tmp_path):
    """In a program whose threads work and sleep, --by thread gives a table for each thread."""
    program = profiled.compile_target("threads.c", tmp_path)
    run("-r", "997", "-o", "run.svg", "-o", "by.folded", "--by", "thread", "--", program, "1000")
    told = json.loads(run("top", "run.svg", "--json").stdout)
    named = folded.Folded((tmp_path / "by.folded").read_text())
    weights = collections.Counter()
    for stack, weight in named.stacks:
        if re.search(r"\(\d+/\d+\)$", stack[0]):
            weights[stack[0]] += weight
    assert {thread["name"]: thread["weight"] for thread in told["threads"]} == dict(weights)
    assert {group["name"]: group["weight"] for group in told["groups"]} == dict(weights)
    for group in told["groups"]:
        stacks = [(stack[1:], weight) for stack, weight in named.stacks if stack[0] == group["name"]]
        selves, totals = selves_and_totals(stacks)
        assert {f["name"]: (f["self"], f["total"]) for f in group["functions"]} == {
            name: (selves[name], totals[name]) for name in totals}
    waits = told["waits"]
    assert waits["weight"] == sum(
        waits[kind] for kind in ("lock", "io", "sleep", "child", "disk", "ready", "unknown"))
    assert waits["weight"] >= waits["idle"] + sum(place["weight"] for place in waits["places"])
    run("-q", "render", "run.svg", "--sample-type", "wait", "-o", "waits.folded", "--by", "function")
    assert folded.Folded((tmp_path / "waits.folded").read_text()).total == waits["weight"]


@pytest.mark.skipif(not shutil.which("go"), reason="go is not here")
def test_what_pprof_says(run, tmp_path):
    program = profiled.compile_target("recursion.c", tmp_path)
    run("-q", "-r", "997", "-o", "run.pb.gz", "--", program, "400")
    pprof = subprocess.run(
        ["go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-sample_index=0",
         "run.pb.gz"], cwd=tmp_path, text=True, check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=dict(os.environ, PPROF_TMPDIR=str(tmp_path)))
    theirs = {}
    for line in pprof.stdout.splitlines():
        match = re.match(r"\s+(\d+) +\S+% +\S+% +(\d+) +\S+% +(.*?)(?: \((?:partial-)?inline\))?$", line)
        if match:
            theirs[match[3]] = (int(match[1]), int(match[2]))
    rows = rows_of(run("top", "run.pb.gz", "--csv").stdout, "function")
    assert len(theirs) > 5
    assert {row["name"]: (int(row["self"]), int(row["total"])) for row in rows} == theirs
