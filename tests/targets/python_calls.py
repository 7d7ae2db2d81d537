# SPDX-License-Identifier: MIT
#
# A program that does almost nothing but start and end functions, so that many samples fall in
# between. A function's name says which function calls it: run_map_inner is called by run_map, which
# is called by run. A function whose name ends with R also calls itself. Each of three threads uses
# the CPU for SECONDS; with "+" they begin when a line arrives on stdin.
#
#     python_calls.py SECONDS[+]
import functools
import sys
import threading
import time

SECONDS = float(sys.argv[1].rstrip("+"))


def run_call():
    return run_call_inner()


def run_call_inner():
    pass


def run_deepR(depth):
    if depth:
        return run_deepR(depth - 1)
    raise KeyError


def run_key(x):
    return -x


def run_map(x):
    return run_map_inner(x)


def run_map_inner(x):
    return x


def run_reduce(a, b):
    return a + b


def run_numbers():
    for i in range(5):
        run_numbers_inner()
        yield i


def run_numbers_inner():
    pass


def run_delegates():
    yield from run_delegates_to()


def run_delegates_to():
    for i in range(5):
        run_delegates_to_inner()
        yield i


def run_delegates_to_inner():
    pass


def run_thrown():
    yield from run_thrown_to()


def run_thrown_to():
    try:
        yield 1
    except ValueError:
        for _ in range(10):
            run_thrown_to_inner()
        yield 2


def run_thrown_to_inner():
    pass


def run_fails():
    try:
        run_fails_inner()
    except ValueError:
        run_fails_caught()


def run_fails_inner():
    raise ValueError


def run_fails_caught():
    pass


def run_makes():
    def run_makes_closure():
        run_makes_closure_inner()
    run_makes_closure()


def run_makes_closure_inner():
    pass


def run():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        for _ in range(20):
            run_call()
        try:
            run_deepR(30)
        except KeyError:
            pass
        sorted(range(8), key=run_key)
        list(map(run_map, range(8)))
        functools.reduce(run_reduce, range(8))
        for _ in run_numbers():
            pass
        sum(run_delegates())
        run_fails()
        run_makes()
        # Before 3.10, Python's own traceback lacks the functions that throw(), or their generator.
        if sys.version_info >= (3, 10):
            generator = run_thrown()
            next(generator)
            generator.throw(ValueError)
            list(generator)


def main():
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    run()
    for thread in threads:
        thread.join()


if sys.argv[1].endswith("+"):
    sys.stdin.readline()
main()
