#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure each call of the sampling handler at the default rate, at which a sample finds the CPU's
# caches cold: in a loop below a recursion of 20 in each language and, as the reference, in C; and
# in a server, where stacks are deeper and few samples hit the same code twice. The median and the
# middle half are the cost of a sample. The mean is what the program pays; it includes time of other
# processes on the CPU. Work that is done once, such as finding the runtime and sending each
# function's name, is in the samples of the first second; their cost beyond the others' median is
# printed separately. Asserts nothing.
#
# usage: bench_handler.py [rounds [row]]     BUILD: the build folder     SECONDS: of each run, 10
import collections
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import bench
import bench_languages

RATE = 197
SECONDS = int(os.environ.get("SECONDS", 10))
UNITS_MAX = 2**31 - 1
SOURCE = bench.ROOT / "tests/bench/handler_times.c"
SERVER = bench_languages.Row("V8, a server", ["node", bench.ROOT / "tests/bench/server.js"], 10_000)


def times_of(folder, command, rate):
    """Return the nanoseconds of each sample, in order, of the thread with the most samples."""
    for old in folder.glob("times.*"):
        old.unlink()
    environment = {**os.environ, "LD_PRELOAD": str(folder / "handler_times.so"),
                   "HANDLER_TIMES": str(folder / "times")}
    subprocess.run([bench.FLAMERUN, "-q", "--no-waits", "--clock=tick", "-r", str(rate),
                    "-o", folder / "out.folded", "--", *map(str, command)], env=environment,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    threads = collections.defaultdict(list)
    for file in folder.glob("times.*"):
        for line in file.read_text().splitlines():
            thread, ns = line.split()
            threads[file.name, thread].append(int(ns))
    return max(threads.values(), key=len, default=[])


def show(folder, row, rounds):
    def command(units):
        return [*row.command, str(bench_languages.SHALLOW), str(units), *row.more]

    alone_s = bench_languages.run(command(row.units))[0]
    units = min(int(row.units * (SECONDS + 1) / alone_s), UNITS_MAX)
    steady, medians, means, once_ms = [], [], [], []
    for _ in range(rounds):
        times = times_of(folder, command(units), RATE)
        if len(times) < 1.2 * RATE:
            bench.row(row.title, "too few samples")
            return
        first, rest = times[:RATE], times[RATE:]
        medians.append(statistics.median(rest))
        means.append(statistics.fmean(rest))
        once_ms.append((sum(first) - medians[-1] * len(first)) / 1e6)
        steady += rest
    low, _, high = statistics.quantiles(steady, n=4)
    mean = statistics.fmean(means)
    bench.row(row.title,
              f"{statistics.median(medians) / 1e3:5.1f} us  [{low / 1e3:.1f}, {high / 1e3:.1f}]   "
              f"mean {mean / 1e3:5.1f} ({min(means) / 1e3:.1f} to {max(means) / 1e3:.1f}), "
              f"{mean * RATE / 1e9:.2%} of the CPU   once {statistics.median(once_ms):.1f} ms")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory(prefix="flamerun-bench-") as place:
        folder = pathlib.Path(place)
        rows = [row for row in [*bench_languages.compile_programs(folder), SERVER] if wanted in row.title]
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-I", bench.ROOT,
                        "-I", bench.ROOT / "arch" / os.uname().machine, "-shared", "-fPIC",
                        "-o", folder / "handler_times.so",
                        SOURCE, "-ldl", "-lpthread"], check=True)
        print(f"The handler's time for a sample, {RATE} Hz, stacks of {bench_languages.SHALLOW}, {rounds} runs of "
              f"{SECONDS} s (median, middle half):")
        for row in rows:
            show(folder, row, rounds)


if __name__ == "__main__":
    main()
