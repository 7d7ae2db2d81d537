/* SPDX-License-Identifier: MIT */
/*
 * Each address of each module is looked up once: profile nodes are resolved outermost first, and
 * every node remembers the tree frame it became.
 */
#include "cli/profile/naming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/machine_name.h"
#include "cli/symbols/perfmap.h"
#include "cli/symbols/symbols.h"

#define UNSET UINT32_MAX

/* What stands between a process and a stack that did not reach its root. */
enum prefix { PREFIX_NONE, PREFIX_DEEP, PREFIX_INCOMPLETE, PREFIX_COUNT };

struct image_names {
	int *handles; /* symbols handle by module number; -1: not asked yet */
	struct perfmap *perfmap;
	int perfmap_asked;
	uint32_t process_node; /* tree node above this image's stacks */
};

struct naming {
	struct profile *profile;
	struct symbols *symbols;
	struct calltree *tree;
	struct image_names *images;
	uint32_t *frames;              /* profile node -> tree frame */
	uint32_t *nodes[PREFIX_COUNT]; /* profile node -> tree node */
	int64_t start_wall_s;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *image_name(const struct profile_image *image)
{
	if (image->exe[0])
		return base_name(image->exe);
	return image->comm[0] ? image->comm : "[unknown process]";
}

static const struct profile_module *module_of(const struct profile_image *image, uint64_t frame)
{
	uint32_t number = WIRE_FRAME_MODULE(frame);

	if (number >= image->module_count || !image->modules[number].path)
		return NULL;
	return &image->modules[number];
}

/* The symbols handle of a module, asked once per image. */
static int handle_of(struct naming *naming, uint32_t image_index, uint32_t number)
{
	const struct profile_image *image = profile_image_at(naming->profile, image_index);
	const struct profile_module *module = &image->modules[number];
	struct image_names *names = &naming->images[image_index];

	if (!names->handles) {
		names->handles = malloc(image->module_count * sizeof(*names->handles));
		if (!names->handles)
			return -ENOMEM;
		for (uint32_t i = 0; i < image->module_count; i++)
			names->handles[i] = -1;
	}
	if (names->handles[number] < 0)
		names->handles[number] = symbols_add_module(naming->symbols,
			&(struct symbols_module){
				.path = module->path,
				.build_id = module->build_id_bytes ? module->build_id : NULL,
				.build_id_bytes = module->build_id_bytes,
				.pid = image->ended ? 0 : image->pid,
				.is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0,
			});
	return names->handles[number];
}

static uint32_t name_in_module(
	struct naming *naming, uint32_t image_index, const struct profile_module *module,
	uint64_t frame)
{
	int handle = handle_of(naming, image_index, WIRE_FRAME_MODULE(frame));
	uint64_t address = WIRE_FRAME_ADDRESS(frame);
	const char *short_name = base_name(module->path);
	struct symbols_name name;
	char text[512];

	if (module->flags & WIRE_MODULE_VDSO)
		short_name = "[vdso]";
	if (handle >= 0 && !symbols_lookup(naming->symbols, handle, address, &name))
		return calltree_frame(naming->tree, name.name, short_name, CALLTREE_NATIVE);
	/* By the function's start, where that can be told: one box a function, not one a call. */
	symbols_function(naming->symbols, handle, address, &address);
	snprintf(text, sizeof(text), "[%.400s+0x%" PRIx64 "]", short_name, address);
	return calltree_frame(naming->tree, text, short_name, CALLTREE_UNNAMED);
}

static uint32_t name_jit(struct naming *naming, uint32_t image_index, uint64_t frame)
{
	const struct profile_image *image = profile_image_at(naming->profile, image_index);
	struct image_names *names = &naming->images[image_index];
	const char *name;

	if (!names->perfmap_asked) {
		names->perfmap_asked = 1;
		if (perfmap_open(&names->perfmap, image->pid, naming->start_wall_s))
			names->perfmap = NULL;
	}
	name = names->perfmap ? perfmap_lookup(names->perfmap, WIRE_FRAME_ADDRESS(frame)) : NULL;
	if (name)
		return calltree_frame(naming->tree, name, "", CALLTREE_JIT);
	return calltree_frame(naming->tree, "[unknown code]", "", CALLTREE_UNNAMED);
}

static uint32_t name_code(struct naming *naming, uint32_t image_index, uint64_t frame)
{
	const struct announced_code *code = announced_at(
		profile_announced(naming->profile), image_index, WIRE_FRAME_ADDRESS(frame));

	if (!code)
		return calltree_frame(naming->tree, "[unknown code]", "", CALLTREE_UNNAMED);
	return calltree_frame(naming->tree, code->name,
		code->kind == ANNOUNCED_CODE ? "" : MACHINE_MODULE,
		code->kind == ANNOUNCED_ROOT ? CALLTREE_SYNTHETIC : CALLTREE_JIT);
}

static uint32_t frame_of(struct naming *naming, uint32_t node_index)
{
	const struct profile_node *node = profile_node_at(naming->profile, node_index);
	const struct profile_image *image = profile_image_at(naming->profile, node->image);
	const struct profile_module *module;

	if (naming->frames[node_index] != UNSET)
		return naming->frames[node_index];
	module = module_of(image, node->frame);
	if (node->frame == WIRE_FRAME_UNSAMPLED)
		naming->frames[node_index] =
			calltree_frame(naming->tree, "[unsampled]", "", CALLTREE_SYNTHETIC);
	else if (module)
		naming->frames[node_index] =
			name_in_module(naming, node->image, module, node->frame);
	else if (WIRE_FRAME_MODULE(node->frame) == WIRE_MODULE_NONE)
		naming->frames[node_index] = name_jit(naming, node->image, node->frame);
	else if (WIRE_FRAME_MODULE(node->frame) == WIRE_MODULE_CODE)
		naming->frames[node_index] = name_code(naming, node->image, node->frame);
	else
		naming->frames[node_index] =
			calltree_frame(naming->tree, "[unknown module]", "", CALLTREE_UNNAMED);
	return naming->frames[node_index];
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
	uint32_t process = naming->images[image].process_node;

	if (prefix == PREFIX_NONE)
		return process;
	return calltree_child(naming->tree, process, prefix_frame(naming, prefix));
}

/* A frame of the injected library: a wrapper that the program did not ask for. */
static int is_ours(struct naming *naming, uint32_t node_index)
{
	const struct profile_node *node = profile_node_at(naming->profile, node_index);
	const struct profile_module *module =
		module_of(profile_image_at(naming->profile, node->image), node->frame);

	return module && module->flags & WIRE_MODULE_SELF;
}

static int is_machine_root(struct naming *naming, uint32_t node_index)
{
	const struct profile_node *node = profile_node_at(naming->profile, node_index);
	const struct announced_code *code;

	if (WIRE_FRAME_MODULE(node->frame) != WIRE_MODULE_CODE ||
		profile_node_at(naming->profile, node->parent)->parent != UINT32_MAX)
		return 0;
	code = announced_at(profile_announced(naming->profile), node->image,
		WIRE_FRAME_ADDRESS(node->frame));
	return code && code->kind == ANNOUNCED_ROOT;
}

/* The tree node of a machine's root: what its stacks lack is missing above it, not below. */
static uint32_t prefix_below(struct naming *naming, uint32_t root, enum prefix prefix)
{
	uint32_t image = profile_node_at(naming->profile, root)->image;
	uint32_t node = calltree_child(naming->tree, naming->images[image].process_node,
		frame_of(naming, root));

	return prefix == PREFIX_NONE
		? node
		: calltree_child(naming->tree, node, prefix_frame(naming, prefix));
}

/* The tree node of a profile node, our own wrappers left out: climb to the first one known, then build downwards. */
static uint32_t tree_node(struct naming *naming, uint32_t leaf, enum prefix prefix)
{
	uint32_t *nodes = naming->nodes[prefix];
	uint32_t path[WIRE_MAX_DEPTH + 1];
	uint32_t n = 0, at = leaf, node;

	while (nodes[at] == UNSET && n <= WIRE_MAX_DEPTH) {
		uint32_t parent = profile_node_at(naming->profile, at)->parent;

		if (parent == UINT32_MAX) {
			nodes[at] = prefix_node(
				naming, profile_node_at(naming->profile, at)->image, prefix);
			break;
		}
		path[n++] = at;
		at = parent;
	}
	node = nodes[at] == UNSET ? CALLTREE_ROOT : nodes[at];
	while (n-- > 0) {
		if (is_machine_root(naming, path[n]))
			node = prefix_below(naming, path[n], prefix);
		else if (!is_ours(naming, path[n]))
			node = calltree_child(naming->tree, node, frame_of(naming, path[n]));
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

/* Where the weight of a stack goes; credit that has no stack is said to be what it is. */
static uint32_t stack_node(struct naming *naming, const struct profile_stack *stack)
{
	uint32_t image = profile_node_at(naming->profile, stack->node)->image;
	uint32_t node;

	if (profile_node_at(naming->profile, stack->node)->parent == UINT32_MAX)
		return calltree_child(naming->tree, naming->images[image].process_node,
			calltree_frame(naming->tree,
				stack->kind == WIRE_KIND_CREDIT ? "[unsampled]" : "[no stack]", "",
				CALLTREE_SYNTHETIC));
	node = tree_node(naming, stack->node, prefix_of(stack));
	/* What our own code costs is not hidden. */
	return is_ours(naming, stack->node)
		? calltree_child(naming->tree, node, frame_of(naming, stack->node))
		: node;
}

static void name_threads(struct naming *naming)
{
	char text[96];

	for (uint32_t i = 0; i < profile_threads(naming->profile); i++) {
		const struct profile_thread *thread = profile_thread_at(naming->profile, i);
		const struct profile_image *image =
			profile_image_at(naming->profile, thread->image);

		snprintf(text, sizeof(text), "%s (%u/%u)",
			thread->comm[0] ? thread->comm : "?", image->pid, thread->tid);
		calltree_thread(naming->tree, i, text);
	}
}

/* Process frames, if the images that matter do not all have one name. */
static void place_processes(struct naming *naming)
{
	const char *first = NULL;
	int several = 0;

	for (uint32_t i = 0; i < profile_images(naming->profile); i++) {
		const char *name = image_name(profile_image_at(naming->profile, i));

		several |= first && strcmp(first, name) != 0;
		first = first ? first : name;
	}
	for (uint32_t i = 0; i < profile_images(naming->profile); i++) {
		const char *name = image_name(profile_image_at(naming->profile, i));

		naming->images[i].process_node = several
			? calltree_child(naming->tree, CALLTREE_ROOT,
				  calltree_frame(naming->tree, name, "", CALLTREE_PROCESS))
			: CALLTREE_ROOT;
	}
}

static void add_weights(struct naming *naming, struct naming_report *report)
{
	uint32_t count = profile_stacks(naming->profile);

	for (uint32_t i = 0; i < count; i++) {
		const struct profile_stack *stack = profile_stack_at(naming->profile, i);
		uint32_t node = stack_node(naming, stack);

		calltree_add(naming->tree, node, stack->weight);
		if (!calltree_error(naming->tree) &&
			calltree_frame_at(naming->tree, calltree_node_at(naming->tree, node)->frame)
					->kind == CALLTREE_UNNAMED)
			report->unnamed_weight += stack->weight;
	}
}

static void add_samples(struct naming *naming)
{
	uint64_t start_ns = profile_start_ns(naming->profile);

	for (size_t i = 0; i < profile_samples(naming->profile); i++) {
		const struct profile_sample *sample = profile_sample_at(naming->profile, i);
		const struct profile_stack *stack =
			profile_stack_at(naming->profile, sample->stack);

		calltree_sample(naming->tree,
			&(struct calltree_sample){
				.time_ns = sample->time_ns > start_ns ? sample->time_ns - start_ns : 0,
				.node = stack_node(naming, stack),
				.weight = sample->weight,
				.thread = stack->thread,
				.kind = stack->kind == WIRE_KIND_CREDIT ? CALLTREE_CREDIT
					: stack->kind == WIRE_KIND_OFF  ? CALLTREE_OFF_CPU
									: CALLTREE_ON_CPU,
			});
	}
}

static int naming_init(struct naming *naming)
{
	uint32_t nodes = profile_nodes(naming->profile);

	naming->symbols = symbols_new();
	naming->tree = calltree_new();
	naming->images = calloc(profile_images(naming->profile) + 1, sizeof(*naming->images));
	naming->frames = malloc((nodes + 1) * sizeof(*naming->frames));
	if (!naming->symbols || !naming->tree || !naming->images || !naming->frames)
		return -ENOMEM;
	memset(naming->frames, 0xff, (nodes + 1) * sizeof(*naming->frames));
	for (int prefix = 0; prefix < PREFIX_COUNT; prefix++) {
		naming->nodes[prefix] = malloc((nodes + 1) * sizeof(*naming->nodes[prefix]));
		if (!naming->nodes[prefix])
			return -ENOMEM;
		memset(naming->nodes[prefix], 0xff, (nodes + 1) * sizeof(*naming->nodes[prefix]));
	}
	return 0;
}

static void naming_release(struct naming *naming)
{
	for (uint32_t i = 0; naming->images && i < profile_images(naming->profile); i++) {
		free(naming->images[i].handles);
		perfmap_free(naming->images[i].perfmap);
	}
	free(naming->images);
	free(naming->frames);
	for (int prefix = 0; prefix < PREFIX_COUNT; prefix++)
		free(naming->nodes[prefix]);
	symbols_free(naming->symbols);
	calltree_free(naming->tree);
}

int naming_build(
	const struct naming_request *request, struct calltree **out, struct naming_report *report)
{
	struct naming naming = {.profile = request->profile, .start_wall_s = request->start_wall_s};
	int error = naming_init(&naming);

	*report = (struct naming_report){
		.processes = profile_images(request->profile),
	};
	if (error)
		goto out;
	symbols_hurry_when(naming.symbols, request->is_hurried);
	place_processes(&naming);
	add_weights(&naming, report);
	add_samples(&naming);
	name_threads(&naming);
	error = calltree_finish(naming.tree);
	if (error)
		goto out;
	*out = naming.tree;
	naming.tree = NULL;
out:
	naming_release(&naming);
	return error;
}
