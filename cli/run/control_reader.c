/* SPDX-License-Identifier: MIT */
/*
 * The control rings' reader: what each record means to the profile.
 */
#include <string.h>

#include "cli/run/intake.h"
#include "libprof/wire_control.h"

static void take_module(struct intake *intake, uint32_t image, struct wire_module *module)
{
	struct profile_module out = {
		.path = module->path,
		.build_id_bytes = module->build_id_bytes,
		.flags = module->flags,
		.start = module->start,
		.end = module->end,
	};

	memcpy(out.build_id, module->build_id, sizeof(out.build_id));
	profile_add_module(intake->profile, image, module->number, &out);
}

static int take_function(
	struct intake *intake, uint32_t image, const struct wire_function *function)
{
	enum announced_kind kind =
		function->flags & WIRE_FUNCTION_ROOT ? ANNOUNCED_ROOT : ANNOUNCED_FUNCTION;

	return announced_add_function(profile_announced(intake->profile), image, function->space,
		kind, function->name, function->name + function->name_bytes, function->line);
}

/* What a program says beyond all bounds is a loss like that of a record that found no room. */
static void take_words(
	struct intake *intake, uint32_t image, const struct wire_control_record *record)
{
	struct announced *announced = profile_announced(intake->profile);
	const struct wire_code *code = &record->code;
	const struct wire_mark *mark = &record->mark;
	int error;

	if (record->type == WIRE_CONTROL_CODE)
		error = announced_add_code(
			announced, image, code->space, code->bytes, code->name);
	else if (record->type == WIRE_CONTROL_FUNCTION)
		error = take_function(intake, image, &record->function);
	else
		error = announced_add_mark(announced,
			&(struct announced_mark){.time_ns = mark->time_ns, .image = image,
				.tid = mark->tid, .text = (char *)(uintptr_t)mark->name});
	if (error)
		profile_totals(intake->profile)->losses.control_dropped++;
}

static void take(struct intake *intake, uint32_t image, struct wire_control_record *record)
{
	if (record->type == WIRE_CONTROL_MODULE)
		take_module(intake, image, &record->module);
	else
		take_words(intake, image, record);
}

void control_read_all(struct intake *intake, uint32_t slot_index, uint32_t image)
{
	struct wire_slot *slot = wire_slot(intake->arena, slot_index);
	char *ring = wire_control_data(intake->arena, slot_index);
	struct wire_control_record record;

	/* At most one ringful: writers may be as fast as we are. */
	for (uint32_t taken = 0; taken < WIRE_CONTROL_BYTES; taken += record.bytes) {
		enum wire_control_step step = wire_control_take(slot, ring, &record);

		if (step == WIRE_CONTROL_DAMAGED)
			profile_totals(intake->profile)->losses.malformed++;
		if (step == WIRE_CONTROL_EMPTY || step == WIRE_CONTROL_DAMAGED)
			break;
		if (step == WIRE_CONTROL_TAKEN)
			take(intake, image, &record);
	}
}
