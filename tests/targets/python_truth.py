# SPDX-License-Identifier: MIT
#
# A program that stores its own stacks. Each way of calling ends in its own function, called once,
# which stores its stack in FILE, outermost function first: [name, file, first line, line now]. Then
# it uses the CPU for SECONDS of its thread's time. Everything else takes almost no time, so all
# these functions have equal shares. With "sleep" it sleeps for SECONDS instead, a bit at a time.
# With "+" the program begins when a line arrives on stdin.
#
#     python_truth.py FILE SECONDS spin|sleep[+] [way...]
import asyncio
import contextlib
import ctypes
import functools
import json
import sys
import threading
import time

SECONDS = float(sys.argv[2])
HOW = sys.argv[3].rstrip("+")
CLOCK = {"spin": time.thread_time, "sleep": time.monotonic}[HOW]
# Read the CPU time only every 8 ms, for the reason given at spin_until() in spin.h.
STEP = {"spin": "until = wall() + .008\n        while wall() < until:\n            x += 1",
        "sleep": "x += 1\n        sleep(0.015)"}[HOW]
DEEP = 5000
expected = {}

TEMPLATE = """def spin_{0}(end):
    x = 0
    while clock() < end:
        STEP
    return x


def {0}():
    note("spin_{0}", getframe())
    return spin_{0}(clock() + seconds)
""".replace("STEP", STEP)


def note(name, frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename,
                      code.co_firstlineno, frame.f_lineno])
        frame = frame.f_back
    stack.reverse()
    # The call of the function that spins is in the next line.
    stack[-1][3] += 1
    expected[name] = outer.get(name, []) + stack + [[name, "spin.py", 1, 0]]


outer = {}
WAYS = []


def spinner(name):
    """Return the function that stores its stack and then spins."""
    space = {"clock": CLOCK, "wall": time.monotonic, "sleep": time.sleep, "note": note,
             "getframe": sys._getframe, "seconds": SECONDS}
    exec(compile(TEMPLATE.format(name), "spin.py", "exec"), space)
    return space[name]


def way(function):
    WAYS.append(function)
    return function


@way
def plain():
    spinner("plain")()


@way
def recursion(depth=50):
    if depth:
        return recursion(depth - 1)
    return spinner("recursion")()


@way
def deep():
    spin = spinner("deep")

    def down(depth):
        if depth:
            down(depth - 1)
        else:
            spin()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP + 500)
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=down, args=(DEEP,))
    thread.start()
    thread.join()
    threading.stack_size(0)
    sys.setrecursionlimit(limit)


@way
def closures():
    spin = spinner("closures")

    def make(n):
        def inner():
            return spin() if not n else make(n - 1)()
        return inner
    make(5)()
    (lambda: [spinner("comprehended")() for _ in range(1)])()


@way
def generators():
    def numbers():
        yield 1
        yield spinner("yielded")()

    def delegates():
        yield from numbers()
    for _ in delegates():
        pass
    sum(x for x in delegates_again(spinner("summed")))


def delegates_again(spin):
    yield 1
    yield spin()


@way
def coroutines():
    async def inner():
        await asyncio.sleep(0)
        return spinner("awaited")()

    async def outer_task():
        return await asyncio.gather(inner(), inner_again())

    async def inner_again():
        return await asyncio.ensure_future(last())

    async def last():
        async with manager():
            spinner("task")()

    @contextlib.asynccontextmanager
    async def manager():
        yield spinner("entered")()
    asyncio.new_event_loop().run_until_complete(outer_task())


@way
def threads():
    one, two = (threading.Thread(target=spinner(name)) for name in ("thread_a", "thread_b"))
    one.start()
    two.start()
    one.join()
    two.join()


@way
def callbacks():
    sorted([2, 1], key=lambda x, spin=spinner("key"): x == 1 and spin() or x)
    functools.reduce(lambda a, b: spinner("reduced")(), [1, 2])
    list(map(lambda x: spinner("mapped")(), [1]))
    functools.partial(lambda x: spinner("partial")(), 1)()
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    once = []

    def compare(_a, _b):
        if not once:
            once.append(spinner("by_c")())
        return 0
    array = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(array, 2, 4, kind(compare))


class Methods:
    def __init__(self):
        spinner("built")()

    @property
    def attribute(self):
        return spinner("attribute")()

    def __getitem__(self, key):
        return spinner("item")()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        spinner("exited")()
        return True

    def __del__(self):
        spinner("deleted")()

    def __lt__(self, other):
        return bool(spinner("compared")())


@way
def methods():
    one = Methods()
    one.attribute
    one[1]
    with one:
        raise ValueError
    min(one, one)
    del one


class Constructed:
    def __init__(self, called):
        called()


def construct(called):
    Constructed(called)


@way
def constructors():
    """
    After 200 calls the instruction is specialised and puts a frame between that no traceback shows.
    """
    for _ in range(200):
        construct(plain_call)
    construct(spinner("constructed"))


@way
def exceptions():
    def raises(n):
        try:
            if n:
                raises(n - 1)
            else:
                raise KeyError
        except KeyError:
            spinner(f"caught_{n}")()
            raise
        finally:
            if n == 1:
                spinner("in_finally")()
    with contextlib.suppress(KeyError):
        raises(1)


@way
def traced():
    once = []

    def trace(_frame, event, _argument):
        if event == "call" and not once:
            once.append(1)
            sys.settrace(None)
            spinner("traced")()
    sys.settrace(trace)
    plain_call()
    sys.settrace(None)


def plain_call():
    pass


@way
def interpreters():
    """Stacks of an interpreter within another one: each reports its own frames."""
    try:
        import _xxsubinterpreters as module
    except ImportError:
        try:
            import _interpreters as module
        except ImportError:
            return
    # Use one interpreter after the other, so that each gets the addresses of the one before.
    for name in ("inside_a", "inside_b", "inside_c", "inside_d"):
        def run(name=name):
            one = module.create()
            frames, here = [], sys._getframe()
            note("here", here)
            # Set the line of run_string() below. The number depends on the lines of this function.
            frames = expected.pop("here")[:-1]
            frames[-1][3] = here.f_code.co_firstlineno + 12
            text = (f"import sys, time\nout = {{}}\nsource = {TEMPLATE.format(name)!r}\n"
                    f"seconds = {SECONDS}\nclock = time.{CLOCK.__name__}\nwall = time.monotonic\n"
                    "sleep = time.sleep\n" + INSIDE
                    + f"exec(compile(source, 'spin.py', 'exec'))\n{name}()\n")
            with open(sys.argv[1] + name, "w") as file: json.dump(frames, file)
            module.run_string(one, text.replace("FILE", sys.argv[1] + name))
            module.destroy(one)
            with open(sys.argv[1] + name) as file: expected[f"spin_{name}"] = json.load(file)
        if name in ("inside_a", "inside_c"):
            run()
        else:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()


INSIDE = '''
import json
getframe = sys._getframe
def note(name, frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename,
                      code.co_firstlineno, frame.f_lineno])
        frame = frame.f_back
    stack.reverse()
    stack[-1][3] += 1
    with open("FILE") as file: before = json.load(file)
    with open("FILE", "w") as file: json.dump(before + stack + [[name, "spin.py", 1, 0]], file)
'''


def main():
    if sys.argv[3].endswith("+"):
        sys.stdin.readline()
    for function in WAYS:
        if not sys.argv[4:] or function.__name__ in sys.argv[4:]:
            function()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(expected, file)


main()
