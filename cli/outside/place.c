/* SPDX-License-Identifier: MIT */
/*
 * Affinity and priority of the tracing thread.
 */
#include "cli/outside/place.h"

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

void place_anywhere(struct place *place)
{
	*place = (struct place){.cpu = -1, .next = -1};
}

void place_init(struct place *place)
{
	const struct sched_param lowest = {.sched_priority = 1};

	place_anywhere(place);
	if (sched_getaffinity(0, sizeof(place->allowed), &place->allowed))
		CPU_ZERO(&place->allowed);
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

void place_begin(struct place *place)
{
	place->next = -1;
	place->wanted = 0;
	CPU_ZERO(&place->wanting);
}

bool place_reaches(const struct place *place, int cpu)
{
	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &place->allowed);
}

void place_want(struct place *place, int cpu, unsigned draw)
{
	if (!place_reaches(place, cpu) || CPU_ISSET(cpu, &place->wanting))
		return;
	CPU_SET(cpu, &place->wanting);
	place->wanted++;
	if (draw % place->wanted == 0)
		place->next = cpu;
}

void place_go(struct place *place)
{
	cpu_set_t set;

	if (place->next < 0 || place->next == place->cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET(place->next, &set);
	if (!sched_setaffinity(0, sizeof(set), &set)) {
		place->cpu = place->next;
		return;
	}
	/* A cpuset that has changed: not there, then. */
	CPU_CLR(place->next, &place->allowed);
	sched_setaffinity(0, sizeof(place->allowed), &place->allowed);
	place->cpu = -1;
}

void place_aside(struct place *place)
{
	cpu_set_t set = place->allowed;

	if (place->cpu < 0 || CPU_COUNT(&set) < 2)
		return;
	CPU_CLR(place->cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		place->cpu = -1;
}
