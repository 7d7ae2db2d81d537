/* SPDX-License-Identifier: MIT */
/*
 * Symbol sections: this file checks indexes and offsets in symbols; libelf checks the sections
 * themselves.
 *
 * Linkage tables (PLT): the code of an entry jumps through a slot, and a relocation names the
 * symbol that fills the slot. Linkers lay entries out in many ways (lazy, -z now, IBT, BTI, bnd),
 * but each ends in an indirect jump through its slot, and only this jump is decoded.
 *
 *   x86_64, .plt              ff 25 <slot - next>    jmp *slot(%rip)
 *                             68 <number>            push $number    of the relocation in .rela.plt
 *                             e9 <...>               jmp .plt
 *   x86_64, .plt with IBT     f3 0f 1e fa            endbr64
 *                             68 <number>            push $number
 *                             f2 e9 <...>            bnd jmp .plt         (bnd: older linkers)
 *   x86_64, .plt.sec          f3 0f 1e fa            endbr64
 *                             f2 ff 25 <slot - next> bnd jmp *slot(%rip)
 *   aarch64                   d503245f               bti c           (with BTI)
 *                             adrp x16, slot page
 *                             ldr  x17, [x16, slot offset]
 *                             add  x16, x16, slot offset
 *                             br   x17
 */
#include "cli/symbols/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

/* ---- symbol sections ------------------------------------------------------------------------- */

/* The address range of one section. */
struct code {
	uint64_t start;
	uint64_t end; /* 0 if the section has no code */
};

#define CODE_SECTIONS 64 /* linkers make at most ten */

struct reader {
	const struct elf_file *file;
	struct languages *languages;
	Elf_Data *symbols;
	Elf_Data *extended; /* of SHT_SYMTAB_SHNDX, or NULL */
	char *strings;	    /* ends in NUL */
	size_t strings_bytes;
	struct code *code; /* by section index */
	size_t sections;
	/* sections with code, for searching by address */
	struct code known[CODE_SECTIONS];
	size_t known_count;
};

static int read_code_ranges(struct reader *reader)
{
	Elf_Scn *section = NULL;

	if (elf_getshdrnum(reader->file->elf, &reader->sections) ||
		reader->sections > ELF_FILE_SECTIONS_MAX)
		reader->sections = 0;
	reader->code = calloc(reader->sections + 1, sizeof(*reader->code));
	if (!reader->code)
		return -ENOMEM;
	while ((section = elf_nextscn(reader->file->elf, section))) {
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

static Elf_Scn *find_type(const struct elf_file *file, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

/* Return the extended section indexes for symbol section number @symbols, or NULL. */
static Elf_Data *find_extended(const struct elf_file *file, size_t symbols)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
			header.sh_link == symbols)
			return elf_file_data(section, &header);
	return NULL;
}

/* Open the section of @type and its strings. Returns 1, 0 if there is none, or -ENOMEM. */
static int open_tables(struct reader *reader, GElf_Word type)
{
	GElf_Shdr header, strings;
	Elf_Scn *section = find_type(reader->file, type, &header);

	if (!section || header.sh_entsize != sizeof(Elf64_Sym))
		return 0;
	reader->symbols = elf_file_data(section, &header);

	Elf_Scn *names = elf_getscn(reader->file->elf, header.sh_link);

	if (!reader->symbols || !names || !gelf_getshdr(names, &strings) ||
		strings.sh_type != SHT_STRTAB)
		return 0;

	Elf_Data *text = elf_file_data(names, &strings);

	if (!text)
		return 0;
	reader->strings_bytes = text->d_size;
	reader->strings = malloc(text->d_size + 1);
	if (!reader->strings)
		return -ENOMEM;
	memcpy(reader->strings, text->d_buf, text->d_size);
	reader->strings[text->d_size] = '\0';
	if (type == SHT_SYMTAB)
		reader->extended = find_extended(reader->file, elf_ndxscn(section));
	return read_code_ranges(reader) ? -ENOMEM : 1;
}

/* Is @name a mapping symbol (Arm's aaelf64 5.5.4, RISC-V) or a local label? */
static int is_mark(const char *name)
{
	return (name[0] == '$' && (name[1] == 'x' || name[1] == 'd')) || !strncmp(name, ".L", 2);
}

static int contains(const struct code *code, uint64_t address)
{
	return address >= code->start && address < code->end;
}

/*
 * Return the code section that contains @symbol, or NULL. objcopy renumbers sections but not the
 * section numbers in .dynsym. So if @section does not contain the symbol, find the section of a
 * function by its address. This is not done for a label without size or type, because a label at
 * the end of a section would be found in the next section.
 */
static const struct code *find_code(
	const struct reader *reader, const GElf_Sym *symbol, Elf32_Word section)
{
	if (section < reader->sections && contains(&reader->code[section], symbol->st_value))
		return &reader->code[section];
	if (!symbol->st_size || GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		return NULL;
	for (size_t i = 0; i < reader->known_count; i++)
		if (contains(&reader->known[i], symbol->st_value))
			return &reader->known[i];
	return NULL;
}

/*
 * frame_dummy(), the last function of gcc's crtbegin.o, has no size and is linked before the
 * program's code. Limit its size: if the program's code has no symbols, as with GHC, all of it
 * would get this name.
 */
#define FRAME_DUMMY	  "frame_dummy"
#define FRAME_DUMMY_BYTES 16u

/* Fill @out from symbol number @index. Returns 0 if the symbol is not a function. */
static int read_symbol(const struct reader *reader, int index, struct symtab_symbol *out)
{
	GElf_Sym symbol;
	Elf32_Word section = 0;

	if (!gelf_getsymshndx(reader->symbols, reader->extended, index, &symbol, &section))
		return 0;
	if (symbol.st_shndx != SHN_XINDEX)
		section = symbol.st_shndx >= SHN_LORESERVE ? 0 : symbol.st_shndx;
	if (symbol.st_name >= reader->strings_bytes)
		return 0;

	int type = GELF_ST_TYPE(symbol.st_info);
	int binding = GELF_ST_BIND(symbol.st_info);
	const char *name = reader->strings + symbol.st_name;

	languages_note(reader->languages, name,
		!section	   ? LANGUAGES_UNDEFINED
		: type == STT_FUNC ? LANGUAGES_FUNCTION
				   : LANGUAGES_DATA);
	if (!section)
		return 0;

	const struct code *code = find_code(reader, &symbol, section);

	/* GHC gives the type OBJECT to functions of its runtime that follow their tables. */
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE &&
		(type != STT_OBJECT || !symbol.st_size || section >= reader->sections ||
			code != &reader->code[section]))
		return 0;
	if (!code || !name[0] || (type == STT_NOTYPE && is_mark(name)))
		return 0;
	*out = (struct symtab_symbol){
		.start = symbol.st_value,
		.end = symbol.st_value + symbol.st_size,
		.limit = code->end,
		.name = name,
		.rank = (uint8_t)(type == STT_NOTYPE || type == STT_OBJECT ? 0
									  : SYMTAB_RANK_FUNCTION),
	};
	if (!symbol.st_size && !strcmp(name, FRAME_DUMMY) &&
		out->limit > out->start + FRAME_DUMMY_BYTES)
		out->limit = out->start + FRAME_DUMMY_BYTES;
	if (type == STT_GNU_IFUNC)
		out->rank |= SYMTAB_RANK_IFUNC;
	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		out->rank |= SYMTAB_RANK_GLOBAL;
	else if (binding == STB_WEAK)
		out->rank |= SYMTAB_RANK_WEAK;
	return 1;
}

int elf_symbols_add(struct symtab *table, const struct elf_file *file, GElf_Word type)
{
	struct reader reader = {.file = file, .languages = symtab_languages(table)};
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

/* ---- procedure linkage tables ---------------------------------------------------------------- */

#define SLOTS_MAX (1u << 20)

/* A slot, and the function that fills it. */
struct slot {
	uint64_t address;
	/* address of an IFUNC's resolver, if the slot has no name; else 0 */
	uint64_t resolver;
	/* in plt.strings; NULL if @resolver is set */
	const char *name;
};

struct plt {
	struct symtab *table;
	const struct elf_file *file;
	int aarch64;
	struct slot *slots; /* sorted by address when complete */
	size_t count;
	size_t room;
	/* the slots of .rela.plt in their order; `push $number` has an index of this array */
	struct slot *jumps;
	size_t jumps_count;
	char *strings;
	size_t strings_bytes;
	size_t dynsym; /* section number of .dynsym */
	Elf_Data *symbols;
};

static int open_dynsym(struct plt *plt)
{
	GElf_Shdr header, strings;
	Elf_Scn *section = elf_file_section(plt->file, ".dynsym", &header);
	Elf_Scn *names = section ? elf_getscn(plt->file->elf, header.sh_link) : NULL;

	if (!names || header.sh_entsize != sizeof(Elf64_Sym) || !gelf_getshdr(names, &strings))
		return 0;

	Elf_Data *text = elf_file_data(names, &strings);

	plt->symbols = elf_file_data(section, &header);
	if (!text || !plt->symbols)
		return 0;
	plt->dynsym = elf_ndxscn(section);
	plt->strings = malloc(text->d_size + 1);
	if (!plt->strings)
		return -ENOMEM;
	memcpy(plt->strings, text->d_buf, text->d_size);
	plt->strings[text->d_size] = '\0';
	plt->strings_bytes = text->d_size;
	return 0;
}

/* Find the function whose address @relocation puts into a slot. Returns 0 if there is none. */
static int read_relocation(
	const struct plt *plt, const GElf_Rela *relocation, int with_symbols, struct slot *out)
{
	uint64_t type = GELF_R_TYPE(relocation->r_info);
	uint64_t number = GELF_R_SYM(relocation->r_info);
	GElf_Sym symbol;

	*out = (struct slot){.address = relocation->r_offset};
	if (type == (plt->aarch64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE)) {
		out->resolver = (uint64_t)relocation->r_addend;
		return out->resolver != 0;
	}
	if (type != (plt->aarch64 ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT) &&
		type != (plt->aarch64 ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT))
		return 0;
	if (!with_symbols || number > INT32_MAX ||
		!gelf_getsym(plt->symbols, (int)number, &symbol) ||
		symbol.st_name >= plt->strings_bytes)
		return 0;
	out->name = plt->strings + symbol.st_name;
	return out->name[0] != '\0';
}

static int add_slot(struct plt *plt, const struct slot *slot)
{
	if (ARRAY_GROW(plt->slots, plt->count, plt->room, 256))
		return -ENOMEM;
	plt->slots[plt->count++] = *slot;
	return 0;
}

/* Add the slots of a relocation section. If @jumps, it is .rela.plt, so also fill plt->jumps. */
static int read_relocations(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header, int jumps)
{
	Elf_Data *data = elf_file_data(section, header);
	int with_symbols = plt->symbols && header->sh_link == plt->dynsym;

	if (!data || header->sh_entsize != sizeof(Elf64_Rela))
		return 0;

	size_t count = data->d_size / sizeof(Elf64_Rela);

	if (jumps && count <= SLOTS_MAX && !plt->jumps) {
		plt->jumps = calloc(count, sizeof(*plt->jumps));
		if (!plt->jumps)
			return -ENOMEM;
		plt->jumps_count = count;
	}
	for (size_t i = 0; i < count && plt->count < SLOTS_MAX; i++) {
		GElf_Rela relocation;
		struct slot slot;

		if (!gelf_getrela(data, (int)i, &relocation) ||
			!read_relocation(plt, &relocation, with_symbols, &slot))
			continue;
		if (jumps && i < plt->jumps_count)
			plt->jumps[i] = slot;
		if (add_slot(plt, &slot))
			return -ENOMEM;
	}
	return 0;
}

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left;
	const struct slot *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int read_slots(struct plt *plt)
{
	GElf_Shdr header;
	Elf_Scn *jumps = elf_file_section(plt->file, ".rela.plt", &header);
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(plt->file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
			(header.sh_flags & SHF_ALLOC) &&
			read_relocations(plt, section, &header, section == jumps))
			return -ENOMEM;
	if (plt->count)
		qsort(plt->slots, plt->count, sizeof(*plt->slots), compare_slots);
	return 0;
}

static const struct slot *find_slot(const struct plt *plt, uint64_t address)
{
	struct slot key = {.address = address};

	return plt->count ? bsearch(&key, plt->slots, plt->count, sizeof(key), compare_slots)
			  : NULL;
}

static int add_entry(struct plt *plt, const struct slot *slot, uint64_t start, uint64_t end)
{
	struct symtab_symbol symbol = {
		.start = start,
		.end = end,
		.limit = end,
		.name = slot->name,
		.resolver = slot->resolver,
		.rank = SYMTAB_RANK_LOCAL,
		.is_plt = 1,
	};

	return symtab_add(plt->table, &symbol) == -ENOMEM ? -ENOMEM : 0;
}

/* Return the slot of an x86_64 entry, or NULL. Its @bytes bytes @code are at address @start. */
static const struct slot *decode_x86_64(
	const struct plt *plt, const uint8_t *code, size_t bytes, uint64_t start)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = bytes >= 8 && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	int32_t operand;

	if (at < bytes && code[at] == 0xf2)
		at++;
	if (at + 6 <= bytes && code[at] == 0xff && code[at + 1] == 0x25) {
		memcpy(&operand, code + at + 2, sizeof(operand));
		return find_slot(plt, start + at + 6 + (uint64_t)(int64_t)operand);
	}
	if (at + 5 <= bytes && code[at] == 0x68) {
		memcpy(&operand, code + at + 1, sizeof(operand));
		if (operand >= 0 && (uint32_t)operand < plt->jumps_count &&
			plt->jumps[operand].address)
			return &plt->jumps[operand];
	}
	return NULL;
}

static int add_x86_64(struct plt *plt, const uint8_t *code, size_t bytes, const GElf_Shdr *header,
	const char *name)
{
	/* An entry of .plt.got has 8 bytes, or 16 with endbr64; other entries have 16. */
	size_t entry = !strcmp(name, ".plt.got") && header->sh_entsize == 8 ? 8 : 16;

	for (size_t at = 0; at + entry <= bytes; at += entry) {
		uint64_t start = header->sh_addr + at;
		const struct slot *slot = decode_x86_64(plt, code + at, entry, start);

		if (slot && add_entry(plt, slot, start, start + entry))
			return -ENOMEM;
	}
	return 0;
}

static int add_aarch64(struct plt *plt, const uint8_t *code, size_t bytes, uint64_t start)
{
	const uint32_t bti_c = 0xd503245f;
	uint32_t words[5]; /* before, adrp, ldr, add, br */

	for (size_t at = 4; at + 16 <= bytes; at += 4) {
		memcpy(words, code + at - 4, sizeof(words));
		if ((words[1] & 0x9f00001f) != 0x90000010 ||	 /* adrp x16 */
			(words[2] & 0xffc003ff) != 0xf9400211 || /* ldr x17, [x16, #] */
			words[4] != 0xd61f0220)			 /* br x17 */
			continue;

		uint64_t pages = (words[1] >> 5 & 0x7ffff) << 2 | (words[1] >> 29 & 3);
		int64_t offset = (int64_t)(pages << 43) >> 31; /* 21 bits, signed, times 4096 */
		uint64_t page = (start + at) & ~(uint64_t)4095;
		uint64_t target = page + (uint64_t)offset + (words[2] >> 10 & 0xfff) * 8;
		const struct slot *slot = find_slot(plt, target);
		uint64_t entry = start + at - (words[0] == bti_c ? 4 : 0);

		if (slot && add_entry(plt, slot, entry, start + at + 16))
			return -ENOMEM;
	}
	return 0;
}

static int add_section(struct plt *plt, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(plt->file, name, &header);
	Elf_Data *data = section ? elf_file_data(section, &header) : NULL;

	if (!data)
		return 0;
	return plt->aarch64 ? add_aarch64(plt, data->d_buf, data->d_size, header.sh_addr)
			    : add_x86_64(plt, data->d_buf, data->d_size, &header, name);
}

int plt_add(struct symtab *table, const struct elf_file *file)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	struct plt plt = {.table = table, .file = file};
	GElf_Ehdr header;
	int error;

	if (!gelf_getehdr(file->elf, &header) ||
		(header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
		return 0;
	plt.aarch64 = header.e_machine == EM_AARCH64;
	error = open_dynsym(&plt);
	if (error)
		goto out;
	error = read_slots(&plt);
	if (!error && plt.strings) {
		error = symtab_keep(table, plt.strings);
		if (!error)
			plt.strings = NULL;
	}
	for (size_t i = 0; !error && i < sizeof(sections) / sizeof(*sections); i++)
		error = add_section(&plt, sections[i]);
out:
	free(plt.strings);
	free(plt.slots);
	free(plt.jumps);
	return error;
}
