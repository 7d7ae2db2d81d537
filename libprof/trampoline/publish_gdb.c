/* SPDX-License-Identifier: MIT */
/*
 * gdb's JIT interface: a list of ELF files in memory, and a function in which gdb sets a
 * breakpoint. gdb reads a file when it is announced, or when gdb attaches. After that, a file is
 * never changed, only replaced. Source: gdb's manual, "JIT Interface".
 *
 * A region is announced in parts of up to 64 slots. One file for each stub would make attaching
 * slow, and one file for each chunk would make each new name slow.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "arch/stub.h"
#include "libprof/trampoline/publish.h"
#include "libprof/trampoline/publish_cfi.h"
#include "libprof/trampoline/region.h"

/* ---- the file that gdb is shown -------------------------------------------------------------- */
/* The ELF file with the names and call-frame information of some stubs. */

/*
 * Source: gdb's manual, "JIT Interface"; ELF-64 Object File Format. The file's type is ET_EXEC, so
 * that gdb does not relocate the addresses:
 *
 *	ELF header | symbols | their names | sections' names | .eh_frame | section headers
 */

/* Describes one ELF file for gdb: @count slots of a region, at most 64, from slot @first on. */
struct publish_gdb_part {
	const struct region *region;
	uint32_t first;
	uint32_t count;
	/* Bit i: slot first + i has a symbol. */
	uint64_t named;
	/* The call-frame information of these slots, with absolute addresses; may be empty. */
	struct publish_bytes *cfi;
};

/* .eh_frame is last, because it is omitted if there is no call-frame information. */
enum section { SECTION_NULL, TEXT, SYMTAB, STRTAB, SHSTRTAB, EH_FRAME, SECTIONS };

/* The name of section i begins at name_at[i]. */
static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.eh_frame";
static const uint8_t name_at[SECTIONS] = {0, 1, 7, 15, 23, 33};

static void put_header(struct publish_bytes *out, unsigned sections, size_t sections_at)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT, ELFOSABI_NONE},
		.e_type = ET_EXEC,
		.e_machine = ARCH_ELF_MACHINE,
		.e_version = EV_CURRENT,
		.e_shoff = sections_at,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = sections,
		.e_shstrndx = SHSTRTAB,
	};

	if (!out->error)
		memcpy(out->data, &header, sizeof(header));
}

static void put_symbols(struct publish_bytes *out, const struct publish_gdb_part *part)
{
	uint32_t name = 1;

	publish_bytes_extend(out, sizeof(Elf64_Sym));
	for (uint32_t i = 0; i < part->count; i++) {
		if (!(part->named >> i & 1))
			continue;

		Elf64_Sym symbol = {
			.st_name = name,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = TEXT,
			.st_value = publish_slot_start(part->region, part->first + i),
			.st_size = publish_slot_bytes(part->region),
		};

		publish_bytes_put(out, &symbol, sizeof(symbol));
		name += strlen(part->region->slot[part->first + i].name) + 1;
	}
}

static void put_names(struct publish_bytes *out, const struct publish_gdb_part *part)
{
	publish_bytes_u8(out, 0);
	for (uint32_t i = 0; i < part->count; i++) {
		const char *name = part->region->slot[part->first + i].name;

		if (part->named >> i & 1)
			publish_bytes_put(out, name, strlen(name) + 1);
	}
}

/* Fill in @section for the bytes that were appended from @begin on. */
static void describe(
	struct publish_bytes *out, Elf64_Shdr *section, uint32_t type, size_t begin)
{
	section->sh_type = type;
	section->sh_offset = begin;
	section->sh_size = out->used - begin;
	section->sh_addralign = 1;
}

/* Describe the section of the stubs at their addresses, without their bytes (SHT_NOBITS). */
static Elf64_Shdr text_section(const struct publish_gdb_part *part)
{
	return (Elf64_Shdr){
		.sh_name = name_at[TEXT],
		.sh_type = SHT_NOBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = publish_slot_start(part->region, part->first),
		.sh_size = part->region->kind == FLAMEPROF_CODE_HOST
			? part->region->bytes
			: (uint64_t)part->count * part->region->stride,
		.sh_addralign = 1,
	};
}

/*
 * Write the file to @out, which must be empty. The file contains addresses of out->data, so the
 * caller must not move this memory. Returns 0 or -ENOMEM.
 */
static int publish_gdb_elf(struct publish_bytes *out, const struct publish_gdb_part *part)
{
	Elf64_Shdr section[SECTIONS] = {{0}};
	unsigned count = part->cfi->used ? SECTIONS : EH_FRAME;
	size_t begin;

	publish_bytes_extend(out, sizeof(Elf64_Ehdr));
	for (unsigned i = 0; i < SECTIONS; i++)
		section[i].sh_name = name_at[i];
	section[TEXT] = text_section(part);

	begin = out->used;
	put_symbols(out, part);
	describe(out, &section[SYMTAB], SHT_SYMTAB, begin);
	section[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	section[SYMTAB].sh_link = STRTAB;
	/* Index of the first symbol that is not local. */
	section[SYMTAB].sh_info = 1;

	begin = out->used;
	put_names(out, part);
	describe(out, &section[STRTAB], SHT_STRTAB, begin);

	begin = out->used;
	publish_bytes_put(out, section_names, sizeof(section_names));
	describe(out, &section[SHSTRTAB], SHT_STRTAB, begin);

	publish_bytes_align(out, 8);
	begin = out->used;
	publish_bytes_put(out, part->cfi->data, part->cfi->used);
	describe(out, &section[EH_FRAME], SHT_PROGBITS, begin);
	section[EH_FRAME].sh_flags = SHF_ALLOC;

	begin = out->used;
	void *headers = publish_bytes_extend(out, count * sizeof(Elf64_Shdr));

	if (!headers)
		return out->error;
	/*
	 * Give each file's .eh_frame a different address, because gdb needs quadratic time for
	 * sections with equal addresses. Use the address of the bytes in this file, which nothing
	 * else can have.
	 */
	section[EH_FRAME].sh_addr = (uintptr_t)out->data + section[EH_FRAME].sh_offset;
	memcpy(headers, section, count * sizeof(Elf64_Shdr));
	put_header(out, count, begin);
	return 0;
}

/* ---- gdb ------------------------------------------------------------------------------------- */

#define PART_SLOTS 64u

struct jit_code_entry {
	struct jit_code_entry *next_entry;
	struct jit_code_entry *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};

enum jit_action { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

struct jit_descriptor {
	uint32_t version;
	uint32_t action_flag;
	struct jit_code_entry *relevant_entry;
	struct jit_code_entry *first_entry;
};

/*
 * gdb searches for these two names. They are exported, because other symbols may be stripped. They
 * are weak, so that all libraries use the host's own copy if it has one, such as LLVM's. Their
 * symbol version prevents other libraries with own copies from using the ones here.
 */
extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

__attribute__((weak, visibility("default"))) struct jit_descriptor __jit_debug_descriptor = {
	.version = 1};

__attribute__((weak, noinline, visibility("default"))) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

struct part {
	struct jit_code_entry entry;
	struct publish_gdb_part contents;
	struct publish_bytes image; /* empty: not announced */
	struct publish_bytes cfi;
	struct part *next_stale;
	/* 1: the part is in the list stale_parts, because `contents` is newer than `image`. */
	int stale;
};

struct parts {
	uint32_t count;
	struct part part[];
};

static struct part *stale_parts;

static void notify_gdb(struct jit_code_entry *entry, enum jit_action action)
{
	__jit_debug_descriptor.relevant_entry = entry;
	__jit_debug_descriptor.action_flag = action;
	__jit_debug_register_code();
	__jit_debug_descriptor.action_flag = JIT_NOACTION;
	__jit_debug_descriptor.relevant_entry = NULL;
}

/* The list must be valid after each store: gdb may stop the process anywhere and read it. */
static void link_entry(struct jit_code_entry *entry)
{
	struct jit_code_entry *first = __jit_debug_descriptor.first_entry;

	entry->prev_entry = NULL;
	entry->next_entry = first;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (first)
		first->prev_entry = entry;
	__jit_debug_descriptor.first_entry = entry;
	notify_gdb(entry, JIT_REGISTER);
}

static void unlink_entry(struct jit_code_entry *entry)
{
	if (entry->prev_entry)
		entry->prev_entry->next_entry = entry->next_entry;
	else
		__jit_debug_descriptor.first_entry = entry->next_entry;
	if (entry->next_entry)
		entry->next_entry->prev_entry = entry->prev_entry;
	notify_gdb(entry, JIT_UNREGISTER);
}

static void remove_part(struct part *part)
{
	if (!part->image.data)
		return;
	unlink_entry(&part->entry);
	free(part->image.data);
	part->image = (struct publish_bytes){0};
}

static int rebuild_part(struct part *part)
{
	struct publish_bytes image = {0};
	int error;

	remove_part(part);
	if (!part->contents.named)
		return 0;
	error = publish_gdb_elf(&image, &part->contents);
	if (error) {
		free(image.data);
		return error;
	}
	part->image = image;
	part->entry.symfile_addr = (const char *)image.data;
	part->entry.symfile_size = image.used;
	link_entry(&part->entry);
	return 0;
}

static int start(void)
{
	return __jit_debug_descriptor.version == 1 ? 0 : -ENOTSUP;
}

static int add_region(const struct region *region, void **state)
{
	uint32_t count = (region->slots + PART_SLOTS - 1) / PART_SLOTS;
	struct parts *parts = calloc(1, sizeof(*parts) + count * sizeof(struct part));

	if (!parts)
		return -ENOMEM;
	parts->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct part *part = &parts->part[i];
		uint32_t first = i * PART_SLOTS;
		uint32_t rest = region->slots - first;

		part->contents.region = region;
		part->contents.first = first;
		part->contents.count = rest < PART_SLOTS ? rest : PART_SLOTS;
		part->contents.cfi = &part->cfi;
	}
	*state = parts;
	return 0;
}

static void remove_region(const struct region *region, void *state)
{
	struct parts *parts = state;

	(void)region;
	for (uint32_t i = 0; i < parts->count; i++) {
		struct part *part = &parts->part[i];

		remove_part(part);
		free(part->cfi.data);
		for (struct part **at = &stale_parts; part->stale; at = &(*at)->next_stale) {
			if (*at != part)
				continue;
			*at = part->next_stale;
			part->stale = 0;
			break;
		}
	}
	free(parts);
}

static struct part *change_part(struct parts *parts, uint32_t slot)
{
	struct part *part = &parts->part[slot / PART_SLOTS];

	if (!part->stale) {
		part->stale = 1;
		part->next_stale = stale_parts;
		stale_parts = part;
	}
	return part;
}

/* Write the part's call-frame information. If that fails, gdb unwinds by analysing prologues. */
static void read_cfi(struct part *part)
{
	const struct region *region = part->contents.region;
	uintptr_t lo = publish_slot_start(region, part->contents.first);
	uintptr_t hi = publish_slot_start(region, part->contents.first + part->contents.count);

	if (region->kind == FLAMEPROF_CODE_HOST)
		hi = region->start + region->bytes;
	if (publish_cfi_write(&part->cfi, region, lo, hi, 0)) {
		free(part->cfi.data);
		part->cfi = (struct publish_bytes){0};
	}
}

static int add_slot(const struct region *region, uint32_t slot, void *state)
{
	struct part *part = change_part(state, slot);

	(void)region;
	if (!part->cfi.data)
		read_cfi(part);
	part->contents.named |= 1ULL << slot % PART_SLOTS;
	return 0;
}

static void remove_slot(const struct region *region, uint32_t slot, void *state)
{
	struct part *part = change_part(state, slot);

	(void)region;
	part->contents.named &= ~(1ULL << slot % PART_SLOTS);
}

static int flush(void)
{
	int first = 0;

	while (stale_parts) {
		struct part *part = stale_parts;
		int error;

		stale_parts = part->next_stale;
		part->stale = 0;
		error = rebuild_part(part);
		if (!first)
			first = error;
	}
	return first;
}

const struct publisher publisher_gdb = {
	.flag = FLAMEPROF_PUBLISH_GDB,
	.start = start,
	.add_region = add_region,
	.remove_region = remove_region,
	.add_slot = add_slot,
	.remove_slot = remove_slot,
	.flush = flush,
};
