/* SPDX-License-Identifier: MIT */
/*
 * Source: gdb's manual, "JIT Interface"; ELF-64 Object File Format. The file is of type ET_EXEC, so
 * that its addresses are taken as they are:
 *
 *	ELF header | symbols | their names | sections' names | .eh_frame | section headers
 */
#include "libprof/trampoline/publish_gdb_elf.h"

#include <elf.h>

#include "arch/stub.h"
#include "libprof/trampoline/publish.h"

/* .eh_frame comes last, since code without call-frame information has none. */
enum section { SECTION_NULL, TEXT, SYMTAB, STRTAB, SHSTRTAB, EH_FRAME, SECTIONS };

/* Name i begins at name_at[i]. */
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

/* The bytes put since @begin are this section's. */
static void describe(
	struct publish_bytes *out, Elf64_Shdr *section, uint32_t type, size_t begin)
{
	section->sh_type = type;
	section->sh_offset = begin;
	section->sh_size = out->used - begin;
	section->sh_addralign = 1;
}

/* The stubs where they are: nothing of it is in the file. */
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

int publish_gdb_elf(struct publish_bytes *out, const struct publish_gdb_part *part)
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
	section[SYMTAB].sh_info = 1; /* the first symbol that is not local */

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
	 * An address of its own for each file's .eh_frame: gdb takes time squared over sections at
	 * the same address. Where it lies in our memory nothing else can be.
	 */
	section[EH_FRAME].sh_addr = (uintptr_t)out->data + section[EH_FRAME].sh_offset;
	memcpy(headers, section, count * sizeof(Elf64_Shdr));
	put_header(out, count, begin);
	return 0;
}
