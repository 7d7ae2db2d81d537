/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized, emulated. */
/*
 * Use stubs as their callers do: arguments and results of every class pass through call stubs and
 * bind stubs, payload and name can be looked up, and the memory of freed stubs is reused.
 */
#include <complex.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/flameprof_stub.h"

#define AS(type, function) ((type)(void (*)(void))(function))

static struct flameprof_arena *arena;
static flameprof_function *stub;

/* Make a stub for @target in a new arena. */
static flameprof_function *make(enum flameprof_stub_kind kind, flameprof_function *target,
	struct flameprof_signature signature)
{
	assert_int_equal(flameprof_arena_new(&arena, kind, target, &signature), 0);
	assert_int_equal(flameprof_arena_status(arena), FLAMEPROF_STUBS_WORK);
	stub = flameprof_stub_new(arena, "a stub", 0x1122334455667788);
	assert_non_null(stub);
	assert_ptr_not_equal(stub, target);
	return stub;
}

static int teardown(void **state)
{
	(void)state;
	flameprof_arena_free(arena);
	arena = NULL;
	return 0;
}

#define CALL(function, ...)                                                                        \
	AS(__typeof__(&function), make(FLAMEPROF_STUB_CALL, (flameprof_function *)(function),      \
					  (struct flameprof_signature){__VA_ARGS__}))

static uint64_t six(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	return a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f;
}

static void test_integers(void **state)
{
	(void)state;
	assert_int_equal(CALL(six)(1, 2, 3, 4, 5, 6), six(1, 2, 3, 4, 5, 6));
}

static double eight_doubles(
	double a, double b, double c, double d, double e, double f, double g, double h)
{
	return a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f + 17 * g + 19 * h;
}

static void test_doubles(void **state)
{
	(void)state;
	assert_true(CALL(eight_doubles)(1, 2, 3, 4, 5, 6, 7, 8) ==
		    eight_doubles(1, 2, 3, 4, 5, 6, 7, 8));
}

static float mixed(int8_t a, float b, uint64_t *c, double d, int16_t e, float f)
{
	return (float)a + b * 2 + (float)*c * 3 + (float)d * 4 + (float)e * 5 + f * 6;
}

static void test_mixed(void **state)
{
	uint64_t value = 9;

	(void)state;
	assert_true(CALL(mixed)(-1, 2, &value, 3, -4, 5) == mixed(-1, 2, &value, 3, -4, 5));
}

struct pair {
	uint64_t a, b;
};
struct odd {
	double a;
	uint32_t b;
};

static struct pair swap(struct pair pair)
{
	return (struct pair){pair.b, pair.a};
}

static struct odd odd(struct odd in, int times)
{
	return (struct odd){in.a * times, in.b * (unsigned)times};
}

static void test_structures_in_registers(void **state)
{
	struct pair pair = CALL(swap)((struct pair){1, 2});

	(void)state;
	assert_int_equal(pair.a, 2);
	assert_int_equal(pair.b, 1);
	flameprof_arena_free(arena);

	struct odd result = CALL(odd)((struct odd){1.5, 7}, 3);

	assert_true(result.a == 4.5);
	assert_int_equal(result.b, 21);
}

static long double third(long double a, long double b)
{
	return a / b;
}

static _Complex long double turn(_Complex long double a)
{
	return a * 1i;
}

static _Complex double turn_double(_Complex double a)
{
	return a * 1i;
}

/* On x86_64, results in st0 and st1, and 16-byte stack arguments; on aarch64, vector registers. */
static void test_long_double_and_complex(void **state)
{
	(void)state;
	assert_true(CALL(third, .stack_words = 4)(1, 3) == third(1, 3));
	flameprof_arena_free(arena);

	_Complex long double turned = CALL(turn, .stack_words = 4)(2 + 3i);

	assert_true(creall(turned) == -3 && cimagl(turned) == 2);
	flameprof_arena_free(arena);

	_Complex double turned_double = CALL(turn_double)(2 + 3i);

	assert_true(creal(turned_double) == -3 && cimag(turned_double) == 2);
}

struct large {
	uint64_t word[5];
};

static struct large count_up(uint64_t from, uint64_t by)
{
	return (struct large){{from, from + by, from + 2 * by, from + 3 * by, from + 4 * by}};
}

static uint64_t sum(struct large large, uint64_t times)
{
	return (large.word[0] + 2 * large.word[1] + 3 * large.word[4]) * times;
}

static void test_memory_result_and_large_argument(void **state)
{
	struct large large = CALL(count_up)(10, 7);

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(large.word[i], 10 + 7 * i);
	flameprof_arena_free(arena);
	assert_int_equal(CALL(sum, .stack_words = 5)(large, 3), sum(large, 3));
}

static __int128 wide(__int128 a, uint64_t b, __int128 c)
{
	return a * 3 + (__int128)b * 5 + c * 7;
}

static void test_int128(void **state)
{
	__int128 a = (__int128)1 << 100, c = (__int128)3 << 70;

	(void)state;
	assert_true(CALL(wide)(a, 5, c) == wide(a, 5, c));
}

static uint64_t eight(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
	uint64_t g, uint64_t h)
{
	return six(a, b, c, d, e, f) + 17 * g + 19 * h;
}

#define TWENTY(x) x 1, x 2, x 3, x 4, x 5, x 6, x 7, x 8, x 9, x 10, x 11, x 12, x 13, x 14, x 15, \
	x 16, x 17, x 18, x 19, x 20

static uint64_t twenty(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
	uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, uint64_t m,
	uint64_t n, uint64_t o, uint64_t p, uint64_t q, uint64_t r, uint64_t s, uint64_t t)
{
	return eight(a, b, c, d, e, f, g, h) + 23 * i + 29 * j + 31 * k + 37 * l + 41 * m +
	       43 * n + 47 * o + 53 * p + 59 * q + 61 * r + 67 * s + 71 * t;
}

static void test_stack_words(void **state)
{
	uint64_t expected = twenty(TWENTY());

	(void)state;
	assert_int_equal(CALL(eight, .stack_words = 2)(1, 2, 3, 4, 5, 6, 7, 8),
		eight(1, 2, 3, 4, 5, 6, 7, 8));
	/* Copying more stack words than there are arguments is harmless, up to the maximum. */
	for (unsigned words = 14; words <= 64; words++) {
		flameprof_arena_free(arena);
		assert_int_equal(CALL(twenty, .stack_words = words)(TWENTY()), expected);
	}
}

/* Crashes if its stack is not aligned. */
static uint64_t needs_alignment(uint64_t a)
{
	volatile uint64_t word __attribute__((aligned(16))) = a;

	return word + ((uintptr_t)__builtin_frame_address(0) & 15);
}

static void test_stack_alignment(void **state)
{
	(void)state;
	for (unsigned words = 0; words < 8; words++) {
		assert_int_equal(CALL(needs_alignment, .stack_words = words)(5), 5);
		flameprof_arena_free(arena);
	}
	arena = NULL;
}

static double sum_of(int count, ...)
{
	double total = 0;
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		total += i % 2 ? va_arg(list, double) : (double)va_arg(list, int);
	va_end(list);
	return total;
}

static void test_variable_arguments(void **state)
{
	(void)state;
	assert_true(CALL(sum_of)(4, 1, 2.5, 3, 4.5) == 11);
	flameprof_arena_free(arena);
	assert_true(CALL(sum_of, .stack_words = 20)(20, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1,
			    1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0) == 20);
}

#define BIND(type, function, ...)                                                                  \
	AS(type, make(FLAMEPROF_STUB_BIND, (flameprof_function *)(function),                       \
			 (struct flameprof_signature){__VA_ARGS__}))

#define PAYLOAD 0x1122334455667788u

static uint64_t bound_none(uint64_t payload)
{
	return payload;
}

static uint64_t bound_five(
	uint64_t payload, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	return payload == PAYLOAD ? six(a, b, c, d, e, 0) : 0;
}

static uint64_t bound_nineteen(uint64_t payload, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
	uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l,
	uint64_t m, uint64_t n, uint64_t o, uint64_t p, uint64_t q, uint64_t r, uint64_t s,
	uint64_t t)
{
	if (payload != PAYLOAD)
		return 0;
	return twenty(1, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
}

#if defined(__x86_64__)
#define REGISTERS 6
#else
#define REGISTERS 8
#endif

static void test_bound_integers(void **state)
{
	uint64_t (*five)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
	uint64_t (*nineteen)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		uint64_t, uint64_t, uint64_t, uint64_t);

	(void)state;
	assert_int_equal(BIND(uint64_t(*)(void), bound_none)(), PAYLOAD);
	flameprof_arena_free(arena);
	assert_int_equal(BIND(uint64_t(*)(void), bound_none, .integer_arguments = 1)(), PAYLOAD);
	for (unsigned integers = 0; integers <= 6; integers += 6) {
		flameprof_arena_free(arena);
		five = BIND(__typeof__(five), bound_five, .integer_arguments = integers);
		assert_int_equal(five(1, 2, 3, 4, 5), six(1, 2, 3, 4, 5, 0));
	}
	flameprof_arena_free(arena);
	nineteen = BIND(__typeof__(nineteen), bound_nineteen, .integer_arguments = 20,
		.stack_words = 20 - REGISTERS);
	assert_int_equal(nineteen(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
				 20),
		twenty(TWENTY()));
}

static double bound_mixed(uint64_t payload, double a, int b, double c, double d, double e,
	double f, double g, double h, double i, double j)
{
	if (payload != PAYLOAD)
		return 0;
	return eight_doubles(a, c, d, e, f, g, h, i) + 23 * j + b;
}

static void test_bound_doubles_stay(void **state)
{
	double (*with_doubles)(double, int, double, double, double, double, double, double, double,
		double);

	(void)state;
	with_doubles = BIND(__typeof__(with_doubles), bound_mixed, .integer_arguments = 2,
		.stack_words = 1);
	assert_true(with_doubles(1, 100, 2, 3, 4, 5, 6, 7, 8, 9) ==
		    bound_mixed(PAYLOAD, 1, 100, 2, 3, 4, 5, 6, 7, 8, 9));
}

static struct large bound_large(
	uint64_t payload, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	return (struct large){{payload, six(a, b, c, d, e, f), a, e, f}};
}

static struct large bound_small(uint64_t payload, uint64_t a)
{
	return (struct large){{payload, a, 1, 2, 3}};
}

static struct pair bound_pair(uint64_t payload, struct pair pair)
{
	return (struct pair){payload + pair.a, pair.b};
}

static void test_bound_memory_result(void **state)
{
	struct large (*large)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
	struct large (*small)(uint64_t);
	struct pair (*pair)(struct pair);
	unsigned words = REGISTERS == 6 ? 2 : 0;

	(void)state;
	small = BIND(__typeof__(small), bound_small, .integer_arguments = 2, .memory_result = 1);

	struct large result = small(77);

	assert_int_equal(result.word[0], PAYLOAD);
	assert_int_equal(result.word[1], 77);
	assert_int_equal(result.word[4], 3);
	flameprof_arena_free(arena);
	large = BIND(__typeof__(large), bound_large, .integer_arguments = 7, .memory_result = 1,
		.stack_words = words);
	result = large(1, 2, 3, 4, 5, 6);
	assert_int_equal(result.word[0], PAYLOAD);
	assert_int_equal(result.word[1], six(1, 2, 3, 4, 5, 6));
	assert_int_equal(result.word[3], 5);
	assert_int_equal(result.word[4], 6);
	flameprof_arena_free(arena);
	pair = BIND(__typeof__(pair), bound_pair, .integer_arguments = 3);

	struct pair returned = pair((struct pair){1, 2});

	assert_int_equal(returned.a, PAYLOAD + 1);
	assert_int_equal(returned.b, 2);
}

static void test_bound_variable_arguments(void **state)
{
	double (*sum_variable)(int, ...);

	/*
	 * The stub inserts the payload as first argument of sum_of(). The lower half of the payload
	 * is the number of the arguments that follow.
	 */
	(void)state;
	assert_int_equal(flameprof_arena_new(&arena, FLAMEPROF_STUB_BIND,
				 (flameprof_function *)sum_of, NULL),
		0);
	sum_variable = AS(__typeof__(sum_variable), flameprof_stub_new(arena, "sum", 4));
	assert_true(sum_variable(1, 2.5, 3, 4.5) == 11);
}

static uintptr_t *payload_address;

static void read_payload(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	uintptr_t stub_frame = frame[0];

	payload_address = (uintptr_t *)(stub_frame + (uintptr_t)FLAMEPROF_STUB_PAYLOAD);
	assert_int_equal(*payload_address, PAYLOAD);
}

static void test_payload_lies_in_the_frame(void **state)
{
	(void)state;
	CALL(read_payload)();
	assert_non_null(payload_address);
}

static void test_what_cannot_be(void **state)
{
	struct flameprof_signature many = {.stack_words = 65};
	struct flameprof_signature torn = {.integer_arguments = 9};
	struct flameprof_signature later = {.reserved = {1}};

	(void)state;
	assert_int_equal(flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, NULL, NULL), -EINVAL);
	assert_int_equal(
		flameprof_arena_new(&arena, (enum flameprof_stub_kind)2, read_payload, NULL),
		-EINVAL);
	assert_int_equal(
		flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, read_payload, &many), -EINVAL);
	assert_int_equal(
		flameprof_arena_new(&arena, FLAMEPROF_STUB_BIND, read_payload, &torn), -EINVAL);
	assert_int_equal(
		flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, read_payload, &later), -EINVAL);
	assert_null(arena);
	flameprof_arena_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_integers, teardown),
		cmocka_unit_test_teardown(test_doubles, teardown),
		cmocka_unit_test_teardown(test_mixed, teardown),
		cmocka_unit_test_teardown(test_structures_in_registers, teardown),
		cmocka_unit_test_teardown(test_long_double_and_complex, teardown),
		cmocka_unit_test_teardown(test_memory_result_and_large_argument, teardown),
		cmocka_unit_test_teardown(test_int128, teardown),
		cmocka_unit_test_teardown(test_stack_words, teardown),
		cmocka_unit_test_teardown(test_stack_alignment, teardown),
		cmocka_unit_test_teardown(test_variable_arguments, teardown),
		cmocka_unit_test_teardown(test_bound_integers, teardown),
		cmocka_unit_test_teardown(test_bound_doubles_stay, teardown),
		cmocka_unit_test_teardown(test_bound_memory_result, teardown),
		cmocka_unit_test_teardown(test_bound_variable_arguments, teardown),
		cmocka_unit_test_teardown(test_payload_lies_in_the_frame, teardown),
		cmocka_unit_test_teardown(test_what_cannot_be, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
