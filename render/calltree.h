/* SPDX-License-Identifier: MIT */
/*
 * The call tree, from which all pictures and text outputs are made: merged stacks of named frames
 * with weights, and a list of samples with their times.
 *
 * A *fine* tree has one frame per function and source line, and per address of machine code if
 * addresses are known. The code that names frames, and the readers of profiles, make fine trees. A
 * *coarse* tree has one frame per function, and the tree has a table with the weight of each source
 * line.
 *
 * Callers need not check every call: after the first failure (out of memory or over a limit) the
 * tree is poisoned, further calls do nothing, and calltree_error() returns the cause.
 *
 * Context: one thread.
 */
#ifndef RENDER_CALLTREE_H
#define RENDER_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

struct calltree;

/*
 * The file name of a CALLTREE_UNNAMED frame begins with this prefix if the build-id of its module
 * is known; the build-id in hexadecimal follows. Build-id and offset together suffice to name the
 * address on another machine.
 */
#define CALLTREE_BUILD_ID "build-id:"

/* the number of the root node, which has no frame */
#define CALLTREE_ROOT 0u

enum calltree_frame_kind {
	CALLTREE_NATIVE = 0,
	/* generated code, named by a perf map or by the program itself */
	CALLTREE_JIT = 1,
	CALLTREE_UNNAMED = 2, /* the name is "[module+0xoffset]" */
	/* not a function: [unsampled], [incomplete stack], [deeper than N frames], ... */
	CALLTREE_SYNTHETIC = 3,
	CALLTREE_PROCESS = 4,
	CALLTREE_THREAD = 5,
	/* a function that was inlined; its parent frame is the function that contains it */
	CALLTREE_INLINE = 6,
	/*
	 * The cause of a wait, always the leaf of its stack: "[futex]", "[read: pipe]", or with the
	 * holder of the lock "[futex: held by cache_fill]" (cli/profile/holders.h). The frame's
	 * module is the kind of wait: "lock", "sleep", "io", "child", "disk", "cpu" (ready to run,
	 * but no CPU is free) or "" (unknown).
	 */
	CALLTREE_WAIT = 7,
	/* "[kernel: read]": kernel code that runs during this system call */
	CALLTREE_KERNEL = 8,
	/* root of the stacks of idle threads; see transform_shape.fold_idle */
	CALLTREE_IDLE = 9,
	CALLTREE_KINDS
};

/* Selects stacks: those on a CPU, those that wait (their leaf is CALLTREE_WAIT), or both. */
enum calltree_times {
	CALLTREE_TIMES_CPU = 0,
	CALLTREE_TIMES_WAITS = 1,
	CALLTREE_TIMES_BOTH = 2
};

/*
 * A part of a file that was mapped into memory to be executed. In a tree, mappings with equal path,
 * build-id and offset are one; the addresses are those of the first.
 */
struct calltree_mapping {
	const char *path;     /* owned by the tree */
	const char *build_id; /* in hexadecimal, "" if unknown; owned by the tree */
	uint64_t offset;      /* offset in the file of the byte at @start */
	/*
	 * Addresses: those that the file itself has (ELF virtual addresses), which are equal in
	 * each run, or, if the tree was read from a profile, those of the profile.
	 */
	uint64_t start, end;
};

struct calltree_frame {
	/* any bytes except NUL, maybe not UTF-8; never NULL; owned by the tree */
	const char *name;
	/* short name of the module, "" if there is none; owned by the tree */
	const char *module;
	enum calltree_frame_kind kind;
	uint32_t line; /* 0 when it is not known */
	/* source file, "" if unknown; owned by the tree */
	const char *file;
	/* line at which the function is declared; 0: unknown, or the tree is coarse */
	uint32_t start_line;
	/* mapping of the machine code, owned by the tree; NULL: unknown, or the tree is coarse */
	const struct calltree_mapping *mapping;
	/*
	 * Offset in the mapping's file of the instruction, or of a byte of the call instruction if
	 * the frame is a caller. Functions inlined there have the same offset.
	 */
	uint64_t offset;
};

struct calltree_node {
	uint32_t parent;
	uint32_t frame;
	/* weight of the samples whose leaf is this node */
	uint64_t self;
	/* @self plus the self weights of all descendants; valid after calltree_finish() */
	uint64_t total;
};

enum calltree_sample_kind {
	CALLTREE_ON_CPU = 0,
	CALLTREE_CREDIT = 1,
	/* on a waiting stack, whose leaf is a CALLTREE_WAIT frame */
	CALLTREE_WAITING = 2
};

/*
 * One sample: its time, thread and stack. The tree keeps samples in the order of calltree_sample()
 * calls. Times are not sorted in that order, because threads are drained one after the other.
 */
struct calltree_sample {
	uint64_t time_ns; /* since the start of the run */
	uint32_t node;	  /* node of the leaf */
	uint32_t weight;
	/* number of the thread, chosen by the caller; calltree_thread() gives it a name */
	uint32_t thread;
	enum calltree_sample_kind kind;
};

/* Returns an owned, empty tree, or NULL if out of memory. */
struct calltree *calltree_new(void);
void calltree_free(struct calltree *tree); /* NULL is fine */

/*
 * Intern a frame: frames that are equal in all fields give the same number. Texts and the mapping
 * are borrowed for the call. Returns the frame's number, or 0 (also a valid number) if the tree is
 * poisoned.
 */
uint32_t calltree_intern(struct calltree *tree, const struct calltree_frame *frame);

/* Intern a frame without start line and mapping, as calltree_intern() does. */
uint32_t calltree_frame_line(struct calltree *tree, const char *name, const char *module,
	enum calltree_frame_kind kind, const char *file, uint32_t line);

/* Intern a frame with file "" and line 0, as calltree_frame_line() does. */
uint32_t calltree_frame(
	struct calltree *tree, const char *name, const char *module, enum calltree_frame_kind kind);

/* Returns the child of node @parent whose frame is @frame; adds the child if there is none. */
uint32_t calltree_child(struct calltree *tree, uint32_t parent, uint32_t frame);

/* Add @weight (sampling periods) to @node's self weight. */
void calltree_add(struct calltree *tree, uint32_t node, uint64_t weight);

/* Multiply the weights of nodes and lines (not samples) by @factor. Overflow poisons the tree. */
void calltree_scale(struct calltree *tree, uint64_t factor);

/*
 * Set the name of thread number @thread, "name (pid/tid)", and of its process, "name (pid)" ("" if
 * unknown). Both texts are borrowed for the call.
 */
void calltree_thread(
	struct calltree *tree, uint32_t thread, const char *name, const char *process);

/* Append a sample to the list of samples. No node gets weight by this; call calltree_add() too. */
void calltree_sample(struct calltree *tree, const struct calltree_sample *sample);

/*
 * Append copies of @sample with a weight of @weight in all; a sample's own weight has 32 bits only.
 */
void calltree_sample_weight(
	struct calltree *tree, const struct calltree_sample *sample, uint64_t weight);

/* Returns the kind of samples on @node: CALLTREE_WAITING if its frame is a wait. */
enum calltree_sample_kind calltree_kind_at(const struct calltree *tree, uint32_t node);
void calltree_forget_samples(struct calltree *tree);

/*
 * A row of a coarse tree's table of lines: the weight of line @file:@line of function @frame.
 * calltree_finish() adds up rows with equal frame, file and line. calltree_add_line() borrows
 * @file.
 */
struct calltree_line {
	uint32_t frame;
	uint32_t line;
	/* owned by the tree, if the row was read from the tree */
	const char *file;
	/* weight of the samples whose leaf frame is at this line */
	uint64_t self;
	/* weight of the stacks that contain this line, each counted once */
	uint64_t total;
	/* the part of @total that belongs to waiting stacks */
	uint64_t waits;
};
void calltree_add_line(struct calltree *tree, const struct calltree_line *line);

/*
 * Compute the total weights of the nodes; sort the lines and merge equal ones. Call it after
 * building, and again after later changes. Returns calltree_error().
 */
int calltree_finish(struct calltree *tree);

/*
 * Returns 0, or the error that poisoned the tree: -ENOMEM, -E2BIG (too many nodes, frames or
 * threads), -EOVERFLOW (weights beyond 2^53), -EINVAL (a node or frame number that does not exist).
 */
int calltree_error(const struct calltree *tree);

/* Read the tree. Returned pointers are valid until the tree changes. */
uint32_t calltree_nodes(const struct calltree *tree); /* includes the root */
uint32_t calltree_frames(const struct calltree *tree);
uint32_t calltree_threads(const struct calltree *tree); /* one past the highest number named */
size_t calltree_samples(const struct calltree *tree);
const struct calltree_node *calltree_node_at(const struct calltree *tree, uint32_t node);
const struct calltree_frame *calltree_frame_at(const struct calltree *tree, uint32_t frame);
const char *calltree_thread_at(const struct calltree *tree, uint32_t thread);  /* NULL: unnamed */
const char *calltree_process_at(const struct calltree *tree, uint32_t thread); /* NULL: unknown */
const struct calltree_sample *calltree_sample_at(const struct calltree *tree, size_t sample);
uint64_t calltree_total(const struct calltree *tree); /* weight of everything */
uint64_t calltree_waits(const struct calltree *tree); /* weight of the stacks that wait */

/* Lines, valid after calltree_finish(): sorted by frame number, then by falling total weight. */
size_t calltree_lines(const struct calltree *tree);
const struct calltree_line *calltree_line_at(const struct calltree *tree, size_t line);

/*
 * The order in which all outputs show and store nodes: depth first, siblings sorted by name. It
 * depends only on the tree's content, not on the order in which the tree was built.
 */
struct preorder {
	uint32_t nodes; /* includes the root */
	uint32_t frames;
	uint32_t *order;    /* [position] -> node; [0] is the root */
	uint32_t *position; /* [node] -> position */
	/* [position] -> one past the last position of its subtree */
	uint32_t *end;
	uint32_t *depth;  /* [position] -> depth, 0 for the root */
	uint32_t *height; /* [position] -> number of levels below the node */
	/* [frame] -> index in the order by name, module, kind, file, line, then the other fields */
	uint32_t *rank;
	uint32_t *by_rank; /* [rank] -> frame */
};

/*
 * Fill the caller's @preorder for @tree (finished, borrowed for the call), in linear time and
 * without recursion. Returns 0, or -ENOMEM with *preorder released.
 */
int preorder_init(struct preorder *preorder, const struct calltree *tree);

void preorder_release(struct preorder *preorder);

#endif
