#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure how long one sample from outside stops a process: by flamerun -p, by libunwind-ptrace with
# its own accessors, and by gdb's backtrace, in turns on one running cc1plus. Asserts nothing.
#
# usage: bench_outside.py [rounds]     BUILD: the build folder
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import bench

STOCK = bench.ROOT / "tests" / "bench" / "stock_ptrace.c"
SECONDS = 1.5


def held_by_flamerun(folder, pid):
    """
    Return frames per stack, microseconds per stop, and the share of stacks that libunwind finished.
    """
    out = folder / "out.folded"
    said = subprocess.run([bench.FLAMERUN, "-v", "-r", "97", "-d", str(SECONDS), "-p", str(pid),
                           "-o", out], stderr=subprocess.PIPE, text=True, check=True).stderr
    stacks = [line.rsplit(" ", 1) for line in out.read_text().splitlines()]
    weight = sum(int(count) for _, count in stacks)
    frames = sum((stack.count(";") + 1) * int(count) for stack, count in stacks) / max(weight, 1)
    held = re.search(r"stopped for .* in all: \d+ stops?, (\d+) us each", said)
    return frames, float(held.group(1)) if held else 0.0


def held_by_stock(program, pid):
    frames, held = subprocess.run([program, str(pid), "40"], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout.split()
    return float(frames), float(held)


def held_by_gdb(pid):
    """Measure one backtrace of gdb, from attaching to detaching."""
    gdb = subprocess.Popen(["gdb", "-q", "-nx", "-batch", "-p", str(pid), "-ex", "bt"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.DEVNULL)
    begun = None
    while gdb.poll() is None:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            stopped = "\nState:\tt" in status.read()
        if stopped and begun is None:
            begun = time.monotonic()
        if not stopped and begun is not None:
            break
        time.sleep(0.0005)
    held = (time.monotonic() - begun) * 1e6 if begun else 0.0
    frames = len(re.findall(r"^#\d+ ", gdb.stdout.read(), re.M))
    gdb.wait()
    return frames, held


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        stock = folder / "stock"
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", stock, STOCK, "-lunwind-ptrace",
                        "-lunwind-generic", "-lunwind"], check=True)
        ways = {"flamerun -p": lambda pid: held_by_flamerun(folder, pid),
                "libunwind-ptrace, its accessors": lambda pid: held_by_stock(stock, pid)}
        if not subprocess.run(["which", "gdb"], stdout=subprocess.DEVNULL, check=False).returncode:
            ways["gdb -batch -ex bt (attached to detached)"] = held_by_gdb
        found = {way: [] for way in ways}
        for _ in range(rounds):
            for way, measure in ways.items():
                job = subprocess.Popen(bench.compiler_job(folder, 400), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.7)
                found[way].append(measure(job.pid))
                job.kill()
                job.wait()
        print("held for one sample of cc1plus (mean frames, microseconds):")
        for way, values in found.items():
            frames = statistics.mean(value[0] for value in values)
            held = statistics.median(value[1] for value in values)
            bench.row(way, f"{frames:6.1f} frames  {held:10.1f} us")


if __name__ == "__main__":
    main()
