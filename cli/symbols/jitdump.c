/* SPDX-License-Identifier: MIT */
/*
 * Loads (records of loaded code) are sorted by address. A tree over them stores the maximum end of
 * each subtree, so that a look-up visits only loads that cover the address.
 */
#include "cli/symbols/jitdump.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/symbols/perfmap.h"
#include "render/array.h"
#include "render/bytes.h"

#define MAGIC 0x4a695444u /* "DTiJ" in memory */
/* flag: times are from a CPU counter, not CLOCK_MONOTONIC */
#define ARCH_TIMESTAMP 1u

/* A look-up gives up after this many loads that cover the address. */
#define COVERING_MAX 10000u

/* Maximum number of records of all kinds. Records for debugging and unwinding outnumber loads. */
#define RECORDS_MAX (16 * JITDUMP_MAX_LOADS)

/* Bytes before each name that perfmap_strip_tier() may overwrite. */
#define BEFORE_NAME 16u

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
};

struct file_header {
	uint32_t magic, version, total_size, elf_machine, pad, pid;
	uint64_t timestamp, flags;
};

struct record_header {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct record_load {
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index; /* followed by the name and the code */
};

struct record_move {
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

/* This struct holds one code range, and the period of time during which the code was there. */
struct load {
	uint64_t start, end;
	/* to_ns: time at which the code was moved away; JITDUMP_LAST: never */
	uint64_t from_ns, to_ns;
	uint64_t index; /* code_index of the record */
	uint32_t name;	/* offset of the name in @text */
};

struct jitdump {
	/* sorted by start; equal starts in the order of the file */
	struct load *loads;
	size_t count, room;
	/* binary tree in heap layout: reach[node] is the maximum end of the loads below the node */
	uint64_t *reach;
	size_t leaves; /* of the tree; a power of two */
	struct bytes text;
	bool has_times;
	/* Only while reading: hash table from code_index to the index of the newest load + 1. */
	uint32_t *newest;
	size_t newest_room;
};

/* ---- reading --------------------------------------------------------------------------------- */

struct input {
	int fd;
	off_t at;    /* file offset of buffer[0] */
	size_t have; /* bytes in the buffer */
	char buffer[65536];
};

_Static_assert(sizeof(((struct input *)NULL)->buffer) >
	       JITDUMP_MAX_NAME_BYTES + sizeof(struct record_load), "a record's head fits");

/*
 * Set *@bytes to up to @wanted bytes of the file from @at on, valid until the next call. Returns
 * the number of bytes, or -errno.
 */
static long input_bytes(struct input *input, off_t at, size_t wanted, const char **bytes)
{
	if (at < input->at || at - input->at + (off_t)wanted > (off_t)input->have) {
		input->at = at;
		input->have = 0;
		while (input->have < sizeof(input->buffer)) {
			ssize_t got = pread(input->fd, input->buffer + input->have,
				sizeof(input->buffer) - input->have, at + (off_t)input->have);

			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				return -errno;
			if (!got)
				break;
			input->have += (size_t)got;
		}
	}

	size_t offset = (size_t)(at - input->at);
	size_t left = input->have - offset;

	*bytes = input->buffer + offset;
	return (long)(left < wanted ? left : wanted);
}

static size_t hash_index(const struct jitdump *dump, uint64_t index)
{
	return (size_t)((index * 0x9e3779b97f4a7c15ULL) >> 20) & (dump->newest_room - 1);
}

/* Return the element of dump->newest for the code with @index. It is 0 if there is no such code. */
static uint32_t *find_newest(struct jitdump *dump, uint64_t index)
{
	size_t at = hash_index(dump, index);

	while (dump->newest[at] && dump->loads[dump->newest[at] - 1].index != index)
		at = (at + 1) & (dump->newest_room - 1);
	return &dump->newest[at];
}

/* Grow the table so that it is at most half full. Returns 0 or -ENOMEM. */
static int grow_newest(struct jitdump *dump)
{
	uint32_t *old = dump->newest;
	size_t old_room = dump->newest_room;

	if (2 * (dump->count + 1) <= old_room)
		return 0;
	dump->newest_room = old_room ? 2 * old_room : 1024;
	dump->newest = calloc(dump->newest_room, sizeof(*dump->newest));
	if (!dump->newest) {
		dump->newest = old;
		dump->newest_room = old_room;
		return -ENOMEM;
	}
	for (size_t i = 0; i < old_room; i++)
		if (old[i])
			*find_newest(dump, dump->loads[old[i] - 1].index) = old[i];
	free(old);
	return 0;
}

/* Add a load. Returns 0, -ENOSPC if the dump has too many loads, or -ENOMEM. */
static int add_load(struct jitdump *dump, const struct load *load)
{
	if (load->end <= load->start)
		return 0;
	if (dump->count == JITDUMP_MAX_LOADS)
		return -ENOSPC;
	if (ARRAY_GROW(dump->loads, dump->count, dump->room, 1024) || grow_newest(dump))
		return -ENOMEM;
	dump->loads[dump->count] = *load;
	*find_newest(dump, load->index) = (uint32_t)++dump->count;
	return 0;
}

/* Store @name of @bytes. Returns 0, -ENOSPC if all names together are too long, or -ENOMEM. */
static int add_name(struct jitdump *dump, const char *name, size_t bytes, uint32_t *offset)
{
	static const char before[BEFORE_NAME];
	size_t at = dump->text.used;
	char *line;

	if (at + BEFORE_NAME + bytes + 1 > JITDUMP_MAX_TEXT_BYTES)
		return -ENOSPC;
	bytes_put(&dump->text, before, sizeof(before));
	bytes_put(&dump->text, name, bytes);
	bytes_put(&dump->text, "", 1);
	if (dump->text.error)
		return -ENOMEM;
	line = (char *)dump->text.data + at;
	line = perfmap_strip_tier(line, line + BEFORE_NAME);
	*offset = (uint32_t)(line - (char *)dump->text.data);
	return 0;
}

static int read_load(struct jitdump *dump, const struct record_header *header, const char *bytes,
	size_t count)
{
	struct record_load record;
	struct load load = {.from_ns = header->timestamp, .to_ns = JITDUMP_LAST};
	const char *name = bytes + sizeof(record);
	size_t length;
	int error;

	if (count <= sizeof(record))
		return 0;
	memcpy(&record, bytes, sizeof(record));
	length = strnlen(name, count - sizeof(record));
	if (!length || record.code_addr + record.code_size < record.code_addr)
		return 0;
	load.start = record.code_addr;
	load.end = record.code_addr + record.code_size;
	load.index = record.code_index;
	error = add_name(dump, name, length, &load.name);
	return error ? error : add_load(dump, &load);
}

static int read_move(struct jitdump *dump, const struct record_header *header, const char *bytes,
	size_t count)
{
	struct record_move record;
	struct load moved, *old;
	uint32_t newest;

	if (count < sizeof(record) || !dump->count)
		return 0;
	memcpy(&record, bytes, sizeof(record));
	newest = *find_newest(dump, record.code_index);
	if (!newest || record.new_code_addr + record.code_size < record.new_code_addr)
		return 0;
	old = &dump->loads[newest - 1];
	if (old->start != record.old_code_addr)
		return 0;
	old->to_ns = header->timestamp;
	moved = *old;
	moved.start = record.new_code_addr;
	moved.end = record.new_code_addr + record.code_size;
	moved.from_ns = header->timestamp;
	moved.to_ns = JITDUMP_LAST;
	return add_load(dump, &moved);
}

/* Read the header and all records. Returns 0, -EBADMSG, -ENOMEM, or -errno of reading. */
static int read_records(struct jitdump *dump, struct input *input)
{
	struct file_header header;
	const char *bytes;
	long got = input_bytes(input, 0, sizeof(header), &bytes);
	unsigned records = 0;
	int error = 0;
	off_t at;

	if (got < 0)
		return (int)got;
	if (got < (long)sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != MAGIC || header.total_size < sizeof(header))
		return -EBADMSG;
	dump->has_times = !(header.flags & ARCH_TIMESTAMP);
	for (at = header.total_size; !error && records < RECORDS_MAX; records++) {
		struct record_header record;
		size_t body;

		got = input_bytes(input, at, sizeof(record), &bytes);
		if (got < (long)sizeof(record))
			break;
		memcpy(&record, bytes, sizeof(record));
		if (record.total_size < sizeof(record))
			break;
		body = record.total_size - sizeof(record);
		if (body > sizeof(struct record_load) + JITDUMP_MAX_NAME_BYTES)
			body = sizeof(struct record_load) + JITDUMP_MAX_NAME_BYTES;
		got = input_bytes(input, at + (off_t)sizeof(record), body, &bytes);
		if (got < 0)
			break;
		if (record.id == RECORD_LOAD)
			error = read_load(dump, &record, bytes, (size_t)got);
		else if (record.id == RECORD_MOVE)
			error = read_move(dump, &record, bytes, (size_t)got);
		at += record.total_size;
	}
	if (got < 0)
		return (int)got;
	return error == -ENOSPC ? 0 : error;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int by_start(const void *left, const void *right)
{
	const struct load *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/*
	 * The offsets of names rise in the order of the file. Code that was moved keeps its name,
	 * so if the names are the same, compare times.
	 */
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static int make_tree(struct jitdump *dump)
{
	dump->leaves = 1;
	while (dump->leaves < dump->count)
		dump->leaves *= 2;
	dump->reach = calloc(2 * dump->leaves, sizeof(*dump->reach));
	if (!dump->reach)
		return -ENOMEM;
	if (dump->count)
		qsort(dump->loads, dump->count, sizeof(*dump->loads), by_start);
	for (size_t i = 0; i < dump->count; i++)
		dump->reach[dump->leaves + i] = dump->loads[i].end;
	for (size_t node = dump->leaves - 1; node; node--) {
		uint64_t left = dump->reach[2 * node], right = dump->reach[2 * node + 1];

		dump->reach[node] = left > right ? left : right;
	}
	return 0;
}

struct load_search {
	const struct jitdump *dump;
	uint64_t address, time_ns;
	/* index of the first load that begins after the address */
	size_t before;
	const struct load *best;
	unsigned covering;
	bool is_shared;
};

static void consider(struct load_search *search, const struct load *load)
{
	search->is_shared |= search->covering++ > 0 || load->to_ns != JITDUMP_LAST;
	if (load->from_ns <= search->time_ns && (!search->best ||
		load->from_ns > search->best->from_ns ||
		(load->from_ns == search->best->from_ns && load->name > search->best->name)))
		search->best = load;
}

/* Visit the loads below @node: @count leaves from @first on. The tree's depth bounds recursion. */
static void visit(struct load_search *search, size_t node, size_t first, size_t count)
{
	const struct jitdump *dump = search->dump;

	if (first >= search->before || dump->reach[node] <= search->address ||
		search->covering >= COVERING_MAX)
		return;
	if (node >= dump->leaves) {
		consider(search, &dump->loads[first]);
		return;
	}
	visit(search, 2 * node, first, count / 2);
	visit(search, 2 * node + 1, first + count / 2, count / 2);
}

const char *jitdump_lookup(
	const struct jitdump *dump, uint64_t address, uint64_t time_ns, bool *is_shared)
{
	size_t before = ARRAY_UPTO(dump->loads, dump->count, start, address);
	struct load_search search = {
		.dump = dump,
		.address = address,
		.time_ns = dump->has_times ? time_ns : JITDUMP_LAST,
		.before = before,
	};

	visit(&search, 1, 0, dump->leaves);
	*is_shared = dump->has_times && search.is_shared;
	/* If not all loads were considered, the name would be a guess. */
	if (!search.best || search.covering >= COVERING_MAX)
		return NULL;
	return search.best->to_ns <= search.time_ns && search.best->to_ns != JITDUMP_LAST
		       ? NULL
		       : (const char *)dump->text.data + search.best->name;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int jitdump_read(struct jitdump **out, int fd)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));
	struct input *input = malloc(sizeof(*input));
	int error = -ENOMEM;

	if (dump && input) {
		input->fd = fd;
		input->at = 0;
		input->have = 0;
		error = read_records(dump, input);
		if (!error)
			error = make_tree(dump);
	}
	free(input);
	if (error) {
		jitdump_free(dump);
		return error;
	}
	free(dump->newest);
	dump->newest = NULL;
	*out = dump;
	return 0;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	free(dump->loads);
	free(dump->reach);
	free(dump->newest);
	bytes_release(&dump->text);
	free(dump);
}

bool jitdump_is_named(const char *path)
{
	const char *name = basename(path);
	size_t digits;

	if (strncmp(name, "jit-", strlen("jit-")))
		return false;
	name += strlen("jit-");
	digits = strspn(name, "0123456789");
	return digits && !strcmp(name + digits, ".dump");
}
