/* SPDX-License-Identifier: MIT */
/*
 * From path and build-id to the file, from the file to a symbol table.
 *
 * The path may have been replaced, deleted or lie in another root by now, so several places are
 * tried and the build-id decides. Without a build-id the first file found is believed.
 */
#include "cli/symbols/module.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/symbols/debugfile.h"
#include "cli/symbols/elfimage.h"
#include "cli/symbols/elfsyms.h"
#include "cli/symbols/gopclntab.h"
#include "cli/symbols/minidebug.h"
#include "cli/symbols/plt.h"
#include "cli/symbols/vdso.h"

#define PATH_BYTES 4096

/* Open @path if it is the file that ran. Sets *@mismatch when it was another one. */
static int try_path(struct elfimage *image, const struct symbols_module *module, const char *path,
	uint32_t pid, int *mismatch)
{
	int error = elfimage_open(image, path, pid);

	if (error)
		return error;
	if (!module->build_id ||
		elfimage_has_build_id(image, module->build_id, module->build_id_bytes))
		return 0;
	*mismatch = 1;
	elfimage_close(image);
	return -ESTALE;
}

/* Below the process's root first: in a container our own file of that name is another one. */
static int try_roots(struct elfimage *image, const struct symbols_module *module, const char *path,
	int *mismatch)
{
	int error = module->pid ? try_path(image, module, path, module->pid, mismatch) : -ENOENT;

	return error ? try_path(image, module, path, 0, mismatch) : 0;
}

static int open_module(struct elfimage *image, const struct symbols_module *module, int *mismatch)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_BYTES];
	size_t bytes = strlen(module->path);
	int error = -ENOENT;

	if (module->is_vdso) {
		error = vdso_open(image);
		if (!error && module->build_id &&
			!elfimage_has_build_id(image, module->build_id, module->build_id_bytes)) {
			elfimage_close(image);
			*mismatch = 1;
			error = -ESTALE;
		}
		return error;
	}
	if (bytes >= sizeof(path))
		return -ENAMETOOLONG;
	if (bytes)
		error = try_roots(image, module, module->path, mismatch);
	if (error && bytes > strlen(deleted) &&
		!strcmp(module->path + bytes - strlen(deleted), deleted)) {
		snprintf(path, sizeof(path), "%.*s", (int)(bytes - strlen(deleted)), module->path);
		error = try_roots(image, module, path, mismatch);
	}

	/* The program's own file can be read there even when it has no name any more. Another one
	 * proves nothing: @module is then just not the program. */
	if (error && module->pid && (module->build_id || !bytes)) {
		int not_the_program;

		snprintf(path, sizeof(path), "/proc/%u/exe", module->pid);
		error = try_path(image, module, path, 0, &not_the_program);
	}
	return error;
}

/* Add what a stripped @image has elsewhere. Returns 0 or -ENOMEM. */
static int add_separate(struct symtab *table, const struct symbols_module *module,
	const struct elfimage *image, enum symbols_source *source)
{
	struct elfimage other;
	int added = debugfile_open(&other, image, module->path, module->pid);

	if (!added) {
		added = elfsyms_add(table, &other, SHT_SYMTAB);
		elfimage_close(&other);
		if (added > 0)
			*source = SYMBOLS_DEBUG_FILE;
		if (added)
			return added < 0 ? added : 0;
	} else if (added == -ENOMEM) {
		return added;
	}

	added = minidebug_open(&other, image);
	if (added)
		return added == -ENOMEM ? added : 0;
	added = elfsyms_add(table, &other, SHT_SYMTAB);
	elfimage_close(&other);
	if (added > 0)
		*source = SYMBOLS_MINI;
	return added < 0 ? added : 0;
}

static int add_all(struct symtab *table, const struct symbols_module *module,
	const struct elfimage *image, enum symbols_source *source)
{
	int added = elfsyms_add(table, image, SHT_SYMTAB);

	if (added > 0)
		*source = SYMBOLS_SYMTAB;
	else if (!added && (added = gosyms_add(table, image)) > 0)
		*source = SYMBOLS_GO;
	else if (!added && !module->is_vdso && !module->is_hurried)
		added = add_separate(table, module, image, source);
	if (added < 0)
		return added;

	/* Always: exported names are better than local aliases, and compressed symbol tables leave
	 * out what is exported. */
	added = elfsyms_add(table, image, SHT_DYNSYM);
	if (added > 0 && *source == SYMBOLS_NONE)
		*source = SYMBOLS_DYNSYM;
	if (added >= 0)
		added = plt_add(table, image);
	if (module->is_vdso && *source != SYMBOLS_NONE)
		*source = SYMBOLS_VDSO;
	return added < 0 ? added : 0;
}

int module_read(const struct symbols_module *module, struct symtab **table,
	enum symbols_source *source)
{
	struct elfimage image;
	struct symtab *filled = symtab_new();
	enum symbols_source from = SYMBOLS_NONE;
	int mismatch = 0;
	int error;

	if (!filled)
		return -ENOMEM;
	error = open_module(&image, module, &mismatch);
	if (!error) {
		error = add_all(filled, module, &image, &from);
		elfimage_close(&image);
		if (error)
			goto out;
	} else if (mismatch) {
		from = SYMBOLS_MISMATCH;
	}
	error = symtab_finish(filled);
out:
	if (error) {
		symtab_free(filled);
		return -ENOMEM;
	}
	*table = filled;
	*source = from;
	return 0;
}

int module_read_functions(const struct symbols_module *module, struct functions **functions)
{
	struct elfimage image;
	int mismatch = 0;
	int error = open_module(&image, module, &mismatch);

	if (error)
		return error == -ENOMEM ? error : -ENOENT;
	error = functions_read(functions, &image);
	elfimage_close(&image);
	return error;
}

/* Segments are mapped by whole pages of this size at least. */
#define PAGE_BYTES 4096u

int module_offset_address(const struct symbols_module *module, uint64_t offset, uint64_t *address)
{
	struct elfimage image;
	size_t headers = 0;
	int mismatch = 0;
	int error = open_module(&image, module, &mismatch);

	if (error)
		return -ENOENT;
	error = -ENOENT;
	if (elf_getphdrnum(image.elf, &headers) || headers >= PN_XNUM)
		headers = 0;
	for (size_t i = 0; error && i < headers; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(image.elf, (int)i, &header) || header.p_type != PT_LOAD ||
			offset < header.p_offset - header.p_offset % PAGE_BYTES ||
			offset - header.p_offset >= header.p_filesz)
			continue;
		*address = offset - header.p_offset + header.p_vaddr;
		error = 0;
	}
	elfimage_close(&image);
	return error;
}
