/* SPDX-License-Identifier: MIT */
/*
 * Merge one profile into another, both of a process that profiles itself. First merge all tables
 * without weights; this may fail and is then undone. Then add the weights, which cannot fail.
 */
#include <errno.h>
#include <string.h>

#include "libprof/profile/tables.h"

/*
 * The state of merging profile `from` ("there" below) into profile `into` ("here"). The last five
 * fields are arrays that are indexed by a number or index in `from`. The memory is not counted
 * against the limit of a profile.
 */
struct profile_merge {
	struct flameprof_profile *into;
	const struct flameprof_profile *from;
	struct pages_account account; /* of threads_by_tid */
	struct lookup threads_by_tid; /* threads in `into` before the merge */
	uint16_t *modules; /* by module number: module number in `into` */
	uint32_t *nodes;   /* by node number: node number in `into` */
	uint32_t *hashes;  /* by node number: hash of the node's path in `into` */
	uint32_t *threads; /* by index: index in `into` + 1 */
	uint32_t *stacks;  /* by index: index in `into` + 1 */
};

#define MODULES_BYTES ((WIRE_MODULE_MAX + 1) * sizeof(uint16_t))

static uint32_t tid_hash(const void *owner, uint32_t number)
{
	return lookup_hash(profile_thread_at(owner, number - 1)->tid);
}

static int merge_init(struct profile_merge *m, struct flameprof_profile *into,
	const struct flameprof_profile *from)
{
	*m = (struct profile_merge){
		.into = into, .from = from, .account = {.limit_bytes = SIZE_MAX}};
	m->modules = pages_new(MODULES_BYTES);
	m->nodes = pages_new(((size_t)from->node_count + 1) * sizeof(uint32_t));
	m->hashes = pages_new(((size_t)from->node_count + 1) * sizeof(uint32_t));
	m->threads = pages_new(((size_t)from->thread_count + 1) * sizeof(uint32_t));
	m->stacks = pages_new(((size_t)from->stack_count + 1) * sizeof(uint32_t));
	if (!m->modules || !m->nodes || !m->hashes || !m->threads || !m->stacks)
		return -ENOMEM;
	return lookup_reserve(&m->threads_by_tid, &m->account, into->thread_count, tid_hash, into);
}

static void merge_release(struct profile_merge *m)
{
	pages_release(&m->account, &m->threads_by_tid.slots);
	pages_free(m->modules, MODULES_BYTES);
	pages_free(m->nodes, ((size_t)m->from->node_count + 1) * sizeof(uint32_t));
	pages_free(m->hashes, ((size_t)m->from->node_count + 1) * sizeof(uint32_t));
	pages_free(m->threads, ((size_t)m->from->thread_count + 1) * sizeof(uint32_t));
	pages_free(m->stacks, ((size_t)m->from->stack_count + 1) * sizeof(uint32_t));
}

/* ---- names ----------------------------------------------------------------------------------- */

static int same_module(const struct profile_merge *m, const struct names_module *here,
	const struct names_module *there)
{
	return here->start == there->start && here->end == there->end &&
		here->bias == there->bias && here->build_id_bytes == there->build_id_bytes &&
		!memcmp(here->build_id, there->build_id, here->build_id_bytes) &&
		!strcmp(names_string(&m->into->names, here->path),
			names_string(&m->from->names, there->path));
}

/* Returns a module number that @names does not use, @wanted if possible; 0 if none is left. */
static uint32_t free_number(const struct names *names, uint32_t wanted)
{
	if (!names_find_module(names, 0, wanted))
		return wanted;
	for (uint32_t number = 1; number <= WIRE_MODULE_MAX; number++)
		if (!names_find_module(names, 0, number))
			return number;
	return 0;
}

static int merge_module(struct profile_merge *m, const struct names_module *there)
{
	struct names *names = &m->into->names;
	struct names_module module = *there;
	int error;

	for (uint32_t i = 0; i < names->module_count; i++) {
		if (same_module(m, names_module(names, i), there)) {
			m->modules[there->number] = (uint16_t)names_module(names, i)->number;
			return 0;
		}
	}
	module.number = free_number(names, there->number);
	if (!module.number)
		return -ENOSPC;
	error = names_add_module(names, &m->into->account, &module,
		names_string(&m->from->names, there->path));
	if (!error)
		m->modules[there->number] = (uint16_t)module.number;
	return error;
}

static int merge_names(struct profile_merge *m)
{
	const struct names *there = &m->from->names;
	int error = 0;

	for (uint32_t i = 0; !error && i < there->module_count; i++)
		error = merge_module(m, names_module(there, i));
	for (uint32_t i = 0; !error && i < there->code_count; i++) {
		error = names_add_function(&m->into->names, &m->into->account,
			names_code(there, i), names_string(there, names_code(there, i)->name),
			names_file(there, names_code(there, i)->file));
		/* Code of `from` that overlaps code of `into` gets no name. */
		if (error == -EINVAL)
			error = 0;
	}
	return error;
}

/* Returns @frame of `from` with the module number that the module has in `into`. */
static uint64_t translate_frame(const struct profile_merge *m, uint64_t frame)
{
	uint32_t number = WIRE_FRAME_MODULE(frame);

	if (number == WIRE_MODULE_NONE || number > WIRE_MODULE_MAX)
		return frame;
	/* A module without an entry in `from` must not get the number of a module of `into`. */
	number = names_find_module(&m->from->names, 0, number) ? m->modules[number]
							       : WIRE_MODULE_OVER;
	return WIRE_FRAME(number, WIRE_FRAME_ADDRESS(frame));
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int merge_nodes(struct profile_merge *m)
{
	/* In this order parents come before their children. */
	for (uint32_t i = 1; i <= m->from->node_count; i++) {
		const struct profile_node *there = profile_node_at(m->from, i);
		uint64_t frame = translate_frame(m, profile_node_frame(there));
		uint32_t parent = m->nodes[there->parent];
		uint32_t hash = profile_path_hash(m->hashes[there->parent], frame);
		int error;

		m->hashes[i] = hash;
		m->nodes[i] = profile_find_node(m->into, parent, frame, hash);
		if (m->nodes[i])
			continue;
		error = profile_reserve_nodes(m->into, 1);
		if (error)
			return error;
		m->nodes[i] = profile_commit_node(m->into, parent, frame, hash);
	}
	return 0;
}

/*
 * Find a thread of `into` that has the tid and name of @there, but was recorded between another
 * start and stop of the profiler. Returns index + 1, or 0.
 */
static uint32_t find_thread_of_other_run(
	const struct profile_merge *m, const struct profile_thread *there)
{
	struct lookup_probe probe = lookup_begin(&m->threads_by_tid, lookup_hash(there->tid));
	uint32_t found;

	while ((found = lookup_next(&m->threads_by_tid, &probe))) {
		const struct profile_thread *here = profile_thread_at(m->into, found - 1);

		if (here->tid == there->tid && here->key.image != there->key.image &&
			!memcmp(here->name, there->name, WIRE_COMM_BYTES))
			break;
	}
	return found;
}

static int merge_threads(struct profile_merge *m)
{
	lookup_rebuild(&m->threads_by_tid, m->into->thread_count, tid_hash, m->into);
	for (uint32_t i = 0; i < m->from->thread_count; i++) {
		const struct profile_thread *there = profile_thread_at(m->from, i);
		uint32_t here = profile_find_thread(m->into, &there->key);
		int error;

		if (!here)
			here = find_thread_of_other_run(m, there);
		if (!here) {
			error = profile_reserve_thread(m->into);
			if (error)
				return error;
			here = profile_commit_thread(m->into, &there->key, 0);
			profile_thread_at(m->into, here - 1)->tid = there->tid;
			memcpy(profile_thread_at(m->into, here - 1)->name, there->name,
				WIRE_COMM_BYTES);
		}
		m->threads[i] = here;
	}
	return 0;
}

static int merge_stacks(struct profile_merge *m)
{
	for (uint32_t i = 0; i < m->from->stack_count; i++) {
		struct profile_stack stack = *profile_stack_at(m->from, i);
		int error;

		stack.path_hash = m->hashes[stack.node];
		stack.node = m->nodes[stack.node];
		stack.thread = m->threads[stack.thread] - 1;
		stack.weight = 0;
		stack.samples = 0;
		m->stacks[i] = profile_find_stack(m->into, &stack);
		if (m->stacks[i])
			continue;
		error = profile_reserve_stack(m->into);
		if (error)
			return error;
		m->stacks[i] = profile_commit_stack(m->into, &stack);
	}
	return 0;
}

/* Append the marks; sort_marks() puts them in order. */
static int merge_marks(struct profile_merge *m)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < m->from->mark_count; i++) {
		const struct profile_mark *mark = profile_mark_at(m->from, i);

		error = profile_add_mark(m->into, mark->time_ns, mark->tid,
			names_string(&m->from->names, mark->name));
	}
	return error;
}

/* If `into` has no image yet, give it the image of `from`. */
static int merge_image(struct profile_merge *m)
{
	if (m->into->image_count || !m->from->image_count)
		return 0;
	return profile_begin_run(m->into, profile_image_at(m->from, 0)->id);
}

static int merge_tables(struct profile_merge *m)
{
	int error = merge_image(m);

	if (!error)
		error = merge_names(m);
	if (!error)
		error = merge_nodes(m);
	if (!error)
		error = merge_threads(m);
	if (!error)
		error = merge_stacks(m);
	if (!error)
		error = profile_reserve_samples(m->into, m->from->sample_count);
	if (!error)
		error = merge_marks(m);
	return error;
}

/* ---- weights --------------------------------------------------------------------------------- */

static void add_weights(struct profile_merge *m)
{
	for (uint32_t i = 0; i < m->from->stack_count; i++) {
		struct profile_stack *here = profile_stack_at(m->into, m->stacks[i] - 1);

		here->weight += profile_stack_at(m->from, i)->weight;
		here->samples += profile_stack_at(m->from, i)->samples;
	}
	for (uint32_t i = 0; i < m->from->thread_count; i++)
		profile_thread_at(m->into, m->threads[i] - 1)->weight +=
			profile_thread_at(m->from, i)->weight;
	m->into->weight += m->from->weight;
	m->into->vm_weight += m->from->vm_weight;
	m->into->wait_weight += m->from->wait_weight;
	m->into->dropped_weight += m->from->dropped_weight;
}

/*
 * Add the samples of `from` before or after those of `into`, depending on which profile began
 * earlier. Profiles of one process do not overlap in time.
 */
static void add_samples(struct profile_merge *m)
{
	struct flameprof_profile *into = m->into;
	struct flameprof_sample *here = into->samples.at;
	const struct flameprof_sample *there = m->from->samples.at;
	uint64_t more = m->from->sample_count;
	uint64_t at = into->sample_count;

	if (!more)
		return;
	if (m->from->start_ns < into->start_ns) {
		memmove(here + more, here, at * sizeof(*here));
		at = 0;
	}
	for (uint64_t i = 0; i < more; i++) {
		here[at + i] = there[i];
		here[at + i].stack = m->stacks[there[i].stack] - 1;
	}
	into->sample_count += more;
}

static void sort_marks(struct flameprof_profile *p, uint32_t first)
{
	for (uint32_t i = first; i < p->mark_count; i++) {
		struct profile_mark mark = *profile_mark_at(p, i);
		uint32_t at = i;

		for (; at && profile_mark_at(p, at - 1)->time_ns > mark.time_ns; at--)
			*profile_mark_at(p, at) = *profile_mark_at(p, at - 1);
		*profile_mark_at(p, at) = mark;
	}
}

static void add_span(struct flameprof_profile *into, const struct flameprof_profile *from)
{
	if (from->start_ns < into->start_ns) {
		into->start_ns = from->start_ns;
		into->start_wall_s = from->start_wall_s;
	}
	if (from->end_ns > into->end_ns)
		into->end_ns = from->end_ns;
}

int flameprof_profile_merge(struct flameprof_profile *into, const struct flameprof_profile *from)
{
	struct profile_counts before;
	struct profile_merge merge;
	/* Reserve memory for the undo now, so that the undo cannot fail. */
	uint32_t *undo;
	size_t undo_bytes;
	int error;

	if (!into || !from || into == from || into->period_ns != from->period_ns ||
		into->clock != from->clock || into->image_count > 1 || from->image_count > 1)
		return -EINVAL;
	before = profile_counts(into);
	undo_bytes = ((size_t)before.nodes + 1) * sizeof(*undo);
	undo = pages_new(undo_bytes);
	if (!undo)
		return -ENOMEM;
	into->account.limit_bytes = into->limit_bytes;
	error = merge_init(&merge, into, from);
	if (!error)
		error = merge_tables(&merge);
	if (error) {
		profile_truncate(into, &before, undo);
	} else {
		add_weights(&merge);
		add_samples(&merge);
		sort_marks(into, before.marks);
		add_span(into, from);
	}
	merge_release(&merge);
	pages_free(undo, undo_bytes);
	return error;
}
