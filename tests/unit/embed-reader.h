/* SPDX-License-Identifier: MIT */
/*
 * An independent reader of the data layer, written from render/embed.h and render/pack.h: plain
 * and slow, callees in one table. Fails the test on whatever is not as it should be.
 */
#ifndef TESTS_UNIT_EMBED_READER_H
#define TESTS_UNIT_EMBED_READER_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "render/embed.h"

#define PIECE_OPEN "<piece xmlns=\"urn:flamerun\">"

/* All pieces of @text as bytes; checks each piece's size. Returns an owned buffer. */
static uint8_t *reader_undigit(const char *text, size_t *length, unsigned *pieces)
{
	uint8_t *data = malloc(strlen(text));

	*length = *pieces = 0;
	while ((text = strstr(text, PIECE_OPEN))) {
		const char *begin = text += strlen(PIECE_OPEN), *line = text;
		unsigned digits[2], count = 0, have = 0;
		uint32_t bits = 0;

		for (; *text != '<'; text++) {
			if (*text == '\n') {
				assert_true(text - line < 990);
				line = text + 1;
				continue;
			}
			assert_true(*text > ' ' && *text < 127 && *text != '&' && *text != '>');
			digits[count++] = (unsigned)(*text - '!' - (*text > '&') - (*text > '<') -
						     (*text > '>'));
			if (count < 2 && text[1] != '<' && text[2] != '<')
				continue;
			bits |= (digits[0] + (count > 1 ? digits[1] * 91 : 0)) << have;
			have += count > 1 ? 13 : 6;
			for (count = 0; have >= 8; have -= 8, bits >>= 8)
				data[(*length)++] = (uint8_t)bits;
		}
		assert_memory_equal(text, "</piece>", 8);
		assert_in_range(text - begin, 1, 1 << 20);
		++*pieces;
	}
	return data;
}

static uint8_t *reader_inflate(uint8_t *data, size_t length, size_t *raw_length)
{
	const size_t room = 64u << 20;
	uint8_t *raw = malloc(room);
	z_stream stream = {.next_in = data,
		.avail_in = (uInt)length,
		.next_out = raw,
		.avail_out = (uInt)room};

	assert_int_equal(inflateInit(&stream), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*raw_length = stream.total_out;
	inflateEnd(&stream);
	return raw;
}

struct reader_chance {
	int chance, seen, used;
};

struct reader_callee {
	uint32_t frame, times;
};

struct reader_caller {
	struct reader_callee *callees; /* by frame; room for EMBED_CALLEES_MAX */
	unsigned count;
	struct reader_chance has_self, more[2][3];
};

struct reader_node {
	uint32_t frame, parent;
	uint64_t self;
};

struct reader {
	const uint8_t *at, *end;
	uint64_t code, width;
	uint32_t frames, count, nodes;
	struct reader_caller *callers;
	struct reader_node *read;
	struct reader_chance has_self, more[2][3][2], known[8][7], longer[64], leading[64][8];
};

static void reader_fill(struct reader *reader)
{
	for (; reader->width < 1u << 22; reader->width <<= 8) {
		assert_true(reader->at < reader->end);
		reader->code = reader->code << 8 | *reader->at++;
	}
}

static uint32_t reader_part(struct reader *reader, uint32_t total)
{
	reader->width /= total;
	assert_true(reader->code / reader->width < total);
	return (uint32_t)(reader->code / reader->width);
}

static void reader_take(struct reader *reader, uint32_t start, uint32_t size)
{
	reader->code -= start * reader->width;
	reader->width *= size;
	reader_fill(reader);
}

static uint32_t reader_equal(struct reader *reader, uint32_t total)
{
	uint32_t part = reader_part(reader, total);

	reader_take(reader, part, 1);
	return part;
}

static int reader_chance(const struct reader_chance *chance)
{
	return chance->used ? chance->chance : 32768;
}

static void reader_learn(struct reader_chance *chance, int bit, int most)
{
	chance->chance = reader_chance(chance);
	chance->used = 1;
	chance->chance += (int)floor(((bit ? 65535 : 0) - chance->chance) *
				     floor(65536.0 / (2 * chance->seen + 3)) / 32768);
	chance->seen += chance->seen < most;
}

static int reader_bit(
	struct reader *reader, struct reader_chance *own, struct reader_chance *shared)
{
	int chance = reader_chance(shared);

	if (own)
		chance += (int)floor((reader_chance(own) - chance) *
				     floor(65536.0 * own->seen / (2 * own->seen + 3)) / 32768);
	chance = chance < 32 ? 32 : chance > 65504 ? 65504 : chance;
	uint64_t bound = (reader->width >> 12) * (uint64_t)(chance >> 4);
	int bit = reader->code < bound;

	reader->code -= bit ? 0 : bound;
	reader->width = bit ? bound : reader->width - bound;
	reader_fill(reader);
	if (own)
		reader_learn(own, bit, 60);
	reader_learn(shared, bit, 250);
	return bit;
}

static uint64_t reader_weight(struct reader *reader)
{
	unsigned length = 0;
	uint64_t weight = 1;

	while (length < 63 && reader_bit(reader, NULL, &reader->longer[length]))
		length++;
	for (unsigned i = 0; i < length; i++)
		weight = weight << 1 | (i < 3 ? (unsigned)reader_bit(reader, NULL,
							&reader->leading[length][weight])
					      : reader_equal(reader, 2));
	return weight;
}

/* Which callee of those from @from on, or the count for none of them. */
static unsigned reader_known(
	struct reader *reader, const struct reader_caller *caller, unsigned from)
{
	uint32_t times = 0, start = 0, part;
	unsigned left = caller->count - from, often = 0;

	for (unsigned i = from; i < caller->count; i++)
		times += caller->callees[i].times;
	while (often < 6 && times >> (often + 1))
		often++;
	if (!left || !reader_bit(reader, NULL, &reader->known[left < 7 ? left : 7][often]))
		return caller->count;
	part = reader_part(reader, times);
	while (start + caller->callees[from].times <= part)
		start += caller->callees[from++].times;
	reader_take(reader, start, caller->callees[from].times);
	return from;
}

static uint32_t reader_child(
	struct reader *reader, struct reader_caller *caller, unsigned *from, uint32_t least)
{
	unsigned known = reader_known(reader, caller, *from);
	uint32_t limit = reader->frames - least, high = 0;
	unsigned shift = 0;

	if (known < caller->count) {
		*from = known + 1;
		caller->callees[known].times++;
		return caller->callees[known].frame;
	}
	while ((limit - 1) >> shift >= 65536)
		shift++;
	high = reader_equal(reader, ((limit - 1) >> shift) + 1) << shift;
	uint32_t frame = least + high + (shift ? reader_equal(reader, 1u << shift) : 0);

	assert_true(frame < reader->frames);
	while (*from < caller->count && caller->callees[*from].frame < frame)
		++*from;
	if (caller->count == EMBED_CALLEES_MAX)
		return frame;
	if (!caller->callees)
		caller->callees = calloc(EMBED_CALLEES_MAX, sizeof(*caller->callees));
	memmove(&caller->callees[*from + 1], &caller->callees[*from],
		(caller->count++ - *from) * sizeof(caller->callees[0]));
	caller->callees[(*from)++] = (struct reader_callee){frame, 1};
	return frame;
}

/* A node and, below it, its children. */
static void reader_node(struct reader *reader, uint32_t frame, uint32_t parent)
{
	struct reader_caller *caller = &reader->callers[frame];
	uint32_t node = reader->count++, times = 0, *children = NULL;
	unsigned from = 0, count = 0;

	assert_true(node < reader->nodes);
	int has_self = reader_bit(reader, &caller->has_self, &reader->has_self);

	reader->read[node] = (struct reader_node){frame, parent, 0};
	if (has_self)
		reader->read[node].self = reader_weight(reader);
	for (unsigned i = 0; i < caller->count; i++)
		times += caller->callees[i].times;
	for (unsigned i = 0; i < caller->count && times >= EMBED_TIMES_MAX; i++)
		caller->callees[i].times = (caller->callees[i].times + 1) / 2;
	for (;; count++) {
		unsigned which = count < 2 ? count : 2;

		if (!reader_bit(reader, &caller->more[has_self][which],
			    &reader->more[has_self][which][from < caller->count]))
			break;
		/* Doubled at powers of two. */
		if (!(count & (count - 1)))
			children = realloc(children, (count ? 2 * count : 1) * sizeof(*children));
		children[count] =
			reader_child(reader, caller, &from, count ? children[count - 1] + 1 : 0);
	}
	for (unsigned i = 0; i < count; i++)
		reader_node(reader, children[i], node);
	free(children);
}

/* Returns the owned nodes in order. */
static struct reader_node *reader_nodes(
	const uint8_t *column, const uint8_t *end, uint32_t nodes, uint32_t frames)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	assert_true(end - column >= 5 && !column[0]);
	*reader = (struct reader){.at = column + 1,
		.end = end,
		.width = (1u << 30) - 1,
		.frames = frames,
		.nodes = nodes,
		.callers = calloc(frames + 1, sizeof(*reader->callers)),
		.read = calloc(nodes, sizeof(*reader->read))};
	for (unsigned i = 0; i < 4; i++)
		reader->code = reader->code << 8 | *reader->at++;
	reader_node(reader, frames, 0);
	assert_int_equal(reader->count, nodes);
	assert_ptr_equal(reader->at, end);
	struct reader_node *read = reader->read;

	for (uint32_t i = 0; i <= frames; i++)
		free(reader->callers[i].callees);
	free(reader->callers);
	free(reader);
	return read;
}

#endif
