/* SPDX-License-Identifier: MIT */
/*
 * DWARF contains the file names of the machine on which the compiler or dwz ran. Try each file
 * first by its recorded path, then in the folders to which it may have been moved with the program.
 */
#include "cli/symbols/dwarf_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/symbols/debuginfod.h"

#define PATH_BYTES 4096

/* Write the path of the folder that contains @file; "" if it is unknown. */
static void folder_of(const struct elf_file *file, char folder[PATH_BYTES])
{
	char *slash;

	elf_file_path(file, folder, PATH_BYTES);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
}

/*
 * Open @name in @folder, first in the root of process @pid (0: none), then in flamerun's own root.
 * Returns 0 or -errno.
 */
static int open_in(struct elf_file *file, const char *folder, const char *name, uint32_t pid)
{
	char path[PATH_BYTES];
	int bytes = name[0] == '/' || !folder[0]
			    ? snprintf(path, sizeof(path), "%s", name)
			    : snprintf(path, sizeof(path), "%s/%s", folder, name);
	int error;

	if (bytes <= 0 || (size_t)bytes >= sizeof(path) || path[0] != '/')
		return -ENOENT;
	error = pid ? elf_file_open(file, path, pid) : -ENOENT;
	return error ? elf_file_open(file, path, 0) : 0;
}

int dwarf_files_open_split(struct elf_file *split, const struct elf_file *file, const char *folder,
	const char *name, uint32_t pid)
{
	char beside[PATH_BYTES];
	int error = open_in(split, folder, name, pid);

	if (!error)
		return 0;
	folder_of(file, beside);
	if (name[0] != '/')
		error = open_in(split, beside, name, 0);
	return error ? open_in(split, beside, basename(name), 0) : 0;
}

int dwarf_files_open_package(struct elf_file *package, const struct elf_file *file)
{
	static const char suffix[] = ".dwp", debug[] = ".debug";
	char path[PATH_BYTES];
	size_t bytes;
	int error;

	elf_file_path(file, path, sizeof(path) - sizeof(suffix));
	bytes = strlen(path);
	if (!bytes)
		return -ENOENT;
	strcpy(path + bytes, suffix);
	error = elf_file_open(package, path, 0);
	/* @file may be the separate debug file; the .dwp is named after the program. */
	if (error && bytes >= sizeof(debug) &&
		!memcmp(path + bytes - strlen(debug), debug, strlen(debug))) {
		strcpy(path + bytes - strlen(debug), suffix);
		error = elf_file_open(package, path, 0);
	}
	return error;
}

/* ---- dwz ------------------------------------------------------------------------------------- */

/* The reference from a debug file to dwz's alternate file. */
struct link {
	const char *name;
	const uint8_t *id; /* build-id */
	size_t id_bytes;
};

/* Read .gnu_debugaltlink: a file name, followed by the build-id up to the section's end. */
static bool read_altlink(const struct elf_file *file, struct link *link)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, ".gnu_debugaltlink", &header);
	Elf_Data *data = section ? elf_file_data(section, &header) : NULL;
	const uint8_t *text = data ? data->d_buf : NULL;
	const uint8_t *end = text ? memchr(text, '\0', data->d_size) : NULL;

	if (!end)
		return false;
	*link = (struct link){(const char *)text, end + 1, data->d_size - (size_t)(end + 1 - text)};
	return true;
}

static int open_linked(struct elf_file *file, const char *folder, const char *name, uint32_t pid,
	const struct link *link)
{
	int error = open_in(file, folder, name, pid);

	if (error || elf_file_has_build_id(file, link->id, link->id_bytes))
		return error;
	elf_file_close(file);
	return -ESTALE;
}

static int open_alternate(struct elf_file *alternate, const struct elf_file *file, uint32_t pid,
	const struct link *link)
{
	char folder[PATH_BYTES], path[ELF_FILE_ID_PATH];

	if (!link->name[0] || elf_file_id_path(link->id, link->id_bytes, path))
		return -ENOENT;
	folder_of(file, folder);
	if (!open_linked(alternate, folder, link->name, pid, link) ||
		!open_linked(
			alternate, ELF_FILE_DEBUG_ROOT "/.dwz", basename(link->name), pid, link) ||
		!open_linked(alternate, "", path, pid, link) ||
		!debuginfod_open(alternate, link->id, link->id_bytes, folder, sizeof(folder)))
		return 0;
	return -ESTALE;
}

int dwarf_files_open_alternate(
	struct elf_file *alternate, const struct elf_file *file, uint32_t pid)
{
	struct link link;

	if (!read_altlink(file, &link))
		return -ENOENT;
	return open_alternate(alternate, file, pid, &link);
}

size_t dwarf_files_missed(const struct elf_file *file, uint32_t pid, uint8_t id[ELF_FILE_ID_MAX])
{
	struct elf_file alternate;
	struct link link;
	int error;

	if (!read_altlink(file, &link))
		return 0;
	error = open_alternate(&alternate, file, pid, &link);
	if (!error)
		elf_file_close(&alternate);
	if (error != -ESTALE)
		return 0;
	memcpy(id, link.id, link.id_bytes);
	return link.id_bytes;
}
