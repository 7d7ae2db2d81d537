# SPDX-License-Identifier: MIT
#
# Reading Python's functions changes nothing that a script can observe: each script prints the same
# with and without flamerun. This includes tests of CPython's own test suite.
import os
import pathlib
import re
import signal
import subprocess

import pytest

import profiled
import pythons
from pythons import needs_names

pytestmark = needs_names

SCRIPTS = {
    "exceptions": """
import sys, traceback
def inner(): raise KeyError("x")
def middle():
    try: inner()
    except KeyError as error: raise ValueError("y") from error
try: middle()
except ValueError: traceback.print_exc(file=sys.stdout)
def generator():
    try: yield 1
    except GeneratorExit: print("closed"); raise
    finally: print("finally")
for _ in generator(): break
started = generator(); next(started)
try: started.throw(KeyError("thrown"))
except KeyError as error: print(repr(error))
def never_begun(): yield 1
try: never_begun().throw(KeyError("before its first line"))
except KeyError as error: print(repr(error))
print(sys.exc_info())
""",
    "default recursion limit": """
def recurse(depth): return recurse(depth + 1)
def depth(frame=None):
    try: return depth() + 1
    except RecursionError as error: print(error); return 0
try: recurse(0)
except RecursionError as error: print(error)
print(depth())
class Endless:
    def __repr__(self): return repr(self)
    def __getattr__(self, name): return getattr(self, name + "x")
for action in (lambda: repr(Endless()), lambda: Endless().a):
    try: action()
    except RecursionError as error: print(error)
""",
    "raised recursion limit": """
import sys, threading
sys.setrecursionlimit(10**6)
def recurse(depth): return 0 if depth == 0 else 1 + recurse(depth - 1)
print(recurse(300000))
threading.stack_size(65536)
results = []
threads = [threading.Thread(target=lambda: results.append(recurse(20000))) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(results)
def generate(depth):
    if depth: yield from generate(depth - 1)
    yield depth
print(sum(generate(2000)))
""",
    "tracing": """
import sys, collections
def traced(n): return [n * i for i in range(n)]
events = []
def tracer(frame, event, argument):
    events.append((event, frame.f_code.co_name, frame.f_lineno)); return tracer
sys.settrace(tracer); traced(3); sys.settrace(None)
print(events)
events.clear()
sys.setprofile(tracer); traced(2); sys.setprofile(None)
print(events)
import cProfile, pstats, io
profile = cProfile.Profile(); profile.runcall(traced, 5)
print(sorted((name, calls[0]) for (_, _, name), calls in pstats.Stats(profile).stats.items()))
""",
    "what a process looks like": """
import os, sys, threading, gc
print(sorted(name for name in os.environ if name not in ("LD_PRELOAD", "FLAMERUN_CHANNEL", "_")))
print(sorted(sys.modules), threading.active_count(), len(os.listdir("/proc/self/task")))
print(sorted(int(name) for name in os.listdir("/proc/self/fd")))
print(sys.path, sys.flags, sys.argv, sys.getrecursionlimit(), len(gc.get_objects()) > 1000)
import signal; print([signal.getsignal(n) for n in range(1, 65) if n not in (32, 33)])
""",
    "frames": """
import sys, inspect, weakref, gc
def outer(): return inner()
def inner(): return [frame.function for frame in inspect.stack()]
print(outer())
def one(): pass
one(); other = one.__code__.replace(co_name="two"); one.__code__ = other; one()
code = compile("x = 1", "n", "exec"); died = []
reference = weakref.ref(code, lambda _: died.append(1)); exec(code); del code; gc.collect()
print(died, one.__code__.co_name, sys.getsizeof("ä"), sys.getrefcount(other))
""",
    "end": """
import atexit, sys, weakref
class Late:
    def __del__(self): print("late")
kept = Late(); atexit.register(lambda: print("exit")); module = sys.modules[__name__]
weakref.finalize(kept, print, "finalized")
def generator():
    try: yield
    finally: print("generator")
running = generator(); next(running)
sys.exit(3)
""",
    "fork in a thread": """
import os, threading
def child():
    def work(n): return sum(map(lambda i: i, range(n)))
    pid = os.fork()
    if not pid: os._exit(work(10) & 0x7f)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
thread = threading.Thread(target=child); thread.start(); thread.join()
""",
}


def run_both(folder, *words, **options):
    plain = subprocess.run([pythons.PYTHON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=120, cwd=folder, check=False, **options)
    named = subprocess.run(
        [profiled.BUILD / "flamerun", "-q", "-o", "both.folded", "--",
         pythons.PYTHON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
        cwd=folder, check=False, **options)
    return plain, named


@pytest.mark.parametrize("what", SCRIPTS)
def test_says_the_same(tmp_path, what):
    plain, named = run_both(tmp_path, pythons.script(tmp_path, SCRIPTS[what]))
    assert plain.stdout and named.stdout == plain.stdout
    assert (named.returncode, named.stderr) == (plain.returncode, plain.stderr)


def test_shapes_end_alike(tmp_path):
    plain, named = run_both(tmp_path, profiled.TARGETS / "python_shapes.py", "10")
    assert (named.returncode, named.stderr, named.stdout) == (0, plain.stderr, plain.stdout)


def test_deep_recursion(tmp_path):
    """If a stack is deeper than the limit, the innermost frames have names."""
    text = """
import sys, time
sys.setrecursionlimit(10**6)
def busy():
    end = time.thread_time() + .15
    while time.thread_time() < end: pass
def recurse(depth):
    if depth == 0: return busy()
    return recurse(depth - 1)
def shallow(): recurse(300)
def deep(): recurse(100000)
def after(): busy()
shallow(); deep(); after()
"""
    result = pythons.profile(tmp_path, pythons.script(tmp_path, text))
    assert result.status == 0, result.stderr
    assert pythons.weight_of(result.folded, "shallow", "recurse", "busy") > 30
    assert pythons.weight_of(result.folded, "after", "busy") > 30
    assert result.folded.where(
        lambda stack: len(stack) > 4000 and pythons.is_part(["recurse"] * 4000 + ["busy"], stack)
    ) > 30


def test_code_that_goes_takes_no_memory_along(tmp_path):
    """A hundred thousand code objects, one at a time, take no more memory than ten thousand."""
    text = """
def pages():
    with open("/proc/self/statm", encoding="ascii") as status: return int(status.read().split()[1])
for i in range(10000): exec(f"x = {i}", {})
before = pages()
for i in range(100000): exec(f"x = {i}", {})
print(pages() - before)
"""
    result = pythons.profile(tmp_path, pythons.script(tmp_path, text), clock_hz=1000)
    assert int(result.stdout) < 800, "pages"


def test_interrupted(tmp_path):
    path = pythons.script(tmp_path, """
import os, signal, time
def work():
    try:
        print("ready", flush=True)
        while True: time.sleep(0)
    except KeyboardInterrupt: print("interrupted", flush=True)
work()
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGINT)
""")
    child = subprocess.Popen([profiled.BUILD / "flamerun", "-q", "-o",
                              tmp_path / "i.folded", "--", pythons.PYTHON, path],
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=30)[0] == "interrupted\n"
    assert child.returncode == -signal.SIGINT


def test_faulthandler_shows_the_stack(tmp_path):
    text = ("import faulthandler\nfaulthandler.enable()\ndef a(): b()\n"
            "def b(): faulthandler._sigsegv()\na()\n")
    plain, named = run_both(tmp_path, pythons.script(tmp_path, text))
    assert named.returncode == plain.returncode == -signal.SIGSEGV
    hide = re.compile(rb"0x[0-9a-f]+")
    assert hide.sub(b"", named.stderr) == hide.sub(b"", plain.stderr)
    assert b"in b\n" in named.stderr


# Those of CPython's tests for frames, evaluation and the end of interpreters that take about a
# second each.
TESTS = ("test_generators test_coroutines test_exceptions test_frame test_code test_sys_settrace "
         "test_gc test_yield_from test_call test_funcattrs test_thread test__xxsubinterpreters").split()


@pytest.mark.parametrize("name", TESTS)
def test_of_the_interpreter(tmp_path, name):
    if not pathlib.Path(f"/usr/lib/python3.11/test/{name}.py").exists():
        pytest.skip("libpython3.11-testsuite is not installed")
    plain, named = run_both(tmp_path, "-m", "unittest", "-q", f"test.{name}",
                            env=dict(os.environ, HOME=str(tmp_path)))
    ran = re.search(rb"^Ran (\d+) test", plain.stderr, re.M)
    assert ran and int(ran[1]) > 0
    assert named.returncode == plain.returncode, named.stderr[-4000:].decode(errors="replace")
    assert re.search(rb"^Ran (\d+) test", named.stderr, re.M)[1] == ran[1]


# leave() fills the interpreter's stack with pointers, which stay there after it has returned. The
# frames of a, b and c are then made among these pointers. Keyword arguments use the general way of
# calls.
CALLS = """
import time
exec("def leave(o):\\n    %s = o\\n" % " = ".join("v%d" % i for i in range(80)))
def c(x): return x
def b(x): return c(x=x)
def a(x): return b(x=x)
def work():
    end = time.process_time() + 1
    while time.process_time() < end:
        for n in range(1000): leave(n); a(x=n)
work()
print("end")
"""


# Only versions from 3.11 on, because earlier versions link a frame when they make it.
@pytest.mark.parametrize("python", [python for python in pythons.known()
                                    if pythons.version_of(python) >= (3, 11)])
def test_a_frame_that_is_not_yet_linked(tmp_path, python):
    """
    A call may make its frame the innermost one before it links the frame to the caller's frame.
    """
    path = pythons.script(tmp_path, CALLS)
    run = profiled.profile(tmp_path, python, path, rate_hz=4000)
    assert (run.status, run.stdout) == (0, "end\n"), run.stderr
    calls = ("<module>", "work", "a", "b", "c")
    for stack, _ in run.folded.stacks:
        names = tuple(name for name, file in pythons.functions(stack) if file == "script.py")
        assert names == calls[:len(names)] or names[2:] == ("leave",) or "work" not in names, stack
    assert run.folded.below("[unsampled]") < run.folded.total / 2
