/* SPDX-License-Identifier: MIT */
/* Read a profile: the public functions of flameprof_profile.h, and some for flamerun. */
#include <errno.h>

#include "libprof/profile/profile.h"

void flameprof_profile_info(
	const struct flameprof_profile *p, struct flameprof_profile_summary *out)
{
	if (!p || !out)
		return;
	*out = (struct flameprof_profile_summary){
		.title = names_string(&p->names, p->title),
		.start_ns = p->start_ns,
		.end_ns = p->end_ns,
		.start_wall_s = p->start_wall_s,
		.period_ns = p->period_ns,
		.clock = p->clock,
		.weight = p->weight,
		.vm_weight = p->vm_weight,
		.samples = p->sample_count,
		.threads = p->thread_count,
		.stacks = p->stack_count,
		.modules = p->names.module_count,
		.marks = p->mark_count,
	};
}

int flameprof_profile_thread(
	const struct flameprof_profile *p, uint32_t index, struct flameprof_thread *out)
{
	const struct profile_thread *thread;

	if (!p || !out)
		return -EINVAL;
	if (index >= p->thread_count)
		return -ERANGE;
	thread = profile_thread_at(p, index);
	*out = (struct flameprof_thread){
		.name = thread->name,
		.tid = thread->tid,
		.weight = thread->weight,
	};
	return 0;
}

int flameprof_profile_module(
	const struct flameprof_profile *p, uint32_t index, struct flameprof_module *out)
{
	const struct names_module *module;

	if (!p || !out)
		return -EINVAL;
	if (index >= p->names.module_count)
		return -ERANGE;
	module = names_module(&p->names, index);
	*out = (struct flameprof_module){
		.path = names_string(&p->names, module->path),
		.build_id = module->build_id_bytes ? module->build_id : NULL,
		.build_id_bytes = module->build_id_bytes,
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
	};
	return 0;
}

int flameprof_profile_stack(
	const struct flameprof_profile *p, uint32_t index, struct flameprof_stack *out)
{
	const struct profile_stack *stack;

	if (!p || !out)
		return -EINVAL;
	if (index >= p->stack_count)
		return -ERANGE;
	stack = profile_stack_at(p, index);
	*out = (struct flameprof_stack){
		.thread = stack->thread,
		.frames = stack->frames,
		.weight = stack->weight,
		.samples = stack->samples,
		.end = (enum flameprof_end)stack->end,
		.is_credit = stack->kind == WIRE_KIND_CREDIT,
		.is_vm = stack->kind == WIRE_KIND_VM,
		.is_wait = stack->kind == WIRE_KIND_WAIT,
	};
	return 0;
}

struct flameprof_frame profile_frame(const struct flameprof_profile *p, uint64_t word)
{
	uint64_t address = WIRE_FRAME_ADDRESS(word);
	uint32_t number = WIRE_FRAME_MODULE(word);
	struct flameprof_frame frame = {.module = FLAMEPROF_NONE};
	uint32_t known;

	if (number == WIRE_MODULE_NONE) {
		frame.address = address;
	} else if (number == WIRE_MODULE_CODE || wire_frame_waits(word)) {
		known = names_find_code(&p->names, address);
		if (known) {
			const struct names_code *code = names_code(&p->names, known - 1);

			frame.name = names_string(&p->names, code->name);
			if (!names_code_is_function(code))
				frame.address = code->start + (address - code->space);
			if (code->file)
				frame.file = names_file(&p->names, code->file);
			frame.line = code->line;
		}
	} else {
		known = names_find_module(&p->names, 0, number);
		if (known) {
			frame.module = known - 1;
			frame.address = names_module(&p->names, known - 1)->bias + address;
		}
	}
	return frame;
}

int flameprof_profile_frames(const struct flameprof_profile *p, uint32_t index,
	struct flameprof_frame *frames, unsigned room)
{
	const struct profile_stack *stack;
	uint32_t number;

	if (!p || (room && !frames))
		return -EINVAL;
	if (index >= p->stack_count)
		return -ERANGE;
	stack = profile_stack_at(p, index);
	number = stack->node;
	for (unsigned i = 0; i < room && number; i++) {
		const struct profile_node *node = profile_node_at(p, number);

		frames[i] = profile_frame(p, profile_node_frame(node));
		number = node->parent;
	}
	return stack->frames;
}

int flameprof_profile_sample(
	const struct flameprof_profile *p, uint64_t index, struct flameprof_sample *out)
{
	if (!p || !out)
		return -EINVAL;
	if (index >= p->sample_count)
		return -ERANGE;
	*out = ((const struct flameprof_sample *)p->samples.at)[index];
	return 0;
}

int flameprof_profile_mark(
	const struct flameprof_profile *p, uint32_t index, struct flameprof_mark *out)
{
	const struct profile_mark *mark;

	if (!p || !out)
		return -EINVAL;
	if (index >= p->mark_count)
		return -ERANGE;
	mark = profile_mark_at(p, index);
	*out = (struct flameprof_mark){
		.time_ns = mark->time_ns,
		.tid = mark->tid,
		.name = names_string(&p->names, mark->name),
	};
	return 0;
}

const struct names_code *profile_code_at(
	const struct flameprof_profile *p, uint32_t image, uint64_t address)
{
	const struct names *words = profile_names(p, image);
	uint32_t known = words ? names_find_code(words, address) : 0;

	return known ? names_code(words, known - 1) : NULL;
}

int profile_is_hidden(const struct flameprof_profile *p, uint32_t image, uint32_t node)
{
	const struct profile_node *of = profile_node_at(p, node);
	uint64_t below = profile_node_frame(profile_node_at(p, of->parent));
	const struct names_code *stub;

	if (!of->parent || WIRE_FRAME_MODULE(below) != WIRE_MODULE_CODE ||
		WIRE_FRAME_MODULE(profile_node_frame(of)) == WIRE_MODULE_CODE)
		return 0;
	stub = profile_code_at(p, image, WIRE_FRAME_ADDRESS(below));
	return stub && stub->flags & WIRE_CODE_HIDES_TARGET;
}

uint64_t profile_first_ns(const struct flameprof_profile *p)
{
	uint64_t first_ns = UINT64_MAX;

	for (uint64_t i = 0; i < p->sample_count; i++) {
		uint64_t time_ns = profile_sample_at(p, i)->time_ns;

		if (time_ns && time_ns < first_ns)
			first_ns = time_ns;
	}
	return first_ns;
}
