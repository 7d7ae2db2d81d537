/* SPDX-License-Identifier: MIT */
/*
 * A call tree as a pprof profile, or two whose times are of two kinds: each frame is a function and
 * its location, each module a mapping, and what is equal in stack and thread one sample. Packed by
 * gzip on its way out, or not.
 *
 * Locations have no addresses: a frame of the tree is all of a function, whatever addresses samples
 * found in it, and a tree that was read or cut has none at all. One location for each address takes
 * a tree that keeps them apart. libprof/aggregator/pprof.c writes such profiles, before any names.
 * Both decide what is a function, a location, a sample; numbers, texts and messages are made by the
 * one writer of libprof/pprof/.
 */
#include "cli/formats/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/profile/picture_names.h"
#include "libprof/pprof/writer.h"

#define GZIP_WINDOW (15 + 16)
#define NO_THREAD   UINT32_MAX

/* Stacks, and which time theirs is. */
struct measure {
	const struct calltree *tree;
	const char *name;
};

struct profile_writer {
	const struct picture_options *options;
	struct pprof_writer writer;
	struct texts modules; /* their numbers + 1 are those of their mappings */
	/* Values of a sample: its count, unless all are times, then the time of each measure. */
	struct measure measures[2];
	const char *shown; /* the name of the one that readers show first */
	unsigned measure_count, values;
	bool has_counts;
	const struct calltree *tree; /* of the measure that is being written */
	unsigned measure;
	uint32_t locations; /* before those of this tree's frames */
	int error;
	FILE *out;
	z_stream *packer; /* NULL: plain */
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

/* What a clock counted, then what virtual machines told, whichever the tree is. */
static void find_measures(struct profile_writer *w, const struct calltree *tree)
{
	const struct picture_options *options = w->options;
	const char *name = options->time_name ? options->time_name
		: options->period_ns == 1     ? "time"
					      : "cpu";
	struct measure own = {tree, name}, other = {options->other, options->other_name};
	bool is_second = options->other && !strcmp(name, PPROF_MACHINE_TIME);

	w->measure_count = options->other && options->period_ns ? 2 : 1;
	w->measures[is_second] = own;
	w->measures[!is_second] = other;
	w->has_counts = options->period_ns != 1;
	w->values = w->has_counts + (options->period_ns ? w->measure_count : 0);
	w->shown = name;
}

static void put_types(struct profile_writer *w)
{
	const struct picture_options *options = w->options;
	const char *name = options->count_name && *options->count_name
		? options->count_name : "samples";

	if (w->has_counts)
		pprof_put_sample_type(
			&w->writer, name, strcmp(name, "bytes") ? "count" : "bytes");
	for (unsigned i = 0; options->period_ns && i < w->measure_count; i++)
		pprof_put_sample_type(&w->writer, w->measures[i].name, "nanoseconds");
	if (options->period_ns > 1)
		pprof_put_period(&w->writer, w->shown, options->period_ns);
}

static void put_facts(struct profile_writer *w)
{
	const struct picture_options *options = w->options;

	pprof_put_times(&w->writer, options->created_s, options->duration_ns);
	pprof_put_title(&w->writer, options->title ? options->title : "");
	for (uint32_t i = 0; i < options->mark_count; i++) {
		const struct picture_mark *mark = &options->marks[i];

		pprof_put_mark(&w->writer, mark->time_ns, mark->tid, mark->text);
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The mapping of @module, made when it is new; 0 for no module. */
static uint32_t mapping_of(struct profile_writer *w, const char *module)
{
	uint32_t known = w->modules.count, number = 0;

	if (!*module || w->error)
		return 0;
	w->error = texts_add(&w->modules, module, "", 0, &number);
	if (!w->error && number == known)
		pprof_put_mapping(&w->writer, &(struct pprof_mapping_fields){
			.file = module, .build_id = "", .has_functions = 1});
	return number + 1;
}

/* The first mapping is to be the program's: where main() is, or what the title begins with. */
static const char *program_module(const struct profile_writer *w)
{
	const char *title = w->options->title ? w->options->title : "";
	size_t bytes = strcspn(title, " :");
	const char *slash = memrchr(title, '/', bytes);
	const char *titled = "";

	if (slash) {
		bytes -= (size_t)(slash + 1 - title);
		title = slash + 1;
	}
	for (uint32_t i = 0; i < calltree_frames(w->measures[0].tree); i++) {
		const struct calltree_frame *frame = calltree_frame_at(w->measures[0].tree, i);

		if (!strcmp(frame->name, "main") && *frame->module)
			return frame->module;
		if (!strncmp(frame->module, title, bytes) && !frame->module[bytes])
			titled = frame->module;
	}
	return titled;
}

/* A virtual machine's function has its file and line in fields of their own. */
static void put_frame(struct profile_writer *w, const struct calltree_frame *frame)
{
	const char *name = *frame->name ? frame->name : "[empty]";
	struct machine_name parts = {.name_bytes = SIZE_MAX, .file = ""};
	uint32_t text, file, mapping, function;

	if (machine_name_is_of(frame))
		machine_name_split(name, &parts);
	text = pprof_put_text_part(&w->writer, name, parts.name_bytes);
	file = pprof_put_text_part(&w->writer, parts.file, parts.file_bytes);
	mapping = mapping_of(w, frame->module);
	function = pprof_put_function(&w->writer, text, text, file);
	pprof_put_location(&w->writer, mapping, 0, function, parts.line);
}

/* The location of frame N is number N + 1, behind those of the tree before. */
static void put_frames(struct profile_writer *w)
{
	for (uint32_t i = 0; i < calltree_frames(w->tree); i++)
		put_frame(w, calltree_frame_at(w->tree, i));
}

/* ---- samples --------------------------------------------------------------------------------- */

/* What one thread has of a node's own weight. */
struct share {
	uint32_t node;
	uint32_t thread; /* NO_THREAD: nobody's */
	uint64_t weight; /* > 0 */
};

static int by_node_then_thread(const void *left, const void *right)
{
	const struct share *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/*
 * What the tree's samples say, never more than the node has; the rest is nobody's. Into @shares,
 * which has a place for each sample and each node; @rest has a place for each node. Returns how
 * many it took.
 */
static size_t collect_shares(const struct calltree *tree, struct share *shares, uint64_t *rest)
{
	uint32_t nodes = calltree_nodes(tree);
	size_t count = 0;

	for (uint32_t i = 0; i < nodes; i++)
		rest[i] = calltree_node_at(tree, i)->self;
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		uint64_t weight = rest[sample->node];

		if (weight > sample->weight)
			weight = sample->weight;
		rest[sample->node] -= weight;
		if (weight)
			shares[count++] = (struct share){sample->node, sample->thread, weight};
	}
	for (uint32_t i = 0; i < nodes; i++)
		if (rest[i])
			shares[count++] = (struct share){i, NO_THREAD, rest[i]};
	return count;
}

static void put_sample(struct profile_writer *w, const struct share *share)
{
	uint64_t period_ns = w->options->period_ns, values[3] = {0};
	const char *thread = share->thread == NO_THREAD
		? NULL : calltree_thread_at(w->tree, share->thread);

	/* Counts of both would be a sum of what cannot be added. */
	if (!w->measure)
		values[0] = share->weight;
	if (period_ns)
		values[w->has_counts + w->measure] = share->weight * period_ns;
	pprof_begin_sample(&w->writer);
	for (uint32_t node = share->node; node != CALLTREE_ROOT;
		node = calltree_node_at(w->tree, node)->parent)
		pprof_sample_location(&w->writer,
			w->locations + calltree_node_at(w->tree, node)->frame + 1);
	pprof_end_sample(&w->writer, values, w->values, thread ? thread : "", 0);
}

static int put_samples(struct profile_writer *w)
{
	uint32_t nodes = calltree_nodes(w->tree);
	uint64_t *rest = calloc(nodes, sizeof(*rest));
	struct share *shares = calloc(calltree_samples(w->tree) + nodes, sizeof(*shares));
	int error = rest && shares ? 0 : -ENOMEM;
	size_t count = error ? 0 : collect_shares(w->tree, shares, rest);

	free(rest);
	if (count)
		qsort(shares, count, sizeof(*shares), by_node_then_thread);
	for (size_t i = 0; i < count; i++) {
		struct share whole = shares[i];

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
	w->measure = measure;
	w->tree = w->measures[measure].tree;
	put_frames(w);
	if (!w->error)
		w->error = put_samples(w);
	w->locations += calltree_frames(w->tree);
}

static int write_profile(struct profile_writer *w, const struct calltree *tree, protobuf_sink *sink)
{
	int error;

	pprof_writer_begin(&w->writer, sink, w);
	find_measures(w, tree);
	put_types(w);
	put_facts(w);
	mapping_of(w, program_module(w));
	for (unsigned i = 0; !w->error && i < w->measure_count; i++)
		put_measure(w, i);
	error = pprof_writer_end(&w->writer);
	texts_release(&w->modules);
	return w->error ? w->error : error;
}

int pprof_write(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct profile_writer w = {.options = options, .out = out};

	return write_profile(&w, tree, write_plain);
}

/* Without name and time, so that equal profiles are equal files. */
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
