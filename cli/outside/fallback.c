/* SPDX-License-Identifier: MIT */
/*
 * Accessors for unw_init_remote(). libunwind's own, of libunwind-ptrace, ask the kernel for every
 * word, and find no information in static programs.
 */
#include "cli/outside/fallback.h"

#include <errno.h>
#include <libunwind.h>
#include <stdbool.h>
#include <string.h>

#include "libprof/unwind/dwarf.h"

/* Exported, but in no header. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
	unw_dyn_info_t *table, unw_proc_info_t *info, int need_unwind_info, void *context);

struct context {
	struct stackwalk *walk;
	const struct arch_registers *registers;
};

/* .eh_frame_hdr with the encodings that linkers write. */
struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame_offset;
	uint32_t count;
};

static int read_word(struct stackwalk *walk, uintptr_t address, uintptr_t *value)
{
	struct target *target = walk->target;

	/* Information is in the copy; whether it is mapped in the target does not matter. */
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

/* Registers have DWARF's numbers in libunwind, too. */
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

/* The frame at @ip as the wire has it. Returns 0 or -ENOENT: that is no code. */
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
		/* Its cache knows nothing of who is asking. */
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
