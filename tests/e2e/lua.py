# SPDX-License-Identifier: MIT
#
# Run scripts under flamelua (share/examples/lua) and under plain lua5.4.
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import library
import profiled

FLAMELUA = profiled.BUILD / "flamelua"
SCRIPTS = profiled.TARGETS / "lua"
HEADERS = pathlib.Path("/usr/include/lua5.4/lua.h")
# The command of the emulator, if flamelua is built for another CPU.
EMULATOR = os.environ.get("TEST_EMULATOR", "").split()
ADDRESS = re.compile(r"0x[0-9a-f]+|builtin: [0-9a-f]+")

needs_flamelua = pytest.mark.skipif(
    not FLAMELUA.exists(), reason="flamelua is built where liblua5.4-dev is, of a release that it knows")
needs_plain = pytest.mark.skipif(
    not shutil.which("lua5.4"), reason="compares with lua5.4, which is not installed")


class Ended:
    """
    The results of a run. Addresses and the program's name differ in each run, so they are replaced.
    """

    def __init__(self, result, program):
        self.status = result.returncode
        self.stdout = ADDRESS.sub("ADDRESS", result.stdout)
        self.native = result.stderr.partition("native stack:\n")[2]
        self.stderr = ADDRESS.sub("ADDRESS", result.stderr.partition("native stack:\n")[0])
        self.stderr = self.stderr.replace(str(program), "lua")

    def same(self):
        return self.status, self.stdout, self.stderr


def run(program, *words, cwd, stdin="", prefix=(), env=None):
    emulator = EMULATOR if program == FLAMELUA else []
    command = [*prefix, *emulator, program, *words]
    result = subprocess.run([str(word) for word in command], cwd=cwd, input=stdin, text=True,
                            errors="surrogateescape", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=120, check=False,
                            env=env or library.environment())
    return Ended(result, program)


def module(folder, name, source):
    """
    Build a module for require() into @folder, from C code that defines `static int call(lua_State
    *)`.
    """
    if not HEADERS.exists():
        pytest.skip("liblua5.4-dev is not installed")
    path = library.write(folder, f"{name}.c", f"""
        #include <lua.h>
        #include <lauxlib.h>
        {source}
        int luaopen_{name}(lua_State *L)
        {{
            lua_newtable(L);
            lua_pushcfunction(L, call); lua_setfield(L, -2, "call");
            lua_pushinteger(L, 7); lua_pushcclosure(L, call, 1); lua_setfield(L, -2, "closure");
            return 1;
        }}
        """)
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{HEADERS.parent}", "-o", folder / f"{name}.so",
                    path], check=True)


def assert_same(*words, cwd, options=(), **more):
    """Assert that @words have the same result with flamelua and lua5.4. Returns flamelua's run."""
    plain = run("lua5.4", *words, cwd=cwd, **more)
    ours = run(FLAMELUA, *options, *words, cwd=cwd, **more)
    assert ours.same() == plain.same()
    return ours
