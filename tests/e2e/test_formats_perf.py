# SPDX-License-Identifier: MIT
#
# Read the text of perf script and perf's own recordings. The totals equal those of perf report.
import json
import os
import re
import shutil
import subprocess

import pytest

from folded import Folded
from profiled import compile_target

pytestmark = pytest.mark.sanitized

TEXT = """\
# ========
# cmdline : /usr/bin/perf record ./t
#
my prog:1.5  120/121 [003]  3777.500000:     250000 cpu-clock:pppH:
\t           114c inner+0x13 (inlined)
\t           114c alpha<a, b>(int)+0x13 (/tmp/a dir/in c (deleted))
\t           11e7 main+0x17 (/tmp/a dir/in c (deleted))

my prog:1.5  120/121 [003]  3777.750000:    4250000 cpu-clock:pppH:
\tffffffff8157c701 perf_event_exec+0x1 ([kernel.kallsyms])
\t           11e7 main (/tmp/in c)

my prog:1.5  120/120 3778.000000123:     500000 cpu-clock:
\t    7f0000000001 jitted (/tmp/perf-120.map)
\t    7f0000000002 [unknown] (/usr/lib/libc.so.6)
\t    7f0000000003 [unknown] ([unknown])

             cc1     5 [001]  3778.100000:          3    cycles:u:             11e7 main+0x1 (/tmp/in c)
"""
CPU_CLOCK = {
    ("main", "alpha<a, b>(int)", "inner"): 250000,
    ("main", "perf_event_exec_[k]"): 4250000,
    ("[unknown code]", "[unknown code]", "jitted"): 500000,
}


def stacks_of(path):
    sums = {}
    for stack, weight in Folded(path.read_text(errors="surrogateescape")).stacks:
        sums[stack] = sums.get(stack, 0) + weight
    return sums


def drawn(run, tmp_path, *words):
    result = run("render", *words, "-o", "out.folded")
    assert result.returncode == 0, result.stderr
    return stacks_of(tmp_path / "out.folded"), result.stderr


def test_every_kind_of_line(run, tmp_path):
    (tmp_path / "in").write_text(TEXT)
    assert drawn(run, tmp_path, "in") == (CPU_CLOCK, (
        "flamerun: 'in' has other events as well, --sample-type draws one: cycles\n"
        "flamerun: wrote 'out.folded'\n"))
    assert drawn(run, tmp_path, "in", "--sample-type", "cycles")[0] == {("main",): 3}
    told = json.loads(run("top", "in", "--sample-type", "cycles", "--json").stdout)
    assert [(row["name"], row["process"]) for row in told["threads"]] == [("cc1 (5/5)", "cc1 (5)")]
    result = run("render", "in", "--sample-type", "cpu", "-o", "x.svg")
    assert (result.returncode, result.stderr) == (
        125, "flamerun: 'in' has no sample type 'cpu'\nflamerun: hint: it has cpu-clock, cycles\n")
    told = json.loads(run("top", "in", "--json").stdout)
    modules = {row["name"]: (row["module"], row["kind"]) for row in told["functions"]}
    assert modules["inner"] == ("in c", "inline")
    assert modules["alpha<a, b>(int)"] == ("in c", "native")
    assert modules["perf_event_exec"] == ("[kernel]", "kernel")
    assert modules["jitted"] == ("", "jit")
    assert told["period_ns"] == 1 and told["weight"] == sum(CPU_CLOCK.values())
    assert told["duration_ns"] == 600000000
    assert {row["name"] for row in told["threads"]} == {"my prog:1.5 (120/121)",
                                                        "my prog:1.5 (120/120)"}


def test_text_comes_through_a_pipe(run, tmp_path):
    result = run("render", "-", "-o", "out.folded", stdin=None, input=TEXT)
    assert result.returncode == 0
    assert stacks_of(tmp_path / "out.folded") == CPU_CLOCK


def test_samples_have_times(run, tmp_path):
    (tmp_path / "in").write_text(TEXT)
    assert run("render", "in", "-o", "out.speedscope.json").returncode == 0
    data = json.loads((tmp_path / "out.speedscope.json").read_text())
    names = [frame["name"] for frame in data["shared"]["frames"]]
    first = next(one for one in data["profiles"] if one["name"].endswith("/121)"))
    assert [(names[stack[-1]], weight) for stack, weight in zip(
        first["samples"], first["weights"])] == [("inner", 250000), ("perf_event_exec", 4250000)]


def test_without_periods_samples_count(run, tmp_path):
    (tmp_path / "in").write_text("t 5 1.5: cycles: \n\t 12 f (a)\n\nt 5 1.6: cycles: \n\n"
                                 "what is this\nt 5 1.7: sched:sched_switch: prev_comm=t (x)\n")
    assert drawn(run, tmp_path, "in", "--sample-type", "cycles") == (
        {("f",): 1, ("[unknown code]",): 1},
        "flamerun: 'in': 1 line is not perf script's and left out, the first is line 6\n"
        "flamerun: wrote 'out.folded'\n")
    assert drawn(run, tmp_path, "in", "--sample-type", "sched:sched_switch")[0] == {
        ("[unknown code]",): 1}


@pytest.mark.parametrize("line, name, module", [
    ("work+0x10 (/home/u/drive_c/Program Files (x86)/App/app.exe)", "work", "app.exe"),
    ("work (/home/u/drive_c/Program Files (x86)/App/app (1).exe (deleted))", "work", "app (1).exe"),
    ("std::function<void (int)>::operator()(int)+0x1 (/a (b)/c)", "std::function<void (int)>::operator()(int)", "c"),
    ("operator() (/a (b)/c)", "operator()", "c"),
    ("work+0x10 (/tmp/a)b)", "work", "a)b"),
    ("work+0x10 (/tmp/a(b)", "work", "a(b"),
    ("work+0x10 (/tmp/:)/(a)", "work", "(a"),
])
def test_brackets_in_names_of_files(run, tmp_path, line, name, module):
    (tmp_path / "in").write_text(f"t 5 1.5: 7 cycles: \n\t 401136 {line}\n\t 40113d main+0x1 (/tmp/x)\n\n")
    rows = json.loads(run("top", "in", "--json", check=True).stdout)["functions"]
    assert (rows[0]["name"], rows[0]["module"]) == (name, module)


def test_folded_stacks_are_not_perfs(run, tmp_path):
    (tmp_path / "in").write_text("a 12/34 5.5: 7 cycles;b 3\n")
    assert drawn(run, tmp_path, "in")[0] == {("a 12/34 5.5: 7 cycles", "b"): 3}


@pytest.mark.parametrize("what", ["a period too large", "many events", "names"])
def test_hostile_lines(run, tmp_path, what):
    lines = {
        "a period too large": "t 5 1.5: 99999999999999999 cycles: \n\t 12 f (a)\n\n",
        "many events": "".join(f"t 5 1.5: e{i}: \n\t 12 f (a)\n\n" for i in range(40)),
        "names": "t\x1b[31m 5 1.5: 1 \x1b[31m: \n\t 12 \x1b[31m (a)\n\n"
                 "t 5 1.6: 1 \x1b[32m: \n\t 12 f (a)\n\n",
    }[what]
    (tmp_path / "in").write_text(lines)
    result = run("render", "in", "-o", "x.svg")
    assert result.returncode == (0 if what == "names" else 125)
    assert "\x1b" not in result.stderr
    assert len(result.stderr.splitlines()) == (2 if what == "names" else 1), result.stderr


# ---- by perf itself --------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """
    Returns the folder of a recording with two events, and perf report's output for each event.
    """
    folder = tmp_path_factory.mktemp("perf")
    if not shutil.which("perf"):
        pytest.skip("perf is not installed: linux-perf")
    program = compile_target("threads.c", folder)
    made = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock,task-clock:u", "-F", "500", "-g", "-o",
                           "-odd.data", "--", program, "200"], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if made.returncode:
        pytest.skip(f"perf cannot record here: {made.stderr[-200:]}")
    report = subprocess.run(["perf", "report", "--stdio", "-i", "./-odd.data"], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    said = {event: int(weight) for event, weight in re.findall(
        r"# Samples: \S+\s+of event '([^:']+)\S*'\n# Event count \(approx.\): (\d+)", report)}
    assert set(said) == {"cpu-clock", "task-clock"}
    return folder, said


def test_a_recording_weighs_what_perf_says(run, recording):
    folder, said = recording
    for event, weight in said.items():
        result = run("render", "--sample-type", event, "-o", "out.folded", "--", "-odd.data",
                     cwd=folder)
        assert result.returncode == 0, result.stderr
        assert sum(stacks_of(folder / "out.folded").values()) == weight
    text = subprocess.run(["perf", "script", "-i", "./-odd.data"], cwd=folder, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    (folder / "in.txt").write_bytes(text)
    assert run("-q", "render", "in.txt", "--sample-type", event, "-o", "text.folded",
               cwd=folder).returncode == 0
    assert stacks_of(folder / "text.folded") == stacks_of(folder / "out.folded")


def test_a_recording_without_stacks(run, recording):
    """
    In this form perf script pads the names of threads and prints the function after the event.
    """
    folder, _ = recording
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "500", "-o", "plain.data", "--",
                    "./threads", "200"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    report = subprocess.run(["perf", "report", "--stdio", "-i", "plain.data"], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    assert run("render", "plain.data", "-o", "out.folded", cwd=folder).returncode == 0
    stacks = stacks_of(folder / "out.folded")
    assert sum(stacks.values()) == int(re.search(r"Event count \(approx.\): (\d+)", report)[1])
    assert {len(stack) for stack in stacks} == {1}
    assert sum(stack[0].startswith("worker_") for stack in stacks) == 4


def test_what_goes_wrong_with_perf_is_one_line(run, recording, tmp_path):
    folder, _ = recording
    data = (folder / "-odd.data").read_bytes()
    (tmp_path / "whole").write_bytes(data)
    (tmp_path / "cut").write_bytes(data[:3000])
    result = run("render", "cut", "-o", "x.svg")
    assert result.returncode == 125
    assert re.fullmatch(r"flamerun: cannot read 'cut': perf script failed: [^\n]+\n", result.stderr)
    result = run("render", "whole", "-o", "x.svg", env=dict(os.environ, PATH="/nonexistent"))
    assert (result.returncode, result.stderr) == (
        125, "flamerun: cannot read 'whole': it is a recording of perf, which is not here\n"
             "flamerun: hint: install perf, or where it is: perf script -i FILE > FILE.txt\n")
    with open(tmp_path / "whole", "rb") as file:
        result = run("render", "-", "-o", "x.svg", stdin=file)
    assert result.returncode == 125
    assert result.stderr.startswith("flamerun: 'standard input' is a recording of perf")
    assert not (tmp_path / "x.svg").exists()
