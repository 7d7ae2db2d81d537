/* SPDX-License-Identifier: MIT */
/*
 * Affinity and priority of the tracing thread.
 */
#include "cli/outside/affinity.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the shortest there is */

/* What the kernel's struct sched_attr begins with; newer libcs declare it, older do not. */
struct attributes {
	uint32_t bytes, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * Since Linux 6.12 who asks for short slices gets the CPU before those with longer ones, without
 * any privilege. Older kernels take no notice.
 */
static void shorten_slice(void)
{
	struct attributes attributes = {.bytes = sizeof(attributes), .runtime_ns = SLICE_NS};

	attributes.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void affinity_any(struct affinity *affinity)
{
	*affinity = (struct affinity){.cpu = -1, .next = -1};
}

void affinity_init(struct affinity *affinity)
{
	const struct sched_param lowest = {.sched_priority = 1};

	affinity_any(affinity);
	if (sched_getaffinity(0, sizeof(affinity->allowed), &affinity->allowed))
		CPU_ZERO(&affinity->allowed);
	/*
	 * Else we may be woken up to 50 us late, together with whatever timer comes first:
	 * often the one that wakes the target, and looks would find it asleep or about to run.
	 */
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	if (!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest))
		return;
	setpriority(PRIO_PROCESS, 0, -20);
	shorten_slice();
}

void affinity_begin(struct affinity *affinity)
{
	affinity->next = -1;
	affinity->wanted = 0;
	CPU_ZERO(&affinity->wanting);
}

bool affinity_allows(const struct affinity *affinity, int cpu)
{
	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &affinity->allowed);
}

void affinity_request(struct affinity *affinity, int cpu, unsigned draw)
{
	if (!affinity_allows(affinity, cpu) || CPU_ISSET(cpu, &affinity->wanting))
		return;
	CPU_SET(cpu, &affinity->wanting);
	affinity->wanted++;
	if (draw % affinity->wanted == 0)
		affinity->next = cpu;
}

void affinity_move(struct affinity *affinity)
{
	cpu_set_t set;

	if (affinity->next < 0 || affinity->next == affinity->cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET(affinity->next, &set);
	if (!sched_setaffinity(0, sizeof(set), &set)) {
		affinity->cpu = affinity->next;
		return;
	}
	/* A cpuset that has changed: not there, then. */
	CPU_CLR(affinity->next, &affinity->allowed);
	sched_setaffinity(0, sizeof(affinity->allowed), &affinity->allowed);
	affinity->cpu = -1;
}

void affinity_avoid(struct affinity *affinity)
{
	cpu_set_t set = affinity->allowed;

	if (affinity->cpu < 0 || CPU_COUNT(&set) < 2)
		return;
	CPU_CLR(affinity->cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		affinity->cpu = -1;
}
