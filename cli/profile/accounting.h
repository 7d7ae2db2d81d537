/* SPDX-License-Identifier: MIT */
/*
 * The books: what was due, what arrived, and where the difference went.
 *
 * What the kernel tells, Linux 5.10 to 6.18:
 * - A process's CPU clock is exact (the scheduler's sum of run times), goes on through exec, and
 *   can be read of a zombie until somebody has waited for it. It has everything by then: freeing
 *   1 GiB of small pages (27 ms) is charged to the last user of the memory, as munmap() would be.
 * - rusage is scaled to that sum, in whole microseconds. RUSAGE_CHILDREN is what the children that
 *   were waited for had used at their very end, and theirs: a process tells it when it leaves. Less
 *   what these children told when they left, it is what the kernel did for them afterwards.
 * - Children that nobody waits for (SIGCHLD ignored, orphans) are charged to nobody. Nor are the
 *   microseconds between a zombie's SIGCHLD and its last switch.
 * - The page tables that fork copies are the parent's time, freeing them again is the child's. What
 *   a vfork child uses before its exec is the child's.
 * - A timer that is due is noticed at the next tick: who is killed has on average used half a tick
 *   since anybody looked.
 * - Whether time was user's or the system's is guessed from ticks: of processes that are shorter
 *   than one it says nothing.
 */
#ifndef CLI_PROFILE_ACCOUNTING_H
#define CLI_PROFILE_ACCOUNTING_H

#include <stdint.h>

#include "libprof/profile/profile.h"

struct accounting {
	uint64_t due;      /* CPU time x rate */
	uint64_t sampled;  /* weight of samples, overruns included */
	uint64_t overruns; /* part of sampled */
	uint64_t credited;
	uint64_t exec; /* used by the kernel before a first instruction, and the dynamic linker */
	uint64_t exit; /* used by the kernel after a last one */
	uint64_t dropped;
	uint64_t torn;
	uint64_t paused;
};

enum accounting_start {
	ACCOUNTING_START_CREDITED,
	ACCOUNTING_START_PAUSED, /* an exec'd image records nothing until it says so */
	ACCOUNTING_START_IGNORED
};

/* What the kernel said of flamerun's own child, which has ended. */
struct accounting_child {
	uint32_t pid;
	uint64_t cpu_ns;      /* its own, by its clock before it was waited for; 0: not known */
	uint64_t children_ns; /* of those it had waited for, and theirs */
	uint64_t max_kib;     /* resident memory of the largest of all */
	uint32_t signal;      /* that killed it, 0: none did */
};

/*
 * Follow each process through its execs, and find out how much CPU time there was in all:
 * totals->cpu_ns.
 *
 * CPU time that no timer could see becomes credit, or is left out, as @start says: "[exec]" before
 * an exec'd image could be sampled, "[exit]" after an image's last instruction, "[unsampled]" for
 * forks and threads as they begin and end. The process's clock tells how much; what is less than a
 * sample is carried to the next image, so that thousands of short processes add up. An exit is
 * placed where the kernel's sum leaves no choice: below the process, or below those of one name
 * that one parent waited for; else it is the parent's "[exit of children]". A sum that is too large
 * for exits has somebody in it who was not sampled, and is left to the books.
 *
 * @child  NULL while it still runs; borrowed.
 * Call once, after everything was gathered. Returns 0 or -ENOMEM.
 */
int accounting_compute(struct flameprof_profile *profile, enum accounting_start start,
	const struct accounting_child *child);

/* All of the above but overruns, to be held against due. */
uint64_t accounting_total(const struct accounting *accounting);

void accounting_of(struct flameprof_profile *profile, struct accounting *out);

#endif
