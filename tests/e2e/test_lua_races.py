# SPDX-License-Identifier: MIT
#
# The timer thread writes to calls that Lua frees and uses again. Run flamelua with
# AddressSanitizer, with a hundred times as many ticks, and with a script that only makes calls.
import os
import subprocess

import pytest

import library
import lua
import profiled

pytestmark = [lua.needs_flamelua]
SOURCES = profiled.ROOT / "share" / "examples" / "lua"
SECONDS = 8 if profiled.IS_ALL else 2


def lua_archive():
    path = subprocess.run(["gcc", "-print-file-name=liblua5.4.a"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()
    if not os.path.isabs(path) or not lua.HEADERS.exists():
        pytest.skip("liblua5.4-dev is not installed")
    return path


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    program = tmp_path_factory.mktemp("sanitized") / "flamelua"
    subprocess.run(
        ["gcc", "-std=gnu11", "-g", "-O1", "-D_GNU_SOURCE", "-DPERIOD_NS=100000u",
         "-static-libasan", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
         f"-I{profiled.ROOT}",
         f"-I{library.HEADERS}", "-isystem", lua.HEADERS.parent, "-o", program,
         *sorted(SOURCES.glob("*.c")), library.ARCHIVE, f"@{SOURCES}/wrapped.flags", "-Wl,-E",
         "-Wl,--whole-archive", lua_archive(), "-Wl,--no-whole-archive", "-lm", "-ldl",
         "-lpthread"], check=True)
    return program


def test_calls_that_go_while_ticks_come(sanitized, tmp_path):
    env = library.environment(ASAN_OPTIONS="detect_leaks=0")
    ended = lua.run(sanitized, "--vm-profile", "out.pb", profiled.TARGETS / "lua_races.lua",
                    str(SECONDS), cwd=tmp_path, env=env)
    assert ended.status == 0 and ended.stderr == "", ended.stderr
    assert int(ended.stdout) > 100
    assert (tmp_path / "out.pb").stat().st_size > 1000
