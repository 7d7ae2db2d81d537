/* SPDX-License-Identifier: MIT */
/*
 * What names become, and that hostile ones cost neither memory nor time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/demangle.h"

static void expect(const char *mangled, const char *shown)
{
	char *name = demangle_name(mangled);

	assert_non_null(name);
	assert_string_equal(name, shown);
	free(name);
}

static void test_languages(void **state)
{
	(void)state;
	expect("_ZN3foo3barIiEEvT_", "foo::bar<int>");
	expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
		"std::vector<int, std::allocator<int> >::push_back");
	expect("_ZNK3foo3bazltERKS0_", "foo::baz::operator<");
	expect("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work");
	expect("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
	expect("__ZN3foo3barEv", "foo::bar");
	expect("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	expect("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	expect("_RINvCs7cTL2Rz5gGG_1r4workmEB2_", "r::work::<u32>");
	expect("_D4test3fooFZv", "test.foo()");
	expect("_Dmain", "D main");
}

static void test_c_names_stay(void **state)
{
	(void)state;
	expect("i", "i");
	expect("main", "main");
	expect("_start", "_start");
	expect("_Zebra", "_Zebra");
	expect("_Reset", "_Reset");
	expect("_Drop", "_Drop");
	expect("__Zn", "__Zn");
	expect("", "");
	expect("main.part", "main.part");
	expect("runtime.mallocgc", "runtime.mallocgc");
	expect("memcpy.avx2.0", "memcpy.avx2.0");
	expect(".cold", ".cold");
	expect("@x", "@x");
	expect("a b", "a b");
}

static void test_versions_and_copies(void **state)
{
	(void)state;
	expect("memcpy@@GLIBC_2.14", "memcpy");
	expect("memcpy@GLIBC_2.2.5", "memcpy");
	expect("work.constprop.0", "work");
	expect("work.isra.0.part.3.cold", "work");
	expect("work.llvm.1234567890", "work");
	expect("work.lto_priv.0", "work");
	expect("work.cold.1", "work");
	expect("work.localalias", "work");
	expect("_ZN3foo3barEv.constprop.0.isra.1", "foo::bar");
	expect("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.42",
		"core::fmt::Write::write_fmt");
}

/*
 * f<pair<int, int>, pair<that, that>, pair<that, that>...>: each of @levels arguments refers twice
 * to the one before and so doubles the text.
 */
static void make_bomb(char name[2048], int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	strcpy(name, "_Z1fISt4pairIiiE");
	for (int i = 1; i <= levels; i++) {
		char number[3] = {i < 36 ? digits[i] : '1', i < 36 ? '\0' : digits[i - 36], '\0'};

		sprintf(name + strlen(name), "S0_IS%s_S%s_E", number, number);
	}
	strcat(name, "EvT_");
}

static void test_bomb_stays_mangled(void **state)
{
	char name[2048];

	(void)state;
	make_bomb(name, 2);
	expect(name, "f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >, "
		     "std::pair<std::pair<std::pair<int, int>, std::pair<int, int> >, "
		     "std::pair<std::pair<int, int>, std::pair<int, int> > > >");
	alarm(20);
	make_bomb(name, 60);
	expect(name, name);
	alarm(0);
}

static void test_deep_and_long_names(void **state)
{
	static char name[100001];

	(void)state;
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	expect(name, name);
	memcpy(name, "_RMC", 4);
	expect(name, name);
	memcpy(name, "_D1f", 4);
	expect(name, name);
	memset(name, '1', sizeof(name) - 1);
	memcpy(name, "_Z", 2);
	expect(name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_languages),
		cmocka_unit_test(test_c_names_stay),
		cmocka_unit_test(test_versions_and_copies),
		cmocka_unit_test(test_bomb_stays_mangled),
		cmocka_unit_test(test_deep_and_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
