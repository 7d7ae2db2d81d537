/* SPDX-License-Identifier: MIT */
/*
 * Read gdb's list of ELF files at each announcement, as gdb does. This program itself defines the
 * interface's two symbols, as a program with another JIT compiler does, so the library must use
 * these.
 */
#include <gelf.h>

#include "arch/stub.h"
#include "tests/unit/stub-chain.h"

struct jit_entry {
	struct jit_entry *next, *prev;
	const char *file;
	uint64_t bytes;
};

struct jit_list {
	uint32_t version;
	uint32_t action;
	struct jit_entry *relevant, *first;
};

struct jit_list __jit_debug_descriptor = {.version = 1};
void __jit_debug_register_code(void);

static unsigned registered, unregistered;

static int is_listed(const struct jit_entry *wanted)
{
	const struct jit_entry *before = NULL;
	int found = 0;

	for (const struct jit_entry *entry = __jit_debug_descriptor.first; entry;
		before = entry, entry = entry->next) {
		assert_ptr_equal(entry->prev, before);
		found |= entry == wanted;
	}
	return found;
}

void __jit_debug_register_code(void)
{
	int listed = is_listed(__jit_debug_descriptor.relevant);

	assert_in_range(__jit_debug_descriptor.action, 1, 2);
	assert_int_equal(listed, __jit_debug_descriptor.action == 1);
	registered += __jit_debug_descriptor.action == 1;
	unregistered += __jit_debug_descriptor.action == 2;
}

static unsigned count_files(void)
{
	unsigned count = 0;

	/* Outside announcements the descriptor must contain no action. */
	assert_int_equal(__jit_debug_descriptor.action, 0);
	for (const struct jit_entry *entry = __jit_debug_descriptor.first; entry;
		entry = entry->next)
		count++;
	assert_int_equal(registered - unregistered, count);
	return count;
}

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		gelf_getshdr(section, header);
		if (!strcmp(elf_strptr(elf, names, header->sh_name), name))
			return section;
	}
	return NULL;
}

/*
 * Count the symbols of the file that are called @name and have the address @address. Also check the
 * whole file.
 */
static unsigned check_file(const struct jit_entry *entry, const char *name, uintptr_t address)
{
	Elf *elf = elf_memory((char *)entry->file, entry->bytes);
	GElf_Shdr text, symbols, frames;
	GElf_Ehdr header;
	Elf_Scn *section;
	Elf_Data *data;
	unsigned found = 0;

	assert_non_null(elf);
	assert_non_null(gelf_getehdr(elf, &header));
	assert_int_equal(header.e_type, ET_EXEC);
	assert_int_equal(header.e_machine, ARCH_ELF_MACHINE);
	assert_non_null(section_named(elf, ".text", &text));
	assert_int_equal(text.sh_type, SHT_NOBITS);
	assert_non_null(section_named(elf, ".eh_frame", &frames));
	assert_int_equal(frames.sh_addr, (uintptr_t)entry->file + frames.sh_offset);
	section = section_named(elf, ".symtab", &symbols);
	assert_non_null(section);
	data = elf_getdata(section, NULL);
	for (size_t i = 1; i < symbols.sh_size / symbols.sh_entsize; i++) {
		GElf_Sym symbol;

		gelf_getsym(data, i, &symbol);
		assert_in_range(symbol.st_value, text.sh_addr, text.sh_addr + text.sh_size - 1);
		found += symbol.st_value == address &&
			!strcmp(elf_strptr(elf, symbols.sh_link, symbol.st_name), name);
	}
	elf_end(elf);
	return found;
}

static unsigned count_symbol(const char *name, const void *address)
{
	unsigned found = 0;

	for (const struct jit_entry *entry = __jit_debug_descriptor.first; entry;
		entry = entry->next)
		found += check_file(entry, name, (uintptr_t)address);
	return found;
}

static void test_existing_and_new(void **state)
{
	chain_function *stub;

	(void)state;
	chain_make();
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_GDB), 0);
	assert_int_equal(registered, 1);
	assert_int_equal(count_files(), 1);
	assert_int_equal(count_symbol("chain_0", (void *)chain_stub[0]), 1);
	assert_int_equal(count_symbol("chain_2", (void *)chain_stub[2]), 1);
	stub = chain_new_stub("new", 0);
	assert_int_equal(count_symbol("new", (void *)stub), 1);
	assert_int_equal(count_symbol("chain_0", (void *)chain_stub[0]), 1);
	assert_int_equal(count_files(), 1);
	chain_free_stub(stub);
	assert_int_equal(count_symbol("new", (void *)stub), 0);
	assert_int_equal(count_symbol("chain_2", (void *)chain_stub[2]), 1);
}

static void test_many(void **state)
{
	chain_function *stubs[1000];
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "many_%u", i);
		stubs[i] = chain_new_stub(name, i);
	}
	/* One file describes many stubs. */
	assert_in_range(count_files(), 15, 40);
	assert_int_equal(count_symbol("many_777", (void *)stubs[777]), 1);
	for (unsigned i = 0; i < 1000; i++)
		chain_free_stub(stubs[i]);
	assert_int_equal(count_symbol("many_777", (void *)stubs[777]), 0);
	assert_int_equal(count_files(), 1);
}

static void test_code_of_the_host(void **state)
{
	static char code[256];

	(void)state;
	/*
	 * For code without call-frame information the file has no .eh_frame, so that gdb reads the
	 * prologue.
	 */
	assert_int_equal(flameprof_code_add(code, sizeof(code), "host's", NULL), 0);
	assert_int_equal(count_files(), 2);

	const struct jit_entry *entry = __jit_debug_descriptor.first;
	Elf *elf = elf_memory((char *)entry->file, entry->bytes);
	GElf_Shdr header;

	assert_null(section_named(elf, ".eh_frame", &header));
	assert_non_null(section_named(elf, ".text", &header));
	assert_int_equal(header.sh_addr, (uintptr_t)code);
	assert_int_equal(header.sh_size, sizeof(code));
	elf_end(elf);
	assert_int_equal(flameprof_code_remove(code), 0);
	assert_int_equal(count_files(), 1);
}

static void test_arena_ends(void **state)
{
	(void)state;
	chain_drop();
	assert_int_equal(count_files(), 0);
	assert_int_equal(registered, unregistered);
}

static int setup(void **state)
{
	(void)state;
	return elf_version(EV_CURRENT) == EV_NONE;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_existing_and_new),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_code_of_the_host),
		cmocka_unit_test(test_arena_ends),
	};

	return cmocka_run_group_tests_name("publish_gdb", tests, setup, NULL);
}
