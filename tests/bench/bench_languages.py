#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure how much a frame of each language adds to a sample, in the real runtime. A recursion of
# two depths calls a loop of fixed length, alone and under flamerun, in turns. The program measures
# the CPU time of the loop, which includes all costs of a sample: the kernel's signal, the handler,
# and the caches that the handler evicts. The difference between the deep and the shallow stack is
# the cost of the frames. Also printed: the share of the samples due at 4,000 Hz that were taken at
# the deep stack, and the share of these with the whole recursion. The references are a recursion in
# C and, for Java, async-profiler. Asserts nothing.
#
# usage: bench_languages.py [rounds [row]]     BUILD: the build folder
# ASYNC_PROFILER: the library of async-profiler
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import typing

import bench

RATE = 4000
SHALLOW, DEEP = 20, 1020
PHP_JIT = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing", "-d", "opcache.jit_buffer_size=32M"]
ASYNC_PROFILER = os.environ.get("ASYNC_PROFILER")

# Ten functions call each other in turns, so that a cache of a single function does not help.
C = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static unsigned long units;
static __attribute__((noinline)) unsigned long work(void)
{
	unsigned long x = 1;
	for (unsigned long i = 0; i < units; i++) { x = x * 31 + i; __asm__ volatile("" : "+r"(x)); }
	return x;
}
static double cpu(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}
static __attribute__((noinline)) unsigned long bottom(void)
{
	double began = cpu();
	unsigned long x = work();
	fprintf(stderr, "%f\\n", cpu() - began);
	return x;
}
""" + "".join(f"unsigned long deep{i}(int n);\n" for i in range(10)) + "".join(f"""
__attribute__((noinline)) unsigned long deep{i}(int n)
{{
	unsigned long x = n ? deep{(i + 1) % 10}(n - 1) : bottom();
	__asm__ volatile("" : "+r"(x));
	return x;
}}""" for i in range(10)) + """
int main(int count, char **words)
{
	units = atol(words[2]);
	return (deep0(atoi(words[1])) & 1) * (unsigned long)count * 0;
}
"""

PYTHON = """
import sys, time
def work(units):
    x = 1
    for i in range(units): x = (x * 31 + i) & 0xffffff
def bottom(units):
    began = time.thread_time()
    work(units)
    print(time.thread_time() - began, file=sys.stderr)
""" + "".join(f"""
def deep{i}(n, units):
    if n: deep{(i + 1) % 10}(n - 1, units)
    else: bottom(units)
""" for i in range(10)) + """
sys.setrecursionlimit(10000)
deep0(int(sys.argv[1]), int(sys.argv[2]))
"""

PHP = """<?php
function cpu() { $used = getrusage(); return $used["ru_utime.tv_sec"] + $used["ru_stime.tv_sec"] +
    ($used["ru_utime.tv_usec"] + $used["ru_stime.tv_usec"]) / 1e6; }
function work($units) { for ($x = 1, $i = 0; $i < $units; $i++) $x = ($x * 31 + $i) & 0xffffff; }
function bottom($units) { $began = cpu(); work($units); fprintf(STDERR, "%f\\n", cpu() - $began); }
""" + "".join(f"""
function deep{i}($n, $units) {{ if ($n) deep{(i + 1) % 10}($n - 1, $units); else bottom($units); }}
""" for i in range(10)) + """
deep0((int)$argv[1], (int)$argv[2]);
"""

PERL = """
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID);
no warnings 'recursion';
sub work { my $x = 1; for my $i (1 .. $_[0]) { $x = ($x * 31 + $i) & 0xffffff } }
sub bottom { my $began = cpu(); work($_[0]); print STDERR cpu() - $began, "\\n" }
sub cpu { clock_gettime(CLOCK_THREAD_CPUTIME_ID) }
""" + "".join(f"""
sub deep{i} {{ my ($n, $units) = @_; if ($n) {{ deep{(i + 1) % 10}($n - 1, $units) }} else {{ bottom($units) }} }}
""" for i in range(10)) + """
deep0(@ARGV);
"""

RUBY = """
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
def work(units)
  x = 1
  i = 0
  while i < units
    x = (x * 31 + i) & 0xffffff
    i += 1
  end
end
def bottom(units)
  began = cpu
  work(units)
  warn cpu - began
end
""" + "".join(f"""
def deep{i}(n, units) = n > 0 ? deep{(i + 1) % 10}(n - 1, units) : bottom(units)
""" for i in range(10)) + """
deep0(*ARGV.map(&:to_i))
"""

LUA = """
local function cpu() return os.clock() end
local function work(units) local x = 1 for i = 1, units do x = (x * 31 + i) % 1000003 end return x end
local function bottom(units)
    local began = cpu()
    work(units)
    io.stderr:write(string.format("%f\\n", cpu() - began))
    return 0
end
""" + "".join(f"""
function deep{i}(n, units) return n > 0 and deep{(i + 1) % 10}(n - 1, units) + 1 or bottom(units) + 1 end
""" for i in range(10)) + """
deep0(tonumber(arg[1]), tonumber(arg[2]))
"""

# Code that node compiles is compiled before the measurement.
NODE = """
function cpu() { const used = process.cpuUsage(); return (used.user + used.system) / 1e6; }
function work(units) { let x = 1; for (let i = 0; i < units; i++) x = (x * 31 + i) & 0xffffff; return x; }
function bottom(units, told) {
    const began = cpu(), x = work(units);
    if (told) process.stderr.write((cpu() - began) + "\\n");
    return x;
}
""" + "".join(f"""
function deep{i}(n, units, told) {{
    return n ? deep{(i + 1) % 10}(n - 1, units, told) + 1 : bottom(units, told);
}}""" for i in range(10)) + """
const [n, units] = process.argv.slice(2).map(Number);
for (let i = 0; i < 3000; i++) deep0(n, 1000, false);
deep0(n, units, true);
"""

JAVA = """
import java.lang.management.*;
public class Deep {
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static int work(int units) { int x = 1; for (int i = 0; i < units; i++) x = x * 31 + i % 7; return x; }
    static int bottom(int units, boolean told) {
        long began = told ? threads.getCurrentThreadCpuTime() : 0;
        int x = work(units);
        if (told) System.err.println((threads.getCurrentThreadCpuTime() - began) / 1e9);
        return x;
    }
""" + "".join(f"""
    static int deep{i}(int n, int units, boolean told) {{
        return n > 0 ? deep{(i + 1) % 10}(n - 1, units, told) + 1 : bottom(units, told);
    }}""" for i in range(10)) + """
    public static void main(String[] words) {
        int n = Integer.parseInt(words[0]), units = Integer.parseInt(words[1]);
        for (int i = 0; i < Integer.parseInt(words[2]); i++) deep0(n, 1000, false);
        deep0(n, units, true);
    }
}
"""


class Row(typing.NamedTuple):
    """
    A row of the table. @command is called with a depth and with the @units of the loop at that
    depth.
    """
    title: str
    command: list
    units: int
    more: tuple = ()  # arguments behind these two
    flags: object = None  # of a peer: function of the folder that returns further arguments


def java(folder, *flags):
    return ["java", *flags, "-cp", folder, "Deep"]


def under_async_profiler(folder):
    return [f"-agentpath:{ASYNC_PROFILER}=start,event=cpu,interval={10**9 // RATE},cstack=vm,"
            f"jstackdepth=4096,collapsed,file={folder}/peer.folded"]


def compile_programs(folder):
    """Write and compile all programs in @folder. Returns the rows whose runtime is installed."""
    for name, text in (("deep.c", C), ("deep.py", PYTHON), ("deep.php", PHP), ("deep.pl", PERL),
                       ("deep.rb", RUBY), ("deep.lua", LUA), ("deep.js", NODE), ("Deep.java", JAVA)):
        (folder / name).write_text(text)
    subprocess.run(["gcc", "-O2", "-o", folder / "deep", folder / "deep.c"], check=True)
    rows = [
        Row("C, by call-frame information", [folder / "deep"], 500_000_000),
        Row("CPython (python3)", ["/usr/bin/python3", folder / "deep.py"], 6_000_000),
        Row("PHP (php)", ["php", folder / "deep.php"], 25_000_000),
        Row("PHP, compiled", ["php", *PHP_JIT, folder / "deep.php"], 100_000_000),
        Row("Perl (perl)", ["perl", folder / "deep.pl"], 12_000_000),
        Row("Ruby (ruby)", ["ruby", folder / "deep.rb"], 25_000_000),
        Row("Ruby, YJIT", ["ruby", "--yjit", folder / "deep.rb"], 50_000_000),
        *(Row(f"Lua ({lua})", [lua, folder / "deep.lua"], 25_000_000)
          for lua in ("lua5.1", "lua5.2", "lua5.3", "lua5.4")),
        Row("LuaJIT (luajit), compiled", ["luajit", folder / "deep.lua"], 20_000_000),
        Row("LuaJIT, interpreted", ["luajit", "-joff", folder / "deep.lua"], 30_000_000),
        Row("V8 (node), optimised", ["node", folder / "deep.js"], 400_000_000),
        Row("V8, interpreted", ["node", "--no-opt", "--no-sparkplug", folder / "deep.js"], 30_000_000),
        Row("HotSpot (java), compiled", java(folder), 250_000_000, ("3000",)),
        Row("HotSpot, interpreted", java(folder, "-Xint"), 15_000_000, ("0",)),
    ]
    if ASYNC_PROFILER:
        rows += [row._replace(title=f"{row.title}: async-profiler", flags=under_async_profiler)
                 for row in rows if row.title.startswith("HotSpot")]
    found = [row for row in rows if pathlib.Path(row.command[0]).exists() or
             subprocess.run(["which", row.command[0]], stdout=subprocess.DEVNULL).returncode == 0]
    if any(row.title.startswith("HotSpot") for row in found):
        if subprocess.run(["javac", "-d", folder, folder / "Deep.java"], check=False).returncode:
            found = [row for row in found if not row.title.startswith("HotSpot")]
    return found


def run(command):
    """Run @command. Returns the CPU seconds that it prints, and all its output."""
    said = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return float(re.search(r"^\d+\.?[\dEe.-]*$", said, re.MULTILINE)[0]), said


def whole_share(folded, depth):
    """Return the share of the loop's samples that have the whole recursion, and their number."""
    whole = every = 0
    for line in folded.read_text().splitlines():
        stack, _, weight = line.rpartition(" ")
        frames = [re.sub(r"^.*[./:#]", "", name.split(" ")[0]) for name in stack.split(";")]
        if not any(name.startswith("work") for name in frames):
            continue
        every += int(weight)
        if sum(name.startswith("deep") for name in frames) >= depth:
            whole += int(weight)
    return whole / max(every, 1), every


def told(said, pattern):
    found = re.search(pattern, said)
    return int(found[1]) if found else 0


def measure(folder, row, depth, alone_s):
    """
    Return CPU seconds per sample, the share of due samples that were taken, and the share of whole
    stacks.
    """
    words = [str(depth), str(row.units), *row.more]
    if row.flags:
        cpu_s, said = run([row.command[0], *row.flags(folder), *row.command[1:], *words])
        whole, taken = whole_share(folder / "peer.folded", depth)
        return (cpu_s - alone_s) / taken, taken / (cpu_s * RATE), whole
    out = folder / "out.folded"
    cpu_s, said = run([bench.FLAMERUN, "-v", "--no-waits", "-r", str(RATE), "-o", out, "--",
                       *row.command, *words])
    due, sampled = told(said, r"(\d+) due"), told(said, r"= (\d+) sampled")
    missed = told(said, r"\((\d+) by overrun") + due * told(said, r"(\d+)\.\d % of samples deferred") / 100
    taken = max(sampled - missed, 1) / due
    return (cpu_s - alone_s) / (cpu_s * RATE * taken), taken, whole_share(out, depth)[0]


def show(folder, row, rounds):
    costs, takens, wholes, samples = [], [], [], []
    for _ in range(rounds):
        found = {}
        for depth in (SHALLOW, DEEP):
            alone_s = run([*row.command, str(depth), str(row.units), *row.more])[0]
            found[depth] = measure(folder, row, depth, alone_s)
        costs.append((found[DEEP][0] - found[SHALLOW][0]) / (DEEP - SHALLOW) * 1e9)
        samples.append(found[SHALLOW][0] * 1e6)
        takens.append(found[DEEP][1])
        wholes.append(found[DEEP][2])
    quarters = statistics.quantiles(costs, n=4) if rounds > 1 else costs * 3
    bench.row(row.title, f"{statistics.median(costs):6.0f} ns  [{quarters[0]:.0f}, {quarters[2]:.0f}]"
              f"   {statistics.median(samples):5.1f} us a sample of {SHALLOW}"
              f"   {statistics.median(takens):4.0%} taken, {statistics.median(wholes):4.0%} whole")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory(prefix="flamerun-bench-") as place:
        folder = pathlib.Path(place)
        rows = [row for row in compile_programs(folder) if wanted in row.title]
        print(f"A language's frame in a sample, {RATE} Hz, stacks of {SHALLOW} and {DEEP}, {rounds} rounds "
              "(median, middle half):")
        for row in rows:
            show(folder, row, rounds)


if __name__ == "__main__":
    main()
