/* SPDX-License-Identifier: MIT */
/*
 * Find a module's file by path and build-id, then read its symbols.
 *
 * When names are read, the file may have been replaced or deleted, or be in another root. So
 * several paths are tried, and the build-id decides. Without a build-id, the first file found is
 * used, unless its ctime is later than the time at which the module was seen in the process:
 * replacing a file renews the ctime, and no tool that copies or unpacks files can set the ctime
 * back.
 *
 * A file without a name can be opened through the kernel while its process lives: the program by
 * /proc/PID/exe, other files by /proc/PID/map_files, which needs CAP_CHECKPOINT_RESTORE or root.
 * held_files.c has files that were opened while the process ran. Code of replaced libraries of
 * other users stays unnamed: reading .dynsym from memory would need a second ELF reader for a few
 * exported names.
 *
 * Separate debug files are found by build-id and by debug link, as in gdb's manual ("Debugging
 * Information in Separate Files"), and in debuginfod's cache. libdwfl is not used, because look-ups
 * must not use the network and must try the target's root first; unit tests compare the names with
 * libdwfl's.
 */
#include "cli/symbols/module.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/symbols/debuginfod.h"
#include "cli/symbols/elf_file.h"
#include "cli/symbols/elf_symbols.h"
#include "cli/symbols/gopclntab.h"

#define PATH_BYTES 4096

/* ---- separate debug files -------------------------------------------------------------------- */

struct debug_search {
	const struct symbols_module *module;
	const struct elf_file *file; /* module's file; NULL: not found */
	struct elf_file *debug;
	const uint8_t *id;
	size_t id_bytes;
	uint32_t crc;
	/* path of the debug file that was opened */
	char found[PATH_BYTES];
};

static void search_init(struct debug_search *search, const struct symbols_module *module,
	const struct elf_file *file, struct elf_file *debug)
{
	*search = (struct debug_search){.module = module, .file = file, .debug = debug};
	if (file) {
		search->id_bytes = elf_file_build_id(file, &search->id);
	} else if (module->build_id) {
		search->id = module->build_id;
		search->id_bytes = module->build_id_bytes;
	}
}

/* Return whether the whole file has the checksum @wanted, a CRC-32 as in debug links. */
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

/*
 * Open @path if its build-id is the module's. If one of the two has no build-id and @linked is set,
 * compare the file's checksum with the checksum in the debug link. Returns 0 or -errno.
 */
static int try_candidate(struct debug_search *search, const char *path, uint32_t pid, int linked)
{
	const uint8_t *id;
	int error = elf_file_open(search->debug, path, pid);

	if (error)
		return error;

	size_t bytes = elf_file_build_id(search->debug, &id);
	int ours = bytes && search->id_bytes
			   ? bytes == search->id_bytes && !memcmp(id, search->id, bytes)
			   : linked && file_has_crc(search->debug->fd, search->crc);

	if (ours) {
		snprintf(search->found, sizeof(search->found), "%s", path);
		return 0;
	}
	elf_file_close(search->debug);
	return -ESTALE;
}

/* Try the root of the process, then flamerun's own, which may have a container's debug files. */
static int try_debug_roots(struct debug_search *search, const char *path, int linked)
{
	uint32_t pid = search->module->pid;
	int error = pid ? try_candidate(search, path, pid, linked) : -ENOENT;

	return error ? try_candidate(search, path, 0, linked) : 0;
}

static int try_build_id(struct debug_search *search)
{
	char path[ELF_FILE_ID_PATH];

	if (elf_file_id_path(search->id, search->id_bytes, path))
		return -ENOENT;
	return try_debug_roots(search, path, 0);
}

static int try_fetched(struct debug_search *search)
{
	return debuginfod_open(
		search->debug, search->id, search->id_bytes, search->found, sizeof(search->found));
}

/* Return the file name in .gnu_debuglink and set *@crc; NULL if there is no valid one. */
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

	/* The checksum follows the name, which is padded to a multiple of four bytes. */
	size_t at = ((size_t)(end - name) + 4) & ~(size_t)3;

	if (at + sizeof(*crc) > data->d_size)
		return NULL;
	memcpy(crc, name + at, sizeof(*crc));
	return name;
}

static int try_link(
	struct debug_search *search, const char *folder, size_t folder_bytes, const char *name)
{
	static const struct {
		const char *before;
		const char *between;
	} forms[] = {{"", "/"}, {"", "/.debug/"}, {ELF_FILE_DEBUG_ROOT, "/"}};
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		int bytes = snprintf(path, sizeof(path), "%s%.*s%s%s", forms[i].before,
			(int)folder_bytes, folder, forms[i].between, name);

		if (bytes > 0 && (size_t)bytes < sizeof(path) && !try_debug_roots(search, path, 1))
			return 0;
	}
	return -ENOENT;
}

/* Find the debug file by the debug link of the module's file. */
static int try_debug_link(struct debug_search *search)
{
	char real[PATH_BYTES];
	const char *path = search->module->path, *slash = strrchr(path, '/');
	const char *name = search->file ? read_link(search->file, &search->crc) : NULL;

	if (!name)
		return -ENOENT;
	if (slash && !try_link(search, path, (size_t)(slash - path), name))
		return 0;

	/* Try the file's folder with symbolic links resolved: /lib is /usr/lib on most systems. */
	elf_file_path(search->file, real, sizeof(real));
	slash = strrchr(real, '/');
	return slash ? try_link(search, real, (size_t)(slash - real), name) : -ENOENT;
}

/* The places where a debug file is searched, in the order of the search. */
static const struct {
	int (*open)(struct debug_search *search);
	enum symbols_source source;
} places[] = {{try_build_id, SYMBOLS_DEBUG_FILE}, {try_debug_link, SYMBOLS_DEBUG_LINK},
	{try_fetched, SYMBOLS_DEBUGINFOD}};

#define PLACES (sizeof(places) / sizeof(*places))

/* ---- the file that ran, and its symbols ------------------------------------------------------ */

#define NS_PER_S 1000000000LL

/* Was the file @fd replaced or changed after the module was seen in the process? */
static bool has_changed(const struct symbols_module *module, int fd)
{
	struct stat status;

	return module->seen_ns && !fstat(fd, &status) &&
	       status.st_ctim.tv_sec * NS_PER_S + status.st_ctim.tv_nsec > module->seen_ns;
}

static bool has_its_build_id(const struct symbols_module *module, const struct elf_file *file)
{
	return elf_file_has_build_id(file, module->build_id, module->build_id_bytes);
}

/*
 * Open @path if it is the file that ran. Otherwise set *@verdict: SYMBOLS_REPLACED if the file is
 * newer, so it replaced the file that ran; SYMBOLS_MISMATCH if it is older, so it is another file
 * of this name. Returns 0 or -errno.
 */
static int try_path(struct elf_file *file, const struct symbols_module *module, const char *path,
	uint32_t pid, enum symbols_source *verdict)
{
	int error = elf_file_open(file, path, pid);
	bool is_changed;

	if (error)
		return error;
	is_changed = has_changed(module, file->fd);
	if (module->build_id ? has_its_build_id(module, file) : !is_changed)
		return 0;
	if (*verdict != SYMBOLS_REPLACED)
		*verdict = is_changed ? SYMBOLS_REPLACED : SYMBOLS_MISMATCH;
	elf_file_close(file);
	return -ESTALE;
}

/*
 * Open @path, a link in /proc, which leads to the file that ran even if the file has no name any
 * more. Compare the build-id if there is one, but not the ctime, which changed when the file lost
 * its name. Returns 0 or -errno.
 */
static int try_held(struct elf_file *file, const struct symbols_module *module, const char *path)
{
	int error = elf_file_open(file, path, 0);

	if (error || !module->build_id || has_its_build_id(module, file))
		return error;
	elf_file_close(file);
	return -ESTALE;
}

/* Try the root of the process first: flamerun's own may have another file at this path. */
static int try_roots(struct elf_file *file, const struct symbols_module *module, const char *path,
	enum symbols_source *verdict)
{
	int error = module->pid ? try_path(file, module, path, module->pid, verdict) : -ENOENT;

	return error ? try_path(file, module, path, 0, verdict) : 0;
}

/* the kernel appends this to paths of deleted files */
static const char deleted[] = " (deleted)";

/* Return the length of @path without " (deleted)"; 0 if @path does not end in it. */
static size_t length_of_deleted(const char *path)
{
	size_t bytes = strlen(path), mark = strlen(deleted);

	return bytes > mark && !strcmp(path + bytes - mark, deleted) ? bytes - mark : 0;
}

/* Try the path without " (deleted)", because a new file at this path may have the same build-id. */
static int try_deleted(
	struct elf_file *file, const struct symbols_module *module, enum symbols_source *verdict)
{
	size_t bytes = length_of_deleted(module->path);
	struct symbols_module renamed = *module;
	char path[PATH_BYTES];

	if (!bytes)
		return -ENOENT;
	/* Every file is newer than this time, so a file without a build-id is not accepted. */
	renamed.seen_ns = 1;
	snprintf(path, sizeof(path), "%.*s", (int)bytes, module->path);
	return try_roots(file, &renamed, path, verdict);
}

/* Is the link /proc/PID/exe the file at @module's path, deleted or not? */
static bool is_program(const struct symbols_module *module, const char *link)
{
	char path[PATH_BYTES];
	ssize_t bytes = readlink(link, path, sizeof(path) - 1);
	size_t length;

	if (bytes <= 0)
		return false;
	path[bytes] = '\0';
	length = length_of_deleted(path);
	if (length)
		path[length] = '\0';
	length = length_of_deleted(module->path);
	if (!length)
		length = strlen(module->path);
	return strlen(path) == length && !memcmp(path, module->path, length);
}

/* Open the file of the mapping at @module->start in the process, through /proc/PID/map_files. */
static int try_mapping(struct elf_file *file, const struct symbols_module *module)
{
	char folder[64], path[sizeof(folder) + NAME_MAX + 2], *end;
	struct dirent *entry;
	int error = -ENOENT;
	DIR *mappings;

	if (!module->start || !module->build_id)
		return error;
	snprintf(folder, sizeof(folder), "/proc/%u/map_files", module->pid);
	mappings = opendir(folder);
	while (mappings && error && (entry = readdir(mappings))) {
		if (strtoull(entry->d_name, &end, 16) != module->start || *end != '-')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		error = try_held(file, module, path);
	}
	if (mappings)
		closedir(mappings);
	return error;
}

/* Open, through links in /proc, the file that ran, even if it has no name. Returns 0 or -errno. */
static int open_held(struct elf_file *file, const struct symbols_module *module)
{
	char path[64];
	int error = -ENOENT;

	if (module->pid) {
		snprintf(path, sizeof(path), "/proc/%u/exe", module->pid);
		if (module->build_id || !module->path[0] || is_program(module, path))
			error = try_held(file, module, path);
		if (error)
			error = try_mapping(file, module);
	}
	if (error && module->program && module->build_id)
		error = try_held(file, module, module->program);
	if (error && module->held) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", module->held);
		error = try_held(file, module, path);
	}
	return error;
}

/* Open the file that ran. If only another file is found, set *@verdict. Returns 0 or -errno. */
static int open_module(
	struct elf_file *file, const struct symbols_module *module, enum symbols_source *verdict)
{
	int error = -ENOENT;

	if (module->is_vdso) {
		error = vdso_open(file);
		if (!error && module->build_id && !has_its_build_id(module, file)) {
			elf_file_close(file);
			*verdict = SYMBOLS_MISMATCH;
			error = -ESTALE;
		}
		return error;
	}
	if (strlen(module->path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	if (module->path[0])
		error = try_roots(file, module, module->path, verdict);
	if (error)
		error = try_deleted(file, module, verdict);
	return error ? open_held(file, module) : 0;
}

int module_open_file(const struct symbols_module *module)
{
	struct elf_file file;
	enum symbols_source verdict = SYMBOLS_NONE;
	int error = open_module(&file, module, &verdict);
	int fd;

	if (error)
		return error;
	/* Return a descriptor above 2, even if a standard stream is closed. */
	fd = fcntl(file.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	error = fd < 0 ? -errno : 0;
	elf_file_close(&file);
	return error ? error : fd;
}

bool module_is_changed(const struct symbols_module *module)
{
	int fd = -1;
	bool is_changed;

	if (module->build_id || module->is_vdso || !module->path[0] || !module->seen_ns)
		return false;
	if (module->pid)
		fd = regular_open(module->path, module->pid, 0);
	if (fd < 0)
		fd = regular_open(module->path, 0, 0);
	if (fd < 0)
		return false;
	is_changed = has_changed(module, fd);
	close(fd);
	return is_changed;
}

/* Add the symbols of search->debug and close it. Returns 1 and *@origin, 0 (none) or -ENOMEM. */
static int add_debug_file(struct symtab *table, struct debug_search *search,
	enum symbols_source source, struct symbols_origin *origin)
{
	int added = elf_symbols_add(table, search->debug, SHT_SYMTAB);

	elf_file_close(search->debug);
	if (added <= 0)
		return added;
	origin->path = strdup(search->found);
	origin->source = source;
	return origin->path ? 1 : -ENOMEM;
}

static int add_mini(
	struct symtab *table, const struct elf_file *file, struct symbols_origin *origin)
{
	struct elf_file mini;
	int added = minidebug_open(&mini, file);

	if (added)
		return added == -ENOMEM ? added : 0;
	added = elf_symbols_add(table, &mini, SHT_SYMTAB);
	elf_file_close(&mini);
	if (added > 0)
		origin->source = SYMBOLS_MINI;
	return added;
}

/*
 * Add the symbols of a stripped @file's debug file or MiniDebugInfo. If the file was not found,
 * @file is NULL and only the build-id is used. Returns 0 or -ENOMEM. Sets *@origin if symbols were
 * added.
 */
static int add_separate(struct symtab *table, const struct symbols_module *module,
	const struct elf_file *file, struct symbols_origin *origin)
{
	struct elf_file debug;
	struct debug_search search;
	int added = 0;

	search_init(&search, module, file, &debug);
	for (size_t i = 0; i < PLACES && !added; i++)
		if (!places[i].open(&search))
			added = add_debug_file(table, &search, places[i].source, origin);
	if (!added && file)
		added = add_mini(table, file, origin);
	return added < 0 ? added : 0;
}

static int add_all(struct symtab *table, const struct symbols_module *module,
	const struct elf_file *file, struct symbols_origin *origin)
{
	int added = elf_symbols_add(table, file, SHT_SYMTAB);

	if (added > 0)
		origin->source = SYMBOLS_SYMTAB;
	else if (!added && (added = gosyms_add(table, file)) > 0)
		origin->source = SYMBOLS_GO;
	else if (!added && !module->is_vdso && !module->is_hurried)
		added = add_separate(table, module, file, origin);
	if (added < 0)
		return added;

	/* Exported names are better than local names of one address. MiniDebugInfo lacks them. */
	added = elf_symbols_add(table, file, SHT_DYNSYM);
	if (added > 0 && origin->source == SYMBOLS_NONE)
		origin->source = SYMBOLS_DYNSYM;
	if (module->is_vdso && origin->source != SYMBOLS_NONE)
		origin->source = SYMBOLS_VDSO;
	return added < 0 ? added : plt_add(table, file);
}

int module_read(
	const struct symbols_module *module, struct symtab **table, struct symbols_origin *origin)
{
	struct elf_file file;
	struct symtab *filled = symtab_new();
	struct symbols_origin from = {SYMBOLS_NONE, NULL};
	enum symbols_source verdict = SYMBOLS_NONE;
	int error;

	if (!filled)
		return -ENOMEM;
	error = open_module(&file, module, &verdict);
	if (!error) {
		error = add_all(filled, module, &file, &from);
		elf_file_close(&file);
	} else {
		from.source = verdict;
		error = module->is_vdso || module->is_hurried
				? 0
				: add_separate(filled, module, NULL, &from);
	}
	if (!error)
		error = symtab_finish(filled);
	if (error) {
		symtab_free(filled);
		free((char *)from.path);
		return -ENOMEM;
	}
	*table = filled;
	*origin = from;
	return 0;
}

int module_read_functions(const struct symbols_module *module, struct functions **functions)
{
	struct elf_file file;
	enum symbols_source verdict = SYMBOLS_NONE;
	int error = open_module(&file, module, &verdict);

	if (error)
		return error == -ENOMEM ? error : -ENOENT;
	error = functions_read(functions, &file);
	elf_file_close(&file);
	return error;
}

/* Does @file have DWARF? A stripped file can have the section without contents. */
static int has_dwarf(const struct elf_file *file)
{
	GElf_Shdr header;

	return elf_file_section(file, ".debug_info", &header) && header.sh_type != SHT_NOBITS;
}

int module_open_dwarf(const struct symbols_module *module, struct elf_file *file)
{
	enum symbols_source verdict = SYMBOLS_NONE;
	struct debug_search search;
	struct elf_file own;
	bool has_own;
	int error = -ENOENT;

	if (module->is_vdso)
		return error;
	has_own = !open_module(&own, module, &verdict);
	if (has_own && has_dwarf(&own)) {
		*file = own;
		return 0;
	}
	search_init(&search, module, has_own ? &own : NULL, file);
	for (size_t i = 0; i < PLACES && error && !module->is_hurried; i++) {
		error = places[i].open(&search);
		if (!error && !has_dwarf(file)) {
			elf_file_close(file);
			error = -ENOENT;
		}
	}
	if (has_own)
		elf_file_close(&own);
	return error ? -ENOENT : 0;
}

/* Segments are mapped in whole pages; pages have at least this size. */
#define PAGE_BYTES 4096u

void module_system_calls(
	const struct symbols_module *module, struct call_number *calls, size_t count)
{
	struct elf_file file;
	enum symbols_source verdict = SYMBOLS_NONE;
	int error = open_module(&file, module, &verdict);

	for (size_t i = 0; i < count; i++) {
		calls[i].number = -1;
		calls[i].passing = 0;
		if (!error)
			call_number_find(&file, &calls[i]);
	}
	if (!error)
		elf_file_close(&file);
}

/*
 * Find the segment of @module's file that holds the byte at @offset, or, if @by_address, the code
 * at ELF virtual address @offset. Returns 0, -ENOENT without the file, or -EINVAL without such a
 * segment.
 */
static int find_segment(
	const struct symbols_module *module, uint64_t offset, bool by_address, GElf_Phdr *header)
{
	struct elf_file file;
	enum symbols_source verdict = SYMBOLS_NONE;
	int error = open_module(&file, module, &verdict);
	size_t headers;

	if (error)
		return -ENOENT;
	error = -EINVAL;
	headers = elf_file_headers(&file);
	for (size_t i = 0; error && i < headers; i++) {
		uint64_t start;

		if (!gelf_getphdr(file.elf, (int)i, header) || header->p_type != PT_LOAD ||
			(by_address && !(header->p_flags & PF_X)))
			continue;
		start = by_address ? header->p_vaddr : header->p_offset;
		if (offset - start < header->p_filesz)
			error = 0;
	}
	elf_file_close(&file);
	return error;
}

int module_offset_address(const struct symbols_module *module, uint64_t offset, uint64_t *address)
{
	GElf_Phdr header;

	if (find_segment(module, offset, false, &header))
		return -ENOENT;
	*address = offset - header.p_offset + header.p_vaddr;
	return 0;
}

int module_segment(
	const struct symbols_module *module, uint64_t address, struct symbols_segment *segment)
{
	GElf_Phdr header;
	int error = find_segment(module, address, true, &header);
	uint64_t before, end;

	if (error)
		return error;
	before = header.p_vaddr % PAGE_BYTES;
	end = header.p_vaddr + header.p_filesz;
	if (end < header.p_vaddr || before > header.p_offset)
		return -EINVAL;
	*segment = (struct symbols_segment){
		.start = header.p_vaddr - before,
		.end = end + (PAGE_BYTES - end % PAGE_BYTES) % PAGE_BYTES,
		.offset = header.p_offset - before,
	};
	return 0;
}
