# SPDX-License-Identifier: MIT
#
# flamelua behaves as lua5.4: the output, messages and exit status are the same, for scripts that
# could notice that a call of a Lua function is a C call.
import functools
import re
import resource
import subprocess

import pytest

import library
import lua
import profiled

pytestmark = [lua.needs_flamelua]

SCRIPTS = sorted(path.name for path in lua.SCRIPTS.glob("*.lua"))
# Ways to start flamelua. Each uses other code for calls.
WAYS = {
    "all": (),
    "no-stubs": ("--no-stubs",),
    "no-intercepts": ("--no-intercepts",),
    "neither": ("--no-stubs", "--no-intercepts"),
    "ticks": ("--vm-stacks=above",),
}


@functools.cache
def meaning(script):
    """(status, stdout, stderr) of @script with lua5.4, which runs the script only once."""
    return lua.run("lua5.4", script, cwd=lua.SCRIPTS).same()


# Recursion takes most of the time of all tests. Ticks do not need stubs.
LONGEST = {("recursion.lua", "no-stubs"), ("recursion.lua", "neither")}


@lua.needs_plain
@pytest.mark.parametrize("script, way", [
    pytest.param(script, way, marks=profiled.of_all if (script, way) in LONGEST else ())
    for script in SCRIPTS for way in WAYS])
def test_scripts_mean_the_same(script, way):
    ended = lua.run(lua.FLAMELUA, *WAYS[way], script, cwd=lua.SCRIPTS)
    assert ended.same() == meaning(script)
    assert ended.stdout.count("\n") > 20


@lua.needs_plain
@pytest.mark.parametrize("stack", ["256", "unlimited"])
@pytest.mark.parametrize("script", ["recursion.lua", "coroutines.lua"])
def test_stacks_of_all_sizes(script, stack):
    """When the C stack is almost full, Lua functions are called without stubs."""
    prefix = ("sh", "-c", f'ulimit -s {stack} && exec "$0" "$@"')
    lua.assert_same(script, cwd=lua.SCRIPTS, prefix=prefix)


@lua.needs_plain
@pytest.mark.parametrize("words", [
    ("-e", "os.exit(3)"),
    ("-e", "os.exit(true)"),
    ("-e", "os.exit(false, true)"),
    ("-e", "local function f() os.exit(7, true) end setmetatable({}, {__gc = function() "
           "print('collected') end}) coroutine.wrap(f)()"),
    ("-e", "local c <close> = setmetatable({}, {__close = function() print('closed') end}) "
           "os.exit(0, true)"),
    ("-e", "error('text')"),
    ("-e", "error('text', 0)"),
    ("-e", "error({})"),
    ("-e", "error(setmetatable({}, {__tostring = function() return 'object' end}))"),
    ("-e", "error(nil)"),
    ("-e", "error()"),
    ("-e", "error(42)"),
    ("-e", "coroutine.wrap(function() local x = nil + 1 end)()"),
    ("-e", "print(1)", "-e", "print(2) x = = 3"),
    ("-e", "os.execute('kill -9 $PPID')"),
    ("-v",),
    ("-v", "-e", "print(_VERSION)"),
    ("-W", "-e", "warn('careful')"),
    ("-l", "mod", "-e", "print(mod.value)"),
    ("-l", "other=mod", "-e", "print(other.value, mod)"),
    ("-l", "nosuchmodule"),
    ("-E", "-e", "print(os.getenv('LUA_INIT'), initialised)"),
    ("-e", "print(initialised)"),
    ("args.lua",),
    ("args.lua", "a", "b c", ""),
    ("-e", "x = 1", "args.lua", "-e"),
    ("--", "args.lua", "--", "x"),
    ("-", "a", "b"),
    ("-eprint('joined')", "-lmod"),
    ("missing.lua",),
    ("syntax.lua",),
    ("bytes.lua",),
])
def test_command_lines_mean_the_same(tmp_path, words):
    (tmp_path / "mod.lua").write_text("print(...) return {value = 'of mod'}")
    (tmp_path / "args.lua").write_text(
        "print(...) for i = -5, 5 do print(i, i <= 0 and arg[i] and '?' or arg[i]) end "
        "print(arg[0], #arg, select('#', ...))")
    (tmp_path / "syntax.lua").write_text("for i = 1, 2 do\nprint(i\nend")
    (tmp_path / "bytes.lua").write_bytes(b"#!/usr/bin/lua\nprint('\xff\xfe')error('\xff')")
    env = library.environment(LUA_INIT="initialised = 'yes'")
    lua.assert_same(*words, cwd=tmp_path, stdin="print(..., arg[0], #arg)", env=env)


@pytest.mark.parametrize("words", [("-x",), ("-e",), ("-l", "-v"), ("-vx",), ("--no-such-option",),
                                   ("--vm-stacks=left", "-v"), ("--vm-profile",),
                                   ("--no-stubs", "--vm-profile", "a.svg", "-v")])
def test_wrong_words_are_refused(tmp_path, words):
    ended = lua.run(lua.FLAMELUA, *words, cwd=tmp_path)
    assert ended.status == 1
    assert ended.stdout == "" and ended.stderr.startswith("lua: ")


def test_interrupted_from_outside(tmp_path):
    script = library.write(tmp_path, "endless.lua",
                           "io.write('on\\n') io.flush() while true do end")
    with subprocess.Popen([lua.FLAMELUA, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "on\n"
        process.send_signal(2)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == 1 and "interrupted!" in stderr


def test_an_error_nobody_catches_shows_the_native_stack(tmp_path):
    script = library.write(tmp_path, "fails.lua", """
        local function inner(t) return t.x.y end
        local function outer(t) local r = inner(t) return r end
        local function compare(a, b) return outer({}) end
        table.sort({1, 2, 3}, function(a, b) local r = compare(a, b) return r end)
        """)
    ended = lua.run(lua.FLAMELUA, script.name, cwd=tmp_path)
    assert ended.status == 1
    stub = re.compile(r"\.lua|table\.sort")
    frames = [line.strip() for line in ended.native.splitlines()]
    assert [frame for frame in frames if stub.search(frame)] == [
        "inner (fails.lua:2)", "outer (fails.lua:3)", "function (fails.lua:5)", "table.sort",
        "main chunk (fails.lua)"]  # a tail call replaced compare() by outer()
    assert "luaV_execute" in frames and "main" in frames
    assert frames.index("inner (fails.lua:2)") == frames.index("luaV_execute") + 1


def peak_kib(tmp_path, chunks):
    """The peak memory of a run that makes and drops this many functions, each with its own name."""
    script = library.write(tmp_path, "load.lua", f"""
        for i = 1, {chunks} do
          load("local function f" .. i .. "() return 1 end return f" .. i .. "() + 1")()
        end
        for line in io.lines("/proc/self/status") do
          if line:find("^VmHWM") then print(line:match("%d+")) end
        end
        """)
    ended = lua.run(lua.FLAMELUA, script.name, cwd=tmp_path)
    assert ended.status == 0, ended.stderr
    return int(ended.stdout)


def test_functions_that_are_gone_leave_nothing(tmp_path):
    few, many = peak_kib(tmp_path, 10000), peak_kib(tmp_path, 100000)
    assert many < few + 1024, (few, many)


def test_modules_in_c(tmp_path):
    """C modules find Lua in the program. Their functions are intercepted when they are loaded."""
    lua.module(tmp_path, "spinner", """
        static int call(lua_State *L)
        {
            if (lua_toboolean(L, 1))
                return luaL_error(L, "from C");
            lua_pushvalue(L, lua_upvalueindex(1));
            return 1;
        }
        """)
    env = library.environment(LUA_CPATH=f"{tmp_path}/?.so")
    for function in ("call", "closure"):
        text = f"""
            local s = require("spinner")
            assert(require("spinner") == s and s.call() == nil and s.closure() == 7)
            print(pcall(s.{function}, true)) s.{function}(true)
            """
        ended = lua.run(lua.FLAMELUA, "-e", text, cwd=tmp_path, env=env)
        assert ended.stdout == "false\tfrom C\n" and ended.status == 1
        frames = [line.strip() for line in ended.native.splitlines()]
        assert frames.index(f"spinner.{function}") < frames.index("main chunk ((command line))")


def test_without_memory_for_the_last_stub(tmp_path):
    """With a memory limit, Lua raises its own error and does not crash."""
    text = ("local t = {} for i = 1, 1e7 do "
            "t[i] = assert(load('local x return function() end'))() t[i]() end")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

    result = subprocess.run([lua.FLAMELUA, "-e", text], cwd=tmp_path, preexec_fn=limit,
                            stderr=subprocess.PIPE, timeout=120, text=True, check=False)
    assert result.returncode == 1 and "not enough memory" in result.stderr
