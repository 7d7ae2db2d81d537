/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Results of every class must pass through an intercept stub unchanged: without a tick, and with a
 * tick, during which the host's interrupt function overwrites every register that a function may
 * overwrite.
 */
#include <complex.h>
#include <errno.h>
#include <fenv.h>
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_sve.h>
#include <sys/auxv.h>
#endif

#include "tests/unit/intercept-fixture.h"

/* Each original function raises this number of ticks, as if they occurred while it runs. */
static uint32_t ticks_made;

#define AS(function) __typeof__(&function)

/* Overwrite all registers that an ordinary function may overwrite. */
#if defined(__x86_64__)
#define ORIGINAL static __attribute__((noinline))

__attribute__((target("avx512f"))) static void clobber_zmm(void)
{
	__asm__ volatile("vpternlogd $255, %%zmm0, %%zmm0, %%zmm0\n\t"
			 "vmovdqa64 %%zmm0, %%zmm1\n\tvmovdqa64 %%zmm0, %%zmm2\n\t"
			 "vmovdqa64 %%zmm0, %%zmm3\n\tvmovdqa64 %%zmm0, %%zmm31\n\t"
			 "kxnorw %%k1, %%k1, %%k1" ::
				 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm31");
}

__attribute__((target("avx"))) static void clobber_ymm(void)
{
	__asm__ volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\tvxorps %%ymm1, %%ymm1, %%ymm1\n\t"
			 "vxorps %%ymm2, %%ymm2, %%ymm2\n\tvxorps %%ymm3, %%ymm3, %%ymm3" ::
				 : "xmm0", "xmm1", "xmm2", "xmm3");
}

/* Use all eight x87 registers. If one of them was still in use, the last result becomes a NaN. */
static long double use_x87(void)
{
	long double sum = 0;

	__asm__ volatile("fld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\t"
			 "faddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp"
			 : "=t"(sum));
	return sum;
}

static void clobber(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	assert_int_equal(frame % 16, 0);
	assert_true(use_x87() == 8);
	__asm__ volatile("mov $0x5a, %%eax\n\tmov %%rax, %%rdx\n\tmov %%rax, %%rcx\n\t"
			 "mov %%rax, %%rsi\n\tmov %%rax, %%rdi\n\tmov %%rax, %%r8\n\t"
			 "mov %%rax, %%r9\n\tmov %%rax, %%r10\n\tmov %%rax, %%r11\n\t"
			 "pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1" ::
				 : "rax", "rdx", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				 "xmm0", "xmm1");
	if (__builtin_cpu_supports("avx"))
		clobber_ymm();
	if (__builtin_cpu_supports("avx512f"))
		clobber_zmm();
	feraiseexcept(FE_INEXACT | FE_DIVBYZERO);
}
#else
#define ORIGINAL static __attribute__((noinline))
#define SVE	 __attribute__((target("+sve")))

SVE static void clobber_sve(void)
{
	__asm__ volatile("pfalse p0.b\n\tpfalse p1.b\n\tmov z0.d, #-1" ::: "p0", "p1", "z0");
}

static void clobber(void)
{
	__asm__ volatile("mov x0, #0x5a\n\tmov x1, x0\n\tmov x2, x0\n\tmov x3, x0\n\tmov x4, x0\n\t"
			 "mov x5, x0\n\tmov x6, x0\n\tmov x7, x0\n\tmov x8, x0\n\tmov x9, x0\n\t"
			 "mov x10, x0\n\tmov x11, x0\n\tmov x12, x0\n\tmov x13, x0\n\t"
			 "mov x14, x0\n\tmov x15, x0\n\tmov x16, x0\n\tmov x17, x0" ::
				 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
				 "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17");
	__asm__ volatile("movi v0.16b, #85\n\tmovi v1.16b, #85\n\tmovi v2.16b, #85\n\t"
			 "movi v3.16b, #85\n\tmovi v4.16b, #85\n\tmovi v5.16b, #85\n\t"
			 "movi v6.16b, #85\n\tmovi v7.16b, #85\n\tmovi v16.16b, #85" ::
				 : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16");
	if (getauxval(AT_HWCAP) & HWCAP_SVE)
		clobber_sve();
	feraiseexcept(FE_INEXACT | FE_DIVBYZERO);
}
#endif

/*
 * Run @body with the stub twice: without ticks, which causes no check, and with three ticks, which
 * cause one check.
 */
#define WITH_AND_WITHOUT(original, stack_words, ...)                                               \
	do {                                                                                       \
		AS(original) stub = (AS(original))fixture_stub(                                    \
			(flameprof_function *)(original), #original, stack_words);                 \
		for (ticks_made = 0; ticks_made <= 3; ticks_made += 3) {                           \
			fixture_begin(clobber);                                                    \
			__VA_ARGS__;                                                               \
			assert_int_equal(checked_ticks, ticks_made);                               \
			assert_int_equal(checks, ticks_made != 0);                                 \
		}                                                                                  \
	} while (0)

ORIGINAL int64_t integer(int64_t a)
{
	raise_ticks(ticks_made);
	return a * 3;
}

ORIGINAL __int128 wide(__int128 a)
{
	raise_ticks(ticks_made);
	return a * 5;
}

static void test_integers(void **state)
{
	__int128 large = (__int128)7 << 100;

	(void)state;
	WITH_AND_WITHOUT(integer, 0, assert_int_equal(stub(-7), -21));
	WITH_AND_WITHOUT(wide, 0, assert_true(stub(large) == large * 5));
}

struct floats {
	float a, b, c, d;
};
struct mixed {
	int64_t a;
	double b;
};

ORIGINAL double real(double a)
{
	raise_ticks(ticks_made);
	return a / 3;
}

ORIGINAL _Complex double plane(_Complex double a)
{
	raise_ticks(ticks_made);
	return a * 1i;
}

ORIGINAL struct floats four(float a)
{
	raise_ticks(ticks_made);
	return (struct floats){a, a * 2, a * 3, a * 4};
}

ORIGINAL struct mixed both(int64_t a, double b)
{
	raise_ticks(ticks_made);
	return (struct mixed){a * 2, b * 2};
}

static void test_floating_point(void **state)
{
	(void)state;
	WITH_AND_WITHOUT(real, 0, assert_true(stub(7) == 7.0 / 3));
	WITH_AND_WITHOUT(plane, 0, _Complex double got = stub(2 + 3i);
			 assert_true(creal(got) == -3 && cimag(got) == 2));
	WITH_AND_WITHOUT(four, 0, struct floats got = stub(1.5f);
			 assert_true(got.a == 1.5f && got.b == 3 && got.c == 4.5f && got.d == 6));
	WITH_AND_WITHOUT(both, 0, struct mixed got = stub(21, 1.25);
			 assert_true(got.a == 42 && got.b == 2.5));
}

ORIGINAL long double extended(long double a)
{
	raise_ticks(ticks_made);
	return a / 3;
}

ORIGINAL _Complex long double extended_plane(_Complex long double a)
{
	raise_ticks(ticks_made);
	return a * 1i;
}

/* Results in one and in two x87 registers; on aarch64 in vector registers. */
static void test_long_double(void **state)
{
	(void)state;
	WITH_AND_WITHOUT(extended, 2, assert_true(stub(7) == 7.0L / 3));
	WITH_AND_WITHOUT(extended_plane, 4, _Complex long double got = stub(2 + 3i);
			 assert_true(creall(got) == -3 && cimagl(got) == 2));
}

/* The control and status words of the x87 unit and of SSE do not change. */
static void test_floating_point_state(void **state)
{
	(void)state;
	ticks_made = 1;
	feclearexcept(FE_ALL_EXCEPT);
	fesetround(FE_UPWARD);
	WITH_AND_WITHOUT(integer, 0, assert_int_equal(stub(1), 3);
			 assert_int_equal(fegetround(), FE_UPWARD);
			 assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0));
	fesetround(FE_TONEAREST);
}

struct large {
	uint64_t word[6];
};

ORIGINAL struct large large(uint64_t a)
{
	raise_ticks(ticks_made);
	return (struct large){{a, a + 1, a + 2, a + 3, a + 4, a + 5}};
}

/* Also checks the returned pointer. */
static void test_memory_result(void **state)
{
	struct large got;

	(void)state;
	WITH_AND_WITHOUT(large, 0, got = stub(40); assert_int_equal(got.word[0], 40);
			 assert_int_equal(got.word[5], 45));
}

ORIGINAL uint64_t twelve(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
	uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l)
{
	raise_ticks(ticks_made);
	return a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f + 17 * g + 19 * h + 23 * i + 29 * j +
	       31 * k + 37 * l;
}

ORIGINAL double sum_of(int count, ...)
{
	double total = 0;
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		total += i % 2 ? va_arg(list, double) : (double)va_arg(list, int);
	va_end(list);
	raise_ticks(ticks_made);
	return total;
}

static void test_arguments_on_the_stack(void **state)
{
	uint64_t expected = twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);

	(void)state;
	for (unsigned words = 6; words <= 64; words++)
		WITH_AND_WITHOUT(twelve, words,
				 assert_int_equal(stub(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
					 expected));
	WITH_AND_WITHOUT(sum_of, 0, assert_true(stub(4, 1, 2.5, 3, 4.5) == 11));
	WITH_AND_WITHOUT(sum_of, 20, assert_true(stub(20, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1,
						      1.0, 1, 1.0, 1, 1.0, 1, 1.0, 1, 1.0) == 20));
}

#if defined(__x86_64__)

ORIGINAL __attribute__((target("avx"))) __m256d vector(double a)
{
	raise_ticks(ticks_made);
	return _mm256_set_pd(a + 3, a + 2, a + 1, a);
}

static __attribute__((target("avx"))) void check_avx(void)
{
	double got[4];

	WITH_AND_WITHOUT(vector, 0, _mm256_storeu_pd(got, stub(5));
			 assert_true(got[0] == 5 && got[1] == 6 && got[2] == 7 && got[3] == 8));
}

ORIGINAL __attribute__((target("avx512f"))) __m512i long_vector(int64_t a)
{
	raise_ticks(ticks_made);
	return _mm512_set_epi64(a + 7, a + 6, a + 5, a + 4, a + 3, a + 2, a + 1, a);
}

static __attribute__((target("avx512f"))) void check_avx512(void)
{
	int64_t got[8];

	WITH_AND_WITHOUT(long_vector, 0, _mm512_storeu_si512(got, stub(5));
			 for (int i = 0; i < 8; i++) assert_int_equal(got[i], 5 + i));
}

static void test_vectors(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx"))
		skip();
	check_avx();
	if (__builtin_cpu_supports("avx512f"))
		check_avx512();
}

#else

struct vectors {
	double __attribute__((vector_size(16))) a, b, c, d;
};

ORIGINAL struct vectors vectors(double a)
{
	raise_ticks(ticks_made);
	return (struct vectors){{a, 1}, {a, 2}, {a, 3}, {a, 4}};
}

ORIGINAL SVE svint64_t scalable(int64_t a)
{
	raise_ticks(ticks_made);
	return svindex_s64(a, 3);
}

ORIGINAL SVE svbool_t predicate(int64_t a)
{
	raise_ticks(ticks_made);
	return svcmpgt_n_s64(svptrue_b64(), svindex_s64(0, 1), a);
}

/*
 * Check vectors of the CPU's full length: the compiler's code for the check itself uses only their
 * first 16 bytes.
 */
SVE static void check_sve(void)
{
	int64_t got[32];

	WITH_AND_WITHOUT(scalable, 0, svst1_s64(svptrue_b64(), got, stub(5));
			 for (unsigned i = 0; i < svcntd(); i++)
				 assert_int_equal(got[i], 5 + 3 * i));
	WITH_AND_WITHOUT(predicate, 0,
			 assert_int_equal(svcntp_b64(svptrue_b64(), stub(0)), svcntd() - 1));
}

static void test_vectors(void **state)
{
	(void)state;
	WITH_AND_WITHOUT(vectors, 0, struct vectors got = stub(5);
			 assert_true(got.a[0] == 5 && got.a[1] == 1 && got.b[1] == 2 &&
				     got.c[1] == 3 && got.d[0] == 5 && got.d[1] == 4));
	if (getauxval(AT_HWCAP) & HWCAP_SVE)
		check_sve();
}

#endif

#if defined(__x86_64__)

extern uint32_t arch_intercept_save_way, arch_intercept_save_bytes;

/*
 * Try the ways in which older CPUs save registers: xsave, which has another layout, and fxsave
 * without AVX.
 */
static void test_other_ways_to_save(void **state)
{
	uint32_t way = arch_intercept_save_way, bytes = arch_intercept_save_bytes;

	if (!way)
		skip();
	arch_intercept_save_bytes = 4096;
	arch_intercept_save_way = 1;
	test_vectors(state);
	for (int other = 1; other >= 0; other--) {
		arch_intercept_save_way = (uint32_t)other;
		test_integers(state);
		test_floating_point(state);
		test_long_double(state);
		test_floating_point_state(state);
		arch_intercept_save_bytes = 512;
	}
	arch_intercept_save_way = way;
	arch_intercept_save_bytes = bytes;
}

#else

static void test_other_ways_to_save(void **state)
{
	(void)state;
	skip();
}

#endif

static void set_errno(void)
{
	errno = ERANGE;
}

static void test_errno_is_kept(void **state)
{
	int64_t (*stub)(int64_t) =
		(AS(integer))fixture_stub((flameprof_function *)integer, "integer", 0);

	(void)state;
	fixture_begin(set_errno);
	ticks_made = 1;
	errno = EDOM;
	assert_int_equal(stub(1), 3);
	assert_int_equal(checks, 1);
	assert_int_equal(errno, EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_floating_point),
		cmocka_unit_test(test_long_double),
		cmocka_unit_test(test_floating_point_state),
		cmocka_unit_test(test_memory_result),
		cmocka_unit_test(test_arguments_on_the_stack),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_other_ways_to_save),
		cmocka_unit_test(test_errno_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
