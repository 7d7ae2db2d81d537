/* SPDX-License-Identifier: MIT */
/*
 * The messages of a pprof profile, but for its texts.
 */
#include "libprof/aggregator/pprof.h"

#include <errno.h>

#include "libprof/aggregator/pprof_places.h"
#include "libprof/aggregator/pprof_texts.h"
#include "libprof/aggregator/profile.h"
#include "libprof/aggregator/protobuf_out.h"
#include "libprof/aggregator/replace_file.h"
#include "libprof/pprof/fields.h"

/* Places and functions behind those of the profile, for samples that have no frames. */
enum { EXTRA_UNSAMPLED = 1, EXTRA_NO_STACK = 2, EXTRAS = 2 };

#define NS_PER_S      1000000000ULL

struct writer {
	const struct flameprof_profile *profile;
	struct pprof_places places;
	uint32_t *first_mapping; /* by module: the number of its first mapping */
	size_t first_mapping_bytes;
	uint32_t mappings; /* written so far */
	uint32_t generated_mapping, machine_mapping;
	int has_both_times; /* of the clock and of virtual machines */
	uint64_t locations[WIRE_MAX_DEPTH];
	struct protobuf_out out;
};

/* ---- mappings -------------------------------------------------------------------------------- */

static uint32_t write_mapping(struct writer *w, const struct names_segment *segment, uint32_t file,
	uint32_t build_id, int has_functions)
{
	uint32_t id = ++w->mappings;

	protobuf_message_number(&w->out, MAPPING_ID, id);
	protobuf_message_number(&w->out, MAPPING_START, segment->start);
	protobuf_message_number(&w->out, MAPPING_LIMIT, segment->end);
	protobuf_message_number(&w->out, MAPPING_OFFSET, segment->file_offset);
	protobuf_message_number(&w->out, MAPPING_FILE, file);
	protobuf_message_number(&w->out, MAPPING_BUILD_ID, build_id);
	protobuf_message_number(&w->out, MAPPING_HAS_FUNCTIONS, has_functions);
	protobuf_message_end(&w->out, PROFILE_MAPPING);
	return id;
}

/* One mapping for each executable segment; for the whole where they are not known. */
static void write_module(struct writer *w, uint32_t index)
{
	const struct names_module *module = names_module(&w->profile->names, index);
	struct names_segment whole = {module->start, module->end, 0};
	uint32_t file = pprof_text_of_path(w->profile, index);
	uint32_t build_id = pprof_text_of_build_id(w->profile, index);

	w->first_mapping[index] = w->mappings + 1;
	if (!module->segments)
		write_mapping(w, &whole, file, build_id, 0);
	for (uint32_t i = 0; i < module->segments; i++)
		write_mapping(w, &module->segment[i], file, build_id, 0);
}

/* One mapping around all announced code, and one for what is none. */
static void write_generated(struct writer *w)
{
	const struct names *names = &w->profile->names;
	struct names_segment around = {UINT64_MAX, 0, 0}, nowhere = {0, 0, 0};
	uint32_t functions = 0;

	for (uint32_t i = 0; i < names->code_count; i++) {
		const struct names_code *code = names_code(names, i);

		if (names_code_is_function(code)) {
			functions++;
			continue;
		}
		if (code->start < around.start)
			around.start = code->start;
		if (code->start + code->bytes > around.end)
			around.end = code->start + code->bytes;
	}
	if (functions < names->code_count)
		w->generated_mapping =
			write_mapping(w, &around, PPROF_TEXT_GENERATED, PPROF_TEXT_EMPTY, 1);
	if (functions)
		w->machine_mapping =
			write_mapping(w, &nowhere, PPROF_TEXT_MACHINE, PPROF_TEXT_EMPTY, 1);
}

/* The program itself comes first: pprof takes the first mapping for it. */
static void write_mappings(struct writer *w)
{
	const struct names *names = &w->profile->names;

	for (uint32_t i = 0; i < names->module_count; i++)
		if (names_module(names, i)->flags & WIRE_MODULE_MAIN)
			write_module(w, i);
	for (uint32_t i = 0; i < names->module_count; i++)
		if (!(names_module(names, i)->flags & WIRE_MODULE_MAIN))
			write_module(w, i);
	write_generated(w);
}

/* The mapping that @address of a module lies in, 0 when it lies in none. */
static uint32_t mapping_of(const struct writer *w, uint32_t index, uint64_t address)
{
	const struct names_module *module = names_module(&w->profile->names, index);

	if (!module->segments)
		return w->first_mapping[index];
	for (uint32_t i = 0; i < module->segments; i++)
		if (address >= module->segment[i].start && address < module->segment[i].end)
			return w->first_mapping[index] + i;
	return 0;
}

/* ---- functions, locations, samples ----------------------------------------------------------- */

/* Without a system_name: where that is the same, pprof takes the name apart as if it were C++'s. */
static void write_function(struct writer *w, uint32_t id, uint32_t text, uint32_t file)
{
	protobuf_message_number(&w->out, FUNCTION_ID, id);
	protobuf_message_number(&w->out, FUNCTION_NAME, text);
	protobuf_message_number(&w->out, FUNCTION_FILE, file);
	protobuf_message_end(&w->out, PROFILE_FUNCTION);
}

static void write_functions(struct writer *w)
{
	const struct names *names = &w->profile->names;
	uint32_t count = names->code_count;

	for (uint32_t i = 0; i < count; i++)
		write_function(w, i + 1, pprof_text_of_code(w->profile, i),
			pprof_text_of_file(w->profile, names_code(names, i)->file));
	write_function(w, count + EXTRA_UNSAMPLED, PPROF_TEXT_UNSAMPLED, PPROF_TEXT_EMPTY);
	write_function(w, count + EXTRA_NO_STACK, PPROF_TEXT_NO_STACK, PPROF_TEXT_EMPTY);
}

static void write_location(
	struct writer *w, uint32_t id, uint32_t mapping, uint64_t address, uint32_t function,
	uint32_t line)
{
	protobuf_message_number(&w->out, LOCATION_ID, id);
	protobuf_message_number(&w->out, LOCATION_MAPPING, mapping);
	protobuf_message_number(&w->out, LOCATION_ADDRESS, address);
	if (function)
		protobuf_message_pair(
			&w->out, LOCATION_LINE, LINE_FUNCTION, function, LINE_LINE, line);
	protobuf_message_end(&w->out, PROFILE_LOCATION);
}

static void write_locations(struct writer *w)
{
	const struct names *names = &w->profile->names;
	uint32_t count = w->places.count;

	for (uint32_t i = 1; i <= count; i++) {
		uint64_t word = pprof_places_frame(&w->places, i);
		struct flameprof_frame frame = profile_frame(w->profile, word);

		if (frame.name)
			write_location(w, i,
				frame.address ? w->generated_mapping : w->machine_mapping,
				frame.address, names_find_code(names, WIRE_FRAME_ADDRESS(word)),
				frame.line);
		else if (frame.module != FLAMEPROF_NONE)
			write_location(w, i, mapping_of(w, frame.module, frame.address),
				frame.address, 0, 0);
		else
			write_location(w, i, 0, frame.address, 0, 0);
	}
	write_location(w, count + EXTRA_UNSAMPLED, 0, 0, names->code_count + EXTRA_UNSAMPLED, 0);
	write_location(w, count + EXTRA_NO_STACK, 0, 0, names->code_count + EXTRA_NO_STACK, 0);
}

static void write_sample(struct writer *w, const struct profile_stack *stack)
{
	const struct flameprof_profile *p = w->profile;
	const struct profile_thread *thread = profile_thread(p, stack->thread);
	int is_second = w->has_both_times && stack->kind == WIRE_KIND_VM;
	uint64_t values[3] = {stack->samples, 0, 0};
	uint32_t n = 0;

	values[1 + is_second] = stack->weight * p->period_ns;
	for (uint32_t node = stack->node; node; node = profile_node(p, node)->parent)
		w->locations[n++] = pprof_places_number(
			&w->places, profile_node_frame(profile_node(p, node)));
	if (!n)
		w->locations[n++] = w->places.count + (stack->kind == WIRE_KIND_CREDIT
			? EXTRA_UNSAMPLED : EXTRA_NO_STACK);
	protobuf_message_numbers(&w->out, SAMPLE_LOCATION, w->locations, n);
	protobuf_message_numbers(&w->out, SAMPLE_VALUE, values, 2 + (unsigned)w->has_both_times);
	protobuf_message_pair(&w->out, SAMPLE_LABEL, LABEL_KEY, PPROF_TEXT_THREAD_ID, LABEL_NUMBER,
		thread->key.tid);
	if (thread->name[0])
		protobuf_message_pair(&w->out, SAMPLE_LABEL, LABEL_KEY, PPROF_TEXT_THREAD,
			LABEL_STRING, pprof_text_of_thread(p, stack->thread));
	protobuf_message_end(&w->out, PROFILE_SAMPLE);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void write_type(struct writer *w, uint32_t field, uint32_t type, uint32_t unit)
{
	protobuf_message_number(&w->out, TYPE_TYPE, type);
	protobuf_message_number(&w->out, TYPE_UNIT, unit);
	protobuf_message_end(&w->out, field);
}

static void write_comments(struct writer *w)
{
	if (w->profile->title)
		protobuf_out_number(&w->out, PROFILE_COMMENT, PPROF_TEXT_TITLE);
	if (w->profile->dropped_weight)
		protobuf_out_number(&w->out, PROFILE_COMMENT, PPROF_TEXT_DROPPED);
	for (uint32_t i = 0; i < w->profile->mark_count; i++)
		protobuf_out_number(&w->out, PROFILE_COMMENT, pprof_text_of_mark(w->profile, i));
}

/* replace_file_fn */
static int write_all(void *context, int descriptor)
{
	struct writer *w = context;
	const struct flameprof_profile *p = w->profile;

	w->out.descriptor = descriptor;
	write_type(w, PROFILE_SAMPLE_TYPE, PPROF_TEXT_SAMPLES, PPROF_TEXT_COUNT);
	write_type(w, PROFILE_SAMPLE_TYPE, PPROF_TEXT_CLOCK, PPROF_TEXT_NANOSECONDS);
	w->has_both_times = p->vm_weight && p->clock != FLAMEPROF_CLOCK_VM;
	if (w->has_both_times)
		write_type(w, PROFILE_SAMPLE_TYPE, PPROF_TEXT_VM_TIME, PPROF_TEXT_NANOSECONDS);
	write_mappings(w);
	write_functions(w);
	write_locations(w);
	for (uint32_t i = 0; i < p->stack_count; i++)
		write_sample(w, profile_stack(p, i));
	pprof_texts_write(p, &w->out, PROFILE_STRING);
	protobuf_out_number(&w->out, PROFILE_TIME_NANOS, (uint64_t)p->start_wall_s * NS_PER_S);
	protobuf_out_number(&w->out, PROFILE_DURATION_NANOS,
		p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0);
	write_type(w, PROFILE_PERIOD_TYPE, PPROF_TEXT_CLOCK, PPROF_TEXT_NANOSECONDS);
	protobuf_out_number(&w->out, PROFILE_PERIOD, p->period_ns);
	write_comments(w);
	protobuf_out_number(&w->out, PROFILE_DEFAULT_TYPE, PPROF_TEXT_CLOCK);
	return protobuf_out_flush(&w->out);
}

int profile_write_pb(const struct flameprof_profile *p, const char *path)
{
	struct writer *w = pages_new(sizeof(*w));
	int error;

	if (!w)
		return -ENOMEM;
	w->profile = p;
	w->first_mapping_bytes = (p->names.module_count + 1) * sizeof(uint32_t);
	w->first_mapping = pages_new(w->first_mapping_bytes);
	error = w->first_mapping ? pprof_places_init(&w->places, p) : -ENOMEM;
	if (error)
		goto out;
	error = replace_file(path, write_all, w);
out:
	pprof_places_release(&w->places);
	pages_free(w->first_mapping, w->first_mapping_bytes);
	pages_free(w, sizeof(*w));
	return error;
}
