/* SPDX-License-Identifier: MIT */
/*
 * Name the address of a frame; each address of each module is looked up once.
 *
 * Code without a name is shown by function, not by address: even stripped files keep .eh_frame,
 * whose entries give the start of the function. So [liblzma.so.5+0x15ae0] is one box of the picture
 * however many of its addresses were sampled. Only code without such an entry is shown by its own
 * address.
 */
#include "cli/profile/frame_namer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/profile/holders.h"
#include "cli/profile/picture_names.h"
#include "cli/symbols/call_number.h"
#include "cli/symbols/generated.h"
#include "cli/symbols/held_files.h"
#include "cli/symbols/jitdump.h"
#include "cli/symbols/kernel_symbols.h"
#include "cli/symbols/symbols.h"
#include "libprof/waits/wait_leaf.h"
#include "render/array.h"
#include "render/label.h"

#define UNSET UINT32_MAX /* no tree frame or chain */
/* instead of a tree frame: the name depends on the sample's time */
#define MOVES (UINT32_MAX - 1)

#define HOLDER_BYTES 1000u

struct frame_namer_image {
	struct generated generated;
	struct sources_share share; /* of generated code in no module */
};

/* The segment of a file in which an address was found last. */
struct frame_namer_segment {
	bool has_no_file;
	struct calltree_mapping mapping;
	char build_id[PICTURE_BUILD_ID_BYTES];
};

int frame_namer_init(
	struct frame_namer *namer, const struct naming_request *request, struct calltree *tree)
{
	struct flameprof_profile *profile = request->profile;
	size_t chains_bytes = (profile->node_count + (size_t)1) * sizeof(*namer->chains);
	size_t calls_bytes = (profile->node_count + (size_t)1) * sizeof(*namer->calls);
	size_t handles_bytes = (profile->names.module_count + (size_t)1) * sizeof(*namer->handles);

	*namer = (struct frame_namer){.profile = profile, .tree = tree, .held = request->held};
	namer->symbols = symbols_new();
	namer->images = calloc(profile->image_count + (size_t)1, sizeof(*namer->images));
	namer->chains = malloc(chains_bytes);
	namer->calls = malloc(calls_bytes);
	namer->passes = calloc(profile->node_count + (size_t)1, sizeof(*namer->passes));
	namer->handles = malloc(handles_bytes);
	namer->segments = calloc(profile->names.module_count + (size_t)1, sizeof(*namer->segments));
	namer->shares = calloc(profile->names.module_count + (size_t)1, sizeof(*namer->shares));
	if (!namer->symbols || !namer->images || !namer->chains || !namer->calls ||
		!namer->passes || !namer->handles || !namer->segments || !namer->shares)
		return -ENOMEM;
	namer->epoch_ns = clock_epoch_ns();
	symbols_keep_program(namer->symbols, request->program);
	symbols_hurry_when(namer->symbols, request->is_hurried);
	symbols_demangle(namer->symbols, request->demangle);
	for (uint32_t i = 0; i < profile->image_count; i++)
		namer->images[i].generated = (struct generated){
			.pid = profile_image_at(profile, i)->pid,
			.start_wall_s = request->start_wall_s,
			.held_dump =
				held_files_find_map(request->held, i, true, request->start_wall_s),
			.held_map =
				held_files_find_map(request->held, i, false, request->start_wall_s),
		};
	memset(namer->chains, 0xff, chains_bytes);
	memset(namer->calls, 0xff, calls_bytes);
	memset(namer->handles, 0xff, handles_bytes);
	for (uint32_t i = 0; i < profile->names.module_count; i++) {
		const struct names_module *module = names_module(&profile->names, i);
		const char *path = names_string(&profile->names, module->path);

		if (!(module->flags & WIRE_MODULE_MAPPED))
			continue;
		namer->has_mapped = true;
		if (jitdump_is_named(path) && module->image < profile->image_count)
			namer->images[module->image].generated.dump_path = path;
	}
	return 0;
}

void frame_namer_release(struct frame_namer *namer)
{
	for (uint32_t i = 0; namer->images && i < namer->profile->image_count; i++)
		generated_release(&namer->images[i].generated);
	free(namer->images);
	free(namer->handles);
	free(namer->segments);
	free(namer->chains);
	free(namer->calls);
	free(namer->passes);
	free(namer->shares);
	free(namer->frames);
	kernel_symbols_free(namer->kernel);
	symbols_free(namer->symbols);
}

/* Returns the index + 1 of the module of @image that maps @address, or 0 if none is known. */
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
 * Returns the module that identifies @module's file best. A file that the program mapped itself has
 * no build-id here; if the loader has mapped the same file, the loader's module has one.
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

/*
 * Returns a time in ns since the epoch at which @module's file was in use, or 0 if not known: the
 * image's start for the program, the time when the module was first seen for a library.
 */
static int64_t seen_ns(const struct frame_namer *namer, const struct names_module *module,
	const struct profile_image *image)
{
	uint64_t at = module->flags & WIRE_MODULE_MAIN ? image->start_ns : module->time_ns;

	return at ? (int64_t)at + namer->epoch_ns : 0;
}

static int handle_of(struct frame_namer *namer, uint32_t index)
{
	const struct names *table = &namer->profile->names;
	const struct names_module *module = find_identified(table, names_module(table, index));
	const struct profile_image *image = profile_image_at(namer->profile, module->image);

	struct symbols_module wanted = {
		.path = names_string(table, module->path),
		.build_id = module->build_id_bytes ? module->build_id : NULL,
		.build_id_bytes = module->build_id_bytes,
		.pid = image->ended ? 0 : image->pid,
		.start = module->start,
		.seen_ns = seen_ns(namer, module, image),
		.is_vdso = (module->flags & WIRE_MODULE_VDSO) != 0,
	};

	if (namer->handles[index] < 0) {
		wanted.held = held_files_find(namer->held, module->image, &wanted);
		namer->handles[index] = symbols_add_module(namer->symbols, &wanted);
	}
	return namer->handles[index];
}

/* Append @frame to the chain that is being made. If out of memory, set has_failed. */
static void add_frame(struct frame_namer *namer, uint32_t frame)
{
	if (ARRAY_GROW(namer->frames, namer->frame_count, namer->frame_room, 1024))
		namer->has_failed = true;
	else
		namer->frames[namer->frame_count++] = frame;
}

/*
 * Append the function at @at's offset and those inlined there, but return the innermost instead.
 * @at has the module and the mapping.
 */
static uint32_t name_chain(
	struct frame_namer *namer, const struct symbols_name *name, struct calltree_frame *at)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < symbols_frames(name); i++) {
		struct symbols_frame found = symbols_frame_at(name, i);

		if (i)
			add_frame(namer, number);
		at->name = found.name;
		at->kind = i ? CALLTREE_INLINE : CALLTREE_NATIVE;
		at->file = found.file;
		at->line = found.line;
		at->start_line = found.start_line;
		number = calltree_intern(namer->tree, at);
	}
	return number;
}

static const char *module_name(const struct names *table, const struct names_module *module)
{
	return module->flags & WIRE_MODULE_VDSO ? "[vdso]"
						: base_name(names_string(table, module->path));
}

/*
 * Set @known to the segment of the file of module @index that contains the code at ELF virtual
 * address @address. Returns false if there is none.
 */
static bool find_segment(struct frame_namer *namer, uint32_t index, uint64_t address,
	struct frame_namer_segment *known)
{
	const struct names *table = &namer->profile->names;
	const struct names_module *module = names_module(table, index);
	const struct names_module *identified = find_identified(table, module);
	struct symbols_segment segment;
	int error = symbols_segment(namer->symbols, handle_of(namer, index), address, &segment);

	known->has_no_file = error == -ENOENT;
	if (error)
		return false;
	picture_names_build_id(known->build_id, identified->build_id, identified->build_id_bytes);
	known->mapping = (struct calltree_mapping){
		.path = names_string(table, module->path),
		.build_id = *known->build_id ? known->build_id + strlen(CALLTREE_BUILD_ID) : "",
		.offset = segment.offset,
		.start = segment.start,
		.end = segment.end,
	};
	return true;
}

/*
 * Set the mapping and the offset of @frame, which is at ELF virtual address @address of module
 * @index, if the module's file can be read.
 */
static void set_mapping(
	struct frame_namer *namer, uint32_t index, uint64_t address, struct calltree_frame *frame)
{
	int handle = handle_of(namer, index);
	struct frame_namer_segment *known = handle < 0 ? NULL : &namer->segments[handle];

	if (!known || known->has_no_file ||
		((address < known->mapping.start || address >= known->mapping.end) &&
			!find_segment(namer, index, address, known)))
		return;
	frame->mapping = &known->mapping;
	frame->offset = address - known->mapping.start + known->mapping.offset;
}

static uint32_t name_in_module(struct frame_namer *namer, uint32_t index, uint64_t frame)
{
	const struct names_module *module = names_module(&namer->profile->names, index);
	int handle = handle_of(namer, index);
	uint64_t address = WIRE_FRAME_ADDRESS(frame);
	const char *short_name = module_name(&namer->profile->names, module);
	struct calltree_frame at = {.module = short_name, .kind = CALLTREE_UNNAMED};
	struct symbols_name name;
	char text[512], build_id[PICTURE_BUILD_ID_BYTES];

	set_mapping(namer, index, address, &at);
	if (handle >= 0 && !symbols_lookup(namer->symbols, handle, address, &name))
		return name_chain(namer, &name, &at);
	if (symbols_module_origin(namer->symbols, handle).source == SYMBOLS_REPLACED)
		return calltree_frame(namer->tree, replaced_name(text, sizeof(text), short_name),
			short_name, CALLTREE_UNNAMED);
	/* Use the function's start if known: one box per function, not one per address. */
	symbols_function(namer->symbols, handle, address, &address);
	snprintf(text, sizeof(text), "[%.400s+0x%" PRIx64 "]", short_name, address);
	picture_names_build_id(build_id, module->build_id, module->build_id_bytes);
	at.name = text;
	at.file = build_id;
	return calltree_intern(namer->tree, &at);
}

/*
 * Name code that the program mapped from a file. The mapping's bias (memory address less address in
 * the file) is computed once. If the file is no program or library, e.g. a memory file that a JIT
 * compiler maps twice, the module is emptied and UNSET is returned.
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

/* Name code in no module at @time_ns (or GENERATED_*). Returns MOVES if the name depends on it. */
static uint32_t name_jit(
	struct frame_namer *namer, uint32_t image, uint64_t frame, uint64_t time_ns)
{
	uint32_t mapped = find_mapped(namer, image, WIRE_FRAME_ADDRESS(frame));
	uint32_t in_file = mapped ? name_mapped(namer, mapped - 1, frame) : UNSET;
	const char *name;
	bool moves;

	if (in_file != UNSET)
		return in_file;
	name = generated_name(
		&namer->images[image].generated, WIRE_FRAME_ADDRESS(frame), time_ns, &moves);
	if (moves)
		return MOVES;
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

/* Folders of packages. An import statement names the path below such a folder. */
static const char *const PACKAGE_ROOTS[] = {"/site-packages/", "/dist-packages/", "/node_modules/"};

static const char *find_last(const char *path, const char *part)
{
	const char *found = NULL;

	for (const char *at = path; (at = strstr(at, part)); at++)
		found = at;
	return found;
}

/*
 * Shorten a path for display. Keep the part from the package on. Without a package, keep the file
 * name, with its folder if many packages have a file of that name (/__init__.py).
 */
static const char *shorten_path(const char *path)
{
	const char *base = strrchr(path, '/'), *root;

	if (path[0] == '<' || !base || !strncmp(path, "node:", strlen("node:")))
		return path;
	for (size_t i = 0; i < sizeof(PACKAGE_ROOTS) / sizeof(PACKAGE_ROOTS[0]); i++) {
		root = find_last(path, PACKAGE_ROOTS[i]);
		if (root)
			return root + strlen(PACKAGE_ROOTS[i]);
	}
	root = find_last(path, "/python3.");
	if (root && strchr(root + 1, '/'))
		return strchr(root + 1, '/') + 1;
	while (base > path && !strncmp(base, "/__", 3)) {
		do
			base--;
		while (base > path && *base != '/');
		break;
	}
	return *base == '/' ? base + 1 : base;
}

static uint32_t name_language(struct frame_namer *namer, const struct names *table,
	const struct names_code *code, uint64_t address)
{
	const char *file = names_file(table, code->file);
	uint64_t delta = address - code->space;
	char *name =
		machine_name_make(names_string(table, code->name), shorten_path(file), code->line);
	uint32_t line = delta + 1 < WIRE_LANGUAGE_LINES ? code->line + (uint32_t)delta : 0;
	uint32_t frame =
		calltree_frame_line(namer->tree, name ? name : names_string(table, code->name),
			MACHINE_MODULE, CALLTREE_JIT, file, line);

	free(name);
	return frame;
}

static uint32_t name_code(struct frame_namer *namer, uint32_t image, uint64_t frame)
{
	const struct names *table = profile_names(namer->profile, image);
	const struct names_code *code =
		profile_code_at(namer->profile, image, WIRE_FRAME_ADDRESS(frame));

	if (!code)
		return calltree_frame(namer->tree, "[unknown code]", "", CALLTREE_UNNAMED);
	if (code->flags & WIRE_FUNCTION_LINES)
		return name_language(namer, table, code, WIRE_FRAME_ADDRESS(frame));
	if (names_code_is_function(code))
		return name_machine(namer, table, code);
	return calltree_frame(namer->tree, names_string(table, code->name), "", CALLTREE_JIT);
}

/* Returns the name of a frame that stands for CPU time without code, or NULL if @frame is code. */
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
	case WIRE_FRAME_IO_WORKER:
		return "[kernel: io_uring worker]";
	default:
		return NULL;
	}
}

/* A thread in this function sleeps, whichever system call the language's runtime makes for it. */
#define SLEEPS "java.lang.Thread.sleep"

/* Does profile node @node, of @image, wait in a language's sleep function? */
static bool is_asleep(struct frame_namer *namer, uint32_t image, uint32_t node)
{
	uint32_t root = profile_image_at(namer->profile, image)->root;
	const size_t bytes = sizeof(SLEEPS) - 1;

	while ((node = profile_node_at(namer->profile, node)->parent) != root && node) {
		uint64_t frame = profile_node_frame(profile_node_at(namer->profile, node));
		const char *name;

		if (!wire_frame_is_language(frame))
			continue;
		name = calltree_frame_at(namer->tree, name_code(namer, image, frame))->name;
		return !strncmp(name, SLEEPS, bytes) && (!name[bytes] || name[bytes] == ' ');
	}
	return false;
}

/*
 * Name the wait at profile node @node, with details if the program reported some, and with @holder,
 * the function that holds the lock (NULL: unknown). @holder is shown without its arguments.
 */
static uint32_t name_wait(
	struct frame_namer *namer, uint32_t image, uint32_t node, const char *holder)
{
	uint64_t frame = profile_node_frame(profile_node_at(namer->profile, node));
	const struct names_code *reported =
		profile_code_at(namer->profile, image, WIRE_FRAME_ADDRESS(frame));
	const char *kind = is_asleep(namer, image, node) ? "sleep" : wait_leaf_kind(frame),
		   *call = NULL;
	char name[WAIT_LEAF_BYTES], text[PATH_MAX + WAIT_LEAF_BYTES + HOLDER_BYTES];
	char function[HOLDER_BYTES + 1], shortened[LABEL_SHORT_BYTES(HOLDER_BYTES)];

	wait_leaf_name(frame, name);
	/* If it is not known what the system call waits for, use the call's name. */
	if (!kind[0] && WIRE_WAIT_CALL(frame) < WIRE_WAIT_CALLS_MAX)
		call = call_number_name(WIRE_WAIT_CALL(frame));
	if (call)
		snprintf(name, sizeof(name), "[%s]", call);
	snprintf(function, sizeof(function), "%s", holder ? holder : "");
	label_short(shortened, function);
	/* Replace a default detail: "[read: pipe]" becomes "[read: FILE]". */
	if (reported || holder)
		snprintf(text, sizeof(text), "%.*s: %s%s%s%s]", (int)strcspn(name, ":]"), name,
			reported
				? names_string(profile_names(namer->profile, image), reported->name)
				: "",
			reported && holder ? ", " : "", holder ? HOLDERS_WORDS : "", shortened);
	return calltree_frame(namer->tree, reported || holder ? text : name, kind, CALLTREE_WAIT);
}

/* Name a kernel function; "[kernel]" if the user may not read the kernel's symbols. */
static uint32_t name_kernel(struct frame_namer *namer, uint64_t frame)
{
	const char *name = NULL;

	if (!namer->has_asked_kernel && kernel_symbols_open(&namer->kernel))
		namer->kernel = NULL;
	namer->has_asked_kernel = true;
	if (namer->kernel)
		name = kernel_symbols_name(namer->kernel, wire_kernel_address(frame));
	return calltree_frame(
		namer->tree, name ? name : KERNEL_MODULE, KERNEL_MODULE, CALLTREE_KERNEL);
}

static uint32_t name_frame(struct frame_namer *namer, uint32_t image, uint32_t node)
{
	uint64_t frame = profile_node_frame(profile_node_at(namer->profile, node));
	uint32_t number = WIRE_FRAME_MODULE(frame);
	uint32_t known = names_find_module(&namer->profile->names, image, number);

	if (wire_frame_waits(frame))
		return name_wait(namer, image, node, NULL);
	if (name_of_time(frame))
		return calltree_frame(namer->tree, name_of_time(frame), "",
			picture_names_kind(name_of_time(frame), "", CALLTREE_SYNTHETIC));
	if (known)
		return name_in_module(namer, known - 1, frame);
	if (number == WIRE_MODULE_NONE)
		return name_jit(namer, image, frame, GENERATED_AT_ANY_TIME);
	if (number == WIRE_MODULE_CODE)
		return name_code(namer, image, frame);
	if (number == WIRE_MODULE_KERNEL)
		return name_kernel(namer, frame);
	return calltree_frame(namer->tree, "[unknown module]", "", CALLTREE_UNNAMED);
}

/* ---- where names come from ------------------------------------------------------------------- */

void frame_namer_count(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint64_t weight, bool is_named)
{
	uint64_t frame = profile_node_frame(profile_node_at(namer->profile, node));
	uint32_t number = WIRE_FRAME_MODULE(frame);
	uint32_t known = names_find_module(&namer->profile->names, image, number);
	struct sources_share *share = NULL;

	if (!known && number == WIRE_MODULE_NONE)
		known = find_mapped(namer, image, WIRE_FRAME_ADDRESS(frame));
	if (known && namer->handles[known - 1] >= 0)
		share = &namer->shares[namer->handles[known - 1]];
	else if (number == WIRE_MODULE_NONE)
		share = &namer->images[image].share;
	else if (number == WIRE_MODULE_CODE)
		share = &namer->reported;
	if (!share)
		return;
	share->weight += weight;
	share->named += is_named ? weight : 0;
}

void frame_namer_sources(struct frame_namer *namer, struct sources *sources)
{
	const struct names *table = &namer->profile->names;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < table->module_count; i++) {
		int handle = namer->handles[i];
		struct symbols_origin origin;

		if (handle < 0 || !namer->shares[handle].weight)
			continue;
		origin = symbols_module_origin(namer->symbols, handle);
		sources_add_module(sources, module_name(table, names_module(table, i)), &origin,
			&namer->shares[handle]);
		/* Modules of other processes may have this handle, too, so report it once. */
		namer->shares[handle].weight = 0;
	}
	for (uint32_t i = 0; i < namer->profile->image_count; i++) {
		const struct frame_namer_image *image = &namer->images[i];

		if (!image->share.weight)
			continue;
		generated_path(&image->generated, path, sizeof(path));
		sources_add_generated(sources, image->generated.pid, path, &image->share);
	}
	sources_add_reported(sources, &namer->reported);
}

/* Make the chain of profile node @node, below @image's root. Returns its index. */
static uint32_t make_chain(struct frame_namer *namer, uint32_t image, uint32_t node)
{
	uint32_t begun = namer->frame_count;

	add_frame(namer, 0); /* its length */
	add_frame(namer, name_frame(namer, image, node));
	if (!namer->has_failed)
		namer->frames[begun] = namer->frame_count - begun - 1;
	return begun;
}

static void know_chain(struct frame_namer *namer, uint32_t image, uint32_t node)
{
	if (namer->chains[node] == UNSET)
		namer->chains[node] = make_chain(namer, image, node);
}

bool frame_namer_moves(struct frame_namer *namer, const struct profile_stack *stack)
{
	uint32_t image = profile_stack_image(namer->profile, stack), at = stack->node;

	if (!namer->images[image].generated.dump_path)
		return false;
	for (uint32_t i = 0; i < stack->frames; i++) {
		const struct profile_node *node = profile_node_at(namer->profile, at);

		if (WIRE_FRAME_MODULE(profile_node_frame(node)) == WIRE_MODULE_NONE) {
			know_chain(namer, image, at);
			if (!namer->has_failed && namer->frames[namer->chains[at] + 1] == MOVES)
				return true;
		}
		at = node->parent;
	}
	return false;
}

uint32_t frame_namer_child(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t parent)
{
	const uint32_t *chain;

	know_chain(namer, image, node);
	if (namer->has_failed)
		return parent;
	chain = &namer->frames[namer->chains[node]];
	if (chain[1] == MOVES)
		return calltree_child(namer->tree, parent,
			name_jit(namer, image,
				profile_node_frame(profile_node_at(namer->profile, node)),
				namer->time_ns));
	for (uint32_t i = 1; i <= chain[0]; i++)
		parent = calltree_child(namer->tree, parent, chain[i]);
	return parent;
}

const uint32_t *frame_namer_chain(
	struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t *count)
{
	const uint32_t *chain;

	*count = 0;
	know_chain(namer, image, node);
	if (namer->has_failed)
		return NULL;
	chain = &namer->frames[namer->chains[node]];
	*count = chain[1] == MOVES ? 0 : chain[0];
	return chain + 1;
}

uint32_t frame_namer_wait(struct frame_namer *namer, uint32_t image, uint32_t node, uint32_t parent,
	const char *holder)
{
	return calltree_child(namer->tree, parent, name_wait(namer, image, node, holder));
}

/*
 * A timer that expires in the kernel raises its signal when the thread returns to user mode, just
 * after the system call instruction. A thread that is sampled at this instruction in user mode
 * looks the same, but that is rare.
 */
uint32_t frame_namer_in_kernel(struct frame_namer *namer, uint32_t node, uint32_t parent)
{
	const char *name = call_number_name(namer->calls[node]);
	char text[64];

	if (namer->calls[node] == -1)
		return parent;
	snprintf(text, sizeof(text), name ? "[kernel: %s]" : "[kernel]", name);
	return calltree_child(namer->tree, parent,
		calltree_frame(namer->tree, text, KERNEL_MODULE, CALLTREE_KERNEL));
}

/* ---- lines, for all addresses at once -------------------------------------------------------- */

struct located {
	uint64_t address;
	int handle;
	uint32_t node; /* index of the profile node */
};

static int by_handle(const void *left, const void *right)
{
	const struct located *a = left, *b = right;

	return a->handle < b->handle ? -1 : a->handle > b->handle;
}

/* Marks of profile nodes while their addresses are collected. */
#define IS_LEAF	     1u /* leaf of a stack of CPU time */
#define IS_COLLECTED 2u

/* Collect @stack's addresses in modules, up to a node with IS_COLLECTED. Returns their number. */
static uint32_t collect_addresses(struct frame_namer *namer, const struct profile_stack *stack,
	uint8_t *marks, struct located *found)
{
	const struct flameprof_profile *profile = namer->profile;
	uint32_t image = profile_stack_image(profile, stack), at = stack->node, count = 0;

	for (uint32_t n = 0; n < stack->frames && !(marks[at] & IS_COLLECTED); n++) {
		uint64_t frame = profile_node_frame(profile_node_at(profile, at));
		uint32_t known =
			names_find_module(&profile->names, image, WIRE_FRAME_MODULE(frame));

		if (known)
			found[count++] = (struct located){
				WIRE_FRAME_ADDRESS(frame), handle_of(namer, known - 1), at};
		marks[at] |= IS_COLLECTED;
		at = profile_node_at(profile, at)->parent;
	}
	return count;
}

/* Return the innermost frame of @stack that is not the kernel's and not a wait. */
static uint32_t leaf_of(const struct flameprof_profile *profile, const struct profile_stack *stack)
{
	const struct profile_node *node = profile_node_at(profile, stack->node);
	uint64_t frame = profile_node_frame(node);

	return frame == WIRE_FRAME_IN_KERNEL || wire_frame_waits(frame) ? node->parent
									: stack->node;
}

/* Collect the addresses of all stacks that will be named. Returns their number. */
static uint32_t collect_all(struct frame_namer *namer, const struct naming_request *request,
	uint8_t *marks, struct located *found)
{
	const struct flameprof_profile *profile = namer->profile;
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = profile_stack_at(profile, i);

		if ((stack->kind == WIRE_KIND_VM) != request->is_machine)
			continue;
		if (stack->frames && !request->is_machine)
			marks[leaf_of(profile, stack)] |= IS_LEAF;
		count += collect_addresses(namer, stack, marks, found + count);
	}
	return count;
}

/* Fetch missing symbols of the files of @found, @count entries that are sorted by handle. */
static void fetch(struct frame_namer *namer, const struct naming_request *request,
	const struct located *found, uint32_t count, struct debuginfod_report *report)
{
	int *handles = calloc((size_t)count + 1, sizeof(*handles));
	size_t files = 0;

	for (uint32_t i = 0; handles && i < count; i++)
		if (found[i].handle >= 0 && (!files || handles[files - 1] != found[i].handle))
			handles[files++] = found[i].handle;
	symbols_fetch(namer->symbols, handles, files, request->on_fetch, report);
	free(handles);
}

/* Set the addresses of @call to those of @node and of its callers in the same module. */
static void set_addresses(
	const struct flameprof_profile *profile, uint32_t node, struct call_number *call)
{
	uint64_t leaf = profile_node_frame(profile_node_at(profile, node));

	for (uint32_t n = 0; n < CALL_NUMBER_FRAMES && node; n++) {
		uint64_t frame = profile_node_frame(profile_node_at(profile, node));

		if (WIRE_FRAME_MODULE(frame) != WIRE_FRAME_MODULE(leaf))
			break;
		call->addresses[n] = WIRE_FRAME_ADDRESS(frame);
		node = profile_node_at(profile, node)->parent;
	}
}

/* Find the leaves in system calls among the @count entries at @found, which are of one file. */
static void resolve_calls(struct frame_namer *namer, const struct located *found, uint32_t count,
	const uint8_t *marks)
{
	struct call_number *calls = calloc((size_t)count + 1, sizeof(*calls));
	uint32_t leaves = 0;

	for (uint32_t i = 0; calls && i < count; i++)
		if (marks[found[i].node] & IS_LEAF)
			set_addresses(namer->profile, found[i].node, &calls[leaves++]);
	if (leaves)
		symbols_system_calls(namer->symbols, found->handle, calls, leaves);
	leaves = 0;
	for (uint32_t i = 0; calls && i < count; i++) {
		uint32_t node = found[i].node;

		if (!(marks[node] & IS_LEAF))
			continue;
		namer->calls[node] = calls[leaves].number;
		for (uint32_t n = calls[leaves++].passing; n; n--) {
			namer->passes[node] = 1;
			node = profile_node_at(namer->profile, node)->parent;
		}
	}
	free(calls);
}

void frame_namer_resolve(struct frame_namer *namer, const struct naming_request *request,
	struct debuginfod_report *report)
{
	size_t room = namer->profile->node_count + (size_t)1;
	uint8_t *marks = calloc(room, sizeof(*marks));
	struct located *found = calloc(room, sizeof(*found));
	uint64_t *addresses = calloc(room, sizeof(*addresses));
	uint32_t count = 0, end;

	if (marks && found && addresses)
		count = collect_all(namer, request, marks, found);
	if (count)
		qsort(found, count, sizeof(*found), by_handle);
	if (request->fetches)
		fetch(namer, request, found, count, report);
	for (uint32_t from = 0; from < count; from = end) {
		for (end = from; end < count && found[end].handle == found[from].handle; end++)
			addresses[end - from] = found[end].address;
		symbols_resolve(namer->symbols, found[from].handle, addresses, end - from);
		resolve_calls(namer, found + from, end - from, marks);
	}
	free(marks);
	free(found);
	free(addresses);
}
