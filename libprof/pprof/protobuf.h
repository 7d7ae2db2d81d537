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

#include "libprof/profile/lookup.h"

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

/* ---- numbers of pprof's fields --------------------------------------------------------------- */
/*
 * A pprof profile: the numbers of its fields, and what our profiles say that profile.proto has no
 * field for. Source: https://github.com/google/pprof/blob/main/proto/profile.proto
 */

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

/*
 * Sample types: samples/count, then cpu/nanoseconds. What
 * virtual machines told is time of a type of its own behind them, each stack having one of the two,
 * and none of the counted samples where there is a clock.
 */
#define PPROF_MACHINE_TIME "vm"
/*
 * Types of time that passed without a CPU: waiting for something, and ready to run. Such a sample's
 * leaf says what it waited for, and a label of what kind that is, "lock" or "io".
 */
#define PPROF_WAITING_TIME "wait"
#define PPROF_READY_TIME   "runnable"
#define PPROF_WAIT_KIND	   "wait"

/* Mappings of what lies in no file: announced code, functions of virtual machines. */
#define PPROF_GENERATED_FILE "[generated code]"
#define PPROF_MACHINE_FILE   "[vm]"

/* Labels: a name and a number. Others' profiles have them, too. */
#define PPROF_PROCESS	"process"
#define PPROF_THREAD	"thread"
#define PPROF_THREAD_ID "thread_id"

/* What a comment begins with; one comment for each. */
#define PPROF_COMMENT_TITLE   "title: "
#define PPROF_COMMENT_FILTERS "filters: " /* then which stacks and frames are left out */
#define PPROF_COMMENT_DROPPED "dropped: " /* then the weight of what is missing */
#define PPROF_COMMENT_RUNS    "runs: "	  /* then of how many runs of a program it is */
#define PPROF_COMMENT_MARK    "mark: "	  /* then milliseconds.microseconds, thread and text */

#endif
