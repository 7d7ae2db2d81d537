/* SPDX-License-Identifier: MIT */
/*
 * Read all messages of a profile except the samples. Fields may come in any order, so samples are
 * read when everything they refer to is known. The profile is untrusted: memory is limited to
 * WHOLE_BYTES_MAX whatever the file claims, and damage is reported with its offset.
 */
#include "cli/formats/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/whole.h"
#include "libprof/pprof/protobuf.h"

#define FIRST_ITEMS 1024
/* for inflateInit2(): largest window, gzip header required */
#define GZIP_ANY (15 + 16)

/* ---- bytes ----------------------------------------------------------------------------------- */

static int inflate_in_place(struct bytes *all, const char *name, struct diag_message *message)
{
	struct bytes inflated = {0};
	size_t used = 0;
	int error = whole_inflate(all, GZIP_ANY, &inflated, &used);

	bytes_release(error ? &inflated : all);
	if (!error)
		*all = inflated;
	if (error != -EBADMSG && error != -ENODATA)
		return error ? whole_refuse(name, error, message) : 0;
	return diag_fail(message, -EBADMSG, "cannot read '%s': its gzip data %s at byte %zu", name,
		error == -ENODATA ? "ends" : "is damaged", used);
}

int pprof_load(
	FILE *in, const char *name, void **bytes, size_t *count, struct diag_message *message)
{
	struct bytes all = {0};
	int error = whole_read(in, name, &all, message);

	if (!error && all.used >= 2 && all.data[0] == PPROF_FIRST_GZIP && all.data[1] == 0x8b)
		error = inflate_in_place(&all, name, message);
	if (error) {
		bytes_release(&all);
		return error;
	}
	/* *@bytes is not NULL, even for an empty file. */
	*bytes = all.data ? all.data : calloc(1, 1);
	if (!*bytes)
		return diag_fail(message, -ENOMEM, "out of memory");
	*count = all.used;
	return 0;
}

/* Is this field of Profile (1 to 14) a message or a text? */
static bool is_message(uint32_t number)
{
	return (number >= PROFILE_SAMPLE_TYPE && number <= PROFILE_STRING) ||
	       number == PROFILE_PERIOD_TYPE;
}

static bool is_field_of_profile(const struct protobuf_field *field)
{
	if (field->number > PROFILE_DEFAULT_TYPE)
		return true;
	/* Comments are a list of numbers, which may be packed. */
	return field->type == (is_message(field->number) ? PROTOBUF_BYTES : PROTOBUF_VARINT) ||
	       (field->number == PROFILE_COMMENT && field->type == PROTOBUF_BYTES);
}

bool pprof_is_profile(const void *bytes, size_t count)
{
	struct protobuf in = {bytes, (const uint8_t *)bytes + count};
	struct protobuf_field field;
	int more;

	if (!count)
		return false;
	while ((more = protobuf_next(&in, &field)) > 0)
		if (!is_field_of_profile(&field))
			return false;
	return !more;
}

/* ---- fields ---------------------------------------------------------------------------------- */

int pprof_damaged(const struct pprof_tables *tables, const uint8_t *at, const char *what)
{
	return diag_fail(tables->message, -EBADMSG, "cannot read '%s': %s at byte %zu",
		tables->name, what, (size_t)(at - tables->start));
}

int pprof_append(
	struct pprof_tables *tables, struct pprof_table *table, const void *item, size_t bytes)
{
	if (table->count == table->room) {
		uint32_t room = table->room ? 2 * table->room : FIRST_ITEMS;
		void *items;

		if (room > PPROF_ITEMS_MAX)
			return diag_fail(tables->message, -E2BIG,
				"cannot read '%s': too many parts", tables->name);
		items = reallocarray(table->items, room, bytes);
		if (!items)
			return diag_fail(tables->message, -ENOMEM, "out of memory");
		table->items = items;
		table->room = room;
	}
	memcpy((char *)table->items + table->count++ * bytes, item, bytes);
	return 0;
}

static int add_text(struct pprof_tables *tables, struct protobuf text)
{
	uint32_t start = (uint32_t)tables->text_bytes.used;
	size_t most = PPROF_NAME_BYTES - 1, whole = protobuf_left(&text);

	bytes_put(&tables->text_bytes, text.at,
		strnlen((const char *)text.at, whole < most ? whole : most));
	bytes_put(&tables->text_bytes, "", 1);
	if (tables->text_bytes.error)
		return diag_fail(tables->message, tables->text_bytes.error, "out of memory");
	return pprof_append(tables, &tables->texts, &start, sizeof(start));
}

/* More than any field number that read_numbers() is used for. */
#define NUMBERS 8

/* Set numbers[N] to the value of varint field N of @message. */
static int read_numbers(const struct pprof_tables *tables, struct protobuf message,
	uint64_t numbers[NUMBERS], const char *what)
{
	struct protobuf_field field;
	int more;

	while ((more = protobuf_next(&message, &field)) > 0)
		if (field.number < NUMBERS && field.type == PROTOBUF_VARINT)
			numbers[field.number] = field.value;
	return more ? pprof_damaged(tables, message.at, what) : 0;
}

static int add_type(struct pprof_tables *tables, struct protobuf message, struct pprof_type *out)
{
	uint64_t numbers[NUMBERS] = {0};
	int error = read_numbers(tables, message, numbers, "a damaged sample type");

	*out = (struct pprof_type){numbers[TYPE_TYPE], numbers[TYPE_UNIT]};
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
	uint64_t numbers[NUMBERS] = {0};
	int error = read_numbers(tables, message, numbers, "a damaged mapping");
	const struct pprof_mapping mapping = {
		.id = numbers[MAPPING_ID],
		.start = numbers[MAPPING_START],
		.limit = numbers[MAPPING_LIMIT],
		.offset = numbers[MAPPING_OFFSET],
		.file = numbers[MAPPING_FILE],
		.build_id = numbers[MAPPING_BUILD_ID],
		.handle = PPROF_NOT_ASKED,
	};

	if (!error && !mapping.id)
		error = pprof_damaged(tables, message.at, "a mapping without an id");
	return error ? error : pprof_append(tables, &tables->mappings, &mapping, sizeof(mapping));
}

static int add_function(struct pprof_tables *tables, struct protobuf message)
{
	uint64_t numbers[NUMBERS] = {0};
	int error = read_numbers(tables, message, numbers, "a damaged function");
	const struct pprof_function function = {
		.id = numbers[FUNCTION_ID],
		.name = numbers[FUNCTION_NAME],
		.system_name = numbers[FUNCTION_SYSTEM_NAME],
		.file = numbers[FUNCTION_FILE],
		.start_line = numbers[FUNCTION_START_LINE],
		.last = {{.frame = PPROF_UNSET}, {.frame = PPROF_UNSET}},
	};

	if (!error && !function.id)
		error = pprof_damaged(tables, message.at, "a function without an id");
	return error ? error
		     : pprof_append(tables, &tables->functions, &function, sizeof(function));
}

static int add_location(struct pprof_tables *tables, struct protobuf message)
{
	uint64_t numbers[NUMBERS] = {0};
	int error = read_numbers(tables, message, numbers, "a damaged location");
	const struct pprof_location location = {
		.id = numbers[LOCATION_ID],
		.mapping = numbers[LOCATION_MAPPING],
		.address = numbers[LOCATION_ADDRESS],
		.message = message,
		.first_frame = PPROF_UNSET,
	};

	if (!error && !location.id)
		error = pprof_damaged(tables, message.at, "a location without an id");
	return error ? error
		     : pprof_append(tables, &tables->locations, &location, sizeof(location));
}

static int add_comments(struct pprof_tables *tables, struct protobuf_field field, const uint8_t *at)
{
	uint64_t text;
	int more, error = 0;

	while (!error && (more = protobuf_number(&field, &text)) > 0)
		error = pprof_append(tables, &tables->comments, &text, sizeof(text));
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

static int add_field(
	struct pprof_tables *tables, const struct protobuf_field *field, const uint8_t *at)
{
	if (field->number == PROFILE_COMMENT)
		return add_comments(tables, *field, at);
	if (is_message(field->number))
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

/* Sort items by the id with which they begin. Returns 0, or -EBADMSG if two have the same id. */
static int sort_by_id(const struct pprof_tables *tables, struct pprof_table *table, size_t bytes,
	const char *what)
{
	char *items = table->items;
	int is_sorted = 1;

	for (uint32_t i = 1; i < table->count && is_sorted; i++)
		is_sorted = by_id(items + (i - 1) * bytes, items + i * bytes) < 0;
	if (is_sorted)
		return 0;
	qsort(items, table->count, bytes, by_id);
	for (uint32_t i = 1; i < table->count; i++)
		if (!by_id(items + (i - 1) * bytes, items + i * bytes))
			return diag_fail(tables->message, -EBADMSG,
				"cannot read '%s': it has two %s with one id", tables->name, what);
	return 0;
}

void *pprof_find(const struct pprof_table *table, size_t bytes, uint64_t id)
{
	char *items = table->items;

	/* Most profilers number items from 1, so try index @id - 1 first. */
	if (id - 1 < table->count && !by_id(&id, items + (id - 1) * bytes))
		return items + (id - 1) * bytes;
	return table->count ? bsearch(&id, items, table->count, bytes, by_id) : NULL;
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
		error = sort_by_id(
			tables, &tables->mappings, sizeof(struct pprof_mapping), "mappings");
	if (!error)
		error = sort_by_id(
			tables, &tables->functions, sizeof(struct pprof_function), "functions");
	if (!error)
		error = sort_by_id(
			tables, &tables->locations, sizeof(struct pprof_location), "locations");
	return error;
}

void pprof_tables_release(struct pprof_tables *tables)
{
	struct pprof_table *const all[] = {&tables->texts, &tables->mappings, &tables->functions,
		&tables->locations, &tables->comments, &tables->frames};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->items);
	bytes_release(&tables->text_bytes);
	symbols_free(tables->symbols);
}
