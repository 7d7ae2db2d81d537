/* SPDX-License-Identifier: MIT */
/*
 * The one profile: what flamerun gathers of all processes of a run, and what a process gathers of
 * itself. Process images, their modules and threads, stacks, samples with their times, and what
 * programs said: names of code, marks. Entries have numbers in order of their first appearance;
 * frames are kept as a tree of nodes, each a frame below a parent:
 *
 *	stack ─▶ leaf node ─▶ parent ─▶ … ─▶ outermost node ─▶ root of the thread's image
 *
 * How a frame was found (WIRE_FRAME_BY_FP) is left out: it is the same place in code. The root of
 *the first image is node 0, where an image is all there is; those of others are nodes below it, so
 *that a frame's module number means the image's own. String 0 is "". Everything is an array of
 *`struct pages`, all on one account.
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
 * Without a ceiling of its own a profile keeps so many times, marks, and bytes of words. Beyond the
 * first, times are known less exactly, see thin.c. Marks and
 * the names of generated code are what a program says of itself, which may be without end: what
 * exceeds its ceiling is left out and counted as lost.
 */
#define PROFILE_TIMES_MAX (10u << 20)
#define PROFILE_MARKS_MAX (1u << 20)
#define PROFILE_WORDS_MAX (512u << 20)

struct profile_config {
	uint64_t period_ns;
	enum flameprof_clock clock;
	size_t limit_bytes; /* of all memory; 0: none, but for times and what programs say */
	const char *title;  /* copied; NULL: none */
};

/*
 * What a process was from its start or its exec to the next exec or its end. A process that
 * profiles itself has one, whatever the number of the profiler's runs.
 */
struct profile_image {
	uint64_t id;	    /* of a process that profiles itself: the run of the profiler */
	uint64_t parent;    /* the image it was forked from, 0 after an exec */
	uint32_t pid, ppid; /* in its own pid namespace */
	uint32_t root;	    /* node: the image itself, above all its stacks */
	uint32_t root_hash;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t start_cpu_ns, end_cpu_ns; /* of the process; end: when it left or was last seen */
	/* What the image itself told when it left, if it did. */
	uint64_t threads_ns;  /* CPU time that its threads used while they were sampled */
	uint64_t children_ns; /* CPU time of children that it had waited for, and of theirs */
	uint64_t children_kib; /* resident memory of the largest of them */
	uint64_t after_leave;  /* weight sampled after it left, beyond what was credited then */
	uint64_t unrecorded;   /* weight delivered and not sampled: dropped, torn or paused */
	uint32_t live_threads; /* that were sampled and had not ended when it had */
	uint32_t signal;       /* by which it was sampled from inside; 0: not known */
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES]; /* CPU time, by what kept samples from it */
	uint64_t short_threads;			      /* of WIRE_UNSAMPLED_SHORT */
	struct pages words; /* struct names: its code, unless that is in the profile's own */
	char exe[WIRE_EXE_BYTES];
	char comm[WIRE_COMM_BYTES];
	uint8_t from_outside; /* by a tracer, which came when it ran already */
	uint8_t told_end;
	uint8_t left_paused;
	uint8_t went_on; /* unsampled, after it had told its end */
	uint8_t left_by_exec;
	uint8_t ended;
	uint8_t is_displaced; /* the signal had another handler at the end */
	uint8_t unsampled;  /* nobody could look into it: all of it is credit, on no stack */
	uint8_t is_refused; /* `unsampled` because tracing is forbidden, else it was too short */
	uint8_t still_runs; /* end_cpu_ns is of the moment when the gathering ended */
};

/* 12 bytes: the frame in halves, so that nothing is padded. */
struct profile_node {
	uint32_t parent;
	uint32_t frame_low, frame_high; /* of a root: WIRE_FRAME_BY_FP and the image's index */
};

/* Distinct by thread, node, kind and end. 28 bytes. */
struct profile_stack {
	uint64_t weight;
	uint32_t thread; /* index */
	uint32_t node;	 /* the leaf; the image's root when there was no stack */
	uint32_t path_hash; /* of its frames */
	uint32_t samples; /* records; stays at its largest number */
	uint16_t frames;
	uint8_t kind; /* enum wire_kind */
	uint8_t end;  /* enum wire_end */
} __attribute__((packed, aligned(4)));

/* One frame's place in the stack at hand. */
struct profile_step {
	uint64_t frame;
	uint32_t node;
	uint32_t hash; /* of the path to it */
};

/*
 * Distinct by both of these: a tid that is used again is another thread. Number 0 is all of an
 * image of which no sample has a time: nothing of theirs is shown but their stacks.
 */
struct profile_thread_key {
	uint64_t image; /* its id */
	uint32_t number; /* within it; in struct wire_sample */
};

struct profile_thread {
	struct profile_thread_key key;
	uint32_t image; /* index */
	uint32_t tid;	/* 0: not known */
	/* The stack that a sample without one goes on; last_frames 0: none yet, or none at all. */
	uint32_t last_node;
	uint32_t last_hash;
	uint16_t last_frames;
	uint8_t last_end;
	uint8_t pad;
	uint64_t last_ns; /* when it was on that stack */
	uint64_t weight;
	char name[WIRE_COMM_BYTES];
};

struct profile_mark {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t name; /* offset in names.strings */
};

/*
 * What is known of all images together. profile_add() counts `credited`, `untimed` and `ends` of
 * the counters, whoever gathers the others.
 */
struct profile_totals {
	struct wire_counters counts;
	uint64_t unknown_runtimes; /* a set, see runtime_bit() */
	uint32_t processes; /* images that follow each other by exec are one; 0: nobody counted */
	/*
	 * The number of the sampling signal if that killed the run's program, which had reset the
	 * signal's action by a system call of its own; else 0.
	 */
	uint32_t killed_by;
	uint32_t signal; /* by which programs were sampled; 0: by none */
	uint32_t timer_error; /* the errno that the last of counts.timerless_threads got */
	uint64_t signals_max; /* RLIMIT_SIGPENDING then */
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES]; /* of all images */
	uint64_t short_lives; /* threads and processes of WIRE_UNSAMPLED_SHORT */
	uint64_t cpu_ns;      /* CPU time of all images, from the kernel where it is known */
};

struct flameprof_profile {
	struct pages_account account; /* with a lower limit while samples come: names need room */
	size_t limit_bytes;
	uint64_t times_max;
	uint64_t stretch_ns; /* so exactly are times known; 0: as they were taken */
	size_t words_bytes, words_max;
	uint32_t marks_max;
	int error; /* the first failure to keep something */
	uint64_t period_ns;
	enum flameprof_clock clock;
	uint32_t title; /* offset in names.strings */
	uint64_t start_ns, end_ns;
	int64_t start_wall_s;
	uint64_t weight;    /* of what the clock counts */
	uint64_t vm_weight; /* of WIRE_KIND_VM, no part of it but with FLAMEPROF_CLOCK_VM */
	uint64_t wait_weight; /* of WIRE_KIND_WAIT, no part of it but of FLAMEPROF_CLOCK_ELAPSED */
	uint64_t dropped_weight; /* what is missing, as far as whoever took the profile knew */
	struct profile_totals totals;

	struct pages images;
	uint32_t image_count;
	struct lookup image_lookup;

	/* Numbered from 1: entry 0 of the array is the first image's root and unused. */
	struct pages nodes;
	uint32_t node_count; /* that root not included */
	struct lookup node_lookup;

	struct pages stacks;
	uint32_t stack_count;
	struct lookup stack_lookup;

	struct pages threads;
	uint32_t thread_count;
	struct lookup thread_lookup;

	struct pages samples; /* struct flameprof_sample */
	uint64_t sample_count;

	struct names names; /* the modules of all images, the code of the first */
	struct pages marks;
	uint32_t mark_count;

	/*
	 * The frames added last, struct profile_step from the outermost one: a thread's stacks
	 * mostly differ from one to the next at the leaf side alone.
	 */
	struct pages path;
	uint32_t path_depth;
	uint32_t path_root;  /* the node it hangs from */
	uint32_t path_stack; /* index + 1 of the stack that it is, 0: of none */
	uint32_t last_thread; /* index + 1 of the thread looked up last */
	struct pages
		recent; /* struct profile_thread: of those that are no entries, see profile.c */
};

/* ---- making and filling ------------------------------------------------------------------------
 * Errors are 0, -ENOSPC at the ceiling, -ENOMEM. The first one stays in profile_error(), which
 * tells those who have no ceiling that something is missing.
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

/* The index of the image with @id, made if needed; 0 when that fails. */
uint32_t profile_image(struct flameprof_profile *p, uint64_t id);

/*
 * For a process that profiles itself: samples are of the first image from now on, and threads of
 * the profiler's run @id. Returns 0 or an error.
 */
int profile_begin_run(struct flameprof_profile *p, uint64_t id);

/*
 * Remember @tid (0: unknown) and @comm (WIRE_COMM_BYTES; NULL or empty: unknown) of thread @number
 * of
 * @image. It becomes an entry with its first sample that has a weight and a time.
 */
void profile_name_thread(struct flameprof_profile *p, uint32_t image, uint32_t number, uint32_t tid,
	const char *comm);

/*
 * Add one sample of @image: a stack of sample->frames frames, innermost first, on thread
 * sample->thread of it, which is made if needed. Checked before: wire_drain.h.
 *
 * Without frames it goes on the last stack of the thread (WIRE_KIND_CPU), on none when there is
 * none. With weight 0 nothing is counted, the stack is only remembered as the last
 * one.
 *
 * Returns 0 or an error: a sample that does not fit changes nothing.
 */
int profile_add(struct flameprof_profile *p, uint32_t image, const struct wire_sample *sample,
	const uint64_t *frames);

/*
 * Announce a module, one of @image by its number; the first with that number stays.
 * Returns 0, -EINVAL or an error.
 */
int profile_add_module(struct flameprof_profile *p, uint32_t image,
	const struct names_module *module, const char *path);

/*
 * What programs say: names of code and of virtual machines' functions (@file "": not known), and
 * marks. Texts are copied. What is empty says nothing and is no error. Where a program says two
 * things of one place the first stays.
 * Returns 0, -EINVAL for stretches that overlap another, or an error; -ENOSPC is none that
 * profile_error() tells.
 */
int profile_add_code(struct flameprof_profile *p, uint32_t image, const struct names_code *code,
	const char *name, const char *file);
int profile_add_mark(
	struct flameprof_profile *p, uint64_t time_ns, uint32_t tid, const char *name);

/* ---- reading -----------------------------------------------------------------------------------
 * Pointers are valid until the profile changes, and may be written through.
 */
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

/* Samples per second of each thread. */
static inline uint32_t profile_rate_hz(const struct flameprof_profile *p)
{
	return (uint32_t)((1000000000ULL + p->period_ns / 2) / p->period_ns);
}

/* The image that a stack is of. */
static inline uint32_t profile_stack_image(
	const struct flameprof_profile *p, const struct profile_stack *stack)
{
	return profile_thread_at(p, stack->thread)->image;
}

/* The names of @image's code; NULL: it has announced none. */
static inline const struct names *profile_words(const struct flameprof_profile *p, uint32_t image)
{
	return image ? profile_image_at(p, image)->words.at : &p->names;
}

/* What is at @address of @image's code space, or NULL. */
/*
 * Is @node of @image the target that a stub above which it stands hides? Context: any thread.
 */
int profile_is_hidden(const struct flameprof_profile *p, uint32_t image, uint32_t node);

const struct names_code *profile_code_at(
	const struct flameprof_profile *p, uint32_t image, uint64_t address);

/* The time of the first sample that has one (CLOCK_MONOTONIC), UINT64_MAX without any. */
uint64_t profile_first_ns(const struct flameprof_profile *p);

/* What the frame @word of the first image means, as a reader sees it. */
struct flameprof_frame profile_frame(const struct flameprof_profile *p, uint64_t word);

#endif
