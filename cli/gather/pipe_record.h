/* SPDX-License-Identifier: MIT */
/*
 * The records that the collector and the tracing process send to flamerun, each over its own pipe.
 * A record is `bytes` long, a multiple of eight. Texts in a record end with a NUL.
 *
 * Nothing in the stream authenticates a record or marks where it starts, because this would not
 * help. Other processes do not inherit the pipes. A process can open a pipe through /proc/PID/fd if
 * it has flamerun's user, is in flamerun's user namespace and flamerun is dumpable, or if it has
 * CAP_SYS_PTRACE. The kernel checks the same conditions for the arena, which sampled programs have
 * to open, so such a process can forge every sample anyway. It can also remove bytes from the pipe.
 * So the reader checks every record. If a record's length is wrong, the reader does not search for
 * the next record: it reports that the stream ended there.
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
	RECORD_END /* the last one; no fields */
};

struct record {
	uint32_t bytes;
	uint32_t type; /* enum record_type */
};

/* Bytes of the largest record. The largest records hold a stack or the text of a control record. */
#define RECORD_BYTES_MAX 65536u

/* First image number of the tracing process. Numbers in the arena begin at 1. */
#define RECORD_TRACER_IMAGES (1ULL << 61)

struct record_image {
	struct record record;
	uint64_t id;	 /* never used again */
	uint64_t parent; /* the image that forked this one; or 0 */
	uint64_t start_ns;
	uint32_t pid, ppid;
	char exe[WIRE_EXE_BYTES]; /* "": the same as the parent's */
	char comm[WIRE_COMM_BYTES];
};

struct record_module {
	struct record record;
	uint64_t image;
	uint64_t start, end;
	/* File offset that is mapped at `start`. Valid only with WIRE_MODULE_MAPPED. */
	uint64_t file_offset;
	uint64_t time_ns; /* when mapped, CLOCK_MONOTONIC */
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
	/* The thread's number in the image. 0: the sample counts for the whole image. */
	uint32_t thread;
	/* In sampling periods. 0: only sets the stack for later records with 0 frames. */
	uint32_t weight;
	uint32_t frames; /* 0: same as the thread's last stack */
	uint8_t kind;	 /* enum wire_kind */
	uint8_t end;	 /* enum wire_end */
	uint16_t pad;
	uint64_t frame[]; /* innermost first */
};

/* Why an image has no sample. All CPU time of such an image is recorded in one sample record. */
enum record_unsampled {
	RECORD_SAMPLED,
	/* ended before the attach */
	RECORD_SHORT,
	RECORD_REFUSED /* tracing is forbidden */
};

/* The end of an image. If written by the tracing process, the library's counters in it are 0. */
struct record_image_end {
	struct record record;
	uint64_t image;
	/* The process's CPU time in ns when sampling began. */
	uint64_t start_cpu_ns;
	/* CPU time in ns of the process when it ended, or when its clock was last read. */
	uint64_t cpu_ns;
	/* As in struct wire_slot. The tracing process sets only threads_ns. */
	uint64_t threads_ns, children_ns, children_kib, after_leave;
	/* 1: the times are those at the image's end, from the image itself or from tracing. */
	uint32_t end_is_reported;
	uint32_t left_paused;
	uint32_t quit;	    /* enum wire_quit */
	/* 0: the image still ran when sampling ended */
	uint32_t has_ended;
	uint32_t still_runs;
	uint32_t left_by_exec;
	uint32_t unsampled;    /* enum record_unsampled */
	/* Number of sampled threads that were alive when the image ended. */
	uint32_t live_threads;
	uint32_t timer_error;
	/* the sampling signal */
	uint32_t signal;
	/* 1: at the image's end, the handler of the sampling signal was not the library's. */
	uint32_t is_displaced;
	uint64_t unsampled_ns[WIRE_UNSAMPLED_CAUSES];
	uint64_t short_threads;
	uint64_t signals_max;
	uint64_t unknown_runtimes; /* set of runtime_bit() */
	struct wire_counters counts;
};

/* Counters of one source (collector or tracer) for all images, written when the source ends. */
struct record_totals {
	struct record record;
	struct wire_counters counts;
	uint64_t unknown_runtimes; /* set of runtime_bit() */
};

/* From the tracer: programs that could not be sampled, or only by stops, for one reason. */
struct record_refusal {
	struct record record;
	uint64_t programs;
	/* 1: the programs were sampled by tracing stops, which may cut system calls short. */
	uint64_t by_stops;
	char text[];	   /* the reason, as for the first program */
};

/* Times of a thread. The weights of its samples and waits must add up to these. */
struct record_life {
	struct record record;
	uint64_t image;
	/* The thread's number in the image, and its thread id. */
	uint32_t thread, tid;
	/* elapsed time from the thread's begin to its end */
	uint64_t span_ns;
	/* time on a CPU, according to the kernel */
	uint64_t cpu_ns;
	/* Time off CPU while the program had paused the recording. */
	uint64_t paused_ns;
	char comm[WIRE_COMM_BYTES];
};

/* At a source's end: the reason of the first failed read of a thread's wait, or "". */
struct record_waits {
	struct record record;
	char refusal[192];
};

/* The collector has read the whole arena since collector_request() returned `number`. */
struct record_round {
	struct record record;
	uint64_t number;
};

/* ---- the writing end ------------------------------------------------------------------------- */

/*
 * A buffer of records to be written to a pipe. Writing never waits for the reader, except in
 * pipe_writer_finish(). If the tracing process waited, it would delay every signal of its targets;
 * if the collector waited, rings would fill up. Records for which the pipe has no room stay in
 * memory, up to PIPE_WRITER_BYTES_MAX.
 *
 * Context: one thread.
 */
#define PIPE_WRITER_BYTES_MAX (64u << 20)

struct pipe_writer {
	int descriptor; /* non-blocking; borrowed */
	char *bytes;
	/* Offsets in `bytes`. The bytes from `from` up to `to` are not yet written to the pipe. */
	size_t from, to, room;
};

/*
 * Append a record: @head, then @tail. @head begins with a struct record, which is filled in.
 * Returns 0, or -ENOMEM with nothing appended.
 */
int pipe_writer_put(struct pipe_writer *pipe_writer, enum record_type type, void *head,
	size_t head_bytes, const void *tail, size_t tail_bytes);

/* Append a RECORD_SAMPLE of @image with @frames. Returns 0, or -ENOMEM with nothing appended. */
int pipe_writer_put_sample(struct pipe_writer *pipe_writer, uint64_t image,
	const struct wire_sample *sample, const void *frames);

/* Append a RECORD_REFUSAL with the reason @why. Returns 0, or -ENOMEM with nothing appended. */
int pipe_writer_put_refusal(
	struct pipe_writer *pipe_writer, uint64_t programs, bool by_stops, const char *why);

/* Write what the pipe accepts now. Returns the bytes left, or -errno if the reader is gone. */
long pipe_writer_flush(struct pipe_writer *pipe_writer);

/* Write all bytes, waiting for the reader. Returns 0, or -errno if the reader is gone. */
int pipe_writer_finish(struct pipe_writer *pipe_writer);
void pipe_writer_release(struct pipe_writer *pipe_writer);

#endif
