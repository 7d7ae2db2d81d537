/* SPDX-License-Identifier: MIT */
/*
 * Convert a profile to pprof: segments of modules become mappings, distinct frames become
 * locations, announced code becomes functions, and each stack of a thread becomes a sample.
 */
#include "libprof/aggregator/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "libprof/profile/profile.h"
#include "libprof/aggregator/replace_file.h"
#include "libprof/pprof/writer.h"
#include "libprof/waits/wait_leaf.h"

/* State of one conversion. Its memory is not counted against the profile's limit. */
struct writing {
	const struct flameprof_profile *profile;
	struct flameprof_profile_summary info;
	struct pprof_writer writer;
	struct pages_account account;
	struct pages first_mapping; /* uint32_t by module */
	uint32_t generated_mapping, machine_mapping;
	/*
	 * Distinct frames are numbered; a frame's number is the number of its location. `nodes` is
	 * an array of uint32_t, by frame number: the first node of the call tree that has the
	 * frame. `numbers` is an array of uint32_t, by node: the number of the node's frame.
	 */
	struct pages nodes;
	struct pages numbers;
	struct lookup frames;
	uint32_t unsampled, no_stack; /* locations */
	/*
	 * Index of each kind of time in a sample's values, 0 if absent; `values` is the number of
	 * values.
	 */
	unsigned waiting, ready, machine, values;
	int descriptor;
};

/* protobuf_sink */
static int write_whole(void *context, const void *bytes, size_t count)
{
	const struct writing *w = context;

	for (const char *at = bytes; count;) {
		ssize_t n = write(w->descriptor, at, count);

		if (n > 0) {
			at += n;
			count -= (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			return n ? -errno : -EIO;
		}
	}
	return 0;
}

/* ---- mappings and functions ------------------------------------------------------------------ */

/*
 * Write one mapping per executable segment of the module, or one for the whole module if its
 * segments are unknown.
 */
static void write_module(struct writing *w, uint32_t index)
{
	const struct names_module *module = names_module(&w->profile->names, index);
	int is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0;
	char hex[2 * WIRE_BUILD_ID_MAX + 1] = "";
	struct pprof_mapping_fields fields = {
		.start = module->start,
		.limit = module->end,
		.file = is_vdso ? "[vdso]" : names_string(&w->profile->names, module->path),
		.build_id = hex,
	};
	uint32_t *first = (uint32_t *)w->first_mapping.at + index;

	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
	if (!module->segments)
		*first = pprof_put_mapping(&w->writer, &fields);
	for (uint32_t i = 0; i < module->segments; i++) {
		uint32_t mapping;

		fields.start = module->segment[i].start;
		fields.limit = module->segment[i].end;
		fields.offset = module->segment[i].file_offset;
		mapping = pprof_put_mapping(&w->writer, &fields);
		*first = i ? *first : mapping;
	}
}

/* Write the program's own mappings first, as pprof requires. */
static void write_modules(struct writing *w)
{
	const struct names *names = &w->profile->names;

	for (int is_main = 1; is_main >= 0; is_main--)
		for (uint32_t i = 0; i < names->module_count; i++)
			if (is_main == !!(names_module(names, i)->flags & WIRE_MODULE_MAIN))
				write_module(w, i);
}

/*
 * Write announced code as functions with the same numbers as in the catalogue, one mapping around
 * all generated code, and one mapping for functions of virtual machines. system_name stays empty,
 * because readers demangle a name that equals its system_name as C++.
 */
static void write_announced(struct writing *w)
{
	const struct names *names = &w->profile->names;
	struct pprof_mapping_fields around = {.start = UINT64_MAX, .file = PPROF_GENERATED_FILE,
		.build_id = "", .has_functions = 1};
	uint32_t machine_functions = 0;

	for (uint32_t i = 0; i < names->code_count; i++) {
		const struct names_code *code = names_code(names, i);

		pprof_put_function(&w->writer,
			pprof_put_text(&w->writer, names_string(names, code->name)), 0,
			pprof_put_text(&w->writer, names_file(names, code->file)), code->line);
		if (names_code_is_wait(code))
			continue;
		if (names_code_is_function(code)) {
			machine_functions++;
			continue;
		}
		if (code->start < around.start)
			around.start = code->start;
		if (code->start + code->bytes > around.limit)
			around.limit = code->start + code->bytes;
	}
	if (around.limit)
		w->generated_mapping = pprof_put_mapping(&w->writer, &around);
	if (machine_functions)
		w->machine_mapping = pprof_put_mapping(&w->writer,
			&(struct pprof_mapping_fields){
				.file = PPROF_MACHINE_FILE, .build_id = "", .has_functions = 1});
}

/* ---- locations ------------------------------------------------------------------------------- */

static uint64_t frame_at(const struct writing *w, uint32_t number)
{
	uint32_t node = ((const uint32_t *)w->nodes.at)[number];

	return profile_node_frame(profile_node_at(w->profile, node));
}

/* lookup_hash_fn */
static uint32_t hash_frame(const void *owner, uint32_t number)
{
	return lookup_hash(frame_at(owner, number));
}

/*
 * Returns the number of @node's frame: a new number if no earlier node has the frame. The caller
 * has reserved room.
 */
static uint32_t number_frame(struct writing *w, uint32_t node)
{
	uint64_t frame = profile_node_frame(profile_node_at(w->profile, node));
	struct lookup_probe probe = lookup_begin(&w->frames, lookup_hash(frame));
	uint32_t number;

	while ((number = lookup_next(&w->frames, &probe)))
		if (frame_at(w, number) == frame)
			return number;
	number = w->frames.count + 1;
	((uint32_t *)w->nodes.at)[number] = node;
	lookup_put(&w->frames, &probe, number);
	return number;
}

/* Number distinct frames in the order of their nodes. Returns 0, or -errno without memory. */
static int number_frames(struct writing *w)
{
	size_t bytes = (w->profile->node_count + 1ULL) * sizeof(uint32_t);
	int error = pages_reserve(&w->account, &w->numbers, bytes);

	if (!error)
		error = pages_reserve(&w->account, &w->nodes, bytes);
	for (uint32_t node = 1; !error && node <= w->profile->node_count; node++) {
		error = lookup_reserve(&w->frames, &w->account, 1, hash_frame, w);
		if (!error)
			((uint32_t *)w->numbers.at)[node] = number_frame(w, node);
	}
	return error;
}

/* Returns the mapping of @address in module @index, or 0 if no segment contains it. */
static uint32_t mapping_of(const struct writing *w, uint32_t index, uint64_t address)
{
	const struct names_module *module = names_module(&w->profile->names, index);
	uint32_t first = ((const uint32_t *)w->first_mapping.at)[index];

	if (!module->segments)
		return first;
	for (uint32_t i = 0; i < module->segments; i++)
		if (address >= module->segment[i].start && address < module->segment[i].end)
			return first + i;
	return 0;
}

/* Write a function that has no code, such as "[unsampled]". Returns its number. */
static uint32_t put_synthetic(struct writing *w, const char *name)
{
	return pprof_put_function(&w->writer, pprof_put_text(&w->writer, name), 0, 0, 0);
}

static void write_locations(struct writing *w)
{
	for (uint32_t i = 1; i <= w->frames.count; i++) {
		uint64_t word = frame_at(w, i);
		struct flameprof_frame frame = profile_frame(w->profile, word);
		uint32_t mapping = 0, function = 0;

		if (wire_frame_waits(word)) {
			function = names_find_code(&w->profile->names, WIRE_FRAME_ADDRESS(word));
		} else if (frame.name) {
			mapping = frame.address ? w->generated_mapping : w->machine_mapping;
			function = names_find_code(&w->profile->names, WIRE_FRAME_ADDRESS(word));
		} else if (frame.module != FLAMEPROF_NONE) {
			mapping = mapping_of(w, frame.module, frame.address);
		} else if (word == WIRE_FRAME_SIGNAL_HANDLER) {
			function = put_synthetic(w, "[signal handler]");
			frame.address = 0;
		}
		pprof_put_location(&w->writer, mapping, frame.address, function, frame.line);
	}
}

/* Write a location for stacks without frames. Returns its number. */
static uint32_t write_synthetic(struct writing *w, const char *name)
{
	return pprof_put_location(&w->writer, 0, 0, put_synthetic(w, name), 0);
}

/* ---- samples and the whole ------------------------------------------------------------------- */

#define VALUES_MAX 5u
#define CLOCK_TIME 1u

/*
 * @stack shows a wait. Returns the index, among a sample's values, of the time that it waited for:
 * w->ready or w->waiting. Stores the kind of the wait in @labels.
 */
static unsigned time_of_wait(
	const struct writing *w, const struct profile_stack *stack, struct pprof_labels *labels)
{
	uint64_t leaf = profile_node_frame(profile_node_at(w->profile, stack->node));

	if (WIRE_WAIT_CALL(leaf) == WIRE_WAIT_NO_CPU)
		return w->ready;
	labels->wait = wait_leaf_kind(leaf);
	return w->waiting;
}

static void write_sample(struct writing *w, const struct profile_stack *stack)
{
	const struct profile_thread *thread = profile_thread_at(w->profile, stack->thread);
	struct pprof_labels labels = {.thread = thread->name, .tid = thread->tid};
	uint64_t values[VALUES_MAX] = {0};
	unsigned time = CLOCK_TIME;

	if (stack->kind == WIRE_KIND_VM && w->machine)
		time = w->machine;
	if (stack->kind == WIRE_KIND_WAIT)
		time = time_of_wait(w, stack, &labels);
	/*
	 * Count only samples of the profile's clock, because counts of different kinds of time
	 * cannot be added.
	 */
	if (time == CLOCK_TIME)
		values[0] = stack->samples;
	values[time] = stack->weight * w->info.period_ns;
	pprof_begin_sample(&w->writer);
	for (uint32_t node = stack->node; node; node = profile_node_at(w->profile, node)->parent)
		if (!profile_is_hidden(w->profile, 0, node))
			pprof_sample_location(
				&w->writer, ((const uint32_t *)w->numbers.at)[node]);
	if (!stack->node)
		pprof_sample_location(&w->writer,
			stack->kind == WIRE_KIND_CREDIT ? w->unsampled : w->no_stack);
	pprof_end_sample(&w->writer, values, w->values, &labels);
}

/* Add a kind of time to the values of every sample. Returns its index. */
static unsigned put_time(struct writing *w, const char *name)
{
	pprof_put_sample_type(&w->writer, name, "nanoseconds");
	return w->values++;
}

static void write_types(struct writing *w)
{
	int is_machine = w->info.clock == FLAMEPROF_CLOCK_VM;
	const char *clock = is_machine ? PPROF_MACHINE_TIME : "cpu";

	pprof_put_sample_type(&w->writer, "samples", "count");
	w->values = CLOCK_TIME;
	put_time(w, clock);
	if (w->info.clock == FLAMEPROF_CLOCK_ELAPSED) {
		w->waiting = put_time(w, PPROF_WAITING_TIME);
		w->ready = put_time(w, PPROF_READY_TIME);
	}
	if (w->info.vm_weight && !is_machine)
		w->machine = put_time(w, PPROF_MACHINE_TIME);
	pprof_put_period(&w->writer, clock, w->info.period_ns);
}

static void write_facts(struct writing *w)
{
	const struct flameprof_profile_summary *info = &w->info;
	struct flameprof_mark mark;

	pprof_put_times(&w->writer, info->start_wall_s,
		info->end_ns > info->start_ns ? info->end_ns - info->start_ns : 0);
	pprof_put_title(&w->writer, info->title);
	pprof_put_dropped(&w->writer, w->profile->dropped_weight);
	for (uint32_t i = 0; !flameprof_profile_mark(w->profile, i, &mark); i++)
		pprof_put_mark(&w->writer,
			mark.time_ns > info->start_ns ? mark.time_ns - info->start_ns : 0,
			mark.tid, mark.name);
}

/* replace_file_fn */
static int write_all(void *context, int descriptor)
{
	struct writing *w = context;

	w->descriptor = descriptor;
	pprof_writer_begin(&w->writer, write_whole, w);
	write_types(w);
	write_facts(w);
	write_modules(w);
	write_announced(w);
	write_locations(w);
	w->unsampled = write_synthetic(w, "[unsampled]");
	w->no_stack = write_synthetic(w, "[no stack]");
	for (uint32_t i = 0; i < w->info.stacks; i++)
		write_sample(w, profile_stack_at(w->profile, i));
	return pprof_writer_end(&w->writer);
}

int profile_write_pb(const struct flameprof_profile *profile, const char *path)
{
	struct writing w = {.profile = profile, .account = {.limit_bytes = SIZE_MAX}};
	int error;

	flameprof_profile_info(profile, &w.info);
	error = pages_reserve(
		&w.account, &w.first_mapping, (w.info.modules + 1ULL) * sizeof(uint32_t));
	if (!error)
		error = number_frames(&w);
	if (!error)
		error = replace_file(path, write_all, &w);
	pages_release(&w.account, &w.first_mapping);
	pages_release(&w.account, &w.nodes);
	pages_release(&w.account, &w.numbers);
	pages_release(&w.account, &w.frames.slots);
	return error;
}
