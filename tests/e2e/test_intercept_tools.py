# SPDX-License-Identifier: MIT
#
# gdb, perf, C++ exceptions and flamerun see correct stacks in intercept stubs, while the original
# function runs and while the tick check runs. tests/targets/stub_chain.c describes the stacks.
import pytest

import library
import profiled
from test_stub_tools import (CHAIN, GDB, JITDUMP, LLVM, PERF_MAP, UNWINDERS, build, chain, chain_fp,
                             frames_of, gdb, perf, share_complete, throws, tool)

INTERCEPTS, IN_CHECK = 256, 512
SLOW = "arch_intercept_slow"

__all__ = ["chain", "chain_fp", "gdb", "perf", "tool"]


def whole_in_check(stacks):
    """
    The share of samples whose callers are those of the tick check, then the chain of stubs up to
    main.
    """
    there = {stack: count for stack, count in stacks.items() if "work" in stack}
    assert sum(there.values()) > 20, stacks.most_common(5)
    return sum(count for stack, count in there.items() if is_whole(stack)) / sum(there.values())


def is_whole(stack):
    inside = list(stack[stack.index("work"):])
    if inside[:3] != ["work", "leaf", "on_interrupt"] or SLOW not in inside:
        return False
    outside = inside[inside.index(SLOW) + 1:]
    return outside[:len(CHAIN)] == CHAIN


def test_gdb_in_the_original(gdb, chain):
    text = gdb("-ex", "break leaf", "-ex", "run", "-ex", "bt", "--args", chain, GDB + INTERCEPTS,
               "spin", 1)
    assert frames_of(text) == ["leaf", "step"] + CHAIN, text


def test_gdb_in_the_check(gdb, chain):
    text = gdb("-ex", "break leaf", "-ex", "run", "-ex", "bt", "--args", chain, GDB + IN_CHECK,
               "spin", 1)
    names = frames_of(text)
    assert names[:2] == ["leaf", "on_interrupt"], text
    assert names[names.index(SLOW) + 1:] == CHAIN, text
    # Without being informed, gdb must not find the chain. Otherwise the test would prove nothing.
    text = gdb("-ex", "break leaf", "-ex", "run", "-ex", "bt", "--args", chain, IN_CHECK, "spin", 1)
    assert frames_of(text)[-len(CHAIN):] != CHAIN


@pytest.mark.parametrize("published", [PERF_MAP, JITDUMP], ids=["map", "jitdump"])
def test_perf_by_frame_pointers(tool, chain_fp, published):
    tool.record("-g", chain_fp, published + INTERCEPTS, "spin", 500)
    stacks = tool.stacks(published == JITDUMP)
    assert share_complete(stacks, "work", ["leaf", "step"] + CHAIN) > 0.95


@pytest.mark.parametrize("published", [PERF_MAP, JITDUMP], ids=["map", "jitdump"])
def test_perf_by_frame_pointers_in_the_check(tool, chain_fp, published):
    tool.record("-g", chain_fp, published + IN_CHECK, "spin", 500)
    assert whole_in_check(tool.stacks(published == JITDUMP)) > 0.95


def test_perf_by_call_frame_information(tool, chain):
    tool.record("--call-graph", "dwarf", chain, JITDUMP + INTERCEPTS, "spin", 500)
    assert share_complete(tool.stacks(True), "work", ["leaf", "step"] + CHAIN) > 0.95


def test_perf_by_call_frame_information_in_the_check(tool, chain):
    tool.record("--call-graph", "dwarf", chain, JITDUMP + IN_CHECK, "spin", 500)
    assert whole_in_check(tool.stacks(True)) > 0.95


# ---- exceptions ----------------------------------------------------------------------------------

def assert_thrown(program):
    # A loaded unwinder is informed even if the program does not ask for it.
    for published in (UNWINDERS, 0):
        result = throws(program, published + INTERCEPTS)
        assert result.returncode == 0
        assert "caught 500000 clean 3000" in result.stdout
        assert "stubs 3" in result.stdout
        # A tick is pending in each round, but no check is made, because no throw returns through a
        # stub.
        assert "checks 0 then 1000" in result.stdout


def test_exceptions_by_libgcc(tmp_path):
    assert_thrown(build(tmp_path, "stub_throws.cc"))


def test_exceptions_by_llvm(tmp_path):
    if not all(path.exists() for path in LLVM):
        pytest.skip("no LLVM libunwind")
    flags = (*profiled.PLAIN, "-nodefaultlibs", "-Wl,--no-as-needed", *LLVM, "-lc")
    assert_thrown(build(tmp_path, "stub_throws.cc", flags=flags))


# ---- flamerun ------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", [INTERCEPTS, IN_CHECK], ids=["original", "check"])
@pytest.mark.parametrize("link", ["shared", "archive"])
def test_under_flamerun(tmp_path, mode, link):
    """flamerun's library makes the stubs and the ticks even if the program contains the archive."""
    program = library.build("stub_chain.c", tmp_path, link=link)
    run = profiled.profile(tmp_path, program, str(mode), "spin", "500")
    assert run.status == 0, run.stderr
    # flamerun leaves out the frames of its own library's check. If the archive makes the check, its
    # frames are part of the program.
    leaf = ["on_interrupt"] if mode == IN_CHECK else ["step"]
    inward = tuple(CHAIN[::-1] + leaf + ["leaf", "work"])
    seen = run.folded.where(lambda stack: tuple(
        name for name in stack if name != "interrupt_call")[-len(inward):] == inward)
    # First the program waits for a tick, which may take long.
    rest = run.folded.total - run.folded.below("wait_for_tick")
    assert seen > 0.9 * rest, run.folded.describe()
