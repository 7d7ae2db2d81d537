/* SPDX-License-Identifier: MIT */
/*
 * A profile holds what flamerun recorded of all processes, or what a process recorded of itself:
 * process images, their modules and threads, stacks, samples with their times, names of code,
 * marks. Entries are numbered in the order of their first appearance. Stacks share their outer
 * frames in a tree of nodes; each node is a frame with a parent:
 *
 *	stack ─▶ leaf node ─▶ parent ─▶ … ─▶ outermost node ─▶ root of the thread's image
 *
 * WIRE_FRAME_BY_FP is cleared in frames, so that an address found by frame pointer is the same
 * node. The root of the first image is node 0; the roots of other images are nodes below node 0,
 * because module numbers are valid within one image. String 0 is "". All tables are `struct pages`
 * on one account.
 *
 * Context: one thread at a time, never a handler.
 */
#ifndef LIBPROF_PROFILE_PROFILE_H
#define LIBPROF_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/flameprof_profile.h"
#include "libprof/profile/lookup.h"
#include "libprof/profile/names.h"
#include "libprof/wire.h"

/*
 * Limits of a profile whose config has no limit: number of samples with times, number of marks,
 * bytes of names. Beyond the first limit, times become less exact (thin.c). A program may make any
 * number of marks and names of code; those beyond the limits are left out and counted as lost.
 */
#define PROFILE_TIMES_MAX (10u << 20)
#define PROFILE_MARKS_MAX (1u << 20)
#define PROFILE_WORDS_MAX (512u << 20)

struct profile_config {
	uint64_t period_ns;
	enum flameprof_clock clock;
	/* Limit of all memory; 0: only PROFILE_*_MAX. */
	size_t limit_bytes;
	const char *title;  /* copied; NULL: none */
};

/*
 * A process image: a process from its start or exec to its next exec or its end. A process that
 * profiles itself has one image for all its profiles, however often the profiler is started.
 */
struct profile_image {
	/*
	 * Image id in the arena. In a process that profiles itself it changes with each start of
	 * the profiler.
	 */
	uint64_t id;
	/* id of the image that forked this one; 0 after an exec */
	uint64_t parent;
	uint32_t pid, ppid; /* in its own pid namespace */
	uint32_t root;	    /* root node of all its stacks */
	uint32_t root_hash;
	uint64_t start_ns;		   /* CLOCK_MONOTONIC */
	/* CPU time of the process when the image began, and when it ended or was last seen. */
	uint64_t start_cpu_ns, end_cpu_ns;
	/*
	 * CPU time of the image's threads while they were sampled. This field and the next three
	 * are complete only if end_is_reported is set.
	 */
	uint64_t threads_ns;
	/* CPU time of children that the image had waited for, and of their descendants. */
	uint64_t children_ns;
	/* Resident memory of the largest of these children. */
	uint64_t children_kib;
	/*
	 * Weight of samples taken after the image had reported its end, without the weight that the
	 * report had already credited to its threads.
	 */
	uint64_t after_leave;
	/*
	 * Weight of timer signals that left no sample, because the sample was dropped or only half
	 * written when its thread ended, or because recording was paused.
	 */
	uint64_t unrecorded;
	/* Number of sampled threads that were alive when the image ended. */
	uint32_t live_threads;
	uint32_t signal;       /* sampling signal; 0: unknown */
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES]; /* CPU time without samples, by cause */
	uint64_t short_threads;			      /* count for WIRE_UNSAMPLED_SHORT */
	/* A struct names of the image's generated code. The first image uses profile.names. */
	struct pages words;
	char exe[WIRE_EXE_BYTES];
	char comm[WIRE_COMM_BYTES];
	/* Set if flamerun's tracer found the image running and sampled it from outside. */
	uint8_t from_outside;
	uint8_t end_is_reported;
	uint8_t left_paused;
	/* The process continued unsampled after it had reported its end. */
	uint8_t went_on;
	uint8_t left_by_exec;
	uint8_t ended;
	/* When the image ended, the sampling signal had another handler than this library's. */
	uint8_t is_displaced;
	/* The image could not be sampled: all its CPU time is WIRE_KIND_CREDIT without a stack. */
	uint8_t unsampled;
	/* If `unsampled` is set: 1 if tracing was forbidden, 0 if the image was too short. */
	uint8_t is_refused;
	/* The image was running when recording ended; end_cpu_ns was read then. */
	uint8_t still_runs;
};

/* The frame is split into two words, so that the node has no padding: 12 bytes. */
struct profile_node {
	uint32_t parent;
	/* The frame. The root node of an image has WIRE_FRAME_BY_FP and the image's index. */
	uint32_t frame_low, frame_high;
};

/* A distinct stack: no two have equal thread, node, kind and end. 28 bytes. */
struct profile_stack {
	uint64_t weight;
	uint32_t thread;    /* index */
	/* Number of the leaf node, or of the image's root node if the stack has no frames. */
	uint32_t node;
	uint32_t path_hash; /* hash of its frames */
	uint32_t samples;   /* number of samples; saturates */
	uint16_t frames;
	uint8_t kind; /* enum wire_kind */
	uint8_t end;  /* enum wire_end */
} __attribute__((packed, aligned(4)));

/* A frame of the stack that was added last, and the frame's node. */
struct profile_step {
	uint64_t frame;
	uint32_t node;
	uint32_t hash; /* hash of the path up to here */
};

/*
 * Key of a thread. Two threads that had the same tid one after the other have different keys. When
 * a profile has no room for times any more, threads that are new to it share number 0 of their
 * image.
 */
struct profile_thread_key {
	uint64_t image;	 /* the image's id */
	/* Number within the image, as in struct wire_sample. */
	uint32_t number;
};

struct profile_thread {
	struct profile_thread_key key;
	uint32_t image; /* index */
	uint32_t tid;	/* 0: unknown */
	/* The thread's last stack, used for samples without frames; last_frames is 0 if none. */
	uint32_t last_node;
	uint32_t last_hash;
	uint16_t last_frames;
	uint8_t last_end;
	uint8_t pad;
	/* Time of the thread's last sample on a CPU. */
	uint64_t last_ns;
	uint64_t weight;
	char name[WIRE_COMM_BYTES];
};

struct profile_mark {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t name; /* offset in names.strings */
};

/* Totals of all images. profile_add() updates only `credited`, `untimed` and `ends`. */
struct profile_totals {
	struct wire_counters counts;
	uint64_t unknown_runtimes; /* set of runtime_bit() */
	/* Number of processes: images that follow each other by exec count once. 0: not counted. */
	uint32_t processes;
	/*
	 * The sampling signal if it killed the program that flamerun started, because the program
	 * had reset the signal's action by a system call of its own; else 0.
	 */
	uint32_t killed_by;
	/* The sampling signal; 0: no program was sampled by a signal. */
	uint32_t signal;
	/* errno of the timer_create() that failed last (counts.timerless_threads). */
	uint32_t timer_error;
	uint64_t signals_max;			      /* RLIMIT_SIGPENDING when it failed */
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES]; /* of all images */
	/* Number of threads and processes of WIRE_UNSAMPLED_SHORT. */
	uint64_t short_lives;
	/* CPU time of all images, from the kernel if known. */
	uint64_t cpu_ns;
};

struct flameprof_profile {
	/*
	 * account.limit_bytes is lower than the limit below while samples are added, to reserve
	 * memory for names.
	 */
	struct pages_account account;
	size_t limit_bytes;
	uint64_t times_max;
	uint64_t stretch_ns; /* resolution of times; 0: as recorded */
	size_t words_bytes, words_max;
	uint32_t marks_max;
	int error; /* first failure to add something */
	uint64_t period_ns;
	enum flameprof_clock clock;
	uint32_t title; /* offset in names.strings */
	uint64_t start_ns, end_ns;
	int64_t start_wall_s;
	uint64_t weight; /* samples of the profile's clock */
	/* Weight of WIRE_KIND_VM; part of `weight` only with FLAMEPROF_CLOCK_VM. */
	uint64_t vm_weight;
	/* Weight of WIRE_KIND_WAIT; part of `weight` only with FLAMEPROF_CLOCK_ELAPSED. */
	uint64_t wait_weight;
	/* Weight of samples that the recorder dropped. */
	uint64_t dropped_weight;
	struct profile_totals totals;

	struct pages images;
	uint32_t image_count;
	struct lookup image_lookup;

	/*
	 * Nodes are numbered from 1. Number 0 is the root of the first image; entry 0 of the array
	 * is unused.
	 */
	struct pages nodes;
	uint32_t node_count; /* without entry 0 */
	struct lookup node_lookup;

	struct pages stacks;
	uint32_t stack_count;
	struct lookup stack_lookup;

	struct pages threads;
	uint32_t thread_count;
	struct lookup thread_lookup;

	struct pages samples; /* struct flameprof_sample */
	uint64_t sample_count;

	/* The modules of all images, and the code of the first image. */
	struct names names;
	struct pages marks;
	uint32_t mark_count;

	/*
	 * The stack added last: struct profile_step from the outermost frame on. Successive stacks
	 * of a thread usually differ only near the leaf, so the next sample is compared with it.
	 */
	struct pages path;
	uint32_t path_depth;
	uint32_t path_root;   /* root node of that stack */
	uint32_t path_stack;  /* that stack's index + 1; 0: none */
	uint32_t last_thread; /* index + 1 of the thread looked up last */
	/*
	 * struct profile_thread of threads that have no entry in `threads`, because none of their
	 * samples is in the profile (see RECENT_THREADS in profile.c).
	 */
	struct pages recent;
};

/* ---- making and filling ---------------------------------------------------------------------- */
/*
 * These functions return 0, -ENOSPC at the limit, or -ENOMEM. profile_error() returns the first of
 * these errors, so that a caller without a limit can find out that something is missing.
 */

/* Returns an owned, empty profile or NULL. */
struct flameprof_profile *profile_new(const struct profile_config *config);

static inline void profile_free(struct flameprof_profile *p)
{
	flameprof_profile_free(p);
}

static inline int profile_error(const struct flameprof_profile *p)
{
	return p->error;
}

/* Returns the index of the image with @id, which is added if needed; 0 if that fails. */
uint32_t profile_image(struct flameprof_profile *p, uint64_t id);

/*
 * In a process that profiles itself, call this before adding samples, with the profiler's image id
 * @id. The first image, which gets all samples, is then made if needed and has that id. Returns 0
 * or an error.
 */
int profile_begin_run(struct flameprof_profile *p, uint64_t id);

/*
 * Store @tid (0: unknown) and @comm (WIRE_COMM_BYTES; NULL or "": unknown) of thread @number of
 * @image. The thread gets an entry when its first sample with a weight is added, if the profile
 * then still has room for times.
 */
void profile_name_thread(struct flameprof_profile *p, uint32_t image, uint32_t number, uint32_t tid,
	const char *comm);

/*
 * Add one sample of @image: sample->frames frames, innermost first, of thread sample->thread, which
 * is added if needed. The caller has checked the sample (wire_drain.h).
 *
 * A sample without frames is added to the thread's last stack of WIRE_KIND_CPU, or to no stack. A
 * sample with weight 0 is not counted; its stack is only remembered as the thread's last one.
 *
 * Returns 0 or an error; a sample that does not fit changes nothing.
 */
int profile_add(struct flameprof_profile *p, uint32_t image, const struct wire_sample *sample,
	const uint64_t *frames);

/*
 * Add a module of @image. If its number is known, the first module with that number stays. Returns
 * 0, -EINVAL or an error.
 */
int profile_add_module(struct flameprof_profile *p, uint32_t image,
	const struct names_module *module, const char *path);

/*
 * Add names of code and of virtual machines' functions (@file "": unknown), and marks. Texts are
 * copied. Empty names and code are ignored. If two names are added for the same range, the first
 * one stays.
 * Returns 0; -EINVAL for overlapping ranges; or an error. profile_error() does not report -ENOSPC
 * of these functions.
 */
int profile_add_code(struct flameprof_profile *p, uint32_t image, const struct names_code *code,
	const char *name, const char *file);
int profile_add_mark(struct flameprof_profile *p, uint64_t time_ns, uint32_t tid, const char *name);

/* ---- reading --------------------------------------------------------------------------------- */
/* Returned pointers are valid until the profile changes. Callers may write through them. */
static inline struct profile_image *profile_image_at(
	const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_image *)p->images.at + index;
}

static inline struct profile_node *profile_node_at(
	const struct flameprof_profile *p, uint32_t number)
{
	return (struct profile_node *)p->nodes.at + number;
}

static inline uint64_t profile_node_frame(const struct profile_node *node)
{
	return (uint64_t)node->frame_high << 32 | node->frame_low;
}

static inline struct profile_stack *profile_stack_at(
	const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_stack *)p->stacks.at + index;
}

static inline struct profile_thread *profile_thread_at(
	const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_thread *)p->threads.at + index;
}

static inline struct profile_mark *profile_mark_at(
	const struct flameprof_profile *p, uint32_t index)
{
	return (struct profile_mark *)p->marks.at + index;
}

static inline const struct flameprof_sample *profile_sample_at(
	const struct flameprof_profile *p, uint64_t index)
{
	return (const struct flameprof_sample *)p->samples.at + index;
}

static inline struct profile_totals *profile_totals(struct flameprof_profile *p)
{
	return &p->totals;
}

/* Returns samples per second of each thread. */
static inline uint32_t profile_rate_hz(const struct flameprof_profile *p)
{
	return (uint32_t)((1000000000ULL + p->period_ns / 2) / p->period_ns);
}

/* Returns the index of a stack's image. */
static inline uint32_t profile_stack_image(
	const struct flameprof_profile *p, const struct profile_stack *stack)
{
	return profile_thread_at(p, stack->thread)->image;
}

/* Returns the names of @image's code; NULL: none were announced. */
static inline const struct names *profile_names(const struct flameprof_profile *p, uint32_t image)
{
	return image ? profile_image_at(p, image)->words.at : &p->names;
}

/*
 * Returns 1 if @node of @image is a stub's target that pictures leave out: the stub is the node's
 * parent and has WIRE_CODE_HIDES_TARGET. Context: any thread.
 */
int profile_is_hidden(const struct flameprof_profile *p, uint32_t image, uint32_t node);

/* Returns the announced code at @address in the code space of @image, or NULL. */
const struct names_code *profile_code_at(
	const struct flameprof_profile *p, uint32_t image, uint64_t address);

/*
 * Returns the time of the first sample that has one (CLOCK_MONOTONIC), or UINT64_MAX if none has.
 */
uint64_t profile_first_ns(const struct flameprof_profile *p);

/* Convert @word, a recorded frame of the first image, to a frame of the public API. */
struct flameprof_frame profile_frame(const struct flameprof_profile *p, uint64_t word);

#endif
