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

enum record_source {
	RECORD_COLLECTOR,
	RECORD_TRACER,
	RECORD_SOURCES
};

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
	RECORD_END /* last record of a stream; no fields */
};

struct record {
	uint32_t bytes;
	uint32_t type; /* enum record_type */
};

/* largest record: a stack, or the text of a control record */
#define RECORD_BYTES_MAX 65536u

/* first image number of the tracer; the arena's begin at 1 */
#define RECORD_TRACER_IMAGES (1ULL << 61)

struct record_image {
	struct record record;
	uint64_t id;	 /* never used again */
	uint64_t parent; /* the forking image; 0: none */
	uint64_t start_ns;
	uint32_t pid, ppid;
	char exe[WIRE_EXE_BYTES]; /* "": that of the parent */
	char comm[WIRE_COMM_BYTES];
};

struct record_module {
	struct record record;
	uint64_t image;
	uint64_t start, end;
	uint64_t file_offset; /* of `start`, only with WIRE_MODULE_MAPPED */
	uint64_t time_ns;     /* CLOCK_MONOTONIC when it was mapped */
	uint32_t number;
	uint32_t flags; /* WIRE_MODULE_* */
	uint32_t build_id_bytes;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	char path[];
};

/* Generated code; the fields are those of struct wire_code. */
struct record_code {
	struct record record;
	uint64_t image;
	uint64_t space, bytes, start;
	uint32_t flags, pad;
	char name[];
};

/* A function of a language runtime; the fields are those of struct wire_function. */
struct record_function {
	struct record record;
	uint64_t image;
	uint64_t space;
	uint32_t line, flags;
	char name[]; /* name, NUL, file, NUL */
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
	uint32_t thread; /* number in the image; 0: no thread, count it on the image's root */
	uint32_t weight; /* in periods; 0: only sets the thread's previous stack */
	uint32_t frames; /* 0: the thread's previous stack */
	uint8_t kind;	 /* enum wire_kind */
	uint8_t end;	 /* enum wire_end */
	uint16_t pad;
	uint64_t frame[]; /* innermost first */
};

/* Why an image has no sample. All its CPU time is then recorded as one credit. */
enum record_unsampled {
	RECORD_SAMPLED,
	RECORD_SHORT,  /* it ended before the tracer attached */
	RECORD_REFUSED /* tracing it is forbidden */
};

/* The end of an image. The tracer knows no counter that the image itself keeps. */
struct record_image_end {
	struct record record;
	uint64_t image;
	uint64_t start_cpu_ns; /* ns used by the process before sampling began */
	uint64_t cpu_ns;       /* ns used by the process at its end, or when last read */
	/* The next four are those of struct wire_slot; the tracer knows only threads_ns. */
	uint64_t threads_ns, children_ns, children_kib, after_leave;
	uint32_t end_is_reported; /* 1: the image wrote the values at its end, or it was traced */
	uint32_t left_paused;
	uint32_t quit;	    /* enum wire_quit */
	uint32_t has_ended; /* 0: sampling ended before the image did */
	uint32_t still_runs;
	uint32_t left_by_exec;
	uint32_t unsampled;    /* enum record_unsampled */
	uint32_t live_threads; /* sampled threads that had not ended before the image */
	uint32_t timer_error;
	uint32_t signal;       /* number of the signal that sampled it */
	uint32_t is_displaced; /* 1: the signal had another handler at the end */
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES];
	uint64_t short_threads;
	uint64_t signals_max;
	uint64_t unknown_runtimes; /* set of runtime_bit() */
	struct wire_counters counts;
};

/* Counters of a source for all images together, at its end. */
struct record_totals {
	struct record record;
	struct wire_counters counts;
	uint64_t unknown_runtimes; /* set of runtime_bit() */
};

/* Programs that could not be sampled, or only by stops, for one reason; from the tracer's end. */
struct record_refusal {
	struct record record;
	uint64_t programs;
	uint64_t by_stops; /* 1: sampled by stops, which may cut system calls short */
	char text[];	   /* reason of the first program */
};

/* Clock readings of a thread's observed life, to which its samples and waits must add up. */
struct record_life {
	struct record record;
	uint64_t image;
	uint32_t thread, tid; /* number in the image, and kernel's thread id */
	uint64_t span_ns;     /* elapsed ns from its beginning to its end */
	uint64_t cpu_ns;      /* ns on a CPU, by the kernel's accounting */
	uint64_t paused_ns;   /* ns off CPU while the program had paused recording */
	char comm[WIRE_COMM_BYTES];
};

/* Why a source first could not read what a thread waits for; "": it could. At its end. */
struct record_waits {
	struct record record;
	char refusal[192];
};

/* The collector has read the whole arena since the @number-th collector_request(). */
struct record_round {
	struct record record;
	uint64_t number;
};

/* ---- the writing end ------------------------------------------------------------------------- */

/*
 * A buffer of records to be written to a pipe. Writing never waits: otherwise the tracing process
 * would delay every signal of its targets, and the collector would let rings fill. Records that the
 * pipe has no room for stay in memory, up to PIPE_WRITER_BYTES_MAX.
 *
 * Context: one thread.
 */
#define PIPE_WRITER_BYTES_MAX (64u << 20)

struct pipe_writer {
	int descriptor; /* non-blocking; borrowed */
	char *bytes;
	size_t from, to, room; /* offsets in `bytes`; [from, to) is not yet written */
};

/*
 * Append a record: @head (@head_bytes long; begins with struct record, which is filled in), then
 * @tail. Returns 0, or -ENOMEM with nothing appended.
 */
int pipe_writer_put(struct pipe_writer *pipe_writer, enum record_type type, void *head,
	size_t head_bytes, const void *tail, size_t tail_bytes);

/* Append a sample of @image with its @frames. Returns as pipe_writer_put(). */
int pipe_writer_put_sample(struct pipe_writer *pipe_writer, uint64_t image,
	const struct wire_sample *sample, const void *frames);

/* Append a struct record_refusal with the reason @why. Returns as pipe_writer_put(). */
int pipe_writer_put_refusal(
	struct pipe_writer *pipe_writer, uint64_t programs, bool by_stops, const char *why);

/* Write what the pipe accepts now. Returns the bytes left, or -errno if the reader is gone. */
long pipe_writer_flush(struct pipe_writer *pipe_writer);

/* Write everything and wait for the reader. Returns 0 or -errno as pipe_writer_flush(). */
int pipe_writer_finish(struct pipe_writer *pipe_writer);
void pipe_writer_release(struct pipe_writer *pipe_writer);

#endif
