# SPDX-License-Identifier: MIT
#
# python_shapes.py [MS]: every way in which Python code runs, for MS of CPU time each, 40 by
# default. tests/e2e/test_python.py has the expected stacks.
import asyncio
import functools
import sys
import threading
import time


def busy():
    end = time.thread_time() + float(sys.argv[1] if sys.argv[1:] else 40) / 1000
    while time.thread_time() < end:
        pass


class Shapes:
    busy()

    def method(self):
        busy()

    @classmethod
    def of_class(cls):
        busy()

    @staticmethod
    def static():
        busy()

    @property
    def attribute(self):
        return busy()

    def __getitem__(self, key):
        return busy()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        busy()
        return True

    class Inner:
        def method(self):
            busy()


def generator():
    for _ in range(2):
        busy()
        yield 1


def delegating():
    yield from generator()


def thrown_into():
    try:
        yield 1
    except KeyError:
        busy()


async def coroutine():
    await asyncio.sleep(0)
    busy()


async def asynchronous_generator():
    yield busy()


async def asynchronous():
    await coroutine()
    async for _ in asynchronous_generator():
        pass
    return [busy() async for _ in asynchronous_generator()]


def decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@decorator
def decorated():
    busy()


def closure():
    def inner():
        busy()

    inner()


def handles():
    try:
        raise KeyError
    except KeyError:
        busy()


def comprehends():
    return [busy() for _ in "1"], {busy(): 1 for _ in "1"}, list(busy() for _ in "1")


def größe():
    busy()


def subscripts(shapes):
    for _ in range(20):  # until the interpreter has specialised the instruction
        shapes[1]


def main():
    shapes = Shapes()
    shapes.method()
    shapes.of_class()
    shapes.static()
    shapes.attribute
    subscripts(shapes)
    with shapes:
        raise KeyError
    Shapes.Inner().method()
    list(generator())
    list(delegating())
    started = thrown_into()
    next(started)
    try:
        started.throw(KeyError)
    except StopIteration:
        pass
    asyncio.run(asynchronous())
    decorated()
    closure()
    handles()
    comprehends()
    größe()
    sorted([1], key=lambda one: busy())
    exec("def executed():\n    busy()\nexecuted()", {"busy": busy})
    thread = threading.Thread(target=lambda: busy())
    thread.start()
    thread.join()


main()
