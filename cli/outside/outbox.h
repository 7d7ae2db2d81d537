/* SPDX-License-Identifier: MIT */
/*
 * Records on their way to flamerun. Writing never waits: while the tracing process waited, every
 * signal of the target's would wait with it. What flamerun does not take in time stays in memory,
 * up to a ceiling.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OUTBOX_H
#define CLI_OUTSIDE_OUTBOX_H

#include <stddef.h>

#include "cli/outside/record.h"

#define OUTBOX_BYTES_MAX (64u << 20)

struct outbox {
	int descriptor; /* non-blocking; borrowed */
	char *bytes;
	size_t from, to, room; /* [from, to) is still to be written */
};

/*
 * Append a record: @head (@head_bytes, begins with struct record, whose size is filled in), then
 * @tail. Returns 0, or -ENOMEM with nothing appended.
 */
int outbox_put(struct outbox *outbox, enum record_type type, void *head, size_t head_bytes,
	const void *tail, size_t tail_bytes);

/* Write what the pipe takes now. Returns bytes left, or -errno: nobody reads any more. */
long outbox_flush(struct outbox *outbox);
void outbox_release(struct outbox *outbox);

#endif
