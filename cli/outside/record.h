/* SPDX-License-Identifier: MIT */
/*
 * What the tracing process tells flamerun, over a pipe: records of `bytes` bytes each, a multiple
 * of eight. Both ends are the same program, so nothing is checked but that a record is whole.
 */
#ifndef CLI_OUTSIDE_RECORD_H
#define CLI_OUTSIDE_RECORD_H

#include <stdint.h>

#include "cli/diag.h"
#include "libprof/wire.h"

enum record_type {
	RECORD_ANSWER = 1, /* to a command */
	RECORD_IMAGE,
	RECORD_MODULE,
	RECORD_THREAD,
	RECORD_SAMPLE,
	RECORD_IMAGE_END,
	RECORD_TOTALS
};

struct record {
	uint32_t bytes;
	uint32_t type; /* enum record_type */
};

struct record_answer {
	struct record record;
	int64_t error; /* 0 or -errno with a message */
	struct diag_message message;
};

struct record_image {
	struct record record;
	uint64_t id; /* from 1, never used again */
	uint64_t parent; /* the forking image, 0: none */
	uint64_t start_ns;
	uint64_t cpu_ns; /* used before we looked */
	uint32_t pid, ppid;
	char exe[WIRE_EXE_BYTES];
	char comm[WIRE_COMM_BYTES];
};

struct record_module {
	struct record record;
	uint64_t image;
	uint64_t start, end;
	uint32_t number;
	uint32_t flags; /* WIRE_MODULE_* */
	uint32_t build_id_bytes;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	char path[]; /* NUL included */
};

struct record_thread {
	struct record record;
	uint64_t image;
	uint32_t tid, pad;
	char comm[WIRE_COMM_BYTES];
};

struct record_sample {
	struct record record;
	uint64_t image;
	uint64_t time_ns;
	uint32_t tid; /* 0: no thread's, on the image's root */
	uint32_t weight; /* 0: only a stack to go back to */
	uint32_t frames; /* 0: on the thread's previous stack */
	uint8_t kind;    /* enum wire_kind */
	uint8_t end;     /* enum wire_end */
	uint16_t pad;
	uint64_t frame[]; /* innermost first */
};

struct record_image_end {
	struct record record;
	uint64_t image;
	uint64_t cpu_ns;
	uint32_t has_ended; /* else it still runs, unsampled */
	uint32_t left_by_exec;
};

struct record_totals {
	struct record record;
	uint64_t stops;   /* times a thread was stopped for a sample */
	uint64_t held_ns; /* from its stop, or what woke us for it, until it was let go */
	uint64_t dropped; /* samples that found no memory, by weight */
	uint64_t threads;
	uint64_t late_threads; /* threads that could not be traced */
	uint64_t fallbacks;	   /* walks that libunwind brought further */
};

#endif
