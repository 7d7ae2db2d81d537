/* SPDX-License-Identifier: MIT */
/*
 * By pids and starts, which the kernel gives again only after a while; by numbers of images where
 * one forked the other.
 */
#include "cli/profile/processes.h"

#include <errno.h>
#include <stdlib.h>

static const struct profile_image *image_at(const struct processes *processes, uint32_t image)
{
	return profile_image_at(processes->profile, image);
}

struct profile_image *processes_image(
	const struct processes *processes, const struct process *process, uint32_t at)
{
	return profile_image_at(processes->profile, processes->images[process->first + at]);
}

uint32_t processes_last(const struct processes *processes, const struct process *process)
{
	return processes->images[process->first + process->count - 1];
}

int processes_went_on(const struct profile_image *image)
{
	return image->left_by_exec || image->went_on;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_pid_then_start(const void *a, const void *b, void *processes)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_image *x = image_at(processes, i), *y = image_at(processes, j);

	if (x->pid != y->pid)
		return compare(x->pid, y->pid);
	return x->start_ns != y->start_ns ? compare(x->start_ns, y->start_ns) : compare(i, j);
}

static uint64_t start_of(const struct processes *processes, uint32_t process)
{
	return processes_image(processes, &processes->list[process], 0)->start_ns;
}

static int by_start(const void *a, const void *b, void *processes)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare(start_of(processes, x), start_of(processes, y));

	return order ? order : compare(x, y);
}

/* Does @image follow @before in the same process? */
static int follows(const struct profile_image *image, const struct profile_image *before)
{
	return image->pid == before->pid && !image->parent && processes_went_on(before);
}

static void join_images(struct processes *processes)
{
	for (uint32_t i = 0; i < processes->image_count; i++)
		processes->images[i] = i;
	qsort_r(processes->images, processes->image_count, sizeof(*processes->images),
		by_pid_then_start, processes);
	for (uint32_t i = 0; i < processes->image_count; i++) {
		const struct profile_image *image = image_at(processes, processes->images[i]);

		if (!i || !follows(image, image_at(processes, processes->images[i - 1])))
			processes->list[processes->count++] = (struct process){
				.pid = image->pid, .first = i, .parent = PROCESSES_NOBODY};
		processes->list[processes->count - 1].count++;
		processes->process_of[processes->images[i]] = processes->count - 1;
	}
	for (uint32_t i = 0; i < processes->count; i++)
		processes->by_start[i] = i;
	qsort_r(processes->by_start, processes->count, sizeof(*processes->by_start), by_start,
		processes);
}

/* The last image with @pid that began before @before_ns. */
static uint32_t find_image(const struct processes *processes, uint32_t pid, uint64_t before_ns)
{
	uint32_t low = 0, high = processes->image_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct profile_image *image = image_at(processes, processes->images[middle]);

		if (image->pid < pid || (image->pid == pid && image->start_ns < before_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && image_at(processes, processes->images[low - 1])->pid == pid
		       ? processes->images[low - 1]
		       : PROCESSES_NOBODY;
}

static void find_parents(struct processes *processes)
{
	for (uint32_t i = 0; i < processes->count; i++) {
		struct process *process = &processes->list[i];
		const struct profile_image *image = processes_image(processes, process, 0);

		if (image->parent)
			process->parent = profile_image(processes->profile, image->parent);
		else if (image->ppid)
			process->parent = find_image(processes, image->ppid, image->start_ns);
		if (process->parent != PROCESSES_NOBODY &&
			start_of(processes, processes->process_of[process->parent]) >=
				image->start_ns)
			process->parent = PROCESSES_NOBODY;
	}
}

int processes_find(struct processes *out, struct flameprof_profile *profile)
{
	size_t count;

	/* So that nothing asked for later makes one more. */
	for (uint32_t i = 0; i < profile->image_count; i++)
		if (profile_image_at(profile, i)->parent)
			profile_image(profile, profile_image_at(profile, i)->parent);
	out->profile = profile;
	out->image_count = profile->image_count;
	count = out->image_count + (size_t)1;
	out->list = calloc(count, sizeof(*out->list));
	out->images = calloc(count, sizeof(*out->images));
	out->by_start = calloc(count, sizeof(*out->by_start));
	out->process_of = calloc(count, sizeof(*out->process_of));
	if (!out->list || !out->images || !out->by_start || !out->process_of ||
		profile_error(profile))
		return -ENOMEM;
	join_images(out);
	find_parents(out);
	return 0;
}

void processes_release(struct processes *processes)
{
	free(processes->list);
	free(processes->images);
	free(processes->by_start);
	free(processes->process_of);
}
