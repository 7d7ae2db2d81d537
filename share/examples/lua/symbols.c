/* SPDX-License-Identifier: MIT */
/*
 * Read the symbol table of /proc/self/exe. Every offset and size that is read from the file is
 * checked against the file's size.
 */
#include "share/examples/lua/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Callback of dl_iterate_phdr(): return the load bias of the program itself, which comes first. */
static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1;
}

void symbols_init(struct symbols *symbols)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat about;
	void *file;

	*symbols = (struct symbols){0};
	if (fd < 0)
		return;
	if (!fstat(fd, &about) && about.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
		file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			symbols->file = file;
			symbols->bytes = (size_t)about.st_size;
		}
	}
	close(fd);
	dl_iterate_phdr(take_bias, &symbols->bias);
}

void symbols_release(struct symbols *symbols)
{
	if (symbols->file)
		munmap((void *)symbols->file, symbols->bytes);
	symbols->file = NULL;
}

/*
 * Returns a pointer to @count entries of @each bytes at @offset, or NULL if they are not inside the
 * file or not aligned.
 */
static const void *part(const struct symbols *symbols, uint64_t offset, uint64_t count, size_t each)
{
	if (offset > symbols->bytes || offset % 8 || count > (symbols->bytes - offset) / each)
		return NULL;
	return symbols->file + offset;
}

/* Returns the text at @at in @section; NULL if its end is not inside the section and the file. */
static const char *text(const struct symbols *symbols, const ElfW(Shdr) *section, uint64_t at)
{
	if (section->sh_offset > symbols->bytes ||
		section->sh_size > symbols->bytes - section->sh_offset || at >= section->sh_size)
		return NULL;
	if (!memchr(symbols->file + section->sh_offset + at, 0, section->sh_size - at))
		return NULL;
	return (const char *)symbols->file + section->sh_offset + at;
}

const char *symbols_find(const struct symbols *symbols, uintptr_t pc)
{
	const ElfW(Ehdr) *header = (const void *)symbols->file;
	const ElfW(Shdr) *sections, *table = NULL;
	const ElfW(Sym) *symbol;
	uint64_t count;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG))
		return NULL;
	sections = part(symbols, header->e_shoff, header->e_shnum, sizeof(*sections));
	for (unsigned i = 0; sections && i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
			table = &sections[i];
	if (!table)
		return NULL;
	count = table->sh_size / sizeof(*symbol);
	symbol = part(symbols, table->sh_offset, count, sizeof(*symbol));
	for (uint64_t i = 0; symbol && i < count; i++, symbol++)
		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
			pc - symbols->bias - symbol->st_value < symbol->st_size)
			return text(symbols, &sections[table->sh_link], symbol->st_name);
	return NULL;
}
