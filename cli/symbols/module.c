/* SPDX-License-Identifier: MIT */
/*
 * From path and build-id to the file, from the file to a symbol table.
 *
 * The path may have been replaced, deleted or lie in another root by now, so several places are
 * tried and the build-id decides. Without a build-id the first file found is believed.
 *
 * Symbols that distributions and people strip are in build-id folders and behind debug links, as
 * gdb's manual has them ("Debugging Information in Separate Files"), and where debuginfod's clients
 * have fetched them. libdwfl does not look for them, because no network is ever asked and the
 * target's root comes first; the unit tests compare our names with libdwfl's.
 */
#include "cli/symbols/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/elf_symbols.h"
#include "cli/symbols/gopclntab.h"

#define PATH_BYTES 4096

/* ---- separate debug files -------------------------------------------------------------------- */

#define DEBUG_ROOT   "/usr/lib/debug"
#define BUILD_ID_MAX 64 /* bytes; longer ones have no folder */

struct search {
	struct elf_file *debug;
	const uint8_t *id;
	size_t id_bytes;
	uint32_t crc;
	uint32_t pid;
};

/* The debug link's checksum: CRC-32 of the whole file, the same as zlib's. */
static int file_has_crc(int fd, uint32_t wanted)
{
	unsigned char buffer[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32(crc, buffer, (uInt)got);
		at += got;
	}
	return !got && crc == wanted;
}

/* Open @path if it belongs to the module. @linked: the debug link's checksum may vouch for it. */
static int try_candidate(const struct search *search, const char *path, uint32_t pid, int linked)
{
	const uint8_t *id;
	int error = elf_file_open(search->debug, path, pid);

	if (error)
		return error;

	size_t bytes = elf_file_build_id(search->debug, &id);
	int ours = bytes && search->id_bytes
			   ? bytes == search->id_bytes && !memcmp(id, search->id, bytes)
			   : linked && file_has_crc(search->debug->fd, search->crc);

	if (ours)
		return 0;
	elf_file_close(search->debug);
	return -ESTALE;
}

/* In the process's root and in ours: a container rarely has its debug files, its host may. */
static int try_debug_roots(const struct search *search, const char *path, int linked)
{
	int error = search->pid ? try_candidate(search, path, search->pid, linked) : -ENOENT;

	return error ? try_candidate(search, path, 0, linked) : 0;
}

static int try_build_id(const struct search *search, const char *hex)
{
	char path[sizeof(DEBUG_ROOT) + 2 * BUILD_ID_MAX + 32];

	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
	return try_debug_roots(search, path, 0);
}

/* What debuginfod's clients have fetched for this user. Source: debuginfod_find_debuginfo(3). */
static int try_fetched(const struct search *search, const char *hex)
{
	static const struct {
		const char *variable, *below;
	} places[] = {{"DEBUGINFOD_CACHE_PATH", ""}, {"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"}};
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *folder = getenv(places[i].variable);
		int bytes = snprintf(path, sizeof(path), "%s%s/%s/debuginfo", folder ? folder : "",
			places[i].below, hex);

		if (folder && bytes > 0 && (size_t)bytes < sizeof(path) &&
			!try_candidate(search, path, 0, 0))
			return 0;
	}
	return -ENOENT;
}

/* Where a build-id alone tells the name. */
static int try_id(const struct search *search)
{
	char hex[2 * BUILD_ID_MAX + 1];

	if (search->id_bytes < 2 || search->id_bytes > BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < search->id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", search->id[i]);
	return try_build_id(search, hex) ? try_fetched(search, hex) : 0;
}

/* The name in .gnu_debuglink and its checksum; NULL when there is none that is a plain file name.
 */
static const char *read_link(const struct elf_file *file, uint32_t *crc)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, ".gnu_debuglink", &header);
	Elf_Data *data = section ? elf_file_data(section, &header) : NULL;

	if (!data)
		return NULL;

	const char *name = data->d_buf;
	const char *end = memchr(name, '\0', data->d_size);

	if (!end || end == name || memchr(name, '/', (size_t)(end - name)))
		return NULL;

	/* Padded to four bytes, then the checksum. */
	size_t at = ((size_t)(end - name) + 4) & ~(size_t)3;

	if (at + sizeof(*crc) > data->d_size)
		return NULL;
	memcpy(crc, name + at, sizeof(*crc));
	return name;
}

static int try_link(
	const struct search *search, const char *folder, size_t folder_bytes, const char *name)
{
	static const struct {
		const char *before;
		const char *between;
	} forms[] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_ROOT, "/"}};
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		int bytes = snprintf(path, sizeof(path), "%s%.*s%s%s", forms[i].before,
			(int)folder_bytes, folder, forms[i].between, name);

		if (bytes > 0 && (size_t)bytes < sizeof(path) && !try_debug_roots(search, path, 1))
			return 0;
	}
	return -ENOENT;
}

/*
 * Find the debug file of @file, the module at @path as process @pid (0: we) sees it. A candidate
 * is taken when its build-id is the module's, or, where one of them has none, when its checksum is
 * the one in the debug link. Returns 0 and @debug, to be closed by the caller, or -ENOENT.
 */
static int debugfile_open(
	struct elf_file *debug, const struct elf_file *file, const char *path, uint32_t pid)
{
	struct search search = {.debug = debug, .pid = pid};
	char link[64], real[PATH_BYTES];

	search.id_bytes = elf_file_build_id(file, &search.id);
	if (!try_id(&search))
		return 0;

	const char *name = read_link(file, &search.crc);
	const char *slash = strrchr(path, '/');

	if (!name)
		return -ENOENT;
	if (slash && !try_link(&search, path, (size_t)(slash - path), name))
		return 0;

	/* The folder behind symbolic links: /lib is /usr/lib on most systems. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);

	ssize_t bytes = file->fd < 0 ? -1 : readlink(link, real, sizeof(real) - 1);

	if (bytes <= 0)
		return -ENOENT;
	real[bytes] = '\0';
	slash = strrchr(real, '/');
	return slash ? try_link(&search, real, (size_t)(slash - real), name) : -ENOENT;
}

/* ---- which file, and what of it -------------------------------------------------------------- */

/* Open @path if it is the file that ran. Sets *@mismatch when it was another one. */
static int try_path(struct elf_file *file, const struct symbols_module *module, const char *path,
	uint32_t pid, int *mismatch)
{
	int error = elf_file_open(file, path, pid);

	if (error)
		return error;
	if (!module->build_id ||
		elf_file_has_build_id(file, module->build_id, module->build_id_bytes))
		return 0;
	*mismatch = 1;
	elf_file_close(file);
	return -ESTALE;
}

/* Below the process's root first: in a container our own file of that name is another one. */
static int try_roots(
	struct elf_file *file, const struct symbols_module *module, const char *path, int *mismatch)
{
	int error = module->pid ? try_path(file, module, path, module->pid, mismatch) : -ENOENT;

	return error ? try_path(file, module, path, 0, mismatch) : 0;
}

static int open_module(struct elf_file *file, const struct symbols_module *module, int *mismatch)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_BYTES];
	size_t bytes = strlen(module->path);
	int error = -ENOENT;

	if (module->is_vdso) {
		error = vdso_open(file);
		if (!error && module->build_id &&
			!elf_file_has_build_id(file, module->build_id, module->build_id_bytes)) {
			elf_file_close(file);
			*mismatch = 1;
			error = -ESTALE;
		}
		return error;
	}
	if (bytes >= sizeof(path))
		return -ENAMETOOLONG;
	if (bytes)
		error = try_roots(file, module, module->path, mismatch);
	if (error && bytes > strlen(deleted) &&
		!strcmp(module->path + bytes - strlen(deleted), deleted)) {
		snprintf(path, sizeof(path), "%.*s", (int)(bytes - strlen(deleted)), module->path);
		error = try_roots(file, module, path, mismatch);
	}

	/* The program's own file can be read there even when it has no name any more. When that
	 * one's build-id is not @module's, no mismatch is told of: @module is then a library. */
	if (error && module->pid && (module->build_id || !bytes)) {
		int not_the_program;

		snprintf(path, sizeof(path), "/proc/%u/exe", module->pid);
		error = try_path(file, module, path, 0, &not_the_program);
	}
	return error;
}

/* Add what a stripped @file has elsewhere. Returns 0 or -ENOMEM. */
static int add_separate(struct symtab *table, const struct symbols_module *module,
	const struct elf_file *file, enum symbols_source *source)
{
	struct elf_file other;
	int added = debugfile_open(&other, file, module->path, module->pid);

	if (!added) {
		added = elf_symbols_add(table, &other, SHT_SYMTAB);
		elf_file_close(&other);
		if (added > 0)
			*source = SYMBOLS_DEBUG_FILE;
		if (added)
			return added < 0 ? added : 0;
	} else if (added == -ENOMEM) {
		return added;
	}

	added = minidebug_open(&other, file);
	if (added)
		return added == -ENOMEM ? added : 0;
	added = elf_symbols_add(table, &other, SHT_SYMTAB);
	elf_file_close(&other);
	if (added > 0)
		*source = SYMBOLS_MINI;
	return added < 0 ? added : 0;
}

static int add_all(struct symtab *table, const struct symbols_module *module,
	const struct elf_file *file, enum symbols_source *source)
{
	int added = elf_symbols_add(table, file, SHT_SYMTAB);

	if (added > 0)
		*source = SYMBOLS_SYMTAB;
	else if (!added && (added = gosyms_add(table, file)) > 0)
		*source = SYMBOLS_GO;
	else if (!added && !module->is_vdso && !module->is_hurried)
		added = add_separate(table, module, file, source);
	if (added < 0)
		return added;

	/* Always: exported names are better than local aliases, and compressed symbol tables leave
	 * out what is exported. */
	added = elf_symbols_add(table, file, SHT_DYNSYM);
	if (added > 0 && *source == SYMBOLS_NONE)
		*source = SYMBOLS_DYNSYM;
	if (added >= 0)
		added = plt_add(table, file);
	if (module->is_vdso && *source != SYMBOLS_NONE)
		*source = SYMBOLS_VDSO;
	return added < 0 ? added : 0;
}

int module_read(
	const struct symbols_module *module, struct symtab **table, enum symbols_source *source)
{
	struct elf_file file;
	struct symtab *filled = symtab_new();
	enum symbols_source from = SYMBOLS_NONE;
	int mismatch = 0;
	int error;

	if (!filled)
		return -ENOMEM;
	error = open_module(&file, module, &mismatch);
	if (!error) {
		error = add_all(filled, module, &file, &from);
		elf_file_close(&file);
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
	struct elf_file file;
	int mismatch = 0;
	int error = open_module(&file, module, &mismatch);

	if (error)
		return error == -ENOMEM ? error : -ENOENT;
	error = functions_read(functions, &file);
	elf_file_close(&file);
	return error;
}

/* Segments are mapped by whole pages of this size at least. */
#define PAGE_BYTES 4096u

int module_offset_address(const struct symbols_module *module, uint64_t offset, uint64_t *address)
{
	struct elf_file file;
	size_t headers = 0;
	int mismatch = 0;
	int error = open_module(&file, module, &mismatch);

	if (error)
		return -ENOENT;
	error = -ENOENT;
	if (elf_getphdrnum(file.elf, &headers) || headers >= PN_XNUM)
		headers = 0;
	for (size_t i = 0; error && i < headers; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file.elf, (int)i, &header) || header.p_type != PT_LOAD ||
			offset < header.p_offset - header.p_offset % PAGE_BYTES ||
			offset - header.p_offset >= header.p_filesz)
			continue;
		*address = offset - header.p_offset + header.p_vaddr;
		error = 0;
	}
	elf_file_close(&file);
	return error;
}
