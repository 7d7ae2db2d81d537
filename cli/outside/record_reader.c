/* SPDX-License-Identifier: MIT */
/*
 * One function for each kind of record.
 */
#include "cli/outside/intake.h"

#include <stdlib.h>
#include <string.h>

static void take_image(struct outside_intake *intake, const char *bytes)
{
	struct record_image record;
	struct profile_image *image;
	uint32_t index;

	memcpy(&record, bytes, sizeof(record));
	index = profile_image(intake->profile, record.id);
	if (profile_error(intake->profile))
		return;
	image = profile_image_at(intake->profile, index);
	image->parent = record.parent;
	image->pid = record.pid;
	image->ppid = record.ppid;
	image->start_ns = record.start_ns;
	image->start_cpu_ns = record.cpu_ns;
	memcpy(image->exe, record.exe, sizeof(image->exe));
	memcpy(image->comm, record.comm, sizeof(image->comm));
	intake->live++;
	intake->images_met++;
}

static void take_module(struct outside_intake *intake, const char *bytes)
{
	struct record_module record;
	struct profile_module module = {0};

	memcpy(&record, bytes, sizeof(record));
	module.path = (char *)bytes + offsetof(struct record_module, path); /* copied */
	memcpy(module.build_id, record.build_id, sizeof(module.build_id));
	module.build_id_bytes = record.build_id_bytes;
	module.flags = record.flags;
	module.start = record.start;
	module.end = record.end;
	profile_add_module(intake->profile, profile_image(intake->profile, record.image),
		record.number, &module);
}

static void take_thread(struct outside_intake *intake, const char *bytes)
{
	struct record_thread record;

	memcpy(&record, bytes, sizeof(record));
	profile_thread(intake->profile, profile_image(intake->profile, record.image), record.tid,
		record.tid, record.comm);
}

static struct outside_last *last_of(struct outside_intake *intake, uint32_t thread)
{
	if (thread >= intake->last_room) {
		uint32_t room = (thread + 256) & ~255u;
		struct outside_last *more = realloc(intake->last, room * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + intake->last_room, 0, (room - intake->last_room) * sizeof(*more));
		intake->last = more;
		intake->last_room = room;
	}
	return &intake->last[thread];
}

/* Outermost first, as the profile builds its tree. */
static uint32_t node_of(
	struct outside_intake *intake, uint32_t root, const char *frames, uint32_t count)
{
	uint32_t node = root;

	for (uint32_t i = count; i-- > 0;) {
		uint64_t frame;

		memcpy(&frame, frames + i * sizeof(frame), sizeof(frame));
		node = profile_node(intake->profile, node, frame);
	}
	return node;
}

static void take_sample(struct outside_intake *intake, const char *bytes)
{
	struct record_sample record;
	struct profile_stack stack = {0};
	struct outside_last *last;
	uint32_t image, root;

	memcpy(&record, bytes, sizeof(record));
	image = profile_image(intake->profile, record.image);
	if (profile_error(intake->profile))
		return;
	root = profile_image_at(intake->profile, image)->root;
	/* What belongs to no thread is told as the main thread's. */
	stack.thread = profile_thread(intake->profile, image,
		record.tid ? record.tid : profile_image_at(intake->profile, image)->pid, record.tid,
		NULL);
	last = last_of(intake, stack.thread);
	if (!last || profile_error(intake->profile))
		return;
	stack.kind = record.kind;
	if (record.frames) {
		last->node = node_of(intake, root, bytes + offsetof(struct record_sample, frame),
			record.frames);
		last->end = record.end;
	}
	/* A stack for what may be credited later. */
	if (!record.weight)
		return;
	stack.node = record.tid && last->node ? last->node : root;
	stack.end = record.tid && last->node ? last->end : record.end;
	profile_add(intake->profile, &stack, record.time_ns, record.weight);
	if (record.kind != WIRE_KIND_CREDIT)
		profile_totals(intake->profile)->delivered += record.weight;
}

static void take_image_end(struct outside_intake *intake, const char *bytes)
{
	struct record_image_end record;
	struct profile_image *image;

	memcpy(&record, bytes, sizeof(record));
	image = profile_image_at(
		intake->profile, profile_image(intake->profile, record.image));
	image->end_cpu_ns = record.cpu_ns;
	image->ended = record.has_ended != 0;
	image->still_runs = !record.has_ended;
	image->left_by_exec = record.left_by_exec != 0;
	if (intake->live)
		intake->live--;
}

void outside_intake_take(struct outside_intake *intake, const char *bytes)
{
	struct record record;

	memcpy(&record, bytes, sizeof(record));
	if (profile_error(intake->profile))
		return;
	switch (record.type) {
	case RECORD_IMAGE:
		take_image(intake, bytes);
		break;
	case RECORD_MODULE:
		take_module(intake, bytes);
		break;
	case RECORD_THREAD:
		take_thread(intake, bytes);
		break;
	case RECORD_SAMPLE:
		take_sample(intake, bytes);
		break;
	case RECORD_IMAGE_END:
		take_image_end(intake, bytes);
		break;
	case RECORD_TOTALS:
		memcpy(&intake->totals, bytes, sizeof(intake->totals));
		break;
	}
}

void outside_intake_finish(struct outside_intake *intake)
{
	struct profile_totals *totals = profile_totals(intake->profile);

	for (uint32_t i = 0; i < profile_images(intake->profile); i++) {
		const struct profile_image *image = profile_image_at(intake->profile, i);

		if (image->end_cpu_ns > image->start_cpu_ns)
			totals->cpu_ns += image->end_cpu_ns - image->start_cpu_ns;
	}
	totals->threads = intake->totals.threads;
	totals->handler_ns = intake->totals.held_ns;
	totals->losses.dropped = intake->totals.dropped;
	totals->losses.late_threads = intake->totals.late_threads;
}

void outside_intake_release(struct outside_intake *intake)
{
	free(intake->last);
	intake->last = NULL;
	intake->last_room = 0;
}
