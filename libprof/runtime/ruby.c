/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the Ruby functions of a thread, for Ruby 3.1, interpreted and with YJIT, and Ruby 3.3,
 * interpreted. Each fiber has an array of control frames, innermost first, for Ruby code and for
 * functions written in C. One C frame of vm_exec(), called an activation below, executes control
 * frames up to one with the flag LAST. These control frames are a run:
 *
 *	thread ─▶ context ─▶ work  block, LAST  each (C)  sort_all  <main>, LAST  dummy
 *	                     one activation's   the run of the activation that called each
 *
 * vm_exec()'s C frame has no link to the control frames, so activations and runs are matched by
 * counting. The walked stack must be the stack of the thread's context: a thread switches its
 * context a moment before it switches stacks. YJIT's code, and C functions that vm_exec() calls to
 * execute control frames, belong to the activation.
 *
 * Offsets are in struct ruby_layout, or are constants of all its releases; ruby.layout checks the
 * constants except SPACE_FLAGS. Control frames and the objects to which they refer move only while
 * the heap is compacted. The heap's pages must not be read then, so only native frames are
 * reported. The type of an object says whether a frame's code is a code object.
 */
#include <errno.h>

#include "arch/ruby.h"
#include "libprof/runtime/ruby.h"

#define WORD RUBY_WORD

/* Offsets of the list of ractors in rb_vm_t, of the first thread, and of the objspace's flags. */
#define VM_RACTORS    8u
#define VM_THREAD     40u /* the first thread */
#define SPACE_FLAGS   16u /* from gc.c */
#define IS_COMPACTING (1u << 6)
#define RACTORS_MAX   256u
#define THREADS_MAX   1024u

/* The start of rb_thread_t. */
struct ruby_thread {
	uintptr_t next, before, object, ractor, vm;
};

/* The start of rb_execution_context_t, and its `machine`. */
struct ruby_context {
	uintptr_t values, values_count, frame, tag, interrupts, fiber, thread;
};
struct ruby_machine {
	/* The stack grows down from stack_start. */
	uintptr_t stack_start, stack_end, stack_bytes;
};
_Static_assert(
	offsetof(struct ruby_thread, vm) == 32 && offsetof(struct ruby_context, thread) == 48,
	"as Ruby has them");
#define IS_LAST	     0x20u
#define KIND_BLOCK_C 0x66660001u
#define KIND_DUMMY   0x79990001u

/* The release whose YJIT frames this file can unwind. */
#define YJIT_VERSION 301u
/*
 * The largest number of control frames at the outer end of the array that no C frame of vm_exec()
 * executes. All are of C functions.
 */
#define BOTTOM_MAX 16u
#define HIDDEN_MAX 64u /* without a name, in a row */
/* A function that only vm_exec() calls begins at most this many bytes before vm_exec(). */
#define EXEC_NEAR 65536u

/*
 * Bit in runtime_stack.activation: no control frame was read yet. The other bits are the end
 * address of the array of control frames.
 */
#define NOT_BEGUN 1u

/* ---- a thread's innermost run ---------------------------------------------------------------- */

/*
 * Is the control frame the last one that its C frame of vm_exec() executes? A dummy frame at the
 * end of the array has the flag IS_LAST, too, but no C frame of vm_exec() executes it.
 */
static int is_last(const struct ruby_environment *environment)
{
	return environment->flags & IS_LAST && (environment->flags & RUBY_KIND) != KIND_DUMMY;
}

static uintptr_t end_of(const struct runtime_stack *stack)
{
	return stack->activation & ~(uintptr_t)NOT_BEGUN;
}

/*
 * Set stack->place for the next run, i.e. the control frames of the next C frame of vm_exec().
 * There is a next run if the array has another control frame that is_last(). After the outermost
 * run, the array has only C functions, such as the one that starts an Enumerator's fiber. No C
 * frame of vm_exec() executes them, and they are reported with the outermost run.
 */
static int enter_run(
	const struct runtime *runtime, struct runtime_reader *reader, struct runtime_stack *stack)
{
	struct ruby_environment environment;
	struct ruby_frame frame;
	uintptr_t at = end_of(stack);

	stack->place = UINTPTR_MAX;
	for (unsigned n = 0; n < BOTTOM_MAX && at > stack->frame; n++) {
		at -= ruby_layout(runtime)->frame_bytes;
		if (ruby_load_frame(runtime, reader, at, &frame, &environment))
			return -EFAULT;
		if (is_last(&environment)) {
			stack->place = RUNTIME_AT_COUNTED;
			break;
		}
	}
	return 0;
}

static int enter_context(const struct runtime *runtime, struct runtime_reader *reader,
	const struct ruby_context *context, struct runtime_stack *out)
{
	const uint32_t frame_bytes = ruby_layout(runtime)->frame_bytes;
	uintptr_t end = context->values + context->values_count * WORD;

	out->frame = context->frame;
	/* Skip a frame that YJIT's code is still filling in, as step_ruby() has found. */
	if (reader->noted_at)
		out->frame += frame_bytes;
	if (context->values_count > UINT32_MAX || end % WORD || out->frame < context->values ||
		out->frame > end || (end - out->frame) % frame_bytes)
		return -EBADMSG;
	out->activation = end | NOT_BEGUN;
	/* Allow plain loads of the array of control frames: it belongs to a living thread. */
	if (reader->is_trusted) {
		reader->fixed_start = context->values;
		reader->fixed_bytes = context->values_count * WORD;
	}
	return enter_run(runtime, reader, out);
}

/* Identifies the native thread that executes a Ruby thread. */
struct identity {
	uintptr_t self;
	uint32_t tid;
};

/*
 * Read the identity of the Ruby thread at @address. In Ruby 3.3, a waiting thread may have no
 * native thread, because a few native threads execute all threads of a ractor other than the main
 * one. Returns 0; -ENOENT if there is no native thread; or -EFAULT.
 */
static int load_identity(const struct ruby_layout *layout, struct runtime_reader *reader,
	uintptr_t address, struct identity *out)
{
	if (layout->thread_native &&
		runtime_load_word(reader, address + layout->thread_native, &address))
		return -EFAULT;
	if (!address)
		return -ENOENT;
	return runtime_load_word(reader, address + layout->thread_self, &out->self) ||
			       runtime_load(reader, address + layout->thread_tid, &out->tid,
				       sizeof(out->tid))
		       ? -EFAULT
		       : 0;
}

static int is_of(const struct identity *identity, const struct runtime_thread *thread)
{
	if (thread->self)
		return identity->self == thread->self;
	return !thread->tid || identity->tid == thread->tid;
}

/* Is a heap being compacted? If it is, the heap's pages must not be read, and objects move. */
static int is_compacting(
	const struct ruby_layout *layout, struct runtime_reader *reader, uintptr_t vm)
{
	uintptr_t space;
	uint32_t flags;

	return runtime_load_word(reader, vm + layout->vm_objspace, &space) ||
	       runtime_load(reader, space + SPACE_FLAGS, &flags, sizeof(flags)) ||
	       flags & IS_COMPACTING;
}

/*
 * Read the execution context at @address, which must belong to the Ruby thread at @thread. Returns
 * 0; -EBUSY if it belongs to another thread, or if its stack does not contain @sp; or -EFAULT.
 */
static int load_context(const struct ruby_layout *layout, struct runtime_reader *reader,
	uintptr_t address, uintptr_t thread, uintptr_t sp, struct ruby_context *out)
{
	struct ruby_machine machine;

	if (runtime_load(reader, address, out, sizeof(*out)) ||
		runtime_load(reader, address + layout->context_stack, &machine, sizeof(machine)))
		return -EFAULT;
	return out->thread == thread && machine.stack_start - sp - 1 < machine.stack_bytes ? 0
											   : -EBUSY;
}

struct search {
	const struct runtime *runtime;
	struct runtime_reader *reader;
	uintptr_t vm;
	const struct runtime_thread *thread;
	uintptr_t sp;
	int may_trust;
	/* Set if the thread was found, but its context has another stack than the walked one. */
	int is_busy;
	struct runtime_stack *out;
};

/*
 * If the Ruby thread at @address is search->thread, and its stack contains search->sp, set
 * search->out to its innermost control frames. If the thread holds its ractor's lock, allow plain
 * loads: the thread does not end, and its objects are not freed.
 */
static int enter_thread(const struct search *search, uintptr_t address)
{
	const struct ruby_layout *layout = ruby_layout(search->runtime);
	struct runtime_reader *reader = search->reader;
	struct identity identity;
	struct ruby_context context;
	struct ruby_thread content;
	uintptr_t owner, at;
	int may_trust, error;

	*search->out = (struct runtime_stack){.state = address, .place = UINTPTR_MAX};
	if (runtime_load(reader, address, &content, sizeof(content)))
		return -EFAULT;
	if (content.vm != search->vm)
		return -ENOENT;
	error = load_identity(layout, reader, address, &identity);
	if (error || !is_of(&identity, search->thread))
		return error ? error : -ENOENT;
	if (runtime_load_word(reader, content.ractor + layout->ractor_owner, &owner) ||
		runtime_load_word(reader, address + layout->thread_context, &at))
		return -EFAULT;
	may_trust = search->may_trust && owner == address;
	reader->is_trusted = may_trust && reader->is_own;
	error = is_compacting(layout, reader, search->vm)
			? -EBUSY
			: load_context(layout, reader, at, address, search->sp, &context);
	if (!error)
		error = enter_context(search->runtime, reader, &context, search->out);
	reader->is_trusted = 0;
	reader->may_trust = may_trust && !error;
	return error;
}

typedef int thread_fn(void *context, uintptr_t thread);

/* Call @fn for all ractors' threads until it returns nonzero. Returns that value, 0 or -EFAULT. */
static int for_each_thread(const struct ruby_layout *layout, struct runtime_reader *reader,
	uintptr_t vm, thread_fn *fn, void *context)
{
	uintptr_t ractor, thread, node;
	unsigned ractors = 0, threads = 0;
	int got;

	if (runtime_load_word(reader, vm + VM_RACTORS, &node))
		return -EFAULT;
	for (; node != vm + VM_RACTORS && ractors < RACTORS_MAX; ractors++) {
		ractor = node - layout->ractor_node;
		if (runtime_load_word(reader, ractor + layout->ractor_threads, &thread))
			return -EFAULT;
		while (thread != ractor + layout->ractor_threads && threads++ < THREADS_MAX) {
			got = fn(context, thread);
			if (got)
				return got;
			if (runtime_load_word(reader, thread, &thread))
				return -EFAULT;
		}
		if (runtime_load_word(reader, node, &node))
			return -EFAULT;
	}
	return 0;
}

/* Continue after -EBUSY: a native thread may run several Ruby threads, each on its own stack. */
static int enter_found(void *context, uintptr_t thread)
{
	struct search *search = context;
	int error = enter_thread(search, thread);

	search->is_busy |= error == -EBUSY && search->thread->self;
	if (error == -ENOENT || error == -EBUSY)
		return 0;
	return error ? error : 1;
}

/* Is an unsupported JIT compiler on? Its frames cannot be read. */
static int is_compiled(const struct runtime *runtime, struct runtime_reader *reader)
{
	uint8_t is_on;

	for (unsigned i = RUBY_JIT; i < RUBY_JIT + RUBY_JITS && runtime->objects[i]; i++)
		if (runtime_load(reader, runtime->objects[i], &is_on, 1) || is_on)
			return 1;
	return 0;
}

static int begin_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
	struct runtime_stack *out)
{
	/* Search again without tids: after a fork, the child's Ruby threads have old tids. */
	const struct runtime_thread nobody = {0, 0};
	struct search search = {.runtime = runtime,
		.reader = reader,
		.thread = thread,
		.sp = sp,
		.may_trust = reader->may_trust,
		.out = out};
	uintptr_t first;
	int error;

	*out = (struct runtime_stack){.place = UINTPTR_MAX};
	reader->may_trust = 0;
	if (runtime_load_word(reader, runtime->objects[RUBY_VM], &search.vm))
		return -EFAULT;
	/* Ruby frees the vm after the vm's first thread has ended. */
	if (!search.vm || runtime_load_word(reader, search.vm + VM_THREAD, &first) || !first)
		return -ENOENT;
	if (is_compiled(runtime, reader))
		return -EBUSY;
	if (known && !enter_thread(&search, known))
		return 0;
	error = for_each_thread(ruby_layout(runtime), reader, search.vm, enter_found, &search);
	search.thread = &nobody;
	if (!error && !thread->self && thread->tid)
		error = for_each_thread(
			ruby_layout(runtime), reader, search.vm, enter_found, &search);
	if (error > 0)
		return 0;
	out->place = UINTPTR_MAX;
	if (!error)
		error = search.is_busy ? -EBUSY : -ENOENT;
	return error;
}

struct thread_list {
	const struct ruby_layout *layout;
	struct runtime_reader *reader;
	struct runtime_state *out;
	unsigned count, room;
};

static int add_thread(void *context, uintptr_t thread)
{
	struct thread_list *list = context;
	struct identity identity;

	if (list->count < list->room &&
		!load_identity(list->layout, list->reader, thread, &identity))
		list->out[list->count++] = (struct runtime_state){identity.tid, thread};
	return 0;
}

static unsigned threads_of_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_state *out, unsigned room)
{
	const struct ruby_layout *layout = ruby_layout(runtime);
	struct thread_list list = {layout, reader, out, 0, room};
	uintptr_t vm;

	if (!runtime_load_word(reader, runtime->objects[RUBY_VM], &vm) && vm)
		for_each_thread(layout, reader, vm, add_thread, &list);
	return list.count;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * Read the objects of a control frame by one system call: its method and its code, and the code's
 * body or the method's definition. The address of the third object is not known yet, so the cached
 * one is used. If the third object has another address, it is read again later.
 */
static void expect_frame(struct runtime_reader *reader, const struct ruby_frame *frame,
	const struct ruby_environment *environment, int is_c)
{
	uintptr_t places[3], from = is_c ? environment->method : frame->code;
	uint64_t known[RUNTIME_CACHE_WORDS];
	unsigned count = 0;

	if (reader->is_trusted)
		return;
	if (ruby_is_object(environment->method))
		places[count++] = environment->method;
	if (!is_c && ruby_is_object(frame->code))
		places[count++] = frame->code;
	if (runtime_cache_find(reader, from, known))
		places[count++] = known[0];
	if (count > 1)
		runtime_expect_each(reader, places, count);
}

/* Cache @to, the address to which the object at @from points, for expect_frame(). */
static void keep_lead(struct runtime_reader *reader, uintptr_t from, uintptr_t to)
{
	const uint64_t words[RUNTIME_CACHE_WORDS] = {to};

	if (!reader->is_trusted)
		runtime_cache_keep(reader, from, words);
}

/* Read the code of @frame. The saved instruction pointer points after the current instruction. */
static int read_ruby_code(const struct runtime *runtime, struct runtime_reader *reader,
	const struct ruby_frame *frame, int is_innermost, struct runtime_frame *out)
{
	struct ruby_body body;
	uintptr_t code[3], offset; /* flags, wrapper, body */

	if (!ruby_is_object(frame->code) || runtime_load(reader, frame->code, code, sizeof(code)) ||
		(code[0] & RUBY_INTERNAL) != RUBY_INTERNAL_CODE || code[2] % WORD ||
		runtime_load(reader, code[2], &body, sizeof(body)))
		return -EBADMSG;
	keep_lead(reader, frame->code, code[2]);
	offset = frame->instruction - body.instructions;
	out->function = frame->code;
	out->identity = runtime_mix(runtime_mix(out->identity, body.label), body.path);
	out->identity = runtime_mix(out->identity, body.first_line);
	out->first_line =
		(uint32_t)(ruby_layout(runtime)->first_line_bytes == 8 ? body.first_line >> 1
								       : body.first_line);
	out->file = body.path;
	/* YJIT saves the instruction pointer only before calls, so here it is not current. */
	if ((is_innermost && frame->jit_return) || !frame->instruction)
		return 0;
	if (offset % WORD || offset / WORD > body.instructions_count)
		return is_innermost ? 0 : -EBADMSG;
	out->position = offset ? (int32_t)(offset / WORD) - 1 : 0;
	out->lines = code[2] + ruby_layout(runtime)->body_lines;
	return 0;
}

/* Read the control frame at @at. Returns 1; 0 if the frame has no name; or -errno. */
static int read_frame(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t at,
	const struct ruby_frame *frame, const struct ruby_environment *environment,
	int is_innermost, struct runtime_frame *out)
{
	const uint32_t kind = (uint32_t)environment->flags & RUBY_KIND;
	struct ruby_method method = {0};
	int has_method;
	uintptr_t name;

	if (kind == KIND_DUMMY || kind == KIND_BLOCK_C)
		return 0;
	expect_frame(reader, frame, environment, kind == RUBY_KIND_C);
	has_method = ruby_find_method(reader, environment, &method);
	*out = (struct runtime_frame){.position = -1, .name = at | RUBY_OF_FRAME};
	if (kind != RUBY_KIND_C) {
		out->identity = runtime_mix(frame->code, has_method ? method.owner : 0);
		return read_ruby_code(runtime, reader, frame, is_innermost, out) ? -EBADMSG : 1;
	}
	if (!has_method ||
		runtime_load_word(reader, method.definition + RUBY_DEFINITION_NAME, &name))
		return -EBADMSG;
	keep_lead(reader, environment->method, method.definition);
	out->function = method.definition;
	out->identity = runtime_mix(runtime_mix(method.definition, method.owner), name);
	return 1;
}

static int next_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	struct ruby_environment environment;
	struct ruby_frame frame;
	uintptr_t at;
	int found_frame, error;

	(void)room;
	for (unsigned n = 0; !stack->is_over && stack->frame < end_of(stack); n++) {
		at = stack->frame;
		if (n == HIDDEN_MAX || ruby_load_frame(runtime, reader, at, &frame, &environment))
			return -EFAULT;
		found_frame = read_frame(runtime, reader, at, &frame, &environment,
			stack->activation & NOT_BEGUN, out);
		if (found_frame < 0)
			return found_frame;
		stack->activation &= ~(uintptr_t)NOT_BEGUN;
		stack->frame = at + ruby_layout(runtime)->frame_bytes;
		if (is_last(&environment)) {
			error = enter_run(runtime, reader, stack);
			if (error)
				return error;
			stack->is_over = stack->place != UINTPTR_MAX;
		}
		if (found_frame)
			return 1;
	}
	stack->is_over = 0;
	return enter_run(runtime, reader, stack);
}

/*
 * Step from YJIT's code, which is in no module, to its caller, vm_exec() or a function that
 * vm_exec() calls. Set reader->noted_at if the code is pushing a control frame, because that frame
 * is not valid yet.
 */
static int step_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct unwind_activation *at)
{
	static const uint8_t slots[] = {ARCH_RUBY_SLOTS};
	uint8_t code[ARCH_RUBY_CODE_BYTES];
	uintptr_t caller;
	unsigned i;

	(void)stack;
	if (at->question != UNWIND_GENERATED || ruby_layout(runtime)->version != YJIT_VERSION)
		return 0;
	for (i = 0; ARCH_RUBY_HAS_YJIT && i < sizeof(slots); i++)
		if (!runtime_load_word(reader, at->sp + slots[i], &caller) &&
			caller - (runtime->entry - EXEC_NEAR) <
				runtime->entry_end - (runtime->entry - EXEC_NEAR))
			break;
	if (!ARCH_RUBY_HAS_YJIT || i == sizeof(slots))
		return 0;
	if (at->innermost && !runtime_load(reader, at->pc, code, sizeof(code)) &&
		arch_ruby_is_pushing(code, sizeof(code)))
		reader->noted_at = at->pc;
	at->pc = caller;
	at->sp += slots[i] + WORD;
	return UNWIND_CALLER;
}

const struct runtime_kind runtime_ruby = {
	.name = "ruby",
	.known = "3.1 and 3.3",
	.find = ruby_find,
	.begin = begin_ruby,
	.states = threads_of_ruby,
	.next = next_ruby,
	.step = step_ruby,
	.line = ruby_line,
	.text = ruby_text,
};
