# SPDX-License-Identifier: MIT
#
# Questions that users ask a profile: a shell command finds the answer in run.md, and the test
# computes the answer from folded stacks of the same run. tests/e2e/test_tables.py does this for
# run.json.
import collections
import math
import re
import shutil
import subprocess

import pytest

import folded
import profiled
import test_tables

HZ = 997
PERIOD_NS = 10 ** 9 // HZ


def sources(folder):
    """
    Write a source file that takes up to a second to compile. Returns the command that compiles it.
    """
    (folder / "a.cc").write_text("#include <map>\n#include <regex>\n#include <string>\n"
                                 "std::map<std::string, std::regex> all;\n"
                                 "void add(const char *s) { all.emplace(s, std::regex(s)); }\n")
    return ["/usr/bin/g++", "-O1", "-c", "a.cc", "-o", "a.o"]


def squeezed(folder):
    (folder / "numbers").write_text("".join(f"{i * i}\n" for i in range(150000)))
    return ["/usr/bin/xz", "-4", "-k", "-T2", "--block-size=400KiB", "numbers"]


PROGRAMS = {
    "compiler": sources,
    "xz": squeezed,
    "python": test_tables.python_job,
    "threads": lambda folder: [profiled.compile_target("threads.c", folder), "300"],
    "pipeline": lambda folder: ["/bin/sh", "-c", "seq 60000 | sort -R | sort -n | tail -1"],
}


class Truth:
    """
    Answers computed from the run's stacks. @has_roots is set if stacks begin with their program.
    """

    def __init__(self, texts, has_roots):
        self.rooted = folded.Folded(texts["run"]).stacks
        self.stacks = [(stack[has_roots:], weight) for stack, weight in self.rooted]
        self.total = sum(weight for _, weight in self.stacks)
        self.threads = collections.Counter()
        for stack, weight in folded.Folded(texts["threads"]).stacks:
            if re.search(r" \(\d+/\d+\)$", stack[0]):
                self.threads[stack[0]] += weight
        self.selves, self.totals = test_tables.selves_and_totals(self.stacks)
        self.modules, _ = test_tables.selves_and_totals(folded.Folded(texts["modules"]).stacks)
        self.waits = folded.Folded(texts["waits"]).total
        most = max(self.selves.values())
        self.hottest = [name for name in self.selves if self.selves[name] == most]
        self.path = self.hot_path()

    def share(self, weight):
        return f"{100.0 * weight / self.total:.1f}"

    def self_where(self, condition):
        return self.share(sum(weight for name, weight in self.selves.items() if condition(name)))

    def hot_path(self):
        """The heaviest path from the root, as long as it has at least a tenth of the total."""
        found = ()
        while True:
            below = collections.Counter()
            for stack, weight in self.rooted:
                if stack[:len(found)] == found and len(stack) > len(found):
                    below[stack[len(found)]] += weight
            if not below or 10 * max(below.values()) < self.total:
                return found
            found += (min(below, key=lambda name: (-below[name], name.encode())),)

    def off_the_path(self):
        return max(weight for name, weight in self.totals.items() if name not in self.path)


def seconds(weight):
    return f"{weight * PERIOD_NS / 1e9:.2f}"


def is_name(said, name):
    """Returns whether @said is a form of @name: complete, followed by the module, or shortened."""
    said = re.sub(r" \[[^]]*\]$", "", said)
    return all(part in name for part in said.split("…"))


def row(section, what):
    """An awk command that prints @what from the first row of the table @section."""
    return f"awk '/^## /{{s=$0}} s~/{section}/&&/%/{{print {what};exit}}' run.md"


def one_of(names):
    return lambda said: any(is_name(said, name) for name in names)


UNNAMED = r"\[.*\+0x[0-9a-f]+\]|\[unknown (code|module)\]"
INCOMPLETE = ("[incomplete stack]", "[deeper than ")
# Each row: a question, a shell command, and its expected output, which is a text or a condition.
QUESTIONS = [
    ("what has most by itself?", "sed -n '/^## Functions by self/,/^```$/p' run.md | "
     r"sed -n '5s/^.*% *[0-9.]* s  //p'", lambda truth: one_of(truth.hottest)),
    ("how much is that?", row("by self", "$1"),
     lambda truth: truth.share(truth.selves[truth.hottest[0]])),
    ("how many seconds?", row("by self", "$5"),
     lambda truth: seconds(truth.selves[truth.hottest[0]])),
    ("and with what it calls?", row("by self", "$3"), lambda truth: lambda said: said in [
        truth.share(truth.totals[name]) for name in truth.hottest]),
    ("who calls it most?", "sed -n '/^## Callers/,/^```$/p' run.md | sed -n '4s/^.* s  //p'",
     lambda truth: one_of(caller or "nobody: stacks begin here" for name in truth.hottest
                          for caller in test_tables.edges(truth.stacks, name, -1))),
    ("on how much of all stacks?", row("Callers", "$1"), lambda truth: lambda said: said in [
        truth.share(max(test_tables.edges(truth.stacks, name, -1).values()))
        for name in truth.hottest]),
    ("what has more than a tenth by itself?",
     "awk '/^## /{s=$0} s~/by self/&&/%/&&$1>10{n++} END{print n+0}' run.md", lambda truth: str(sum(
         float(truth.share(weight)) > 10 for weight in truth.selves.values()))),
    ("how many samples are there?", r"sed -n 's/^shares are of: \([0-9]*\).*/\1/p' run.md",
     lambda truth: str(truth.total)),
    ("how much CPU time?", "grep -oP '^shares are of: .*, \\K[0-9.]+' run.md",
     lambda truth: seconds(truth.total)),
    ("at which rate?", "grep -oP '^rate: \\K[0-9]+' run.md", lambda truth: str(HZ)),
    ("how many threads had the CPU?", "awk '/^## /{s=$0} s~/Threads/&&/%/{n++} "
     "s~/Threads/&&/more threads/{n+=$1} END{print n+0}' run.md",
     lambda truth: str(len(truth.threads))),
    ("which most?", "sed -n '/^## Threads/,/^```$/p' run.md | sed -n '4s/^.* s  //p'",
     lambda truth: lambda said: truth.threads[said] == max(truth.threads.values())),
    ("how much?", row("Threads", "$1"),
     lambda truth: truth.share(max(truth.threads.values()))),
    ("how much is on the hot path?", row("Hot path", "$1"), lambda truth: truth.share(sum(
        weight for stack, weight in truth.rooted if stack[:1] == truth.path[:1]))),
    ("what is most beside it?", row("by total", "$3"),
     lambda truth: truth.share(truth.off_the_path())),
    ("which module has most by itself?", row("Modules", "$1"),
     lambda truth: truth.share(max(truth.modules.values()))),
    ("how much is system calls?", "awk '/^## /{s=$0} s~/Modules/&&$NF==\"[kernel]\"{k=$1} "
     "END{print k?k:\"0.0\"}' run.md",
     lambda truth: truth.self_where(lambda name: name.startswith("[kernel"))),
    ("how much has no name?", "grep -oP '^unnamed: \\K[0-9.]+' run.md",
     lambda truth: truth.self_where(lambda name: re.fullmatch(UNNAMED, name))),
    ("how much was lost, or lacks its beginning?",
     "grep -oP '^(lost|incomplete): \\K[0-9.]+' run.md | tr '\\n' ' '",
     lambda truth: "{} 0".format(truth.share(sum(
         weight for stack, weight in truth.stacks
         if any(name.startswith(INCOMPLETE) for name in stack))))),
    ("how long did its threads wait?",
     "awk '/^## /{s=$0} s~/Waits/&&/%/&&!/ idle threads/&&!e{t+=$3} s~/Waits/&&/^$/&&t{e=1} "
     "END{printf \"%.2f\\n\", t}' run.md",
     # Seven kinds of waits are added, each rounded to 0.01 s.
     lambda truth: lambda said: abs(float(said) - truth.waits * PERIOD_NS / 1e9) <= 0.036),
    ("how far is a half off by chance?", "grep -oP '^chance: .* up to \\K[0-9.]+' run.md",
     lambda truth: f"{196 * math.sqrt(0.25 / truth.total):.1f}"),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_page_answers(run, tmp_path, program):
    assert len(QUESTIONS) >= 20
    command = PROGRAMS[program](tmp_path)
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not here")
    result = run("-r", HZ, "-o", "run.md", "-o", "run.svg", "-o", "run.folded", "--", *command)
    assert result.returncode == 0, result.stderr
    for words in (["modules.folded", "--by", "module"], ["threads.folded", "--by", "thread"],
                  ["waits.folded", "--by", "function", "--sample-type", "wait"]):
        assert run("-q", "render", "run.svg", "-o", *words).returncode == 0
    truth = Truth({path.stem: path.read_text(errors="surrogateescape")
                   for path in tmp_path.glob("*.folded")},
                  re.search(r"[; ](\d+) process", result.stderr)[1] != "1")
    assert (tmp_path / "run.md").stat().st_size <= 4096
    for question, line, answer in QUESTIONS:
        said = subprocess.run(["sh", "-c", line], cwd=tmp_path, text=True, check=True,
                              stdout=subprocess.PIPE).stdout.strip()
        wanted = answer(truth)
        assert wanted(said) if callable(wanted) else said == wanted, f"{question} {said!r}: {line}"
