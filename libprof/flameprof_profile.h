/* SPDX-License-Identifier: MIT */
/*
 * What was profiled: threads, stacks, samples with their times, modules, marks. A profile belongs
 * to its owner alone; it stays what it is when the profiler goes on or ends.
 *
 * Context: one thread at a time for each profile, not a signal handler. Pointers handed out are
 * valid until the profile is changed or freed. Indices out of range give -ERANGE.
 */
#ifndef FLAMEPROF_PROFILE_H
#define FLAMEPROF_PROFILE_H

#include "flameprof.h"

#ifdef __cplusplus
extern "C" {
#endif

struct flameprof_profile;

/* NULL is fine. */
FLAMEPROF_API void flameprof_profile_free(struct flameprof_profile *profile);

#define FLAMEPROF_NONE UINT32_MAX

struct flameprof_profile_summary {
	const char *title;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	int64_t start_wall_s;	   /* seconds since the epoch */
	uint64_t period_ns;	   /* one unit of weight */
	enum flameprof_clock clock;
	uint64_t weight;    /* of what the clock counted; with FLAMEPROF_CLOCK_VM the same as: */
	uint64_t vm_weight; /* what flameprof_record_vm_stack() brought. Else it is another time
			       than the clock's: not to be added to it */
	uint64_t samples; /* records; each has a time and a stack */
	uint32_t threads, stacks, modules, marks;
};

FLAMEPROF_API void flameprof_profile_info(
	const struct flameprof_profile *profile, struct flameprof_profile_summary *out);

struct flameprof_thread {
	const char *name;
	uint32_t tid;
	uint64_t weight; /* of what the clock counted */
};

/* Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_thread(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_thread *out);

struct flameprof_module {
	const char *path;	 /* "" when it has none */
	const uint8_t *build_id; /* NULL without one */
	uint32_t build_id_bytes;
	uintptr_t start, end; /* where it was mapped */
	uintptr_t bias;	      /* address in the process - address in the file's ELF headers */
};

/* Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_module(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_module *out);

/* One stack of one thread, with all that was sampled on it. */
struct flameprof_stack {
	uint32_t thread; /* index */
	uint32_t frames;
	uint64_t weight;
	uint64_t samples;
	enum flameprof_end end;
	int is_credit; /* due and never delivered: the thread's last stack, or none */
	int is_vm;     /* from flameprof_record_vm_stack(): elapsed time, whatever the clock is */
	int is_wait;   /* off the CPU (FLAMEPROF_CLOCK_ELAPSED): the leaf is named for what it
			  waited for */
};

/* Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_stack(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_stack *out);

struct flameprof_frame {
	/*
	 * In this process, of the call for callers; in announced code where that lay when it was
	 * announced. 0: not known.
	 */
	uintptr_t address;
	uint32_t module;   /* index, FLAMEPROF_NONE outside all files */
	/* recorded by the code's owner (flameprof_stub.h), or of a wait's leaf, else NULL */
	const char *name;
	const char *file;  /* of a function of a virtual machine (flameprof_vm.h), else NULL */
	uint32_t line;	   /* the same; 0: none */
};

/*
 * The frames of a stack, leaf first, into @frames, which has room for @room.
 * Returns how many there are, however many fit, or -ERANGE.
 */
FLAMEPROF_API int flameprof_profile_frames(const struct flameprof_profile *profile, uint32_t stack,
	struct flameprof_frame *frames, unsigned room);

struct flameprof_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t stack;	  /* index */
	uint32_t weight;
};

/* In the order of recording of each thread. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_sample(
	const struct flameprof_profile *profile, uint64_t index, struct flameprof_sample *out);

struct flameprof_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	const char *name;
};

FLAMEPROF_API int flameprof_profile_mark(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_mark *out);

/*
 * Add everything in @from to @into: equal stacks of one thread become one. Threads of different
 * runs of the profiler are one when tid and name are the same, modules when file and place are.
 * Returns 0; -EINVAL when their periods or clocks differ, or they are the same profile; -ENOSPC at
 * @into's ceiling; -ENOMEM. A failed call leaves @into as it was.
 */
FLAMEPROF_API int flameprof_profile_merge(
	struct flameprof_profile *into, const struct flameprof_profile *from);

/*
 * Write the profile to @path, replacing what is there by rename. The ending decides:
 *
 *   .pb       pprof, uncompressed, without symbols: mappings with build-ids, recorded names. Made
 * by the library itself. others    .svg .png .pdf .folded .pb.gz: named and drawn by the flamerun
 * program, found beside the library, where it was installed, or on PATH. It runs as a process of
 * its own that the host's wait() and SIGCHLD never see.
 *
 * Returns 0; -EINVAL for another ending; -ENOENT when there is no flamerun, -EIO when it failed:
 * then PATH.pb holds the profile, for `flamerun render PATH.pb -o PATH`; -EACCES also where another
 * user laid the file, or a link on the way to it, into a sticky folder; -ENAMETOOLONG,
 * -ENOMEM, and -errno of the file.
 */
FLAMEPROF_API int flameprof_profile_write(
	const struct flameprof_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif

#endif
