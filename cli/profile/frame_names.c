/* SPDX-License-Identifier: MIT */
/* Names out of symbol tables, perf maps, and what programs said of their own code. */
#include "cli/profile/frame_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/base_name.h"
#include "cli/profile/machine_name.h"
#include "cli/symbols/perfmap.h"

#define UNSET UINT32_MAX

struct frame_names_image {
	int *handles; /* symbols handle by module number; -1: not asked yet */
	struct perfmap *perfmap;
	int perfmap_asked;
};

int frame_names_init(struct frame_names *names, struct profile *profile, struct calltree *tree,
	int64_t start_wall_s)
{
	size_t frames_bytes = (profile_nodes(profile) + (size_t)1) * sizeof(*names->frames);

	*names = (struct frame_names){
		.profile = profile, .tree = tree, .start_wall_s = start_wall_s};
	names->symbols = symbols_new();
	names->images = calloc(profile_images(profile) + (size_t)1, sizeof(*names->images));
	names->frames = malloc(frames_bytes);
	if (!names->symbols || !names->images || !names->frames)
		return -ENOMEM;
	memset(names->frames, 0xff, frames_bytes);
	return 0;
}

void frame_names_release(struct frame_names *names)
{
	for (uint32_t i = 0; names->images && i < profile_images(names->profile); i++) {
		free(names->images[i].handles);
		perfmap_free(names->images[i].perfmap);
	}
	free(names->images);
	free(names->frames);
	symbols_free(names->symbols);
}

const struct profile_module *frame_names_module(const struct profile_image *image, uint64_t frame)
{
	uint32_t number = WIRE_FRAME_MODULE(frame);

	if (number >= image->module_count || !image->modules[number].path)
		return NULL;
	return &image->modules[number];
}

/* The symbols handle of a module, asked once per image. */
static int handle_of(struct frame_names *names, uint32_t image_index, uint32_t number)
{
	const struct profile_image *image = profile_image_at(names->profile, image_index);
	const struct profile_module *module = &image->modules[number];
	struct frame_names_image *about = &names->images[image_index];

	if (!about->handles) {
		about->handles = malloc(image->module_count * sizeof(*about->handles));
		if (!about->handles)
			return -ENOMEM;
		for (uint32_t i = 0; i < image->module_count; i++)
			about->handles[i] = -1;
	}
	if (about->handles[number] < 0)
		about->handles[number] = symbols_add_module(names->symbols,
			&(struct symbols_module){
				.path = module->path,
				.build_id = module->build_id_bytes ? module->build_id : NULL,
				.build_id_bytes = module->build_id_bytes,
				.pid = image->ended ? 0 : image->pid,
				.is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0,
			});
	return about->handles[number];
}

static uint32_t name_in_module(struct frame_names *names, uint32_t image_index,
	const struct profile_module *module, uint64_t frame)
{
	int handle = handle_of(names, image_index, WIRE_FRAME_MODULE(frame));
	uint64_t address = WIRE_FRAME_ADDRESS(frame);
	const char *short_name = base_name(module->path);
	struct symbols_name name;
	char text[512];

	if (module->flags & WIRE_MODULE_VDSO)
		short_name = "[vdso]";
	if (handle >= 0 && !symbols_lookup(names->symbols, handle, address, &name))
		return calltree_frame(names->tree, name.name, short_name, CALLTREE_NATIVE);
	/* By the function's start, where that can be told: one box a function, not one a call. */
	symbols_function(names->symbols, handle, address, &address);
	snprintf(text, sizeof(text), "[%.400s+0x%" PRIx64 "]", short_name, address);
	return calltree_frame(names->tree, text, short_name, CALLTREE_UNNAMED);
}

static uint32_t name_jit(struct frame_names *names, uint32_t image_index, uint64_t frame)
{
	const struct profile_image *image = profile_image_at(names->profile, image_index);
	struct frame_names_image *about = &names->images[image_index];
	const char *name;

	if (!about->perfmap_asked) {
		about->perfmap_asked = 1;
		if (perfmap_open(&about->perfmap, image->pid, names->start_wall_s))
			about->perfmap = NULL;
	}
	name = about->perfmap ? perfmap_lookup(about->perfmap, WIRE_FRAME_ADDRESS(frame)) : NULL;
	if (name)
		return calltree_frame(names->tree, name, "", CALLTREE_JIT);
	return calltree_frame(names->tree, "[unknown code]", "", CALLTREE_UNNAMED);
}

static uint32_t name_code(struct frame_names *names, uint32_t image_index, uint64_t frame)
{
	const struct announced_code *code = announced_at(
		profile_announced(names->profile), image_index, WIRE_FRAME_ADDRESS(frame));

	if (!code)
		return calltree_frame(names->tree, "[unknown code]", "", CALLTREE_UNNAMED);
	return calltree_frame(names->tree, code->name,
		code->kind == ANNOUNCED_CODE ? "" : MACHINE_MODULE,
		code->kind == ANNOUNCED_ROOT ? CALLTREE_SYNTHETIC : CALLTREE_JIT);
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
	default:
		return NULL;
	}
}

uint32_t frame_names_of(struct frame_names *names, uint32_t node_index)
{
	const struct profile_node *node = profile_node_at(names->profile, node_index);
	const struct profile_image *image = profile_image_at(names->profile, node->image);
	const struct profile_module *module;

	if (names->frames[node_index] != UNSET)
		return names->frames[node_index];
	module = frame_names_module(image, node->frame);
	if (name_of_time(node->frame))
		names->frames[node_index] = calltree_frame(
			names->tree, name_of_time(node->frame), "", CALLTREE_SYNTHETIC);
	else if (module)
		names->frames[node_index] = name_in_module(names, node->image, module, node->frame);
	else if (WIRE_FRAME_MODULE(node->frame) == WIRE_MODULE_NONE)
		names->frames[node_index] = name_jit(names, node->image, node->frame);
	else if (WIRE_FRAME_MODULE(node->frame) == WIRE_MODULE_CODE)
		names->frames[node_index] = name_code(names, node->image, node->frame);
	else
		names->frames[node_index] =
			calltree_frame(names->tree, "[unknown module]", "", CALLTREE_UNNAMED);
	return names->frames[node_index];
}
