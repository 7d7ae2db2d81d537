# SPDX-License-Identifier: MIT
#
# What a test may come to, read from its code: the words in it, in its fixtures and in the helpers
# they call. Whatever is named counts as used: a test is rather thought to do more than it does.
import inspect
import pathlib
import types

HERE = pathlib.Path(__file__).resolve().parent


def is_ours(value):
    try:
        return HERE in pathlib.Path(inspect.getfile(value)).resolve().parents
    except TypeError:
        return False


def codes_of(code):
    """@code and what is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def strings_of(value):
    """Those in a constant, or in a global variable."""
    if isinstance(value, (str, pathlib.PurePath)):
        yield str(value)
    elif isinstance(value, dict):
        yield from strings_of((*value, *value.values()))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield from strings_of(part)


def globals_of(function, code):
    """What @code of @function names, also where it is one of our modules that has it."""
    named = [function.__globals__.get(name) for name in code.co_names]
    for module in [value for value in named if inspect.ismodule(value) and is_ours(value)]:
        named += [vars(module).get(name) for name in code.co_names]
    return named


def words_of(functions):
    """All names and strings that @functions can come to, but for what they say of themselves."""
    words, left, seen = set(), list(functions), set()
    while left:
        value = inspect.unwrap(left.pop())
        if value in seen:
            continue
        seen.add(value)
        if inspect.isclass(value):
            left += [part for part in vars(value).values() if inspect.isfunction(part)]
            continue
        for code in codes_of(value.__code__):
            words.update(code.co_names)
            words.update(strings_of(tuple(constant for constant in code.co_consts
                                          if constant != value.__doc__)))
            for other in globals_of(value, code):
                words.update(strings_of(other))
                if (inspect.isfunction(other) or inspect.isclass(other)) and is_ours(other):
                    left.append(other)
    return words


def words_of_test(item):
    """Those of a collected test and of the fixtures it asks for."""
    fixtures = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
    return words_of([item.function, *filter(is_ours, fixtures)])
