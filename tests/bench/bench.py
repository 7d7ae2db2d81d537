#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Compare the CPU time of work alone, under flamerun, and under other profilers. All take turns, so
# that other load affects all of them alike. Prints ratios with their spread; asserts nothing.
#
# usage: bench.py [rounds]     BUILD: the build folder
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
FLAMERUN = str(BUILD / "flamerun")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 10

SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct stage {
	static int run(std::vector<int> &v) {
		std::sort(v.begin(), v.end(), [](int a, int b) { return a * N < b; });
		std::unordered_map<std::string, std::function<int(int)>> h;
		h["x"] = [&](int q) { return q + N; };
		return h["x"](v[0]) + stage<N - 1>::run(v);
	}
};
template <> struct stage<0> { static int run(std::vector<int> &) { return 0; } };
int main() { std::vector<int> v{3, 2, 1}; std::regex r("a+b*c"); return stage<STAGES>::run(v); }
"""


def cpu_of(command, **options):
    """
    Run @command. Returns the CPU seconds of the command and all its children, and the elapsed
    seconds.
    """
    started = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=options.get("stderr", subprocess.DEVNULL))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench: {command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started


def spread(values):
    """Return the median and the middle half as text."""
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return f"{statistics.median(values):+6.2f} %  [{quarters[0]:+.2f}, {quarters[2]:+.2f}]"


def row(name, value):
    print(f"  {name:<46} {value}", flush=True)


def compiler_job(folder, stages):
    """Return the command line of a cc1plus that compiles a preprocessed file."""
    source = folder / "job.cc"
    source.write_text(SOURCE.replace("STAGES", str(stages)))
    subprocess.run(["g++", "-E", "-o", folder / "job.ii", source], check=True)
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.strip()
    return [cc1plus, "-fpreprocessed", folder / "job.ii", "-quiet", "-O2", "-o", folder / "job.s"]


def cputime(folder):
    """
    Build a wrapper that writes the CPU seconds of the program that it runs, without flamerun's.
    """
    program = folder / "cputime"
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", program,
                    ROOT / "tests" / "bench" / "cputime.c"], check=True)
    return program


def overhead(folder):
    """Compare the CPU time of cc1plus itself alone, under flamerun and under perf, in turns."""
    job = compiler_job(folder, 4)
    wrapper, out = cputime(folder), folder / "cpu"
    inner = [wrapper, out, *job]
    ways = {
        "alone": inner,
        "alone again (the noise)": inner,
        "flamerun at 197 Hz": [FLAMERUN, "-q", "-o", folder / "a.svg", "--", *inner],
        "flamerun at 997 Hz": [FLAMERUN, "-q", "-r", "997", "-o", folder / "b.svg", "--", *inner],
    }
    if shutil.which("perf"):
        record = ["perf", "record", "-q", "-F", "997", "-o", folder / "perf.data"]
        ways["perf record -g at 997 Hz"] = [*record, "-g", "--", *inner]
        ways["perf record --call-graph dwarf at 997 Hz"] = [
            *record, "--call-graph", "dwarf", "--", *inner]
    samples = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, command in ways.items():
            cpu_of(command)
            samples[name].append(float(out.read_text()))
    print(f"CPU of cc1plus against alone, {ROUNDS} rounds in turns "
          f"(median {statistics.median(samples['alone']):.2f} s):")
    for name in list(ways)[1:]:
        row(name, spread([100 * (a / b - 1) for a, b in zip(samples[name], samples["alone"])]))


def drawing(folder):
    """
    Measure the time from the program's end to the SVG, and flamerun's CPU time, for 10,000 samples.
    """
    job = compiler_job(folder, 40)
    wrapper, out = cputime(folder), folder / "cpu"
    cpu_of([wrapper, out, *job])
    rate = min(10000, int(10000 / float(out.read_text())) + 1)
    result = subprocess.run([FLAMERUN, "-v", "-r", str(rate), "-o", folder / "c.svg", "--", *job],
                            text=True, stderr=subprocess.PIPE, check=True)
    print("cc1plus at a rate for 10,000 samples:")
    row("samples", re.search(r"(\d+) samples", result.stderr).group(1))
    for line in result.stderr.splitlines():
        if "from the program's end" in line:
            row("from its end to the SVG, peak memory", line.partition("flamerun: ")[2])
    row("size of the SVG", f"{(folder / 'c.svg').stat().st_size / 1024:.0f} KiB")


def spawn(program, what, count, *prefix):
    """
    Return microseconds per child: elapsed, the child's CPU, its parent's CPU; then the CPU time of
    other processes.
    """
    process = subprocess.Popen([*prefix, program, what, str(count)], text=True,
                               stdout=subprocess.PIPE)
    with process:
        *each, spawned = map(float, process.stdout.read().split())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return [*each, (usage.ru_utime + usage.ru_stime) * 1e6 - spawned]


def spawning(folder):
    """
    Measure the cost of a fork child, and of a fork with exec of /bin/true. All run on one CPU,
    because page faults cost more if a child runs on another CPU than its parent, with and without
    flamerun. flamerun's own CPU time per child is the slope between few and many children.
    """
    program, many = folder / "spawn", {"exec": 400, "fork": 2000}
    wrapped = [FLAMERUN, "-q", "-o", folder / "s.svg", "--"]
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", program,
                    ROOT / "tests" / "bench" / "spawn.c"], check=True)
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    for what, count in many.items():
        alone, costs = [], []
        for _ in range(max(3, ROUNDS // 2)):
            alone.append(spawn(program, what, count))
            under, few = (spawn(program, what, n, *wrapped) for n in (count, count // 4))
            costs.append([a - b for a, b in zip(under, alone[-1])][:3] +
                         [(under[3] - few[3]) / (count - count // 4)])
        names = ("wall time", "CPU of the child", "CPU of its parent", "CPU of flamerun")
        usual = [statistics.median(column) for column in zip(*alone)][:3] + [0]
        for name, before, column in zip(names, usual, zip(*costs)):
            row(f"one {what}, {name}, {before:.0f} us alone",
                f"{statistics.median(column):+.0f} us  [{min(column):+.0f}, {max(column):+.0f}]")
    os.sched_setaffinity(0, cpus)


def main():
    with tempfile.TemporaryDirectory(prefix="flamerun-bench-") as place:
        folder = pathlib.Path(place)
        overhead(folder)
        drawing(folder)
        print("What a process costs (hundreds in a row, on one CPU):")
        spawning(folder)


if __name__ == "__main__":
    main()
