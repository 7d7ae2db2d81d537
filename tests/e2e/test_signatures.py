# SPDX-License-Identifier: MIT
#
# FLAMEPROF_SIGNATURE() compiles without warnings in all supported versions of C and C++, and does
# not compile for a type other than the function's.
import subprocess

import pytest

import library
import profiled

STRICT = ("-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-fsyntax-only")

SOURCE = """
#include "flameprof_signature.h"

struct point { double x, y; };
double scale(int count, const char *name, struct point at, void (*call)(long));
void none(void);
struct flameprof_signature of_scale(void);
struct flameprof_signature of_none(void);
struct flameprof_signature of_scale(void)
{
	return FLAMEPROF_SIGNATURE(scale, %s);
}
struct flameprof_signature of_none(void)
{
	return FLAMEPROF_SIGNATURE(&none, void, void);
}
"""
TRUE = "double, int, const char *, struct point, void (*)(long)"
FALSE = {
    "result": "float, int, const char *, struct point, void (*)(long)",
    "argument": "double, long, const char *, struct point, void (*)(long)",
    "const": "double, int, char *, struct point, void (*)(long)",
    "fewer": "double, int, const char *, struct point",
    "more": f"{TRUE}, int",
}
COMPILERS = [(compiler, standard)
             for compiler, standards in (("gcc", ("c11", "gnu11", "c2x")), ("clang", ("c11", "c2x")),
                                         ("g++", ("c++11", "c++20")), ("clang++", ("c++11", "c++20")))
             for standard in standards]


def compiles(folder, types, compiler, standard):
    source = library.write(folder, "signature" + (".cc" if "++" in compiler else ".c"),
                           SOURCE % types)
    return subprocess.run([compiler, f"-std={standard}", *STRICT, f"-I{library.HEADERS}", source],
                          check=False, text=True, capture_output=True)


@pytest.mark.parametrize("compiler,standard", COMPILERS)
def test_only_the_functions_type_compiles(tmp_path, compiler, standard):
    result = compiles(tmp_path, TRUE, compiler, standard)
    assert result.returncode == 0, result.stderr
    for what, types in FALSE.items():
        result = compiles(tmp_path, types, compiler, standard)
        assert result.returncode == 1, what
        if "++" not in compiler:
            assert "the function has another type" in result.stderr


def test_seventeen_arguments_are_refused(tmp_path):
    source = """
#include "flameprof_signature.h"
void many(%s);
struct flameprof_signature of_many(void);
struct flameprof_signature of_many(void) { return FLAMEPROF_SIGNATURE(many, void, %s); }
"""
    for count, status in ((16, 0), (17, 1)):
        types = ", ".join(["int"] * count)
        path = library.write(tmp_path, "many.c", source % (types, types))
        result = subprocess.run(["gcc", "-std=c11", *STRICT, f"-I{library.HEADERS}", path],
                                check=False, text=True, capture_output=True)
        assert result.returncode == status, result.stderr
        assert ("more than 16 arguments" in result.stderr) == bool(status)


OBJECTS = """
#include <complex>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "flameprof_signature.h"

enum class colour : short { red, green };
struct base { int base::*none; };

/* Passed by value, by address and by reference; enough that the last ones are on the stack. */
static __attribute__((noinline)) std::string tell(std::string text, const std::string &more,
	std::pair<int, int> pair, std::unique_ptr<int> owned, colour seen, std::complex<double> turn,
	int &&moved, bool on, std::nullptr_t, int base::*member, long a, long b, double c,
	long double d, char e) noexcept
{
	return text + more + std::to_string(pair.first) + std::to_string(pair.second) +
	       std::to_string(*owned) + std::to_string(int(seen)) + std::to_string(turn.imag()) +
	       std::to_string(moved) + std::to_string(on) + std::to_string(member == nullptr) +
	       std::to_string(a) + std::to_string(b) + std::to_string(c) +
	       std::to_string(double(d)) + e;
}

template <typename function> static std::string call(function *told)
{
	return told("text", "more", {1, 2}, std::unique_ptr<int>(new int(3)), colour::green, {4, 5},
		6, true, nullptr, nullptr, 7, 8, 9, 10, '!');
}

int main()
{
	const flameprof_signature signature = FLAMEPROF_SIGNATURE(tell, std::string, std::string,
		const std::string &, std::pair<int, int>, std::unique_ptr<int>, colour,
		std::complex<double>, int &&, bool, std::nullptr_t, int base::*, long, long, double,
		long double, char);
	flameprof_arena *arena;
	auto target = reinterpret_cast<flameprof_function *>(tell);

	if (flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, target, &signature))
		return 1;
	flameprof_function *stub = flameprof_stub_new(arena, "tell", 0);
	flameprof_arena *bound;
	std::printf("is_stub %d\\nequal %d\\nrefused %d\\n", stub != target,
		call(tell) == call(reinterpret_cast<decltype(&tell)>(stub)),
		flameprof_arena_new(&bound, FLAMEPROF_STUB_BIND, target, &signature) != 0);
	return 0;
}
"""


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_objects_pass(tmp_path, standard):
    source = library.write(tmp_path, "objects.cc", OBJECTS)
    program = library.build(source, tmp_path, flags=(*profiled.PLAIN, f"-std={standard}"))
    said = library.said(library.run(program, cwd=tmp_path))
    assert said == {"is_stub": 1, "equal": 1, "refused": 1}
