/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Ruby 3.1, interpreted and by YJIT. Each fiber has control frames, one behind another from the
 * innermost on, of Ruby code and of functions written in C. vm_exec() runs those up to one that is
 * marked as its last:
 *
 *	thread ─▶ context ─▶ work  block, LAST  each (C)  sort_all  <main>, LAST  dummy
 *	                     one activation's   the run of the one that called each
 *
 * Nothing in vm_exec()'s stack frame tells whose it is, so activations are counted; and the stack
 * that is walked has to be the context's, for a thread has that of the fiber it switches to a
 * moment before. What vm_exec() calls to run them, or YJIT's code, is part of the activation.
 *
 * Offsets are those of 3.1, from its sources (vm_core.h, ractor_core.h, method.h, iseq.h, gc.c).
 * Control frames and what they lead to stay where they are but while the heap is being compacted,
 * and then pages of it may not be touched: stacks are native. Whether a frame's code is code is
 * told by its kind.
 */
#include <errno.h>

#include "arch/ruby.h"
#include "libprof/runtime/ruby.h"

#define WORD RUBY_WORD

/* rb_vm_t and its objspace, rb_ractor_t. */
#define VM_RACTORS     8u
#define VM_THREAD      40u /* the first */
#define VM_OBJSPACE    1104u
#define SPACE_FLAGS    16u
#define IS_COMPACTING  (1u << 6)
#define RACTOR_THREADS 304u
#define RACTOR_OWNER   336u /* the thread that has its lock */
#define RACTOR_NODE    568u
#define RACTORS_MAX    256u
#define THREADS_MAX    1024u

/* rb_thread_t, to `tid`. */
struct ruby_thread {
	uintptr_t next, before, object, ractor, vm, context, unused[4];
	uintptr_t self;
	uint32_t tid, flags;
};

/* rb_execution_context_t, to `machine.stack_maxsize`. */
struct ruby_context {
	uintptr_t values, values_count, frame, tag, interrupts, fiber, thread, unused[11];
	uintptr_t stack_start, stack_end, stack_bytes; /* it grows down from the first */
};
_Static_assert(offsetof(struct ruby_thread, self) == 80 &&
		       offsetof(struct ruby_context, thread) == 48 &&
		       offsetof(struct ruby_context, stack_start) == 144,
	"as Ruby 3.1 has them");
#define IS_LAST	     0x20u
#define KIND_BLOCK_C 0x66660001u
#define KIND_DUMMY   0x79990001u

#define BOTTOM_MAX 16u	  /* frames of C below the outermost run */
#define HIDDEN_MAX 64u	  /* frames that have no name, one after another */
#define EXEC_NEAR  65536u /* before vm_exec(): where the compiler puts what only it calls */

/* In a stack's `activation`, beside the address where its frames end: none was told. */
#define NOT_BEGUN 1u

static int find_ruby(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uint32_t version[3];
	uint64_t bytes = 0;
	uint8_t code[12];
	uintptr_t at;

	out->base = runtime_symbol(symbols, reader, "ruby_current_vm_ptr", &bytes);
	if (!out->base || bytes != WORD)
		return -ENOENT;
	out->base_bytes = bytes;
	at = runtime_symbol(symbols, reader, "ruby_api_version", &bytes);
	if (!at || bytes != sizeof(version) || runtime_load(reader, at, version, sizeof(version)) ||
		version[0] != 3 || version[1] != 1)
		return -ENOENT;
	out->version = 301;
	out->entry = runtime_symbol(symbols, reader, "rb_vm_exec", &bytes);
	out->entry_end = out->entry + bytes;
	/* It returns how many symbols there are, the first word of their table. */
	at = runtime_symbol(symbols, reader, "rb_sym_immortal_count", NULL);
	if (at && !runtime_load(reader, at, code, sizeof(code)))
		out->code_type = arch_ruby_loaded(code, at);
	out->is_counted = out->has_inner = 1;
	return out->entry ? 0 : -ENOENT;
}

/* ---- a thread's innermost run ---------------------------------------------------------------- */

/* So are the frames that stacks begin with, which no activation runs. */
static int is_last(const struct ruby_environment *environment)
{
	return environment->flags & IS_LAST && (environment->flags & RUBY_KIND) != KIND_DUMMY;
}

static uintptr_t end_of(const struct runtime_stack *stack)
{
	return stack->activation & ~(uintptr_t)NOT_BEGUN;
}

/*
 * Stand at the next run. There is one if there is the last frame of the outermost run, which only
 * has frames of C below it, and those are told with it: no activation runs them, as what an
 * Enumerator begins its fiber with.
 */
static int enter_run(struct runtime_reader *reader, struct runtime_stack *stack)
{
	struct ruby_environment environment;
	struct ruby_frame frame;
	uintptr_t at = end_of(stack);

	stack->place = UINTPTR_MAX;
	for (unsigned n = 0; n < BOTTOM_MAX && at > stack->frame; n++) {
		at -= sizeof(frame);
		if (ruby_load_frame(reader, at, &frame, &environment))
			return -EFAULT;
		if (is_last(&environment)) {
			stack->place = RUNTIME_PLACE_COUNTED;
			break;
		}
	}
	return 0;
}

static int enter_context(struct runtime_reader *reader, const struct ruby_context *context,
	struct runtime_stack *out)
{
	uintptr_t end = context->values + context->values_count * WORD;

	out->frame = context->frame;
	/* YJIT makes a frame the innermost before it fills it in. */
	if (reader->noted_at)
		out->frame += sizeof(struct ruby_frame);
	if (context->values_count > UINT32_MAX || end % WORD || out->frame < context->values ||
		out->frame > end || (end - out->frame) % sizeof(struct ruby_frame))
		return -EBADMSG;
	out->activation = end | NOT_BEGUN;
	/* Whatever the innermost frames hold, where they lie belongs to a thread that is alive. */
	if (reader->is_trusted) {
		reader->fixed_start = context->values;
		reader->fixed_bytes = context->values_count * WORD;
	}
	return enter_run(reader, out);
}

static int is_of(const struct ruby_thread *content, const struct runtime_thread *thread)
{
	if (thread->self)
		return content->self == thread->self;
	return !thread->tid || content->tid == thread->tid;
}

/* A page of a heap that is being compacted must not be touched, nor is it where it was. */
static int is_compacting(struct runtime_reader *reader, uintptr_t vm)
{
	uintptr_t space;
	uint32_t flags;

	return runtime_load_word(reader, vm + VM_OBJSPACE, &space) ||
	       runtime_load(reader, space + SPACE_FLAGS, &flags, sizeof(flags)) ||
	       flags & IS_COMPACTING;
}

/*
 * Stand at the innermost run of the thread at @address, where it is @thread and has its stack
 * around @sp. While it holds its ractor's lock nobody ends it, nor moves what it runs.
 */
static int enter_thread(struct runtime_reader *reader, uintptr_t vm, uintptr_t address,
	const struct runtime_thread *thread, uintptr_t sp, int may_trust, struct runtime_stack *out)
{
	struct ruby_context context;
	struct ruby_thread content;
	uintptr_t owner;
	int error;

	*out = (struct runtime_stack){.state = address, .place = UINTPTR_MAX};
	if (runtime_load(reader, address, &content, sizeof(content)))
		return -EFAULT;
	if (content.vm != vm || !is_of(&content, thread))
		return -ENOENT;
	if (runtime_load_word(reader, content.ractor + RACTOR_OWNER, &owner))
		return -EFAULT;
	may_trust = may_trust && owner == address;
	reader->is_trusted = may_trust && reader->is_own;
	error = is_compacting(reader, vm) ? -EBUSY : 0;
	if (!error)
		error = runtime_load(reader, content.context, &context, sizeof(context));
	if (!error &&
		(context.thread != address || context.stack_start - sp - 1 >= context.stack_bytes))
		error = -EBUSY;
	if (!error)
		error = enter_context(reader, &context, out);
	reader->is_trusted = 0;
	reader->may_trust = may_trust && !error;
	return error;
}

typedef int thread_fn(void *context, uintptr_t thread);

/* @fn for the threads of all ractors, until it returns something. Returns that, 0 or -EFAULT. */
static int for_each_thread(
	struct runtime_reader *reader, uintptr_t vm, thread_fn *fn, void *context)
{
	uintptr_t ractor, thread, node;
	unsigned ractors = 0, threads = 0;
	int got;

	if (runtime_load_word(reader, vm + VM_RACTORS, &node))
		return -EFAULT;
	for (; node != vm + VM_RACTORS && ractors < RACTORS_MAX; ractors++) {
		ractor = node - RACTOR_NODE;
		if (runtime_load_word(reader, ractor + RACTOR_THREADS, &thread))
			return -EFAULT;
		while (thread != ractor + RACTOR_THREADS && threads++ < THREADS_MAX) {
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

struct search {
	struct runtime_reader *reader;
	uintptr_t vm;
	const struct runtime_thread *thread;
	uintptr_t sp;
	int may_trust;
	struct runtime_stack *out;
};

static int enter_found(void *context, uintptr_t thread)
{
	const struct search *search = context;
	int error = enter_thread(search->reader, search->vm, thread, search->thread, search->sp,
		search->may_trust, search->out);

	/* Of one that is known only by its stack the others are not. */
	if (error == -ENOENT || (error == -EBUSY && !search->thread->self))
		return 0;
	return error ? error : 1;
}

static int begin_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
	struct runtime_stack *out)
{
	/* In a child of fork() they have the tids of its parent's. */
	const struct runtime_thread nobody = {0, 0};
	struct search search = {reader, 0, thread, sp, reader->may_trust, out};
	uintptr_t first;
	int error;

	*out = (struct runtime_stack){.place = UINTPTR_MAX};
	reader->may_trust = 0;
	if (runtime_load_word(reader, runtime->base, &search.vm))
		return -EFAULT;
	/* It is taken down after its first thread has gone. */
	if (!search.vm || runtime_load_word(reader, search.vm + VM_THREAD, &first) || !first)
		return -ENOENT;
	if (known && !enter_thread(reader, search.vm, known, thread, sp, search.may_trust, out))
		return 0;
	error = for_each_thread(reader, search.vm, enter_found, &search);
	search.thread = &nobody;
	if (!error && !thread->self && thread->tid)
		error = for_each_thread(reader, search.vm, enter_found, &search);
	if (error > 0)
		return 0;
	out->place = UINTPTR_MAX;
	return error ? error : -ENOENT;
}

struct thread_list {
	struct runtime_reader *reader;
	struct runtime_state *out;
	unsigned count, room;
};

static int add_thread(void *context, uintptr_t thread)
{
	struct thread_list *list = context;
	struct ruby_thread content;

	if (list->count < list->room &&
		!runtime_load(list->reader, thread, &content, sizeof(content)))
		list->out[list->count++] = (struct runtime_state){content.tid, thread};
	return 0;
}

static unsigned threads_of_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_state *out, unsigned room)
{
	struct thread_list list = {reader, out, 0, room};
	uintptr_t vm;

	if (!runtime_load_word(reader, runtime->base, &vm) && vm)
		for_each_thread(reader, vm, add_thread, &list);
	return list.count;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * What a frame that is read by calls leads to: its method and its code, and what these lead to in
 * turn, its code's body or its function's definition, which is where it was the last time, or else
 * read once more. All of it takes one call then.
 */
static void expect_frame(struct runtime_reader *reader, const struct ruby_frame *frame,
	const struct ruby_environment *environment, int is_c)
{
	uintptr_t places[3], from = is_c ? environment->method : frame->code;
	uint64_t known[RUNTIME_FACTS_WORDS];
	unsigned count = 0;

	if (reader->is_trusted)
		return;
	if (ruby_is_object(environment->method))
		places[count++] = environment->method;
	if (!is_c && ruby_is_object(frame->code))
		places[count++] = frame->code;
	if (runtime_find_fact(reader, from, known))
		places[count++] = known[0];
	if (count > 1)
		runtime_expect_each(reader, places, count);
}

/* @from leads to @to. */
static void keep_lead(struct runtime_reader *reader, uintptr_t from, uintptr_t to)
{
	const uint64_t words[RUNTIME_FACTS_WORDS] = {to};

	if (!reader->is_trusted)
		runtime_keep_fact(reader, from, words);
}

/* Where the frame's instruction is noted it is the one behind that which it is at. */
static int read_ruby_code(struct runtime_reader *reader, const struct ruby_frame *frame,
	int is_innermost, struct runtime_frame *out)
{
	struct ruby_body body;
	uintptr_t code[3], offset; /* flags, wrapper, body */

	if (!ruby_is_object(frame->code) || runtime_load(reader, frame->code, code, sizeof(code)) ||
		(code[0] & RUBY_INTERNAL) != RUBY_INTERNAL_CODE || code[2] % WORD ||
		runtime_load(reader, code[2], &body, offsetof(struct ruby_body, unused2)))
		return -EBADMSG;
	keep_lead(reader, frame->code, code[2]);
	offset = frame->instruction - body.instructions;
	out->function = frame->code;
	out->identity = runtime_mix(runtime_mix(out->identity, body.label), body.path);
	out->identity = runtime_mix(out->identity, body.first_line);
	out->first_line = (uint32_t)(body.first_line >> 1);
	out->file = body.path;
	/* YJIT notes it before calls, not at others. */
	if ((is_innermost && frame->jit_return) || !frame->instruction)
		return 0;
	if (offset % WORD || offset / WORD > body.instructions_count)
		return is_innermost ? 0 : -EBADMSG;
	out->position = offset ? (int32_t)(offset / WORD) - 1 : 0;
	out->lines = code[2];
	return 0;
}

/* Returns 1; 0: it has no name; or -errno. */
static int read_frame(struct runtime_reader *reader, uintptr_t at, const struct ruby_frame *frame,
	const struct ruby_environment *environment, int is_innermost, struct runtime_frame *out)
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
		return read_ruby_code(reader, frame, is_innermost, out) ? -EBADMSG : 1;
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
	struct runtime_stack *stack, struct runtime_frame *out)
{
	struct ruby_environment environment;
	struct ruby_frame frame;
	uintptr_t at;
	int told, error;

	(void)runtime;
	for (unsigned n = 0; !stack->is_over && stack->frame < end_of(stack); n++) {
		at = stack->frame;
		if (n == HIDDEN_MAX || ruby_load_frame(reader, at, &frame, &environment))
			return -EFAULT;
		told = read_frame(
			reader, at, &frame, &environment, stack->activation & NOT_BEGUN, out);
		if (told < 0)
			return told;
		stack->activation &= ~(uintptr_t)NOT_BEGUN;
		stack->frame = at + sizeof(frame);
		if (is_last(&environment)) {
			error = enter_run(reader, stack);
			if (error)
				return error;
			stack->is_over = stack->place != UINTPTR_MAX;
		}
		if (told)
			return 1;
	}
	stack->is_over = 0;
	return enter_run(reader, stack);
}

/*
 * YJIT's code is in no module, and what called it is in vm_exec() or in what that calls. Whether
 * the innermost control frame can be read is told by where the code is.
 */
static int leave_ruby(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_frame *out)
{
	static const uint8_t slots[] = {ARCH_RUBY_SLOTS};
	uint8_t code[ARCH_RUBY_CODE_BYTES];
	uintptr_t caller;
	unsigned i;

	*out = (struct runtime_frame){0};
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
	at->is_way_out = 0;
	return 1;
}

const struct runtime_kind runtime_ruby = {
	.name = "ruby",
	.known = "3.1",
	.find = find_ruby,
	.begin = begin_ruby,
	.states = threads_of_ruby,
	.next = next_ruby,
	.leave = leave_ruby,
	.line = ruby_line,
	.text = ruby_text,
};
