/* SPDX-License-Identifier: MIT */
/*
 * The records that the collector and the tracing process send to flamerun, each over a pipe of its
 * own. A record is `bytes` long, a multiple of eight; texts in it end with a NUL.
 *
 * A pipe carries records and nothing else: no key and no frames. Other processes do not inherit the
 * pipes. A process can open one through /proc/PID/fd if it has flamerun's user, is in flamerun's
 * user namespace and flamerun is dumpable, or if it has CAP_SYS_PTRACE. The kernel checks the same
 * for the arena, which programs of the run have to open, so such a process can forge every sample
 * anyway. It can also take bytes out of the pipe, and a key in front of them with the bytes. The
 * reader therefore checks every record, but does not look for the next one in a stream that was
 * damaged: it reports that the stream ended there.
 */
#ifndef CLI_GATHER_PIPE_RECORD_H
#define CLI_GATHER_PIPE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "libprof/wire.h"

enum record_source { RECORD_COLLECTOR, RECORD_TRACER, RECORD_SOURCES };

enum record_type {
	RECORD_IMAGE = 1,
	RECORD_MODULE,
	RECORD_CODE,
	RECORD_FUNCTION,
	RECORD_MARK,
	RECORD_THREAD,
	RECORD_SAMPLE,
	RECORD_IMAGE_END,
	RECORD_TOTALS,
	RECORD_REFUSAL,
	RECORD_LIFE,
	RECORD_WAITS,
	RECORD_ROUND,
	RECORD_END /* of the stream: no fields */
};

struct record {
	uint32_t bytes;
	uint32_t type; /* enum record_type */
};

/* The largest: a control record's text, or a stack. */
#define RECORD_BYTES_MAX 65536u

/* Numbers of images that the tracer gives begin here: the arena counts from 1. */
#define RECORD_TRACER_IMAGES (1ULL << 61)

struct record_image {
	struct record record;
	uint64_t id; /* never used again */
	uint64_t parent; /* the forking image, 0: none */
	uint64_t start_ns;
	uint32_t pid, ppid;
	char exe[WIRE_EXE_BYTES]; /* "": as its parent's */
	char comm[WIRE_COMM_BYTES];
};

struct record_module {
	struct record record;
	uint64_t image;
	uint64_t start, end;
	uint64_t file_offset; /* of the start, with WIRE_MODULE_MAPPED */
	uint64_t time_ns;     /* CLOCK_MONOTONIC: it was mapped then */
	uint32_t number;
	uint32_t flags; /* WIRE_MODULE_* */
	uint32_t build_id_bytes;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	char path[];
};

/* Generated code, as struct wire_code. */
struct record_code {
	struct record record;
	uint64_t image;
	uint64_t space, bytes, start;
	uint32_t flags, pad;
	char name[];
};

/* As struct wire_function. */
struct record_function {
	struct record record;
	uint64_t image;
	uint64_t space;
	uint32_t line, flags;
	char name[]; /* then, behind its NUL, the file */
};

struct record_mark {
	struct record record;
	uint64_t image;
	uint64_t time_ns;
	uint32_t tid, pad;
	char name[];
};

struct record_thread {
	struct record record;
	uint64_t image;
	uint32_t number; /* within the image */
	uint32_t tid;
	char comm[WIRE_COMM_BYTES];
};

struct record_sample {
	struct record record;
	uint64_t image;
	uint64_t time_ns;
	uint32_t thread; /* its number; 0: no thread's, on the image's root */
	uint32_t weight; /* 0: only a stack to go back to */
	uint32_t frames; /* 0: on the thread's previous stack */
	uint8_t kind;    /* enum wire_kind */
	uint8_t end;     /* enum wire_end */
	uint16_t pad;
	uint64_t frame[]; /* innermost first */
};

/* Why an image has no sample: all of its CPU time is then recorded as one credit. */
enum record_unsampled {
	RECORD_SAMPLED,
	RECORD_SHORT,  /* it ended before the tracer came */
	RECORD_REFUSED /* tracing it is forbidden */
};

/* The tracer knows none of an image's own counters. */
struct record_image_end {
	struct record record;
	uint64_t image;
	uint64_t start_cpu_ns; /* of the process, used before we looked */
	uint64_t cpu_ns;       /* when it left, or was last seen */
	/* As in struct wire_slot; of these the tracer knows the first. */
	uint64_t threads_ns, children_ns, children_kib, after_leave;
	uint32_t told_end; /* the image itself did, and these are its words, or it was traced */
	uint32_t left_paused;
	uint32_t quit; /* enum wire_quit */
	uint32_t has_ended; /* else we let go of it */
	uint32_t still_runs;
	uint32_t left_by_exec;
	uint32_t unsampled;    /* enum record_unsampled */
	uint32_t live_threads; /* that were sampled and had not ended when it had */
	uint32_t timer_error;
	uint32_t signal; /* that sampled it */
	uint32_t is_displaced; /* the signal had another handler at the end */
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES];
	uint64_t short_threads;
	uint64_t signals_max;
	uint64_t unknown_runtimes; /* a set, see runtime_bit() */
	struct wire_counters counts;
};

/* What a source counted for all images together; at its end. */
struct record_totals {
	struct record record;
	struct wire_counters counts;
	uint64_t unknown_runtimes; /* a set, see runtime_bit() */
};

/*
 * Of the tracer, at its end: programs that could not be sampled, or only by stops, for one reason.
 */
struct record_refusal {
	struct record record;
	uint64_t programs;
	uint64_t by_stops; /* not 0: they were sampled by stops, which may cut system calls short */
	char text[]; /* of the first */
};

/* A thread's life, or what was seen of it, by clocks: what was told of it has to add up to that. */
struct record_life {
	struct record record;
	uint64_t image;
	uint32_t thread, tid; /* its number, and the kernel's */
	uint64_t span_ns;     /* from its beginning to its end */
	uint64_t cpu_ns;      /* on a CPU, by the kernel */
	uint64_t paused_ns;   /* off it, while the program had asked to be left out */
	char comm[WIRE_COMM_BYTES];
};

/* Why a source may not read what threads wait for, in the first case; at its end. "": it may. */
struct record_waits {
	struct record record;
	char refusal[192];
};

/* The collector has looked at everything since it was asked to for the @number-th time. */
struct record_round {
	struct record record;
	uint64_t number;
};

/* ---- the writing end ------------------------------------------------------------------------- */

/*
 * Records on their way to the reader of the pipe. Writing never waits: while the tracing process
 * waited, every signal of its targets would wait with it, and while the collector waited, rings
 * would fill. What is not taken in time stays in memory, up to a ceiling.
 *
 * Context: one thread.
 */
#define PIPE_WRITER_BYTES_MAX (64u << 20)

struct pipe_writer {
	int descriptor; /* non-blocking; borrowed */
	char *bytes;
	size_t from, to, room; /* [from, to) is still to be written */
};

/*
 * Append a record: @head (@head_bytes, begins with struct record, whose size is filled in), then
 * @tail. Returns 0, or -ENOMEM with nothing appended.
 */
int pipe_writer_put(struct pipe_writer *pipe_writer, enum record_type type, void *head,
	size_t head_bytes, const void *tail, size_t tail_bytes);

/* The same of @sample, of @image and with its @frames. */
int pipe_writer_put_sample(struct pipe_writer *pipe_writer, uint64_t image,
	const struct wire_sample *sample, const void *frames);

/* The same of struct record_refusal, with the reason @why as its text. */
int pipe_writer_put_refusal(
	struct pipe_writer *pipe_writer, uint64_t programs, bool by_stops, const char *why);

/* Write what the pipe takes now. Returns bytes left, or -errno: nobody reads any more. */
long pipe_writer_flush(struct pipe_writer *pipe_writer);

/* Write everything, however long the reader takes. Returns 0 or -errno as above. */
int pipe_writer_finish(struct pipe_writer *pipe_writer);
void pipe_writer_release(struct pipe_writer *pipe_writer);

#endif
