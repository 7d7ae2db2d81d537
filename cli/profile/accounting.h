/* SPDX-License-Identifier: MIT */
/*
 * Account for the CPU time of a run: how many samples were due, how many arrived, and where the
 * others were lost.
 *
 * The computation relies on these properties of the kernel's figures (Linux 5.10 to 6.18):
 * - A process's CPU clock is exact (the scheduler's sum of run times), continues through exec, and
 *   can be read of a zombie until it is waited for. By then it includes the exit: freeing 1 GiB of
 *   small pages (27 ms) is charged to the last user of the memory, as munmap() would be.
 * - rusage is scaled to that sum, in whole microseconds. RUSAGE_CHILDREN is the total of the
 *   children that were waited for, and of their descendants; a process reports it when it leaves.
 *   This total less the sum of what the children reported when they left is what their exits took.
 * - Children that are not waited for (SIGCHLD ignored, orphans) are charged to no process, and so
 *   are the microseconds between a zombie's SIGCHLD and its last switch.
 * - fork's copying of page tables is charged to the parent, freeing them to the child. Time that a
 *   vfork child uses before its exec is charged to the child.
 * - An expired timer is noticed at the next tick: a killed process has on average used half a tick
 *   since its timers were last checked.
 * - The split into user and system time is estimated from ticks, so it means nothing for a process
 *   that is shorter than a tick.
 */
#ifndef CLI_PROFILE_ACCOUNTING_H
#define CLI_PROFILE_ACCOUNTING_H

#include <stdint.h>

#include "libprof/profile/profile.h"

struct accounting {
	/* number of samples due for the CPU time; all fields are numbers of samples */
	uint64_t due;
	/* weight of samples, overruns included */
	uint64_t sampled;
	uint64_t overruns; /* part of sampled */
	uint64_t credited;
	/* CPU time of exec and the dynamic linker */
	uint64_t exec;
	/* CPU time of exits, after a process's last instruction */
	uint64_t exit;
	uint64_t dropped;
	uint64_t torn;
	uint64_t paused;
};

enum accounting_start {
	ACCOUNTING_START_CREDITED,
	ACCOUNTING_START_PAUSED, /* an exec'd image begins paused */
	ACCOUNTING_START_IGNORED
};

/* The kernel's report about flamerun's own child, which has ended. */
struct accounting_child {
	uint32_t pid;
	/* ns on its CPU clock, read before it was waited for; 0: not known */
	uint64_t cpu_ns;
	/* ns of CPU time of descendants that were waited for */
	uint64_t children_ns;
	/* KiB of resident memory of its largest process */
	uint64_t max_kib;
	uint32_t signal; /* signal that killed it, 0: none */
};

/*
 * Follow each process through its execs, and compute the CPU time of all processes
 * (totals->cpu_ns). Add credit: samples for CPU time that no timer could see. A credited sample has
 * one frame: "[exec]" for time between an exec and the start of sampling in the new program;
 * "[exit]" for time after a process's last instruction; "[unsampled]" for the begin and end of
 * forks and threads. If @start is ACCOUNTING_START_PAUSED, time before an image begins counts as
 * paused; if it is ACCOUNTING_START_IGNORED, no credit is added.
 *
 * The amount is taken from the process's clock. A remainder below one sample is carried to the next
 * image, so that thousands of short processes add up. The kernel reports the sum of the exits for
 * which a parent has waited. It is divided among these processes if they have one name. Otherwise
 * it is credited to the parent as "[exit of children]". If the sum is too large for exits, it
 * contains a process that was not sampled, and is not credited.
 *
 * Call once, after everything was gathered. @child is borrowed; NULL while the child still runs.
 * Returns 0 or -ENOMEM.
 */
int accounting_compute(struct flameprof_profile *profile, enum accounting_start start,
	const struct accounting_child *child);

/* Returns the sum of all fields except `due` and `overruns`, to be compared with `due`. */
uint64_t accounting_total(const struct accounting *accounting);

/* Fill @out from the profile's totals. */
void accounting_of(struct flameprof_profile *profile, struct accounting *out);

#endif
