/* SPDX-License-Identifier: MIT */
/*
 * Find a file's format by its name or its first bytes. If the first byte fits two formats, the
 * whole file decides: a pprof profile may begin like text, and a folded stack like a picture or
 * JSON.
 */
#include "cli/formats/input.h"

#include <errno.h>
#include <iconv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/foreign.h"
#include "cli/formats/format.h"
#include "cli/formats/perf_script.h"
#include "cli/formats/pprof.h"
#include "cli/formats/speedscope.h"
#include "cli/formats/svg.h"
#include "cli/formats/svg_columns.h"
#include "cli/formats/whole.h"
#include "cli/formats/job.h"
#include "libprof/pprof/protobuf.h"
#include "cli/store/address.h"
#include "cli/store/fleet.h"

/* If the mean weight of a stack is below this number, rounded weights show wrong shares. */
#define SMALL_WEIGHT 20u

/* Can a file of @format hold stacks? JSON files of any name may be for speedscope. */
static bool may_hold_stacks(const struct format *format)
{
	return !format || format->has_stacks || format_is_json(format);
}

/* Refuse a picture: as text, each of its lines that ends in a number would be a stack. */
static int refuse_picture(const struct input *input, struct diag_message *message)
{
	diag_fail(message, -EINVAL, "'%s' holds no stacks", input->path);
	diag_fail_hint(message,
		"write them beside the picture: flamerun -o run.svg -o run.folded -- program");
	return -EINVAL;
}

/* Read text. Its beginning, not its name, says whether perf script or another program wrote it. */
static int read_text(struct input *input, FILE *in, const struct input_request *request,
	struct diag_message *message)
{
	struct lines lines = {.in = in};
	const char *text;
	size_t bytes;
	int error = lines_peek(&lines, &text, &bytes);

	if (error)
		diag_fail(message, error, "cannot read '%s': %s", input->name, strerror(-error));
	else if (perf_script_is(text, bytes))
		error = perf_script_read(&input->tree, &lines, input->name,
			request->sample_type, &input->facts, message);
	else if (!(error = foreign_refuse(text, bytes, input->name, message)))
		error = folded_read(input->tree, NULL, &lines, input->name, &input->bad, message);
	lines_release(&lines);
	return error;
}

static int read_text_bytes(struct input *input, const struct bytes *file,
	const struct input_request *request, struct diag_message *message)
{
	FILE *text = fmemopen(file->data, file->used, "r");
	int error;

	if (!text)
		return diag_fail(
			message, -errno, "cannot read '%s': %s", input->name, strerror(errno));
	error = read_text(input, text, request, message);
	fclose(text);
	return error;
}

/* Read the stacks of the profile @bytes with the values of facts.unread[@number]. */
static int read_kept(struct input *input, unsigned number, const void *bytes, size_t count,
	const struct input_request *request, struct diag_message *message)
{
	struct input_facts facts = {.period_ns = 1};

	input->kept[number] = calltree_new();
	if (!input->kept[number])
		return diag_fail(message, -ENOMEM, "out of memory");
	return pprof_read_type(input->kept[number], bytes, count, input->name,
		input->facts.unread[number].name, request, &facts, message);
}

/* Read a file that begins like a profile. @is_sure: its name is that of a profile, too. */
static int read_profile(struct input *input, FILE *in, const struct input_request *request,
	bool is_sure, struct diag_message *message)
{
	void *bytes = NULL;
	size_t count = 0;
	int error = pprof_load(in, input->name, &bytes, &count, message);

	if (error)
		return error;
	if (is_sure || pprof_is_profile(bytes, count)) {
		error = pprof_read(input->tree, bytes, count, input->name, request,
			&input->facts, message);
		if (!error && input->facts.other_name[0])
			error = pprof_read_type(input->other, bytes, count, input->name,
				input->facts.other_name, request, &input->facts, message);
		for (unsigned i = 0;
			!error && request->keeps_types && i < input->facts.unread_count; i++)
			error = read_kept(input, i, bytes, count, request, message);
	} else {
		error = read_text_bytes(input, &(struct bytes){.data = bytes, .used = count},
			request, message);
	}
	free(bytes);
	return error;
}

/* Read a file that begins like a picture. @is_sure: its name is that of a picture, too. */
static int read_svg(struct input *input, FILE *in, const struct input_request *request,
	bool is_sure, struct diag_message *message)
{
	struct bytes file = {0};
	int error = whole_read(in, input->name, &file, message);

	if (error)
		return error;
	if (is_sure || svg_columns_are_in(&file))
		error = svg_read(input->tree, &file, input->name, &input->facts, message);
	else
		error = read_text_bytes(input, &file, request, message);
	bytes_release(&file);
	return error;
}

/* Read a file that begins like JSON. @is_sure: its name is that of a speedscope file, too. */
static int read_speedscope(struct input *input, FILE *in, const struct input_request *request,
	bool is_sure, struct diag_message *message)
{
	struct bytes file = {0};
	int error = whole_read(in, input->name, &file, message);

	if (error)
		return error;
	if (is_sure || speedscope_is(&file))
		error = speedscope_read(input->tree, &file, input->name,
			request->sample_type, &input->facts, message);
	else
		error = read_text_bytes(input, &file, request, message);
	bytes_release(&file);
	return error;
}

static int read_unmarked(struct input *input, FILE *in, const struct input_request *request,
	struct diag_message *message)
{
	const struct format *format = format_by_ending(input->path);
	int first = getc(in);

	ungetc(first, in);
	if (format && format_is_pprof(format))
		return read_profile(input, in, request, true, message);
	if (format && format_is_svg(format))
		return read_svg(input, in, request, true, message);
	if (format && (format_is_speedscope(format) || format_is_json(format)))
		return read_speedscope(
			input, in, request, format_is_speedscope(format), message);
	if (first == PPROF_FIRST_GZIP || first == PPROF_FIRST_PLAIN)
		return read_profile(input, in, request, false, message);
	if (first == SVG_FIRST)
		return read_svg(input, in, request, false, message);
	if (first == SPEEDSCOPE_FIRST)
		return read_speedscope(input, in, request, false, message);
	return read_text(input, in, request, message);
}

/* Convert UTF-16 in @file, without its byte order mark, to UTF-8. Returns 0 or -errno. */
static int convert_utf16(const struct bytes *file, const char *encoding, struct bytes *out)
{
	iconv_t converter = iconv_open("UTF-8", encoding);
	char *from = (char *)file->data + 2, piece[4096];
	size_t left = file->used - 2;
	int error = converter == (iconv_t)-1 ? -errno : 0;

	while (!error && left) {
		char *to = piece;
		size_t room = sizeof(piece);

		if (iconv(converter, &from, &left, &to, &room) == (size_t)-1 && errno != E2BIG)
			error = -errno;
		bytes_put(out, piece, sizeof(piece) - room);
	}
	if (converter != (iconv_t)-1)
		iconv_close(converter);
	return error ? error : out->error;
}

/* Read a file that may begin with a byte order mark, as Windows writes it. */
static int read_marked(struct input *input, FILE *in, const struct input_request *request,
	struct diag_message *message)
{
	struct bytes file = {0}, text = {0};
	const uint8_t *at;
	FILE *rest = NULL;
	int error = whole_read(in, input->name, &file, message);

	if (error)
		return error;
	at = file.data;
	/* The byte that is 0 is the high half of a character of ASCII. */
	if (file.used > 4 && at[0] == 0xff && at[1] == 0xfe && !at[3])
		error = convert_utf16(&file, "UTF-16LE", &text);
	else if (file.used > 4 && at[0] == 0xfe && at[1] == 0xff && !at[2])
		error = convert_utf16(&file, "UTF-16BE", &text);
	else if (file.used > 3 && !memcmp(at, "\xef\xbb\xbf", 3))
		bytes_put(&text, at + 3, file.used - 3);
	else
		bytes_put(&text, at, file.used);
	if (!error && text.used)
		rest = fmemopen(text.data, text.used, "r");
	if (rest) {
		error = read_unmarked(input, rest, request, message);
		fclose(rest);
	} else if (error || text.error) {
		diag_fail(message, error ? error : text.error, "cannot read '%s': %s", input->name,
			strerror(-(error ? error : text.error)));
	}
	bytes_release(&file);
	bytes_release(&text);
	return error;
}

static int read_any(struct input *input, FILE *in, const struct input_request *request,
	struct diag_message *message)
{
	int first = getc(in);

	if (first != EOF)
		ungetc(first, in);
	else if (ferror(in)) /* reading on would hide the cause */
		return diag_fail(
			message, -errno, "cannot read '%s': %s", input->name, strerror(errno));
	return first == 0xef || first == 0xff || first == 0xfe
		       ? read_marked(input, in, request, message)
		       : read_unmarked(input, in, request, message);
}

static void report_unread(const struct input *input)
{
	const struct input_facts *facts = &input->facts;
	char names[300] = "";
	size_t at = 0;

	for (unsigned i = 0; i < facts->unread_count && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
			facts->unread[i].name);
	diag_info("'%s' is read by %s; it also has %s (--sample-type chooses)", input->name,
		facts->type_name, names);
}

/* Report skipped lines, and a second kind of time, to the user. */
static void report(const struct input *input, const struct input_request *request)
{
	if (input->bad.count)
		diag_info("'%s': %" PRIu64
			  " line%s not \"stack weight\" and left out, the first is "
			  "line %" PRIu64,
			input->name, input->bad.count, input->bad.count == 1 ? " is" : "s are",
			input->bad.first);
	if (input->bad.has_fractions &&
		calltree_total(input->tree) < SMALL_WEIGHT * input->bad.stacks)
		diag_info("'%s': the weights are fractions and are rounded to whole counts: "
			  "multiply them by 1000 for right shares",
			input->name);
	if (input->facts.unread_count && !request->sample_type && !request->keeps_types)
		report_unread(input);
	if (calltree_total(input->other) && !request->sample_type)
		diag_info("'%s' has time of another kind as well: --sample-type %s draws it",
			input->name, input->facts.other_name);
}

void input_report_empty(const struct input *input)
{
	if (!calltree_total(input->tree))
		diag_info("'%s' %s: nothing is in the picture", input->name,
			input->bad.stacks ? "has only counts of 0" : "is empty");
}

static int begin(struct input *input, const char *path, struct diag_message *message)
{
	*input = (struct input){
		.path = path,
		.name = strcmp(path, "-") ? path : "standard input",
		.tree = calltree_new(),
		.other = calltree_new(),
	};
	return input->tree && input->other ? 0 : diag_fail(message, -ENOMEM, "out of memory");
}

static int open_file(const struct input *input, FILE **in, struct diag_message *message)
{
	*in = strcmp(input->path, "-") ? fopen(input->path, "re") : stdin;
	if (*in)
		return 0;
	return diag_fail(message, -errno, "cannot open '%s': %s", input->name, strerror(errno));
}

static int finish(struct input *input, const struct input_request *request,
	struct diag_message *message)
{
	int error = calltree_finish(input->tree);

	if (!error)
		error = calltree_finish(input->other);
	for (unsigned i = 0; !error && i < INPUT_TYPES_MAX && input->kept[i]; i++)
		error = calltree_finish(input->kept[i]);
	if (error)
		return diag_fail(
			message, error, "cannot read '%s': %s", input->name, strerror(-error));
	report(input, request);
	return 0;
}

int input_read(struct input *input, const char *path, const struct input_request *request,
	struct diag_message *message)
{
	FILE *in;
	int error;

	if (job_is(path))
		return job_read(input, path,
			request->sample_type &&
					!strcmp(request->sample_type, PPROF_WAITING_TIME)
				? CALLTREE_TIMES_WAITS
				: CALLTREE_TIMES_CPU,
			message);
	error = begin(input, path, message);
	if (!error && store_address_is(path)) {
		error = fleet_read(input->tree, path, &input->facts, message);
		return error ? error : finish(input, request, message);
	}
	if (!error && !may_hold_stacks(format_by_ending(path)))
		error = refuse_picture(input, message);
	if (!error)
		error = open_file(input, &in, message);
	if (error)
		return error;
	if (in != stdin && perf_data_is(in))
		error = perf_data_read(
			&input->tree, path, request->sample_type, &input->facts, message);
	else
		error = read_any(input, in, request, message);
	if (in != stdin)
		fclose(in);
	return error ? error : finish(input, request, message);
}

int input_read_versions(
	struct input inputs[FOLDED_VERSIONS], const char *path, struct diag_message *message)
{
	struct lines lines;
	FILE *in;
	int error = begin(&inputs[0], path, message), other = begin(&inputs[1], path, message);

	if (!error)
		error = other ? other : open_file(&inputs[0], &in, message);
	if (error)
		return error;
	lines = (struct lines){.in = in};
	error = folded_read(
		inputs[0].tree, inputs[1].tree, &lines, inputs[0].name, &inputs[0].bad, message);
	lines_release(&lines);
	if (in != stdin)
		fclose(in);
	inputs[1].bad.stacks = inputs[0].bad.stacks; /* counted once for both */
	for (int i = 0; !error && i < FOLDED_VERSIONS; i++)
		error = finish(&inputs[i], &(struct input_request){0}, message);
	return error;
}

void input_release(struct input *input)
{
	input_facts_release(&input->facts);
	for (unsigned i = 0; i < INPUT_TYPES_MAX; i++)
		calltree_free(input->kept[i]);
	calltree_free(input->other);
	calltree_free(input->tree);
	*input = (struct input){.path = NULL};
}
