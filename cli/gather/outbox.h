/* SPDX-License-Identifier: MIT */
/*
 * Records on their way to the reader of the pipe. Writing never waits: while the tracing process
 * waited, every signal of its targets would wait with it, and while the collector waited, rings
 * would fill. What is not taken in time stays in memory, up to a ceiling.
 *
 * Context: one thread.
 */
#ifndef CLI_GATHER_OUTBOX_H
#define CLI_GATHER_OUTBOX_H

#include <stddef.h>

#include "cli/gather/record.h"

#define OUTBOX_BYTES_MAX (64u << 20)

struct outbox {
	int descriptor; /* non-blocking; borrowed */
	enum record_source source;
	uint32_t key;
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

/* Write everything, however long the reader takes. Returns 0 or -errno as above. */
int outbox_finish(struct outbox *outbox);
void outbox_release(struct outbox *outbox);

#endif
