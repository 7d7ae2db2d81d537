/* SPDX-License-Identifier: MIT */
/*
 * Write a call tree, or two trees in two kinds of time, as a pprof profile, compressed or not.
 * Frames become functions and locations, modules become mappings, and equal stacks of one thread
 * become one sample.
 *
 * In pprof, a location is an address with a function and the functions inlined there, each with its
 * line. A location has no address here if the frame has no mapping, as in trees of formats without
 * addresses. libprof/aggregator/pprof.c writes profiles before names are known. Both use the writer
 * in libprof/pprof/ for numbers, texts and messages.
 */
#include "cli/formats/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/formats/timeline.h"
#include "cli/profile/picture_names.h"
#include "libprof/pprof/writer.h"
#include "render/array.h"
#include "render/spread.h"

#define GZIP_WINDOW (15 + 16)
/* a count, two measures, two kinds of waiting, the values that are kept */
#define VALUES_MAX (5 + INPUT_TYPES_MAX)

/* Stacks in one kind of time, and the name of this kind. */
struct measure {
	const struct calltree *tree;
	const char *name;
};

/* Interned pairs of numbers, numbered from 1; 0 is none. */
struct pairs {
	struct pages_account account;
	struct pages items; /* uint64_t */
	uint32_t count;
	struct lookup lookup;
};

/* The profile's numbers for a frame. */
struct frame_numbers {
	uint32_t mapping, function, line;
	uint64_t address;
};

/* The addresses of a mapping in the profile. */
struct range {
	uint64_t start, end;
};

struct profile_writer {
	const struct picture_options *options;
	struct pprof_writer writer;
	struct texts modules; /* index + 1 is the number of the mapping */
	struct range *ranges; /* owned; [index in @modules] */
	uint32_t range_count, range_room;
	struct pairs named; /* pairs (name, file) of text numbers */
	/* pairs (number in @named, start line); the number of a pair is that of its function */
	struct pairs functions;
	/*
	 * The values of a sample are, in this order, its count (unless all types are times), the
	 * time of each measure, and waiting and ready time if the first measure has waits; then
	 * the values that are kept, whose trees follow the @measure_count measures.
	 */
	struct measure measures[2 + INPUT_TYPES_MAX];
	/* name of the measure that readers show first */
	const char *shown;
	unsigned measure_count, kept_count, values;
	bool has_counts, has_waits;
	const struct calltree *tree; /* of the current measure */
	unsigned measure;
	/* Of @tree: */
	struct frame_numbers *numbers; /* [frame] */
	/* chains of inlined frames: pairs (chain of the outer frames, or 0; innermost frame) */
	struct pairs chains;
	uint32_t *chain_of; /* [node] -> its chain */
	/* [chain] -> location, 0 if no sample needs one */
	uint32_t *location_of;
	int error;
	FILE *out;
	z_stream *packer; /* NULL: not compressed */
};

/* ---- sinks ----------------------------------------------------------------------------------- */

/* protobuf_sink */
static int write_plain(void *context, const void *bytes, size_t count)
{
	const struct profile_writer *w = context;

	errno = 0;
	if (fwrite(bytes, 1, count, w->out) == count)
		return 0;
	return errno ? -errno : -EIO;
}

static int deflate_bytes(struct profile_writer *w, const void *bytes, size_t count, int flush)
{
	uint8_t piece[16384];
	int status = Z_OK, error = 0;

	w->packer->next_in = (uint8_t *)(uintptr_t)bytes;
	w->packer->avail_in = (uInt)count;
	do {
		w->packer->next_out = piece;
		w->packer->avail_out = sizeof(piece);
		status = deflate(w->packer, flush);
		error = write_plain(w, piece, sizeof(piece) - w->packer->avail_out);
	} while (!error && status == Z_OK && !w->packer->avail_out);
	return error;
}

/* protobuf_sink */
static int write_packed(void *context, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	int error = 0;

	while (count && !error) {
		size_t part = count < UINT32_MAX / 2 ? count : UINT32_MAX / 2;

		error = deflate_bytes(context, at, part, Z_NO_FLUSH);
		at += part;
		count -= part;
	}
	return error;
}

/* ---- types, facts ---------------------------------------------------------------------------- */

/* Order the kinds of time: the clock's first, then the virtual machine's. @tree may be either. */
static void find_measures(struct profile_writer *w, const struct calltree *tree)
{
	const struct picture_options *options = w->options;
	const char *name = options->type_name ? options->type_name
		: options->period_ns == 1     ? "time"
					      : "cpu";
	struct measure own = {tree, name}, other = {options->other, options->other_name};
	bool is_second = options->other && !strcmp(name, PPROF_MACHINE_TIME);

	w->measure_count = options->other && options->period_ns ? 2 : 1;
	w->measures[is_second] = own;
	w->measures[!is_second] = other;
	w->has_counts = options->period_ns != 1;
	w->has_waits = options->period_ns && calltree_waits(w->measures[0].tree);
	w->kept_count =
		options->kept_count < INPUT_TYPES_MAX ? options->kept_count : INPUT_TYPES_MAX;
	for (unsigned i = 0; i < w->kept_count; i++)
		w->measures[w->measure_count + i] =
			(struct measure){options->kept[i].tree, options->kept[i].name};
	w->values = w->has_counts + (options->period_ns ? w->measure_count : 0) +
		    (w->has_waits ? 2 : 0) + w->kept_count;
	w->shown = name;
}

static void put_types(struct profile_writer *w)
{
	const struct picture_options *options = w->options;
	const char *count = options->count_name && *options->count_name
		? options->count_name : "samples";
	bool has_type = !options->period_ns && options->type_name && *options->type_name;
	const char *name = has_type ? options->type_name : count;

	/* A unit that is called like its type is a count. */
	if (w->has_counts)
		pprof_put_sample_type(&w->writer, name,
			has_type && strcmp(count, name) ? count
			: strcmp(count, "bytes")	? "count"
							: "bytes");
	for (unsigned i = 0; options->period_ns && i < w->measure_count; i++)
		pprof_put_sample_type(&w->writer, w->measures[i].name, "nanoseconds");
	if (w->has_waits) {
		pprof_put_sample_type(&w->writer, PPROF_WAITING_TIME, "nanoseconds");
		pprof_put_sample_type(&w->writer, PPROF_READY_TIME, "nanoseconds");
	}
	for (unsigned i = 0; i < w->kept_count; i++)
		pprof_put_sample_type(&w->writer, options->kept[i].name, options->kept[i].unit);
	if (options->period_ns > 1)
		pprof_put_period(&w->writer, w->shown, options->period_ns);
	else if (w->values > 1)
		pprof_put_default_type(&w->writer, w->shown);
}

static void put_facts(struct profile_writer *w)
{
	const struct picture_options *options = w->options;

	pprof_put_times(&w->writer, options->created_s, options->duration_ns);
	pprof_put_title(&w->writer, options->title ? options->title : "");
	pprof_put_filters(&w->writer, options->filters ? options->filters : "");
	if (options->spread)
		pprof_put_runs(&w->writer, spread_runs(options->spread));
	for (uint32_t i = 0; i < options->mark_count; i++) {
		const struct picture_mark *mark = &options->marks[i];

		pprof_put_mark(&w->writer, mark->time_ns, mark->tid, mark->text);
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * Returns the addresses for @mapping (NULL: none). Most libraries have the same addresses in their
 * files, but pprof finds instructions by their address alone, so a mapping whose addresses are
 * taken is moved behind all others.
 */
static struct range range_of(const struct profile_writer *w, const struct calltree_mapping *mapping)
{
	struct range range = {0, 0};
	uint64_t highest = 0;
	bool is_taken = false;

	if (!mapping)
		return range;
	range = (struct range){mapping->start, mapping->end};
	for (uint32_t i = 0; i < w->range_count; i++) {
		is_taken |= range.start < w->ranges[i].end && w->ranges[i].start < range.end;
		if (w->ranges[i].end > highest)
			highest = w->ranges[i].end;
	}
	if (is_taken)
		range = (struct range){highest, highest + (range.end - range.start)};
	return range.end > range.start ? range : (struct range){0, 0};
}

static void put_mapping(
	struct profile_writer *w, const char *module, const struct calltree_mapping *mapping)
{
	struct range range = range_of(w, mapping);

	if (ARRAY_GROW(w->ranges, w->range_count, w->range_room, 64)) {
		w->error = -ENOMEM;
		return;
	}
	w->ranges[w->range_count++] = range;
	pprof_put_mapping(&w->writer, &(struct pprof_mapping_fields){.start = range.start,
					      .limit = range.end,
					      .offset = mapping ? mapping->offset : 0,
					      .file = mapping ? mapping->path : module,
					      .build_id = mapping ? mapping->build_id : "",
					      .has_functions = 1});
}

/* Find or write the mapping of @frame. Returns 0 for no module. */
static uint32_t mapping_of(struct profile_writer *w, const struct calltree_frame *frame)
{
	const struct calltree_mapping *mapping = frame->mapping;
	uint32_t known = w->modules.count, number = 0;
	char tail[PPROF_NAME_BYTES + 32] = "";

	if (!*frame->module || frame->kind == CALLTREE_WAIT || w->error)
		return 0;
	if (mapping)
		snprintf(tail, sizeof(tail), "\n%s %" PRIx64, mapping->build_id, mapping->offset);
	w->error = texts_add(
		&w->modules, mapping ? mapping->path : frame->module, tail, strlen(tail), &number);
	if (!w->error && number == known)
		put_mapping(w, frame->module, mapping);
	return number + 1;
}

/*
 * Write the mapping of a frame in the module of main(), or else of the title, if there is one.
 * pprof expects it as the first mapping.
 */
static void put_program(struct profile_writer *w)
{
	const char *title = w->options->title ? w->options->title : "";
	size_t bytes = strcspn(title, " :");
	const char *slash = memrchr(title, '/', bytes);
	const struct calltree_frame *program = NULL;

	if (slash) {
		bytes -= (size_t)(slash + 1 - title);
		title = slash + 1;
	}
	for (uint32_t i = 0; i < calltree_frames(w->measures[0].tree); i++) {
		const struct calltree_frame *frame = calltree_frame_at(w->measures[0].tree, i);

		if (!strcmp(frame->name, "main") && *frame->module) {
			program = frame;
			break;
		}
		if (*frame->module && !strncmp(frame->module, title, bytes) &&
			!frame->module[bytes] && (!program || frame->mapping))
			program = frame;
	}
	if (program)
		mapping_of(w, program);
}

static uint32_t hash_pair(const void *pairs, uint32_t number)
{
	return lookup_hash(((const uint64_t *)((const struct pairs *)pairs)->items.at)[number - 1]);
}

/* Find or add the pair (@left, @right). Returns its number, or 0 if *@error is or was set. */
static uint32_t pairs_add(struct pairs *pairs, uint32_t left, uint32_t right, int *error)
{
	uint64_t pair = (uint64_t)left << 32 | right;
	struct lookup_probe probe;
	uint32_t number;

	pairs->account.limit_bytes = SIZE_MAX;
	if (!*error)
		*error = lookup_reserve(&pairs->lookup, &pairs->account, 1, hash_pair, pairs);
	if (!*error)
		*error = pages_reserve(&pairs->account, &pairs->items,
			(pairs->count + (size_t)1) * sizeof(pair));
	if (*error)
		return 0;
	probe = lookup_begin(&pairs->lookup, lookup_hash(pair));
	while ((number = lookup_next(&pairs->lookup, &probe)))
		if (((const uint64_t *)pairs->items.at)[number - 1] == pair)
			return number;
	((uint64_t *)pairs->items.at)[pairs->count++] = pair;
	lookup_put(&pairs->lookup, &probe, pairs->count);
	return pairs->count;
}

static void pairs_at(const struct pairs *pairs, uint32_t number, uint32_t *left, uint32_t *right)
{
	uint64_t pair = ((const uint64_t *)pairs->items.at)[number - 1];

	*left = (uint32_t)(pair >> 32);
	*right = (uint32_t)pair;
}

static void pairs_release(struct pairs *pairs)
{
	pages_release(&pairs->account, &pairs->items);
	pages_release(&pairs->account, &pairs->lookup.slots);
	*pairs = (struct pairs){.count = 0};
}

/* Returns the address of @frame, whose mapping is at @range in the profile; 0 if it has none. */
static uint64_t address_of(const struct calltree_frame *frame, struct range range)
{
	uint64_t into = frame->offset - frame->mapping->offset;

	return into < range.end - range.start ? range.start + into : 0;
}

/* Write @frame's mapping and function. A virtual machine's frame has file and line in its name. */
static struct frame_numbers number_frame(
	struct profile_writer *w, const struct calltree_frame *frame)
{
	const char *name = *frame->name ? frame->name : "[empty]";
	struct machine_name parts = {.name_bytes = SIZE_MAX,
		.file = frame->file,
		.file_bytes = SIZE_MAX,
		.line = frame->line};
	uint32_t text, file, named, start_line, known = w->functions.count;
	struct frame_numbers numbers;

	if (machine_name_is_of(frame))
		machine_name_split(name, &parts);
	text = pprof_put_text_part(&w->writer, name, parts.name_bytes);
	file = pprof_put_text_part(&w->writer, parts.file, parts.file_bytes);
	named = pairs_add(&w->named, text, file, &w->error);
	start_line = machine_name_is_of(frame) ? parts.line : frame->start_line;
	numbers = (struct frame_numbers){
		.mapping = mapping_of(w, frame),
		.function = pairs_add(&w->functions, named, start_line, &w->error),
		.line = parts.line,
	};
	if (frame->mapping && numbers.mapping && !w->error)
		numbers.address = address_of(frame, w->ranges[numbers.mapping - 1]);
	if (numbers.function > known)
		pprof_put_function(&w->writer, text, text, file, start_line);
	return numbers;
}

static void put_functions(struct profile_writer *w)
{
	for (uint32_t i = 0; i < calltree_frames(w->tree) && !w->error; i++)
		w->numbers[i] = number_frame(w, calltree_frame_at(w->tree, i));
}

/* ---- locations ------------------------------------------------------------------------------- */

/* Is @node's function inlined, and so at the address of its parent? */
static bool is_inlined(const struct calltree *tree, uint32_t node)
{
	const struct calltree_node *at = calltree_node_at(tree, node);

	return at->parent != CALLTREE_ROOT &&
	       calltree_frame_at(tree, at->frame)->kind == CALLTREE_INLINE;
}

/* Find each node's chain: its frame and those it is inlined into, out to the first not inlined. */
static void find_chains(struct profile_writer *w)
{
	for (uint32_t i = 1; i < calltree_nodes(w->tree) && !w->error; i++) {
		const struct calltree_node *node = calltree_node_at(w->tree, i);
		uint32_t in = is_inlined(w->tree, i) ? w->chain_of[node->parent] : 0;

		w->chain_of[i] = pairs_add(&w->chains, in, node->frame, &w->error);
	}
}

static uint32_t put_location(struct profile_writer *w, uint32_t chain)
{
	uint32_t frame, in, last = chain, number;

	for (pairs_at(&w->chains, last, &in, &frame); in; pairs_at(&w->chains, last, &in, &frame))
		last = in;
	number = pprof_begin_location(
		&w->writer, w->numbers[frame].mapping, w->numbers[frame].address);
	for (in = chain; in;) {
		pairs_at(&w->chains, in, &in, &frame);
		pprof_location_line(&w->writer, w->numbers[frame].function, w->numbers[frame].line);
	}
	pprof_end_location(&w->writer);
	return number;
}

/* Write the locations that samples need. A chain that only begins a longer chain needs none. */
static void put_locations(struct profile_writer *w)
{
	for (uint32_t i = 1; i < calltree_nodes(w->tree); i++) {
		const struct calltree_node *node = calltree_node_at(w->tree, i);
		uint32_t ends[] = {node->self ? w->chain_of[i] : 0,
			is_inlined(w->tree, i) ? 0 : w->chain_of[node->parent]};

		for (unsigned end = 0; end < 2; end++)
			if (ends[end] && !w->location_of[ends[end]])
				w->location_of[ends[end]] = put_location(w, ends[end]);
	}
}

/* ---- samples --------------------------------------------------------------------------------- */

static int by_node_then_thread(const void *left, const void *right)
{
	const struct timeline_share *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/*
 * Fill the values and the wait label of @share. Waits do not add to the count, because they were
 * not sampled. The second measure does not either: its samples cannot be added to those of the
 * first.
 */
static void value_share(const struct profile_writer *w, const struct timeline_share *share,
	uint64_t values[VALUES_MAX], struct pprof_labels *labels)
{
	uint64_t period_ns = w->options->period_ns;
	const struct calltree_frame *frame = NULL;
	unsigned time = w->has_counts + w->measure;

	if (w->measure >= w->measure_count) {
		values[w->values - w->kept_count + w->measure - w->measure_count] = share->weight;
		return;
	}
	if (share->node != CALLTREE_ROOT)
		frame = calltree_frame_at(w->tree, calltree_node_at(w->tree, share->node)->frame);
	if (frame && frame->kind == CALLTREE_WAIT && w->has_waits) {
		bool is_ready = !strcmp(frame->module, "cpu");

		time = w->has_counts + w->measure_count + is_ready;
		labels->wait = is_ready ? NULL : frame->module;
	} else if (!w->measure) {
		values[0] = share->weight;
	}
	if (period_ns)
		values[time] = share->weight * period_ns;
}

static void put_sample(struct profile_writer *w, const struct timeline_share *share)
{
	uint64_t values[VALUES_MAX] = {0};
	struct pprof_labels labels = {.thread = NULL};

	if (share->thread != TIMELINE_NO_THREAD)
		labels = (struct pprof_labels){
			.process = calltree_process_at(w->tree, share->thread),
			.thread = calltree_thread_at(w->tree, share->thread),
		};
	value_share(w, share, values, &labels);
	pprof_begin_sample(&w->writer);
	for (uint32_t node = share->node; node != CALLTREE_ROOT;) {
		pprof_sample_location(&w->writer, w->location_of[w->chain_of[node]]);
		while (is_inlined(w->tree, node))
			node = calltree_node_at(w->tree, node)->parent;
		node = calltree_node_at(w->tree, node)->parent;
	}
	pprof_end_sample(&w->writer, values, w->values, &labels);
}

static int put_samples(struct profile_writer *w)
{
	struct timeline_share *shares = NULL;
	size_t count = 0;
	int error = timeline_shares(w->tree, &shares, &count);

	if (count)
		qsort(shares, count, sizeof(*shares), by_node_then_thread);
	for (size_t i = 0; i < count; i++) {
		struct timeline_share whole = shares[i];

		while (i + 1 < count && !by_node_then_thread(&whole, &shares[i + 1]))
			whole.weight += shares[++i].weight;
		put_sample(w, &whole);
	}
	free(shares);
	return error;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_measure(struct profile_writer *w, unsigned measure)
{
	const struct calltree *tree = w->measures[measure].tree;
	size_t nodes = calltree_nodes(tree);

	w->measure = measure;
	w->tree = tree;
	w->numbers = calloc(calltree_frames(tree) + (size_t)1, sizeof(*w->numbers));
	w->chain_of = calloc(nodes, sizeof(*w->chain_of));
	w->location_of = calloc(nodes + 1, sizeof(*w->location_of));
	if (!w->numbers || !w->chain_of || !w->location_of)
		w->error = -ENOMEM;
	if (!w->error)
		put_functions(w);
	if (!w->error)
		find_chains(w);
	if (!w->error) {
		put_locations(w);
		w->error = put_samples(w);
	}
	free(w->numbers);
	free(w->chain_of);
	free(w->location_of);
	pairs_release(&w->chains);
}

static int write_profile(struct profile_writer *w, const struct calltree *tree, protobuf_sink *sink)
{
	int error;

	pprof_writer_begin(&w->writer, sink, w);
	find_measures(w, w->options->fine ? w->options->fine : tree);
	put_types(w);
	put_facts(w);
	put_program(w);
	for (unsigned i = 0; !w->error && i < w->measure_count + w->kept_count; i++)
		put_measure(w, i);
	error = pprof_writer_end(&w->writer);
	texts_release(&w->modules);
	free(w->ranges);
	pairs_release(&w->named);
	pairs_release(&w->functions);
	return w->error ? w->error : error;
}

int pprof_write(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct profile_writer w = {.options = options, .out = out};

	return write_profile(&w, tree, write_plain);
}

/* The gzip header has no name and time, so that equal profiles are equal files. */
int pprof_write_gz(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	z_stream packer = {.avail_in = 0};
	struct profile_writer w = {.options = options, .out = out, .packer = &packer};
	int error;

	if (deflateInit2(&packer, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 9,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	error = write_profile(&w, tree, write_packed);
	if (!error)
		error = deflate_bytes(&w, "", 0, Z_FINISH);
	deflateEnd(&packer);
	return error;
}
