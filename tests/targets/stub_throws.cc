// SPDX-License-Identifier: MIT
//
// Exceptions through call stubs: main -> stub -> step -> stub -> step -> stub -> step -> throw,
// caught in main. A frame half-way cleans up; it rethrows odd numbers and throws even ones plus 1.
// Needs no C++ library other than the unwinder's, so that it can be linked with any. Argument: what
// to publish, plus 256 for intercept stubs with a tick pending each time; a stub that an exception
// passes makes no check.
// Prints the frames that _Unwind_Backtrace() finds in the innermost call, "caught N clean M", and
// how often the check ran.
#include <cstdio>
#include <cstdlib>
#include <unwind.h>

#include "libprof/flameprof_vm.h"

typedef int step_function(int depth, int value);

static flameprof_arena *arena;
static step_function *chain[3];
static int cleaned;
static int frames, in_stubs;
static unsigned checks, ticks;

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

static void on_interrupt(void *, uint32_t count)
{
	checks++;
	ticks += count;
}

static __attribute__((noinline)) int step(int depth, int value)
{
	cleaner here;

	if (depth == 3) {
		if (!frames)
			_Unwind_Backtrace(count, nullptr);
		flameprof_interrupt_ticks = flameprof_interrupt_ticks + 1;
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
	// Make one stub before publishing is turned on and the others afterwards, because both
	// kinds must be published.
	int mode = atoi(argv[1]);
	if (flameprof_interrupt_enable(10000000000, on_interrupt, nullptr))
		return 4;
	for (int i = 0; i < 3; i++) {
		auto target = reinterpret_cast<flameprof_function *>(step);
		chain[i] = reinterpret_cast<step_function *>(
			mode & 256 ? flameprof_intercept(target, names[i], nullptr)
				   : flameprof_stub_new(arena, names[i], i));
		if (!i && flameprof_publish((unsigned)mode & 255))
			return 3;
	}
	for (int i = 0; i < 1000; i++)
		sum += attempt(i);
	printf("frames %d stubs %d\n", frames, in_stubs);
	printf("caught %ld clean %d\n", sum, cleaned);
	printf("checks %u", checks);
	// The first check after the exceptions gets all ticks.
	flameprof_interrupt_check();
	printf(" then %u\n", ticks);
	flameprof_arena_free(arena);
	return 0;
}
