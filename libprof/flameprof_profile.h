/* SPDX-License-Identifier: MIT */
/*
 * A recorded profile: threads, stacks, samples with their times, modules and marks. Only its owner
 * has it, and it does not change when the profiler continues or stops.
 *
 * Context: one thread at a time per profile, not a signal handler. Returned pointers are valid
 * until the profile is changed or freed. An index out of range gives -ERANGE.
 */
#ifndef FLAMEPROF_PROFILE_H
#define FLAMEPROF_PROFILE_H

#include "flameprof.h"

#ifdef __cplusplus
extern "C" {
#endif

struct flameprof_profile;

/* Free a profile; NULL is allowed. */
FLAMEPROF_API void flameprof_profile_free(struct flameprof_profile *profile);

#define FLAMEPROF_NONE UINT32_MAX

struct flameprof_profile_summary {
	const char *title;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	int64_t start_wall_s;	   /* seconds since the epoch */
	uint64_t period_ns;	   /* one unit of weight */
	enum flameprof_clock clock;
	uint64_t weight;    /* by the clock; equals vm_weight with FLAMEPROF_CLOCK_VM */
	/* from flameprof_record_vm_stack(); with other clocks no part of `weight` */
	uint64_t vm_weight;
	uint64_t samples; /* records, each with a time and a stack */
	uint32_t threads, stacks, modules, marks;
};

FLAMEPROF_API void flameprof_profile_info(
	const struct flameprof_profile *profile, struct flameprof_profile_summary *out);

struct flameprof_thread {
	const char *name;
	uint32_t tid;
	uint64_t weight; /* by the clock */
};

/* Read thread @index. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_thread(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_thread *out);

struct flameprof_module {
	const char *path;	 /* "" if unknown */
	const uint8_t *build_id; /* NULL if there is none */
	uint32_t build_id_bytes;
	uintptr_t start, end; /* mapped addresses */
	uintptr_t bias;	      /* address in the process - address in the file's ELF headers */
};

/* Read module @index. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_module(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_module *out);

/* A stack of one thread, with the sum of its samples. */
struct flameprof_stack {
	uint32_t thread; /* index */
	uint32_t frames;
	uint64_t weight;
	uint64_t samples;
	enum flameprof_end end;
	int is_credit; /* due but not delivered: the thread's last stack, or none */
	int is_vm;     /* from flameprof_record_vm_stack(): elapsed time with any clock */
	int is_wait;   /* off CPU (FLAMEPROF_CLOCK_ELAPSED); the leaf names the reason */
};

/* Read stack @index. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_stack(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_stack *out);

struct flameprof_frame {
	/*
	 * Address in this process; in a caller's frame it is inside the call instruction; in
	 * announced code it is where the code was when it was announced. 0: unknown.
	 */
	uintptr_t address;
	uint32_t module;   /* index; FLAMEPROF_NONE: in no file */
	/* from the code's owner (flameprof_stub.h), or of a wait, else NULL */
	const char *name;
	const char *file;  /* of a virtual machine's function (flameprof_vm.h), else NULL */
	uint32_t line;	   /* line of that function; 0: unknown */
};

/*
 * Store up to @room frames of stack @stack in @frames, leaf first. Returns the number of frames of
 * the stack, which may exceed @room, or -ERANGE.
 */
FLAMEPROF_API int flameprof_profile_frames(const struct flameprof_profile *profile, uint32_t stack,
	struct flameprof_frame *frames, unsigned room);

struct flameprof_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t stack;	  /* index */
	uint32_t weight;
};

/* Read sample @index. The samples of a thread are ordered by time. Returns 0 or -ERANGE. */
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
 * Add @from to @into. Equal stacks of one thread become one. Threads of different profiler runs are
 * the same if tid and name are equal; modules, if file and address are.
 * Returns 0; -EINVAL if periods or clocks differ or both are the same profile; -ENOSPC at @into's
 * memory limit; -ENOMEM. A failed call leaves @into unchanged.
 */
FLAMEPROF_API int flameprof_profile_merge(
	struct flameprof_profile *into, const struct flameprof_profile *from);

/*
 * Write the profile to @path, replacing an existing file by a rename. The ending selects the
 * format:
 *
 *   .pb     pprof, uncompressed, with mappings, build-ids and recorded names, without symbols.
 *           The library writes it itself.
 *   others  .svg .png .pdf .folded .pb.gz, with symbols. The flamerun program writes them; it is
 *           searched beside the library, where it was installed, and on PATH. It runs as a
 *           process that the host's wait() and SIGCHLD do not see.
 *
 * Returns 0; -EINVAL for another ending; -ENOENT if there is no flamerun, -EIO if it failed: then
 * PATH.pb holds the profile, for `flamerun render PATH.pb -o PATH`; -EACCES also if another user
 * put the file, or a link on its path, into a sticky folder; -ENAMETOOLONG; -ENOMEM; or -errno of
 * the file.
 */
FLAMEPROF_API int flameprof_profile_write(
	const struct flameprof_profile *profile, const char *path);

#ifdef __cplusplus
}
#endif

#endif
