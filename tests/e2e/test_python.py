# SPDX-License-Identifier: MIT
#
# Python functions in the stacks: which functions, with which names, in which processes.
# test_python_harmless.py tests that nothing else changes.
import pathlib
import subprocess

import pytest

import profiled
import pythons
from pythons import needs_names

pytestmark = needs_names

# The script's stacks, one per line, outermost function first.
SHAPES = """
<module> / main / Shapes.method / busy
<module> / Shapes / busy
main / Shapes.of_class / busy
main / Shapes.static / busy
main / Shapes.attribute / busy
main / subscripts / Shapes.__getitem__ / busy
main / Shapes.__exit__ / busy
main / Shapes.Inner.method / busy
main / generator / busy
main / delegating / generator / busy
main / thrown_into / busy
Runner.run / asynchronous / coroutine / busy
asynchronous / asynchronous_generator / busy
asynchronous / asynchronous.<locals>.<listcomp> / busy
decorator.<locals>.wrapper / decorated / busy
main / closure / closure.<locals>.inner / busy
main / handles / busy
comprehends / comprehends.<locals>.<listcomp> / busy
comprehends / comprehends.<locals>.<dictcomp> / busy
comprehends / comprehends.<locals>.<genexpr> / busy
main / größe / busy
main / main.<locals>.<lambda> / busy
main / <module> / executed / busy
Thread._bootstrap / Thread.run / main.<locals>.<lambda> / busy
"""

BUSY = """
import time
def busy(seconds=0.1):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
"""


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    return pythons.profile(tmp_path_factory.mktemp("shapes"),
                           profiled.TARGETS / "python_shapes.py")


@pytest.mark.parametrize("shape", SHAPES.strip().splitlines())
def test_every_shape_of_code_is_named(shapes, shape):
    """Each stack runs for 40 ms of CPU time, in which there are at least a dozen ticks."""
    assert shapes.status == 0
    assert pythons.weight_of(shapes.folded, *shape.split(" / ")), shapes.folded.describe()


def test_every_subscript_is_named(shapes):
    """
    Calls of __getitem__ are shown, also after Python has specialised the instruction for
    subscripts.
    """
    below = pythons.weight_of(shapes.folded, "subscripts", "busy")
    named = pythons.weight_of(shapes.folded, "subscripts", "Shapes.__getitem__", "busy")
    assert below > 100 and named == below


def test_lines_are_those_of_the_code(shapes):
    lines = profiled.TARGETS.joinpath("python_shapes.py").read_text(encoding="utf-8").splitlines()
    checked = 0
    for stack, _ in shapes.folded.stacks:
        for match in map(pythons.FUNCTION.match, stack):
            if match and match[2] == "python_shapes.py" and "<" not in match[1]:
                line = lines[int(match[3]) - 1].strip()
                assert line.startswith("@") or match[1].rpartition(".")[2] in line
                checked += 1
    assert checked > 50


@pytest.mark.sanitized
def test_the_option_does_nothing(tmp_path):
    result = pythons.profile(tmp_path, "-c", BUSY + "busy()", options=["--jit=python"])
    assert pythons.weight_of(result.folded, "<module>", "busy")
    assert "jit" not in result.stderr


def test_native_shows_what_runs_them(tmp_path):
    """With --native the evaluator is the caller of the functions that it runs."""
    shown = [pythons.profile(tmp_path, "-c", BUSY + "busy()", options=options, clock_hz=1000).folded
             for options in ([], ["--native"])]
    evaluator = [folded.where(lambda stack: "_PyEval_EvalFrameDefault" in stack[-3:])
                 for folded in shown]
    both = shown[1].where(lambda stack: any(
        left == "_PyEval_EvalFrameDefault" and pythons.FUNCTION.match(right)
        for left, right in zip(stack, stack[1:])))
    assert evaluator[0] <= shown[0].total * 0.05
    assert both >= shown[1].total * 0.5


def test_each_of_many_sleepers_is_named(tmp_path):
    """A thread that never wakes is observed once, in the same round as all others."""
    result = pythons.profile(tmp_path, "-c", """
import threading, time
threading.stack_size(65536)
def rest(): time.sleep(3)
def deep(n): deep(n - 1) if n else rest()
threads = [threading.Thread(target=deep, args=(i % 5,)) for i in range(300)]
[thread.start() for thread in threads]
rest()
""", options=["--wall", "--no-fold-idle"], clock_hz=0)
    assert pythons.weight_of(result.folded, "rest") > 0.98 * result.folded.total
    assert pythons.weight_of(result.folded, "deep", "rest") > 0.98 * 300 / 301 * result.folded.total


def test_who_waits_is_a_function_of_the_language(tmp_path):
    """The summary names the Python function that waits, not the native functions below it."""
    path = pythons.script(tmp_path, "import time\ndef rest(): time.sleep(1)\nrest()\n")
    result = pythons.profile(tmp_path, path, clock_hz=0)
    assert "most of it in clock_nanosleep, called by rest (script.py:2)\n" in result.stderr


def test_files_are_called_as_imported(tmp_path):
    for path, text in {
            "top/__init__.py": "from top.inner import module\ndef of_package(): module.deep()",
            "top/inner/__init__.py": "",
            "top/inner/module.py": BUSY + "def deep(): busy()",
            "top/__main__.py": "import top\ndef entry(): top.of_package()\nentry()"}.items():
        pythons.script(tmp_path, text, f"elsewhere/{path}")
    pythons.script(tmp_path, "import sys\nsys.path.insert(0, sys.path[0] + '/elsewhere')\n"
                   "import top\ntop.of_package()\nexec(compile('top.of_package()', 'a/b/c.py', 'exec'))\n")
    result = pythons.profile(tmp_path, tmp_path / "script.py")
    names = {name for stack, _ in result.folded.stacks for name in pythons.functions(stack)}
    assert {("<module>", "script.py"), ("of_package", "top/__init__.py"), ("<module>", "c.py"),
            ("deep", "module.py")} <= names
    result = subprocess.run(
        [profiled.BUILD / "flamerun", "-o", "m.folded", "--test-clock", "1000",
         "--", pythons.PYTHON, "-m", "top"], cwd=tmp_path / "elsewhere", stderr=subprocess.PIPE,
        check=False)
    assert result.returncode == 0
    assert "entry (top/__main__.py:2)" in (tmp_path / "elsewhere/m.folded").read_text()


@pytest.mark.parametrize("words", [["-I"], ["-S"], ["-E"], ["-I", "-S", "-E", "-B"], ["-X", "dev"],
                                   ["-OO"], ["-X", "faulthandler"], ["-u"]], ids=" ".join)
def test_whatever_python_is_told(tmp_path, words):
    result = pythons.profile(tmp_path, *words, "-c", BUSY + "busy()")
    assert result.status == 0
    assert pythons.weight_of(result.folded, "<module>", "busy")


def test_virtual_environments(tmp_path):
    subprocess.run([pythons.PYTHON, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    result = pythons.profile(tmp_path, "-c", BUSY + "busy()", python=tmp_path / "venv/bin/python")
    assert pythons.weight_of(result.folded, "<module>", "busy")


CHILDREN = {
    "fork": "import os\npid = os.fork()\nif not pid: child(); os._exit(0)\nos.waitpid(pid, 0)",
    "multiprocessing fork": "import multiprocessing as m\n"
                            "p = m.get_context('fork').Process(target=child)\np.start(); p.join()",
    "multiprocessing spawn": "import multiprocessing as m\nif __name__ == '__main__':\n"
                             "    p = m.get_context('spawn').Process(target=child)\n"
                             "    p.start(); p.join()",
    "pool": "import concurrent.futures as f\nwith f.ProcessPoolExecutor(2) as pool:\n"
            "    list(pool.map(child, [0.05, 0.05, 0.05, 0.05]))",
    "subprocess": "import subprocess, sys\nif len(sys.argv) > 1: child(); sys.exit()\n"
                  "subprocess.run([sys.executable, '-I', __file__, 'x'], check=True)",
    "exec": "import os, sys\nif len(sys.argv) > 1: child(); sys.exit()\n"
            "os.execv(sys.executable, [sys.executable, __file__, 'x'])",
}


@pytest.mark.parametrize("how", CHILDREN)
def test_children(tmp_path, how):
    path = pythons.script(tmp_path, BUSY + "def child(seconds=0.1): busy(seconds)\n" + CHILDREN[how])
    result = pythons.profile(tmp_path, path)
    assert result.status == 0, result.stderr
    assert pythons.weight_of(result.folded, "child", "busy"), result.folded.describe()


def test_interpreters_within_one_process(tmp_path):
    text = BUSY + "CODE = '''" + BUSY + "\ndef within_%d(): busy()\nwithin_%d()'''\n" + """
import _xxsubinterpreters as interpreters, threading
for i in range(3):
    one = interpreters.create()
    thread = threading.Thread(target=interpreters.run_string, args=(one, CODE % (i, i)))
    thread.start(); thread.join()
    interpreters.destroy(one)
def after(): busy()
after()
"""
    result = pythons.profile(tmp_path, pythons.script(tmp_path, text))
    assert result.status == 0, result.stderr
    for name in ("within_0", "within_1", "within_2"):
        assert pythons.weight_of(result.folded, name, "busy"), name
    assert pythons.weight_of(result.folded, "after", "busy")


EMBEDS = r"""
#include <Python.h>
#include <dlfcn.h>
#define TEXT "import time\ndef inside_%d():\n e = time.thread_time() + .1\n" \
	" while time.thread_time() < e: pass\ninside_%d()\n"
int main(void)
{
#ifdef LATER
	void *python = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
	__typeof__(Py_InitializeEx) *begin = dlsym(python, "Py_InitializeEx");
	__typeof__(PyRun_SimpleStringFlags) *run = dlsym(python, "PyRun_SimpleStringFlags");
	__typeof__(Py_FinalizeEx) *end = dlsym(python, "Py_FinalizeEx");
#else
	__typeof__(Py_InitializeEx) *begin = Py_InitializeEx;
	__typeof__(PyRun_SimpleStringFlags) *run = PyRun_SimpleStringFlags;
	__typeof__(Py_FinalizeEx) *end = Py_FinalizeEx;
#endif
	for (int i = 0; i < 3; i++) {
		char text[256];

		snprintf(text, sizeof(text), TEXT, i, i);
		begin(0); /* no signals */
		if (run(text, NULL) || end())
			return 1;
	}
	return 0;
}
"""


@pytest.mark.parametrize("flags", [["-lpython3.11"], ["-DLATER"]], ids=["linked", "loaded"])
def test_programs_with_an_interpreter_in_them(tmp_path, flags):
    """The program starts and ends the interpreter three times."""
    source = tmp_path / "embeds.c"
    source.write_text(EMBEDS)
    built = subprocess.run(["gcc", "-o", tmp_path / "embeds", "-I/usr/include/python3.11", source,
                            "-ldl", *flags], stderr=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        pytest.skip("libpython3.11 is not there to link with: " + built.stderr[:200])
    result = profiled.profile(tmp_path, tmp_path / "embeds", clock_hz=1000)
    assert result.status == 0
    for name in ("inside_0", "inside_1", "inside_2"):
        assert pythons.weight_of(result.folded, "<module>", name), name


def test_the_interpreters_own_functions_can_be_hidden(tmp_path):
    """By the expression in the manual."""
    manual = (pathlib.Path(profiled.ROOT) / "man/flamerun.1").read_text()
    expression = manual.split(".Dl --hide '")[1].split("'")[0].replace("\\e", "\\")
    path = profiled.TARGETS / "python_shapes.py"
    result = pythons.profile(tmp_path, path, "20", options=["--hide", expression])
    assert pythons.weight_of(result.folded, "main", "Shapes.method", "busy"), (
        result.stderr + result.folded.describe())
    shown = [stack for stack, _ in result.folded.stacks if pythons.functions(stack)]
    left = [name for stack in shown for name in stack[:-1] if "python3.11" in name or "Py" in name]
    assert not [name for name in left if not pythons.FUNCTION.match(name)], set(left)


# A greenlet is started by deep calls of other functions, then goes on while its thread's stack has
# other frames there.
GREENLET = BUSY + """
import greenlet
def start(depth): return start(depth - 1) if depth else child.switch()
def outermost():
    busy(0.3)
    main.switch()
    busy(0.3)
def go_on():
    busy(0.3)
    child.switch()
main = greenlet.getcurrent()
child = greenlet.greenlet(outermost)
start(20)
go_on()
"""
GEVENT = BUSY + """
import gevent
def outermost():
    busy(0.2)
    gevent.sleep(0.01)
    busy(0.2)
def start(): gevent.joinall([gevent.spawn(outermost) for _ in range(3)])
start()
"""


@pytest.mark.parametrize("module, text", [("greenlet", GREENLET), ("gevent", GEVENT)], ids=["greenlet", "gevent"])
def test_the_stack_of_a_greenlet_begins_where_it_began(tmp_path, module, text):
    if subprocess.run([pythons.PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip(f"no {module} for this Python")
    result = pythons.profile(tmp_path, pythons.script(tmp_path, text))
    stacks = [stack for stack, _ in result.folded.stacks if pythons.is_part(["outermost"], stack)]
    assert stacks and all("inner_bootstrap" in stack[0] for stack in stacks), result.folded.describe()
    assert pythons.weight_of(result.folded, "outermost", "busy") > 0.5 * result.folded.total
    assert "stacks are incomplete" not in result.stderr
    if module == "greenlet":
        go_on = [stack for stack, _ in result.folded.stacks if pythons.is_part(["<module>", "go_on", "busy"], stack)]
        assert go_on and not [stack for stack in go_on if "inner_bootstrap" in stack]


@pytest.mark.sanitized
def test_odd_names(tmp_path):
    """Code can have any name. Bytes that are no text are shown as '?', and long names are cut."""
    text = BUSY + r"""
source = compile("end = time.thread_time() + 0.05\nwhile time.thread_time() < end: pass", "x", "exec")
def named(name, **changed): exec(source.replace(**changed), {"time": time, "__name__": name})
named("m", co_qualname="nul\0here", co_filename="/a/b.py")
named("m", co_qualname="half \ud800 pair", co_filename="/a/\udcff.py")
named("m", co_qualname="\u65e5\u672c \U0001f40d", co_filename="/a/n.py")
named("m", co_qualname="long" * 2000, co_filename="/" + "deep/" * 2000 + "end.py")
named("m", co_qualname="slash", co_filename="/a/b/")
named("m", co_qualname="none", co_filename="")
named(42, co_qualname="number", co_filename="/a/b.py")
named("a.b", co_qualname="module", co_filename="/x/a/b.py")
named("b.b", co_qualname="other", co_filename="/x/a/b.py")
named(".....", co_qualname="dots", co_filename="/x/a/b.py")
named("__init__", co_qualname="script", co_filename="/x/a/__init__.py")
named("m", co_qualname="late", co_filename="a.py", co_firstlineno=2**31 - 1)
"""
    result = pythons.profile(tmp_path, pythons.script(tmp_path, text))
    assert result.status == 0, result.stderr
    leaves = {name for stack, _ in result.folded.stacks for name in stack}
    for name in ("nul?here (b.py:1)", "half ? pair (\udcff.py:1)", "日本 🐍 (n.py:1)", "slash",
                 "none", "number (b.py:1)", "module (b.py:1)", "other (b.py:1)",
                 "dots (b.py:1)", "late (a.py:2147483647)"):
        assert name in leaves, leaves
    assert [name for name in leaves if name.startswith("longlong") and name.endswith("end.py:1)")]
