/* SPDX-License-Identifier: MIT */
/*
 * The only writer of pprof. It writes the table of texts last, because only then all texts are
 * known.
 *
 * Memory is mapped, so that the host's malloc() is not used. A message is built in the output
 * buffer and moved if its length needs more than one byte, so stacks of any depth need no second
 * buffer.
 */
#include "libprof/pprof/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libprof/fnv.h"

/* ---- texts ----------------------------------------------------------------------------------- */
/*
 * A table of texts: their bytes in one array, their offsets, and a hash table that finds a text by
 * content.
 */

static uint32_t hash_parts(const char *head, const char *tail, size_t tail_bytes)
{
	return lookup_hash(fnv_text(fnv_text(FNV_BEGIN, head, SIZE_MAX), tail, tail_bytes));
}

/* lookup_hash_fn; entries are numbered from 1. */
static uint32_t hash_entry(const void *owner, uint32_t entry)
{
	return hash_parts("", texts_at(owner, entry - 1), SIZE_MAX);
}

static int is_equal(const char *text, const char *head, const char *tail, size_t tail_bytes)
{
	size_t head_bytes = strlen(head);

	return !strncmp(text, head, head_bytes) &&
		!strncmp(text + head_bytes, tail, tail_bytes) &&
		!text[head_bytes + tail_bytes];
}

/* Reserve room for one text of @bytes, its NUL included. */
static int reserve_text(struct texts *texts, size_t bytes)
{
	struct pages_account *account = &texts->account;
	int error;

	account->limit_bytes = SIZE_MAX;
	if (bytes > UINT32_MAX - texts->used)
		return -ENOSPC;
	error = lookup_reserve(&texts->lookup, account, 1, hash_entry, texts);
	if (!error)
		error = pages_reserve(account, &texts->starts,
			((size_t)texts->count + 1) * sizeof(uint32_t));
	if (!error)
		error = pages_reserve(account, &texts->bytes, texts->used + bytes);
	return error;
}

int texts_add(struct texts *texts, const char *head, const char *tail, size_t tail_bytes,
	uint32_t *number)
{
	size_t head_bytes = strlen(head);
	struct lookup_probe probe;
	uint32_t entry;
	char *at;
	int error;

	tail_bytes = strnlen(tail, tail_bytes);
	error = reserve_text(texts, head_bytes + tail_bytes + 1);
	if (error)
		return error;
	probe = lookup_begin(&texts->lookup, hash_parts(head, tail, tail_bytes));
	while ((entry = lookup_next(&texts->lookup, &probe)))
		if (is_equal(texts_at(texts, entry - 1), head, tail, tail_bytes))
			break;
	if (!entry) {
		((uint32_t *)texts->starts.at)[texts->count] = texts->used;
		at = (char *)texts->bytes.at + texts->used;
		memcpy(at, head, head_bytes);
		memcpy(at + head_bytes, tail, tail_bytes);
		at[head_bytes + tail_bytes] = '\0';
		texts->used += (uint32_t)(head_bytes + tail_bytes + 1);
		entry = ++texts->count;
		lookup_put(&texts->lookup, &probe, entry);
	}
	*number = entry - 1;
	return 0;
}

void texts_release(struct texts *texts)
{
	pages_release(&texts->account, &texts->bytes);
	pages_release(&texts->account, &texts->starts);
	pages_release(&texts->account, &texts->lookup.slots);
	*texts = (struct texts){.count = 0};
}

/* ---- the writer ------------------------------------------------------------------------------ */

#define NS_PER_S 1000000000ULL

/* ---- texts ----------------------------------------------------------------------------------- */

/*
 * Returns the number of the text @head followed by the first @bytes bytes of @tail (at most
 * PTRDIFF_MAX).
 */
static uint32_t text_of(
	struct pprof_writer *writer, const char *head, const char *tail, size_t bytes)
{
	uint32_t number = 0;

	if (!writer->out.error)
		writer->out.error = texts_add(&writer->texts, head, tail, bytes, &number);
	return number;
}

uint32_t pprof_put_text(struct pprof_writer *writer, const char *text)
{
	return text_of(writer, "", text, PTRDIFF_MAX);
}

uint32_t pprof_put_text_part(struct pprof_writer *writer, const char *text, size_t bytes)
{
	return text_of(writer, "", text, bytes);
}

/*
 * Returns the length of the valid UTF-8 character at @s, or 0 if it is invalid. Source: RFC 3629.
 */
static unsigned utf8_bytes(const uint8_t *s)
{
	unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Refuse overlong forms, surrogates and characters beyond U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Replace invalid UTF-8 by '?', because strict proto3 readers reject the whole file. */
static void make_valid(char *text)
{
	for (unsigned n; *text; text += n ? n : 1) {
		n = utf8_bytes((const uint8_t *)text);
		if (!n)
			*text = '?';
	}
}

static void put_texts(struct pprof_writer *writer)
{
	for (uint32_t i = 0; i < writer->texts.count; i++) {
		char *text = texts_at(&writer->texts, i);

		make_valid(text);
		protobuf_put_bytes(&writer->out, PROFILE_STRING, text, strlen(text));
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

void pprof_writer_begin(struct pprof_writer *writer, protobuf_sink *sink, void *context)
{
	*writer = (struct pprof_writer){.out = {.sink = sink, .context = context}};
	pprof_put_text(writer, ""); /* number 0 must be "" */
	/* Keep the numbers of these texts, because every sample uses them. */
	writer->process = pprof_put_text(writer, PPROF_PROCESS);
	writer->thread = pprof_put_text(writer, PPROF_THREAD);
	writer->thread_id = pprof_put_text(writer, PPROF_THREAD_ID);
}

int pprof_writer_end(struct pprof_writer *writer)
{
	int error;

	put_texts(writer);
	error = protobuf_finish(&writer->out);
	texts_release(&writer->texts);
	return error;
}

static void put_type(
	struct pprof_writer *writer, uint32_t field, const char *type, const char *unit)
{
	size_t begun = protobuf_begin(&writer->out, field);

	protobuf_put_number(&writer->out, TYPE_TYPE, pprof_put_text(writer, type));
	protobuf_put_number(&writer->out, TYPE_UNIT, pprof_put_text(writer, unit));
	protobuf_end(&writer->out, begun);
}

void pprof_put_sample_type(struct pprof_writer *writer, const char *type, const char *unit)
{
	put_type(writer, PROFILE_SAMPLE_TYPE, type, unit);
}

void pprof_put_period(struct pprof_writer *writer, const char *type, uint64_t period_ns)
{
	put_type(writer, PROFILE_PERIOD_TYPE, type, "nanoseconds");
	protobuf_put_number(&writer->out, PROFILE_PERIOD, period_ns);
	pprof_put_default_type(writer, type);
}

void pprof_put_default_type(struct pprof_writer *writer, const char *type)
{
	protobuf_put_number(&writer->out, PROFILE_DEFAULT_TYPE, pprof_put_text(writer, type));
}

void pprof_put_times(struct pprof_writer *writer, int64_t start_s, uint64_t duration_ns)
{
	if (start_s > 0)
		protobuf_put_number(
			&writer->out, PROFILE_TIME_NANOS, (uint64_t)start_s * NS_PER_S);
	protobuf_put_number(&writer->out, PROFILE_DURATION_NANOS, duration_ns);
}

static void put_comment(struct pprof_writer *writer, const char *head, const char *tail)
{
	protobuf_put_number(
		&writer->out, PROFILE_COMMENT, text_of(writer, head, tail, PTRDIFF_MAX));
}

void pprof_put_title(struct pprof_writer *writer, const char *title)
{
	if (*title)
		put_comment(writer, PPROF_COMMENT_TITLE, title);
}

void pprof_put_filters(struct pprof_writer *writer, const char *filters)
{
	if (*filters)
		put_comment(writer, PPROF_COMMENT_FILTERS, filters);
}

void pprof_put_runs(struct pprof_writer *writer, unsigned runs)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", runs);
	put_comment(writer, PPROF_COMMENT_RUNS, number);
}

void pprof_put_dropped(struct pprof_writer *writer, uint64_t weight)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, weight);
	if (weight)
		put_comment(writer, PPROF_COMMENT_DROPPED, number);
}

void pprof_put_mark(
	struct pprof_writer *writer, uint64_t time_ns, uint32_t tid, const char *text)
{
	char head[64];
	uint64_t us = time_ns / 1000;

	snprintf(head, sizeof(head), PPROF_COMMENT_MARK "%" PRIu64 ".%03u %" PRIu32 " ", us / 1000,
		(unsigned)(us % 1000), tid);
	put_comment(writer, head, text);
}

/* ---- places ---------------------------------------------------------------------------------- */

uint32_t pprof_put_mapping(struct pprof_writer *writer, const struct pprof_mapping_fields *mapping)
{
	struct protobuf_out *out = &writer->out;
	size_t begun = protobuf_begin(out, PROFILE_MAPPING);

	protobuf_put_number(out, MAPPING_ID, ++writer->mappings);
	protobuf_put_number(out, MAPPING_START, mapping->start);
	protobuf_put_number(out, MAPPING_LIMIT, mapping->limit);
	protobuf_put_number(out, MAPPING_OFFSET, mapping->offset);
	protobuf_put_number(out, MAPPING_FILE, pprof_put_text(writer, mapping->file));
	protobuf_put_number(out, MAPPING_BUILD_ID, pprof_put_text(writer, mapping->build_id));
	protobuf_put_number(out, MAPPING_HAS_FUNCTIONS, mapping->has_functions != 0);
	protobuf_end(out, begun);
	return writer->mappings;
}

uint32_t pprof_put_function(struct pprof_writer *writer, uint32_t name, uint32_t system_name,
	uint32_t file, uint32_t start_line)
{
	struct protobuf_out *out = &writer->out;
	size_t begun = protobuf_begin(out, PROFILE_FUNCTION);

	protobuf_put_number(out, FUNCTION_ID, ++writer->functions);
	protobuf_put_number(out, FUNCTION_NAME, name);
	protobuf_put_number(out, FUNCTION_SYSTEM_NAME, system_name);
	protobuf_put_number(out, FUNCTION_FILE, file);
	protobuf_put_number(out, FUNCTION_START_LINE, start_line);
	protobuf_end(out, begun);
	return writer->functions;
}

uint32_t pprof_begin_location(struct pprof_writer *writer, uint32_t mapping, uint64_t address)
{
	struct protobuf_out *out = &writer->out;

	writer->location = protobuf_begin(out, PROFILE_LOCATION);
	protobuf_put_number(out, LOCATION_ID, ++writer->locations);
	protobuf_put_number(out, LOCATION_MAPPING, mapping);
	protobuf_put_number(out, LOCATION_ADDRESS, address);
	return writer->locations;
}

void pprof_location_line(struct pprof_writer *writer, uint32_t function, uint64_t line)
{
	struct protobuf_out *out = &writer->out;
	size_t begun = protobuf_begin(out, LOCATION_LINE);

	protobuf_put_number(out, LINE_FUNCTION, function);
	protobuf_put_number(out, LINE_LINE, line);
	protobuf_end(out, begun);
}

void pprof_end_location(struct pprof_writer *writer)
{
	protobuf_end(&writer->out, writer->location);
}

uint32_t pprof_put_location(struct pprof_writer *writer, uint32_t mapping, uint64_t address,
	uint32_t function, uint64_t line)
{
	uint32_t number = pprof_begin_location(writer, mapping, address);

	if (function)
		pprof_location_line(writer, function, line);
	pprof_end_location(writer);
	return number;
}

/* ---- samples --------------------------------------------------------------------------------- */

void pprof_begin_sample(struct pprof_writer *writer)
{
	writer->sample = protobuf_begin(&writer->out, PROFILE_SAMPLE);
	writer->stack = protobuf_begin(&writer->out, SAMPLE_LOCATION);
}

void pprof_sample_location(struct pprof_writer *writer, uint32_t location)
{
	protobuf_put_varint(&writer->out, location);
}

static void put_label(struct pprof_writer *writer, uint32_t key, uint32_t field, uint64_t value)
{
	size_t begun;

	if (!value)
		return;
	begun = protobuf_begin(&writer->out, SAMPLE_LABEL);
	protobuf_put_number(&writer->out, LABEL_KEY, key);
	protobuf_put_number(&writer->out, field, value);
	protobuf_end(&writer->out, begun);
}

static void put_text_label(struct pprof_writer *writer, uint32_t key, const char *text)
{
	if (text && *text)
		put_label(writer, key, LABEL_STRING, pprof_put_text(writer, text));
}

void pprof_end_sample(struct pprof_writer *writer, const uint64_t *values, unsigned count,
	const struct pprof_labels *labels)
{
	struct protobuf_out *out = &writer->out;
	size_t begun;

	protobuf_end(out, writer->stack);
	begun = protobuf_begin(out, SAMPLE_VALUE);
	for (unsigned i = 0; i < count; i++)
		protobuf_put_varint(out, values[i]);
	protobuf_end(out, begun);
	put_label(writer, writer->thread_id, LABEL_NUMBER, labels->tid);
	put_text_label(writer, writer->thread, labels->thread);
	put_text_label(writer, writer->process, labels->process);
	if (labels->wait && *labels->wait)
		put_text_label(
			writer, pprof_put_text(writer, PPROF_WAIT_KIND), labels->wait);
	protobuf_end(out, writer->sample);
}
