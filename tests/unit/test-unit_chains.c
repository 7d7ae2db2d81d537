/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Compare the inline chains of every address of whole programs with those of addr2line and
 * llvm-symbolizer. The comparison accepts these differences, because the DWARF confirms ours:
 *
 *	difference			reason
 *	names of outermost functions	both tools take the symbol's name; ours is the entry's, as
 *					the symbol's is found without DWARF
 *	names of functions local to	both tools print them as written; ours have their namespaces
 *	their file			and classes, as symbols have
 *	only a name, no line		both tools print the symbol of code without DWARF, addr2line
 *					also the file that .symtab has for it
 *	addr2line: the innermost name	if the entry has no linkage name (functions local to their
 *	is the outermost's		file), it prints the name of the symbol there
 *	addr2line: fewer functions	binutils 2.40 cannot read DW_FORM_rnglistx and DW_FORM_addrx
 *	with clang's version 5		in inlined entries, so it is run for version 4 only
 *	addr2line: no line in Go	binutils 2.44 treats runtime.text as a function, 2.47 cannot
 *					read version 5, which Go 1.25 writes; so it is not run
 *	addr2line: another file		with several rows at one address, it mixes their files and
 *					lines; the last row is valid according to DWARF 5 (6.2.5)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/symbols/inlines.h"
#include "tests/unit/elf_fixture.h"

static const char source_c[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"struct node { struct node *next; int value; };\n"
	"static inline int square(int x) { return x * x; }\n"
	"static inline int twice(int x)\n"
	"{\n"
	"	int y = square(x);\n"
	"	if (y > 10) {\n"
	"		int z = square(y);\n"
	"		y += z;\n"
	"	}\n"
	"	return y;\n"
	"}\n"
	"static int sum(const struct node *node)\n"
	"{\n"
	"	int total = 0;\n"
	"	for (; node; node = node->next)\n"
	"		total += twice(node->value) + square(total);\n"
	"	return total;\n"
	"}\n"
	"static int depth(int n) { return n < 2 ? n : depth(n - 1) + depth(n - 2); }\n"
	"static int compare(const void *a, const void *b)\n"
	"{\n"
	"	return square(*(const int *)a) - square(*(const int *)b);\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	struct node nodes[9];\n"
	"	int values[9];\n"
	"	for (int i = 0; i < 9; i++) {\n"
	"		nodes[i].next = i ? &nodes[i - 1] : NULL;\n"
	"		nodes[i].value = values[i] = argc * i;\n"
	"	}\n"
	"	qsort(values, 9, sizeof(int), compare);\n"
	"	if (argc > 3)\n"
	"		abort();\n"
	"	printf(\"%d %d %s\\n\", sum(&nodes[8]), depth(values[3]), argv[0]);\n"
	"	return 0;\n"
	"}\n";

static const char source_cxx[] =
	"#include <algorithm>\n"
	"#include <cstdio>\n"
	"#include <map>\n"
	"#include <memory>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace outer {\n"
	"namespace {\n"
	"struct local {\n"
	"	int v;\n"
	"	int bump(int k) const { return v * k + 1; }\n"
	"	__attribute__((noinline)) int far(int k) { return bump(k) + 3; }\n"
	"};\n"
	"template <class T, int N> struct box {\n"
	"	T a[N];\n"
	"	T sum() const { T s{}; for (auto &x : a) s += square(x); return s; }\n"
	"	static T square(T x) { return x * x; }\n"
	"};\n"
	"}\n"
	"struct shape { virtual ~shape() {} virtual double area() const = 0; };\n"
	"struct plane : shape {\n"
	"	double w;\n"
	"	plane(double x) : w(x) {}\n"
	"	double area() const override { return w * w; }\n"
	"};\n"
	"static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	using namespace outer;\n"
	"	std::vector<int> v;\n"
	"	for (int i = 0; i < 1000; i++)\n"
	"		v.push_back((i * 7919) % 1000);\n"
	"	auto less = [&](int a, int b) {\n"
	"		auto in = [](int z) { return z ^ 3; };\n"
	"		return in(a) < in(b);\n"
	"	};\n"
	"	std::sort(v.begin(), v.end(), less);\n"
	"	box<double, 32> b{};\n"
	"	for (int i = 0; i < 32; i++)\n"
	"		b.a[i] = i * argc;\n"
	"	std::map<std::string, int> m;\n"
	"	for (int i = 0; i < argc + 10; i++)\n"
	"		m[std::to_string(i)] += fib(i);\n"
	"	local l{argc};\n"
	"	std::unique_ptr<shape> s(new plane(argc));\n"
	"	struct inner { int q; int twice() { return q * 2; } } in{argc};\n"
	"	printf(\"%d %f %zu %d %f %d\\n\", v[3], b.sum(), m.size(), l.far(3), s->area(),\n"
	"		in.twice());\n"
	"}\n";

static const char source_fortran[] = "module m\n"
				     "contains\n"
				     "  function sq(x) result(r)\n"
				     "    real(8), intent(in) :: x\n"
				     "    real(8) :: r\n"
				     "    r = x*x + 1\n"
				     "  end function\n"
				     "  subroutine work(a, n)\n"
				     "    integer, intent(in) :: n\n"
				     "    real(8), intent(inout) :: a(n)\n"
				     "    integer :: i\n"
				     "    do i = 1, n\n"
				     "      a(i) = inner(sq(a(i)))\n"
				     "    end do\n"
				     "  contains\n"
				     "    function inner(y) result(z)\n"
				     "      real(8), intent(in) :: y\n"
				     "      real(8) :: z\n"
				     "      z = sqrt(y) + sq(y)\n"
				     "      if (z > 100) z = helper(z)\n"
				     "    end function\n"
				     "    recursive function helper(q) result(w)\n"
				     "      real(8), intent(in) :: q\n"
				     "      real(8) :: w\n"
				     "      w = q\n"
				     "      if (q > 10) w = helper(q/2) + 1\n"
				     "    end function\n"
				     "  end subroutine\n"
				     "end module\n"
				     "program p\n"
				     "  use m\n"
				     "  real(8) :: a(1000)\n"
				     "  a = 1\n"
				     "  call work(a, 1000)\n"
				     "  print *, sum(a)\n"
				     "end program\n";

static const char source_rust[] =
	"use std::collections::HashMap;\n"
	"#[inline(always)]\n"
	"fn square(x: u64) -> u64 { x.wrapping_mul(x) }\n"
	"struct Words { counts: HashMap<String, u64> }\n"
	"impl Words {\n"
	"    fn add(&mut self, text: &str) {\n"
	"        for w in text.split(' ').filter(|w| w.len() > 1) {\n"
	"            *self.counts.entry(w.to_string()).or_insert(0) += square(w.len() as u64);\n"
	"        }\n"
	"    }\n"
	"}\n"
	"fn main() {\n"
	"    let mut w = Words { counts: HashMap::new() };\n"
	"    for i in 0..10u64 { w.add(&format!(\"aa bb {} cc\", square(i))); }\n"
	"    let mut v: Vec<_> = w.counts.iter().collect();\n"
	"    v.sort_by(|a, b| a.1.cmp(b.1));\n"
	"    println!(\"{:?}\", v);\n"
	"}\n";

static const char source_go[] = "package main\n"
				"import (\"fmt\"; \"sort\"; \"strings\")\n"
				"type T struct{ a int }\n"
				"func (t T) add(k int) int { return t.a + k }\n"
				"func sq(x int) int { return x*x + T{x}.add(3) }\n"
				"func main() {\n"
				"	s := 0\n"
				"	for i := 0; i < 1000; i++ { s += sq(i) }\n"
				"	l := strings.Fields(\"a b c\")\n"
				"	sort.Slice(l, func(i, j int) bool { return l[i] < l[j] })\n"
				"	fmt.Println(s, l)\n"
				"}\n";

/* ---- what another tool says ------------------------------------------------------------------ */

#define PLACES_MAX 64

struct place {
	char name[1024];
	char file[256];
	unsigned line;
};

struct tool {
	/* shell command that prints the chains of addresses; the file's name is appended to it */
	const char *command;
	bool takes_symbols;  /* for the names of local functions */
	FILE *output;
	char line[4096];		 /* read ahead; "": at the end */
	struct place places[PLACES_MAX]; /* innermost first */
	unsigned count;
};

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void read_line(struct tool *tool)
{
	do {
		if (!fgets(tool->line, sizeof(tool->line), tool->output))
			tool->line[0] = '\0';
		tool->line[strcspn(tool->line, "\n")] = tool->line[0] ? '\0' : tool->line[0];
	} while (!tool->line[0] && !feof(tool->output));
}

/*
 * Parse "path:12", "path:12 (discriminator 3)" or "path:?". llvm's form "path:12:3" does not occur.
 */
static void read_place(const char *text, struct place *place)
{
	const char *colon = strrchr(text, ':');

	assert_non_null(colon);
	place->line = (unsigned)strtoul(colon + 1, NULL, 10);
	snprintf(place->file, sizeof(place->file), "%.*s", (int)(colon - text), text);
	memmove(place->file, base(place->file), strlen(base(place->file)) + 1);
}

static void read_places(struct tool *tool, uint64_t address)
{
	assert_int_equal(strtoull(tool->line, NULL, 16), address);
	read_line(tool);
	for (tool->count = 0; tool->line[0] && strncmp(tool->line, "0x", 2) != 0; tool->count++) {
		struct place *place = &tool->places[tool->count];

		assert_true(tool->count < PLACES_MAX);
		snprintf(place->name, sizeof(place->name), "%.1023s", tool->line);
		read_line(tool);
		read_place(tool->line, place);
		read_line(tool);
	}
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool is_unknown(const char *file)
{
	return !file[0] || !strcmp(file, "??");
}

/*
 * Return whether @name ends with @bare, with qualifiers such as "outer::(anonymous namespace)::" in
 * front.
 */
static bool is_qualified(const char *name, const char *bare)
{
	size_t bytes = strlen(name), bare_bytes = strlen(bare);

	return bytes > bare_bytes + 2 && !strcmp(name + bytes - bare_bytes, bare) &&
	       !strncmp(name + bytes - bare_bytes - 2, "::", 2);
}

/* Return whether frame @i, counted from the innermost, equals the tool's frame. */
static bool is_same_frame(
	const struct tool *tool, unsigned i, const struct symbols_frame *frame, bool is_outermost)
{
	const struct place *place = &tool->places[i];
	const char *outermost = tool->places[tool->count - 1].name;

	if (frame->line != place->line ||
		(strcmp(base(frame->file), place->file) != 0 && place->line))
		return false;
	if (is_outermost || !strcmp(frame->name, place->name) ||
		is_qualified(frame->name, place->name))
		return true;
	return tool->takes_symbols && strncmp(frame->name, "_Z", 2) != 0 &&
	       !strcmp(place->name, outermost);
}

static bool is_same_chain(
	const struct tool *tool, const struct symbols_frame *frames, uint32_t count)
{
	if (!count || (count == 1 && is_unknown(frames[0].file)))
		return tool->count == 1 && !tool->places[0].line;
	if (tool->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!is_same_frame(tool, i, &frames[count - 1 - i], i + 1 == count))
			return false;
	return true;
}

static void print_difference(const struct tool *tool, uint64_t address,
	const struct symbols_frame *frames, uint32_t count)
{
	print_error("%#lx: %s\n", (unsigned long)address, tool->command);
	for (uint32_t i = 0; i < count || i < tool->count; i++) {
		const struct symbols_frame *frame = i < count ? &frames[count - 1 - i] : NULL;

		if (frame)
			print_error("    ours   %s %s:%u\n", frame->name, frame->file, frame->line);
		if (i < tool->count)
			print_error("    theirs %s %s:%u\n", tool->places[i].name,
				tool->places[i].file, tool->places[i].line);
	}
}

/*
 * Compare the chains at @addresses of the file @name with those of @tool. Returns the number of
 * chains with inlined functions.
 */
static unsigned compare(const char *name, struct tool *tool, const uint64_t *addresses,
	size_t count, const struct inlines *inlines)
{
	char command[512];
	unsigned with_inlines = 0, different = 0;

	snprintf(command, sizeof(command), "cd %s && %s %s <addresses", fixture_folder,
		tool->command, name);
	tool->output = popen(command, "r");
	assert_non_null(tool->output);
	read_line(tool);
	for (size_t i = 0; i < count; i++) {
		const struct symbols_frame *frames = inlines->chains[i].frames;
		uint32_t frame_count = inlines->chains[i].count;

		read_places(tool, addresses[i]);
		with_inlines += frame_count > 1;
		if (!is_same_chain(tool, frames, frame_count) && different++ < 3)
			print_difference(tool, addresses[i], frames, frame_count);
	}
	pclose(tool->output);
	assert_int_equal(different, 0);
	return with_inlines;
}

/*
 * Write every @step-th address of .text to the file "addresses". Returns their number; *@addresses
 * gets them, owned by the caller.
 */
static size_t text_addresses(const struct elf_file *file, uint64_t step, uint64_t **addresses)
{
	GElf_Shdr header;
	FILE *list = fopen(fixture_path("addresses"), "w");
	size_t count = 0;

	assert_non_null(elf_file_section(file, ".text", &header));
	*addresses = calloc(header.sh_size / step + 1, sizeof(**addresses));
	assert_true(*addresses && list);
	for (uint64_t at = 0; at < header.sh_size; at += step) {
		(*addresses)[count++] = header.sh_addr + at;
		fprintf(list, "0x%lx\n", (unsigned long)(header.sh_addr + at));
	}
	fclose(list);
	return count;
}

static bool has_command(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	return !system(command);
}

/*
 * Compare with llvm-symbolizer if it is installed, and with addr2line if @is_for_binutils is set.
 */
static void check_program(const char *name, uint64_t step, bool is_for_binutils)
{
	static const char *const llvm = "llvm-symbolizer --inlines --no-demangle -a "
					"--output-style=GNU -e";
	struct tool tools[] = {
		{.command = "addr2line -fia -e", .takes_symbols = true}, {.command = llvm}};
	struct inlines_request request = {.style = DEMANGLE_NONE};
	struct inlines *inlines;
	struct elf_file file;
	uint64_t *addresses;

	assert_int_equal(elf_file_open(&file, fixture_path(name), 0), 0);
	request.file = &file;
	request.count = text_addresses(&file, step, &addresses);
	request.addresses = addresses;
	assert_int_equal(inlines_read(&request, &inlines), 0);
	if (is_for_binutils)
		assert_true(compare(name, &tools[0], addresses, request.count, inlines) > 100);
	if (has_command("llvm-symbolizer"))
		assert_true(compare(name, &tools[1], addresses, request.count, inlines) > 100);
	inlines_free(inlines);
	elf_file_close(&file);
	free(addresses);
}

/* Write @source to @file and compile it. Returns false if @compiler is not installed. */
static bool build(const char *compiler, const char *file, const char *source, const char *options)
{
	if (!has_command(compiler))
		return false;
	fixture_write(file, source);
	fixture_run("GOCACHE=$PWD/cache %s %s %s 2>/dev/null", compiler, options, file);
	return true;
}

/*
 * For functions whose full name no tool prints, the name must be the one that a symbol table would
 * have.
 */
static void test_names(void **state)
{
	static const char *const names[] = {"outer::fib",
		"outer::(anonymous namespace)::box<double, 32>::square",
		"outer::(anonymous namespace)::local::far", "main::inner::twice", "main"};
	struct inlines_request request = {.style = DEMANGLE_NONE};
	struct inlines *inlines;
	struct elf_file file;
	uint64_t *addresses;

	(void)state;
	assert_true(build("g++", "b.cc", source_cxx, "-O2 -g -o b"));
	assert_int_equal(elf_file_open(&file, fixture_path("b"), 0), 0);
	request.file = &file;
	request.count = text_addresses(&file, 1, &addresses);
	request.addresses = addresses;
	assert_int_equal(inlines_read(&request, &inlines), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool is_there = false;

		for (size_t j = 0; j < request.count; j++)
			for (uint32_t k = 0; k < inlines->chains[j].count; k++)
				is_there |= !strcmp(inlines->chains[j].frames[k].name, names[i]);
		if (!is_there)
			fail_msg("there is no %s", names[i]);
	}
	inlines_free(inlines);
	elf_file_close(&file);
	free(addresses);
}

static void test_gcc(void **state)
{
	(void)state;
	if (build("gcc", "a.c", source_c, "-O2 -g -o a"))
		check_program("a", 1, true);
	/*
	 * Use -fno-partial-inlining, because the tools show a part that was moved out of a function
	 * as a recursive call.
	 */
	if (build("g++", "b.cc", source_cxx, "-O2 -g -fno-partial-inlining -o b"))
		check_program("b", 1, true);
	if (build("g++", "b.cc", source_cxx,
		    "-O3 -gdwarf-3 -gno-strict-dwarf -fno-partial-inlining "
		    "-o b3"))
		check_program("b3", 3, true);
}

static void test_clang(void **state)
{
	(void)state;
	if (build("clang++", "b.cc", source_cxx, "-O1 -gdwarf-4 -o c4"))
		check_program("c4", 1, true);
	if (build("clang++", "b.cc", source_cxx, "-O2 -gdwarf-5 -o c5"))
		check_program("c5", 1, false);
	if (build("clang++", "b.cc", source_cxx, "-O2 -gdwarf-5 -gsplit-dwarf -o cs"))
		check_program("cs", 1, false);
}

static void test_others(void **state)
{
	(void)state;
	if (build("gfortran", "f.f90", source_fortran, "-O2 -g -o f"))
		check_program("f", 1, true);
	if (build("rustc", "r.rs", source_rust, "-O -g -o r"))
		check_program("r", 61, true);
	if (build("go", "g.go", source_go, "build -o g"))
		check_program("g", 61, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_gcc),
		cmocka_unit_test(test_clang),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
