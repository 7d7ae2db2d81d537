#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Measure the cost of visibility for a Lua program: CPU time of flamelua compared with lua5.4 for
# the same scripts, in turns, with each of its features off and on; and of flamelua with ticks
# compared with flamelua without ticks. Asserts nothing.
#
# usage: bench_lua.py [rounds]     BUILD: the build folder
import pathlib
import shutil
import sys
import tempfile

import bench

FLAMELUA = bench.BUILD / "flamelua"
DEMO = bench.ROOT / "share" / "examples" / "lua" / "demo.lua"
SCRIPTS = {
    "calls and nothing else: fib(32)": """
        local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
        fib(32)""",
    "tail calls and nothing else": """
        local function down(n) if n == 0 then return 0 end return down(n - 1) end
        down(1e7)""",
    "builtins and nothing else: s:byte(i)": """
        local s, x = "a string", 0
        for i = 1, 1e7 do x = x + s:byte(3) end""",
    "coroutines: resume, yield through 8 calls": """
        local function deep(n) if n == 0 then coroutine.yield() else deep(n - 1) end end
        local f = coroutine.wrap(function() while true do deep(8) end end)
        for i = 1, 5e5 do f() end""",
    "a loop that calls nothing": "local x = 0 for i = 1, 1e8 do x = x + i end",
}
WAYS = {
    "host alone (--no-stubs --no-intercepts)": ["--no-stubs", "--no-intercepts"],
    "stubs": ["--no-intercepts"],
    "stubs and intercepts": [],
}


def against(base, command, rounds):
    """
    Return how many percent more CPU time than @base @command uses, per round. The two take turns.
    """
    values = []
    for turn in range(rounds):
        pair = [(0, base), (1, command)]
        cpu = {}
        for which, words in pair if turn % 2 else reversed(pair):
            cpu[which] = bench.cpu_of([str(word) for word in words])[0]
        values.append((cpu[1] / cpu[0] - 1) * 100)
    return values


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if not FLAMELUA.exists() or not shutil.which("lua5.4"):
        print("flamelua against lua5.4: not installed here")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        scripts = {"share/examples/lua/demo.lua": [DEMO, "80"]}
        for index, (title, text) in enumerate(SCRIPTS.items()):
            path = folder / f"{index}.lua"
            path.write_text(text)
            scripts[title] = [path]
        for title, words in scripts.items():
            print(f"{title}, CPU against lua5.4:")
            for way, options in WAYS.items():
                bench.row(way, bench.spread(
                    against(["lua5.4", *words], [FLAMELUA, *options, *words], rounds)))
            ticks = [FLAMELUA, "--vm-profile", folder / "out.pb", *words]
            print(f"{title}, CPU against flamelua:")
            bench.row("ticks of 10 ms, recorded", bench.spread(
                against([FLAMELUA, *words], ticks, rounds)))


if __name__ == "__main__":
    main()
