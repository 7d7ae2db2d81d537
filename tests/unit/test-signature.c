/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test signatures of random function types. Each function is called through a stub that is made
 * with FLAMEPROF_SIGNATURE() of its type, and must get the same arguments as in a direct call.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/flameprof_signature.h"
#include "libprof/flameprof_vm.h"

/*
 * One letter for each type. The structures have no padding, because padding bytes would be
 * undefined.
 */
typedef char c;
typedef short s;
typedef int i;
typedef long l;
typedef const void *p;
typedef enum { NOTHING, MUCH = 1 << 30 } e;
typedef float f;
typedef double d;
typedef long double L;
typedef float _Complex F;
typedef double _Complex D;
typedef long double _Complex C;
typedef __int128 q;
typedef struct { long a, b; } P;
typedef struct { double a, b; } V;
typedef struct { double a; long b; } O;
typedef struct { float a[4]; } H;
typedef struct { char a[3]; } S;
typedef struct { long a[3]; } B;
typedef struct { char a[72]; } W;
typedef struct { long a, b; } __attribute__((aligned(16))) A;
typedef struct { char a; long b; } __attribute__((packed)) X;
typedef union { long a; double b; } U;
typedef void v;

/* The arguments that a function received, one after the other, then its result. */
static struct {
	unsigned char bytes[2048];
	size_t count;
} noted;

static void note_bytes(const void *bytes, size_t count)
{
	assert_true(noted.count + count <= sizeof(noted.bytes));
	memcpy(noted.bytes + noted.count, bytes, count);
	noted.count += count;
}

/* Record an 80-bit long double without its six bytes of padding. */
static void note_long_double(const void *value, size_t count)
{
	for (size_t at = 0; at < count; at += sizeof(long double))
		note_bytes((const char *)value + at, __LDBL_MANT_DIG__ == 64 ? 10 : 16);
}

#define NOTE(value)                                                                                \
	_Generic((value), L: note_long_double, C: note_long_double, default: note_bytes)(          \
		&(value), sizeof(value))

#define ROOM 80

/* Return bytes that differ for each argument and that are an ordinary number in every type. */
static const void *value_of(unsigned number)
{
	static unsigned char rooms[14][ROOM] __attribute__((aligned(16)));
	unsigned char *room = rooms[number];

	for (unsigned at = 0; at < ROOM; at++)
		room[at] = (unsigned char)(0x90 + (number * 37 + at * 11) % 64);
	return room;
}

#define VALUE(type, number) (*(const type *)value_of(number))

static void check(void (*call)(flameprof_function *), flameprof_function *plain,
	void (*call_stub)(flameprof_function *), enum flameprof_stub_kind kind,
	struct flameprof_signature signature)
{
	struct flameprof_arena *arena;
	unsigned char expected[sizeof(noted.bytes)];
	size_t count;

	noted.count = 0;
	call(plain);
	count = noted.count;
	memcpy(expected, noted.bytes, count);
	noted.count = 0;
	assert_int_equal(flameprof_arena_new(&arena, kind, plain, &signature), 0);
	call_stub(flameprof_stub_new(arena, "stub", (uintptr_t)VALUE(l, 1)));
	assert_int_equal(noted.count, count);
	assert_memory_equal(noted.bytes, expected, count);
	flameprof_arena_free(arena);
}

/* Functions of twelve arguments. For bind stubs the first argument is the payload. */
#define FUNCTION(number, R, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12)                     \
	static __attribute__((noinline)) R function_##number(T1 a1, T2 a2, T3 a3, T4 a4, T5 a5,    \
		T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11, T12 a12)                             \
	{                                                                                          \
		NOTE(a1), NOTE(a2), NOTE(a3), NOTE(a4), NOTE(a5), NOTE(a6), NOTE(a7), NOTE(a8);    \
		NOTE(a9), NOTE(a10), NOTE(a11), NOTE(a12);                                         \
		return VALUE(R, 13);                                                               \
	}                                                                                          \
	static void call_##number(flameprof_function *function)                                    \
	{                                                                                          \
		R result = ((__typeof__(&function_##number))function)(VALUE(T1, 1), VALUE(T2, 2),  \
			VALUE(T3, 3), VALUE(T4, 4), VALUE(T5, 5), VALUE(T6, 6), VALUE(T7, 7),      \
			VALUE(T8, 8), VALUE(T9, 9), VALUE(T10, 10), VALUE(T11, 11),                \
			VALUE(T12, 12));                                                           \
		NOTE(result);                                                                      \
	}

#define CASE(number, R, ...)                                                                       \
	FUNCTION(number, R, __VA_ARGS__)                                                           \
	static void check_##number(void)                                                           \
	{                                                                                          \
		check(call_##number, (flameprof_function *)function_##number, call_##number,       \
			FLAMEPROF_STUB_CALL,                                                       \
			FLAMEPROF_SIGNATURE(function_##number, R, __VA_ARGS__));                   \
	}

/* Make a bind stub if the signature allows one; otherwise check that it is refused. */
#define BOUND(number, R, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12)                        \
	CASE(number, R, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12)                         \
	static void call_bound_##number(flameprof_function *function)                              \
	{                                                                                          \
		R result = ((R(*)(T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12))function)(        \
			VALUE(T2, 2), VALUE(T3, 3), VALUE(T4, 4), VALUE(T5, 5), VALUE(T6, 6),      \
			VALUE(T7, 7), VALUE(T8, 8), VALUE(T9, 9), VALUE(T10, 10), VALUE(T11, 11),  \
			VALUE(T12, 12));                                                           \
		NOTE(result);                                                                      \
	}                                                                                          \
	static void bind_##number(void)                                                            \
	{                                                                                          \
		check_bound(call_##number, (flameprof_function *)function_##number,                \
			call_bound_##number,                                                       \
			FLAMEPROF_SIGNATURE(function_##number, R, T1, T2, T3, T4, T5, T6, T7, T8,  \
				T9, T10, T11, T12));                                               \
	}

static unsigned bound, refused;

static void check_bound(void (*call)(flameprof_function *), flameprof_function *plain,
	void (*call_stub)(flameprof_function *), struct flameprof_signature signature)
{
	struct flameprof_arena *arena;

	if (signature.integer_arguments != FLAMEPROF_SIGNATURE_UNKNOWN) {
		check(call, plain, call_stub, FLAMEPROF_STUB_BIND, signature);
		bound++;
		return;
	}
	assert_int_equal(
		flameprof_arena_new(&arena, FLAMEPROF_STUB_BIND, plain, &signature), -EINVAL);
	refused++;
}

/* Random types. The first cases have no aggregates, the others have some. */
#define CASES(CASE) \
	CASE(0, q, f, f, F, l, f, C, l, i, c, F, l, f) \
	CASE(1, c, f, i, p, p, q, e, i, e, s, d, c, d) \
	CASE(2, l, F, q, f, c, e, q, q, l, q, D, q, q) \
	CASE(3, B, l, i, l, p, p, p, i, p, s, D, i, l) \
	CASE(4, L, q, l, q, f, q, F, q, q, q, q, q, q) \
	CASE(5, f, D, D, d, d, c, L, C, p, l, l, D, e) \
	CASE(6, C, D, L, L, C, L, C, C, s, L, D, i, L) \
	CASE(7, f, p, i, i, l, q, i, f, i, e, c, i, p) \
	CASE(8, i, f, D, c, f, D, l, i, f, f, C, c, c) \
	CASE(9, f, D, c, i, F, c, p, q, i, i, p, C, c) \
	CASE(10, q, F, s, f, f, d, d, d, q, F, f, d, q) \
	CASE(11, c, i, F, q, D, C, L, c, L, C, l, d, c) \
	CASE(12, s, D, s, F, l, p, D, f, e, i, l, q, f) \
	CASE(13, d, p, q, f, d, F, d, f, i, c, d, f, d) \
	CASE(14, C, d, c, f, f, l, D, l, F, s, l, c, c) \
	CASE(15, f, f, L, F, f, d, f, p, d, c, l, F, f) \
	CASE(16, q, L, F, i, i, i, L, q, L, C, l, q, L) \
	CASE(17, f, F, d, F, i, e, F, f, f, f, d, f, s) \
	CASE(18, B, q, q, f, q, q, f, q, q, s, C, s, F) \
	CASE(19, W, q, L, C, C, C, L, p, C, L, C, L, p) \
	CASE(20, F, C, s, U, L, L, C, B, C, C, i, C, U) \
	CASE(21, F, q, f, f, F, f, F, c, f, d, C, f, F) \
	CASE(22, S, p, V, p, q, A, q, q, C, q, F, q, q) \
	CASE(23, e, V, q, q, d, q, q, q, q, q, l, c, q) \
	CASE(24, S, V, W, V, L, P, U, c, f, c, e, H, s) \
	CASE(25, F, p, O, i, s, i, C, l, l, l, c, D, p) \
	CASE(26, C, q, q, q, L, s, q, X, q, q, q, q, L) \
	CASE(27, s, C, L, D, p, e, s, C, L, C, C, q, l) \
	CASE(28, C, B, V, q, e, q, q, q, q, q, D, q, q) \
	CASE(29, O, C, L, i, q, i, F, f, d, e, C, d, d) \
	CASE(30, W, H, X, S, s, c, C, P, W, i, U, V, W) \
	CASE(31, f, q, S, e, q, c, q, d, q, W, q, l, q) \
	CASE(32, e, f, F, d, f, F, L, f, F, d, f, f, F) \
	CASE(33, X, L, U, U, L, i, C, L, L, C, D, L, C) \
	CASE(34, i, i, p, c, p, p, i, A, W, D, i, p, H) \
	CASE(35, f, q, q, q, q, L, q, c, q, D, q, s, q) \
	CASE(36, S, d, F, F, f, F, W, f, d, d, F, F, d) \
	CASE(37, e, d, f, F, d, f, d, F, p, D, e, F, F) \
	CASE(38, e, F, L, C, C, p, V, C, L, e, d, A, C) \
	CASE(39, U, C, C, l, C, L, L, C, C, L, S, f, L)

#define BOUNDS(BOUND) \
	BOUND(40, q, l, d, D, c, i, W, i, L, i, i, B, d) \
	BOUND(41, e, l, i, i, p, d, d, d, d, d, i, i, i) \
	BOUND(42, L, l, F, f, D, d, d, d, d, f, f, F, p) \
	BOUND(43, s, l, q, F, i, i, i, e, P, i, i, d, d) \
	BOUND(44, l, l, f, F, d, f, F, f, F, d, F, e, F) \
	BOUND(45, B, l, p, p, i, p, p, l, e, l, p, e, i) \
	BOUND(46, C, l, l, p, p, l, i, c, p, c, p, c, F) \
	BOUND(47, e, l, P, d, d, F, P, d, f, f, f, e, F) \
	BOUND(48, F, l, F, F, f, F, f, F, F, f, d, F, f) \
	BOUND(49, W, l, d, i, l, L, d, p, i, i, f, F, d) \
	BOUND(50, D, l, c, F, F, f, f, d, f, F, d, F, d) \
	BOUND(51, L, l, q, d, F, d, d, F, d, d, F, f, F) \
	BOUND(52, q, l, c, p, F, i, p, l, i, i, P, i, B) \
	BOUND(53, s, l, d, d, F, f, F, W, f, e, d, f, f) \
	BOUND(54, L, l, i, e, i, i, c, l, p, W, i, L, l) \
	BOUND(55, D, l, D, i, f, f, d, F, f, f, d, f, d) \
	BOUND(56, P, l, c, l, l, p, p, i, i, l, l, l, p) \
	BOUND(57, q, l, l, l, p, i, p, W, p, l, c, p, p) \
	BOUND(58, p, l, d, s, d, D, d, d, L, d, i, d, d) \
	BOUND(59, C, l, p, c, q, i, i, c, p, l, c, c, l) \
	BOUND(60, p, l, i, d, i, i, d, d, i, i, d, d, i) \
	BOUND(61, L, l, f, d, l, F, d, d, W, F, F, F, d) \
	BOUND(62, f, l, d, d, i, L, i, i, i, i, W, d, d) \
	BOUND(63, e, l, F, d, f, d, d, f, f, d, f, L, F)

CASES(CASE)
BOUNDS(BOUND)

#define CHECK(number, ...) check_##number();
#define BIND(number, ...) bind_##number();

static void test_every_kind_of_argument(void **state)
{
	(void)state;
	CASES(CHECK)
	BOUNDS(CHECK)
}

static void test_payloads_before_them(void **state)
{
	(void)state;
	BOUNDS(BIND)
	/* Both cases occur. */
	assert_true(bound >= 5 && refused >= 5);
}

#if defined(__x86_64__)
#define WORDS(x86_64, aarch64) x86_64
#else
#define WORDS(x86_64, aarch64) aarch64
#endif

/* Declared only. */
B six(l, l, l, l, l, l);
l six_reals(d, d, d, d, d, d, l, l, l, f, F, f, D);
void wide(l, l, l, l, l, q);
void wider(l, l, l, l, l, l, l, l, l, q);
L longer(i, L, l, C);
void larger(W, l, l, l, l, l, l, l, l);
void pairs(P, V);
e (*none(void))(i, ...);
void qualified(const volatile l);

#define EXPECT(words, integers, memory, ...)                                                       \
	do {                                                                                       \
		struct flameprof_signature signature = FLAMEPROF_SIGNATURE(__VA_ARGS__);           \
                                                                                                   \
		assert_int_equal(signature.stack_words, words);                                    \
		assert_int_equal(signature.integer_arguments, integers);                           \
		assert_int_equal(signature.memory_result, memory);                                 \
	} while (0)

/* The expected numbers were counted by hand from the calling conventions. */
static void test_words_are_counted(void **state)
{
	(void)state;
	EXPECT(0, 0, 0, none, e (*)(i, ...), void);
	EXPECT(WORDS(1, 0), 6, 1, six, B, l, l, l, l, l, l);
	EXPECT(WORDS(3, 4), 3, 0, six_reals, l, d, d, d, d, d, d, l, l, l, f, F, f, D);
	EXPECT(WORDS(2, 0), FLAMEPROF_SIGNATURE_UNKNOWN, 0, wide, void, l, l, l, l, l, q);
	EXPECT(WORDS(6, 4), FLAMEPROF_SIGNATURE_UNKNOWN, 0, wider, void, l, l, l, l, l, l, l, l, l,
		q);
	EXPECT(WORDS(6, 0), 2, 0, longer, L, i, L, l, C);
	EXPECT(WORDS(11, 1), WORDS(FLAMEPROF_SIGNATURE_UNKNOWN, 9), 0, larger, void, W, l, l, l, l,
		l, l, l, l);
	/* The result is an upper bound, because both aggregates may be on the stack. */
	EXPECT(4, FLAMEPROF_SIGNATURE_UNKNOWN, 0, pairs, void, P, V);
	EXPECT(0, 1, 0, qualified, void, l);
}

static void test_what_no_stub_can_do(void **state)
{
	const uint64_t large = FLAMEPROF_TYPE_WORD(FLAMEPROF_TYPE_AGGREGATE, 8, 64);
	const uint64_t aligned = FLAMEPROF_TYPE_WORD(FLAMEPROF_TYPE_AGGREGATE, 32, 32);
	const uint64_t unknown = FLAMEPROF_TYPE_WORD(8, 8, 8);
	const uint64_t bad[][9] = {{aligned}, {unknown},
		{large, large, large, large, large, large, large, large, large}};
	struct flameprof_signature signature;
	struct flameprof_arena *arena;

	(void)state;
	for (size_t at = 0; at < sizeof(bad) / sizeof(bad[0]); at++) {
		signature = flameprof_signature_of(0, bad[at], 9);
		assert_int_equal(flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL,
					 (flameprof_function *)check_0, &signature),
			-EINVAL);
		assert_ptr_equal(
			flameprof_intercept((flameprof_function *)check_0, "", &signature),
			(flameprof_function *)check_0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_argument),
		cmocka_unit_test(test_payloads_before_them),
		cmocka_unit_test(test_words_are_counted),
		cmocka_unit_test(test_what_no_stub_can_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
