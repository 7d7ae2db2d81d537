/* SPDX-License-Identifier: MIT */
/*
 * Reading symbol sections. Indexes and offsets come from the file and are checked here; libelf
 * checks the sections themselves.
 */
#include "cli/symbols/elfsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One section's address range, when it holds code. */
struct code {
	uint64_t start;
	uint64_t end; /* 0: no code */
};

#define CODE_SECTIONS 64 /* linkers make ten at most */

struct reader {
	const struct elfimage *image;
	Elf_Data *symbols;
	Elf_Data *extended; /* SHT_SYMTAB_SHNDX, or NULL */
	char *strings;	    /* ends in NUL */
	size_t strings_bytes;
	struct code *code; /* by section index */
	size_t sections;
	struct code known[CODE_SECTIONS]; /* those that hold code, to be found by address */
	size_t known_count;
};

static int read_code_ranges(struct reader *reader)
{
	Elf_Scn *section = NULL;

	if (elf_getshdrnum(reader->image->elf, &reader->sections) ||
		reader->sections > ELFIMAGE_SECTIONS_MAX)
		reader->sections = 0;
	reader->code = calloc(reader->sections + 1, sizeof(*reader->code));
	if (!reader->code)
		return -ENOMEM;
	while ((section = elf_nextscn(reader->image->elf, section))) {
		const GElf_Word flags = SHF_ALLOC | SHF_EXECINSTR;
		size_t index = elf_ndxscn(section);
		GElf_Shdr header;

		if (index >= reader->sections || !gelf_getshdr(section, &header) ||
			(header.sh_flags & flags) != flags ||
			header.sh_addr + header.sh_size < header.sh_addr)
			continue;
		reader->code[index] =
			(struct code){header.sh_addr, header.sh_addr + header.sh_size};
		if (reader->known_count < CODE_SECTIONS)
			reader->known[reader->known_count++] = reader->code[index];
	}
	return 0;
}

static Elf_Scn *find_type(const struct elfimage *image, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

/* The extended section indexes that belong to the symbol section number @symbols. */
static Elf_Data *find_extended(const struct elfimage *image, size_t symbols)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
			header.sh_link == symbols)
			return elfimage_data(section, &header);
	return NULL;
}

/* Returns 1 when there is something to read, 0 when not, -ENOMEM. */
static int open_tables(struct reader *reader, GElf_Word type)
{
	GElf_Shdr header, strings;
	Elf_Scn *section = find_type(reader->image, type, &header);

	if (!section || header.sh_entsize != sizeof(Elf64_Sym))
		return 0;
	reader->symbols = elfimage_data(section, &header);

	Elf_Scn *names = elf_getscn(reader->image->elf, header.sh_link);

	if (!reader->symbols || !names || !gelf_getshdr(names, &strings) ||
		strings.sh_type != SHT_STRTAB)
		return 0;

	Elf_Data *text = elfimage_data(names, &strings);

	if (!text)
		return 0;
	reader->strings_bytes = text->d_size;
	reader->strings = malloc(text->d_size + 1);
	if (!reader->strings)
		return -ENOMEM;
	memcpy(reader->strings, text->d_buf, text->d_size);
	reader->strings[text->d_size] = '\0';
	if (type == SHT_SYMTAB)
		reader->extended = find_extended(reader->image, elf_ndxscn(section));
	return read_code_ranges(reader) ? -ENOMEM : 1;
}

/* Marks for tools, not names: ELF for the Arm 64-bit Architecture 5.5.4 (mapping symbols); RISC-V
 * has the same. Assemblers' local labels survive in some files. */
static int is_mark(const char *name)
{
	return (name[0] == '$' && (name[1] == 'x' || name[1] == 'd')) || !strncmp(name, ".L", 2);
}

static int holds(const struct code *code, uint64_t address)
{
	return address >= code->start && address < code->end;
}

/*
 * The code a symbol lies in, or NULL. objcopy renumbers sections without telling .dynsym, so when
 * the number leads elsewhere the address of a real function decides. A mere label must agree: at a
 * section's end it would land in the next one.
 */
static const struct code *find_code(
	const struct reader *reader, const GElf_Sym *symbol, Elf32_Word section)
{
	if (section < reader->sections && holds(&reader->code[section], symbol->st_value))
		return &reader->code[section];
	if (!symbol->st_size || GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		return NULL;
	for (size_t i = 0; i < reader->known_count; i++)
		if (holds(&reader->known[i], symbol->st_value))
			return &reader->known[i];
	return NULL;
}

/* Fill @out from symbol number @index. Returns 0 when it is no function. */
static int read_symbol(const struct reader *reader, int index, struct symtab_symbol *out)
{
	GElf_Sym symbol;
	Elf32_Word section = 0;

	if (!gelf_getsymshndx(reader->symbols, reader->extended, index, &symbol, &section))
		return 0;
	if (symbol.st_shndx != SHN_XINDEX)
		section = symbol.st_shndx >= SHN_LORESERVE ? 0 : symbol.st_shndx;
	if (!section || symbol.st_name >= reader->strings_bytes)
		return 0;

	int type = GELF_ST_TYPE(symbol.st_info);
	int binding = GELF_ST_BIND(symbol.st_info);
	const char *name = reader->strings + symbol.st_name;
	const struct code *code = find_code(reader, &symbol, section);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (!code || !name[0] || (type == STT_NOTYPE && is_mark(name)))
		return 0;
	*out = (struct symtab_symbol){
		.start = symbol.st_value,
		.end = symbol.st_value + symbol.st_size,
		.limit = code->end,
		.name = name,
		.rank = (uint8_t)(type == STT_NOTYPE ? 0 : SYMTAB_RANK_FUNCTION),
	};
	if (type == STT_GNU_IFUNC)
		out->rank |= SYMTAB_RANK_IFUNC;
	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		out->rank |= SYMTAB_RANK_GLOBAL;
	else if (binding == STB_WEAK)
		out->rank |= SYMTAB_RANK_WEAK;
	return 1;
}

int elfsyms_add(struct symtab *table, const struct elfimage *image, GElf_Word type)
{
	struct reader reader = {.image = image};
	size_t before = symtab_count(table);
	int result = open_tables(&reader, type);

	if (result <= 0)
		goto out;

	size_t symbols = reader.symbols->d_size / sizeof(Elf64_Sym);

	result = symtab_keep(table, reader.strings);
	if (result)
		goto out;
	if (symbols > SYMTAB_MAX)
		symbols = SYMTAB_MAX;
	result = symtab_reserve(table, symbols);
	for (size_t i = 1; !result && i < symbols; i++) {
		struct symtab_symbol symbol;

		if (read_symbol(&reader, (int)i, &symbol))
			result = symtab_add(table, &symbol);
	}
	reader.strings = NULL;
	if (result != -ENOMEM)
		result = (int)(symtab_count(table) - before);
out:
	free(reader.strings);
	free(reader.code);
	return result;
}
