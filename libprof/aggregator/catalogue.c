/* SPDX-License-Identifier: MIT */
/*
 * The catalogue: what control records told, and handing to each profile what its stacks name.
 */
#include <errno.h>

#include "libprof/profile/names.h"
#include "libprof/profile/profile.h"
#include "libprof/aggregator/segments.h"
#include "libprof/aggregator/store.h"
#include "libprof/wire_control.h"

/* Modules take little; this is some 500,000 pieces of generated code. */
#define CATALOGUE_BYTES_MAX (64u << 20)

struct store_catalogue {
	struct pages_account account;
	struct names names;
	uint64_t lost;
	struct wire_control_record record; /* too large for any stack */
};

struct store_catalogue *store_catalogue_new(void)
{
	struct store_catalogue *catalogue = pages_new(sizeof(*catalogue));

	if (catalogue)
		catalogue->account.limit_bytes = CATALOGUE_BYTES_MAX;
	return catalogue;
}

void store_catalogue_free(struct store_catalogue *catalogue)
{
	if (!catalogue)
		return;
	names_release(&catalogue->names, &catalogue->account);
	pages_free(catalogue, sizeof(*catalogue));
}

uint64_t store_catalogue_lost(const struct store_catalogue *catalogue)
{
	return catalogue->lost;
}

static int take_module(struct store_catalogue *catalogue, const struct wire_module *record)
{
	struct names_module module = {
		.number = record->number,
		.flags = record->flags,
		.start = record->start,
		.end = record->end,
		.bias = record->bias,
		.build_id_bytes = record->build_id_bytes,
	};

	if (module.start >= module.end)
		return -EINVAL;
	memcpy(module.build_id, record->build_id, sizeof(module.build_id));
	segments_read(&module);
	return names_add_module(&catalogue->names, &catalogue->account, &module, record->path);
}

static int take_code(struct store_catalogue *catalogue, const struct wire_code *record)
{
	struct names_code code = {
		.space = record->space,
		.bytes = record->bytes,
		.start = record->start,
		.flags = record->flags,
	};

	return names_add_code(&catalogue->names, &catalogue->account, &code, record->name);
}

static int take_function(struct store_catalogue *catalogue, const struct wire_function *record)
{
	const struct names_code code = {
		.space = record->space, .bytes = 1, .line = record->line, .flags = record->flags};

	return names_add_function(&catalogue->names, &catalogue->account, &code, record->name,
		record->name + record->name_bytes);
}

static int take_mark(struct flameprof_profile *profile, const struct wire_mark *record)
{
	return profile ? profile_add_mark(profile, record->time_ns, record->tid, record->name)
		       : -ENOSPC;
}

static int take(struct store_catalogue *catalogue, struct flameprof_profile *profile)
{
	const struct wire_control_record *record = &catalogue->record;

	switch (record->type) {
	case WIRE_CONTROL_MODULE:
		return take_module(catalogue, &record->module);
	case WIRE_CONTROL_CODE:
		return take_code(catalogue, &record->code);
	case WIRE_CONTROL_FUNCTION:
		return take_function(catalogue, &record->function);
	case WIRE_CONTROL_MARK:
		return take_mark(profile, &record->mark);
	default:
		return -EINVAL;
	}
}

unsigned store_read_control(struct store_catalogue *catalogue, void *arena, uint32_t slot_index,
	struct flameprof_profile *profile)
{
	struct wire_slot *slot = wire_slot(arena, slot_index);
	char *ring = wire_control_data(arena, slot_index);
	unsigned taken = 0;

	/* At most one ringful: writers may be as fast as we are. */
	for (uint32_t bytes = 0; bytes < WIRE_CONTROL_BYTES; bytes += catalogue->record.bytes) {
		enum wire_control_step step = wire_control_take(slot, ring, &catalogue->record);

		if (step == WIRE_CONTROL_EMPTY || step == WIRE_CONTROL_DAMAGED)
			break;
		if (step == WIRE_CONTROL_TAKEN) {
			taken++;
			catalogue->lost += take(catalogue, profile) != 0;
		}
	}
	return taken;
}

static int resolve_module(struct flameprof_profile *p, const struct names *names, uint32_t number)
{
	uint32_t known = names_find_module(names, 0, number);
	const struct names_module *module = known ? names_module(names, known - 1) : NULL;

	if (!module || names_find_module(&p->names, 0, number))
		return 0;
	return names_add_module(
		&p->names, &p->account, module, names_string(names, module->path));
}

static int resolve_code(struct flameprof_profile *p, const struct names *names, uint64_t space)
{
	uint32_t known = names_find_code(names, space);
	const struct names_code *code = known ? names_code(names, known - 1) : NULL;

	if (!code || names_find_code(&p->names, space))
		return 0;
	return names_add_function(&p->names, &p->account, code, names_string(names, code->name),
		names_file(names, code->file));
}

int store_resolve(struct flameprof_profile *p, const struct store_catalogue *catalogue)
{
	p->account.limit_bytes = p->limit_bytes;
	for (uint32_t i = 1; i <= p->node_count; i++) {
		uint64_t frame = profile_node_frame(profile_node_at(p, i));
		uint32_t number = WIRE_FRAME_MODULE(frame);
		int error;

		if (number == WIRE_MODULE_CODE)
			error = resolve_code(p, &catalogue->names, WIRE_FRAME_ADDRESS(frame));
		else
			error = resolve_module(p, &catalogue->names, number);
		if (error)
			return error;
	}
	return 0;
}
