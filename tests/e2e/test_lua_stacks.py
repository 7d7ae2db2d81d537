# SPDX-License-Identifier: MIT
#
# Stacks that the Lua interpreter records at safe points: long builtins, loops without calls, and
# coroutines, alone and in flamerun's picture.
import subprocess

import pytest

import folded
import library
import lua
import pprof
import profiled

pytestmark = [lua.needs_flamelua]
TICK_MS = 10
SPIN = "local function spin(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end "


def sampled(tmp_path, text, ending="folded"):
    """Run @text with flamelua's own profile. Returns the folded profile and the output."""
    library.write(tmp_path, "script.lua", SPIN + text)
    ended = lua.run(lua.FLAMELUA, "--vm-profile", f"out.{ending}", "script.lua", cwd=tmp_path)
    assert ended.status == 0 and ended.stderr == "", ended.stderr
    if ending != "folded":
        return tmp_path / f"out.{ending}"
    stacks = folded.Folded((tmp_path / "out.folded").read_text())
    assert all(stack[0] == "[vm]" for stack, _ in stacks.stacks)
    stacks.stacks = [(stack[1:], weight) for stack, weight in stacks.stacks]
    return stacks, ended.stdout


def test_a_long_builtin_is_one_sample_and_its_own(tmp_path):
    """A builtin reaches no safe point while it runs. When it returns, it gets all ticks."""
    stacks, _ = sampled(tmp_path, """
        local function before() spin(10) end
        local function after() spin(10) end
        local function sleeps() os.execute("sleep 0.055") end
        for i = 1, 8 do before() sleeps() after() end""")
    whole = dict(stacks.stacks).get(("main chunk (script.lua)", "sleeps (script.lua:4)",
                                     "os.execute"), 0)
    assert whole >= 8 * 5, stacks.describe()
    # At most this share may be in other stacks, because of delays of the machine.
    assert whole > 0.8 * stacks.total, stacks.describe()


def test_the_busy_builtin_is_charged_not_the_next(tmp_path):
    stacks, _ = sampled(tmp_path, """
        local parts = {}
        for i = 1, 100 do parts[i] = "x" end
        local function repeats() return string.rep("0123456789", 1e7) end
        local function innocent() spin(5) end
        for i = 1, 5 do repeats() innocent() end""")
    charged = stacks.where(lambda stack: stack[-1:] == ("string.rep",))
    assert charged > 0.8 * stacks.total and charged > 5, stacks.describe()
    assert stacks.below("innocent (script.lua:5)") <= 0.1 * stacks.total, stacks.describe()


def test_loops_that_call_nothing_are_seen(tmp_path):
    """
    All kinds of loops, with garbage collection, in a function, in a coroutine and after an error.
    Each loop takes some 200 ms, because the timer may be late.
    """
    stacks, _ = sampled(tmp_path, """
        local function for_loop() local x = 0 for i = 1, 6e7 do x = x + i end end
        local function while_loop() local i = 0 while i < 6e7 do i = i + 1 end end
        local function goto_loop() local i = 0 ::top:: i = i + 1 if i < 6e7 then goto top end end
        local function garbage() for i = 1, 9e6 do local t = {i} end end
        local function after_error() pcall(error) local x = 0 for i = 1, 6e7 do x = x + i end end
        for_loop() while_loop() goto_loop() after_error()
        collectgarbage("incremental") garbage()
        local co = coroutine.wrap(function()
          coroutine.yield() local x = 0 for i = 1, 6e7 do x = x + i end end)
        co() co()""")
    main = "main chunk (script.lua)"
    found = {stack: weight for stack, weight in stacks.stacks}
    for name in ("for_loop (script.lua:2)", "while_loop (script.lua:3)", "goto_loop (script.lua:4)",
                 "garbage (script.lua:5)", "after_error (script.lua:6)"):
        assert found.get((main, name), 0) >= 3, (name, stacks.describe())
    assert found.get((main, "co", "function (script.lua:9)"), 0) >= 3, stacks.describe()
    # Loops are sampled while they run, not only when they return to main.
    assert found.get((main,), 0) <= 0.1 * stacks.total, stacks.describe()


def test_time_belongs_to_who_spent_it(tmp_path):
    """A function without a loop is sampled when it calls or returns, and gets only its own time."""
    work = " ".join(["a = a + 1 a = a * 2 a = a - 3 a = a // 2"] * 60)
    stacks, _ = sampled(tmp_path, f"""
        local function nothing(a) return a end
        local function returns(a) {work} return a end
        local function tail_calls(a) {work} return nothing(a) end
        local function calls(a) {work} nothing(a) {work} nothing(a) return a end
        local function first() for i = 1, 9e5 do returns(i) end end
        local function second() for i = 1, 9e5 do tail_calls(i) end end
        local function third() for i = 1, 4.5e5 do calls(i) end end
        first() second() third()""")
    main, found = "main chunk (script.lua)", dict(stacks.stacks)
    for caller, worker in (("first (script.lua:6)", "returns (script.lua:3)"),
                           ("second (script.lua:7)", "tail_calls (script.lua:4)"),
                           ("third (script.lua:8)", "calls (script.lua:5)")):
        below = stacks.below(caller)
        assert below > 10, stacks.describe()
        assert found.get((main, caller, worker), 0) > 0.7 * below, stacks.describe()


def test_ticks_are_the_time_that_passed(tmp_path):
    stacks, printed = sampled(tmp_path, """
        local function elapsed() local f = io.open("/proc/uptime") local t = f:read("n") f:close()
          return t end
        local begin = elapsed()
        while elapsed() - begin < 1.5 do spin(1e5) end
        print(elapsed() - begin)""")
    expected = float(printed) * 1000 / TICK_MS
    assert 0.9 * expected - 3 <= stacks.total <= 1.1 * expected + 15, (stacks.total, expected)


def test_files_and_lines_are_in_the_profile(tmp_path):
    path = sampled(tmp_path, "local function work() spin(3e7) end work()", ending="pb")
    profile = pprof.Profile(path)
    by_name = {(name, file.rpartition("/")[2], line) for name, file, line in profile.lines}
    assert ("spin", "script.lua", 1) in by_name, by_name
    assert any(name == "main chunk" and file == "script.lua" for name, file, _ in by_name)


def test_os_exit_writes_the_profile(tmp_path):
    for how in ("os.exit(0)", "os.exit(0, true)", "coroutine.wrap(function() os.exit(true) end)()"):
        stacks, _ = sampled(tmp_path, f"spin(6e7) {how}")
        assert stacks.below("spin (script.lua:1)") >= 3, (how, stacks.describe())


def test_a_child_writes_nothing(tmp_path):
    """A forked child runs the exit handlers of its parent, but must write no profile."""
    lua.module(tmp_path, "forks", """
        #include <sys/wait.h>
        #include <unistd.h>
        static int call(lua_State *L)
        {
            int status;
            pid_t child = fork();
            if (child) waitpid(child, &status, 0);
            lua_pushboolean(L, !child);
            return 1;
        }
        """)
    stacks, printed = sampled(tmp_path, """
        package.cpath = "./?.so"
        spin(2e7)
        if require("forks").call() then
          spin(2e7) coroutine.wrap(spin)(2e7) print("child") os.exit(0, true)
        end
        local function later() spin(6e7) end later()""")
    assert printed == "child\n"
    assert stacks.below("later (script.lua:7)") >= 3


@pytest.mark.parametrize("place", ["beside", "above"])
def test_in_the_picture_of_flamerun(tmp_path, place):
    script = library.write(tmp_path, "script.lua", SPIN + """
        local function sleeps() os.execute("sleep 0.1") end
        local function work() spin(4e7) end
        work() for i = 1, 3 do sleeps() end""")
    run = profiled.profile(tmp_path, lua.FLAMELUA, f"--vm-stacks={place}", script,
                           options=("-o", tmp_path / "run.pb.gz"))
    assert run.status == 0, run.stderr
    subprocess.run([profiled.BUILD / "flamerun", "-q", "render", tmp_path / "run.pb.gz",
                    "--sample-type", "vm", "-o", tmp_path / "vm.folded"], check=True)
    told = folded.Folded((tmp_path / "vm.folded").read_text())
    stacks = [tuple(name.replace(f"({tmp_path}/", "(") for name in stack)
              for stack, _ in told.stacks]
    asleep = ("main chunk (script.lua)", "sleeps (script.lua:2)", "os.execute")
    if place == "beside":
        # Exclude the shell, which is another process.
        machine = [stack[stack.index("[vm]") + 1:] for stack in stacks if "[vm]" in stack]
        assert asleep in machine, told.describe()
        assert ("main chunk (script.lua)", "work (script.lua:3)", "spin (script.lua:1)") in machine
    else:
        above = [stack for stack in stacks if stack[-3:] == asleep]
        assert above and "main" in above[0][:-3], told.describe()
    # Native stacks are unchanged, and no frames of the virtual machine are added.
    assert run.folded.below("luaV_execute") > 0
    assert not any(stack[-3:] == asleep or "[vm]" in stack for stack, _ in run.folded.stacks)


def test_flamerun_has_the_profiler(tmp_path):
    """
    Under flamerun the script cannot start a session of its own: flamelua says so and runs the
    script.
    """
    script = library.write(tmp_path, "script.lua", "print('ran')")
    command = [lua.FLAMELUA, "--vm-profile", "b.folded", script]
    result = subprocess.run([profiled.BUILD / "flamerun", "-q", "-o", "a.folded", "--", *command],
                            cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=True)
    assert result.stdout == "ran\n"
    assert "flamelua: no profile: Device or resource busy" in result.stderr
    assert not (tmp_path / "b.folded").exists()
