/* SPDX-License-Identifier: MIT */
/*
 * Parse the lines of a perf map. Their address ranges may overlap, so convert them to ranges that
 * do not.
 */
#include "cli/symbols/perfmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbols/elf_file.h"
#include "libprof/procfs.h"
#include "render/array.h"

#define PIECE_NONE UINT32_MAX

struct line {
	uint64_t start;
	uint64_t end;
	/* offset of the name in @text; it rises with the line number, so it also orders lines */
	uint32_t name;
};

/* A range of addresses, from @start to the start of the next piece. */
struct piece {
	uint64_t start;
	/* offset of the name in @text; PIECE_NONE: no name */
	uint32_t name;
};

struct perfmap {
	char *text;	    /* the file's text, in which names end in NUL */
	struct line *lines; /* used while parsing only */
	size_t lines_count;
	size_t lines_room;
	struct piece *pieces;
	size_t pieces_count;
};

/* Parse a hexadecimal number, with or without 0x, at *@at and advance *@at past it. */
static int parse_hex(char **at, uint64_t *value)
{
	char *end;

	if (!isxdigit((unsigned char)**at))
		return -EINVAL;
	errno = 0;
	*value = strtoull(*at, &end, 16);
	*at = end;
	return -errno;
}

char *perfmap_strip_tier(char *line, char *name)
{
	static const struct {
		const char *prefix;
		const char *label;
	} kinds[] = {
		{"JS:", "(anonymous)"},
		{"LazyCompile:", "(anonymous)"},
		{"Function:", "(anonymous)"},
		{"Eval:", "(script)"},
		{"Script:", "(script)"},
		{"Module:", "(script)"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t prefix = strlen(kinds[i].prefix);
		size_t label = strlen(kinds[i].label);

		if (strncmp(name, kinds[i].prefix, prefix) || !name[prefix] ||
			!strchr("~^*+", name[prefix]))
			continue;

		char *rest = name + prefix + 1;

		if (rest[0] != ' ')
			return rest[0] ? rest : name;
		if ((size_t)(rest - line) < label)
			return name;
		memcpy(rest - label, kinds[i].label, label);
		return rest - label;
	}
	return name;
}

/* Add the NUL-terminated @line, or skip it if it is invalid. Returns 0 or -ENOMEM. */
static int add_line(struct perfmap *map, char *line)
{
	char *at = line;
	uint64_t start, size;

	if (parse_hex(&at, &start) || *at++ != ' ' || parse_hex(&at, &size) || *at++ != ' ')
		return 0;
	if (!*at || !size || start + size < start)
		return 0;
	if (ARRAY_GROW(map->lines, map->lines_count, map->lines_room, 1024))
		return -ENOMEM;
	map->lines[map->lines_count++] = (struct line){
		start, start + size, (uint32_t)(perfmap_strip_tier(line, at) - map->text)};
	return 0;
}

static int parse_lines(struct perfmap *map, size_t bytes)
{
	char *line = map->text;
	char *end = map->text + bytes;
	char *newline;

	while (map->lines_count < PERFMAP_MAX_LINES &&
		(newline = memchr(line, '\n', (size_t)(end - line)))) {
		*newline = '\0';
		if (newline > line && newline[-1] == '\r')
			newline[-1] = '\0';

		int error = add_line(map, line);

		if (error)
			return error;
		line = newline + 1;
	}
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left;
	const struct line *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* A binary heap of the lines that cover the current address; the latest line is on top. */
struct heap {
	const struct line **lines;
	size_t count;
};

static void heap_push(struct heap *heap, const struct line *line)
{
	size_t at = heap->count++;

	while (at && heap->lines[(at - 1) / 2]->name < line->name) {
		heap->lines[at] = heap->lines[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->lines[at] = line;
}

static void heap_pop(struct heap *heap)
{
	const struct line *last = heap->lines[--heap->count];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count &&
			heap->lines[child + 1]->name > heap->lines[child]->name)
			child++;
		if (heap->lines[child]->name < last->name)
			break;
		heap->lines[at] = heap->lines[child];
	}
	heap->lines[at] = last;
}

static void add_piece(struct perfmap *map, uint64_t start, uint32_t name)
{
	if (map->pieces_count && map->pieces[map->pieces_count - 1].name == name)
		return;
	map->pieces[map->pieces_count++] = (struct piece){start, name};
}

/* Make the pieces. Each step adds or removes a line, so there are at most two pieces per line. */
static int flatten(struct perfmap *map)
{
	struct heap heap = {calloc(map->lines_count + 1, sizeof(*heap.lines)), 0};
	size_t next = 0;
	uint64_t at = 0;

	map->pieces = calloc(2 * map->lines_count + 1, sizeof(*map->pieces));
	if (!heap.lines || !map->pieces) {
		free(heap.lines);
		return -ENOMEM;
	}
	if (map->lines_count)
		qsort(map->lines, map->lines_count, sizeof(*map->lines), compare_lines);
	while (next < map->lines_count || heap.count) {
		if (!heap.count)
			at = map->lines[next].start;
		while (next < map->lines_count && map->lines[next].start <= at)
			heap_push(&heap, &map->lines[next++]);
		while (heap.count && heap.lines[0]->end <= at)
			heap_pop(&heap);
		add_piece(map, at, heap.count ? heap.lines[0]->name : PIECE_NONE);
		if (!heap.count)
			continue;
		at = heap.lines[0]->end;
		if (next < map->lines_count && map->lines[next].start < at)
			at = map->lines[next].start;
	}
	free(heap.lines);
	return 0;
}

int perfmap_parse(struct perfmap **out, char *text, size_t bytes)
{
	struct perfmap *map = calloc(1, sizeof(*map));
	int error;

	if (!map) {
		free(text);
		return -ENOMEM;
	}
	map->text = text;
	error = parse_lines(map, bytes > PERFMAP_MAX_BYTES ? PERFMAP_MAX_BYTES : bytes);
	if (!error)
		error = flatten(map);
	free(map->lines);
	map->lines = NULL;
	if (error) {
		perfmap_free(map);
		return error;
	}
	*out = map;
	return 0;
}

void perfmap_free(struct perfmap *map)
{
	if (!map)
		return;
	free(map->text);
	free(map->lines);
	free(map->pieces);
	free(map);
}

const char *perfmap_lookup(const struct perfmap *map, uint64_t address)
{
	size_t before = ARRAY_UPTO(map->pieces, map->pieces_count, start, address);

	if (!before || map->pieces[before - 1].name == PIECE_NONE)
		return NULL;
	return map->text + map->pieces[before - 1].name;
}

/* Read a file that may grow or shrink. Returns 0 with its text (owned by the caller), or -errno. */
static int read_whole(int fd, off_t size, char **text, size_t *bytes)
{
	size_t room = size > (off_t)PERFMAP_MAX_BYTES ? PERFMAP_MAX_BYTES : (size_t)size;
	char *buffer = malloc(room + 1);
	size_t got = 0;

	if (!buffer)
		return -ENOMEM;
	while (got < room) {
		ssize_t more = pread(fd, buffer + got, room - got, (off_t)got);

		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0) {
			int error = -errno;

			free(buffer);
			return error;
		}
		if (!more)
			break;
		got += (size_t)more;
	}
	*text = buffer;
	*bytes = got;
	return 0;
}

int perfmap_open_file(uint32_t pid, int64_t not_before_s, char *path)
{
	uint32_t inner = pid <= INT32_MAX ? (uint32_t)procfs_inner_pid((pid_t)pid) : pid;
	char own[PERFMAP_PATH_BYTES];
	int fd;

	path = path ? path : own;
	snprintf(path, PERFMAP_PATH_BYTES, "/tmp/perf-%u.map", inner);
	fd = regular_open_own(path, pid, not_before_s);
	if (fd != -ENOENT || inner == pid)
		return fd;
	snprintf(path, PERFMAP_PATH_BYTES, "/tmp/perf-%u.map", pid);
	return regular_open_own(path, pid, not_before_s);
}

int perfmap_read(struct perfmap **out, int fd)
{
	char *text = NULL;
	struct stat status;
	size_t bytes = 0;
	int error = fstat(fd, &status) ? -errno : read_whole(fd, status.st_size, &text, &bytes);

	return error ? error : perfmap_parse(out, text, bytes);
}

int perfmap_open(struct perfmap **out, uint32_t pid, int64_t not_before_s)
{
	int fd = perfmap_open_file(pid, not_before_s, NULL), error;

	if (fd < 0)
		return fd;
	error = perfmap_read(out, fd);
	close(fd);
	return error;
}
