/* SPDX-License-Identifier: MIT */
/*
 * Measure the cost of stubs: calls compared with direct calls, calls by pointer and libffi's
 * closures; intercept stubs with and without a pending tick; making a stub; finding one of 100,000;
 * the first exception after 20,000 stubs were made. The sides of each comparison take turns. The
 * lowest CPU time of each side is printed, because other load only adds time. Asserts nothing.
 *
 * Build this with frame pointers. Otherwise compilers keep the loops' counters in the register that
 * stubs save and restore, and the loops wait for memory, as with every callee that has a frame.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#if __has_include(<ffi.h>)
#include <ffi.h>
#define FFI 1
#endif

#include "libprof/flameprof_vm.h"

#define TURNS 31
#define SIDES 9

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double lowest(const double *values, unsigned count)
{
	double low = values[0];

	for (unsigned i = 1; i < count; i++)
		low = values[i] < low ? values[i] : low;
	return low;
}

/* ---- calls ----------------------------------------------------------------------------------- */

#define CALLS 300000u

typedef uint64_t function(uint64_t, uint64_t, uint64_t);
typedef uint64_t bound_function(uint64_t, uint64_t);
typedef uint64_t long_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
	uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

__attribute__((noinline)) uint64_t callee(uint64_t a, uint64_t b, uint64_t c);
__attribute__((noinline)) uint64_t callee(uint64_t a, uint64_t b, uint64_t c)
{
	__asm__ volatile("" : "+r"(a));
	return a + b + c;
}

static __attribute__((noinline)) uint64_t long_callee(uint64_t a, uint64_t b, uint64_t c,
	uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j,
	uint64_t k, uint64_t l, uint64_t m, uint64_t n)
{
	__asm__ volatile("" : "+r"(a));
	return a + b + c + d + e + f + g + h + i + j + k + l + m + n;
}

#define LONG(x) x, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14

/* Pass each result as the next argument, so that calls do not overlap. */
#define TIME_CALLS(call)                                                                           \
	({                                                                                         \
		uint64_t value_ = 1;                                                               \
		double start_ns_ = now_ns();                                                       \
		for (unsigned i_ = 0; i_ < CALLS; i_++)                                            \
			value_ = call;                                                             \
		__asm__ volatile("" : : "r"(value_));                                              \
		(now_ns() - start_ns_) / CALLS;                                                    \
	})

static double subtract(double a, double b)
{
	return a - b;
}

static double divide(double a, double b)
{
	return a / b;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Print how two sides, measured turn by turn, compare: the median and the middle 80 %. */
static void print_spread(const char *title, const double *a, const double *b,
	double (*relate)(double, double))
{
	double each[TURNS];

	for (unsigned turn = 0; turn < TURNS; turn++)
		each[turn] = relate(a[turn], b[turn]);
	qsort(each, TURNS, sizeof(each[0]), compare);
	printf("%-34s %8.2f  (%.2f to %.2f)\n", title, each[TURNS / 2], each[TURNS / 10],
		each[TURNS - 1 - TURNS / 10]);
}

static flameprof_function *new_stub(enum flameprof_stub_kind kind, flameprof_function *target,
	struct flameprof_signature signature)
{
	struct flameprof_arena *arena;

	if (flameprof_arena_new(&arena, kind, target, &signature) ||
		flameprof_arena_status(arena) != FLAMEPROF_STUBS_WORK)
		exit(1);
	return flameprof_stub_new(arena, "benchmark", 3);
}

#ifdef FFI
static void on_closure(ffi_cif *cif, void *result, void **arguments, void *user)
{
	(void)cif;
	*(uint64_t *)result = callee((uint64_t)(uintptr_t)user, *(uint64_t *)arguments[0],
		*(uint64_t *)arguments[1]);
}

/* Load libffi at run time, so that the bench can be built without libffi. */
static void *new_closure(void)
{
	void *ffi = dlopen("libffi.so.8", RTLD_NOW);
	static ffi_cif cif;
	static ffi_type *types[2];
	void *code = NULL;

	if (!ffi)
		return NULL;

	void *(*allocate)(size_t, void **) =
		(void *(*)(size_t, void **))dlsym(ffi, "ffi_closure_alloc");
	__typeof__(ffi_prep_cif) *prepare =
		(__typeof__(ffi_prep_cif) *)dlsym(ffi, "ffi_prep_cif");
	__typeof__(ffi_prep_closure_loc) *set =
		(__typeof__(ffi_prep_closure_loc) *)dlsym(ffi, "ffi_prep_closure_loc");

	types[0] = types[1] = dlsym(ffi, "ffi_type_uint64");

	ffi_closure *closure = allocate(sizeof(*closure), &code);

	if (!closure || prepare(&cif, FFI_DEFAULT_ABI, 2, types[0], types) ||
		set(closure, &cif, on_closure, (void *)3, code))
		return NULL;
	return code;
}
#else
static void *new_closure(void)
{
	return NULL;
}
#endif

/*
 * An interrupt function that does nothing, so that only the cost of delivering a tick is measured.
 */
static void on_interrupt(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
}

static void bench_calls(void)
{
	static const char *const names[SIDES] = {"direct call", "call by pointer", "call stub",
		"bind stub", "intercept stub, no tick", "intercept stub, a tick each time",
		"libffi closure", "direct call, 14 arguments", "call stub, 14 arguments (8 words)"};
	struct flameprof_signature words = {.stack_words = 8};
	function *volatile pointer = callee;
	function *stub = (function *)new_stub(FLAMEPROF_STUB_CALL, (flameprof_function *)callee,
		(struct flameprof_signature){0});
	bound_function *bound = (bound_function *)new_stub(FLAMEPROF_STUB_BIND,
		(flameprof_function *)callee, (struct flameprof_signature){.integer_arguments = 3});
	bound_function *closure = (bound_function *)new_closure();
	long_function *with_words = (long_function *)new_stub(
		FLAMEPROF_STUB_CALL, (flameprof_function *)long_callee, words);
	function *intercept = (function *)flameprof_intercept(
		(flameprof_function *)callee, "benchmark", NULL);
	static double took[SIDES][TURNS];
	double direct = 0;

	flameprof_interrupt_enable(10000000000, on_interrupt, NULL);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		function *by_pointer = pointer;

		took[0][turn] = TIME_CALLS(callee(value_, 2, 3));
		took[1][turn] = TIME_CALLS(by_pointer(value_, 2, 3));
		took[2][turn] = TIME_CALLS(stub(value_, 2, 3));
		took[3][turn] = TIME_CALLS(bound(value_, 2));
		took[4][turn] = TIME_CALLS(intercept(value_, 2, 3));
		took[5][turn] =
			TIME_CALLS((flameprof_interrupt_ticks = 1, intercept(value_, 2, 3)));
		took[6][turn] = closure ? TIME_CALLS(closure(value_, 2)) : 0;
		took[7][turn] = TIME_CALLS(long_callee(LONG(value_)));
		took[8][turn] = TIME_CALLS(with_words(LONG(value_)));
	}
	for (unsigned side = 0; side < SIDES; side++) {
		double ns = lowest(took[side], TURNS);

		if (side == 0 || side == 7)
			direct = ns;
		if (ns > 0)
			printf("%-34s %8.2f ns  %+7.2f ns over direct\n", names[side], ns,
				ns - direct);
	}
	print_spread("  intercept over direct, in ns", took[4], took[0], subtract);
	print_spread("  intercept beside a call stub", took[4], took[2], divide);
}

/* ---- making ---------------------------------------------------------------------------------- */

#define MADE 20000u

static void bench_making(const char *title)
{
	static flameprof_function *stubs[MADE];
	static double made[TURNS], freed[TURNS], again[TURNS];

	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct flameprof_arena *arena;
		double start_ns = now_ns(), made_ns, freed_ns;

		if (flameprof_arena_new(
			    &arena, FLAMEPROF_STUB_CALL, (flameprof_function *)callee, NULL))
			exit(1);
		for (unsigned i = 0; i < MADE; i++)
			stubs[i] = flameprof_stub_new(arena, "a name as methods have it", i);
		made_ns = now_ns();
		for (unsigned i = 0; i < MADE; i++)
			flameprof_stub_free(arena, stubs[i]);
		freed_ns = now_ns();
		for (unsigned i = 0; i < MADE; i++)
			stubs[i] = flameprof_stub_new(arena, "a name as methods have it", i);
		again[turn] = (now_ns() - freed_ns) / MADE;
		made[turn] = (made_ns - start_ns) / MADE;
		freed[turn] = (freed_ns - made_ns) / MADE;
		flameprof_arena_free(arena);
	}
	printf("%-34s %8.0f ns new, %4.0f ns in a freed one's place, %4.0f ns to free\n", title,
		lowest(made, TURNS), lowest(again, TURNS), lowest(freed, TURNS));
}

/* ---- finding --------------------------------------------------------------------------------- */

#define PIECES	100000u
#define LOOKUPS 200000u

static void time_lookups(const char *title, const uintptr_t *places, unsigned count)
{
	struct flameprof_code_info info;
	double took[TURNS];
	uint64_t seed = 1, found = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		double start_ns = now_ns();

		for (unsigned i = 0; i < LOOKUPS; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			found += !flameprof_lookup(places[(seed >> 33) % count] + 7, &info);
		}
		took[turn] = (now_ns() - start_ns) / LOOKUPS;
	}
	if (found != (uint64_t)TURNS * LOOKUPS)
		exit(1);
	printf("%-34s %8.0f ns\n", title, lowest(took, TURNS));
}

static void bench_finding(void)
{
	static uintptr_t places[PIECES];
	struct flameprof_arena *arena;
	uint8_t *code = mmap(NULL, PIECES * 256ULL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double start_ns, added_ns;

	if (flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, (flameprof_function *)callee, NULL))
		exit(1);
	for (unsigned i = 0; i < PIECES; i++)
		places[i] = (uintptr_t)flameprof_stub_new(arena, "stub", i);
	time_lookups("look-up among 100,000 stubs", places, PIECES);
	start_ns = now_ns();
	for (unsigned i = 0; i < PIECES; i++) {
		/*
		 * Add the pieces of code in an order that differs from the order of their
		 * addresses.
		 */
		places[i] = (uintptr_t)code + (i * 7919ULL % PIECES) * 256;
		if (flameprof_code_add((void *)places[i], 200, "jitted", NULL))
			exit(1);
	}
	added_ns = now_ns();
	printf("%-34s %8.0f ns each\n", "announcing 100,000 pieces of code",
		(added_ns - start_ns) / PIECES);
	time_lookups("look-up among 100,000 more pieces", places, PIECES);
	time_lookups("  of 1,000 that are hot", places, 1000);
	start_ns = now_ns();
	for (unsigned i = 0; i < PIECES; i++)
		flameprof_code_remove((void *)places[i]);
	printf("%-34s %8.0f ns each\n", "taking them back", (now_ns() - start_ns) / PIECES);
	flameprof_arena_free(arena);
}

/* ---- unwinding of exceptions ----------------------------------------------------------------- */

#define STUBS 20000u

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *argument)
{
	(void)context;
	++*(unsigned *)argument;
	return _URC_NO_REASON;
}

static double first_ns;
static unsigned first_frames;

/* Walk with libgcc's unwinder, even if another unwinder is linked. */
static void backtrace_once(void)
{
	void *gcc = dlopen("libgcc_s.so.1", RTLD_NOW);
	__typeof__(_Unwind_Backtrace) *walk =
		gcc ? (__typeof__(_Unwind_Backtrace) *)dlsym(gcc, "_Unwind_Backtrace") : NULL;
	double start_ns;

	if (!walk)
		exit(1);
	start_ns = now_ns();
	walk(count_frame, &first_frames);
	first_ns = now_ns() - start_ns;
}

/* Measure in a new process, in which the unwinder has not sorted a table yet. */
static double first_backtrace_ns(unsigned stubs)
{
	static char flush[16 << 20];
	int ends[2];
	double answer = 0;
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0)
		exit(1);
	if (!child) {
		struct flameprof_arena *arena;
		flameprof_function *stub = (flameprof_function *)backtrace_once;

		if (flameprof_publish(FLAMEPROF_PUBLISH_UNWINDERS))
			_exit(1);
		if (stubs && flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, stub, NULL))
			_exit(1);
		for (unsigned i = 0; i < stubs; i++)
			stub = flameprof_stub_new(arena, "stub", i);
		/*
		 * Making many stubs evicts the CPU's caches, so evict them also if there is one
		 * stub.
		 */
		memset(flush, stubs != 0, sizeof(flush));
		stub();
		if (write(ends[1], &first_ns, sizeof(first_ns)) != sizeof(first_ns))
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		exit(1);
	close(ends[0]);
	waitpid(child, NULL, 0);
	return answer;
}

static void bench_first_backtrace(void)
{
	double none[TURNS], one[TURNS], many[TURNS], none_ns, one_ns, many_ns;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		none[turn] = first_backtrace_ns(0);
		one[turn] = first_backtrace_ns(1);
		many[turn] = first_backtrace_ns(STUBS);
	}
	none_ns = lowest(none, TURNS);
	one_ns = lowest(one, TURNS);
	many_ns = lowest(many, TURNS);
	printf("%-34s %8.1f us\n", "first _Unwind_Backtrace, no stubs", none_ns / 1e3);
	printf("%-34s %8.1f us  %.2f times as long\n", "  with one, through it", one_ns / 1e3,
		one_ns / none_ns);
	printf("%-34s %8.1f us  %.2f times as long\n", "  with 20,000 stubs, through one",
		many_ns / 1e3, many_ns / none_ns);
}

int main(void)
{
	pid_t child;

	bench_calls();
	bench_making("making stubs");
	fflush(stdout);
	child = fork();
	if (!child) {
		char path[64];

		if (flameprof_publish(FLAMEPROF_PUBLISH_PERF_MAP))
			_exit(1);
		bench_making("making stubs, with perf's map");
		fflush(stdout);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		unlink(path);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	bench_finding();
	fflush(stdout);
	bench_first_backtrace();
	return 0;
}
