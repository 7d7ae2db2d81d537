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
	struct perfmap *perfmap;
	int perfmap_asked;
};

int frame_names_init(struct frame_names *names, struct flameprof_profile *profile,
	struct calltree *tree, int64_t start_wall_s)
{
	size_t frames_bytes = (profile->node_count + (size_t)1) * sizeof(*names->frames);
	size_t handles_bytes = (profile->names.module_count + (size_t)1) * sizeof(*names->handles);

	*names = (struct frame_names){
		.profile = profile, .tree = tree, .start_wall_s = start_wall_s};
	names->symbols = symbols_new();
	names->images = calloc(profile->image_count + (size_t)1, sizeof(*names->images));
	names->frames = malloc(frames_bytes);
	names->handles = malloc(handles_bytes);
	if (!names->symbols || !names->images || !names->frames || !names->handles)
		return -ENOMEM;
	memset(names->frames, 0xff, frames_bytes);
	memset(names->handles, 0xff, handles_bytes);
	for (uint32_t i = 0; i < profile->names.module_count; i++)
		names->has_mapped |=
			(names_module(&profile->names, i)->flags & WIRE_MODULE_MAPPED) != 0;
	return 0;
}

void frame_names_release(struct frame_names *names)
{
	for (uint32_t i = 0; names->images && i < names->profile->image_count; i++)
		perfmap_free(names->images[i].perfmap);
	free(names->images);
	free(names->handles);
	free(names->frames);
	symbols_free(names->symbols);
}

/* Index + 1 of the module of @image that has @address mapped, 0 when none is known. */
static uint32_t find_mapped(const struct frame_names *names, uint32_t image, uint64_t address)
{
	const struct names *table = &names->profile->names;

	for (uint32_t i = 0; names->has_mapped && i < table->module_count; i++) {
		const struct names_module *module = names_module(table, i);

		if (module->flags & WIRE_MODULE_MAPPED && module->image == image &&
			address >= module->start && address < module->end)
			return i + 1;
	}
	return 0;
}

/* A file that the loader mapped, too, was identified then. */
static const struct names_module *identified(
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
static int handle_of(struct frame_names *names, uint32_t index)
{
	const struct names *table = &names->profile->names;
	const struct names_module *module = identified(table, names_module(table, index));
	const struct profile_image *image = profile_image_at(names->profile, module->image);

	if (names->handles[index] < 0)
		names->handles[index] = symbols_add_module(names->symbols,
			&(struct symbols_module){
				.path = names_string(table, module->path),
				.build_id = module->build_id_bytes ? module->build_id : NULL,
				.build_id_bytes = module->build_id_bytes,
				.pid = image->ended ? 0 : image->pid,
				.is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0,
			});
	return names->handles[index];
}

static uint32_t name_in_module(struct frame_names *names, uint32_t index, uint64_t frame)
{
	const struct names_module *module = names_module(&names->profile->names, index);
	int handle = handle_of(names, index);
	uint64_t address = WIRE_FRAME_ADDRESS(frame);
	const char *short_name = base_name(names_string(&names->profile->names, module->path));
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

/*
 * Code that the program mapped from a file: where the file has it is asked once. Of what is no
 * program or library, as the files in memory that JIT compilers map twice, nothing is mapped.
 * Returns UNSET then.
 */
static uint32_t name_mapped(struct frame_names *names, uint32_t index, uint64_t frame)
{
	struct names_module *module = names_module(&names->profile->names, index);
	uint64_t at = WIRE_FRAME_ADDRESS(frame), address;

	if (!module->bias) {
		if (symbols_offset_address(names->symbols, handle_of(names, index),
			    at - module->start + module->segment[0].file_offset, &address)) {
			module->end = module->start;
			return UNSET;
		}
		module->bias = at - address;
	}
	return name_in_module(names, index, WIRE_FRAME(module->number, at - module->bias));
}

static uint32_t name_jit(struct frame_names *names, uint32_t image_index, uint64_t frame)
{
	const struct profile_image *image = profile_image_at(names->profile, image_index);
	struct frame_names_image *about = &names->images[image_index];
	uint32_t mapped = find_mapped(names, image_index, WIRE_FRAME_ADDRESS(frame));
	uint32_t in_file = mapped ? name_mapped(names, mapped - 1, frame) : UNSET;
	const char *name;

	if (in_file != UNSET)
		return in_file;
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

static uint32_t name_machine(struct frame_names *names, const struct names *words,
	const struct names_code *code)
{
	char *name = machine_name_make(names_string(words, code->name),
		names_file(words, code->file), code->line);
	uint32_t frame = calltree_frame(names->tree, name ? name : names_string(words, code->name),
		MACHINE_MODULE,
		code->flags & WIRE_FUNCTION_ROOT ? CALLTREE_SYNTHETIC : CALLTREE_JIT);

	free(name);
	return frame;
}

static uint32_t name_code(struct frame_names *names, uint32_t image, uint64_t frame)
{
	const struct names *words = profile_words(names->profile, image);
	const struct names_code *code =
		profile_code_at(names->profile, image, WIRE_FRAME_ADDRESS(frame));

	if (!code)
		return calltree_frame(names->tree, "[unknown code]", "", CALLTREE_UNNAMED);
	if (names_code_is_function(code))
		return name_machine(names, words, code);
	return calltree_frame(names->tree, names_string(words, code->name), "", CALLTREE_JIT);
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

static uint32_t name(struct frame_names *names, uint32_t image, uint64_t frame)
{
	uint32_t number = WIRE_FRAME_MODULE(frame);
	uint32_t known = names_find_module(&names->profile->names, image, number);

	if (name_of_time(frame))
		return calltree_frame(
			names->tree, name_of_time(frame), "", CALLTREE_SYNTHETIC);
	if (known)
		return name_in_module(names, known - 1, frame);
	if (number == WIRE_MODULE_NONE)
		return name_jit(names, image, frame);
	if (number == WIRE_MODULE_CODE)
		return name_code(names, image, frame);
	return calltree_frame(names->tree, "[unknown module]", "", CALLTREE_UNNAMED);
}

uint32_t frame_names_of(struct frame_names *names, uint32_t image, uint32_t node)
{
	if (names->frames[node] == UNSET)
		names->frames[node] = name(names, image,
			profile_node_frame(profile_node_at(names->profile, node)));
	return names->frames[node];
}
