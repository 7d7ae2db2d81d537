/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Find Ruby's structures in a made-up module, from its exported symbols and from the x86_64 code
 * and the sizes of its functions:
 *
 * rb_iseq_eval   calls push_frame, jumps to exec;   exec calls small, core
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/runtime/ruby_find.c"

#define SYMBOLS_MAX 12u

enum {
	DURING_GC,
	COUNT,
	EVAL,
	PUSH_FRAME,
	EXEC,
	SMALL,
	CORE,
	BEHIND,
	FUNCTIONS
};

/* Offset of each function in the code. */
static const unsigned starts[FUNCTIONS] = {0, 64, 128, 256, 512, 1024, 2048, 2048 + 9000};

struct module {
	uint8_t code[12288];
	struct {
		struct {
			uint8_t version, pointer, count_encoding, table;
			int32_t eh_frame;
			uint32_t count;
		} head;
		int32_t entry[FUNCTIONS][2];
	} hdr;
	uintptr_t vm, symbols_table;
	uint32_t version[3];
	uint8_t yjit, rjit;
	Elf64_Sym symbol[SYMBOLS_MAX];
	char strings[512];
	struct {
		uint32_t head[4];
		uint64_t bloom;
		uint32_t bucket, chain[SYMBOLS_MAX];
	} hash;
};

struct fixture {
	struct module module;
	unsigned count, strings_used;
	struct runtime_symbols symbols;
	struct runtime found;
};

static void export(struct fixture *fixture, const char *name, const void *address, uint64_t bytes)
{
	struct module *module = &fixture->module;
	unsigned i = ++fixture->count;
	uint32_t hash = 5381;

	assert_in_range(i, 1, SYMBOLS_MAX - 1);
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	module->symbol[i] = (Elf64_Sym){.st_name = fixture->strings_used,
		.st_shndx = 1,
		.st_value = (uintptr_t)address,
		.st_size = bytes};
	strcpy(module->strings + fixture->strings_used, name);
	fixture->strings_used += (unsigned)strlen(name) + 1;
	/* Bit 0 marks the last entry of a chain. */
	module->hash.chain[i - 1] = hash | 1;
	if (i > 1)
		module->hash.chain[i - 2] &= ~1u;
}

/* Write an instruction that ends with the distance to @target. Returns the address behind it. */
static uint8_t *put_code(uint8_t *at, const char *opcode, size_t bytes, const void *target)
{
	int32_t distance = (int32_t)((uintptr_t)target - (uintptr_t)(at + bytes + 4));

	memcpy(at, opcode, bytes);
	memcpy(at + bytes, &distance, sizeof(distance));
	return at + bytes + sizeof(distance);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct module *module = &fixture->module;
	uint8_t *code = module->code, *at;

	*state = fixture;
	fixture->strings_used = 1;
	fixture->symbols = (struct runtime_symbols){.symbols = (uintptr_t)module->symbol,
		.strings = (uintptr_t)module->strings,
		.hash = (uintptr_t)&module->hash,
		.buckets = 1,
		.first = 1,
		.bloom_words = 1,
		.eh_frame_hdr = (uintptr_t)&module->hdr};
	module->hash.bloom = ~0ULL;
	module->hash.bucket = 1;
	module->hdr.head.version = 1;
	module->hdr.head.count_encoding = 0x03;
	module->hdr.head.table = 0x3b;
	module->hdr.head.count = FUNCTIONS;
	for (unsigned i = 0; i < FUNCTIONS; i++)
		module->hdr.entry[i][0] =
			(int32_t)((uintptr_t)(code + starts[i]) - (uintptr_t)&module->hdr);
	memset(code, 0x90, sizeof(module->code));
	put_code(code + starts[DURING_GC], "\xf3\x0f\x1e\xfa\x48\x8d\x05", 7, &module->vm);
	put_code(code + starts[COUNT], "\xf3\x0f\x1e\xfa\x8b\x05", 6, &module->symbols_table);
	at = put_code(code + starts[EVAL] + 10, "\xe8", 1, code + starts[PUSH_FRAME]);
	put_code(at + 3, "\xe9", 1, code + starts[EXEC]);
	at = put_code(code + starts[EXEC] + 7, "\xe8", 1, code + starts[SMALL]);
	put_code(at + 1, "\xe8", 1, code + starts[CORE]);
	memcpy(module->version, (uint32_t[]){3, 3, 0}, sizeof(module->version));
	export(fixture, "ruby_api_version", module->version, sizeof(module->version));
	export(fixture, "rb_during_gc", code + starts[DURING_GC], 40);
	export(fixture, "rb_sym_immortal_count", code + starts[COUNT], 11);
	export(fixture, "rb_iseq_eval", code + starts[EVAL], 100);
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static int find(struct fixture *fixture)
{
	struct runtime_reader reader;

	if (!ARCH_RUBY_IS_KNOWN)
		skip();
	runtime_reader_init(&reader, getpid(), 0);
	fixture->found = (struct runtime){.kind = NULL};
	return ruby_find(&fixture->found, &reader, &fixture->symbols);
}

static void test_by_code(void **state)
{
	struct fixture *fixture = *state;
	struct module *module = &fixture->module;
	const struct runtime *found = &fixture->found;

	assert_int_equal(find(fixture), 0);
	assert_int_equal(found->version, 303);
	assert_int_equal(ruby_layout(found)->version, 303);
	assert_int_equal(found->entry, (uintptr_t)module->code + starts[EXEC]);
	assert_int_equal(found->entry_end, (uintptr_t)module->code + starts[EXEC + 1]);
	assert_int_equal(found->objects[RUBY_VM], (uintptr_t)&module->vm);
	assert_int_equal(found->objects[RUBY_JIT], 0);
	assert_int_equal(found->base, (uintptr_t)&module->vm);
	assert_int_equal(found->base_bytes, sizeof(module->vm));
	assert_int_equal(found->code_type, (uintptr_t)&module->symbols_table);
}

/* Executables load the variable directly instead of through the GOT, into any register. */
static void test_another_load(void **state)
{
	struct fixture *fixture = *state;
	uint8_t *code = fixture->module.code;

	put_code(code + starts[DURING_GC], "\x48\x8b\x15", 3, &fixture->module.vm);
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->found.objects[RUBY_VM], (uintptr_t)&fixture->module.vm);
	code[starts[DURING_GC]] = 0x90;
	assert_int_equal(find(fixture), -ENOTSUP);
}

static void test_by_name(void **state)
{
	struct fixture *fixture = *state;
	struct module *module = &fixture->module;

	module->version[1] = 1;
	memset(module->code, 0x90, sizeof(module->code));
	export(fixture, "ruby_current_vm_ptr", &module->symbols_table, sizeof(module->vm));
	export(fixture, "rb_vm_exec", module->code + 4, 33);
	assert_int_equal(find(fixture), 0);
	assert_int_equal(ruby_layout(&fixture->found)->version, 301);
	assert_int_equal(fixture->found.objects[RUBY_VM], (uintptr_t)&module->symbols_table);
	assert_int_equal(fixture->found.entry, (uintptr_t)module->code + 4);
	assert_int_equal(fixture->found.entry_end, (uintptr_t)module->code + 37);
	assert_int_equal(fixture->found.code_type, 0);
}

static void test_flags_of_compilers(void **state)
{
	struct fixture *fixture = *state;
	struct module *module = &fixture->module;

	export(fixture, "rb_rjit_opts", &module->rjit, 40);
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->found.objects[RUBY_JIT], (uintptr_t)&module->rjit);
	assert_int_equal(fixture->found.objects[RUBY_JIT + 1], 0);
	assert_int_equal(fixture->found.base, (uintptr_t)&module->vm);
	assert_int_equal(
		fixture->found.base_bytes, (uintptr_t)&module->rjit + 1 - (uintptr_t)&module->vm);
	/* A flag that is far away from the variable is not in the module's data. */
	export(fixture, "rb_yjit_enabled_p", (void *)((uintptr_t)&module->vm - (4u << 20)), 1);
	assert_int_equal(find(fixture), -ENOTSUP);
}

static void test_unknown_releases(void **state)
{
	struct fixture *fixture = *state;

	fixture->module.version[1] = 2;
	assert_int_equal(find(fixture), -ENOTSUP);
	fixture->module.version[0] = 4;
	assert_int_equal(find(fixture), -ENOTSUP);
	assert_int_equal(fixture->found.version, 402);
	fixture->module.symbol[1].st_size = 4;
	assert_int_equal(find(fixture), -ENOENT);
	fixture->module.symbol[1].st_size = sizeof(fixture->module.version);
	fixture->module.symbol[1].st_shndx = SHN_UNDEF;
	assert_int_equal(find(fixture), -ENOENT);
}

static void test_unknown_code(void **state)
{
	struct fixture *fixture = *state;
	struct module *module = &fixture->module;
	uint8_t *exec = module->code + starts[EXEC];

	/* Refuse a function that calls the middle of a large function. */
	put_code(exec + 13, "\xe8", 1, module->code + starts[CORE] + 16);
	assert_int_equal(find(fixture), -ENOTSUP);
	put_code(exec + 13, "\xe8", 1, module->code + starts[CORE]);
	assert_int_equal(find(fixture), 0);
	/* No function that it calls is large. */
	module->hdr.entry[BEHIND][0] =
		module->hdr.entry[CORE][0] + (int32_t)EVALUATOR_BYTES_MIN - 1;
	assert_int_equal(find(fixture), -ENOTSUP);
	module->hdr.entry[BEHIND][0]++;
	assert_int_equal(find(fixture), 0);
	/* There is no table of functions. */
	fixture->symbols.eh_frame_hdr = 0;
	assert_int_equal(find(fixture), -ENOTSUP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_by_code),
		TEST(test_another_load),
		TEST(test_by_name),
		TEST(test_flags_of_compilers),
		TEST(test_unknown_releases),
		TEST(test_unknown_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
