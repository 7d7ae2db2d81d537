/* SPDX-License-Identifier: MIT */
/*
 * The order of the passes, and the passes that have no file of their own. A pass takes time linear
 * in the size of the tree; reversing takes time proportional to the sum of the stacks' depths. No
 * pass recurses, because stacks in files may be deep.
 */
#include "render/transform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/pass.h"

/* ---- filters --------------------------------------------------------------------------------- */

static int root_pass(struct pass *pass)
{
	pass->new_node[CALLTREE_ROOT] = PASS_NOWHERE;
	for (uint32_t i = 1; i < pass->nodes; i++) {
		uint32_t parent = pass->new_node[pass_node(pass, i)->parent];

		if (parent == PASS_NOWHERE && pass->matches[pass_node(pass, i)->frame])
			parent = CALLTREE_ROOT;
		pass->new_node[i] =
			parent == PASS_NOWHERE ? PASS_NOWHERE : pass_child(pass, parent, i);
	}
	return 0;
}

/* Keep only the stacks that have a matching frame (@wanted is 1) or that have none (0). */
static int stacks_pass(struct pass *pass, uint8_t wanted)
{
	uint8_t *has_match = pass_array(pass->nodes, sizeof(*has_match));
	uint8_t *is_needed = pass_array(pass->nodes, sizeof(*is_needed));
	int error = has_match && is_needed ? 0 : -ENOMEM;

	for (uint32_t i = 1; !error && i < pass->nodes; i++)
		has_match[i] = has_match[pass_node(pass, i)->parent] |
			       pass->matches[pass_node(pass, i)->frame];
	for (uint32_t i = error ? 0 : pass->nodes - 1; i > 0; i--) {
		is_needed[i] |= pass->is_leaf[i] && has_match[i] == wanted;
		is_needed[pass_node(pass, i)->parent] |= is_needed[i];
	}
	for (uint32_t i = 1; !error && i < pass->nodes; i++)
		if (is_needed[i])
			pass->new_node[i] =
				pass_child(pass, pass->new_node[pass_node(pass, i)->parent], i);
	for (uint32_t i = 0; !error && i < pass->nodes; i++)
		if (has_match[i] != wanted)
			pass->new_node[i] = PASS_NOWHERE;
	free(has_match);
	free(is_needed);
	return error;
}

static int focus_pass(struct pass *pass)
{
	return stacks_pass(pass, 1);
}

static int ignore_pass(struct pass *pass)
{
	return stacks_pass(pass, 0);
}

/* Keep all stacks, but drop nodes whose subtree has no weight. */
static int prune_pass(struct pass *pass)
{
	return stacks_pass(pass, 0);
}

static int hide_pass(struct pass *pass)
{
	for (uint32_t i = 1; i < pass->nodes; i++) {
		uint32_t parent = pass->new_node[pass_node(pass, i)->parent];

		pass->new_node[i] =
			pass->matches[pass_node(pass, i)->frame] && !pass_is(pass, i, CALLTREE_WAIT)
				? parent
				: pass_child(pass, parent, i);
	}
	/*
	 * Drop the weight of stacks that have only hidden frames. Do so after the loop above, which
	 * needs CALLTREE_ROOT there as the parent of frames below hidden frames.
	 */
	for (uint32_t i = 1; i < pass->nodes; i++)
		if (pass->new_node[i] == CALLTREE_ROOT)
			pass->new_node[i] = PASS_NOWHERE;
	return 0;
}

/* ---- kinds of time --------------------------------------------------------------------------- */

static int is_wait(const struct calltree_frame *frame, void *context)
{
	(void)context;
	return frame->kind == CALLTREE_WAIT;
}

static int cpu_pass(struct pass *pass)
{
	pass->lines = PASS_LINES_CPU;
	return stacks_pass(pass, 0);
}

static int waits_pass(struct pass *pass)
{
	pass->lines = PASS_LINES_WAITS;
	return stacks_pass(pass, 1);
}

int transform_times(const struct calltree *tree, enum calltree_times times, struct calltree **out)
{
	const struct transform_matcher matcher = {.match = is_wait};
	uint64_t waits = calltree_waits(tree), none;
	bool is_all = times == CALLTREE_TIMES_CPU     ? !waits
		      : times == CALLTREE_TIMES_WAITS ? waits == calltree_total(tree)
						      : true;
	struct calltree *made = NULL;
	int error = 0;

	if (!is_all)
		error = pass_run(tree, times == CALLTREE_TIMES_CPU ? cpu_pass : waits_pass,
			&matcher, NULL, &made, &none);
	if (!error)
		*out = made;
	return error;
}

/* ---- modules --------------------------------------------------------------------------------- */

/*
 * Replace the frame's name by its module's. If the module is unknown, native, inlined and generated
 * code gets a name that says so. Other frames keep their names.
 */
static void rename_to_module(struct pass *pass, struct calltree_frame *frame)
{
	bool is_compiled = frame->kind == CALLTREE_NATIVE || frame->kind == CALLTREE_INLINE ||
			   frame->kind == CALLTREE_UNNAMED;

	if (frame->kind == CALLTREE_WAIT)
		return;
	pass_drop_source(pass, frame);
	if (*frame->module)
		frame->name = frame->module;
	else if (frame->kind == CALLTREE_JIT)
		frame->name = "[generated code]";
	else if (frame->kind == CALLTREE_NATIVE || frame->kind == CALLTREE_INLINE)
		frame->name = "[unknown module]";
	if (frame->kind != CALLTREE_KERNEL && (*frame->module || is_compiled))
		frame->kind = is_compiled ? CALLTREE_NATIVE : CALLTREE_JIT;
}

static int module_pass(struct pass *pass)
{
	pass->rename = rename_to_module;
	pass->lines = PASS_LINES_LEAVE;
	for (uint32_t i = 1; i < pass->nodes; i++) {
		uint32_t parent = pass->new_node[pass_node(pass, i)->parent];
		uint32_t frame = pass_frame(pass, pass_node(pass, i)->frame);

		pass->new_node[i] =
			parent != CALLTREE_ROOT &&
					calltree_node_at(pass->to, parent)->frame == frame
				? parent
				: calltree_child(pass->to, parent, frame);
	}
	return 0;
}

/* ---- turning round --------------------------------------------------------------------------- */

/*
 * Reverse every stack, except for root frames of groups (process, thread), files and idle threads.
 */
static int reverse_pass(struct pass *pass)
{
	/* [node] -> its new node if the node stays at the root; otherwise PASS_NOWHERE */
	uint32_t *kept = pass_array(pass->nodes, sizeof(*kept));
	int error = kept ? 0 : -ENOMEM;

	for (uint32_t i = 1; kept && i < pass->nodes; i++) {
		uint32_t parent = kept[pass_node(pass, i)->parent];
		bool stays = pass_is(pass, i, CALLTREE_IDLE) ||
			     (pass_is(pass, i, CALLTREE_PROCESS) &&
				     (pass->shape->by_process || pass->shape->by_file)) ||
			     (pass_is(pass, i, CALLTREE_THREAD) && pass->shape->by_thread);

		/* If its process frame is reversed, an idle frame moves to the root. */
		if (stays && parent == PASS_NOWHERE && pass_is(pass, i, CALLTREE_IDLE))
			parent = CALLTREE_ROOT;
		kept[i] = stays && parent != PASS_NOWHERE ? pass_child(pass, parent, i)
							  : PASS_NOWHERE;
	}
	for (uint32_t i = 0; kept && i < pass->nodes; i++) {
		uint32_t top = i;

		if (!pass->is_leaf[i])
			continue;
		while (kept[top] == PASS_NOWHERE)
			top = pass_node(pass, top)->parent;
		pass->new_node[i] = kept[top];
		for (uint32_t at = i; at != CALLTREE_ROOT; at = pass_node(pass, at)->parent)
			if (kept[at] == PASS_NOWHERE)
				pass->new_node[i] = pass_child(pass, pass->new_node[i], at);
	}
	free(kept);
	return error;
}

/* ---- one after the other --------------------------------------------------------------------- */

int transform_filter(const struct calltree *tree,
	const struct transform_matcher filters[TRANSFORM_FILTERS], struct calltree **out,
	uint64_t left_out[TRANSFORM_FILTERS])
{
	static pass_fn *const passes[TRANSFORM_FILTERS] = {
		[TRANSFORM_ROOT] = root_pass,
		[TRANSFORM_FOCUS] = focus_pass,
		[TRANSFORM_IGNORE] = ignore_pass,
		[TRANSFORM_HIDE] = hide_pass,
	};
	struct calltree *made = NULL;
	uint64_t lost[TRANSFORM_FILTERS] = {0};
	int error = 0;

	for (int i = 0; !error && i < TRANSFORM_FILTERS; i++)
		if (filters[i].match)
			error = pass_run(tree, passes[i], &filters[i], NULL, &made, &lost[i]);
	if (error) {
		calltree_free(made);
		return error;
	}
	*out = made;
	memcpy(left_out, lost, sizeof(lost));
	return 0;
}

int transform_shape(
	const struct calltree *tree, const struct transform_shape *shape, struct calltree **out)
{
	pass_fn *const passes[] = {
		shape->by_process || shape->by_thread ? groups_pass : NULL,
		shape->collapse_recursion ? collapse_pass : NULL,
		shape->collapse_recursion ? prune_pass : NULL,
		shape->by_module ? module_pass : NULL,
		/*
		 * Fold idle threads after the passes above: a picture that is read back as a
		 * profile has only the stacks that these passes made, and must fold the same
		 * threads.
		 */
		shape->fold_idle && !shape->by_thread ? idle_pass : NULL,
		shape->reverse ? reverse_pass : NULL,
	};
	struct calltree *made = NULL;
	uint64_t none;
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(passes) / sizeof(passes[0]); i++)
		if (passes[i])
			error = pass_run(tree, passes[i], NULL, shape, &made, &none);
	if (error)
		calltree_free(made);
	else
		*out = made;
	return error;
}
