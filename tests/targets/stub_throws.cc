// SPDX-License-Identifier: MIT
//
// Exceptions through call stubs: main -> stub -> step -> stub -> step -> stub -> step -> throw, caught
// in main and, for odd numbers, rethrown half way by a frame that cleans up. Needs no C++ library but
// the one that throws, so that it can be linked with any. Argument: what to publish.
// Prints the frames _Unwind_Backtrace() saw in the innermost call, and "caught N clean M".
#include <cstdio>
#include <cstdlib>
#include <unwind.h>

#include "libprof/flameprof_stub.h"

typedef int step_function(int depth, int value);

static flameprof_arena *arena;
static step_function *chain[3];
static int cleaned;
static int frames, in_stubs;

namespace {
struct cleaner {
	~cleaner() { cleaned++; }
};
}

static _Unwind_Reason_Code count(_Unwind_Context *context, void *)
{
	flameprof_code_info info;

	frames++;
	if (!flameprof_lookup(_Unwind_GetIP(context) - 1, &info))
		in_stubs++;
	return _URC_NO_REASON;
}

static __attribute__((noinline)) int step(int depth, int value)
{
	cleaner here;

	if (depth == 3) {
		if (!frames)
			_Unwind_Backtrace(count, nullptr);
		throw value;
	}
	if (depth == 1) {
		try {
			return chain[depth](depth + 1, value) + 1;
		} catch (int) {
			if (value % 2)
				throw;
			throw value + 1;
		}
	}
	return chain[depth](depth + 1, value) + 1;
}

static __attribute__((noinline)) int attempt(int value)
{
	try {
		return chain[0](1, value);
	} catch (int thrown) {
		return thrown;
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"outermost", "middle", "innermost"};
	long sum = 0;

	if (argc < 2 ||
		flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, (flameprof_function *)step, nullptr))
		return 2;
	// One before, the others after: what exists is told, and what comes.
	for (int i = 0; i < 3; i++) {
		chain[i] = reinterpret_cast<step_function *>(
			flameprof_stub_new(arena, names[i], i));
		if (!i && flameprof_publish((unsigned)atoi(argv[1])))
			return 3;
	}
	for (int i = 0; i < 1000; i++)
		sum += attempt(i);
	printf("frames %d stubs %d\n", frames, in_stubs);
	printf("caught %ld clean %d\n", sum, cleaned);
	flameprof_arena_free(arena);
	return 0;
}
