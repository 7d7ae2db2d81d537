/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Demangle symbol names, and hostile names, which may cost only limited memory and time. */
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

static void expect_of(enum demangle_language language, const char *mangled,
	enum demangle_style style, const char *shown)
{
	char *name = demangle_name(mangled, language, style);

	assert_non_null(name);
	assert_string_equal(name, shown);
	free(name);
}

static void expect_style(const char *mangled, enum demangle_style style, const char *shown)
{
	expect_of(DEMANGLE_BY_NAME, mangled, style, shown);
}

static void expect(const char *mangled, const char *shown)
{
	expect_style(mangled, DEMANGLE_SHORT, shown);
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
	expect("__grid_MOD_apply", "grid::apply");
	expect("__my_grid2_MOD___copy_field", "my_grid2::__copy_field");
	expect("__grid_MOD_apply.part.0", "grid::apply");
	expect_style("__grid_MOD_apply", DEMANGLE_NONE, "__grid_MOD_apply");
	expect("camlW__heavy_270", "W.heavy");
	expect("camlW.heavy_270", "W.heavy");
	expect("camlStdlib__List.map_281", "Stdlib.List.map");
	expect("camlStdlib__List__rev_map_281", "Stdlib.List.rev_map");
	expect("camlMy_unit__$2b$7c_80", "My_unit.+|");
	expect("camlEff.fun_350", "Eff.fun_350");
	expect("camlEff.entry", "Eff.entry");
	expect_style("camlW.heavy_270", DEMANGLE_FULL, "W.heavy_270");
	expect("Main_zdwheavy_info", "Main.$wheavy");
	expect("Main_spin_info", "Main.spin");
	expect("base_GHCziBase_map_info", "GHC.Base.map");
	expect("containerszm0zi6zi7_DataziMapziInternal_insertzq_info",
		"Data.Map.Internal.insert'");
	expect("base_GHCziEventziPSQ_zdwunsafeInsertNew_slow", "GHC.Event.PSQ.$wunsafeInsertNew");
	expect("ghczmprim_GHCziTuple_ZLZR_con_info", "GHC.Tuple.()");
	expect("base_GHCziBase_zpzp_info", "GHC.Base.++");
	expect_style("base_GHCziBase_map_info", DEMANGLE_FULL, "base:GHC.Base.map");
	expect("*heavy<UInt64>:UInt64", "heavy<UInt64>");
	expect("*Array(Int32)@Array(T)#push<Int32>:Array(Int32)",
		"Array(Int32)@Array(T)#push<Int32>");
	expect("*Char::Reader#next_char:Char", "Char::Reader#next_char");
	expect("*IO#copy:(Int32 | Nil)", "IO#copy");
	expect_style("*Char::Reader#next_char:Char", DEMANGLE_FULL, "Char::Reader#next_char:Char");
	expect("_RINvCs7cTL2Rz5gGG_0r4workmE_", "_RINvCs7cTL2Rz5gGG_0r4workmE_"); /* no letters */
}

/* Names from programs that gnat 12 and Nim 1.6 compiled, and from libgnat. */
static void test_names_that_need_evidence(void **state)
{
	static const char *const ada[][2] = {
		{"_ada_split", "split"},
		{"_ada_split.cold", "split"},
		{"split__heavy.4", "split.heavy"},
		{"split__light.6.constprop.0", "split.light"},
		{"split__workerTKB.2.cold", "split.worker"},
		{"ada__text_io__put_line__2", "ada.text_io.put_line"},
		{"ada__calendar__Oadd", "ada.calendar.\"+\""},
		{"ada__containers___elabs", "ada.containers'Elab_Spec"},
		{"ada__calendar__delays___elabb", "ada.calendar.delays'Elab_Body"},
		{"ada__streams__root_stream_typeSO", "ada.streams.root_stream_type'Output"},
		{"system__pool_global__unbounded_no_reclaim_poolDF",
			"system.pool_global.unbounded_no_reclaim_pool.Finalize"},
	};
	static const char *const nim[][3] = {
		{"heavy__split_5", "split.heavy", "split.heavy_5"},
		{"heavy__split_u5", "split.heavy", "split.heavy_u5"},
		{"deep__split_19.constprop.0", "split.deep", "split.deep_19 [clone .constprop.0]"},
		{"addInt__stdZprivateZdigitsutils_164", "std/private/digitsutils.addInt",
			"std/private/digitsutils.addInt_164"},
		{"dollar___systemZdollars_3", "system/dollars.dollar_", "system/dollars.dollar__3"},
		{"star___subZmy9577od50_1", "sub/my_Mod2.star_", "sub/my_Mod2.star__1"},
		{"colonanonymous___main95x_23", "main_x.colonanonymous__23",
			"main_x.colonanonymous__23"},
		{"Marker_tyRef__RJnHOb9cQV3neNC9cDkRgMyw", "Marker_tyRef__RJnHOb9cQV3neNC9cDkRgMyw",
			"Marker_tyRef__RJnHOb9cQV3neNC9cDkRgMyw"},
		{"TM__Q5wkpxktOdTGvlSRo9bzt9aw_26", "TM__Q5wkpxktOdTGvlSRo9bzt9aw_26",
			"TM__Q5wkpxktOdTGvlSRo9bzt9aw_26"},
	};
	static const char *const not_nim[] = {"", "main", "heavy", "x__mod", "x__mod_", "x__mod_u",
		"__mod_1", "_mod_1", "x_mod_1", "x__mo4_1", "x__mo13_1", "x__mo399_1", "x__mo_d_1",
		"x__Mod_1", "x___1", "9x__mod_1", "NimMainModule"};
	static const char *const not_ada[] = {"", "main", "Main", "_start", "<x>", "x___y",
		"ada_main__Tsec_default_sized_stacksBIP", "aSO__bSO", "aSO__bDF"};

	(void)state;
	for (size_t i = 0; i < sizeof(ada) / sizeof(*ada); i++) {
		expect_of(DEMANGLE_ADA, ada[i][0], DEMANGLE_SHORT, ada[i][1]);
		expect_of(DEMANGLE_ADA, ada[i][0], DEMANGLE_NONE, ada[i][0]);
	}
	expect_of(DEMANGLE_ADA, "split__heavy.4", DEMANGLE_FULL, "split.heavy");
	expect_of(DEMANGLE_ADA, "_ada_split.cold", DEMANGLE_FULL, "split [clone .cold]");
	for (size_t i = 0; i < sizeof(nim) / sizeof(*nim); i++) {
		expect_of(DEMANGLE_NIM, nim[i][0], DEMANGLE_SHORT, nim[i][1]);
		expect_of(DEMANGLE_NIM, nim[i][0], DEMANGLE_FULL, nim[i][2]);
		expect_of(DEMANGLE_NIM, nim[i][0], DEMANGLE_NONE, nim[i][0]);
		expect(nim[i][0], i == 2 ? "deep__split_19" : nim[i][0]);
	}
	for (size_t i = 0; i < sizeof(not_nim) / sizeof(*not_nim); i++)
		expect_of(DEMANGLE_NIM, not_nim[i], DEMANGLE_SHORT, not_nim[i]);
	for (size_t i = 0; i < sizeof(not_ada) / sizeof(*not_ada); i++)
		expect_of(DEMANGLE_ADA, not_ada[i], DEMANGLE_SHORT, not_ada[i]);
	expect("split__heavy.4", "split__heavy.4");
	expect("_ada_split", "_ada_split");
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
	expect("__MOD_apply", "__MOD_apply");
	expect("___MOD_apply", "___MOD_apply");
	expect("__grid_MOD_", "__grid_MOD_");
	expect("__gridMOD_apply", "__gridMOD_apply");
	expect("__Grid_MOD_apply", "__Grid_MOD_apply");
	expect("__m", "__m");
	expect("", "");
	expect("main.part", "main.part");
	expect("runtime.mallocgc", "runtime.mallocgc");
	expect("memcpy.avx2.0", "memcpy.avx2.0");
	expect(".cold", ".cold");
	expect("@x", "@x");
	expect("a b", "a b");
	expect("caml_alloc", "caml_alloc");
	expect("camlW", "camlW");
	expect("camlW__", "camlW__");
	expect("camlW.", "camlW.");
	expect("SSL_get_info", "SSL_get_info");
	expect("Screen_resize_info", "Screen_resize_info");
	expect("Foo_initialize_info", "Foo_initialize_info");
	expect("gz_Open_f_info", "gz_Open_f_info");
	expect("base_GHCziBase_mapz_info", "base_GHCziBase_mapz_info");
	expect("base_GHCziBase_map_a_info", "base_GHCziBase_map_a_info");
	expect("base_GHCziBase__info", "base_GHCziBase__info");
	expect("_info", "_info");
	expect("stg_upd_frame_info", "stg_upd_frame_info");
	expect("*", "*");
	expect("*&x", "*&x");
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

static void test_full_names(void **state)
{
	(void)state;
	expect_style("_ZNSt6vectorIiSaIiEE9push_backERKi", DEMANGLE_FULL,
		"std::vector<int, std::allocator<int> >::push_back(int const&)");
	expect_style("_ZNK3foo3bazltERKS0_", DEMANGLE_FULL,
		"foo::baz::operator<(foo::baz const&) const");
	expect_style("_ZN3foo3barEv.constprop.0.isra.1", DEMANGLE_FULL,
		"foo::bar() [clone .constprop.0.isra.1]");
	expect_style("_ZN3foo3barEv@@LIB_1", DEMANGLE_FULL, "foo::bar()");
	expect_style("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", DEMANGLE_FULL,
		"core::fmt::Write::write_fmt::h0123456789abcdef");
	expect_style("work.constprop.0", DEMANGLE_FULL, "work.constprop.0");
	expect_style("memcpy@@GLIBC_2.14", DEMANGLE_FULL, "memcpy@@GLIBC_2.14");
	expect_style("i", DEMANGLE_FULL, "i");
}

static void test_names_as_they_are(void **state)
{
	static const char *const names[] = {
		"_ZN3foo3barEv.part.0", "memcpy@@GLIBC_2.14", "work.cold", "", "_Dmain"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect_style(names[i], DEMANGLE_NONE, names[i]);
	assert_int_equal(demangle_style_of("none"), DEMANGLE_NONE);
	assert_int_equal(demangle_style_of("full"), DEMANGLE_FULL);
	assert_int_equal(demangle_style_of("short"), DEMANGLE_SHORT);
}

/* Without their suffixes, the names of the compiler's copies of one function are equal. */
static void test_copies_are_one(void **state)
{
	static const char *const cases[][2] = {
		{"foo::bar() [clone .constprop.0]", "foo::bar()"},
		{"foo::bar() [clone .isra.0] [clone .cold]", "foo::bar()"},
		{"work.part.3.cold", "work"},
		{"work.lto_priv.0", "work"},
		{"core::fmt::write::h0123456789abcdef", "core::fmt::write"},
		{"core::fmt::write::h0123456789abcdeg", "core::fmt::write::h0123456789abcdeg"},
		{"core::fmt::write::h0123456789abcdef.llvm.7", "core::fmt::write"},
		{"::h0123456789abcdef", ""},
		{"h0123456789abcdef", "h0123456789abcdef"},
		{"main.part", "main.part"},
		{"run@http://a/x.js:10", "run@http://a/x.js:10"},
		{"memcpy@plt", "memcpy@plt"},
		{"a [clone b", "a [clone b"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[64];

		strcpy(name, cases[i][0]);
		demangle_drop_copies(name);
		assert_string_equal(name, cases[i][1]);
	}
}

/*
 * Join pieces of mangled names in random order. Demangling each must take limited time and memory.
 */
static void test_hostile_names(void **state)
{
	static const char *const heads[] = {
		"_Z", "_ZN", "_R", "_RNv", "_D1f", "_ZZ", "_RINv", "_ZL", "a", "_ada_a", "a__b"};
	static const char *const words[] = {"S_", "S0_", "T_", "St", "I", "E", "J", "N", "Dp", "P",
		"R", "1a", "3foo", "B_", "B0_", "Q", "Qb", "C", "M", "X", "i", "j", "v", "L_Z", "L",
		"F", "A", "G", "K", "17h0123456789abcdef", "_", "0", "9", "99999999", "DT", "Dn",
		"cl", "sr", "nw", "ul", "UlvE_", "Z", "p", "s_", "u", "z", "H", "Ss", ".cold", "@@",
		"__", "SO__b", "DF", "Oadd", "___elabb", "TK__", "Xnb", "_19"};
	uint64_t random = 88172645463325252ULL;

	(void)state;
	alarm(120);
	for (int i = 0; i < 5000; i++) {
		char name[4096];
		size_t at = (size_t)sprintf(name, "%s", heads[i % 11]);

		for (int k = 0; k < i % 900 && at < sizeof(name) - 64; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			at += (size_t)sprintf(
				name + at, "%s", words[random % (sizeof(words) / sizeof(*words))]);
		}
		for (int style = DEMANGLE_SHORT; style <= DEMANGLE_NONE; style++) {
			char *shown = demangle_name(
				name, (enum demangle_language)(i % 3), (enum demangle_style)style);

			assert_non_null(shown);
			assert_true(strlen(shown) <= DEMANGLE_MAX_BYTES + sizeof(name));
			demangle_drop_copies(shown);
			free(shown);
		}
	}
	alarm(0);
}

/*
 * Make the mangled name of f<pair<int, int>, pair<that, that>, pair<that, that>...>. Each of
 * @levels arguments refers twice to the argument before it, so the text doubles with each level.
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
		cmocka_unit_test(test_names_that_need_evidence),
		cmocka_unit_test(test_c_names_stay),
		cmocka_unit_test(test_versions_and_copies),
		cmocka_unit_test(test_full_names),
		cmocka_unit_test(test_names_as_they_are),
		cmocka_unit_test(test_copies_are_one),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_bomb_stays_mangled),
		cmocka_unit_test(test_deep_and_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
