/* SPDX-License-Identifier: MIT */
/*
 * Read and write protocol buffers without a schema. Reading takes one field after the other from
 * memory that may hold anything. Writing appends fields to a buffer that is written to a sink in
 * pieces.
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

/* The unread part of a message; borrowed memory. */
struct protobuf {
	const uint8_t *at;
	const uint8_t *end;
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;	       /* of a varint or fixed-size number */
	struct protobuf bytes; /* of PROTOBUF_BYTES */
};

static inline size_t protobuf_left(const struct protobuf *in)
{
	return (size_t)(in->end - in->at);
}

/* Read the next field. Returns 1, 0 at the end, or -EBADMSG with in->at at the invalid field. */
int protobuf_next(struct protobuf *in, struct protobuf_field *field);

/*
 * Read the next number of @field, which is one element or a packed list of a repeated field.
 * Returns 1 and the number, 0 at the end of the list, or -EBADMSG.
 */
int protobuf_number(struct protobuf_field *field, uint64_t *number);

/* ---- writing --------------------------------------------------------------------------------- */

/* Write @count bytes (borrowed). Returns 0 or -errno. */
typedef int protobuf_sink(void *context, const void *bytes, size_t count);

/*
 * A writer. To initialise it, set all fields to zero except sink and context. Without a sink all
 * bytes stay in the buffer. After the first failure, kept in `error`, all calls do nothing.
 */
struct protobuf_out {
	protobuf_sink *sink;
	void *context;
	int error;	    /* 0 or -errno */
	unsigned open;	    /* messages begun and not yet ended */
	size_t used;	    /* bytes used in `buffer` */
	struct pages buffer; /* mapped, not from the host's malloc() */
	struct pages_account account;
};

/* Append a number. 0 is omitted, as in proto3. */
void protobuf_put_number(struct protobuf_out *out, uint32_t field, uint64_t value);

/* Append bytes, even if there are none, because an empty text may be an element of a list. */
void protobuf_put_bytes(struct protobuf_out *out, uint32_t field, const void *bytes, size_t count);

/*
 * Begin a message in @field. Fields that are written until protobuf_end() belong to the message.
 * Messages may be nested. A packed list is a message of protobuf_put_varint() calls.
 */
size_t protobuf_begin(struct protobuf_out *out, uint32_t field);
void protobuf_put_varint(struct protobuf_out *out, uint64_t value);
void protobuf_end(struct protobuf_out *out, size_t begun); /* @begun: result of protobuf_begin() */

/* Write the buffer to the sink and free it. Returns 0 or the first error. */
int protobuf_finish(struct protobuf_out *out);

/* ---- numbers of pprof's fields --------------------------------------------------------------- */
/*
 * Field numbers of pprof's profile.proto, and conventions of our profiles that profile.proto does
 * not define. Source: https://github.com/google/pprof/blob/main/proto/profile.proto
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
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
	FUNCTION_START_LINE = 5,
};

/*
 * Sample type for elapsed time of virtual machines. The types of a profile are samples/count,
 * cpu/nanoseconds, then other kinds of time; a stack has a value in only one kind of time. In a
 * profile with a clock, `samples` counts only the clock's samples.
 */
#define PPROF_MACHINE_TIME "vm"
/*
 * Sample type for time off CPU. The leaf names what the thread waited for; the label
 * PPROF_WAIT_KIND gives the kind, "lock" or "io".
 */
#define PPROF_WAITING_TIME "wait"
#define PPROF_READY_TIME   "runnable"
#define PPROF_WAIT_KIND	   "wait"

/*
 * Names that stand for a file in the mapping of announced code and in the mapping of virtual
 * machines' functions.
 */
#define PPROF_GENERATED_FILE "[generated code]"
#define PPROF_MACHINE_FILE   "[vm]"

/* Labels for a sample's process and thread; other tools use the same names. */
#define PPROF_PROCESS	"process"
#define PPROF_THREAD	"thread"
#define PPROF_THREAD_ID "thread_id"

/* Prefixes of comments. Each comment of a profile holds one fact, which follows the prefix. */
#define PPROF_COMMENT_TITLE   "title: "
/* Followed by the filters that left out stacks and frames. */
#define PPROF_COMMENT_FILTERS "filters: "
#define PPROF_COMMENT_DROPPED "dropped: " /* followed by the dropped weight */
/* Followed by the number of merged runs of the program. */
#define PPROF_COMMENT_RUNS "runs: "
/* Followed by milliseconds.microseconds, thread id and text. */
#define PPROF_COMMENT_MARK "mark: "

#endif
