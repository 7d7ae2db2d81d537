/* SPDX-License-Identifier: MIT */
/*
 * Run the unwinding core on another process. Call-frame information is read from a copy in
 * flamerun's memory, because reading a mapped file that was truncated would raise SIGBUS. The core
 * uses addresses in the target, so walk_pointer() translates them to addresses in the copy of the
 * current module.
 *
 * If the core does not reach the outermost frame, the walk is repeated by nongnu libunwind. The
 * result of libunwind is used only if it reaches the outermost frame. libunwind executes all
 * call-frame instructions but caches nothing, so it is slower. It gets the accessors of this file,
 * because those of libunwind-ptrace make a system call for every word and find no call-frame
 * information in static programs.
 */
#include "cli/outside/stackwalk.h"

#include <errno.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/outside/target_language.h"
#include "libprof/unwind/dwarf.h"

/* The start code of a program uses at most this many bytes of the stack before it calls main(). */
#define START_BYTES 512u

/*
 * The current walk and module. They are static because UNWIND_CFI_POINTER has no context parameter.
 */
static struct {
	struct stackwalk *walk;
	/* `copy` holds the target's bytes from address `start` to address `end`. */
	uintptr_t start, end;
	const char *copy;
} current;

/*
 * Translate an address in the target to an address of flamerun. If it is in call-frame information,
 * the core has checked that the information is wholly inside the copy. Otherwise the core reads
 * code, to recognize a signal trampoline: read the word at this address, or return 0 if it cannot
 * be read.
 */
static inline const void *walk_pointer(uintptr_t address)
{
	static uintptr_t word;

	if (address >= current.start && address < current.end)
		return current.copy + (address - current.start);
	if (memory_word(current.walk->memory, address, &word))
		word = 0;
	return &word;
}

#define UNWIND_CFI_POINTER(address) walk_pointer(address)

/* If two successive reads are this many bytes apart, the second is from another stack. */
#define FRAME_BYTES 4096u

/*
 * If a walk over a copied stack continues on another stack, set has_other_stacks. This happens, for
 * example, if Go's runtime has switched from a goroutine's stack to its own. The other stack is not
 * in the copy and may have changed. From then on, threads of this process stay stopped during
 * walks.
 */
static void note_other_stack(const struct stackwalk *walk, uintptr_t address)
{
	const struct memory *memory = walk->memory;
	const struct mapping *mapping;

	if (!memory->stack || address - memory->stack_start < memory->stack_bytes ||
		address - walk->last_read < FRAME_BYTES || walk->target->has_other_stacks)
		return;
	mapping = maps_find(&walk->target->maps, address);
	walk->target->has_other_stacks = !mapping || !mapping->is_code;
}

static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	struct stackwalk *walk = context;

	note_other_stack(walk, address);
	walk->last_read = address;
	return memory_word(walk->memory, address, value);
}

/* May @pc be in code that was mapped after the maps were read? True at most once per walk. */
static bool is_news(const struct stackwalk *walk, uintptr_t pc)
{
	const struct mapping *mapping = maps_find(&walk->target->maps, pc);

	return !walk->is_remapped && (!mapping || !mapping->is_code);
}

/*
 * Do as target_find(). If @pc is in no known mapping, read the mappings again first, at most once
 * per walk.
 */
static int stackwalk_find(struct stackwalk *walk, uintptr_t pc, struct unwind_module *out,
	const struct object **object)
{
	int error = target_find(walk->target, walk->shared, pc, out, object);

	if (!error || !is_news(walk, pc))
		return error;
	walk->is_remapped = true;
	target_remap(walk->target, walk->shared);
	return target_find(walk->target, walk->shared, pc, out, object);
}

static bool is_code(struct stackwalk *walk, uintptr_t pc)
{
	const struct mapping *mapping;

	if (is_news(walk, pc)) {
		walk->is_remapped = true;
		target_remap(walk->target, walk->shared);
	}
	mapping = maps_find(&walk->target->maps, pc);
	return mapping && mapping->is_code;
}

static inline int UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out)
{
	const struct object *object = NULL;
	int error = stackwalk_find(context, pc, out, &object);

	current.start = error ? 0 : out->cfi_start;
	current.end = error ? 0 : out->cfi_end;
	current.copy = error ? NULL : object->cfi;
	return error;
}

static inline unsigned run_language(struct stackwalk *walk, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	if (walk->is_native || (!module->runtime && !walk->runs.generator))
		return 0;
	return target_language_run(&walk->runs, walk->shared, module, frame, frames, room);
}

#define WORDS_SEARCHED 64u

/*
 * Search the words at @sp for return addresses in modules with a runtime. This is needed because a
 * walk that begins in generated code may reach no module. If a runtime is found, walk_known()
 * repeats the walk. To limit the cost, only calls 0, 1, 2, 4, 8 and so on search (cf.
 * libprof/sampler/handler.c).
 */
static void find_modules_nearby(struct stackwalk *walk, uintptr_t sp)
{
	uint32_t call = walk->target->sought++;
	struct unwind_module module;
	uintptr_t word;

	if (call & (call - 1))
		return;
	for (unsigned n = 0; n < WORDS_SEARCHED; n++)
		if (!runtime_load_word(&walk->runs.reader, sp + n * sizeof(word), &word))
			target_find(walk->target, walk->shared, word, &module, NULL);
}

static inline int ask_language(struct stackwalk *walk, struct unwind_activation *at)
{
	/*
	 * A walk over a copied stack reads no language frames. Still search for a runtime, because
	 * later walks are done while the thread is stopped and read language frames.
	 */
	if (!walk->target->language && at->question == UNWIND_GENERATED)
		find_modules_nearby(walk, at->sp);
	return walk->is_native ? 0 : runtime_walk_step(&walk->runs, at);
}

#define UNWIND_RUN(context, module, frame, frames, room) \
	run_language(context, module, frame, frames, room)
#define UNWIND_ASK(context, at)	    ask_language(context, at)
#define UNWIND_IS_CODE(context, pc) is_code(context, pc)
#define UNWIND_PARTIAL		    1
#include "libprof/unwind/unwind_core.h"

static struct unwind_result walk_known(struct stackwalk *walk,
	const struct arch_registers *registers, uint64_t known, uint64_t *frames)
{
	const struct unwind_bounds none = {0, 0};
	struct unwind_result result;

	/*
	 * Repeat the walk if it has found a runtime, because it skipped this runtime's frames until
	 * then.
	 */
	do {
		current.walk = walk;
		current.start = current.end = 0;
		target_language_begin(&walk->runs, walk->target, registers->r[ARCH_DWARF_PC]);
		result = unwind_walk_known(registers, known, &none, frames, WIRE_MAX_DEPTH, walk);
	} while (!walk->is_native && target_language_appeared(&walk->runs, walk->target));
	runtime_walk_end(&walk->runs, frames, &result);
	return result;
}

struct unwind_result stackwalk_asleep(
	struct stackwalk *walk, uintptr_t pc, uintptr_t sp, uint64_t *frames)
{
	struct arch_registers registers = {0};

	registers.r[ARCH_DWARF_PC] = pc;
	registers.r[ARCH_DWARF_SP] = sp;
	return walk_known(walk, &registers,
		unwind_register_bit(ARCH_DWARF_PC) | unwind_register_bit(ARCH_DWARF_SP), frames);
}

struct unwind_result stackwalk_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames)
{
	uintptr_t top = walk->target->stack_top;
	struct unwind_result result = walk_known(walk, registers, ~0ULL, frames);

	/*
	 * musl's caller of main() has no call-frame information. A walk that ends there is
	 * complete.
	 */
	if (result.end == WIRE_END_LOST && walk->last_read < top &&
		top - walk->last_read <= START_BYTES)
		result.end = WIRE_END_ROOT;
	return result;
}

/* ---- libunwind ------------------------------------------------------------------------------- */

/* libunwind exports this function, but declares it in no header. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
	unw_dyn_info_t *table, unw_proc_info_t *info, int need_unwind_info, void *context);

struct context {
	struct stackwalk *walk;
	const struct arch_registers *registers;
};

/* The first bytes of .eh_frame_hdr, if the encodings are those that linkers write. */
struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame_offset;
	uint32_t count;
};

static int read_word(struct stackwalk *walk, uintptr_t address, uintptr_t *value)
{
	struct target *target = walk->target;

	/* Read call-frame information from the copy: the target may not have it mapped. */
	for (unsigned i = 0; i < target->range_count; i++) {
		const struct target_range *range = &target->ranges[i];
		const struct object *object = range->object;
		uintptr_t at = address - range->bias;

		if (object->header && at >= object->cfi_start && at < object->cfi_end &&
			object->cfi_end - at >= sizeof(*value)) {
			memcpy(value, object->cfi + (at - object->cfi_start), sizeof(*value));
			return 0;
		}
	}
	return memory_word(walk->memory, address, value);
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
	int need_unwind_info, void *argument)
{
	const struct context *context = argument;
	struct unwind_module module;
	const struct object *object;
	struct header header;
	unw_dyn_info_t table = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};

	if (stackwalk_find(context->walk, ip, &module, &object) || !object->header ||
		object->cfi_end - object->header < sizeof(header))
		return -UNW_ENOINFO;
	memcpy(&header, object->cfi + (object->header - object->cfi_start), sizeof(header));
	if (header.version != 1 || header.count_encoding != CFI_PTR_UDATA4 ||
		header.table_encoding != (CFI_PTR_DATAREL | CFI_PTR_SDATA4))
		return -UNW_ENOINFO;
	table.start_ip = module.start;
	table.end_ip = module.end;
	table.u.rti.segbase = module.eh_frame_hdr;
	table.u.rti.table_data = module.eh_frame_hdr + sizeof(header);
	table.u.rti.table_len = header.count;
	return UNW_OBJ(dwarf_search_unwind_table)(
		space, ip, &table, info, need_unwind_info, argument);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space, (void)info, (void)argument;
}

static int no_dynamic_list(unw_addr_space_t space, unw_word_t *list, void *argument)
{
	(void)space, (void)list, (void)argument;
	return -UNW_ENOINFO;
}

static int access_memory(
	unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *argument)
{
	const struct context *context = argument;
	uintptr_t word;

	(void)space;
	if (write || read_word(context->walk, address, &word))
		return -UNW_EINVAL;
	*value = word;
	return 0;
}

/* Read register @reg. libunwind uses DWARF's register numbers, as arch_registers does. */
static int access_register(
	unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *argument)
{
	const struct context *context = argument;

	(void)space;
	if (write || reg < 0 || reg >= ARCH_DWARF_REGS)
		return -UNW_EBADREG;
	*value = context->registers->r[reg];
	return 0;
}

static int no_float(
	unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *argument)
{
	(void)space, (void)reg, (void)value, (void)write, (void)argument;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
	(void)space, (void)cursor, (void)argument;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *name, size_t bytes,
	unw_word_t *offset, void *argument)
{
	(void)space, (void)address, (void)name, (void)bytes, (void)offset, (void)argument;
	return -UNW_ENOINFO;
}

/* Set *@frame to the WIRE_FRAME of @ip, or, unless @is_exact, of the call instruction before it. */
static int put_frame(struct stackwalk *walk, uintptr_t ip, bool is_exact, uint64_t *frame)
{
	uintptr_t pc = ip - !is_exact;
	struct unwind_module module;

	if (stackwalk_find(walk, pc, &module, NULL))
		return -ENOENT;
	*frame = WIRE_FRAME(module.number, pc - module.bias);
	return 0;
}

struct unwind_result fallback_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_dynamic_list,
		.access_mem = access_memory,
		.access_reg = access_register,
		.access_fpreg = no_float,
		.resume = no_resume,
		.get_proc_name = no_name,
	};
	static unw_addr_space_t space;
	struct context context = {walk, registers};
	struct unwind_result result = {.end = WIRE_END_LOST};
	bool is_exact = true;
	unw_cursor_t cursor;
	unw_word_t ip;
	int step = 1;

	if (!space) {
		space = unw_create_addr_space(&accessors, 0);
		/* Do not let libunwind cache: the keys of its cache do not contain the process. */
		if (space)
			unw_set_caching_policy(space, UNW_CACHE_NONE);
	}
	if (!space || unw_init_remote(&cursor, space, &context))
		return result;
	while (step > 0 && result.frames < WIRE_MAX_DEPTH) {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) ||
			put_frame(walk, ip, is_exact, &frames[result.frames]))
			break;
		result.frames++;
		is_exact = unw_is_signal_frame(&cursor) > 0;
		step = unw_step(&cursor);
	}
	if (step == 0)
		result.end = WIRE_END_ROOT;
	else
		result.frames = 0;
	return result;
}
