/* SPDX-License-Identifier: MIT */
/*
 * Which frames stand above each other, and what they are called: names out of symbol tables, perf
 * maps, and what programs said of their own code. Profile nodes are placed outermost first, and
 * every node remembers the tree node it became; each address of each module is looked up once.
 *
 * Code without a name is shown by function, not by address: .eh_frame stays in stripped files, and
 * its entries tell where the function around an address begins, so that [liblzma.so.5+0x15ae0] is
 * one box however many places in it were sampled. Code without even that is shown by its address.
 */
#include "cli/profile/naming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/picture_names.h"
#include "cli/symbols/perfmap.h"
#include "cli/symbols/symbols.h"

#define UNSET UINT32_MAX /* instead of a tree node or frame: there is none, or none yet */

struct frame_namer_image;

/* Zero-initialise. */
struct frame_namer {
	struct flameprof_profile *profile; /* borrowed */
	struct calltree *tree;		   /* borrowed; frames are added to it */
	struct symbols *symbols;	   /* owned */
	int64_t start_wall_s;		   /* older perf maps are somebody else's */
	bool has_mapped;		   /* is any module WIRE_MODULE_MAPPED? */
	int *handles;			   /* owned; by module: symbols handle, -1: not asked yet */
	struct frame_namer_image *images;  /* owned; by profile image */
	uint32_t *frames;		   /* owned; profile node -> tree frame */
};

/* ---- one frame ------------------------------------------------------------------------------- */

struct frame_namer_image {
	struct perfmap *perfmap;
	int perfmap_asked;
};

/*
 * Name frames of @profile, which must not grow meanwhile, in @tree.
 * Returns 0 or -ENOMEM; frame_namer_release() in either case.
 */
static int frame_namer_init(struct frame_namer *namer, struct flameprof_profile *profile,
	struct calltree *tree, int64_t start_wall_s)
{
	size_t frames_bytes = (profile->node_count + (size_t)1) * sizeof(*namer->frames);
	size_t handles_bytes = (profile->names.module_count + (size_t)1) * sizeof(*namer->handles);

	*namer = (struct frame_namer){
		.profile = profile, .tree = tree, .start_wall_s = start_wall_s};
	namer->symbols = symbols_new();
	namer->images = calloc(profile->image_count + (size_t)1, sizeof(*namer->images));
	namer->frames = malloc(frames_bytes);
	namer->handles = malloc(handles_bytes);
	if (!namer->symbols || !namer->images || !namer->frames || !namer->handles)
		return -ENOMEM;
	memset(namer->frames, 0xff, frames_bytes);
	memset(namer->handles, 0xff, handles_bytes);
	for (uint32_t i = 0; i < profile->names.module_count; i++)
		namer->has_mapped |=
			(names_module(&profile->names, i)->flags & WIRE_MODULE_MAPPED) != 0;
	return 0;
}

static void frame_namer_release(struct frame_namer *namer)
{
	for (uint32_t i = 0; namer->images && i < namer->profile->image_count; i++)
		perfmap_free(namer->images[i].perfmap);
	free(namer->images);
	free(namer->handles);
	free(namer->frames);
	symbols_free(namer->symbols);
}

/* Index + 1 of the module of @image that has @address mapped, 0 when none is known. */
static uint32_t find_mapped(const struct frame_namer *namer, uint32_t image, uint64_t address)
{
	const struct names *table = &namer->profile->names;

	for (uint32_t i = 0; namer->has_mapped && i < table->module_count; i++) {
		const struct names_module *module = names_module(table, i);

		if (module->flags & WIRE_MODULE_MAPPED && module->image == image &&
			address >= module->start && address < module->end)
			return i + 1;
	}
	return 0;
}

/*
 * The module that knows most of @module's file. Of a file that the program mapped itself only the
 * path is known; where the loader has mapped the same file, too, that module has its build-id.
 */
static const struct names_module *find_identified(
	const struct names *table, const struct names_module *module)
{
	const char *path = names_string(table, module->path);

	for (uint32_t i = 0; module->flags & WIRE_MODULE_MAPPED && i < table->module_count; i++) {
		const struct names_module *other = names_module(table, i);

		if (other->image == module->image && !(other->flags & WIRE_MODULE_MAPPED) &&
			!strcmp(names_string(table, other->path), path))
			return other;
	}
	return module;
}

/* The symbols handle of a module, asked once. */
static int handle_of(struct frame_namer *namer, uint32_t index)
{
	const struct names *table = &namer->profile->names;
	const struct names_module *module = find_identified(table, names_module(table, index));
	const struct profile_image *image = profile_image_at(namer->profile, module->image);

	if (namer->handles[index] < 0)
		namer->handles[index] = symbols_add_module(namer->symbols,
			&(struct symbols_module){
				.path = names_string(table, module->path),
				.build_id = module->build_id_bytes ? module->build_id : NULL,
				.build_id_bytes = module->build_id_bytes,
				.pid = image->ended ? 0 : image->pid,
				.is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0,
			});
	return namer->handles[index];
}

static uint32_t name_in_module(struct frame_namer *namer, uint32_t index, uint64_t frame)
{
	const struct names_module *module = names_module(&namer->profile->names, index);
	int handle = handle_of(namer, index);
	uint64_t address = WIRE_FRAME_ADDRESS(frame);
	const char *short_name = base_name(names_string(&namer->profile->names, module->path));
	struct symbols_name name;
	char text[512];

	if (module->flags & WIRE_MODULE_VDSO)
		short_name = "[vdso]";
	if (handle >= 0 && !symbols_lookup(namer->symbols, handle, address, &name))
		return calltree_frame(namer->tree, name.name, short_name, CALLTREE_NATIVE);
	/* By the function's start, where that can be told: one box a function, not one a call. */
	symbols_function(namer->symbols, handle, address, &address);
	snprintf(text, sizeof(text), "[%.400s+0x%" PRIx64 "]", short_name, address);
	return calltree_frame(namer->tree, text, short_name, CALLTREE_UNNAMED);
}

/*
 * Code that the program mapped from a file: where the file has it is asked once. Of what is no
 * program or library, as the files in memory that JIT compilers map twice, nothing is mapped.
 * Returns UNSET then.
 */
static uint32_t name_mapped(struct frame_namer *namer, uint32_t index, uint64_t frame)
{
	struct names_module *module = names_module(&namer->profile->names, index);
	uint64_t at = WIRE_FRAME_ADDRESS(frame), address;

	if (!module->bias) {
		if (symbols_offset_address(namer->symbols, handle_of(namer, index),
			    at - module->start + module->segment[0].file_offset, &address)) {
			module->end = module->start;
			return UNSET;
		}
		module->bias = at - address;
	}
	return name_in_module(namer, index, WIRE_FRAME(module->number, at - module->bias));
}

static uint32_t name_jit(struct frame_namer *namer, uint32_t image_index, uint64_t frame)
{
	const struct profile_image *image = profile_image_at(namer->profile, image_index);
	struct frame_namer_image *about = &namer->images[image_index];
	uint32_t mapped = find_mapped(namer, image_index, WIRE_FRAME_ADDRESS(frame));
	uint32_t in_file = mapped ? name_mapped(namer, mapped - 1, frame) : UNSET;
	const char *name;

	if (in_file != UNSET)
		return in_file;
	if (!about->perfmap_asked) {
		about->perfmap_asked = 1;
		if (perfmap_open(&about->perfmap, image->pid, namer->start_wall_s))
			about->perfmap = NULL;
	}
	name = about->perfmap ? perfmap_lookup(about->perfmap, WIRE_FRAME_ADDRESS(frame)) : NULL;
	if (name)
		return calltree_frame(namer->tree, name, "", CALLTREE_JIT);
	return calltree_frame(namer->tree, "[unknown code]", "", CALLTREE_UNNAMED);
}

static uint32_t name_machine(
	struct frame_namer *namer, const struct names *table, const struct names_code *code)
{
	char *name = machine_name_make(
		names_string(table, code->name), names_file(table, code->file), code->line);
	uint32_t frame = calltree_frame(namer->tree, name ? name : names_string(table, code->name),
		MACHINE_MODULE,
		code->flags & WIRE_FUNCTION_ROOT ? CALLTREE_SYNTHETIC : CALLTREE_JIT);

	free(name);
	return frame;
}

static uint32_t name_code(struct frame_namer *namer, uint32_t image, uint64_t frame)
{
	const struct names *table = profile_words(namer->profile, image);
	const struct names_code *code =
		profile_code_at(namer->profile, image, WIRE_FRAME_ADDRESS(frame));

	if (!code)
		return calltree_frame(namer->tree, "[unknown code]", "", CALLTREE_UNNAMED);
	if (names_code_is_function(code))
		return name_machine(namer, table, code);
	return calltree_frame(namer->tree, names_string(table, code->name), "", CALLTREE_JIT);
}

/* What stands for CPU time and is no place in code; NULL: it is one. */
static const char *name_of_time(uint64_t frame)
{
	switch (frame) {
	case WIRE_FRAME_UNSAMPLED:
		return "[unsampled]";
	case WIRE_FRAME_EXEC:
		return "[exec]";
	case WIRE_FRAME_EXIT:
		return "[exit]";
	case WIRE_FRAME_EXIT_OF_CHILDREN:
		return "[exit of children]";
	case WIRE_FRAME_SIGNAL_HANDLER:
		return "[signal handler]";
	default:
		return NULL;
	}
}

static uint32_t name_frame(struct frame_namer *namer, uint32_t image, uint64_t frame)
{
	uint32_t number = WIRE_FRAME_MODULE(frame);
	uint32_t known = names_find_module(&namer->profile->names, image, number);

	if (name_of_time(frame))
		return calltree_frame(namer->tree, name_of_time(frame), "", CALLTREE_SYNTHETIC);
	if (known)
		return name_in_module(namer, known - 1, frame);
	if (number == WIRE_MODULE_NONE)
		return name_jit(namer, image, frame);
	if (number == WIRE_MODULE_CODE)
		return name_code(namer, image, frame);
	return calltree_frame(namer->tree, "[unknown module]", "", CALLTREE_UNNAMED);
}

/*
 * The tree frame of profile node @node, below @image's root. Without memory the tree says so when
 * it is finished.
 */
static uint32_t frame_namer_frame(struct frame_namer *namer, uint32_t image, uint32_t node)
{
	if (namer->frames[node] == UNSET)
		namer->frames[node] = name_frame(
			namer, image, profile_node_frame(profile_node_at(namer->profile, node)));
	return namer->frames[node];
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* What stands between a process and a stack that did not reach its root. */
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
	uint32_t *process_nodes;       /* profile image -> tree node above its stacks */
	uint32_t *nodes[PREFIX_COUNT]; /* profile node -> tree node */
	uint32_t *stacks;	       /* profile stack -> tree node, UNSET: of the other kind */
	bool is_machine;
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

/* A frame of the injected library: a wrapper that the program did not ask for. */
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
 * The tree node of @root, the frame that a virtual machine's stacks have outermost, and below it
 * the node of @prefix, for @root is known of every stack: what an incomplete one lacks was called
 * by it.
 */
static uint32_t prefix_below(
	struct naming *naming, uint32_t image, uint32_t root, enum prefix prefix)
{
	uint32_t node = calltree_child(naming->tree, naming->process_nodes[image],
		frame_namer_frame(&naming->namer, image, root));

	return prefix == PREFIX_NONE
		       ? node
		       : calltree_child(naming->tree, node, prefix_frame(naming, prefix));
}

/*
 * The tree node of a stack's leaf, our own wrappers left out: climb to the first one known, then
 * build downwards.
 */
static uint32_t tree_node(struct naming *naming, uint32_t image, const struct profile_stack *stack,
	enum prefix prefix)
{
	uint32_t *nodes = naming->nodes[prefix];
	uint32_t root = profile_image_at(naming->profile, image)->root;
	uint32_t path[WIRE_MAX_DEPTH];
	uint32_t n = 0, at = stack->node, node;

	while (nodes[at] == UNSET && n < stack->frames) {
		path[n++] = at;
		at = profile_node_at(naming->profile, at)->parent;
	}
	if (nodes[at] == UNSET)
		nodes[at] = prefix_node(naming, image, prefix);
	for (node = nodes[at]; n-- > 0; at = path[n]) {
		if (at == root && is_machine_root(naming, image, path[n]))
			node = prefix_below(naming, image, path[n], prefix);
		else if (!is_ours(naming, image, path[n]) &&
			 !profile_is_hidden(naming->profile, image, path[n]))
			node = calltree_child(naming->tree, node,
				frame_namer_frame(&naming->namer, image, path[n]));
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

/* Credit that is on no stack: the image's own, or below where its thread began. */
static int is_unsampled(const struct naming *naming, const struct profile_stack *stack)
{
	return stack->kind == WIRE_KIND_CREDIT &&
	       (!stack->frames || frame_of(naming, stack->node) == WIRE_FRAME_UNSAMPLED);
}

/* Whose weight is on no stack, and has a name all the same: nobody could look into it. */
static uint32_t unsampled_frame(struct naming *naming, const struct profile_image *image)
{
	char text[WIRE_EXE_BYTES + 16];

	snprintf(text, sizeof(text), "[unsampled: %s]", image_name(image));
	return calltree_frame(naming->tree, text, "", CALLTREE_SYNTHETIC);
}

/* Where the weight of a stack goes; credit that has no stack is said to be what it is. */
static uint32_t stack_node(struct naming *naming, const struct profile_stack *stack)
{
	uint32_t image = profile_stack_image(naming->profile, stack);
	const struct profile_image *of = profile_image_at(naming->profile, image);
	uint32_t node;

	if (is_unsampled(naming, stack) && of->unsampled)
		return calltree_child(
			naming->tree, naming->process_nodes[image], unsampled_frame(naming, of));
	if (!stack->frames)
		return calltree_child(naming->tree, naming->process_nodes[image],
			calltree_frame(naming->tree,
				stack->kind == WIRE_KIND_CREDIT ? "[unsampled]" : "[no stack]", "",
				CALLTREE_SYNTHETIC));
	node = tree_node(naming, image, stack, prefix_of(stack));
	/* What our own code costs is not hidden. */
	return is_ours(naming, image, stack->node)
		       ? calltree_child(naming->tree, node,
				 frame_namer_frame(&naming->namer, image, stack->node))
		       : node;
}

static void name_threads(struct naming *naming)
{
	char text[96];

	for (uint32_t i = 0; i < naming->profile->thread_count; i++) {
		const struct profile_thread *thread = profile_thread_at(naming->profile, i);
		const struct profile_image *image =
			profile_image_at(naming->profile, thread->image);

		snprintf(text, sizeof(text), "%s (%u/%u)", thread->name[0] ? thread->name : "?",
			image->pid, thread->tid);
		calltree_thread(naming->tree, i, text);
	}
}

/* Process frames, if the images that matter do not all have one name. */
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

static void add_weights(struct naming *naming, struct naming_report *report)
{
	uint32_t count = naming->profile->stack_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct profile_stack *stack = profile_stack_at(naming->profile, i);
		const struct calltree_frame *frame;
		uint32_t node;

		naming->stacks[i] = UNSET;
		if ((stack->kind == WIRE_KIND_VM) != naming->is_machine)
			continue;
		node = naming->stacks[i] = stack_node(naming, stack);
		calltree_add(naming->tree, node, stack->weight);
		if (calltree_error(naming->tree))
			continue;
		frame = calltree_frame_at(
			naming->tree, calltree_node_at(naming->tree, node)->frame);
		if (frame->kind == CALLTREE_UNNAMED)
			report->unnamed_weight += stack->weight;
		else if (is_unsampled(naming, stack))
			report->unsampled_weight += stack->weight;
	}
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
				.node = naming->stacks[sample->stack],
				.weight = sample->weight,
				.thread = stack->thread,
				.kind = stack->kind == WIRE_KIND_CREDIT ? CALLTREE_CREDIT
					: stack->kind == WIRE_KIND_OFF	? CALLTREE_OFF_CPU
									: CALLTREE_ON_CPU,
			});
	}
}

static int naming_init(struct naming *naming, const struct naming_request *request)
{
	size_t nodes_bytes = (request->profile->node_count + (size_t)1) * sizeof(uint32_t);

	naming->profile = request->profile;
	naming->is_machine = request->is_machine;
	naming->tree = calltree_new();
	if (!naming->tree)
		return -ENOMEM;
	naming->process_nodes = calloc(naming->profile->image_count + (size_t)1, sizeof(uint32_t));
	if (!naming->process_nodes)
		return -ENOMEM;
	naming->stacks = malloc((naming->profile->stack_count + (size_t)1) * sizeof(uint32_t));
	if (!naming->stacks)
		return -ENOMEM;
	for (int prefix = 0; prefix < PREFIX_COUNT; prefix++) {
		naming->nodes[prefix] = malloc(nodes_bytes);
		if (!naming->nodes[prefix])
			return -ENOMEM;
		memset(naming->nodes[prefix], 0xff, nodes_bytes);
	}
	return frame_namer_init(
		&naming->namer, naming->profile, naming->tree, request->start_wall_s);
}

static void naming_release(struct naming *naming)
{
	frame_namer_release(&naming->namer);
	free(naming->process_nodes);
	free(naming->stacks);
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
	symbols_hurry_when(naming.namer.symbols, request->is_hurried);
	/* Most runs have no virtual machine's time: their tree of it is empty without a look. */
	if (!request->is_machine || request->profile->vm_weight) {
		add_process_frames(&naming);
		add_weights(&naming, report);
		add_samples(&naming);
		name_threads(&naming);
	}
	error = calltree_finish(naming.tree);
	if (error)
		goto out;
	*out = naming.tree;
	naming.tree = NULL;
out:
	naming_release(&naming);
	return error;
}
