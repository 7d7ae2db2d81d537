/* SPDX-License-Identifier: MIT */
/*
 * Protocol buffers: one field after the other out of memory that may hold anything, and fields
 * appended to a buffer that is handed on piece by piece. No schema lives here.
 * Format: https://protobuf.dev/programming-guides/encoding
 */
#ifndef LIBPROF_PPROF_PROTOBUF_H
#define LIBPROF_PPROF_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/pages.h"

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* text, message, or packed numbers */
	PROTOBUF_FIXED32 = 5
};

/* ---- reading --------------------------------------------------------------------------------- */

/* What is left to read of one message; borrowed memory. */
struct protobuf {
	const uint8_t *at;
	const uint8_t *end;
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;	       /* of a varint or a fixed number */
	struct protobuf bytes; /* of PROTOBUF_BYTES */
};

static inline size_t protobuf_left(const struct protobuf *in)
{
	return (size_t)(in->end - in->at);
}

/*
 * Read the next field. Returns 1 and the field, 0 at the end, or -EBADMSG with in->at at the field
 * that is none.
 */
int protobuf_next(struct protobuf *in, struct protobuf_field *field);

/*
 * Take the next number of a list that @field is one piece of, packed or not.
 * Returns 1 and the number, 0 when there is no more, or -EBADMSG.
 */
int protobuf_number(struct protobuf_field *field, uint64_t *number);

/* ---- writing --------------------------------------------------------------------------------- */

/* Takes @count bytes. Returns 0 or -errno. */
typedef int protobuf_sink(void *context, const void *bytes, size_t count);

/*
 * All zero but for sink and context is an empty one; without a sink everything stays in the buffer.
 * The first failure is kept in `error`, and what follows does nothing.
 */
struct protobuf_out {
	protobuf_sink *sink;
	void *context;
	int error;	    /* 0 or -errno */
	unsigned open;	    /* messages begun and not ended */
	size_t used;	    /* of buffer */
	struct pages buffer; /* from the kernel: a host's malloc() is left alone */
	struct pages_account account;
};

/* A number that is 0 is left out, as the format has it. */
void protobuf_put_number(struct protobuf_out *out, uint32_t field, uint64_t value);

/* Also when empty: an element of a list. */
void protobuf_put_bytes(struct protobuf_out *out, uint32_t field, const void *bytes, size_t count);

/*
 * Between these two, fields are those of a message in @field, at any depth; or numbers, in the
 * message's place, are elements of a packed list.
 */
size_t protobuf_begin(struct protobuf_out *out, uint32_t field);
void protobuf_put_varint(struct protobuf_out *out, uint64_t value);
void protobuf_end(struct protobuf_out *out, size_t begun); /* what protobuf_begin() returned */

/* Hand on what is buffered and give the memory back. Returns 0 or the first error. */
int protobuf_finish(struct protobuf_out *out);

#endif
