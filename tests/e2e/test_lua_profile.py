# SPDX-License-Identifier: MIT
#
# flamerun's profile of a Lua program: functions and builtins have names, are in the right order on
# the native stack, and have their true shares.
import re

import pytest

import folded
import library
import lua
import profiled

pytestmark = [lua.needs_flamelua]

# Frames of the script, "name (file.lua:line)", and frames of builtins.
SCRIPT = re.compile(r"\(script\.lua(:\d+)?\)$|^(table|string|coroutine|math|os)\.\w+$|^x?pcall$")
# A Lua function that prints the CPU time of a phase, as the programs in tests/targets do.
PHASE = """
local function phase(name, f, ...)
  local begin = os.clock()
  f(...)
  print(name, math.floor((os.clock() - begin) * 1e9))
end
local function spin(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end
local function times(n) return math.ceil(n * 250 / RATE) end
"""


# For tests of shares. A clock of elapsed time would give a stack too much weight if the process had
# to wait for the CPU. At this rate all samples are independent. times() scales work down from 250
# Hz.
CPU_CLOCK = {"clock_hz": None, "rate_hz": profiled.looks(1)[0]}


def profile(tmp_path, text, *options, clock_hz=1000, **more):
    phase = PHASE.strip().replace("\n", " ").replace("RATE", str(more.get("rate_hz", 250)))
    script = library.write(tmp_path, "script.lua", phase + text)
    run = profiled.profile(tmp_path, lua.FLAMELUA, *options, script, clock_hz=clock_hz, **more)
    assert run.status == 0, run.stderr
    # Remove the script's path from the names.
    run.folded.stacks = [(tuple(name.replace(f"({tmp_path}/", "(") for name in stack), weight)
                         for stack, weight in run.folded.stacks]
    return run


def of_script(stack):
    return tuple(name for name in stack if SCRIPT.search(name))


def script_stacks(run):
    """{stack of the script's own frames: weight}"""
    found = {}
    for stack, weight in run.folded.stacks:
        found[of_script(stack)] = found.get(of_script(stack), 0) + weight
    return found


def test_recursion_is_as_deep_as_it_is(tmp_path):
    run = profile(tmp_path, """
        local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
        fib(34)""", **CPU_CLOCK)
    stacks = script_stacks(run)
    named = sum(weight for stack, weight in stacks.items() if "fib (script.lua:2)" in stack)
    assert named > 0.9 * run.folded.total, run.folded.describe()
    depths = set()
    for stack in stacks:
        if "fib (script.lua:2)" in stack:
            assert stack[0] == "main chunk (script.lua)"
            assert set(stack[1:]) == {"fib (script.lua:2)"}
            depths.add(len(stack) - 1)
    assert 20 < max(depths) <= 34
    # Between two frames of fib() there are only the interpreter's C frames for one call.
    for stack, _ in run.folded.stacks:
        at = [i for i, name in enumerate(stack) if name == "fib (script.lua:2)"]
        for outer, inner in zip(at, at[1:]):
            assert stack[outer + 1:inner] == ("luaV_execute", "flamelua_call")


def test_shares_are_true(tmp_path):
    run = profile(tmp_path, """
        local function light() spin(20e6) end
        local heavy = {work = function() spin(26e6) end}
        for i = 1, times(9) do phase("light", light) phase("heavy", function() heavy.work() end) end
        """, **CPU_CLOCK)
    sums = {}
    for line in run.stdout.splitlines():
        name, time_ns = line.split()
        sums[name] = sums.get(name, 0) + int(time_ns)
    names = {"light": "f (script.lua:2)", "heavy": "work (script.lua:3)"}
    weights = {name: run.folded.below(names[name]) for name in sums}
    known = sum(weights.values())
    assert known > 0.9 * run.folded.total, run.folded.describe()
    truth = {names[name]: time_ns for name, time_ns in sums.items()}
    folded.assert_truth(run.folded, truth)


def test_builtins_by_name(tmp_path):
    run = profile(tmp_path, """
        local function less(a, b) return a < b end
        local t = {}
        for i = 1, 150000 do t[i] = (i * 7919) % 150001 end
        table.sort(t, less)
        local s = string.rep("abc", 2e6)
        for i = 1, 40 do s:upper() end
        for i = 1, 10 do s:find("[^abc]") end
        for i = 1, 2e6 do math.random(100) end""")
    stacks = script_stacks(run)
    main = ("main chunk (script.lua)",)
    compared = sum(weight for stack, weight in stacks.items()
                   if stack == main + ("table.sort", "less (script.lua:2)"))
    assert compared > 10, run.folded.describe()
    for builtin in ("table.sort", "string.upper", "string.find", "math.random"):
        assert stacks.get(main + (builtin,), 0) > 10, (builtin, run.folded.describe())
    # The C function is the next frame after its name.
    for stack, _ in run.folded.stacks:
        if "table.sort" in stack[:-1]:
            assert stack[stack.index("table.sort") + 1] == "sort"


def test_coroutines_keep_their_callers(tmp_path):
    """Stacks of coroutines are complete, even after a yield has dropped their C frames."""
    run = profile(tmp_path, """
        local function leaf(i) spin(2e3) coroutine.yield(i) spin(2e4) end
        local function walk(n) if n == 0 then leaf(n) else walk(n - 1) end end
        local function generate() while true do walk(3) end end
        local next_value = coroutine.wrap(generate)
        local function consume() for i = 1, 4000 do next_value() end end
        consume()""", **CPU_CLOCK)
    stacks = script_stacks(run)
    walks = ("walk (script.lua:3)",) * 4
    whole = ("main chunk (script.lua)", "consume (script.lua:6)", "function (script.lua:4)",
             *walks, "leaf (script.lua:2)", "spin (script.lua:1)")
    assert stacks.get(whole, 0) > 0.9 * run.folded.total, run.folded.describe()
    resumed = run.folded.where(
        lambda stack: "flamelua_resume" in stack and "leaf (script.lua:2)" in stack)
    assert resumed > 0.6 * run.folded.total, run.folded.describe()


def test_a_coroutine_goes_on_through_what_ends(tmp_path):
    """
    Frames that were restored after a yield return one after the other, by returns, tail calls and
    errors.
    """
    run = profile(tmp_path, """
        local function after() spin(3e4) end
        local function inner() coroutine.yield() spin(3e4) return after() end
        local function middle() inner() spin(3e4) error("out") end
        local function outer() pcall(middle) spin(3e4) end
        for i = 1, times(2000) do local co = coroutine.wrap(outer) co() co() end""", **CPU_CLOCK)
    stacks = script_stacks(run)
    main, outer, spin = "main chunk (script.lua)", "function (script.lua:5)", "spin (script.lua:1)"
    middle = "middle (script.lua:4)"
    for expected in ((main, middle, "inner (script.lua:3)", spin),
                     (main, middle, "after (script.lua:2)", spin),
                     (main, middle, spin), (main, outer, spin)):
        # Each of these stacks has a quarter of 400 independent samples.
        assert stacks.get(expected, 0) > 0.125 * run.folded.total, (
            expected, run.folded.describe())


def test_tail_calls_take_the_callers_place(tmp_path):
    """
    In a state machine made of tail calls, each state has its name, and a stack has only one state.
    """
    run = profile(tmp_path, """
        local red, green
        function red(n) spin(2000) if n == 0 then return 0 end return green(n - 1) end
        function green(n) spin(6000) if n == 0 then return 0 end return red(n - 1) end
        local function start() local x = red(times(60000)) return x end
        start()""", **CPU_CLOCK)
    stacks = script_stacks(run)
    begin = ("main chunk (script.lua)", "start (script.lua:5)")
    spin = "spin (script.lua:1)"
    red = stacks.get((*begin, "red (script.lua:3)", spin), 0)
    green = stacks.get((*begin, "green (script.lua:4)", spin), 0)
    assert red + green > 0.9 * run.folded.total, run.folded.describe()
    share = red / (red + green)
    # A quarter of 400 independent samples.
    assert 0.125 < share < 0.375, share
    assert max(len(stack) for stack in stacks) == 4


def test_after_errors_the_stack_is_what_it_was(tmp_path):
    run = profile(tmp_path, """
        local function fails(n) spin(3000) if n == 0 then error("deep") end fails(n - 1) end
        local function guard(n) local ok = pcall(fails, n) spin(3000) return ok end
        local function again() local ok = xpcall(guard, print, 5) spin(3000) end
        for i = 1, 3000 do again() end""")
    main, again = "main chunk (script.lua)", "again (script.lua:4)"
    guard, spin = "guard (script.lua:3)", "spin (script.lua:1)"
    stacks = script_stacks(run)
    for expected in ((main, again, "xpcall", guard, spin), (main, again, spin)):
        assert stacks.get(expected, 0) > 0.04 * run.folded.total, (expected, run.folded.describe())
    fails = [stack for stack in stacks if "fails (script.lua:2)" in stack]
    for stack in fails:
        at = stack.index("fails (script.lua:2)")
        assert stack[:at] == (main, again, "xpcall", guard, "pcall")
        assert set(stack[at:]) <= {"fails (script.lua:2)", spin, "error"}
    assert max(stack.count("fails (script.lua:2)") for stack in fails) == 6


def test_metamethods_and_loaded_chunks_have_names(tmp_path):
    run = profile(tmp_path, """
        local t = setmetatable({}, {__index = function(t, k) spin(1e4) return k end,
                                    __add = function(a, b) spin(1e4) return 1 end})
        local chunk = load("return function(spin) spin(1e4) end", "=script.lua")
        for i = 1, times(7000) do local x = t[i] + (t + 1) chunk()(spin) end""", **CPU_CLOCK)
    stacks = script_stacks(run)
    main, spin = "main chunk (script.lua)", "spin (script.lua:1)"
    for name in ("__index (script.lua:2)", "__add (script.lua:3)", "function (script.lua:1)"):
        # Each of these stacks has a third of 300 independent samples.
        assert stacks.get((main, name, spin), 0) > 0.167 * run.folded.total, run.folded.describe()


def test_callbacks_are_called_what_they_are_where_they_are_passed(tmp_path):
    run = profile(tmp_path, """
        local function by_local(a, b) spin(1e3) return a < b end

        local function by_upvalue() table.sort({9, 8, 7, 6, 5, 4, 3, 2, 1}, by_local) end
        local function twice(s) spin(1e3) return s .. s end
        for i = 1, 300 do
          by_upvalue()
          table.sort({9, 8, 7, 6, 5, 4}, function(a, b) spin(1e3) return a < b end)
          for j = 1, 20 do ("x"):gsub("x", twice) end
        end""")
    names = {name for stack, _ in run.folded.stacks for name in stack if "(script.lua:" in name}
    assert names == {"spin (script.lua:1)", "by_local (script.lua:2)", "by_upvalue (script.lua:4)",
                     "twice (script.lua:5)", "function (script.lua:8)"}


def test_functions_that_are_gone_keep_their_names(tmp_path):
    """
    Later functions may get the memory of earlier ones. Samples must keep the name of their own
    function.
    """
    run = profile(tmp_path, """
        for i = 1, 40 do
          local f = load("return function(spin) spin(4e6) end", "=part" .. i)()
          f(spin)
          f = nil
          collectgarbage()
        end""")
    # Exclude the chunks that define the functions, because a sample may also be in one of these.
    found = {name for stack, _ in run.folded.stacks for name in stack if name.startswith("f (part")}
    assert found == {f"f (part{i}:1)" for i in range(1, 41)}


def test_without_stubs_and_intercepts(tmp_path):
    text = """
        local function work() spin(1e7) end
        work() local s = string.rep("x", 1e7) for i = 1, 20 do s:upper() end"""
    fast = {"clock_hz": None, "rate_hz": 997}
    plain = profile(tmp_path, text, "--no-stubs", "--no-intercepts", **fast)
    assert not any("script.lua" in name or name == "string.upper"
                   for stack, _ in plain.folded.stacks for name in stack)
    assert plain.folded.below("luaV_execute") > 0.8 * plain.folded.total
    builtins = profile(tmp_path, text, "--no-stubs", **fast)
    assert builtins.folded.below("string.upper") > 10
    functions = profile(tmp_path, text, "--no-intercepts", **fast)
    assert functions.folded.below("work (script.lua:2)") > 10
    assert not functions.folded.below("string.upper")
