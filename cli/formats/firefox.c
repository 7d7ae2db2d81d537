/* SPDX-License-Identifier: MIT */
/*
 * Write a call tree as tables of columns whose rows refer to each other by index: texts, sources,
 * resources, functions, frames (a function at a line), stacks (a frame and the index of its
 * caller's stack), and per thread samples. The row of a stack is the number of its tree node. The
 * root becomes a function "[all]", for weight that is on no stack.
 */
#include "cli/formats/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/quoted.h"
#include "cli/formats/timeline.h"
#include "libprof/pprof/writer.h"

/* The profiler's number for a resource that is a library. */
#define RESOURCE_LIBRARY "1"
#define NONE		 UINT32_MAX

/* Category and colour of a frame. Each category has the subcategory "Other" only. */
enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_GENERATED,
	CATEGORY_KERNEL,
	CATEGORY_WAITING
};

static const struct {
	const char *name, *color;
} categories[] = {
	[CATEGORY_OTHER] = {"Other", "grey"},
	[CATEGORY_USER] = {"User", "yellow"},
	[CATEGORY_GENERATED] = {"Generated code", "lightblue"},
	[CATEGORY_KERNEL] = {"Kernel", "orange"},
	[CATEGORY_WAITING] = {"Waiting", "transparent"},
};

/* One function for all frames that differ only in their lines. */
struct function {
	uint32_t name, resource, source; /* indices; NONE: unknown */
};

struct firefox_writer {
	const struct picture_options *options;
	struct timeline timeline;
	struct texts texts, resources, sources;
	struct function *functions;
	uint32_t function_count;
	uint32_t *function_of; /* [frame] */
	bool has_times;
	FILE *out;
	int error;
};

/* ---- values and columns ---------------------------------------------------------------------- */

static void put_text(struct firefox_writer *w, const char *text)
{
	if (!w->error)
		w->error = quoted_put(w->out, text, SIZE_MAX, QUOTED_JSON);
}

/* Write a number, or the text @none in place of NONE. */
static void put_number(struct firefox_writer *w, uint64_t number, const char *none)
{
	if (number == NONE)
		fputs(none, w->out);
	else
		fprintf(w->out, "%" PRIu64, number);
}

/* Write nanoseconds as milliseconds, the profiler's unit. */
static void put_time(struct firefox_writer *w, uint64_t ns)
{
	fprintf(w->out, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

/* Write a column with the same value in all @rows. */
static void put_constant(
	struct firefox_writer *w, const char *name, size_t rows, const char *value)
{
	fprintf(w->out, ",\"%s\":[", name);
	for (size_t i = 0; i < rows; i++)
		fprintf(w->out, "%s%s", i ? "," : "", value);
	putc(']', w->out);
}

/* Write a column with @value(row) in each row. */
static void put_column(struct firefox_writer *w, const char *name, size_t rows,
	uint64_t (*value)(const struct firefox_writer *w, size_t row), const char *none)
{
	fprintf(w->out, ",\"%s\":[", name);
	for (size_t i = 0; i < rows; i++) {
		if (i)
			putc(',', w->out);
		put_number(w, value(w, i), none);
	}
	putc(']', w->out);
}

/* ---- functions ------------------------------------------------------------------------------- */

static uint32_t number_of(struct firefox_writer *w, struct texts *texts, const char *text)
{
	uint32_t number = NONE;

	if (*text && !w->error)
		w->error = texts_add(texts, text, "", 0, &number);
	return number;
}

static bool is_same_function(const struct calltree_frame *a, const struct calltree_frame *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name) && !strcmp(a->module, b->module) &&
	       !strcmp(a->file, b->file);
}

/* Number the functions. Frames of one function are neighbours, because by_rank sorts frames. */
static void find_functions(struct firefox_writer *w, const struct preorder *preorder)
{
	const struct calltree_frame *last = NULL;

	w->functions[w->function_count++] =
		(struct function){number_of(w, &w->texts, "[all]"), NONE, NONE};
	for (uint32_t i = 0; i < preorder->frames; i++) {
		uint32_t number = preorder->by_rank[i];
		const struct calltree_frame *frame =
			calltree_frame_at(w->timeline.tree, number);
		const char *module = frame->kind == CALLTREE_WAIT ? "" : frame->module;

		if (!last || !is_same_function(last, frame))
			w->functions[w->function_count++] = (struct function){
				number_of(w, &w->texts, *frame->name ? frame->name : "[empty]"),
				number_of(w, &w->resources, module),
				number_of(w, &w->sources, frame->file)};
		w->function_of[number] = w->function_count - 1;
		last = frame;
	}
}

/* Fill the tables. The file's stringArray gets w->texts, then w->resources, then w->sources. */
static int make_tables(struct firefox_writer *w)
{
	uint32_t frames = calltree_frames(w->timeline.tree);
	struct preorder preorder;
	int error = preorder_init(&preorder, w->timeline.tree);

	if (error)
		return error;
	w->functions = calloc((size_t)frames + 1, sizeof(*w->functions));
	w->function_of = calloc((size_t)frames + 1, sizeof(*w->function_of));
	if (w->functions && w->function_of)
		find_functions(w, &preorder);
	else
		w->error = -ENOMEM;
	preorder_release(&preorder);
	return w->error;
}

static uint64_t function_name(const struct firefox_writer *w, size_t row)
{
	return w->functions[row].name;
}

static uint64_t function_resource(const struct firefox_writer *w, size_t row)
{
	return w->functions[row].resource;
}

static uint64_t function_source(const struct firefox_writer *w, size_t row)
{
	return w->functions[row].source;
}

static void put_functions(struct firefox_writer *w)
{
	uint32_t rows = w->function_count;

	fprintf(w->out, "\"funcTable\":{\"length\":%" PRIu32, rows);
	put_column(w, "name", rows, function_name, "0");
	put_column(w, "resource", rows, function_resource, "-1");
	put_column(w, "source", rows, function_source, "null");
	put_constant(w, "isJS", rows, "false");
	put_constant(w, "relevantForJS", rows, "false");
	put_constant(w, "lineNumber", rows, "null");
	put_constant(w, "columnNumber", rows, "null");
	fputs("},\n", w->out);
}

/* ---- frames and stacks: row 0 is the root ---------------------------------------------------- */

static const struct calltree_frame *frame_of(const struct firefox_writer *w, size_t row)
{
	return row ? calltree_frame_at(w->timeline.tree, (uint32_t)row - 1) : NULL;
}

static uint64_t frame_function(const struct firefox_writer *w, size_t row)
{
	return row ? w->function_of[row - 1] : 0;
}

static uint64_t frame_line(const struct firefox_writer *w, size_t row)
{
	return row && frame_of(w, row)->line ? frame_of(w, row)->line : NONE;
}

static uint64_t frame_category(const struct firefox_writer *w, size_t row)
{
	switch (row ? frame_of(w, row)->kind : CALLTREE_SYNTHETIC) {
	case CALLTREE_NATIVE:
	case CALLTREE_INLINE:
	case CALLTREE_UNNAMED:
		return CATEGORY_USER;
	case CALLTREE_JIT:
		return CATEGORY_GENERATED;
	case CALLTREE_KERNEL:
		return CATEGORY_KERNEL;
	case CALLTREE_WAIT:
		return CATEGORY_WAITING;
	default:
		return CATEGORY_OTHER;
	}
}

static void put_frames(struct firefox_writer *w)
{
	size_t rows = (size_t)calltree_frames(w->timeline.tree) + 1;

	fprintf(w->out, "\"frameTable\":{\"length\":%zu", rows);
	put_column(w, "func", rows, frame_function, "0");
	put_column(w, "line", rows, frame_line, "null");
	put_column(w, "category", rows, frame_category, "0");
	put_constant(w, "subcategory", rows, "0");
	put_constant(w, "address", rows, "-1");
	put_constant(w, "inlineDepth", rows, "0");
	put_constant(w, "nativeSymbol", rows, "null");
	put_constant(w, "innerWindowID", rows, "null");
	put_constant(w, "column", rows, "null");
	fputs("},\n", w->out);
}

static uint64_t stack_frame(const struct firefox_writer *w, size_t row)
{
	return row ? calltree_node_at(w->timeline.tree, (uint32_t)row)->frame + 1 : 0;
}

static uint64_t stack_caller(const struct firefox_writer *w, size_t row)
{
	uint32_t parent =
		row ? calltree_node_at(w->timeline.tree, (uint32_t)row)->parent : CALLTREE_ROOT;

	return parent == CALLTREE_ROOT ? NONE : parent;
}

static void put_stacks(struct firefox_writer *w)
{
	uint32_t rows = calltree_nodes(w->timeline.tree);

	fprintf(w->out, "\"stackTable\":{\"length\":%" PRIu32, rows);
	put_column(w, "frame", rows, stack_frame, "0");
	put_column(w, "prefix", rows, stack_caller, "null");
	fputs("},\n", w->out);
}

/* ---- resources, sources, texts --------------------------------------------------------------- */

static uint64_t resource_name(const struct firefox_writer *w, size_t row)
{
	return w->texts.count + row;
}

static uint64_t source_name(const struct firefox_writer *w, size_t row)
{
	return w->texts.count + w->resources.count + row;
}

static void put_texts(struct firefox_writer *w, const struct texts *texts, bool is_first)
{
	for (uint32_t i = 0; i < texts->count; i++) {
		fputs(i || !is_first ? ",\n" : "\n", w->out);
		put_text(w, texts_at(texts, i));
	}
}

static void put_sources(struct firefox_writer *w)
{
	uint32_t resources = w->resources.count, sources = w->sources.count;

	fprintf(w->out, "\"resourceTable\":{\"length\":%" PRIu32, resources);
	put_column(w, "name", resources, resource_name, "0");
	put_constant(w, "lib", resources, "null");
	put_constant(w, "host", resources, "null");
	put_constant(w, "type", resources, RESOURCE_LIBRARY);
	fprintf(w->out, "},\n\"sources\":{\"length\":%" PRIu32, sources);
	put_column(w, "filename", sources, source_name, "0");
	put_constant(w, "id", sources, "null");
	put_constant(w, "startLine", sources, "1");
	put_constant(w, "startColumn", sources, "1");
	put_constant(w, "sourceMapURL", sources, "null");
	fputs("},\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]},\n\"stringArray\":[", w->out);
	put_texts(w, &w->texts, true);
	put_texts(w, &w->resources, false);
	put_texts(w, &w->sources, false);
	fputs("\n]", w->out);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Write a thread's names and ids. A thread without "(pid/tid)" is a process by itself. */
static void put_thread_names(struct firefox_writer *w, size_t begin, size_t number)
{
	const char *name = timeline_thread_name(&w->timeline, begin);
	const char *process = timeline_process_name(&w->timeline, begin);
	const char *numbers = strrchr(name, '(');
	unsigned pid, tid;
	char close = '\0';

	fputs("\"name\":", w->out);
	put_text(w, name);
	if (*process) {
		fputs(",\"processName\":", w->out);
		put_text(w, process);
	}
	if (numbers && sscanf(numbers, "(%9u/%9u%c", &pid, &tid, &close) == 3 && close == ')')
		fprintf(w->out, ",\"pid\":\"%u\",\"tid\":%u,\"isMainThread\":%s", pid, tid,
			pid == tid ? "true" : "false");
	else
		fprintf(w->out, ",\"pid\":\"[%zu]\",\"tid\":\"[%zu]\",\"isMainThread\":true",
			number, number);
}

/* Do the samples of the thread whose shares begin at index @begin have times? */
static bool has_times(const struct firefox_writer *w, size_t begin)
{
	return w->has_times && w->timeline.shares[begin].thread != TIMELINE_NO_THREAD;
}

/* Write times. If they are unknown, samples follow each other, and a count lasts 1 ms. */
static void put_times(struct firefox_writer *w, size_t begin, size_t end)
{
	uint64_t unit = w->options->period_ns ? w->options->period_ns : 1000000, sum = 0;
	bool is_known = has_times(w, begin);

	fputs(",\"time\":[", w->out);
	for (size_t i = begin; i < end; i++) {
		const struct timeline_share *share = &w->timeline.shares[i];

		if (i > begin)
			putc(',', w->out);
		put_time(w, is_known ? share->time_ns : sum);
		sum += share->weight * unit;
	}
	putc(']', w->out);
}

/*
 * Write the weights: times in milliseconds, or counts. For CPU time, also write `threadCPUDelta`,
 * the CPU time since the last sample: the weight, or 0 if the sample waits.
 */
static void put_weights(struct firefox_writer *w, size_t begin, size_t end)
{
	const struct picture_options *options = w->options;
	uint64_t period_ns = options->period_ns;
	bool is_cpu = period_ns && (options->type_name ? !strcmp(options->type_name, "cpu")
						       : period_ns > 1);
	const char *count = options->count_name ? options->count_name : "";

	fprintf(w->out, ",\"weightType\":\"%s\",\"weight\":[",
		period_ns ? "tracing-ms" : !strcmp(count, "bytes") ? "bytes" : "samples");
	for (size_t i = begin; i < end; i++) {
		if (i > begin)
			putc(',', w->out);
		if (period_ns)
			put_time(w, w->timeline.shares[i].weight * period_ns);
		else
			put_number(w, w->timeline.shares[i].weight, "");
	}
	putc(']', w->out);
	if (!is_cpu || !has_times(w, begin))
		return;
	fputs(",\"threadCPUDelta\":[", w->out);
	for (size_t i = begin; i < end; i++) {
		const struct timeline_share *share = &w->timeline.shares[i];

		fprintf(w->out, "%s%" PRIu64, i > begin ? "," : "",
			frame_category(w, stack_frame(w, share->node)) == CATEGORY_WAITING
				? 0 : share->weight * period_ns);
	}
	putc(']', w->out);
}

/* Write a thread. If it has no samples, write a sample of weight 0: the profiler needs one. */
static void put_thread(struct firefox_writer *w, size_t begin, size_t end, size_t number)
{
	fputs("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
	      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],", w->out);
	put_thread_names(w, begin, number);
	fputs(",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
	      "\"endTime\":[],\"phase\":[],\"category\":[]},\n", w->out);
	if (begin == end) {
		fputs("\"samples\":{\"length\":1,\"stack\":[null],\"time\":[0],"
		      "\"weightType\":\"samples\",\"weight\":[0]}}", w->out);
		return;
	}
	fprintf(w->out, "\"samples\":{\"length\":%zu,\"stack\":[", end - begin);
	for (size_t i = begin; i < end; i++)
		fprintf(w->out, "%s%" PRIu32, i > begin ? "," : "", w->timeline.shares[i].node);
	putc(']', w->out);
	put_times(w, begin, end);
	put_weights(w, begin, end);
	fputs("}}", w->out);
}

/* Write all threads, at least an empty one. Returns the index of the heaviest thread. */
static size_t put_threads(struct firefox_writer *w)
{
	uint64_t weight, most = 0;
	size_t end, number = 0, heaviest = 0;

	fputs("\"threads\":[", w->out);
	for (size_t i = 0; i < w->timeline.count; i = end, number++) {
		end = timeline_thread(&w->timeline, i, &weight);
		fputs(number ? ",\n" : "\n", w->out);
		put_thread(w, i, end, number);
		if (weight > most) {
			most = weight;
			heaviest = number;
		}
	}
	if (!number)
		put_thread(w, 0, 0, 0);
	fputs("\n],\n", w->out);
	return heaviest;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_meta(struct firefox_writer *w, size_t heaviest)
{
	const struct picture_options *options = w->options;

	fputs("\"meta\":{\"interval\":", w->out);
	put_time(w, options->period_ns ? options->period_ns : 1000000);
	fprintf(w->out, ",\"startTime\":%" PRId64 ",\"processType\":0,\"product\":",
		options->created_s * 1000);
	put_text(w, options->title ? options->title : "flamerun");
	fprintf(w->out, ",\"importedFrom\":\"flamerun " FLAMERUN_VERSION "\",\"stackwalk\":1,"
			"\"version\":30,\"preprocessedProfileVersion\":%d,"
			"\"symbolicated\":true,\"symbolicationNotSupported\":true,"
			"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
			"\"keepProfileThreadOrder\":true,\"initialSelectedThreads\":[",
		FIREFOX_VERSION);
	fprintf(w->out, "%zu],", heaviest);
	fputs("\"markerSchema\":[],\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
	      "\"threadCPUDelta\":\"ns\"},\n\"categories\":[", w->out);
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		fprintf(w->out,
			"%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", categories[i].name, categories[i].color);
	fputs("]}", w->out);
}

static void put_profile(struct firefox_writer *w)
{
	size_t heaviest;

	fputs("{\"libs\":[],\n\"shared\":{\n", w->out);
	put_functions(w);
	put_frames(w);
	put_stacks(w);
	put_sources(w);
	fputs("},\n", w->out);
	heaviest = put_threads(w);
	put_meta(w, heaviest);
	fputs("}\n", w->out);
}

int firefox_write(
	const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct firefox_writer w = {.options = options, .out = out};

	w.error = timeline_init(&w.timeline, tree, options, true);
	if (w.error)
		return w.error;
	for (size_t i = 0; i < w.timeline.count; i++)
		w.has_times |= w.timeline.shares[i].time_ns != 0;
	errno = 0;
	if (!make_tables(&w))
		put_profile(&w);
	if (!w.error && ferror(out))
		w.error = errno ? -errno : -EIO;
	texts_release(&w.texts);
	texts_release(&w.resources);
	texts_release(&w.sources);
	free(w.functions);
	free(w.function_of);
	timeline_release(&w.timeline);
	return w.error;
}
