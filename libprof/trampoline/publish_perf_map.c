/* SPDX-License-Identifier: MIT */
/*
 * perf's map of names, /tmp/perf-PID.map: a line "START SIZE name" for each stub and each piece of
 * the host's code. Lines are only appended. The file stays after the process has ended, because
 * perf report reads it later. Source: linux, tools/perf/Documentation/jit-interface.txt.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libprof/trampoline/publish_file.h"

/* Bytes of a name. Longer names are cut, so that a line fits into the buffer. */
#define NAME_BYTES 2048

static struct publish_file map;
static unsigned in_files; /* regions in pages of a file */

static int start(void)
{
	char path[64];

	if (map.is_open)
		return 0;
	in_files = 0;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	return publish_file_open(&map, path, PUBLISH_FILE_SHARED);
}

static int add_region(const struct region *region, void **state)
{
	(void)state;
	in_files += region->of_file != 0;
	return 0;
}

static void remove_region(const struct region *region, void *state)
{
	(void)state;
	in_files -= region->of_file != 0;
}

/* Write @name with controls as \x0a: a newline ends a line, and perf prints names to terminals. */
static size_t put_name(char *line, const char *name)
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;

	for (; *name && used + 4 <= NAME_BYTES; name++) {
		unsigned char byte = *name;

		if (byte >= 0x20 && byte != 0x7f) {
			line[used++] = byte;
			continue;
		}
		line[used++] = '\\';
		line[used++] = 'x';
		line[used++] = digits[byte >> 4];
		line[used++] = digits[byte & 15];
	}
	/* Do not end with a part of a UTF-8 character. */
	if (*name) {
		while (used && (line[used - 1] & 0xc0) == 0x80)
			used--;
		if (used && (line[used - 1] & 0xc0) == 0xc0)
			used--;
	}
	/* perf ignores lines whose name has fewer than three bytes. */
	while (used < 3)
		line[used++] = ' ';
	return used;
}

static size_t put_hex(char *line, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	size_t count = 1;

	for (uint64_t rest = value >> 4; rest; rest >>= 4)
		count++;
	for (size_t i = count; i; value >>= 4)
		line[--i] = digits[value & 15];
	return count;
}

static int add_slot(const struct region *region, uint32_t slot, void *state)
{
	char line[2 * 17 + NAME_BYTES + 1];
	size_t used = put_hex(line, publish_slot_start(region, slot));

	(void)state;
	line[used++] = ' ';
	used += put_hex(line + used, publish_slot_bytes(region));
	line[used++] = ' ';
	used += put_name(line + used, region->slot[slot].name);
	line[used++] = '\n';
	/* Write only whole lines at once, because other code may append lines to this file, too. */
	if (used > sizeof(map.buffer) - map.used)
		publish_file_flush(&map);
	publish_file_put(&map, line, used);
	return 0;
}

static int flush(void)
{
	if (!publish_file_flush(&map))
		return 0;
	publish_file_drop(&map);
	return PUBLISH_ENDED;
}

static int fork_child(void)
{
	publish_file_drop(&map);
	return start();
}

/* perf uses the map only for anonymous memory, not for a memfd; jitdump has no such limit. */
static int status(void)
{
	return in_files ? -ENOTSUP : 0;
}

const struct publisher publisher_perf_map = {
	.flag = FLAMEPROF_PUBLISH_PERF_MAP,
	.start = start,
	.add_region = add_region,
	.remove_region = remove_region,
	.add_slot = add_slot,
	.flush = flush,
	.fork_child = fork_child,
	.status = status,
};
