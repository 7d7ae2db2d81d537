/* SPDX-License-Identifier: MIT */
/*
 * The call tree: what every picture and every text output is made from. Merged stacks of named
 * frames with weights, and the samples' times beside them. Knows no profiler.
 *
 * A *fine* tree has a frame for each function and line, as naming and pprof profiles make it: a
 * function of which three lines were sampled stands three times beside itself. A *coarse* one has a
 * frame for each function, and beside it a table of what the lines weighed.
 *
 * Building never needs a check at each step: after the first failure (out of memory, or a ceiling)
 * the tree is poisoned, further calls do nothing, and calltree_error() tells once at the end.
 *
 * Context: one thread.
 */
#ifndef RENDER_CALLTREE_H
#define RENDER_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

struct calltree;

/*
 * What begins the file of a frame of CALLTREE_UNNAMED, where its module's build-id is known: that
 * follows, in hexadecimal. So the address in its name can be named elsewhere.
 */
#define CALLTREE_BUILD_ID "build-id:"

#define CALLTREE_ROOT 0u /* the node above all others; has no frame */

enum calltree_frame_kind {
	CALLTREE_NATIVE = 0,
	CALLTREE_JIT = 1,	/* generated code, named by a perf map or by the program itself */
	CALLTREE_UNNAMED = 2,	/* [libfoo.so.1+0x1234] */
	CALLTREE_SYNTHETIC = 3, /* [unsampled], [incomplete stack], [deeper than N frames], ... */
	CALLTREE_PROCESS = 4,
	CALLTREE_THREAD = 5,
	CALLTREE_INLINE = 6, /* inlined into the frame below it, where the call stands */
	/*
	 * What a thread waits for, always a leaf: "[futex]", "[read: pipe]", and where it is known
	 * who has it "[futex: held by cache_fill]", see cli/profile/holders.h. Its module is the
	 * kind of wait: "lock", "sleep", "io", "child", "disk", "cpu" (ready to run, without one)
	 * or "" (not known).
	 */
	CALLTREE_WAIT = 7,
	CALLTREE_KERNEL = 8, /* "[kernel: read]": the kernel at work, in that system call */
	/*
	 * Stands above the stacks of threads that only wait where they always wait. Pictures show
	 * what is below it when they are asked to; see transform_shape.fold_idle.
	 */
	CALLTREE_IDLE = 9,
	CALLTREE_KINDS
};

/* What a thread does in a stack: it waits in those that have a frame of CALLTREE_WAIT. */
enum calltree_times {
	CALLTREE_TIMES_CPU = 0,
	CALLTREE_TIMES_WAITS = 1,
	CALLTREE_TIMES_BOTH = 2
};

struct calltree_frame {
	const char *name;   /* any bytes but NUL, maybe not UTF-8; never NULL; owned by the tree */
	const char *module; /* short name of the module, "" when there is none; owned by the tree */
	enum calltree_frame_kind kind;
	uint32_t line;	  /* 0 when it is not known */
	const char *file; /* source file, "" when it is not known; owned by the tree */
};

struct calltree_node {
	uint32_t parent;
	uint32_t frame;
	uint64_t self;	/* weight of samples that ended here */
	uint64_t total; /* self and all below; valid after calltree_finish() */
};

enum calltree_sample_kind {
	CALLTREE_ON_CPU = 0,
	CALLTREE_CREDIT = 1,
	CALLTREE_WAITING = 2 /* on a stack that ends in CALLTREE_WAIT */
};

/*
 * One sample: when it was taken, of which thread, on which stack. The tree keeps samples in the
 * order they are added; their times need not rise in it, for threads are drained one by one.
 */
struct calltree_sample {
	uint64_t time_ns; /* since the start of the run */
	uint32_t node;	  /* the leaf */
	uint32_t weight;
	uint32_t thread; /* caller's number, see calltree_thread() */
	enum calltree_sample_kind kind;
};

/* Returns an owned tree, or NULL without memory. */
struct calltree *calltree_new(void);
void calltree_free(struct calltree *tree); /* NULL is fine */

/*
 * Intern a frame: equal (name, module, kind, file, line) give the same number. Texts are borrowed
 * for the call. Returns the frame's number, 0 when poisoned (0 is also the first frame's number).
 */
uint32_t calltree_frame_line(struct calltree *tree, const char *name, const char *module,
	enum calltree_frame_kind kind, const char *file, uint32_t line);

/* The same without file and line. */
uint32_t calltree_frame(
	struct calltree *tree, const char *name, const char *module, enum calltree_frame_kind kind);

/* The child of @parent with @frame, made if needed. Returns its node number. */
uint32_t calltree_child(struct calltree *tree, uint32_t parent, uint32_t frame);

/* Add @weight (samples) to @node's self weight. */
void calltree_add(struct calltree *tree, uint32_t node, uint64_t weight);

/*
 * Make all weights of nodes and lines @factor times what they are by now; samples stay. Beyond the
 * ceiling the tree is poisoned.
 */
void calltree_scale(struct calltree *tree, uint64_t factor);

/*
 * Name thread number @thread ("name (pid/tid)") and the process it is of ("name (pid)", "" when
 * that is not known). Both are borrowed for the call.
 */
void calltree_thread(
	struct calltree *tree, uint32_t thread, const char *name, const char *process);

/* Remember one sample's time. Does not add weight: calltree_add() does. */
void calltree_sample(struct calltree *tree, const struct calltree_sample *sample);
void calltree_forget_samples(struct calltree *tree);

/*
 * A row of a coarse tree's table of lines: what the line at @file:@line of @frame weighs. Weights
 * of equal (frame, file, line) are added up; @file is borrowed for the call.
 */
struct calltree_line {
	uint32_t frame;
	uint32_t line;
	const char *file; /* owned by the tree when read */
	uint64_t self;	  /* weight of the samples of which it is the leaf */
	uint64_t total;	  /* weight of the stacks in which it is, each once */
	uint64_t waits;	  /* of @total, that of stacks that wait */
};
void calltree_add_line(struct calltree *tree, const struct calltree_line *line);

/*
 * Compute totals, sort lines and add up those of one place. Call after building, and again after
 * building on. Returns what calltree_error() does.
 */
int calltree_finish(struct calltree *tree);

/*
 * 0, or what poisoned the tree: -ENOMEM, -E2BIG (a ceiling on nodes, frames or threads), -EOVERFLOW
 * (weights beyond 2^53), -EINVAL (a number that was never given out).
 */
int calltree_error(const struct calltree *tree);

/* Reading. Pointers stay valid until the tree changes. */
uint32_t calltree_nodes(const struct calltree *tree); /* count, root included */
uint32_t calltree_frames(const struct calltree *tree);
uint32_t calltree_threads(const struct calltree *tree); /* one past the highest number named */
size_t calltree_samples(const struct calltree *tree);
const struct calltree_node *calltree_node_at(const struct calltree *tree, uint32_t node);
const struct calltree_frame *calltree_frame_at(const struct calltree *tree, uint32_t frame);
const char *calltree_thread_at(const struct calltree *tree, uint32_t thread); /* NULL: unnamed */
const char *calltree_process_at(const struct calltree *tree, uint32_t thread); /* NULL: unknown */
const struct calltree_sample *calltree_sample_at(const struct calltree *tree, size_t sample);
uint64_t calltree_total(const struct calltree *tree); /* weight of everything */
uint64_t calltree_waits(const struct calltree *tree); /* of that, of stacks that wait */

/* After calltree_finish(): by frame, those of a frame from the heaviest total down. */
size_t calltree_lines(const struct calltree *tree);
const struct calltree_line *calltree_line_at(const struct calltree *tree, size_t line);

/*
 * The one order everything is shown and stored in: depth first, siblings by name. It depends on
 * what the tree holds, not on the order it was built in.
 */
struct preorder {
	uint32_t nodes; /* count, root included */
	uint32_t frames;
	uint32_t *order;    /* [position] -> node; [0] is the root */
	uint32_t *position; /* [node] -> position */
	uint32_t *end;	    /* [position] -> one past the last position below it */
	uint32_t *depth;    /* [position] -> 0 for the root */
	uint32_t *height;   /* [position] -> levels below it */
	uint32_t *rank;	    /* [frame] -> place among the frames by name, module, kind,
			   * file, line */
	uint32_t *by_rank;  /* [rank] -> frame */
};

/*
 * Order @tree (finished, borrowed for the call) into the caller's @preorder, in time linear in
 * nodes and without recursion. Returns 0, or -ENOMEM with *preorder released.
 */
int preorder_init(struct preorder *preorder, const struct calltree *tree);

void preorder_release(struct preorder *preorder);

#endif
