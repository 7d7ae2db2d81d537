/* SPDX-License-Identifier: MIT */
/*
 * The file is a protocol buffer, so that protoc can read it. Frames are stored as columns (lists of
 * numbers of equal length), and so are stacks. A stack's parent has a smaller number than the
 * stack.
 */
#include "cli/formats/ranks_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/formats/whole.h"
#include "libprof/pprof/writer.h"
#include "render/array.h"

enum {
	FILE_MAGIC = 1,
	FILE_JOB = 2,
	FILE_NODE = 3,
	FILE_TITLE = 4,
	FILE_PERIOD = 5,
	FILE_SIZE = 6,
	FILE_TEXT = 7,
	/* from this one on, the columns must be consecutive, for put_columns() */
	FILE_FRAME_NAME = 8,
	FILE_FRAME_MODULE = 9,
	FILE_FRAME_KIND = 10,
	FILE_FRAME_FILE = 11,
	FILE_FRAME_LINE = 12,
	FILE_STACK_PARENT = 13, /* distance back to the parent */
	FILE_STACK_FRAME = 14,
	FILE_RANK = 15,
	FILE_FIELDS,
	FILE_RANKS = 16, /* fields that ranks_file_count() reads */
	FILE_ENDED = 17,
};
enum {
	RANK_NUMBER = 1,
	RANK_STATE = 2,
	RANK_BEGAN_S = 3,
	RANK_DURATION = 4,
	RANK_STATUS = 5,
	RANK_SIGNAL = 6,
	RANK_STACK = 7, /* distance from the previous stack */
	RANK_WEIGHT = 8,
};

#define FIRST_ROOM 64

/* The fields FILE_RANKS and FILE_ENDED are in these first bytes, after title, job and node. */
#define BEGINNING_BYTES 4096

bool ranks_file_is_name(const char *name)
{
	size_t bytes = strlen(name), ending = strlen(RANKS_FILE_ENDING);

	return *name != '.' && bytes > ending && !strcmp(name + bytes - ending, RANKS_FILE_ENDING);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
	struct ranks_file *file;
	const char *name;
	struct diag_message *message;
	struct protobuf columns[FILE_FIELDS];
	struct protobuf *texts;
	uint32_t text_room, rank_room;
};

static int damaged(const struct reading *reading, const char *what)
{
	return diag_fail(reading->message, -EBADMSG, "cannot read '%s': %s", reading->name, what);
}

static int refuse(const struct reading *reading, int error)
{
	return diag_fail(reading->message, error, "cannot read '%s': %s", reading->name,
		error == -E2BIG ? "too many stacks or ranks" : strerror(-error));
}

static int read_rank(struct reading *reading, struct protobuf message)
{
	struct ranks_file *file = reading->file;
	struct ranks_file_rank rank = {.message = message};
	struct protobuf_field field;
	int more;

	while ((more = protobuf_next(&message, &field)) > 0) {
		if ((field.number == RANK_STACK || field.number == RANK_WEIGHT) !=
				(field.type == PROTOBUF_BYTES) ||
			field.type == PROTOBUF_FIXED32 || field.type == PROTOBUF_FIXED64)
			return damaged(reading, "a rank's field has another type");
		switch (field.number) {
		case RANK_NUMBER:
			rank.number = (uint32_t)field.value;
			break;
		case RANK_STATE:
			rank.state = field.value ? RANK_ENDED : RANK_BEGAN;
			break;
		case RANK_BEGAN_S:
			rank.began_s = field.value;
			break;
		case RANK_DURATION:
			rank.duration_ns = field.value;
			break;
		case RANK_STATUS:
			rank.status = (uint32_t)field.value;
			break;
		case RANK_SIGNAL:
			rank.signal = (uint32_t)field.value;
			break;
		case RANK_STACK:
			rank.stacks = field.bytes;
			break;
		case RANK_WEIGHT:
			rank.weights = field.bytes;
			break;
		}
	}
	if (more)
		return damaged(reading, "a rank is damaged");
	if (file->rank_count == RANKS_FILE_RANKS_MAX)
		return refuse(reading, -E2BIG);
	if (ARRAY_GROW(file->ranks, file->rank_count, reading->rank_room, FIRST_ROOM))
		return refuse(reading, -ENOMEM);
	file->ranks[file->rank_count++] = rank;
	return 0;
}

static int keep_text(struct reading *reading, struct protobuf text)
{
	struct ranks_file *file = reading->file;

	if (ARRAY_GROW(reading->texts, file->text_count, reading->text_room, FIRST_ROOM))
		return refuse(reading, -ENOMEM);
	reading->texts[file->text_count++] = text;
	return 0;
}

static int read_fields(struct reading *reading)
{
	struct ranks_file *file = reading->file;
	struct protobuf in = {file->bytes.data, file->bytes.data + file->bytes.used};
	struct protobuf_field field;
	int error = 0, more = 0;

	while (!error && (more = protobuf_next(&in, &field)) > 0) {
		bool is_number = field.number == FILE_PERIOD || field.number == FILE_SIZE;

		if (field.number < FILE_FIELDS &&
			field.type != (is_number ? PROTOBUF_VARINT : PROTOBUF_BYTES))
			return damaged(reading, "a field has another type");
		if (field.number == FILE_PERIOD)
			file->head.period_ns = field.value;
		else if (field.number == FILE_SIZE)
			file->head.size = (uint32_t)field.value;
		else if (field.number == FILE_TEXT)
			error = keep_text(reading, field.bytes);
		else if (field.number == FILE_RANK)
			error = read_rank(reading, field.bytes);
		else if (field.number < FILE_FIELDS)
			reading->columns[field.number] = field.bytes;
	}
	return error ? error : more ? damaged(reading, "it is damaged, or not whole") : 0;
}

/* NUL-terminate a text in place. The byte after it was parsed, or is the extra last byte. */
static const char *end_text(struct protobuf text)
{
	if (!text.at)
		return "";
	*(uint8_t *)(uintptr_t)text.end = '\0';
	return (const char *)text.at;
}

static int end_texts(struct reading *reading)
{
	struct ranks_file *file = reading->file;
	const struct protobuf *columns = reading->columns;

	file->texts = calloc((size_t)file->text_count + 1, sizeof(*file->texts));
	if (!file->texts)
		return refuse(reading, -ENOMEM);
	for (uint32_t i = 0; i < file->text_count; i++)
		file->texts[i] = end_text(reading->texts[i]);
	if (strcmp(end_text(columns[FILE_MAGIC]), RANKS_FILE_MAGIC))
		return damaged(reading, "it is of no form that this flamerun knows");
	file->head.job = end_text(columns[FILE_JOB]);
	file->head.node = end_text(columns[FILE_NODE]);
	file->head.title = end_text(columns[FILE_TITLE]);
	return 0;
}

/* Count the numbers of a packed list: in the last byte of each, bit 7 is clear. */
static uint32_t count_numbers(struct protobuf list)
{
	uint32_t count = 0;

	for (; list.at < list.end; list.at++)
		count += !(*list.at & 0x80);
	return count;
}

/* Read the next number of @column. Returns 0, or -EBADMSG if it is not below @limit or missing. */
static int next_number(struct protobuf_field *column, uint64_t limit, uint32_t *number)
{
	uint64_t value;

	if (protobuf_number(column, &value) <= 0 || value >= limit)
		return -EBADMSG;
	*number = (uint32_t)value;
	return 0;
}

static struct protobuf_field column_at(const struct reading *reading, int field)
{
	return (struct protobuf_field){.type = PROTOBUF_BYTES, .bytes = reading->columns[field]};
}

static int read_frames(struct reading *reading)
{
	struct ranks_file *file = reading->file;
	struct protobuf_field columns[FILE_STACK_PARENT - FILE_FRAME_NAME];
	uint32_t texts = file->text_count, count, kind;

	file->frame_count = count = count_numbers(reading->columns[FILE_FRAME_NAME]);
	file->frames = calloc((size_t)count + 1, sizeof(*file->frames));
	if (!file->frames)
		return refuse(reading, -ENOMEM);
	for (int i = FILE_FRAME_NAME; i < FILE_STACK_PARENT; i++) {
		columns[i - FILE_FRAME_NAME] = column_at(reading, i);
		if (count_numbers(reading->columns[i]) != count)
			return damaged(reading, "frames lack something");
	}
	for (uint32_t i = 0; i < count; i++) {
		struct ranks_file_frame *frame = &file->frames[i];

		if (next_number(&columns[0], texts, &frame->name) ||
			next_number(&columns[1], texts, &frame->module) ||
			next_number(&columns[2], CALLTREE_KINDS, &kind) ||
			next_number(&columns[3], texts, &frame->file) ||
			next_number(&columns[4], UINT32_MAX, &frame->line))
			return damaged(reading, "a frame is damaged");
		frame->kind = (enum calltree_frame_kind)kind;
	}
	return 0;
}

static int read_stacks(struct reading *reading)
{
	struct ranks_file *file = reading->file;
	struct protobuf_field parents = column_at(reading, FILE_STACK_PARENT);
	struct protobuf_field frames = column_at(reading, FILE_STACK_FRAME);
	uint32_t count = count_numbers(parents.bytes);

	if (count >= RANKS_FILE_STACKS_MAX ||
		(uint64_t)file->rank_count * count > RANKS_FILE_WORK_MAX)
		return refuse(reading, -E2BIG);
	if (count_numbers(frames.bytes) != count)
		return damaged(reading, "stacks lack something");
	file->stack_count = count + 1;
	file->parents = calloc((size_t)count + 1, sizeof(*file->parents));
	file->frame_of = calloc((size_t)count + 1, sizeof(*file->frame_of));
	if (!file->parents || !file->frame_of)
		return refuse(reading, -ENOMEM);
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t distance;

		if (next_number(&parents, (uint64_t)i + 1, &distance) || !distance ||
			next_number(&frames, file->frame_count, &file->frame_of[i]))
			return damaged(reading, "a stack is damaged");
		file->parents[i] = i - distance;
	}
	return 0;
}

int ranks_file_parse(
	struct ranks_file *out, struct bytes *bytes, const char *name, struct diag_message *message)
{
	struct reading reading = {.file = out, .name = name, .message = message};
	int error;

	*out = (struct ranks_file){.bytes = *bytes};
	*bytes = (struct bytes){0};
	/* One byte more, for end_text(). */
	bytes_put(&out->bytes, "", 1);
	error = out->bytes.error ? refuse(&reading, -ENOMEM) : 0;
	if (!error) {
		out->bytes.used--;
		error = read_fields(&reading);
	}
	if (!error)
		error = end_texts(&reading);
	if (!error)
		error = read_frames(&reading);
	if (!error)
		error = read_stacks(&reading);
	free(reading.texts);
	if (error)
		ranks_file_release(out);
	return error;
}

int ranks_file_read(
	struct ranks_file *out, FILE *in, const char *name, struct diag_message *message)
{
	struct bytes bytes = {0};
	int error = whole_read(in, name, &bytes, message);

	return error ? error : ranks_file_parse(out, &bytes, name, message);
}

void ranks_file_release(struct ranks_file *file)
{
	free(file->texts);
	free(file->frames);
	free(file->parents);
	free(file->frame_of);
	free(file->ranks);
	bytes_release(&file->bytes);
	*file = (struct ranks_file){.texts = NULL};
}

int ranks_file_count(struct ranks_file_counts *out, int descriptor)
{
	uint8_t bytes[BEGINNING_BYTES];
	ssize_t count = pread(descriptor, bytes, sizeof(bytes), 0);
	struct protobuf in = {bytes, bytes + (count < 0 ? 0 : count)};
	struct protobuf_field field;

	*out = (struct ranks_file_counts){.ranks = 0};
	if (count < 0)
		return -errno;
	while (protobuf_next(&in, &field) > 0) {
		if (field.number == FILE_JOB && field.type == PROTOBUF_BYTES)
			snprintf(out->job, sizeof(out->job), "%.*s",
				(int)protobuf_left(&field.bytes), (const char *)field.bytes.at);
		else if (field.number == FILE_RANKS)
			out->ranks = (uint32_t)field.value;
		else if (field.number == FILE_ENDED)
			out->ended = (uint32_t)field.value;
	}
	return out->ranks ? 0 : -EBADMSG;
}

int ranks_file_next(const struct ranks_file *file, struct ranks_file_walk *walk, uint32_t *stack,
	uint64_t *weight)
{
	uint64_t distance;
	int more;

	if (!walk->is_begun) {
		walk->is_begun = 1;
		walk->stacks = (struct protobuf_field){
			.type = PROTOBUF_BYTES, .bytes = walk->rank->stacks};
		walk->weights = (struct protobuf_field){
			.type = PROTOBUF_BYTES, .bytes = walk->rank->weights};
	}
	more = protobuf_number(&walk->stacks, &distance);
	if (more != protobuf_number(&walk->weights, weight))
		return -EBADMSG;
	if (more <= 0)
		return more;
	/* Only the first distance may be 0 (the empty stack); later it would repeat a stack. */
	if (distance >= file->stack_count || (!distance && walk->is_begun == 2))
		return -EBADMSG;
	walk->is_begun = 2;
	walk->stack += distance;
	if (walk->stack >= file->stack_count)
		return -EBADMSG;
	*stack = (uint32_t)walk->stack;
	return 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writing {
	struct protobuf_out out;
	struct texts texts;
	const struct calltree *tree;
};

static int put_bytes(void *context, const void *bytes, size_t count)
{
	return fwrite(bytes, 1, count, context) == count ? 0 : -EIO;
}

static void put_text(struct protobuf_out *out, uint32_t field, const char *text)
{
	protobuf_put_bytes(out, field, text, strlen(text));
}

static uint32_t text_number(struct writing *writing, const char *text)
{
	uint32_t number = 0;
	int error = texts_add(&writing->texts, text, "", 0, &number);

	if (error && !writing->out.error)
		writing->out.error = error;
	return number;
}

static uint64_t column_value(struct writing *writing, int field, uint32_t at)
{
	const struct calltree_frame *frame;

	if (field == FILE_STACK_PARENT)
		return at - calltree_node_at(writing->tree, at)->parent;
	if (field == FILE_STACK_FRAME)
		return calltree_node_at(writing->tree, at)->frame;
	frame = calltree_frame_at(writing->tree, at);
	return field == FILE_FRAME_NAME	    ? text_number(writing, frame->name)
	       : field == FILE_FRAME_MODULE ? text_number(writing, frame->module)
	       : field == FILE_FRAME_KIND   ? (uint64_t)frame->kind
	       : field == FILE_FRAME_FILE   ? text_number(writing, frame->file)
					    : frame->line;
}

static void put_columns(struct writing *writing)
{
	for (int field = FILE_FRAME_NAME; field <= FILE_STACK_FRAME; field++) {
		bool is_stack = field >= FILE_STACK_PARENT;
		uint32_t count =
			is_stack ? calltree_nodes(writing->tree) : calltree_frames(writing->tree);
		size_t begun = protobuf_begin(&writing->out, (uint32_t)field);

		for (uint32_t i = is_stack; i < count; i++)
			protobuf_put_varint(&writing->out, column_value(writing, field, i));
		protobuf_end(&writing->out, begun);
	}
	for (uint32_t i = 0; !writing->out.error && i < writing->texts.count; i++)
		put_text(&writing->out, FILE_TEXT, texts_at(&writing->texts, i));
}

static void put_rank(struct protobuf_out *out, const struct ranks_file_rank *rank,
	const uint64_t *weights, uint32_t count)
{
	size_t whole = protobuf_begin(out, FILE_RANK), begun;
	uint32_t last = 0;

	protobuf_put_number(out, RANK_NUMBER, rank->number);
	protobuf_put_number(out, RANK_STATE, rank->state);
	protobuf_put_number(out, RANK_BEGAN_S, rank->began_s);
	protobuf_put_number(out, RANK_DURATION, rank->duration_ns);
	protobuf_put_number(out, RANK_STATUS, rank->status);
	protobuf_put_number(out, RANK_SIGNAL, rank->signal);
	begun = protobuf_begin(out, RANK_STACK);
	for (uint32_t i = 0; i < count; i++) {
		if (!weights[i])
			continue;
		protobuf_put_varint(out, i - last);
		last = i;
	}
	protobuf_end(out, begun);
	begun = protobuf_begin(out, RANK_WEIGHT);
	for (uint32_t i = 0; i < count; i++)
		if (weights[i])
			protobuf_put_varint(out, weights[i]);
	protobuf_end(out, begun);
	protobuf_end(out, whole);
}

static void put_counts(
	struct protobuf_out *out, const struct ranks_file *kept, const struct ranks_file_rank *rank)
{
	uint64_t ranks = 1, ended = rank->state == RANK_ENDED;

	for (uint32_t i = 0; kept && i < kept->rank_count; i++) {
		if (kept->ranks[i].number == rank->number)
			continue;
		ranks++;
		ended += kept->ranks[i].state == RANK_ENDED;
	}
	protobuf_put_number(out, FILE_RANKS, ranks);
	protobuf_put_number(out, FILE_ENDED, ended);
}

int ranks_file_write(FILE *out, const struct ranks_file_head *head, const struct calltree *tree,
	const struct ranks_file *kept, const struct ranks_file_rank *rank, const uint64_t *weights)
{
	struct writing writing = {.out = {.sink = put_bytes, .context = out}, .tree = tree};
	struct protobuf_out *to = &writing.out;
	int error;

	put_text(to, FILE_MAGIC, RANKS_FILE_MAGIC);
	put_text(to, FILE_JOB, head->job);
	put_text(to, FILE_NODE, head->node);
	put_text(to, FILE_TITLE, head->title);
	protobuf_put_number(to, FILE_PERIOD, head->period_ns);
	protobuf_put_number(to, FILE_SIZE, head->size);
	put_counts(to, kept, rank);
	put_columns(&writing);
	for (uint32_t i = 0; kept && i < kept->rank_count; i++) {
		const struct protobuf *message = &kept->ranks[i].message;

		if (kept->ranks[i].number != rank->number)
			protobuf_put_bytes(to, FILE_RANK, message->at, protobuf_left(message));
	}
	put_rank(to, rank, weights, calltree_nodes(tree));
	error = protobuf_finish(to);
	texts_release(&writing.texts);
	return error;
}
