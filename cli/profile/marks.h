/* SPDX-License-Identifier: MIT */
/* The marks of a profile as a picture has them: in order of time, counted from the first sample. */
#ifndef CLI_PROFILE_MARKS_H
#define CLI_PROFILE_MARKS_H

#include "libprof/profile/profile.h"
#include "render/picture.h"

/*
 * Returns 0 and an array in *@marks (from malloc, NULL when there are none; texts are borrowed from
 * @profile) and their *@count; or -ENOMEM. Context: one thread.
 */
int marks_make(struct flameprof_profile *profile, struct picture_mark **marks, uint32_t *count);

/* Put @count marks in order of time. */
void marks_sort(struct picture_mark *marks, uint32_t count);

#endif
