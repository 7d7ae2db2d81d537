/* SPDX-License-Identifier: MIT */
/*
 * Which images were one process, one after the other, and whose child that was.
 */
#ifndef CLI_PROFILE_PROCESSES_H
#define CLI_PROFILE_PROCESSES_H

#include <stdint.h>

#include "libprof/profile/profile.h"

#define PROCESSES_NOBODY UINT32_MAX

struct process {
	uint32_t pid;
	uint32_t first, count; /* its images, in processes.images, in their order */
	uint32_t parent; /* the image that it was made by, or PROCESSES_NOBODY we know */
};

struct processes {
	struct flameprof_profile *profile; /* borrowed */
	struct process *list;	 /* by pid, then start */
	uint32_t count;
	uint32_t *images;     /* by pid, then start */
	uint32_t image_count;
	uint32_t *by_start;   /* numbers of processes: parents come before their children */
	uint32_t *process_of; /* image -> its process */
};

/* Zero-initialise. Returns 0, or -ENOMEM with *@out to be released all the same. */
int processes_find(struct processes *out, struct flameprof_profile *profile);
void processes_release(struct processes *processes);

/* The images of @process, 0 to count - 1, and the last of them. */
struct profile_image *processes_image(
	const struct processes *processes, const struct process *process, uint32_t at);
uint32_t processes_last(const struct processes *processes, const struct process *process);

/* It left by an exec, or may not be sampled any more; whether or not it was seen again. */
int processes_went_on(const struct profile_image *image);

#endif
