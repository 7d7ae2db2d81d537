/* SPDX-License-Identifier: MIT */
/*
 * The call tree's columns, one after the other, on their way through deflate and base64 into the
 * document. At most one column is in memory.
 */
#include "render/embed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "render/bytes.h"
#include "render/palette.h"

/* ---- bytes to text --------------------------------------------------------------------------- */

#define PIECE_OPEN  "<piece xmlns=\"urn:flamerun\">"
#define PIECE_CLOSE "</piece>\n"

/* Mail and some editors do not like lines of 1000 characters. */
#define LINE_BYTES   720u
#define BLOCK_BYTES  (LINE_BYTES * 64u)
#define PIECE_BLOCKS 16u /* not quite 1 MiB of text */

/* Deflate fills a block, which is whole lines: padding comes at the very end only. */
_Static_assert(LINE_BYTES % 3 == 0, "a line ends where digits do");

struct pack {
	z_stream stream;
	FILE *out;
	unsigned blocks; /* in the piece being written */
	int error;
	uint8_t block[BLOCK_BYTES];
};

/* At most LINE_BYTES. */
static void write_line(struct pack *pack, const uint8_t *data, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[LINE_BYTES / 3 * 4 + 1];
	size_t used = 0;

	for (size_t i = 0; i < length; i += 3) {
		size_t have = length - i < 3 ? length - i : 3;
		uint32_t bits = (uint32_t)data[i] << 16 |
				(have > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				(have > 2 ? data[i + 2] : 0);

		for (unsigned digit = 0; digit < 4; digit++)
			text[used++] = digit > have ? '=' : digits[bits >> (18 - 6 * digit) & 63];
	}
	text[used++] = '\n';
	errno = 0;
	if (!pack->error && fwrite(text, 1, used, pack->out) != used)
		pack->error = errno ? -errno : -EIO;
}

static void flush_block(struct pack *pack)
{
	size_t length = BLOCK_BYTES - pack->stream.avail_out;

	if (length && !pack->blocks++)
		fputs(PIECE_OPEN, pack->out);
	for (size_t i = 0; i < length; i += LINE_BYTES)
		write_line(
			pack, pack->block + i, length - i < LINE_BYTES ? length - i : LINE_BYTES);
	if (pack->blocks == PIECE_BLOCKS) {
		fputs(PIECE_CLOSE, pack->out);
		pack->blocks = 0;
	}
	pack->stream.next_out = pack->block;
	pack->stream.avail_out = BLOCK_BYTES;
}

/* Begin; text goes to @out (borrowed). Returns an owned pack, or NULL without memory. */
static struct pack *pack_new(FILE *out)
{
	struct pack *pack = calloc(1, sizeof(*pack));

	if (!pack)
		return NULL;
	if (deflateInit2(&pack->stream, 6, Z_DEFLATED, MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(pack);
		return NULL;
	}
	pack->out = out;
	pack->stream.next_out = pack->block;
	pack->stream.avail_out = BLOCK_BYTES;
	return pack;
}

/* Append. Errors show in pack_finish(). */
static void pack_put(struct pack *pack, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	while (length && !pack->error) {
		/* zlib counts in unsigned int. */
		uInt part = length > 1u << 30 ? 1u << 30 : (uInt)length;

		pack->stream.next_in = (Bytef *)(uintptr_t)bytes;
		pack->stream.avail_in = part;
		while (pack->stream.avail_in && !pack->error) {
			if (deflate(&pack->stream, Z_NO_FLUSH) != Z_OK)
				pack->error = -EIO;
			if (!pack->stream.avail_out)
				flush_block(pack);
		}
		bytes += part;
		length -= part;
	}
}

/* Write what is left. Returns 0, or -errno of the stream. */
static int pack_finish(struct pack *pack)
{
	int status = Z_OK;

	while (!pack->error && status != Z_STREAM_END) {
		status = deflate(&pack->stream, Z_FINISH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			pack->error = -EIO;
		if (!pack->stream.avail_out || status == Z_STREAM_END)
			flush_block(pack);
	}
	if (pack->blocks)
		fputs(PIECE_CLOSE, pack->out);
	if (!pack->error && ferror(pack->out))
		pack->error = -EIO;
	return pack->error;
}

static void pack_free(struct pack *pack)
{
	if (!pack)
		return;
	deflateEnd(&pack->stream);
	free(pack);
}

/* ---- columns --------------------------------------------------------------------------------- */

struct writer {
	const struct style *style;
	const struct calltree *tree;
	const struct preorder *preorder;
	struct pack *pack;
	struct bytes column;
	uint32_t *module_of;  /* [frame rank] -> module number */
	const char **modules; /* [module number - 1]; number 0 is the empty name */
	uint32_t module_count;
	size_t samples; /* that have times */
	int error;
};

static const struct calltree_frame *frame_at(const struct writer *writer, uint32_t rank)
{
	return calltree_frame_at(writer->tree, writer->preorder->by_rank[rank]);
}

/* Write the column collected so far under @tag and begin the next. */
static void end_column(struct writer *writer, enum embed_tag tag)
{
	struct bytes head = {0};

	bytes_varint(&head, tag);
	bytes_varint(&head, writer->column.used);
	if (!writer->error)
		writer->error = head.error ? head.error : writer->column.error;
	if (!writer->error) {
		pack_put(writer->pack, head.data, head.used);
		pack_put(writer->pack, writer->column.data, writer->column.used);
	}
	bytes_release(&head);
	writer->column.used = 0;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Number the module names in their own order. */
static int number_modules(struct writer *writer)
{
	uint32_t frames = writer->preorder->frames, count = 0;

	writer->module_of = calloc((size_t)frames + 1, sizeof(*writer->module_of));
	writer->modules = calloc((size_t)frames + 1, sizeof(*writer->modules));
	if (!writer->module_of || !writer->modules)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		const char *module = frame_at(writer, i)->module;

		/* Neighbours often share one kept text: the sort below gets the rest. */
		if (*module && (!count || writer->modules[count - 1] != module))
			writer->modules[count++] = module;
	}
	qsort(writer->modules, count, sizeof(*writer->modules), compare_texts);
	for (uint32_t i = 0; i < count; i++)
		if (!i || strcmp(writer->modules[i], writer->modules[writer->module_count - 1]))
			writer->modules[writer->module_count++] = writer->modules[i];
	for (uint32_t i = 0; i < frames; i++) {
		const char *module = frame_at(writer, i)->module;
		const char **found = bsearch(&module, writer->modules, writer->module_count,
			sizeof(*writer->modules), compare_texts);

		writer->module_of[i] = found ? (uint32_t)(found - writer->modules) + 1 : 0;
	}
	return 0;
}

static void write_text(struct writer *writer, enum embed_tag tag, const char *text)
{
	if (text)
		bytes_text(&writer->column, text);
	end_column(writer, tag);
}

static uint64_t hundredths(double px)
{
	return (uint64_t)(px * 100 + 0.5);
}

static void write_view(struct writer *writer)
{
	const struct style *style = writer->style;
	const uint64_t numbers[] = {
		style->options->direction == PICTURE_ICICLE,
		style->options->ground == PICTURE_DARK,
		style->options->is_reversed != 0,
		(uint64_t)style->width_px,
		hundredths(style->row_px),
		hundredths(style->fonts[FONT_LABEL].size_px),
		hundredths(style->narrowest_px),
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		bytes_varint(&writer->column, numbers[i]);
	end_column(writer, EMBED_VIEW);
}

static void write_numbers(struct writer *writer)
{
	const struct palette *palette = &writer->style->palette;
	const uint64_t numbers[] = {
		writer->style->options->period_ns,
		writer->style->options->duration_ns,
		writer->preorder->nodes,
		writer->preorder->frames,
		writer->module_count + 1,
		calltree_threads(writer->tree),
		writer->samples,
		palette_size(palette),
		palette_root(palette),
		palette_merged(palette),
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		bytes_varint(&writer->column, numbers[i]);
	end_column(writer, EMBED_NUMBERS);
}

static void write_colors(struct writer *writer)
{
	const struct palette *palette = &writer->style->palette;

	for (int dark = 0; dark < 2; dark++) {
		for (unsigned place = 0; place < palette_size(palette); place++) {
			struct palette_color color = palette_at(palette, place, dark);

			bytes_put(&writer->column, (uint8_t[]){color.red, color.green, color.blue},
				3);
		}
		end_column(writer, dark ? EMBED_COLORS_DARK : EMBED_COLORS_LIGHT);
	}
}

static void put_counted(struct bytes *column, const char *text)
{
	bytes_varint(column, strlen(text));
	bytes_text(column, text);
}

static void write_frames(struct writer *writer)
{
	struct bytes *column = &writer->column;
	uint32_t frames = writer->preorder->frames;

	put_counted(column, "");
	for (uint32_t i = 0; i < writer->module_count; i++)
		put_counted(column, writer->modules[i]);
	end_column(writer, EMBED_MODULES);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column, strlen(frame_at(writer, i)->name));
	end_column(writer, EMBED_NAME_LENGTHS);
	for (uint32_t i = 0; i < frames; i++)
		bytes_text(column, frame_at(writer, i)->name);
	end_column(writer, EMBED_NAMES);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column, writer->module_of[i]);
	end_column(writer, EMBED_FRAME_MODULES);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column, frame_at(writer, i)->kind);
	end_column(writer, EMBED_FRAME_KINDS);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column,
			palette_place(&writer->style->palette, writer->preorder->by_rank[i]));
	end_column(writer, EMBED_FRAME_COLORS);
}

static void write_nodes(struct writer *writer)
{
	const struct preorder *preorder = writer->preorder;
	struct bytes *column = &writer->column;

	for (uint32_t at = 1; at < preorder->nodes; at++)
		bytes_varint(column, preorder->depth[at - 1] + 1 - preorder->depth[at]);
	end_column(writer, EMBED_NODE_UPS);
	for (uint32_t at = 1; at < preorder->nodes; at++)
		bytes_varint(column,
			preorder->rank[calltree_node_at(writer->tree, preorder->order[at])->frame]);
	end_column(writer, EMBED_NODE_FRAMES);
	for (uint32_t at = 0; at < preorder->nodes; at++)
		bytes_varint(column, calltree_node_at(writer->tree, preorder->order[at])->self);
	end_column(writer, EMBED_NODE_WEIGHTS);
}

/* Where none has a time they only tell threads, to those who made the tree. */
static size_t count_samples(const struct calltree *tree)
{
	size_t samples = calltree_samples(tree);

	for (size_t i = 0; i < samples; i++)
		if (calltree_sample_at(tree, i)->time_ns)
			return samples;
	return 0;
}

static void write_samples(struct writer *writer)
{
	struct bytes *column = &writer->column;
	size_t samples = writer->samples;
	uint64_t before = 0;

	for (uint32_t i = 0; i < calltree_threads(writer->tree); i++) {
		const char *name = calltree_thread_at(writer->tree, i);

		put_counted(column, name ? name : "");
	}
	end_column(writer, EMBED_THREADS);
	for (size_t i = 0; i < samples; i++) {
		uint64_t time_us = calltree_sample_at(writer->tree, i)->time_ns / 1000;

		bytes_signed(column, (int64_t)(time_us - before));
		before = time_us;
	}
	end_column(writer, EMBED_SAMPLE_TIMES);
	before = 0;
	for (size_t i = 0; i < samples; i++) {
		uint32_t node = calltree_sample_at(writer->tree, i)->node;
		uint64_t position = writer->preorder->position[node];

		bytes_signed(column, (int64_t)(position - before));
		before = position;
	}
	end_column(writer, EMBED_SAMPLE_NODES);
	for (size_t i = 0; i < samples; i++)
		bytes_varint(column, calltree_sample_at(writer->tree, i)->thread);
	end_column(writer, EMBED_SAMPLE_THREADS);
	for (size_t i = 0; i < samples; i++)
		bytes_varint(column, calltree_sample_at(writer->tree, i)->weight);
	end_column(writer, EMBED_SAMPLE_WEIGHTS);
	for (size_t i = 0; i < samples; i++)
		bytes_varint(column, calltree_sample_at(writer->tree, i)->kind);
	end_column(writer, EMBED_SAMPLE_KINDS);
}

/* Nothing where there are none, as in most pictures. */
static void write_marks(struct writer *writer)
{
	const struct picture_options *options = writer->style->options;
	uint64_t before = 0;

	if (!options->mark_count)
		return;
	for (uint32_t i = 0; i < options->mark_count; i++) {
		uint64_t time_us = options->marks[i].time_ns / 1000;

		bytes_varint(&writer->column, time_us - before);
		before = time_us;
	}
	end_column(writer, EMBED_MARK_TIMES);
	for (uint32_t i = 0; i < options->mark_count; i++)
		put_counted(&writer->column, options->marks[i].text);
	end_column(writer, EMBED_MARK_TEXTS);
}

int embed_write(const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, FILE *out)
{
	struct writer writer = {.style = style, .tree = tree, .preorder = preorder};

	writer.samples = count_samples(tree);
	writer.error = number_modules(&writer);
	if (writer.error)
		goto out;
	fputs("<metadata id=\"flamerun\" data-version=\"3\">\n", out);
	writer.pack = pack_new(out);
	if (!writer.pack) {
		writer.error = -ENOMEM;
		goto out;
	}
	write_text(&writer, EMBED_TITLE, style->title);
	write_text(&writer, EMBED_SUBTITLE, style->subtitle);
	write_text(&writer, EMBED_EMPTY, style->options->empty);
	write_text(&writer, EMBED_COUNT_NAME, style->count_name);
	write_text(&writer, EMBED_NOTES, style->notes);
	write_text(&writer, EMBED_FONT, style->css_family);
	write_text(&writer, EMBED_PALETTE, palette_name(&style->palette));
	write_view(&writer);
	write_numbers(&writer);
	write_colors(&writer);
	write_frames(&writer);
	write_nodes(&writer);
	write_samples(&writer);
	write_marks(&writer);
	if (!writer.error)
		writer.error = pack_finish(writer.pack);
	fputs("</metadata>\n", out);
out:
	pack_free(writer.pack);
	bytes_release(&writer.column);
	free(writer.module_of);
	free(writer.modules);
	return writer.error;
}
