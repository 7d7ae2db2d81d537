/* SPDX-License-Identifier: MIT */
/*
 * What was gathered, before anything has a name: process images, their modules and threads, stacks
 * of frames, and the samples on them.
 *
 * Like the call tree it poisons itself at the first failure; profile_error() tells.
 * Context: one thread.
 */
#ifndef CLI_PROFILE_PROFILE_H
#define CLI_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/profile/announced.h"
#include "libprof/wire.h"

struct profile;

/* Samples whose times are kept; the weights of later ones still count. 24 bytes each. */
#define PROFILE_SAMPLES_MAX (4u << 20)

struct profile_module {
	char *path; /* as the target saw it; NULL: this number was never announced */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	uint32_t flags; /* WIRE_MODULE_* */
	uint64_t start, end;
};

struct profile_image {
	uint64_t id;
	uint64_t parent;   /* the image it was forked from, 0 after an exec */
	uint32_t pid, ppid; /* in its own pid namespace */
	uint32_t root;     /* node: the image itself, above all its stacks */
	uint64_t start_ns;
	uint64_t start_cpu_ns, end_cpu_ns; /* of the process; end: when it left or was last seen */
	/* What the image itself told when it left, if it did. */
	uint64_t threads_ns;  /* CPU time that its threads used while they were sampled */
	uint64_t children_ns; /* CPU time of children that it had waited for, and of theirs */
	uint64_t children_kib; /* resident memory of the largest of them */
	uint64_t after_leave;  /* weight sampled after it left, beyond what was credited then */
	uint64_t unrecorded;   /* weight delivered and not sampled: dropped or paused */
	int from_outside; /* by a tracer, which came when it ran already */
	int told_end;
	int left_paused;
	int went_on; /* unsampled, after it had told its end */
	char exe[WIRE_EXE_BYTES];
	char comm[WIRE_COMM_BYTES];
	struct profile_module *modules; /* by number */
	uint32_t module_count;
	int left_by_exec;
	int ended;
	int still_runs; /* end_cpu_ns is of the moment when the gathering ended */
};

struct profile_node {
	uint64_t frame; /* WIRE_FRAME; of an image's root: the image's index */
	uint32_t parent; /* UINT32_MAX: an image's root */
	uint32_t image;
};

struct profile_thread {
	uint32_t image;
	uint32_t number; /* within the image */
	uint32_t tid;
	char comm[WIRE_COMM_BYTES];
};

/* One stack of one thread, with all that was sampled on it. */
struct profile_stack {
	uint32_t node; /* the leaf; the image's root when there was no stack */
	uint32_t thread;
	uint8_t end;  /* enum wire_end */
	uint8_t kind; /* enum wire_kind */
	uint64_t weight;
	uint64_t samples; /* records */
};

struct profile_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t stack;
	uint32_t weight;
};

/* Every loss by cause, in units of weight unless said otherwise. */
struct profile_losses {
	uint64_t dropped;         /* a ring was full */
	uint64_t vm_dropped;      /* the same, of elapsed time that virtual machines told */
	uint64_t torn;            /* records half written when their thread was killed */
	uint64_t malformed;       /* records that could not be believed */
	uint64_t control_dropped; /* records of modules, code or marks, counted in records */
	uint64_t late_threads;    /* threads that could not be sampled */
	uint64_t lost_processes;  /* processes that found no slot */
	uint64_t unprofiled[WIRE_UNPROFILED_CAUSES]; /* images exec'd without the library */
	uint64_t untimed;         /* samples whose times were not kept */
};

struct profile_totals {
	uint64_t delivered; /* expirations that reached a handler */
	uint64_t overruns;  /* of these, delivered as overruns */
	uint64_t credited;  /* due at an end and never delivered */
	uint64_t exec, exit; /* of these, used before and after what could be sampled */
	uint64_t paused;    /* due while the program had asked to be left out */
	uint64_t handler_ns;
	uint64_t threads; /* that were to be sampled, whether or not a sample came */
	uint64_t cpu_ns;    /* CPU time of all images, from the kernel where it is known */
	uint64_t ends[WIRE_END_COUNT]; /* weight by how the stack ended; credit, vm not counted */
	uint64_t vm;	    /* elapsed time that virtual machines told: beside all of the above */
	struct profile_losses losses;
};

/* @rate_hz: samples per CPU-second of each thread. Returns an owned profile or NULL. */
struct profile *profile_new(uint32_t rate_hz);
void profile_free(struct profile *profile); /* NULL is fine */
int profile_error(const struct profile *profile);

/* The index of the image with @id, made if needed. */
uint32_t profile_image(struct profile *profile, uint64_t id);
/* Number @thread of @image, made if needed; @comm (borrowed, WIRE_COMM_BYTES, may be NULL) and
 * @tid (0: unknown) are remembered. */
uint32_t profile_thread(struct profile *profile, uint32_t image, uint32_t thread, uint32_t tid,
	const char *comm);
/* Announce a module; @module->path is copied. */
void profile_add_module(struct profile *profile, uint32_t image, uint32_t number,
	const struct profile_module *module);
/* The child of @parent with @frame. */
uint32_t profile_node(struct profile *profile, uint32_t parent, uint64_t frame);
/* Add one sample. Returns its stack. */
uint32_t profile_add(struct profile *profile, const struct profile_stack *stack, uint64_t time_ns,
	uint64_t weight);

/* Reading; pointers are valid until the profile changes. Image pointers may be written through. */
uint32_t profile_rate_hz(const struct profile *profile);
uint32_t profile_images(const struct profile *profile);
uint32_t profile_nodes(const struct profile *profile);
uint32_t profile_threads(const struct profile *profile);
uint32_t profile_stacks(const struct profile *profile);
size_t profile_samples(const struct profile *profile);
struct profile_image *profile_image_at(struct profile *profile, uint32_t image);
const struct profile_node *profile_node_at(const struct profile *profile, uint32_t node);
const struct profile_thread *profile_thread_at(const struct profile *profile, uint32_t thread);
const struct profile_stack *profile_stack_at(const struct profile *profile, uint32_t stack);
const struct profile_sample *profile_sample_at(const struct profile *profile, size_t sample);
/* The time of the first sample that has one (CLOCK_MONOTONIC), UINT64_MAX without any. */
uint64_t profile_start_ns(const struct profile *profile);
struct profile_totals *profile_totals(struct profile *profile);
/* Codes and marks, to add to and to ask. */
struct announced *profile_announced(struct profile *profile);

#endif
