/* SPDX-License-Identifier: MIT */
/*
 * Protocol buffers onto a descriptor, field by field, through fixed buffers. A message inside
 * another is built first, because its length comes before it; there is one such level.
 * Encoding: https://protobuf.dev/programming-guides/encoding/
 *
 * The first failure is kept in `error`, and what follows does nothing.
 */
#ifndef LIBPROF_AGGREGATOR_PROTOBUF_OUT_H
#define LIBPROF_AGGREGATOR_PROTOBUF_OUT_H

#include <stddef.h>
#include <stdint.h>

/* A uint64 takes at most 10 bytes; a message here has at most 4096 of them and some more. */
#define PROTOBUF_OUT_MESSAGE_BYTES 49152
#define PROTOBUF_OUT_BYTES	   16384

struct protobuf_out {
	int descriptor;
	int error;	   /* 0 or -errno */
	uint32_t used;	   /* of buffer */
	uint32_t message_used;
	uint8_t buffer[PROTOBUF_OUT_BYTES];
	uint8_t message[PROTOBUF_OUT_MESSAGE_BYTES];
};

/* Fields of the outermost message. Numbers that are 0 are left out, as proto3 has it. */
void protobuf_out_number(struct protobuf_out *out, uint32_t field, uint64_t value);
/* Bytes that are no valid UTF-8, which proto3 demands, become '?'. */
void protobuf_out_string(struct protobuf_out *out, uint32_t field, const char *text);

/* Fields of the message being built; `end` writes it as @field of the outermost and begins anew. */
void protobuf_message_number(struct protobuf_out *out, uint32_t field, uint64_t value);
void protobuf_message_numbers(
	struct protobuf_out *out, uint32_t field, const uint64_t *values, uint32_t n); /* packed */
/* A message of two numbers inside the one being built. */
void protobuf_message_pair(struct protobuf_out *out, uint32_t field, uint32_t first_field,
	uint64_t first, uint32_t second_field, uint64_t second);
void protobuf_message_end(struct protobuf_out *out, uint32_t field);

/* Write what is buffered. Returns 0 or the first error. */
int protobuf_out_flush(struct protobuf_out *out);

#endif
