/* SPDX-License-Identifier: MIT */
/*
 * What the readers of pipe, control rings and sample rings share: where each image and each ring
 * stands. Everything read from the arena or the pipe may be a lie; these are our own notes.
 */
#ifndef CLI_RUN_INTAKE_H
#define CLI_RUN_INTAKE_H

#include <stdint.h>

#include "cli/profile/profile.h"
#include "libprof/wire.h"

/* The nodes a helper has defined for one image, in our numbering. */
struct intake_image {
	uint32_t epoch;
	uint32_t count;     /* defined so far, the root included */
	uint32_t room;
	uint32_t *nodes;    /* helper's number -> profile node; [0] is the image's root */
};

/* The last stack seen in a ring, for credit that goes on "the previous stack". */
struct intake_ring {
	uint64_t to; /* everything before this position has been counted */
	uint64_t image; /* whose last stack; 0: none */
	uint32_t thread_number;
	uint32_t node;
	uint8_t end;
};

struct intake {
	void *arena;
	struct profile *profile;
	struct intake_image *images; /* by profile image index */
	uint32_t image_room;
	struct intake_ring rings[WIRE_RINGS];
	char *partial; /* bytes of the pipe not yet parsed */
	uint32_t partial_bytes;
};

/* Returns 0 or -ENOMEM. @arena and @profile are borrowed for its life. */
int intake_init(struct intake *intake, void *arena, struct profile *profile);
void intake_release(struct intake *intake);

/* Our notes on profile image @image; NULL without memory. */
struct intake_image *intake_image_at(struct intake *intake, uint32_t image);

/* One sample of a ring, as any source tells it. */
struct intake_sample {
	uint32_t ring;
	uint32_t image;  /* profile index */
	uint32_t thread_number;
	uint32_t node;   /* profile node; the image's root when the record had no stack */
	uint64_t time_ns;
	uint32_t weight;
	uint8_t kind;
	uint8_t end;
};

/* Add a sample; credit without a stack of its own goes on the ring's last one. */
void intake_add(struct intake *intake, const struct intake_sample *sample);

/* Take all that the pipe holds now. Returns 0, -ENOMEM, or 1 when the pipe has ended. */
int message_read_all(struct intake *intake, int pipe);

/* Take the complete control records of slot @slot, which belong to profile image @image. */
void control_read_all(struct intake *intake, uint32_t slot, uint32_t image);

/*
 * Take what the rings of profile image @image hold now, in the place of a helper that it does not
 * have, and give back those whose threads have ended.
 */
void ring_serve_image(struct intake *intake, uint32_t image);

/*
 * Take what is left in the rings of profile image @image, whose process and helper no longer touch
 * them, with what its threads were owed at their end. @release: give the rings back.
 */
void ring_recover_image(struct intake *intake, uint32_t image, int release);

#endif
