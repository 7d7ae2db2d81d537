/* SPDX-License-Identifier: MIT */
/*
 * First pass over a profile. Its fields may come in any order, so samples are read only when
 * everything they refer to is known.
 */
#include "cli/formats/pprof_tables.h"

#include <stdlib.h>

#include "cli/formats/pprof.h"
#include "libprof/pprof/fields.h"

_Static_assert(PPROF_TYPES_MAX == sizeof(((struct pprof_tables *)0)->types) /
					  sizeof(struct pprof_type), "one number");

int pprof_damaged(const struct pprof_tables *tables, const uint8_t *at, const char *what)
{
	return diag_fail(tables->message, -EBADMSG, "cannot read '%s': %s at byte %zu",
		tables->name, what, (size_t)(at - tables->start));
}

void *pprof_grow(void *array, uint32_t count, uint32_t *room, size_t item_bytes)
{
	uint32_t larger = *room ? *room * 2 : 64;
	void *moved;

	if (count < *room)
		return array;
	if (larger > PPROF_ITEMS_MAX)
		return NULL;
	moved = reallocarray(array, larger, item_bytes);
	if (moved)
		*room = larger;
	return moved;
}

/* A place for one more @field of @tables, zeroed; NULL when there is none. */
#define APPEND(tables, field)                                                                     \
	(((tables)->grown = pprof_grow((tables)->field##s, (tables)->field##_count,               \
		  &(tables)->field##_room, sizeof(*(tables)->field##s)))                          \
			? ((tables)->field##s = (tables)->grown,                                  \
				  memset(&(tables)->field##s[(tables)->field##_count++], 0,       \
					  sizeof(*(tables)->field##s)))                           \
			: NULL)

/* Say why there was no place for item number @count. */
static int refuse(const struct pprof_tables *tables, uint32_t count)
{
	int error = pprof_grow_error(count);

	return diag_fail(tables->message, error, "cannot read '%s': %s", tables->name,
		error == -E2BIG ? "too many parts" : strerror(-error));
}

/* Store the numbers of @message into @numbers[field]; fields from @count on are skipped. */
static int read_numbers(const struct pprof_tables *tables, struct protobuf message,
	uint64_t *numbers, uint32_t count, const char *what)
{
	struct protobuf_field field;
	int more;

	while ((more = protobuf_next(&message, &field)) > 0) {
		if (field.number >= count)
			continue;
		if (field.type == PROTOBUF_VARINT)
			numbers[field.number] = field.value;
	}
	return more ? pprof_damaged(tables, message.at, what) : 0;
}

static int add_type(struct pprof_tables *tables, struct protobuf message, struct pprof_type *out)
{
	uint64_t numbers[3] = {0};
	int error = read_numbers(tables, message, numbers, 3, "a damaged sample type");

	*out = (struct pprof_type){numbers[1], numbers[2]};
	return error;
}

static int add_sample_type(struct pprof_tables *tables, struct protobuf message)
{
	if (tables->type_count == PPROF_TYPES_MAX)
		return pprof_damaged(tables, message.at, "too many sample types");
	return add_type(tables, message, &tables->types[tables->type_count++]);
}

static int add_mapping(struct pprof_tables *tables, struct protobuf message)
{
	struct pprof_mapping *mapping;
	uint64_t numbers[7] = {0};
	int error = read_numbers(tables, message, numbers, 7, "a damaged mapping");

	if (error)
		return error;
	mapping = APPEND(tables, mapping);
	if (!mapping)
		return refuse(tables, tables->mapping_count);
	*mapping = (struct pprof_mapping){.id = numbers[1], .start = numbers[2],
		.limit = numbers[3], .offset = numbers[4], .file = numbers[5],
		.build_id = numbers[6], .handle = -2};
	return mapping->id ? 0 : pprof_damaged(tables, message.at, "a mapping without an id");
}

static int add_function(struct pprof_tables *tables, struct protobuf message)
{
	struct pprof_function *function;
	uint64_t numbers[FUNCTION_FILE + 1] = {0};
	int error = read_numbers(
		tables, message, numbers, FUNCTION_FILE + 1, "a damaged function");

	if (error)
		return error;
	function = APPEND(tables, function);
	if (!function)
		return refuse(tables, tables->function_count);
	*function = (struct pprof_function){
		.id = numbers[FUNCTION_ID],
		.name = numbers[FUNCTION_NAME],
		.system_name = numbers[FUNCTION_SYSTEM_NAME],
		.file = numbers[FUNCTION_FILE],
	};
	function->last[0].frame = function->last[1].frame = PPROF_UNSET;
	return function->id ? 0 : pprof_damaged(tables, message.at, "a function without an id");
}

static int add_location(struct pprof_tables *tables, struct protobuf message)
{
	struct pprof_location *location;
	uint64_t numbers[4] = {0};
	int error = read_numbers(tables, message, numbers, 4, "a damaged location");

	if (error)
		return error;
	location = APPEND(tables, location);
	if (!location)
		return refuse(tables, tables->location_count);
	*location = (struct pprof_location){.id = numbers[1], .mapping = numbers[2],
		.address = numbers[3], .message = message, .first_frame = PPROF_UNSET};
	return location->id ? 0 : pprof_damaged(tables, message.at, "a location without an id");
}

static int add_text(struct pprof_tables *tables, struct protobuf bytes)
{
	struct protobuf *text = APPEND(tables, text);

	if (!text)
		return refuse(tables, tables->text_count);
	*text = bytes;
	return 0;
}

static int add_comments(
	struct pprof_tables *tables, struct protobuf_field field, const uint8_t *at)
{
	uint64_t *comment, text;
	int more, error = 0;

	while (!error && (more = protobuf_number(&field, &text)) > 0) {
		comment = APPEND(tables, comment);
		if (comment)
			*comment = text;
		else
			error = refuse(tables, tables->comment_count);
	}
	return error || !more ? error : pprof_damaged(tables, at, "damaged comments");
}

static int add_message(struct pprof_tables *tables, const struct protobuf_field *field)
{
	switch (field->number) {
	case PROFILE_SAMPLE_TYPE:
		return add_sample_type(tables, field->bytes);
	case PROFILE_MAPPING:
		return add_mapping(tables, field->bytes);
	case PROFILE_LOCATION:
		return add_location(tables, field->bytes);
	case PROFILE_FUNCTION:
		return add_function(tables, field->bytes);
	case PROFILE_STRING:
		return add_text(tables, field->bytes);
	case PROFILE_PERIOD_TYPE:
		return add_type(tables, field->bytes, &tables->period_type);
	default:
		return 0;
	}
}

static int add_field(struct pprof_tables *tables, const struct protobuf_field *field,
	const uint8_t *at)
{
	bool is_message = (field->number >= PROFILE_SAMPLE_TYPE && field->number <= PROFILE_STRING) ||
			  field->number == PROFILE_PERIOD_TYPE;

	if (field->number == PROFILE_COMMENT)
		return add_comments(tables, *field, at);
	if (is_message)
		return field->type == PROTOBUF_BYTES
			? add_message(tables, field)
			: pprof_damaged(tables, at, "something that is no pprof field");
	if (field->number == PROFILE_TIME_NANOS)
		tables->time_ns = field->value;
	else if (field->number == PROFILE_DURATION_NANOS)
		tables->duration_ns = field->value;
	else if (field->number == PROFILE_PERIOD)
		tables->period = field->value;
	else if (field->number == PROFILE_DEFAULT_TYPE)
		tables->default_type = field->value;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	uint64_t left, right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return left < right ? -1 : left > right;
}

/* Put items that begin with their id in its order. Returns 0, or -EBADMSG when two share one. */
static int sort_by_id(const struct pprof_tables *tables, void *items, uint32_t count, size_t bytes,
	const char *what)
{
	int is_sorted = 1;

	for (uint32_t i = 1; i < count && is_sorted; i++)
		is_sorted = by_id((char *)items + (i - 1) * bytes, (char *)items + i * bytes) < 0;
	if (is_sorted)
		return 0;
	qsort(items, count, bytes, by_id);
	for (uint32_t i = 1; i < count; i++)
		if (!by_id((char *)items + (i - 1) * bytes, (char *)items + i * bytes))
			return diag_fail(tables->message, -EBADMSG,
				"cannot read '%s': it has two %s with one id", tables->name, what);
	return 0;
}

static const void *find(const void *items, uint32_t count, size_t bytes, uint64_t id)
{
	/* As a rule ids count from 1. */
	if (id - 1 < count && !by_id(&id, (const char *)items + (id - 1) * bytes))
		return (const char *)items + (id - 1) * bytes;
	return count ? bsearch(&id, items, count, bytes, by_id) : NULL;
}

struct pprof_mapping *pprof_mapping(const struct pprof_tables *tables, uint64_t id)
{
	return (struct pprof_mapping *)find(
		tables->mappings, tables->mapping_count, sizeof(*tables->mappings), id);
}

struct pprof_function *pprof_function(const struct pprof_tables *tables, uint64_t id)
{
	return (struct pprof_function *)find(
		tables->functions, tables->function_count, sizeof(*tables->functions), id);
}

struct pprof_location *pprof_location(const struct pprof_tables *tables, uint64_t id)
{
	return (struct pprof_location *)find(
		tables->locations, tables->location_count, sizeof(*tables->locations), id);
}

int pprof_tables_read(struct pprof_tables *tables)
{
	struct protobuf in = tables->whole;
	struct protobuf_field field;
	int error = 0, more = 0;

	tables->start = in.at;
	for (const uint8_t *at = in.at; !error && (more = protobuf_next(&in, &field)) > 0;
		at = in.at)
		error = add_field(tables, &field, at);
	if (!error && more)
		error = pprof_damaged(tables, in.at, "something that is no pprof field");
	if (!error && !tables->type_count)
		error = diag_fail(tables->message, -EBADMSG,
			"cannot read '%s': a pprof profile has a type of samples, this has none",
			tables->name);
	if (!error)
		error = sort_by_id(tables, tables->mappings, tables->mapping_count,
			sizeof(*tables->mappings), "mappings");
	if (!error)
		error = sort_by_id(tables, tables->functions, tables->function_count,
			sizeof(*tables->functions), "functions");
	if (!error)
		error = sort_by_id(tables, tables->locations, tables->location_count,
			sizeof(*tables->locations), "locations");
	return error;
}

void pprof_tables_release(struct pprof_tables *tables)
{
	free(tables->texts);
	free(tables->mappings);
	free(tables->functions);
	free(tables->locations);
	free(tables->comments);
	free(tables->frames);
	symbols_free(tables->symbols);
}

const char *pprof_text(const struct pprof_tables *tables, uint64_t text, char *out, size_t room)
{
	size_t bytes = 0;

	if (text < tables->text_count) {
		bytes = protobuf_left(&tables->texts[text]);
		if (bytes >= room)
			bytes = room - 1;
		memcpy(out, tables->texts[text].at, bytes);
	}
	out[bytes] = '\0';
	return out;
}
