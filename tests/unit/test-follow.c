/* SPDX-License-Identifier: MIT */
/*
 * Compare arch_follow_code() with the call-frame information of some libraries, which gives the
 * caller's registers at every instruction. Also run arch_follow_code() on bytes that are no code.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/epilogue.h"
#include "libprof/unwind/cfi_run.h"
#include "libprof/unwind/memory.h"

#if defined(__x86_64__)

static int load(const void *context, uintptr_t address, uintptr_t *word)
{
	(void)context;
	memcpy(word, (const void *)address, sizeof(*word));
	return 0;
}

struct sum {
	unsigned long functions, places, found;
};

static bool is_offset(const struct cfi_row *row, unsigned slot, int32_t *value)
{
	int32_t rule = row->rules.register_rule[slot];

	*value = cfi_rule_value(rule);
	return cfi_rule_kind(rule) == CFI_RULE_OFFSET;
}

/*
 * At @pc, compare the frame that arch_follow_code() derives from the code with the call-frame
 * information. If the function has stored its caller's frame pointer but not changed the register
 * yet, @copied is the offset of the stored value below the CFA; otherwise 0.
 */
static void compare(
	const struct unwind_module *module, uintptr_t pc, int32_t copied, struct sum *sum)
{
	const struct arch_text text = {module->start, module->end, load, NULL};
	struct arch_epilogue found;
	struct cfi_row row;
	int32_t value, saved;

	if (cfi_find_row(module, pc, &row) || row.signal || row.rules.cfa_expression ||
		row.rules.cfa_reg != ARCH_DWARF_SP)
		return;
	sum->places++;
	if (arch_follow_code(&text, pc, &found))
		return;
	sum->found++;
	if ((int32_t)found.cfa != row.rules.cfa_value)
		print_error("%#lx: CFA %u, by information %d\n", (unsigned long)(pc - module->bias),
			found.cfa, row.rules.cfa_value);
	assert_int_equal(found.cfa, row.rules.cfa_value);
	assert_int_equal(found.ra, 8);
	if (!found.fp)
		return;
	saved = is_offset(&row, arch_cfi_slot(ARCH_DWARF_FP), &value) ? -value : copied;
	if (saved != (int32_t)found.fp)
		print_error("%#lx: fp at %u, by information %d\n",
			(unsigned long)(pc - module->bias), found.fp, saved);
	assert_int_equal(found.fp, saved);
}

/*
 * gcc 15 stores the frame pointer some instructions before the call-frame information says so. The
 * call-frame information says so only where the register gets another value. Returns the new value
 * of @copied after @instruction at @pc.
 */
static int32_t copied_after(const struct unwind_module *module, uintptr_t pc,
	const struct arch_instruction *instruction, int32_t copied)
{
	struct cfi_row row;

	switch (instruction->effect) {
	case ARCH_EFFECT_SAVE_FP:
		return !cfi_find_row(module, pc, &row) && !row.rules.cfa_expression &&
				       row.rules.cfa_reg == ARCH_DWARF_SP
			       ? row.rules.cfa_value - (int32_t)instruction->value
			       : 0;
	case ARCH_EFFECT_NONE:
	case ARCH_EFFECT_NOP:
	case ARCH_EFFECT_SP:
	case ARCH_EFFECT_BRANCH:
		return copied;
	default:
		return 0;
	}
}

static bool is_padding(const uint8_t *code)
{
	static const uint8_t forms[][2] = {
		{0x0f, 0x1f}, {0x66, 0x90}, {0x66, 0x0f}, {0x66, 0x66}, {0x66, 0x2e}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (!memcmp(code, forms[i], 2))
			return true;
	return code[0] == 0x90 || code[0] == 0xcc;
}

/*
 * At each instruction from @pc up to the last return before @end, compare what the code and the
 * call-frame information say. Padding may follow the last return.
 */
static void compare_function(
	const struct unwind_module *module, uintptr_t pc, uintptr_t end, struct sum *sum)
{
	bool goes_on = true;
	int32_t copied = 0;

	while (pc < end) {
		struct arch_instruction instruction =
			arch_decode((const uint8_t *)pc, (unsigned)(end - pc));
		bool is_filler = !goes_on && is_padding((const uint8_t *)pc);

		if (!is_filler) {
			compare(module, pc, copied, sum);
			goes_on = instruction.effect != ARCH_EFFECT_JUMP &&
				  instruction.effect != ARCH_EFFECT_CALL && /* of abort() */
				  instruction.effect != ARCH_EFFECT_CALL_INDIRECT &&
				  instruction.effect != ARCH_EFFECT_JUMP_INDIRECT &&
				  instruction.effect != ARCH_EFFECT_STOP &&
				  instruction.effect != ARCH_EFFECT_RETURN &&
				  instruction.effect != ARCH_EFFECT_UNKNOWN;
		}
		if (!instruction.bytes)
			break;
		copied = copied_after(module, pc, &instruction, copied);
		pc += instruction.bytes;
	}
}

/*
 * For each function in the .eh_frame_hdr table of the module that contains @address, compare what
 * the code and the call-frame information say.
 */
static void compare_module(const void *address, struct sum *sum)
{
	struct unwind_module module;
	const uint8_t *header;
	uint32_t count;

	assert_int_equal(unwind_find_object((uintptr_t)address, &module, NULL), 0);
	header = (const uint8_t *)module.eh_frame_hdr;
	assert_int_equal(header[3], 0x3b);
	memcpy(&count, header + 8, sizeof(count));
	for (uint32_t i = 0; i + 1 < count; i++) {
		int32_t start, next;
		uintptr_t pc, end;

		memcpy(&start, header + 12 + 8 * i, sizeof(start));
		memcpy(&next, header + 20 + 8 * i, sizeof(next));
		pc = (uintptr_t)header + (uintptr_t)(intptr_t)start;
		end = (uintptr_t)header + (uintptr_t)(intptr_t)next;
		sum->functions++;
		compare_function(&module, pc, end, sum);
	}
}

static void it_says_what_call_frame_information_says(void **state)
{
	/*
	 * Compare compiled libraries only: the call-frame information of glibc's assembly code
	 * omits some pushes.
	 */
	static const char *const libraries[][2] = {{"libcairo.so.2", "cairo_create"},
		{"libdw.so.1", "dwarf_begin"}, {"libelf.so.1", "elf_begin"},
		{"libz.so.1", "inflate"}, {"liblzma.so.5", "lzma_code"}, {"libm.so.6", "sin"}};
	struct sum sum = {0};

	(void)state;
	compare_module((void *)(uintptr_t)compare_module, &sum);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i][0], RTLD_NOW);

		assert_non_null(library);
		compare_module(dlsym(library, libraries[i][1]), &sum);
		dlclose(library);
	}
	print_message("%lu functions, %lu places, %lu ways found\n", sum.functions, sum.places,
		sum.found);
	assert_true(sum.found > 10000 && sum.found > sum.places / 5);
}

struct form {
	const char *what;
	uint8_t code[32];
	unsigned bytes;
	struct arch_epilogue epilogue;
};

#define CODE(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static int follow(const struct form *form, struct arch_epilogue *out)
{
	uint64_t words[5] = {0};
	const struct arch_text text = {
		(uintptr_t)words, (uintptr_t)words + form->bytes, load, NULL};

	memcpy(words, form->code, form->bytes);
	return arch_follow_code(&text, (uintptr_t)words, out);
}

static void a_frame_pointer_is_where_it_was(void **state)
{
	static const struct form forms[] = {
		{"xor %ebp,%ebp; pop %rbp; ret", CODE(0x31, 0xed, 0x5d, 0xc3), {16, 8, 16, true}},
		{"mov 8(%rsp),%rbp; add $24,%rsp; ret",
			CODE(0x48, 0x8b, 0x6c, 0x24, 8, 0x48, 0x83, 0xc4, 24, 0xc3),
			{32, 8, 24, true}},
		{"pop %rbp; push %rbp; nop; pop %rbp; ret: a tail call into another function",
			CODE(0x5d, 0x55, 0x90, 0x5d, 0xc3), {16, 8, 16, true}},
		{"pop %rbp; push %rbp; mov %rsp,%rbp: the same, whatever follows",
			CODE(0x5d, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0), {16, 8, 16, true}},
		{"push %rbp; mov %rsp,%rbp: a function's first instruction",
			CODE(0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0), {8, 8, 0, true}},
		{"push %rbp; xor %ebp,%ebp; pop %rbp; ret: it is still in its register",
			CODE(0x55, 0x31, 0xed, 0x5d, 0xc3), {8, 8, 0, true}},
		{"mov %rbp,-8(%rsp); mov %rbx,%rbp; mov -8(%rsp),%rbp; ret",
			CODE(0x48, 0x89, 0x6c, 0x24, 0xf8, 0x48, 0x89, 0xdd, 0x48, 0x8b, 0x6c, 0x24,
				0xf8, 0xc3),
			{8, 8, 0, true}},
		{"push %rbp; xor %ebp,%ebp; mov %rbp,-16(%rsp); pop %rbp; ret: another value is "
		 "saved, too",
			CODE(0x55, 0x31, 0xed, 0x48, 0x89, 0x6c, 0x24, 0xf0, 0x5d, 0xc3),
			{8, 8, 0, true}},
		{"and $0xff,%ch; mov %al,%ah; mov $1,%ch; sete %ah; add %ch,%ah; xchg %ch,%al; ret",
			CODE(0x80, 0xe5, 0xff, 0x88, 0xc4, 0xb5, 1, 0x0f, 0x94, 0xc4, 0x02, 0xe5,
				0x86, 0xe8, 0xc3),
			{8, 8, 0, true}},
		{"call to a ret; pop %rbp; ret", CODE(0xe8, 2, 0, 0, 0, 0x5d, 0xc3, 0xc3),
			{16, 8, 16, true}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct arch_epilogue found = {0};

		print_message("%s\n", forms[i].what);
		assert_int_equal(follow(&forms[i], &found), 0);
		assert_memory_equal(&found, &forms[i].epilogue, sizeof(found));
	}
}

static void what_is_not_sure_is_not_said(void **state)
{
	static const struct form none[] = {
		{"leave; ret", CODE(0xc9, 0xc3), {0}},
		{"mov %rbp,%rsp; ret", CODE(0x48, 0x89, 0xec, 0xc3), {0}},
		{"and $-32,%rsp; ret", CODE(0x48, 0x83, 0xe4, 0xe0, 0xc3), {0}},
		{"lea (%rsp,%rax,8),%rsp; ret", CODE(0x48, 0x8d, 0x24, 0xc4, 0xc3), {0}},
		{"mov 8(%rsp),%rsp; ret", CODE(0x48, 0x8b, 0x64, 0x24, 8, 0xc3), {0}},
		{"xchg %rax,%rsp; ret", CODE(0x48, 0x94, 0xc3), {0}},
		{"pop %rsp; ret", CODE(0x5c, 0xc3), {0}},
		{"xor %ebp,%ebp; ret", CODE(0x31, 0xed, 0xc3), {0}},
		{"and $0xff,%bpl; ret", CODE(0x40, 0x80, 0xe5, 0xff, 0xc3), {0}},
		{"mov $1,%spl; ret", CODE(0x40, 0xb4, 1, 0xc3), {0}},
		{"sete %bpl; ret", CODE(0x40, 0x0f, 0x94, 0xc5, 0xc3), {0}},
		{"add $1,%bp; ret", CODE(0x66, 0x83, 0xc5, 1, 0xc3), {0}},
		{"call *%rax; ret", CODE(0xff, 0xd0, 0xc3), {0}},
		{"jmp *%rax", CODE(0xff, 0xe0), {0}},
		{"call to itself", CODE(0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3), {0}},
		{"jmp to itself", CODE(0xeb, 0xfe), {0}},
		{"jmp out of all code", CODE(0xe9, 0, 0, 0, 0x40), {0}},
		{"a return below its address", CODE(0x50, 0xc3), {0}},
		{"pop %rbp of the way's own push of something else", CODE(0x50, 0x5d, 0xc3), {0}},
		{"xor %ebp,%ebp; mov %rbp,(%rsp); pop %rbp; ret",
			CODE(0x31, 0xed, 0x48, 0x89, 0x2c, 0x24, 0x5d, 0xc3), {0}},
		{"mov %rbp,(%rsp); mov %rbp,-8(%rsp); pop %rbp; ret",
			CODE(0x48, 0x89, 0x2c, 0x24, 0x48, 0x89, 0x6c, 0x24, 0xf8, 0x5d, 0xc3),
			{0}},
		{"1: sub $8,%rsp; cmp %r11,%rsp; jne 1b; add $8,%rsp; ret",
			CODE(0x48, 0x83, 0xec, 8, 0x4c, 0x39, 0xdc, 0x75, 0xf7, 0x48, 0x83, 0xc4, 8,
				0xc3),
			{0}},
		{"push %rax; mov %rsp,%rbp", CODE(0x50, 0x48, 0x89, 0xe5, 0xff, 0xd0), {0}},
		{"ud2; int3; hlt", CODE(0x0f, 0x0b, 0xc3), {0}},
		{"int3", CODE(0xcc, 0xc3), {0}},
		{"hlt", CODE(0xf4, 0xc3), {0}},
		{"vpperm, another prefix of that byte",
			CODE(0x8f, 0xe8, 0xf8, 0xa3, 0x2a, 0x10, 0xc3), {0}},
		{"cut off", CODE(0x48, 0x83, 0xc4), {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct arch_epilogue found;

		print_message("%s\n", none[i].what);
		assert_int_equal(follow(&none[i], &found), -ENOENT);
	}
}

/* For random bytes, reads must stay inside the text and the search must end. */
static void any_bytes_have_an_end(void **state)
{
	unsigned found = 0;

	(void)state;
	srand(1);
	for (unsigned n = 0; n < 20000; n++) {
		struct form form = {.bytes = 1 + (unsigned)rand() % 32};
		struct arch_epilogue out;

		for (unsigned i = 0; i < form.bytes; i++)
			form.code[i] = (uint8_t)(rand() >> 7);
		if (rand() % 2)
			form.code[form.bytes - 1] = 0xc3;
		found += !follow(&form, &out);
	}
	assert_in_range(found, 100, 15000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_pointer_is_where_it_was),
		cmocka_unit_test(what_is_not_sure_is_not_said),
		cmocka_unit_test(any_bytes_have_an_end),
		cmocka_unit_test(it_says_what_call_frame_information_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

int main(void)
{
	/* arch_follow_code() of aarch64 follows too little code for a comparison */
	return 0;
}

#endif
