/* SPDX-License-Identifier: MIT */
/*
 * A call tree as a pprof profile: the table of texts last, as only then all are known. What is
 * equal in stack and thread is one sample.
 */
#include "cli/formats/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/formats/pprof_pool.h"
#include "cli/formats/pprof_shares.h"
#include "cli/formats/protobuf.h"
#include "cli/profile/machine_name.h"
#include "libprof/pprof/fields.h"

#define NS_PER_S    1000000000u
#define GZIP_WINDOW (15 + 16)

struct writer {
	const struct calltree *tree;
	const struct picture_options *options;
	struct bytes out;
	struct bytes part, inner; /* messages being collected */
	struct pprof_pool pool;	  /* of texts */
	bool has_vm;		  /* of virtual machines: their time is a type of its own */
	int error;
};

/* The number of @text. */
static uint64_t text_of(struct writer *writer, const char *text)
{
	uint32_t number = 0;
	int error = pprof_pool_add(&writer->pool, text, &number);

	if (error && !writer->error)
		writer->error = error;
	return number;
}

static void put_type(struct writer *writer, uint32_t number, const char *type, const char *unit)
{
	protobuf_put_number(&writer->part, 1, text_of(writer, type));
	protobuf_put_number(&writer->part, 2, text_of(writer, unit));
	protobuf_put_message(&writer->out, number, &writer->part);
}

static const char *count_name(const struct writer *writer)
{
	const char *name = writer->options->count_name;

	return name && *name ? name : "samples";
}

static void put_types(struct writer *writer)
{
	const struct picture_options *options = writer->options;
	const char *name = count_name(writer);

	if (options->period_ns == 1) { /* the weights are times themselves, of whatever kind */
		put_type(writer, PROFILE_SAMPLE_TYPE, "time", "nanoseconds");
		return;
	}
	put_type(writer, PROFILE_SAMPLE_TYPE, name, strcmp(name, "bytes") ? "count" : "bytes");
	if (!options->period_ns)
		return;
	put_type(writer, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	writer->has_vm = machine_weight(writer->tree) != 0;
	if (writer->has_vm)
		put_type(writer, PROFILE_SAMPLE_TYPE, PPROF_MACHINE_TIME, "nanoseconds");
	put_type(writer, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	protobuf_put_number(&writer->out, PROFILE_PERIOD, options->period_ns);
	protobuf_put_number(&writer->out, PROFILE_DEFAULT_TYPE, text_of(writer, "cpu"));
}

/* A mapping for each module: mapping_of[number of its name]. */
struct mappings {
	uint64_t *of;
	uint64_t count;
};

static uint64_t put_mapping(struct writer *writer, struct mappings *mappings, const char *module)
{
	uint64_t name = text_of(writer, module);

	if (!*module || writer->error)
		return 0;
	if (!mappings->of[name]) {
		mappings->of[name] = ++mappings->count;
		protobuf_put_number(&writer->part, 1, mappings->count);
		protobuf_put_number(&writer->part, 5, name);
		protobuf_put_number(&writer->part, MAPPING_HAS_FUNCTIONS, 1);
		protobuf_put_message(&writer->out, PROFILE_MAPPING, &writer->part);
	}
	return mappings->of[name];
}

/* The first mapping is to be the program's: where main() is, or what the title begins with. */
static const char *program_module(const struct writer *writer)
{
	const char *title = writer->options->title ? writer->options->title : "";
	size_t bytes = strcspn(title, " :");
	const char *slash = memrchr(title, '/', bytes);
	const char *titled = "";

	if (slash) {
		bytes -= (size_t)(slash + 1 - title);
		title = slash + 1;
	}
	for (uint32_t i = 0; i < calltree_frames(writer->tree); i++) {
		const struct calltree_frame *frame = calltree_frame_at(writer->tree, i);

		if (!strcmp(frame->name, "main") && *frame->module)
			return frame->module;
		if (!strncmp(frame->module, title, bytes) && !frame->module[bytes])
			titled = frame->module;
	}
	return titled;
}

/* The function of frame @id; a virtual machine's has its file and @line in fields of their own. */
static void put_function(
	struct writer *writer, uint32_t id, const struct calltree_frame *frame, uint64_t *line)
{
	struct machine_name parts;
	char *name = NULL, *file = NULL;
	uint64_t number;

	*line = 0;
	if (machine_name_is_of(frame) && machine_name_split(frame->name, &parts)) {
		name = strndup(frame->name, parts.name_bytes);
		file = strndup(parts.file, parts.file_bytes);
		*line = parts.line;
		if (!name || !file)
			writer->error = -ENOMEM;
	}
	number = text_of(writer, name ? name : *frame->name ? frame->name : "[empty]");
	protobuf_put_number(&writer->part, FUNCTION_ID, id);
	protobuf_put_number(&writer->part, FUNCTION_NAME, number);
	protobuf_put_number(&writer->part, FUNCTION_SYSTEM_NAME, number);
	protobuf_put_number(&writer->part, FUNCTION_FILE, file ? text_of(writer, file) : 0);
	protobuf_put_message(&writer->out, PROFILE_FUNCTION, &writer->part);
	free(name);
	free(file);
}

static void put_frames(struct writer *writer)
{
	uint32_t frames = calltree_frames(writer->tree);
	struct mappings mappings = {0};

	for (uint32_t i = 0; i < frames; i++)
		text_of(writer, calltree_frame_at(writer->tree, i)->module);
	mappings.of = calloc((size_t)writer->pool.count + 1, sizeof(*mappings.of));
	if (!mappings.of) {
		writer->error = -ENOMEM;
		return;
	}
	put_mapping(writer, &mappings, program_module(writer));
	for (uint32_t i = 0; i < frames && !writer->error; i++) {
		const struct calltree_frame *frame = calltree_frame_at(writer->tree, i);
		uint64_t mapping = put_mapping(writer, &mappings, frame->module);
		uint64_t line;

		put_function(writer, i + 1, frame, &line);
		protobuf_put_number(&writer->inner, LINE_FUNCTION, i + 1);
		protobuf_put_number(&writer->inner, LINE_LINE, line);
		protobuf_put_number(&writer->part, 1, i + 1);
		protobuf_put_number(&writer->part, 2, mapping);
		protobuf_put_message(&writer->part, 4, &writer->inner);
		protobuf_put_message(&writer->out, PROFILE_LOCATION, &writer->part);
	}
	free(mappings.of);
}

static void put_values(struct writer *writer, const struct pprof_share *share)
{
	uint64_t period_ns = writer->options->period_ns;
	uint32_t leaf = calltree_node_at(writer->tree, share->node)->frame;
	bool is_vm = writer->has_vm && machine_name_is_of(calltree_frame_at(writer->tree, leaf));

	bytes_varint(&writer->inner, share->weight);
	if (period_ns > 1)
		bytes_varint(&writer->inner, is_vm ? 0 : share->weight * period_ns);
	if (writer->has_vm)
		bytes_varint(&writer->inner, is_vm ? share->weight * period_ns : 0);
	protobuf_put_message(&writer->part, SAMPLE_VALUE, &writer->inner);
}

static void put_sample(struct writer *writer, const struct pprof_share *share)
{
	const char *thread = share->thread == PPROF_NO_THREAD
		? NULL
		: calltree_thread_at(writer->tree, share->thread);

	for (uint32_t node = share->node; node != CALLTREE_ROOT;
		node = calltree_node_at(writer->tree, node)->parent)
		bytes_varint(&writer->inner, calltree_node_at(writer->tree, node)->frame + 1ULL);
	protobuf_put_message(&writer->part, 1, &writer->inner);
	put_values(writer, share);
	if (thread) {
		protobuf_put_number(&writer->inner, 1, text_of(writer, "thread"));
		protobuf_put_number(&writer->inner, 2, text_of(writer, thread));
		protobuf_put_message(&writer->part, 3, &writer->inner);
	}
	protobuf_put_message(&writer->out, PROFILE_SAMPLE, &writer->part);
}

/* A comment made by asprintf(), which said it has @bytes bytes. */
static int put_comment(struct writer *writer, char *comment, int bytes)
{
	if (bytes < 0)
		return -ENOMEM;
	protobuf_put_number(&writer->out, PROFILE_COMMENT, text_of(writer, comment));
	free(comment);
	return 0;
}

static int put_comments(struct writer *writer)
{
	const struct picture_options *options = writer->options;
	char *made = NULL;
	int error = 0, bytes;

	if (options->title && *options->title) {
		bytes = asprintf(&made, PPROF_COMMENT_TITLE "%s", options->title);
		error = put_comment(writer, made, bytes);
	}
	for (uint32_t i = 0; i < options->mark_count && !error; i++) {
		const struct picture_mark *mark = &options->marks[i];
		uint64_t us = mark->time_ns / 1000;

		bytes = asprintf(&made, PPROF_COMMENT_MARK "%" PRIu64 ".%03u %" PRIu32 " %s",
			us / 1000, (unsigned)(us % 1000), mark->tid, mark->text);
		error = put_comment(writer, made, bytes);
	}
	return error;
}

static int build(struct writer *writer)
{
	const struct picture_options *options = writer->options;
	struct pprof_share *shares = NULL;
	size_t share_count = 0;
	int error;

	text_of(writer, ""); /* number 0, as the format wants it */
	put_types(writer);
	if (options->created_s > 0)
		protobuf_put_number(&writer->out, PROFILE_TIME_NANOS,
			(uint64_t)options->created_s * NS_PER_S);
	protobuf_put_number(&writer->out, PROFILE_DURATION_NANOS, options->duration_ns);
	error = put_comments(writer);
	put_frames(writer);
	if (!error)
		error = writer->error ? writer->error
				      : pprof_share_out(writer->tree, &shares, &share_count);
	for (size_t i = 0; i < share_count && !error; i++)
		put_sample(writer, &shares[i]);
	free(shares);
	for (uint32_t i = 0; i < writer->pool.count; i++)
		protobuf_put_text(&writer->out, PROFILE_STRING, writer->pool.texts[i]);
	if (!error)
		error = writer->error ? writer->error : writer->out.error;
	return error;
}

/* Without name and time, so that equal profiles are equal files. */
static int deflate_to(const struct bytes *bytes, FILE *out)
{
	z_stream stream = {.next_in = bytes->data, .avail_in = 0};
	size_t left = bytes->used;
	uint8_t piece[65536] = {0};
	int status = Z_OK;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 9,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	while (status != Z_STREAM_END && !ferror(out)) {
		if (!stream.avail_in) {
			stream.avail_in = left > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)left;
			left -= stream.avail_in;
		}
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
		fwrite(piece, 1, sizeof(piece) - stream.avail_out, out);
	}
	deflateEnd(&stream);
	return 0;
}

static int write_profile(const struct calltree *tree, const struct picture_options *options,
	FILE *out, bool is_packed)
{
	struct writer writer = {.tree = tree, .options = options};
	int error = build(&writer);

	errno = 0;
	if (!error && is_packed)
		error = deflate_to(&writer.out, out);
	else if (!error)
		fwrite(writer.out.data, 1, writer.out.used, out);
	if (!error && ferror(out))
		error = errno ? -errno : -EIO;
	bytes_release(&writer.out);
	bytes_release(&writer.part);
	bytes_release(&writer.inner);
	pprof_pool_release(&writer.pool);
	return error;
}

int pprof_write(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	return write_profile(tree, options, out, false);
}

int pprof_write_gz(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	return write_profile(tree, options, out, true);
}
