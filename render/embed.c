/* SPDX-License-Identifier: MIT */
/*
 * Write the call tree's columns (render/embed.h) one after the other through deflate and base64
 * into the document. Only one column is in memory at a time.
 */
#include "render/embed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "render/bytes.h"
#include "render/legend.h"
#include "render/palette.h"
#include "render/samples.h"
#include "render/spread.h"

/* ---- bytes to text --------------------------------------------------------------------------- */

#define PIECE_OPEN  "<piece xmlns=\"urn:flamerun\">"
#define PIECE_CLOSE "</piece>\n"

/* Bytes per line (960 characters of base64), because some editors and mail fail at 1000. */
#define LINE_BYTES   720u
#define BLOCK_BYTES  (LINE_BYTES * 64u)
#define PIECE_BLOCKS 16u /* not quite 1 MiB of text */

/* Each block but the last is full and holds whole lines, so only the last line has padding. */
_Static_assert(LINE_BYTES % 3 == 0, "a line ends where digits do");

struct pack {
	z_stream stream;
	FILE *out;
	unsigned blocks; /* number of blocks in the current <piece> */
	int error;
	uint8_t block[BLOCK_BYTES];
};

/* Write @length bytes (at most LINE_BYTES) as one line of base64. */
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

/* Begin to compress into @out (borrowed). Returns an owned pack, or NULL if out of memory. */
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

/* Compress @length bytes of @data. pack_finish() returns errors. */
static void pack_put(struct pack *pack, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	while (length && !pack->error) {
		/* Pass at most 2^30 bytes at a time, because zlib counts in unsigned int. */
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

/* Write deflate()'s pending output and close the <piece>. Returns 0, or -errno of the stream. */
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

/* A sorted list of distinct texts. Columns refer to a text by its index in the list. */
struct numbered {
	/* the array is owned, its texts belong to the tree */
	const char **texts;
	size_t count;
};

struct writer {
	const struct style *style;
	const struct calltree *tree;
	const struct preorder *preorder;
	struct pack *pack;
	struct bytes column;
	struct numbered modules; /* columns use index + 1, because 0 is "" */
	struct numbered files;
	/* [frame] -> its first line in the tree's table; owned; NULL: there are no lines */
	size_t *first_line;
	struct samples samples;
	int error;
};

static const struct calltree_frame *frame_at(const struct writer *writer, uint32_t rank)
{
	return calltree_frame_at(writer->tree, writer->preorder->by_rank[rank]);
}

/* Write a column's header: @tag and its @length in bytes. */
static void begin_column(struct writer *writer, enum embed_tag tag, size_t length)
{
	struct bytes head = {0};

	bytes_varint(&head, tag);
	bytes_varint(&head, length);
	if (!writer->error)
		writer->error = head.error;
	if (!writer->error)
		pack_put(writer->pack, head.data, head.used);
	bytes_release(&head);
}

/* Write the bytes collected in writer->column as the column of @tag, and empty the buffer. */
static void end_column(struct writer *writer, enum embed_tag tag)
{
	if (!writer->error)
		writer->error = writer->column.error;
	begin_column(writer, tag, writer->column.used);
	if (!writer->error)
		pack_put(writer->pack, writer->column.data, writer->column.used);
	writer->column.used = 0;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Allocate room for @count texts. Returns 0 or -ENOMEM. */
static int numbered_init(struct numbered *numbered, size_t count)
{
	*numbered = (struct numbered){calloc(count + 1, sizeof(*numbered->texts)), 0};
	return numbered->texts ? 0 : -ENOMEM;
}

static void numbered_add(struct numbered *numbered, const char *text)
{
	/*
	 * Skip repeated pointers: neighbours often share a text. Sorting removes other duplicates.
	 */
	if (!numbered->count || numbered->texts[numbered->count - 1] != text)
		numbered->texts[numbered->count++] = text;
}

static void numbered_sort(struct numbered *numbered)
{
	size_t kept = 0;

	qsort(numbered->texts, numbered->count, sizeof(*numbered->texts), compare_texts);
	for (size_t i = 0; i < numbered->count; i++)
		if (!i || strcmp(numbered->texts[i], numbered->texts[kept - 1]))
			numbered->texts[kept++] = numbered->texts[i];
	numbered->count = kept;
}

/* Returns the index of @text, or the number of texts if @text was not added. */
static size_t number_of(const struct numbered *numbered, const char *text)
{
	const char **found = bsearch(
		&text, numbered->texts, numbered->count, sizeof(*numbered->texts), compare_texts);

	return found ? (size_t)(found - numbered->texts) : numbered->count;
}

static int number_modules(struct writer *writer)
{
	if (numbered_init(&writer->modules, writer->preorder->frames))
		return -ENOMEM;
	for (uint32_t i = 0; i < writer->preorder->frames; i++)
		if (*frame_at(writer, i)->module)
			numbered_add(&writer->modules, frame_at(writer, i)->module);
	numbered_sort(&writer->modules);
	return 0;
}

/* List the source files of the lines that will be written, and fill writer->first_line. */
static int number_lines(struct writer *writer)
{
	const struct calltree *tree = writer->tree;
	size_t lines = calltree_lines(tree), line = 0;

	if (!lines)
		return 0;
	writer->first_line = calloc(calltree_frames(tree) + (size_t)1, sizeof(*writer->first_line));
	if (!writer->first_line || numbered_init(&writer->files, lines))
		return -ENOMEM;
	for (uint32_t frame = 0; frame < calltree_frames(tree); frame++) {
		writer->first_line[frame] = line;
		for (size_t of = 0; line < lines && calltree_line_at(tree, line)->frame == frame;
			line++, of++)
			if (of < EMBED_LINES_MAX)
				numbered_add(&writer->files, calltree_line_at(tree, line)->file);
	}
	writer->first_line[calltree_frames(tree)] = lines;
	numbered_sort(&writer->files);
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
		style->options->whole_names != 0,
		style->options->times,
		style->options->by_process != 0,
		style->options->by_thread != 0,
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
		writer->modules.count + 1,
		writer->samples.threads,
		writer->samples.count,
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
		for (unsigned index = 0; index < palette_size(palette); index++) {
			struct palette_color color = palette_at(palette, index, dark);

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

static void write_legend(struct writer *writer)
{
	struct legend_entry entries[LEGEND_MAX];
	unsigned count = legend_of(&writer->style->palette, writer->tree, entries);

	for (unsigned i = 0; i < count * LEGEND_SHADES; i++)
		bytes_varint(
			&writer->column, entries[i / LEGEND_SHADES].indices[i % LEGEND_SHADES]);
	end_column(writer, EMBED_LEGEND_COLORS);
	for (unsigned i = 0; i < count; i++)
		put_counted(&writer->column, entries[i].text);
	end_column(writer, EMBED_LEGEND_TEXTS);
}

static void write_frames(struct writer *writer)
{
	struct bytes *column = &writer->column;
	uint32_t frames = writer->preorder->frames;

	put_counted(column, "");
	for (size_t i = 0; i < writer->modules.count; i++)
		put_counted(column, writer->modules.texts[i]);
	end_column(writer, EMBED_MODULES);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column, strlen(frame_at(writer, i)->name));
	end_column(writer, EMBED_NAME_LENGTHS);
	for (uint32_t i = 0; i < frames; i++)
		bytes_text(column, frame_at(writer, i)->name);
	end_column(writer, EMBED_NAMES);
	for (uint32_t i = 0; i < frames; i++) {
		const char *module = frame_at(writer, i)->module;

		bytes_varint(column, *module ? number_of(&writer->modules, module) + 1 : 0);
	}
	end_column(writer, EMBED_FRAME_MODULES);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column, frame_at(writer, i)->kind);
	end_column(writer, EMBED_FRAME_KINDS);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(column,
			palette_index(&writer->style->palette, writer->preorder->by_rank[i]));
	end_column(writer, EMBED_FRAME_COLORS);
}

/*
 * Append the function's spread over repeated runs in words. Append an empty text if the spread is
 * unknown or too small, as for most functions.
 */
static void put_spread(struct writer *writer, const struct calltree_frame *frame)
{
	const struct spread *spread = writer->style->options->spread;
	struct spread_shares shares;
	char text[96] = "";

	if (spread_find(spread, frame, &shares) && shares.total >= SPREAD_TOTAL_MIN)
		snprintf(text, sizeof(text),
			"share over %u runs: \u00b1 %.1f points, by itself \u00b1 %.1f",
			spread_runs(spread), 100 * shares.total, 100 * shares.self);
	put_counted(&writer->column, text);
}

/*
 * Write for each frame a text about its verdict in a comparison, or about its spread in repeated
 * runs. Write no column if the picture has neither.
 */
static void write_frame_texts(struct writer *writer)
{
	const struct picture_options *options = writer->style->options;
	const struct picture_verdicts *verdicts = options->verdicts;

	if (!verdicts && !options->spread)
		return;
	for (uint32_t i = 0; i < writer->preorder->frames; i++)
		if (verdicts)
			put_counted(&writer->column,
				verdicts->explain(frame_at(writer, i), verdicts->context));
		else
			put_spread(writer, frame_at(writer, i));
	end_column(writer, EMBED_FRAME_TEXTS);
}

static void write_spread(struct writer *writer)
{
	const struct spread *spread = writer->style->options->spread;
	struct bytes *column = &writer->column;
	struct spread_shares shares;

	if (!spread)
		return;
	bytes_varint(column, spread_runs(spread));
	for (unsigned run = 0; run < spread_runs(spread); run++) {
		bytes_varint(column, spread_run_at(spread, run)->wall_ns);
		bytes_varint(column, spread_run_at(spread, run)->cpu_ns);
	}
	for (uint32_t i = 0; i < writer->preorder->frames; i++) {
		bool is_known = spread_find(spread, frame_at(writer, i), &shares);

		bytes_varint(column, is_known);
		if (is_known) {
			bytes_varint(column, (uint64_t)llround(shares.self * SPREAD_UNITS));
			bytes_varint(column, (uint64_t)llround(shares.total * SPREAD_UNITS));
		}
	}
	end_column(writer, EMBED_SPREAD);
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

static void write_threads(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->samples.threads; i++) {
		const char *name = calltree_thread_at(writer->tree, i);

		put_counted(&writer->column, name ? name : "");
	}
	end_column(writer, EMBED_THREADS);
	for (uint32_t i = 0; i < writer->samples.threads; i++) {
		const char *name = calltree_process_at(writer->tree, i);

		put_counted(&writer->column, name ? name : "");
	}
	end_column(writer, EMBED_THREAD_PROCESSES);
}

/*
 * Write the @count numbers in @values byte by byte: first the lowest byte of all numbers, then the
 * second byte of all, up to the highest byte that the largest number needs.
 */
static void write_planes(
	struct writer *writer, enum embed_tag tag, const uint32_t *values, size_t count)
{
	uint8_t bytes[4096];
	uint32_t all = 0;
	unsigned planes = 1;

	for (size_t i = 0; i < count; i++)
		all |= values[i];
	while (planes < sizeof(all) && all >> 8 * planes)
		planes++;
	begin_column(writer, tag, count * planes);
	for (unsigned plane = 0; plane < planes; plane++)
		for (size_t i = 0, part; i < count && !writer->error; i += part) {
			part = count - i < sizeof(bytes) ? count - i : sizeof(bytes);
			for (size_t k = 0; k < part; k++)
				bytes[k] = (uint8_t)(values[i + k] >> 8 * plane);
			pack_put(writer->pack, bytes, part);
		}
}

/* Write the table of samples. Write no column if the samples have no times. */
static void write_samples(struct writer *writer)
{
	const struct samples *samples = &writer->samples;
	uint32_t *values;

	if (!samples->count || writer->error)
		return;
	values = reallocarray(NULL, samples->count, sizeof(*values));
	if (!values) {
		writer->error = -ENOMEM;
		return;
	}
	bytes_varint(&writer->column, samples->tick_us);
	end_column(writer, EMBED_TICK);
	for (int column = 0; column < SAMPLES_COLUMNS && !writer->error; column++) {
		writer->error = samples_fill(samples, (enum samples_column)column, values);
		write_planes(writer, (enum embed_tag)(EMBED_SAMPLE_TIMES + column), values,
			samples->count);
	}
	free(values);
}

/*
 * Returns how many lines of the frame are written. *@first is set to the index of its first line,
 * *@more to the number of lines that are left out.
 */
static size_t lines_of(const struct writer *writer, uint32_t rank, size_t *first, size_t *more)
{
	uint32_t frame = writer->preorder->by_rank[rank];
	size_t count = writer->first_line[frame + 1] - writer->first_line[frame];
	size_t written = count < EMBED_LINES_MAX ? count : EMBED_LINES_MAX;

	*first = writer->first_line[frame];
	*more = count - written;
	return written;
}

/* Append the value of @line for column @tag. *@before is the column's previous line number. */
static void put_line(struct writer *writer, enum embed_tag tag, const struct calltree_line *line,
	int64_t *before)
{
	switch (tag) {
	case EMBED_LINE_FILES:
		bytes_varint(&writer->column, number_of(&writer->files, line->file));
		break;
	case EMBED_LINE_NUMBERS:
		bytes_signed(&writer->column, line->line - *before);
		*before = line->line;
		break;
	case EMBED_LINE_SELVES:
		bytes_varint(&writer->column, line->self);
		break;
	case EMBED_LINE_WAITS:
		bytes_varint(&writer->column, line->waits);
		break;
	default:
		bytes_varint(&writer->column, line->total);
	}
}

/* Write the columns of source lines. Write none if the tree has no lines. */
static void write_lines(struct writer *writer)
{
	uint32_t frames = writer->preorder->frames;
	size_t first, more, count;

	if (!writer->first_line)
		return;
	for (size_t i = 0; i < writer->files.count; i++)
		put_counted(&writer->column, writer->files.texts[i]);
	end_column(writer, EMBED_FILES);
	for (uint32_t i = 0; i < frames; i++)
		bytes_varint(&writer->column, lines_of(writer, i, &first, &more));
	end_column(writer, EMBED_LINE_COUNTS);
	for (uint32_t i = 0; i < frames; i++) {
		lines_of(writer, i, &first, &more);
		bytes_varint(&writer->column, more);
	}
	end_column(writer, EMBED_LINES_MORE);
	for (enum embed_tag tag = EMBED_LINE_FILES; tag <= EMBED_LINE_WAITS; tag++) {
		int64_t before = 0;

		for (uint32_t i = 0; i < frames; i++) {
			count = lines_of(writer, i, &first, &more);
			for (size_t line = first; line < first + count; line++)
				put_line(
					writer, tag, calltree_line_at(writer->tree, line), &before);
		}
		end_column(writer, tag);
	}
}

/* Write the columns of the program's marks; none if there are no marks, as in most pictures. */
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
	for (uint32_t i = 0; i < options->mark_count; i++)
		bytes_varint(&writer->column, options->marks[i].tid);
	end_column(writer, EMBED_MARK_THREADS);
}

int embed_write(const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, FILE *out)
{
	struct writer writer = {.style = style, .tree = tree, .preorder = preorder};

	writer.error = samples_init(&writer.samples, tree, preorder);
	if (!writer.error)
		writer.error = number_modules(&writer);
	if (!writer.error)
		writer.error = number_lines(&writer);
	if (writer.error)
		goto out;
	fputs("<metadata id=\"flamerun\" data-format=\"1\">\n", out);
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
	write_text(&writer, EMBED_TYPE_NAME, style->options->type_name);
	write_text(&writer, EMBED_FILTERS, style->options->filters);
	bytes_varint(&writer.column, (uint64_t)style->options->created_s);
	end_column(&writer, EMBED_CREATED);
	write_view(&writer);
	write_numbers(&writer);
	write_colors(&writer);
	write_legend(&writer);
	write_frames(&writer);
	write_frame_texts(&writer);
	write_spread(&writer);
	write_nodes(&writer);
	write_threads(&writer);
	write_samples(&writer);
	write_marks(&writer);
	write_lines(&writer);
	if (!writer.error)
		writer.error = pack_finish(writer.pack);
	fputs("</metadata>\n", out);
out:
	pack_free(writer.pack);
	bytes_release(&writer.column);
	free(writer.modules.texts);
	free(writer.files.texts);
	free(writer.first_line);
	samples_release(&writer.samples);
	return writer.error;
}
