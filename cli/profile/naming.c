/* SPDX-License-Identifier: MIT */
/*
 * Build the tree: decide which frames it has and which of them is whose caller. Profile nodes are
 * added outermost first, and the tree node of each is remembered. frame_namer.c names the frames.
 */
#include "cli/profile/naming.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/frame_namer.h"
#include "cli/profile/holders.h"
#include "cli/profile/kernel_parts.h"
#include "cli/profile/picture_names.h"
#include "cli/symbols/generated.h"
#include "libprof/fnv.h"

#define UNSET UINT32_MAX /* no tree node, or none yet */
/* instead of a tree node: the node depends on the sample's time */
#define MOVES (UINT32_MAX - 1)
/* instead of a tree node: samples of the stack get different kernel frames */
#define INSIDE (UINT32_MAX - 2)
/* Add kernel time that is in no sample in this many parts, with different kernel stacks. */
#define INSIDE_PARTS 64u

/* Which frame is shown between a process and an incomplete stack. */
enum prefix {
	PREFIX_NONE,
	PREFIX_DEEP,
	PREFIX_INCOMPLETE,
	PREFIX_COUNT
};

struct naming {
	struct flameprof_profile *profile;
	struct calltree *tree;
	struct frame_namer namer;
	/* [profile image] -> tree node that is the parent of its stacks */
	uint32_t *process_nodes;
	uint32_t *nodes[PREFIX_COUNT]; /* profile node -> tree node */
	/* [profile stack] -> tree node; UNSET: the stack has the kind of time that is not shown */
	uint32_t *stacks;
	/* [profile stack] with MOVES or INSIDE -> weight that is not added yet */
	uint64_t *untimed;
	struct holders *holders;     /* holders of locks; NULL: none is known */
	struct kernel_parts *kernel; /* NULL: no kernel stacks */
	/* holder of the lock that the current sample waits for; NULL: not known */
	const char *holder;
	/* weight of incomplete stacks that are greenlets' and have all of their own frames */
	uint64_t whole_greenlets;
	bool has_greenlets;
	bool is_machine;
	/* show the interpreter's native frames, too, not only language frames */
	bool shows_native;
};

static const char *image_name(const struct profile_image *image)
{
	if (image->exe[0])
		return base_name(image->exe);
	return image->comm[0] ? image->comm : "[unknown process]";
}

static uint32_t prefix_frame(struct naming *naming, enum prefix prefix)
{
	char text[64];

	snprintf(text, sizeof(text), "[deeper than %u frames]", WIRE_MAX_DEPTH);
	return calltree_frame(naming->tree, prefix == PREFIX_DEEP ? text : "[incomplete stack]", "",
		CALLTREE_SYNTHETIC);
}

static uint32_t prefix_node(struct naming *naming, uint32_t image, enum prefix prefix)
{
	uint32_t process = naming->process_nodes[image];

	if (prefix == PREFIX_NONE)
		return process;
	return calltree_child(naming->tree, process, prefix_frame(naming, prefix));
}

static uint64_t frame_of(const struct naming *naming, uint32_t node)
{
	return profile_node_frame(profile_node_at(naming->profile, node));
}

/* Is @node a wrapper function in the injected library, which the program does not know of? */
static int is_ours(const struct naming *naming, uint32_t image, uint32_t node)
{
	const struct names *table = &naming->profile->names;
	uint32_t known = names_find_module(table, image, WIRE_FRAME_MODULE(frame_of(naming, node)));

	return known && names_module(table, known - 1)->flags & WIRE_MODULE_SELF;
}

static int is_machine_root(const struct naming *naming, uint32_t image, uint32_t node)
{
	uint64_t frame = frame_of(naming, node);
	const struct names_code *code;

	if (WIRE_FRAME_MODULE(frame) != WIRE_MODULE_CODE)
		return 0;
	code = profile_code_at(naming->profile, image, WIRE_FRAME_ADDRESS(frame));
	return code && code->flags & WIRE_FUNCTION_ROOT;
}

/*
 * Add @root, the outermost frame of a virtual machine's stacks, and below it the frame of @prefix,
 * because even an incomplete stack was called from @root. Returns the innermost node.
 */
static uint32_t prefix_below(
	struct naming *naming, uint32_t image, uint32_t root, enum prefix prefix)
{
	uint32_t node =
		frame_namer_child(&naming->namer, image, root, naming->process_nodes[image]);

	return prefix == PREFIX_NONE
		       ? node
		       : calltree_child(naming->tree, node, prefix_frame(naming, prefix));
}

static bool is_language(const struct naming *naming, uint32_t node)
{
	return wire_frame_is_language(frame_of(naming, node));
}

/*
 * Is native frame @node to be hidden because a language frame shows its work? @path has @n callees
 * of @node, of which the last is called directly. Also hide code that is generated to carry a name
 * (CPython's -X perf) and calls the interpreter.
 */
static bool is_replaced(
	const struct naming *naming, uint32_t node, const uint32_t *path, uint32_t n)
{
	if (naming->shows_native || !n || is_language(naming, node))
		return false;
	return is_language(naming, path[n - 1]) ||
	       (n > 1 && is_language(naming, path[n - 2]) &&
		       WIRE_FRAME_MODULE(frame_of(naming, node)) == WIRE_MODULE_NONE);
}

/*
 * Returns the tree node of @stack's leaf. Climb to the first profile node that has a tree node,
 * then add tree nodes downwards. Leave out the library's wrappers, and libc's functions that only
 * make system calls for others. Do not use nodes[] if namer.time_ns is set, because names may
 * depend on the time. Do not store nodes that language frames replace, because other stacks may
 * show these nodes.
 */
static uint32_t tree_node(struct naming *naming, uint32_t image, const struct profile_stack *stack,
	enum prefix prefix)
{
	uint32_t *nodes = naming->nodes[prefix];
	uint32_t root = profile_image_at(naming->profile, image)->root;
	uint32_t path[WIRE_MAX_DEPTH];
	uint32_t n = 0, at = stack->node, node;

	while (n < stack->frames &&
		(naming->namer.time_ns || nodes[at] == UNSET || is_replaced(naming, at, path, n))) {
		path[n++] = at;
		at = profile_node_at(naming->profile, at)->parent;
	}
	node = nodes[at];
	if (n == stack->frames && (node == UNSET || at != root))
		node = prefix_node(naming, image, prefix);
	if (at == root)
		nodes[at] = node;
	for (; n-- > 0; at = path[n]) {
		if (is_replaced(naming, path[n], path, n))
			continue;
		if (at == root && is_machine_root(naming, image, path[n]))
			node = prefix_below(naming, image, path[n], prefix);
		else if (!is_ours(naming, image, path[n]) &&
			 !frame_namer_passes(&naming->namer, path[n]) &&
			 !profile_is_hidden(naming->profile, image, path[n]))
			node = frame_namer_child(&naming->namer, image, path[n], node);
		if (!naming->namer.time_ns)
			nodes[path[n]] = node;
	}
	return node;
}

static enum prefix prefix_of(const struct profile_stack *stack)
{
	switch (stack->end) {
	case WIRE_END_ROOT:
		return PREFIX_NONE;
	case WIRE_END_DEPTH:
		return PREFIX_DEEP;
	default:
		return PREFIX_INCOMPLETE;
	}
}

/* Is @stack CPU time without a stack, credited to an image or to the beginning of a thread? */
static int is_unsampled(const struct naming *naming, const struct profile_stack *stack)
{
	return stack->kind == WIRE_KIND_CREDIT &&
	       (!stack->frames || frame_of(naming, stack->node) == WIRE_FRAME_UNSAMPLED);
}

/* Returns the frame "[unsampled: NAME]" of an image that could not be sampled. */
static uint32_t unsampled_frame(struct naming *naming, const struct profile_image *image)
{
	char text[WIRE_EXE_BYTES + 16];

	snprintf(text, sizeof(text), "[unsampled: %s]", image_name(image));
	return calltree_frame(naming->tree, text, "", CALLTREE_SYNTHETIC);
}

/* ---- greenlets ------------------------------------------------------------------------------- */

/* The Python module of greenlets, and the function in it that calls a greenlet's first function. */
#define GREENLET_FILE  "_greenlet."
#define GREENLET_FIRST "inner_bootstrap"

static bool is_of_greenlets(const struct naming *naming, uint32_t module)
{
	const struct names *table = &naming->profile->names;
	const char *file = base_name(names_string(table, names_module(table, module)->path));

	return !strncmp(file, GREENLET_FILE, sizeof(GREENLET_FILE) - 1);
}

static void find_greenlets(struct naming *naming)
{
	for (uint32_t i = 0; i < naming->profile->names.module_count; i++)
		naming->has_greenlets |= is_of_greenlets(naming, i);
}

static bool begins_greenlet(struct naming *naming, uint32_t image, uint32_t node)
{
	uint32_t known = names_find_module(
		&naming->profile->names, image, WIRE_FRAME_MODULE(frame_of(naming, node)));
	uint32_t count = 0;
	const uint32_t *frames = NULL;

	if (known && is_of_greenlets(naming, known - 1))
		frames = frame_namer_chain(&naming->namer, image, node, &count);
	while (count)
		if (strstr(calltree_frame_at(naming->tree, frames[--count])->name, GREENLET_FIRST))
			return true;
	return false;
}

/*
 * Greenlets take turns on the C stack of their thread. Outside of a greenlet's own frames are those
 * of another greenlet, or remains of some, so the stack is shown as beginning where the greenlet
 * began. Returns that part of @stack, or all of it if no greenlet runs.
 */
static struct profile_stack greenlet_part(struct naming *naming, const struct profile_stack *stack)
{
	uint32_t image = profile_stack_image(naming->profile, stack), at = stack->node;
	struct profile_stack part = *stack;

	for (uint16_t n = 1; naming->has_greenlets && n <= stack->frames; n++) {
		if (begins_greenlet(naming, image, at)) {
			part.frames = n;
			part.end = WIRE_END_ROOT;
			break;
		}
		at = profile_node_at(naming->profile, at)->parent;
	}
	return part;
}

/* ---- in the kernel --------------------------------------------------------------------------- */

static bool is_in_kernel(const struct naming *naming, const struct profile_stack *stack)
{
	return stack->frames && frame_of(naming, stack->node) == WIRE_FRAME_IN_KERNEL;
}

static bool is_of_kernel(const struct naming *naming, uint32_t node)
{
	return WIRE_FRAME_MODULE(frame_of(naming, node)) == WIRE_MODULE_KERNEL ||
	       frame_of(naming, node) == WIRE_FRAME_IN_KERNEL;
}

/* Returns @stack without its kernel frames. */
static struct profile_stack program_part(
	const struct naming *naming, const struct profile_stack *stack)
{
	struct profile_stack part = *stack;

	while (part.frames && is_of_kernel(naming, part.node)) {
		part.node = profile_node_at(naming->profile, part.node)->parent;
		part.frames--;
	}
	return part;
}

static uint64_t add_to_path(uint64_t path, uint32_t frame)
{
	return (path ^ frame) * FNV_PRIME;
}

/*
 * Hash the names of @stack's native frames. Language frames are left out, because a kernel stack
 * has the interpreter's frames instead. Names are hashed because one file may be two modules, and
 * because the two stacks may differ in the addresses within a function.
 */
static uint64_t path_of_stack(
	struct naming *naming, uint32_t image, const struct profile_stack *stack)
{
	uint64_t path = add_to_path(FNV_BEGIN, image);
	uint32_t at = stack->node;

	for (uint16_t n = 0; n < stack->frames; n++) {
		uint32_t count = 0;
		const uint32_t *frames = NULL;

		if (!is_language(naming, at) && !is_ours(naming, image, at) &&
			!profile_is_hidden(naming->profile, image, at))
			frames = frame_namer_chain(&naming->namer, image, at, &count);
		while (count) {
			const char *name = calltree_frame_at(naming->tree, frames[--count])->name;

			path = fnv_bytes(path, name, strlen(name) + 1);
		}
		at = profile_node_at(naming->profile, at)->parent;
	}
	return prefix_of(stack) == PREFIX_NONE
		       ? path
		       : add_to_path(path, prefix_frame(naming, prefix_of(stack)));
}

static void add_kernel_stacks(struct naming *naming)
{
	for (uint32_t i = 0; i < naming->profile->stack_count; i++) {
		const struct profile_stack *kernel_stack = profile_stack_at(naming->profile, i);
		struct profile_stack part;

		if (kernel_stack->kind != WIRE_KIND_KERNEL_STACK)
			continue;
		if (!naming->kernel)
			naming->kernel = kernel_parts_new();
		part = greenlet_part(naming, kernel_stack);
		part = program_part(naming, &part);
		if (naming->kernel)
			kernel_parts_add(naming->kernel,
				path_of_stack(naming,
					profile_stack_image(naming->profile, kernel_stack), &part),
				i, kernel_stack->weight);
	}
	if (naming->kernel)
		kernel_parts_finish(naming->kernel);
}

/* Add the kernel frames of @kernel_stack as callees of @node. Returns the innermost node. */
static uint32_t kernel_node(struct naming *naming, uint32_t image,
	const struct profile_stack *kernel_stack, uint32_t node)
{
	uint32_t path[WIRE_MAX_DEPTH], n = 0;

	for (uint32_t at = kernel_stack->node; is_of_kernel(naming, at) && n < kernel_stack->frames;
		at = profile_node_at(naming->profile, at)->parent)
		path[n++] = at;
	while (n)
		node = frame_namer_child(&naming->namer, image, path[--n], node);
	return node;
}

/* Returns the node of a sample in the kernel: a kernel function, the system call or "[kernel]". */
static uint32_t inside_node(struct naming *naming, const struct profile_stack *stack)
{
	uint32_t image = profile_stack_image(naming->profile, stack),
		 kernel_stack = KERNEL_PARTS_NONE;
	struct profile_stack part = program_part(naming, stack);
	uint32_t node = tree_node(naming, image, &part, prefix_of(stack)), inside;

	if (naming->kernel && !calltree_error(naming->tree))
		kernel_stack =
			kernel_parts_next(naming->kernel, path_of_stack(naming, image, &part));
	if (kernel_stack != KERNEL_PARTS_NONE)
		return kernel_node(
			naming, image, profile_stack_at(naming->profile, kernel_stack), node);
	inside = frame_namer_in_kernel(&naming->namer, part.node, node);
	return inside != node ? inside
			      : calltree_child(naming->tree, node,
					calltree_frame(naming->tree, KERNEL_MODULE, KERNEL_MODULE,
						CALLTREE_KERNEL));
}

/* Returns the tree node for a stack's weight. Credited time without a stack is "[unsampled]". */
static uint32_t stack_node(struct naming *naming, const struct profile_stack *stack)
{
	uint32_t image = profile_stack_image(naming->profile, stack);
	const struct profile_image *of = profile_image_at(naming->profile, image);
	struct profile_stack waiter;
	uint32_t node;

	if (is_unsampled(naming, stack) && of->unsampled)
		return calltree_child(
			naming->tree, naming->process_nodes[image], unsampled_frame(naming, of));
	if (!stack->frames)
		return calltree_child(naming->tree, naming->process_nodes[image],
			calltree_frame(naming->tree,
				stack->kind == WIRE_KIND_CREDIT ? "[unsampled]" : "[no stack]", "",
				CALLTREE_SYNTHETIC));
	if (holders_part(naming->profile, stack, &waiter))
		return frame_namer_wait(&naming->namer, image, stack->node,
			tree_node(naming, image, &waiter, prefix_of(stack)), naming->holder);
	if (is_in_kernel(naming, stack))
		return inside_node(naming, stack);
	node = tree_node(naming, image, stack, prefix_of(stack));
	/* Show a leaf in the injected library, because its cost must be visible. */
	if (is_ours(naming, image, stack->node))
		node = frame_namer_child(&naming->namer, image, stack->node, node);
	return frame_namer_in_kernel(&naming->namer, stack->node, node);
}

static void name_threads(struct naming *naming)
{
	char text[96], process[WIRE_EXE_BYTES + 16];

	for (uint32_t i = 0; i < naming->profile->thread_count; i++) {
		const struct profile_thread *thread = profile_thread_at(naming->profile, i);
		const struct profile_image *image =
			profile_image_at(naming->profile, thread->image);

		snprintf(text, sizeof(text), "%s (%u/%u)", thread->name[0] ? thread->name : "?",
			image->pid, thread->tid);
		snprintf(process, sizeof(process), "%s (%u)", image_name(image), image->pid);
		calltree_thread(naming->tree, i, text, process);
	}
}

/* Add process frames, unless all process images have one name. */
static void add_process_frames(struct naming *naming)
{
	const char *first = NULL;
	int several = 0;

	for (uint32_t i = 0; i < naming->profile->image_count; i++) {
		const char *name = image_name(profile_image_at(naming->profile, i));

		several |= first && strcmp(first, name) != 0;
		first = first ? first : name;
	}
	for (uint32_t i = 0; i < naming->profile->image_count; i++) {
		const char *name = image_name(profile_image_at(naming->profile, i));

		naming->process_nodes[i] =
			several ? calltree_child(naming->tree, CALLTREE_ROOT,
					  calltree_frame(naming->tree, name, "", CALLTREE_PROCESS))
				: CALLTREE_ROOT;
	}
}

/* Add @weight of @stack to the tree, with names as of namer.time_ns. Returns the tree node. */
static uint32_t add_weight(
	struct naming *naming, const struct profile_stack *stack, uint64_t weight)
{
	struct profile_stack part = greenlet_part(naming, stack);
	uint32_t node = stack_node(naming, &part);
	const struct calltree_frame *frame;

	calltree_add(naming->tree, node, weight);
	if (calltree_error(naming->tree))
		return node;
	frame = calltree_frame_at(naming->tree, calltree_node_at(naming->tree, node)->frame);
	for (uint32_t at = node; at != CALLTREE_ROOT && frame->kind == CALLTREE_KERNEL;) {
		at = calltree_node_at(naming->tree, at)->parent;
		frame = calltree_frame_at(naming->tree, calltree_node_at(naming->tree, at)->frame);
	}
	if (stack->frames)
		frame_namer_count(&naming->namer, profile_stack_image(naming->profile, stack),
			program_part(naming, stack).node, weight, frame->kind != CALLTREE_UNNAMED);
	return node;
}

static void add_weights(struct naming *naming)
{
	uint32_t count = naming->profile->stack_count;
	struct profile_stack waiter;

	naming->holders = holders_new(&naming->namer);
	add_kernel_stacks(naming);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_stack *stack = profile_stack_at(naming->profile, i);

		naming->stacks[i] = UNSET;
		if ((stack->kind == WIRE_KIND_VM) != naming->is_machine ||
			stack->kind == WIRE_KIND_KERNEL_STACK)
			continue;
		if (stack->kind == WIRE_KIND_CPU && stack->end != WIRE_END_ROOT &&
			greenlet_part(naming, stack).end == WIRE_END_ROOT)
			naming->whole_greenlets += stack->weight;
		if (frame_namer_moves(&naming->namer, stack) ||
			holders_part(naming->profile, stack, &waiter)) {
			naming->stacks[i] = MOVES;
			naming->untimed[i] = stack->weight;
		} else if (is_in_kernel(naming, stack)) {
			naming->stacks[i] = INSIDE;
			naming->untimed[i] = stack->weight;
		} else {
			naming->stacks[i] = add_weight(naming, stack, stack->weight);
		}
	}
}

/* Add weight that is in no sample. Generated code gets its last name; kernel time is split. */
static void add_untimed(struct naming *naming)
{
	naming->namer.time_ns = GENERATED_AT_LAST;
	for (uint32_t i = 0; i < naming->profile->stack_count; i++)
		if (naming->stacks[i] == MOVES && naming->untimed[i])
			add_weight(
				naming, profile_stack_at(naming->profile, i), naming->untimed[i]);
	naming->namer.time_ns = GENERATED_AT_ANY_TIME;
	for (uint32_t i = 0; i < naming->profile->stack_count; i++)
		for (uint64_t n = INSIDE_PARTS; naming->stacks[i] == INSIDE && n; n--) {
			uint64_t weight = naming->untimed[i] / n;

			naming->untimed[i] -= weight;
			if (weight)
				add_weight(naming, profile_stack_at(naming->profile, i), weight);
		}
}

static uint32_t sample_node(
	struct naming *naming, uint64_t number, const struct profile_stack *stack)
{
	const struct flameprof_sample *sample = profile_sample_at(naming->profile, number);
	uint64_t *left = &naming->untimed[sample->stack];
	uint64_t weight = sample->weight < *left ? sample->weight : *left;
	uint32_t node = naming->stacks[sample->stack];

	if (node != MOVES && node != INSIDE)
		return node;
	*left -= weight;
	if (node == INSIDE)
		return add_weight(naming, stack, weight);
	naming->holder = holders_function(naming->holders, number);
	naming->namer.time_ns = sample->time_ns ? sample->time_ns : GENERATED_AT_LAST;
	node = add_weight(naming, stack, weight);
	naming->namer.time_ns = GENERATED_AT_ANY_TIME;
	naming->holder = NULL;
	return node;
}

static void add_samples(struct naming *naming)
{
	uint64_t start_ns = profile_first_ns(naming->profile);

	for (uint64_t i = 0; i < naming->profile->sample_count; i++) {
		const struct flameprof_sample *sample = profile_sample_at(naming->profile, i);
		const struct profile_stack *stack =
			profile_stack_at(naming->profile, sample->stack);

		if (naming->stacks[sample->stack] == UNSET)
			continue;
		calltree_sample(naming->tree,
			&(struct calltree_sample){
				.time_ns =
					sample->time_ns > start_ns ? sample->time_ns - start_ns : 0,
				.node = sample_node(naming, i, stack),
				.weight = sample->weight,
				.thread = stack->thread,
				.kind = stack->kind == WIRE_KIND_CREDIT ? CALLTREE_CREDIT
					: stack->kind == WIRE_KIND_WAIT ? CALLTREE_WAITING
									: CALLTREE_ON_CPU,
			});
	}
}

static int naming_init(struct naming *naming, const struct naming_request *request)
{
	size_t nodes_bytes = (request->profile->node_count + (size_t)1) * sizeof(uint32_t);

	naming->profile = request->profile;
	naming->is_machine = request->is_machine;
	naming->shows_native = request->shows_native;
	naming->tree = calltree_new();
	if (!naming->tree)
		return -ENOMEM;
	naming->process_nodes = calloc(naming->profile->image_count + (size_t)1, sizeof(uint32_t));
	if (!naming->process_nodes)
		return -ENOMEM;
	naming->stacks = malloc((naming->profile->stack_count + (size_t)1) * sizeof(uint32_t));
	naming->untimed = calloc(naming->profile->stack_count + (size_t)1, sizeof(uint64_t));
	if (!naming->stacks || !naming->untimed)
		return -ENOMEM;
	for (int prefix = 0; prefix < PREFIX_COUNT; prefix++) {
		naming->nodes[prefix] = malloc(nodes_bytes);
		if (!naming->nodes[prefix])
			return -ENOMEM;
		memset(naming->nodes[prefix], 0xff, nodes_bytes);
	}
	return frame_namer_init(&naming->namer, request, naming->tree);
}

static void naming_release(struct naming *naming)
{
	holders_free(naming->holders);
	kernel_parts_free(naming->kernel);
	frame_namer_release(&naming->namer);
	free(naming->process_nodes);
	free(naming->stacks);
	free(naming->untimed);
	for (int prefix = 0; prefix < PREFIX_COUNT; prefix++)
		free(naming->nodes[prefix]);
	calltree_free(naming->tree);
}

int naming_build(
	const struct naming_request *request, struct calltree **out, struct naming_report *report)
{
	struct naming naming = {0};
	int error = naming_init(&naming, request);
	uint32_t processes = profile_totals(request->profile)->processes;

	*report = (struct naming_report){
		.processes = processes ? processes : request->profile->image_count,
	};
	if (error)
		goto out;
	find_greenlets(&naming);
	/* Most profiles have no time of virtual machines. Then that tree stays empty. */
	if (!request->is_machine || request->profile->vm_weight) {
		add_process_frames(&naming);
		frame_namer_resolve(&naming.namer, request, &report->fetched);
		add_weights(&naming);
		add_samples(&naming);
		add_untimed(&naming);
		name_threads(&naming);
	}
	frame_namer_sources(&naming.namer, &report->sources);
	report->whole_greenlets = naming.whole_greenlets;
	error = naming.namer.has_failed ? -ENOMEM : calltree_finish(naming.tree);
	if (error)
		goto out;
	*out = naming.tree;
	naming.tree = NULL;
out:
	naming_release(&naming);
	return error;
}
