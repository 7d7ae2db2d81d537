#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure the cost of flamerun for a Python script, with and without it in turns; and, if CPython
# 3.12 is installed, the cost of its own perf support (-X perf), for which its authors publish 8 %
# in their benchmark suite. Only calls of Python functions by Python functions cost more. Asserts
# nothing.
#
# usage: bench_python.py [rounds]     BUILD: the build folder     PYTHON312: its CPython 3.12
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import bench

PYTHON = os.path.realpath("/usr/bin/python3")
LATER = os.environ.get("PYTHON312", shutil.which("python3.12"))

SCRIPTS = {
    "calls and nothing else (fib)": """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(27)
""",
    "methods and generators": """
class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right
    def insert(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child: child.insert(value)
        else: setattr(self, side, Node(value))
    def __iter__(self):
        if self.left: yield from self.left
        yield self.value
        if self.right: yield from self.right
import random; random.seed(1)
root = Node(0.5)
for _ in range(12000): root.insert(random.random())
print(sum(1 for _ in root))
""",
    "json, regex, sort": """
import json, random, re; random.seed(1)
rows = [{"id": i, "name": "user%d" % i, "v": random.random()} for i in range(15000)]
for _ in range(3):
    text = json.dumps(rows); back = json.loads(text)
    back.sort(key=lambda row: (row["name"], row["v"]))
    sum(1 for _ in re.finditer(r"user(\\d+)", text))
""",
    "ast of the library": """
import ast, pathlib
for path in sorted(pathlib.Path(ast.__file__).parent.glob("*.py"))[:40]:
    tree = ast.parse(path.read_text(errors="replace"))
    sum(1 for node in ast.walk(tree) if isinstance(node, ast.Call))
""",
    "10,000 pieces of code, run once each": """
for i in range(10000): exec(f"x = {i}", {})
""",
}
MEASURED = "\nimport sys, time\nprint(time.process_time(), file=sys.stderr)\n"


def cpu_s(*command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, check=True)
    return float(result.stderr.splitlines()[-1])


def compare(base, ways, rounds):
    """Return {way: how many percent more CPU time than @base, one value per round}."""
    found = {way: [] for way in ways}
    for _ in range(rounds):
        alone = cpu_s(*base)
        for way, command in ways.items():
            found[way].append(100 * (cpu_s(*command) / alone - 1))
    return found


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    if not pathlib.Path(PYTHON).exists():
        print(f"no {PYTHON}: nothing to measure")
        return
    print("CPU time of a Python script over the plain run (median, middle half):")
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "script.py"
        under = [bench.FLAMERUN, "-q", "-o", f"{folder}/out.folded"]
        for what, text in SCRIPTS.items():
            script.write_text(text + MEASURED)
            found = compare([PYTHON, script],
                            {"flamerun": [*under, "--", PYTHON, script]}, rounds)
            if LATER:
                found.update(compare([LATER, script],
                                     {"3.12 -X perf, without a profiler":
                                          [LATER, "-X", "perf", script]}, rounds))
            print(f" {what}")
            for way, values in found.items():
                bench.row(way, bench.spread(values))


if __name__ == "__main__":
    main()
