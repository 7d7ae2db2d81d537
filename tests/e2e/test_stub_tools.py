# SPDX-License-Identifier: MIT
#
# gdb, perf and C++ exceptions see correct stacks in call stubs. tests/targets/stub_chain.c
# describes the stacks.
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import textwrap
import time

import pytest

import profiled

PERF_MAP, JITDUMP, GDB, UNWINDERS = 1, 2, 4, 8
LIBRARY = profiled.BUILD / "libflameprof.so.1"
# Innermost first.
CHAIN = ["innermost", "step", "middle", "step", "outermost", "step", "main"]
LLVM = [pathlib.Path(f"/usr/lib/{os.uname().machine}-linux-gnu/{name}")
        for name in ("libc++abi.so.1", "libunwind.so.1")]


def build(folder, name="stub_chain.c", flags=profiled.PLAIN, library=LIBRARY, **options):
    linked = (*flags, "-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}")
    return profiled.compile_target(name, folder, linked, **options)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return build(tmp_path_factory.mktemp("chain"))


@pytest.fixture(scope="module")
def chain_fp(tmp_path_factory):
    """The target with frame pointers, which perf record -g needs."""
    return build(tmp_path_factory.mktemp("chain_fp"), flags=("-O2", "-fno-omit-frame-pointer"))


# ---- gdb ---------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def gdb():
    path = shutil.which("gdb")
    if not path:
        pytest.skip("no gdb")

    def run(*words):
        # Run gdb without settings files, network and pager.
        return subprocess.run([path, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off",
                               *map(str, words)], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120).stdout

    answer = run("-ex", "run", "-ex", "print 40+2", "/bin/true")
    if "ptrace" in answer or "exited normally" not in answer:
        pytest.skip("gdb cannot run programs here: " + answer.strip()[-200:])
    return run


def frames_of(text):
    """The names of the frames in gdb's backtrace, innermost first."""
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) ?\(", text, re.M)


def test_gdb_sees_the_chain(gdb, chain):
    text = gdb("-ex", "break leaf", "-ex", "run", "-ex", "bt", "--args", chain, GDB, "spin", 1)
    assert frames_of(text) == ["leaf", "step"] + CHAIN, text
    # Without being informed, gdb must not find the chain. Otherwise the test would prove nothing.
    text = gdb("-ex", "break leaf", "-ex", "run", "-ex", "bt", "--args", chain, 0, "spin", 1)
    assert frames_of(text) != ["leaf", "step"] + CHAIN


def test_gdb_finds_a_stripped_library(gdb, tmp_path):
    library = tmp_path / LIBRARY.name
    subprocess.run(["strip", "-o", library, LIBRARY], check=True)
    program = build(tmp_path, library=library)
    text = gdb("-ex", "break leaf", "-ex", "run", "-ex", "bt", "--args", program, GDB, "spin", 1)
    assert frames_of(text) == ["leaf", "step"] + CHAIN, text


def test_gdb_attaches_later(gdb, chain):
    with subprocess.Popen([chain, str(GDB), "stop"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "publish 0\n"
        assert process.stdout.readline() == "ready\n"
        text = gdb("-ex", "bt", "-p", process.pid)
        process.kill()
    if "Operation not permitted" in text:
        pytest.skip("gdb may not attach here")
    assert frames_of(text)[-9:] == ["leaf", "step"] + CHAIN, text


# Runs inside gdb: step through the innermost stub, instruction by instruction.
STEPPING = """
    gdb.execute("break step")
    gdb.execute("run")
    gdb.execute("delete")
    start = int(gdb.parse_and_eval("(unsigned long)&innermost"))
    gdb.execute(f"tbreak *{start}")
    gdb.execute("continue")
    for _ in range(64):
        pc = int(gdb.parse_and_eval("(unsigned long)$pc"))
        frame, names = gdb.newest_frame(), []
        while frame and frame.is_valid():
            names.append(frame.name() or "?")
            frame = frame.older()
        if names[0] != "innermost":
            break
        print("AT", pc - start, " ".join(names))
        gdb.execute("nexti", to_string=True)
"""


def test_gdb_at_every_instruction(gdb, chain, tmp_path):
    script = tmp_path / "stepping.py"
    script.write_text("import gdb\n" + textwrap.dedent(STEPPING))
    text = gdb("-x", script, "--args", chain, GDB, "spin", 1)
    seen = re.findall(r"^AT (\d+) (.*)$", text, re.M)
    assert len(seen) >= 5, text
    for offset, names in seen:
        assert names.split() == CHAIN, offset


def test_gdb_watches_stubs_come_and_go(gdb, chain):
    text = gdb("-ex", "break work", "-ex", "run", "-ex", "bt", "-ex", "info symbol one_of_many_41",
               "-ex", "info symbol one_of_many_40", "--args", chain, GDB, "many", 300, 1)
    assert frames_of(text)[-9:] == ["leaf", "step"] + CHAIN, text
    assert "one_of_many_41 in section .text" in text
    assert 'No symbol "one_of_many_40"' in text or "No symbol table" in text


# ---- perf --------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def perf(tmp_path_factory):
    path = shutil.which("perf")
    if not path:
        pytest.skip("no perf")
    probe = tmp_path_factory.mktemp("perf") / "probe"
    result = subprocess.run([path, "record", "-q", "-o", probe, "--", "/bin/true"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode or not probe.exists():
        pytest.skip("perf may not record here: " + result.stdout.strip()[-200:])
    return path


class Perf:
    """perf in a folder of its own. The perf maps of the processes @pids are removed too."""

    def __init__(self, path, folder):
        self.path = path
        self.folder = folder
        self.pids = set()

    def run(self, *words, **options):
        return subprocess.run([self.path, *map(str, words)], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)

    def record(self, *words):
        result = self.run("record", "-q", "-k", "1", "-F", "997", "-o", "raw", *words)
        assert (self.folder / "raw").exists(), result.stderr
        return result

    def stacks(self, jitdump):
        """{stack of names, innermost first: number of samples}"""
        data = "raw"
        if jitdump:
            result = self.run("inject", "--jit", "-i", "raw", "-o", "injected")
            assert result.returncode == 0, result.stderr
            data = "injected"
        text = self.run("script", "-i", data, "--no-demangle", "-F", "ip,sym").stdout
        blocks = re.split(r"\n\s*\n", text)
        stacks = [tuple(line.split()[1] for line in block.splitlines() if line.split()[1:])
                  for block in blocks]
        return collections.Counter(stack for stack in stacks if stack)

    def remove_maps(self):
        """
        Remove only the perf maps of the test's own processes, because other tests also use /tmp.
        """
        if (self.folder / "raw").exists():
            self.pids.update(self.run("script", "-i", "raw", "-F", "pid").stdout.split())
        for pid in self.pids:
            pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)


@pytest.fixture
def tool(perf, tmp_path):
    tool = Perf(perf, tmp_path)
    yield tool
    tool.remove_maps()


def wait_for_child(pid):
    for _ in range(1000):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError("it did not fork")


def share_complete(stacks, leaf, rest):
    """The share of the samples in @leaf whose callers are exactly @rest up to main."""
    there = {stack: count for stack, count in stacks.items() if leaf in stack}
    assert sum(there.values()) > 20, stacks.most_common(5)
    good = 0
    for stack, count in there.items():
        above = stack[stack.index(leaf):]
        good += count if above[:len(rest) + 1] == (leaf, *rest) else 0
    return good / sum(there.values())


@pytest.mark.parametrize("published", [PERF_MAP, JITDUMP], ids=["map", "jitdump"])
def test_perf_by_frame_pointers(tool, chain_fp, published):
    tool.record("-g", chain_fp, published, "spin", 300)
    stacks = tool.stacks(published == JITDUMP)
    assert share_complete(stacks, "work", ["leaf", "step"] + CHAIN) > 0.95


def test_perf_by_call_frame_information(tool, chain):
    tool.record("--call-graph", "dwarf", chain, JITDUMP, "spin", 300)
    assert share_complete(tool.stacks(True), "work", ["leaf", "step"] + CHAIN) > 0.95


def test_perf_without_being_told(tool, chain):
    tool.record("--call-graph", "dwarf", chain, 0, "spin", 300)
    assert share_complete(tool.stacks(False), "work", ["leaf", "step"] + CHAIN) == 0


def test_perf_inside_of_stubs(tool, chain):
    tool.record("--call-graph", "dwarf", chain, JITDUMP, "calls", 800)
    stacks = tool.stacks(True)
    inside = collections.Counter({s: n for s, n in stacks.items() if s[0] == "hot"})
    assert share_complete(inside, "hot", ["call_hot", "leaf", "step"] + CHAIN) > 0.99
    behind = collections.Counter({s: n for s, n in stacks.items() if s[0] == "nothing"})
    assert share_complete(behind, "nothing", ["hot", "call_hot", "leaf", "step"] + CHAIN) > 0.95


def test_perf_of_many(tool, chain):
    """
    There are thousands of files in the jitdump, and stubs at addresses that earlier stubs had.
    """
    tool.record("--call-graph", "dwarf", chain, JITDUMP, "many", 3000, 500)
    assert share_complete(tool.stacks(True), "work", ["leaf", "step"] + CHAIN) > 0.95


@pytest.mark.parametrize("published", [PERF_MAP, JITDUMP], ids=["map", "jitdump"])
def test_perf_attaches_later(tool, chain_fp, published):
    with subprocess.Popen([chain_fp, str(published), "spin", "60000"], cwd=tool.folder,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "publish 0\n"
        try:
            tool.record("-g", "-p", process.pid, "--", "sleep", 0.7)
        finally:
            process.kill()
    stacks = tool.stacks(published == JITDUMP)
    assert share_complete(stacks, "work", ["leaf", "step"] + CHAIN) > 0.95


@pytest.mark.parametrize("published", [PERF_MAP, JITDUMP], ids=["map", "jitdump"])
def test_perf_of_a_fork_child(tool, chain_fp, published):
    """perf profiles only the child, so it does not see what the parent has published."""
    with subprocess.Popen([chain_fp, str(published), "fork", "60000"], cwd=tool.folder,
                          stdout=subprocess.DEVNULL) as process:
        tool.pids.add(process.pid)
        child = wait_for_child(process.pid)
        try:
            tool.record("-g", "-p", child, "--", "sleep", 0.7)
        finally:
            os.kill(child, signal.SIGKILL)
    stacks = tool.stacks(published == JITDUMP)
    assert share_complete(stacks, "work", ["leaf", "step"] + CHAIN) > 0.95


# ---- exceptions ----------------------------------------------------------------------------------

def throws(program, published):
    return subprocess.run([program, str(published)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60,
                          preexec_fn=lambda: signal.signal(signal.SIGABRT, signal.SIG_DFL))


def assert_thrown(program):
    # A loaded unwinder is informed even if the program does not ask for it.
    for published in (UNWINDERS, 0):
        result = throws(program, published)
        assert result.returncode == 0
        # Exceptions 0 to 999: even ones are caught half-way and thrown again as the next odd one,
        # and three frames clean up for each exception.
        assert "caught 500000 clean 3000" in result.stdout
        assert "stubs 3" in result.stdout


def test_exceptions_by_libgcc(tmp_path):
    assert_thrown(build(tmp_path, "stub_throws.cc"))


# The functions that a program exports if it is linked with its own libgcc.
OWN_LIBGCC = """
#include <stdio.h>

static int added, removed;

void __register_frame_info(const void *section, void *object);
void *__deregister_frame_info(const void *section);
void __register_frame_info(const void *section, void *object) { added += section && object; }
void *__deregister_frame_info(const void *section) { removed += !!section; return NULL; }

__attribute__((destructor)) static void tell(void) { printf("own %d %d\\n", added, removed); }
"""


def test_a_libgcc_of_the_program_is_told_too(tmp_path):
    (tmp_path / "own.c").write_text(OWN_LIBGCC)
    subprocess.run(["gcc", "-O2", "-c", "-o", tmp_path / "own.o", tmp_path / "own.c"], check=True)
    program = build(tmp_path, "stub_throws.cc", flags=(*profiled.PLAIN, str(tmp_path / "own.o"), "-rdynamic"))
    result = throws(program, UNWINDERS)
    assert "caught 500000 clean 3000" in result.stdout
    # The registrations are removed together with the arena.
    told = re.search(r"^own (\d+) (\d+)$", result.stdout, re.M)
    assert int(told[1]) == int(told[2]) > 0


def test_exceptions_by_libgcc_through_clang(tmp_path):
    if not shutil.which("clang++"):
        pytest.skip("no clang++")
    assert_thrown(build(tmp_path, "stub_throws.cc", compiler="clang++"))


def test_exceptions_by_llvm(tmp_path):
    """Built without LLVM's headers, which conflict with those of nongnu libunwind in Debian."""
    if not all(path.exists() for path in LLVM):
        pytest.skip("no LLVM libunwind")
    flags = (*profiled.PLAIN, "-nodefaultlibs", "-Wl,--no-as-needed", *LLVM, "-lc")
    program = build(tmp_path, "stub_throws.cc", flags=flags)
    loaded = subprocess.run(["ldd", program], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert "libunwind.so.1" in loaded and "libstdc++" not in loaded
    assert_thrown(program)
