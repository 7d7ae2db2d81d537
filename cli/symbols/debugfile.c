/* SPDX-License-Identifier: MIT */
/*
 * The search for separate debug files. See the header.
 */
#include "cli/symbols/debugfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_ROOT   "/usr/lib/debug"
#define PATH_BYTES   4096
#define BUILD_ID_MAX 64 /* bytes; longer ones have no folder */

struct search {
	struct elfimage *debug;
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
	int error = elfimage_open(search->debug, path, pid);

	if (error)
		return error;

	size_t bytes = elfimage_build_id(search->debug, &id);
	int ours = bytes && search->id_bytes
			   ? bytes == search->id_bytes && !memcmp(id, search->id, bytes)
			   : linked && file_has_crc(search->debug->fd, search->crc);

	if (ours)
		return 0;
	elfimage_close(search->debug);
	return -ESTALE;
}

/* In the process's root and in ours: a container rarely has its debug files, its host may. */
static int try_roots(const struct search *search, const char *path, int linked)
{
	int error = search->pid ? try_candidate(search, path, search->pid, linked) : -ENOENT;

	return error ? try_candidate(search, path, 0, linked) : 0;
}

static int try_build_id(const struct search *search, const char *hex)
{
	char path[sizeof(DEBUG_ROOT) + 2 * BUILD_ID_MAX + 32];

	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
	return try_roots(search, path, 0);
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
static const char *read_link(const struct elfimage *image, uint32_t *crc)
{
	GElf_Shdr header;
	Elf_Scn *section = elfimage_section(image, ".gnu_debuglink", &header);
	Elf_Data *data = section ? elfimage_data(section, &header) : NULL;

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

		if (bytes > 0 && (size_t)bytes < sizeof(path) && !try_roots(search, path, 1))
			return 0;
	}
	return -ENOENT;
}

int debugfile_open(
	struct elfimage *debug, const struct elfimage *image, const char *path, uint32_t pid)
{
	struct search search = {.debug = debug, .pid = pid};
	char link[64], real[PATH_BYTES];

	search.id_bytes = elfimage_build_id(image, &search.id);
	if (!try_id(&search))
		return 0;

	const char *name = read_link(image, &search.crc);
	const char *slash = strrchr(path, '/');

	if (!name)
		return -ENOENT;
	if (slash && !try_link(&search, path, (size_t)(slash - path), name))
		return 0;

	/* The folder behind symbolic links: /lib is /usr/lib on most systems. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", image->fd);

	ssize_t bytes = image->fd < 0 ? -1 : readlink(link, real, sizeof(real) - 1);

	if (bytes <= 0)
		return -ENOENT;
	real[bytes] = '\0';
	slash = strrchr(real, '/');
	return slash ? try_link(&search, real, (size_t)(slash - real), name) : -ENOENT;
}
