# SPDX-License-Identifier: MIT
#
# Compare samples with Lua's debug.getinfo(). tests/targets/lua_truth.lua prints each stack in which
# its work() is called, with the lines of callers. All samples in work() must show one of these
# stacks completely. This file tests Debian's interpreters; test_lua.py tests flamelua, which has
# call stubs.
import os
import re
import shutil
import subprocess

import pytest

import firefox
import outside
import told_stacks
from profiled import TARGETS, of_all, profile

VERSIONS = ["lua5.1", "lua5.2", "lua5.3", "lua5.4", "lua5.5", "luajit -joff", "luajit"]
SCRIPT = TARGETS / "lua_truth.lua"
FUNCTION = re.compile(r"^(.+) \((lua_truth\.lua|text|chunk):(\d+)\)$")
OUTSIDE = pytest.mark.skipif(outside.IS_CONFINED, reason="nobody may trace here")
WORK = 1 + next(n for n, line in enumerate(SCRIPT.read_text().split("\n"))
                if line.startswith("function work("))


def versions(*seldom):
    """The installed versions as test parameters. Those in @seldom run only in `make check-all`."""
    return pytest.mark.parametrize("lua", [pytest.param(lua, marks=[
        pytest.mark.skipif(not shutil.which(lua.split()[0]), reason=f"no {lua} here"),
        *([of_all] if lua in seldom else [])]) for lua in VERSIONS])


each_version = versions()
# The tests of stacks cover the layout of each version. Other tests skip these versions in `make
# check`.
first_and_last = versions("lua5.2", "lua5.3", "luajit -joff")


def functions_in(stack):
    """[(name, file:first line, line)] of the Lua functions in @stack."""
    return [(match[1], f"{match[2]}:{match[3]}", line) for match, line in (
        (FUNCTION.match(name), line) for name, line in stack) if match]


def shown_in(stack):
    """
    The Lua functions in @stack as the script prints them; None if the innermost one is not work().
    """
    shown = [f"{place}:{line}" for _, place, line in functions_in(stack)]
    if not shown or not shown[-1].startswith(f"lua_truth.lua:{WORK}:"):
        return None
    return tuple(shown[:-1] + [f"lua_truth.lua:{WORK}"])


def callers_in(told):
    """
    Returns a function like shown_in() that also checks stacks outside work(): the callers must be
    the outermost functions of a printed stack. Stacks of compiled code may end at the function that
    runs it. Functions that no printed stack has are ignored: those that print, that never call, or
    that a tail call replaced.
    """
    first = {stack[:n] for stack in told for n in range(len(stack))}
    known = {re.sub(r"^(.*?:\d+):\d+$", r"\1", function) for stack in told for function in stack}

    def shown(stack):
        functions = functions_in(stack)
        callers = tuple(f"{place}:{line}" for _, place, line in functions[:-1])
        if not functions or functions[-1][1] not in known:
            return None
        if functions[-1][1] == f"lua_truth.lua:{WORK}":
            return shown_in(stack)
        return next((one for one in told if one[:len(callers)] == callers), None) \
            if callers in first else (*callers, functions[-1][1])
    return shown


def run_truth(tmp_path, lua, way, rate_hz, *arguments):
    return told_stacks.run_truth(
        tmp_path, way, rate_hz, [*lua.split(), SCRIPT, *arguments],
        callers_in if "jit" in lua else lambda told: shown_in)


@pytest.mark.parametrize("way,rate_hz,ms", [
    ("inside", 4000, 1000), pytest.param("outside", 197, 500, marks=OUTSIDE)])
@each_version
def test_every_stack_is_luas_own(tmp_path, lua, way, rate_hz, ms):
    run, told, true = run_truth(tmp_path, lua, way, rate_hz, str(ms))
    assert len(told) > 30
    if way == "outside":
        assert true
        return
    told_stacks.assert_few_native(run)
    is_lua = run.folded.where(lambda stack: any("main chunk (lua_truth" in name for name in stack))
    assert is_lua > 0.9 * run.folded.total
    # The other time is mostly spent printing stacks, on some machines more than half of the time.
    in_work = run.folded.where(lambda stack: [name for name in stack if FUNCTION.match(name)][-1:] ==
                               [f"work (lua_truth.lua:{WORK})"])
    assert in_work > 0.2 * is_lua > 0, run.folded.describe()
    assert sum(true.values()) > 0.95 * in_work, run.folded.describe()
    assert len(true) > 25, true


@each_version
def test_names_are_what_callers_call_them(tmp_path, lua):
    picture = tmp_path / "p.firefox.json"
    run = profile(tmp_path, *lua.split(), SCRIPT, "500", rate_hz=4000, options=["--no-waits", "-o", picture])
    told = set(re.findall(r"^name (\S+) (.*)", run.stdout, re.M))
    shown = {(place, name.removeprefix("__")) for _, stack, _ in firefox.stacks_of(picture)
             for name, place, _ in functions_in(stack) if name not in ("function", "main chunk")}
    # Lua 5.2 and 5.3 name metamethods with their leading "__".
    told = {(place, name.removeprefix("__")) for place, name in told}
    # A function that C calls, or that was called by a tail call, has the name of its definition.
    told |= {(f"lua_truth.lua:{number}", name.removeprefix("__"))
             for number, line in enumerate(SCRIPT.read_text().split("\n"), 1)
             for name in re.findall(r"(\w+)(?: = function\(|\([\w, .]*\)(?: |$))", line) if "function" in line}
    told |= {(place, name) for place, name in shown if name == "for iterator"}
    assert len(shown) > 10
    assert shown <= told, shown - told
    assert {name for _, name in shown} >= {"run_all", "work", "deep", "method", "closure"}


@first_and_last
def test_a_deep_stack_is_whole(tmp_path, lua):
    run, told, true = run_truth(tmp_path, lua, "inside", 997, "500", "deep", "2000")
    deep = {stack for stack in told if len(stack) > 1000}
    assert sum(true.values()) > 20
    assert {len(stack) for stack in deep} == {2002, 1002}
    assert deep <= set(true)


@first_and_last
def test_of_a_deeper_one_the_leaf_side_is_kept(tmp_path, lua):
    picture = tmp_path / "p.firefox.json"
    profile(tmp_path, *lua.split(), SCRIPT, "400", "untold", "9000", rate_hz=1000,
            options=["--no-waits", "-o", picture])
    shown = [stack for stack in (shown_in(stack) for _, stack, _ in firefox.stacks_of(picture)) if stack]
    deep = [stack for stack in shown if len(stack) > 3003]
    assert len(deep) > 10
    assert all(len(set(stack[:-1])) == 1 for stack in deep)


@pytest.mark.skipif(not shutil.which("lua5.4"), reason="no lua5.4 here")
def test_one_without_end_goes_on(tmp_path):
    """The program must advance even if walks take longer than the sampling period."""
    script = tmp_path / "deepest.lua"
    script.write_text("local function spins() local x = 0 for i = 1, 2e7 do x = x + i % 7 end return x end\n"
                      "local function deep(n) return 1 + (n > 0 and deep(n - 1) or spins()) end\n"
                      "print(deep(150000))\n")
    run = profile(tmp_path, "sh", "-c", 'ulimit -t 10 && exec lua5.4 "$0"', script, options=["--no-waits"])
    assert (run.status, len(run.stdout.split())) == (0, 1), run.stderr


@pytest.mark.sleeps
@first_and_last
def test_waits_have_names(tmp_path, lua):
    script = tmp_path / "naps.lua"
    script.write_text("local function naps()\nio.popen('sleep 1.5'):read('*a')\nend\nnaps()\n")
    run = profile(tmp_path, *lua.split(), script, options=["--wall"])
    naps = run.folded.where(lambda stack: "naps (naps.lua:1)" in stack)
    # Starting the sleeping process may take long on a busy machine, but not longer than the
    # interpreter's own life.
    life = run.folded.where(lambda stack: stack[0] == os.path.basename(lua.split()[0]))
    assert naps >= 0.97 * 1.5 * run.rate_hz and naps >= 0.9 * life > 0, run.folded.describe()


@OUTSIDE
@first_and_last
def test_a_running_one_has_names(tmp_path, lua):
    """With -p, functions also have names in an interpreter that flamerun did not start."""
    script = "function spins() local n = 0 for i = 1, 100000 do n = n + i end end\nwhile true do spins() end"
    with outside.running(*lua.split(), "-e", script) as process:
        stacks = outside.attach_while_it_works(tmp_path, process.pid, "-r", "199", "--no-waits")
    spins = stacks.where(lambda stack: any(name.startswith("spins (") for name in stack))
    assert spins > 0.8 * stacks.total > 0, stacks.describe()


EMBEDS = """
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
static int calls(lua_State *L)
{
    lua_call(L, 0, 0);
    return 0;
}
int main(int count, char **words)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "calls", calls);
    return luaL_dofile(L, words[1]) + 0 * count;
}
"""


@pytest.mark.parametrize("version,flags", [
    ("lua5.4", ["-llua5.4"]), ("lua5.4", ["-l:liblua5.4.a", "-lm", "-ldl", "-rdynamic"]),
    ("luajit-2.1", ["-lluajit-5.1"]), ("luajit-2.1", ["-l:libluajit-5.1.a", "-lm", "-ldl", "-rdynamic"]),
], ids=["shared", "static", "luajit-shared", "luajit-static"])
def test_an_embedded_one_has_names(tmp_path, version, flags):
    source, script = tmp_path / "embeds.c", tmp_path / "script.lua"
    source.write_text(EMBEDS)
    times = "1e9" if "jit" in version else "3e7"
    script.write_text(f"local function spins()\nfor i = 1, {times} do local x = i % 7 end\nend\n"
                      "calls(function()\nspins()\nend)\n")
    built = subprocess.run(["gcc", f"-I/usr/include/{version}", "-o", tmp_path / "embeds", source, *flags],
                           stderr=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        pytest.skip(f"{version} is not installed to link with")
    run = profile(tmp_path, tmp_path / "embeds", script, rate_hz=997)
    whole = run.folded.where(lambda stack: [
        name for name in stack if "script.lua" in name or name == "calls"] == [
            "main chunk (script.lua:1)", "calls", "function (script.lua:4)", "spins (script.lua:1)"])
    assert whole > 0.9 * run.folded.total > 0, run.folded.describe()
