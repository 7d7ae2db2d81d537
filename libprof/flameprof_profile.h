/* SPDX-License-Identifier: MIT */
/*
 * A recorded profile: threads, stacks, samples with their times, modules and marks. It belongs to
 * the caller and does not change when the profiler continues or stops.
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
	/* Weight of the samples of this clock. With FLAMEPROF_CLOCK_VM it equals vm_weight. */
	uint64_t weight;
	/*
	 * Weight from flameprof_record_vm_stack(). It is no part of `weight`, except with
	 * FLAMEPROF_CLOCK_VM.
	 */
	uint64_t vm_weight;
	uint64_t samples; /* records, each with a time and a stack */
	uint32_t threads, stacks, modules, marks;
};

FLAMEPROF_API void flameprof_profile_info(
	const struct flameprof_profile *profile, struct flameprof_profile_summary *out);

struct flameprof_thread {
	const char *name;
	uint32_t tid;
	uint64_t weight; /* of the profile's clock */
};

/* Read thread @index. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_thread(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_thread *out);

struct flameprof_module {
	const char *path;	 /* "" if unknown */
	const uint8_t *build_id; /* NULL if there is none */
	uint32_t build_id_bytes;
	uintptr_t start, end; /* mapped addresses */
	/* Address in the process minus address in the file's ELF headers. */
	uintptr_t bias;
};

/* Read module @index. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_module(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_module *out);

/* A distinct stack of one thread, with the sum of its samples. */
struct flameprof_stack {
	uint32_t thread; /* index */
	uint32_t frames;
	uint64_t weight;
	uint64_t samples;
	enum flameprof_end end;
	/*
	 * Set if the timer had expired when the thread or process ended, but the signal was not
	 * delivered. The frames, if there are any, are those of the thread's last sample.
	 */
	int is_credit;
	/*
	 * Set if flameprof_record_vm_stack() recorded the stack. The weight is elapsed time,
	 * whatever the clock is.
	 */
	int is_vm;
	/*
	 * Set if the thread was off CPU (FLAMEPROF_CLOCK_ELAPSED). The innermost frame names the
	 * reason.
	 */
	int is_wait;
};

/* Read stack @index. Returns 0 or -ERANGE. */
FLAMEPROF_API int flameprof_profile_stack(
	const struct flameprof_profile *profile, uint32_t index, struct flameprof_stack *out);

struct flameprof_frame {
	/*
	 * Address in this process; 0: unknown. In a caller's frame it is inside the call
	 * instruction. For announced code it is the address at which the code was announced.
	 */
	uintptr_t address;
	uint32_t module; /* index; FLAMEPROF_NONE: no file */
	/*
	 * Name of generated code (flameprof_stub.h), of a virtual machine's function, or of the
	 * reason of a wait; NULL for other frames.
	 */
	const char *name;
	/* Source file of a virtual machine's function (flameprof_vm.h), else NULL. */
	const char *file;
	uint32_t line; /* Line of that function; 0: unknown. */
};

/*
 * Store up to @room frames of stack @stack in @frames, innermost first. Returns the number of
 * frames of the stack, which may exceed @room, or -ERANGE.
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
 * the same thread if tid and name are equal. Modules are the same if file and address are equal.
 * Returns 0; -EINVAL if periods or clocks differ or both are the same profile; -ENOSPC at @into's
 * memory limit; -ENOMEM. A failed call leaves @into unchanged.
 */
FLAMEPROF_API int flameprof_profile_merge(
	struct flameprof_profile *into, const struct flameprof_profile *from);

/*
 * Write the profile to @path, replacing an existing file by a rename. The file name's ending
 * selects the format:
 *
 *   .pb     pprof, uncompressed, with mappings, build-ids and recorded names, without symbols. The
 *   library writes it itself.
 *   others  .svg .png .pdf .folded .pb.gz, with symbols. The library runs the flamerun program for
 *   them: the one beside the library, at its installed place, or on PATH. Its process is not
 *   visible to the host's wait() and SIGCHLD.
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
