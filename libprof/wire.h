/* SPDX-License-Identifier: MIT */
/*
 * What the target and flamerun say to each other: the arena both map, and the messages on the pipe.
 * The only header cli/ and libprof/ share. Nothing here allocates, locks or calls anything.
 *
 * Everything in the arena can be written by the target at any time. flamerun copies a value out
 * once, then checks the copy; it never trusts an index, a size or a string from here.
 *
 * The arena, one sealed memfd made by flamerun:
 *
 *   +0            struct wire_arena          header: settings, counters
 *   SLOTS_OFFSET  struct wire_slot  [SLOTS]  one per process image
 *   behind them   struct wire_ring  [RINGS]  one per sampled thread, two beside each slot
 *   CONTROL_..    WIRE_CONTROL_STRIDE bytes per slot: module records, many writers
 *   DATA_..       WIRE_DATA_STRIDE bytes per ring: sample records, one writer
 *
 * Who consumes what: control records are flamerun's alone. A sample ring is consumed by the helper
 * of its process while that runs, and by flamerun once the process and its helper are gone.
 */
#ifndef LIBPROF_WIRE_H
#define LIBPROF_WIRE_H

#include <stdint.h>

#define WIRE_MAGIC   0x31676e7572656d61ULL /* "amerung1" */
#define WIRE_VERSION 4

/* FLAMERUN_CHANNEL=<pid>:<arena descriptor>:<pipe descriptor>:<cookie in hex> */
#define WIRE_ENV "FLAMERUN_CHANNEL"

#define WIRE_SLOTS          512
#define WIRE_RINGS          1024
#define WIRE_MAX_DEPTH      4096u
#define WIRE_CONTROL_BYTES  32768u
#define WIRE_DATA_STRIDE    131072u
#define WIRE_CONTROL_STRIDE WIRE_CONTROL_BYTES
#define WIRE_PAGE           4096u
#define WIRE_COMM_BYTES     16
#define WIRE_EXE_BYTES      256

/* ---- a frame in 64 bits ----------------------------------------------------------------------
 *
 *   63          62..48         47..0
 *   found by    module number  address: in module 0 the address itself (JIT code, no module),
 *   frame ptr                  else the ELF virtual address (address - load bias)
 *
 * The address is the one to look up: already the call instruction (pc - 1) for callers.
 */
#define WIRE_FRAME_BY_FP       (1ULL << 63)
#define WIRE_FRAME_MODULE(f)   ((unsigned)((f) >> 48) & 0x7fffu)
#define WIRE_FRAME_ADDRESS(f)  ((f) & 0xffffffffffffULL)
#define WIRE_FRAME(module, address) \
	(((uint64_t)(module) << 48) | ((uint64_t)(address) & 0xffffffffffffULL))
#define WIRE_MODULE_NONE  0u      /* no module: JIT or anonymous code */
#define WIRE_MODULE_MAX   0x7ffdu /* numbers 1..MAX are generations of modules, never reused */
/*
 * Generated code whose owner announced it. The address is one in the code space: every piece of
 * code is given a stretch of its own there, never given twice, wherever it lies and whatever lay
 * there before. A struct wire_code tells the name.
 */
#define WIRE_MODULE_CODE  0x7ffeu
#define WIRE_MODULE_OVER  0x7fffu /* more than MAX modules came and went: unnamed */
/* Not a place in code: the innermost frame of credit whose stack was never seen. */
#define WIRE_FRAME_UNSAMPLED WIRE_FRAME(WIRE_MODULE_OVER, 1)

/* How a stack ended. */
enum wire_end {
	WIRE_END_ROOT = 0,  /* return address undefined, or a thread's start: complete */
	WIRE_END_DEPTH = 1, /* WIRE_MAX_DEPTH frames and more: the leaf side is kept */
	WIRE_END_LOST = 2,  /* no rule for a pc, or a rule that leads nowhere */
	WIRE_END_MEMORY = 3, /* the stack could not be read */
	WIRE_END_COUNT
};

enum wire_kind {
	WIRE_KIND_CPU = 0,    /* on the CPU when the timer expired */
	WIRE_KIND_CREDIT = 1, /* due but never delivered; on the last stack, or no stack at all */
	WIRE_KIND_OFF = 2,    /* off the CPU */
	/* Elapsed time, with the stack a virtual machine told, outermost a WIRE_FUNCTION_ROOT or
	 * native frames. No part of what CPU clocks count. */
	WIRE_KIND_VM = 3,
	WIRE_KIND_COUNT
};

/* Whose functions are to be named, at the price of running them through stubs. */
enum wire_jit {
	WIRE_JIT_PYTHON = 1,
};

/* Why a process that has a Python in it goes without names. */
enum wire_python_refusal {
	WIRE_PYTHON_VERSION = 0, /* not one that the extension knows */
	WIRE_PYTHON_NO_EXTENSION = 1, /* the extension is not beside the library, or does not load */
	WIRE_PYTHON_NO_STUBS = 2, /* executable memory is refused, or something else evaluates frames */
	WIRE_PYTHON_REFUSALS
};

/* ---- arena header ---------------------------------------------------------------------------- */
struct wire_arena {
	uint64_t magic;
	uint32_t version;
	uint32_t rate_hz;     /* flamerun writes before the fork */
	uint32_t start_paused; /* processes record nothing until they say so */
	uint32_t jit;	       /* enum wire_jit, or-ed: whose functions are to be named */
	uint64_t cookie;      /* proves that an opened descriptor is this run's arena */
	uint32_t closing;     /* flamerun sets to 1: stop sampling, flush, end the helper */
	uint32_t clock_hz;    /* test-only clock: CLOCK_MONOTONIC at this rate; 0 = CPU clock */
	uint64_t pipe_device; /* what the pipe's descriptor must turn out to be */
	uint64_t pipe_inode;
	uint64_t next_image;  /* atomic: the last image id given out */
	uint32_t slots_high;  /* atomic: one past the highest slot ever claimed */
	uint32_t rings_high;  /* atomic: one past the highest ring ever claimed */
	/* Where to look for a free one first: searching from 0 would touch a page for every few. Set
	 * behind the one taken, and back to one given up; out of range means 0. */
	uint32_t slots_hint;
	uint32_t rings_hint;
	uint32_t forks_begun; /* atomic: by the parents; more than arrived: a child is on its way */
	uint32_t forks_arrived; /* atomic: by the children, whether or not they found a slot */
	/* A loss that has no slot to be counted in; atomic, only ever grows. */
	uint64_t lost_processes; /* no free slot */
	/* Processes whose Python functions get names, and what else was found; atomic, only grow. */
	uint32_t python_named;
	uint32_t python_refused[WIRE_PYTHON_REFUSALS];
};

/* ---- process slots --------------------------------------------------------------------------- */
enum wire_slot_state {
	WIRE_SLOT_FREE = 0,
	WIRE_SLOT_CLAIMED = 1, /* being filled in by the pid in the upper half of the word */
	WIRE_SLOT_LIVE = 2,
	WIRE_SLOT_EXEC = 3, /* about to exec: back to LIVE if that fails */
	WIRE_SLOT_EXIT = 4, /* its exit was seen from inside; may still run for a while */
};

enum wire_helper_state {
	WIRE_HELPER_NONE = 0,
	WIRE_HELPER_STARTING = 1,
	WIRE_HELPER_RUNNING = 2,
	WIRE_HELPER_GONE = 3,   /* ended after draining */
	WIRE_HELPER_FAILED = 4, /* could not start: rings only */
};

struct wire_slot {
	uint64_t state;      /* pid << 8 | enum wire_slot_state; FREE by CAS only by a claimer's success
			      * or by flamerun after draining */
	uint64_t image;      /* unique in the run */
	uint64_t parent_image; /* the forking image, 0 for an exec'd one */
	uint32_t pid;        /* as the process sees itself */
	uint32_t ppid;
	uint32_t namespaced; /* pid means nothing to flamerun */
	uint32_t error;      /* errno that made the library turn itself off, else 0 */
	uint64_t start_ns;   /* CLOCK_MONOTONIC */
	uint64_t start_cpu_ns; /* CPU time the process had used when sampling began */
	uint64_t end_cpu_ns; /* CPU time of the process when it left (EXEC, EXIT), else 0 */
	uint32_t doorbell;   /* futex: bumped to wake the helper */
	uint32_t helper;     /* enum wire_helper_state */
	uint32_t helper_pid;
	uint32_t threads;    /* threads ever sampled */
	/* Written by handlers and exit paths of this image, atomic, only ever grow. Units: samples by
	 * weight. delivered = expirations that reached a handler. */
	uint64_t delivered;
	uint64_t overruns;   /* part of delivered that came as timer overruns */
	uint64_t credited;   /* due at a thread's end and never delivered */
	uint64_t dropped;    /* ring full */
	uint64_t paused;     /* delivered while the program had asked to be left out */
	uint64_t late_threads; /* threads of this image without ring or timer */
	/* Records that found the control ring full; names of machines' functions may come later, and
	 * are taken out again. */
	uint64_t control_dropped;
	uint64_t handler_ns; /* time spent in the handler, extrapolated from every 16th call */
	uint64_t vm_dropped; /* as dropped and paused, of WIRE_KIND_VM */
	uint64_t vm_paused;
	uint64_t control_head; /* atomic: reserved up to here */
	uint64_t control_tail; /* flamerun writes */
	char exe[WIRE_EXE_BYTES]; /* AT_EXECFN, NUL-terminated, cut at the front when longer */
	char comm[WIRE_COMM_BYTES];
};

/* ---- rings ------------------------------------------------------------------------------------ */
enum wire_ring_state {
	WIRE_RING_FREE = 0,
	WIRE_RING_OWNED = 1,
	WIRE_RING_RETIRED = 2, /* its thread ended; FREE again once drained */
};

/*
 * Positions are bytes ever written, never reset, not even when the ring changes hands: {ring, from,
 * to} names a piece of history once. Records never wrap: one that begins below WIRE_RING_SPAN may
 * reach into the slack behind it.
 *
 *   data: |<----------- WIRE_RING_SPAN ----------->|<- slack, one largest record ->|
 *   a record at position p lies at offset p % WIRE_RING_SPAN
 */
#define WIRE_RECORD_MAX (sizeof(struct wire_sample) + 8 * WIRE_MAX_DEPTH)
#define WIRE_RING_SPAN  (WIRE_DATA_STRIDE - 36864u)

struct wire_ring {
	uint64_t owner;  /* image << 2 | enum wire_ring_state, by CAS; image is cut to 62 bits */
	uint32_t slot;
	uint32_t thread; /* number within the image, from 1; never reused in it */
	uint32_t tid;
	uint32_t writing; /* 1 while a record is being written: still set after a kill = torn */
	uint64_t start_ns;
	char comm[WIRE_COMM_BYTES];
	uint64_t exit_credit; /* due and not delivered when the process left; on the last stack */
	uint64_t pad0;
	uint64_t head; /* owner thread's handler writes, release */
	uint64_t pad1[7];
	uint64_t tail; /* consumer writes, release */
	uint64_t pad2[7];
};

/* A record in a sample ring: this, then frames (innermost first). */
struct wire_sample {
	uint32_t bytes; /* whole record, a multiple of 8 */
	uint32_t thread; /* the ring's thread number when it was written */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t weight;
	uint16_t frames; /* 0 with WIRE_KIND_CREDIT: on this thread's previous stack, if it has one */
	uint8_t kind;    /* enum wire_kind */
	uint8_t end;     /* enum wire_end */
};

/* ---- control records ------------------------------------------------------------------------- */
enum wire_control_type {
	WIRE_CONTROL_PAD = 1, /* to the end of the ring */
	WIRE_CONTROL_MODULE = 2,
	WIRE_CONTROL_CODE = 3,
	WIRE_CONTROL_MARK = 4,
	WIRE_CONTROL_FUNCTION = 5,
};

/*
 * Many writers: reserve bytes by CAS on control_head, write the body, then store `word` with
 * release. flamerun reads up to the first record whose word is 0, zeroes what it took, advances
 * the tail.
 */
struct wire_control {
	uint32_t word; /* bytes << 8 | enum wire_control_type; bytes is a multiple of 8 */
	uint32_t pad;
};

#define WIRE_BUILD_ID_MAX 32

struct wire_module {
	struct wire_control control;
	uint32_t number; /* as in frames */
	uint32_t build_id_bytes;
	uint64_t start;  /* mapped range */
	uint64_t end;
	uint64_t bias;
	uint64_t time_ns; /* first seen */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t flags; /* WIRE_MODULE_* below */
	uint32_t path_bytes; /* path follows, NUL included; "" is the program itself */
	char path[];
};
#define WIRE_MODULE_MAIN 1u
#define WIRE_MODULE_VDSO 2u
#define WIRE_MODULE_SELF 4u /* this library: its wrappers are no part of the program's stacks */

/* Generated code, announced before the first sample in it. */
struct wire_code {
	struct wire_control control;
	uint64_t space; /* WIRE_MODULE_CODE address of its first byte */
	uint64_t bytes;
	uint64_t start; /* where it lies in memory */
	uint32_t pad;
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};

/* A function of a virtual machine's language: no code, but one place in the code space. */
struct wire_function {
	struct wire_control control;
	uint64_t space; /* WIRE_MODULE_CODE address */
	uint32_t line;	/* 0: none */
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes;
	uint32_t file_bytes; /* name, then file follow, each with its NUL; "": no file */
	char name[];
};
#define WIRE_FUNCTION_ROOT 1u /* stands above a machine's stacks and is none of its functions */

/* Something the program wants to be remembered. */
struct wire_mark {
	struct wire_control control;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};

/* ---- messages on the pipe --------------------------------------------------------------------
 *
 * One write(2) of at most WIRE_MESSAGE_MAX bytes (PIPE_BUF, so atomic): header, then `nodes`
 * struct wire_node, then `samples` struct wire_node_sample. Node numbers start at 1 in each epoch
 * and count up in order of their definition; 0 is the root.
 */
#define WIRE_MESSAGE_MAX   4096u
#define WIRE_MESSAGE_MAGIC 0x464c4d31u /* "1MLF" */

struct wire_message {
	uint32_t magic;
	uint32_t bytes; /* whole message */
	uint64_t image;
	uint32_t slot;
	uint32_t ring;
	uint64_t from; /* the piece of the ring this message accounts for; from == to: nodes only */
	uint64_t to;
	uint32_t epoch; /* a new one forgets all nodes of the image */
	uint32_t first_node; /* number of the first node defined here */
	uint16_t nodes;
	uint16_t samples;
	uint32_t tid;
	char comm[WIRE_COMM_BYTES];
};

struct wire_node {
	uint64_t frame;
	uint32_t parent;
	uint32_t pad;
};

struct wire_node_sample {
	uint64_t time_ns;
	uint32_t node; /* 0: no stack */
	uint32_t weight;
	uint32_t thread;
	uint8_t kind;
	uint8_t end;
	uint16_t pad;
};

/* ---- geometry -------------------------------------------------------------------------------- */
/*
 * A process that begins claims a slot and a ring, mostly of the same number: they share a page.
 *
 *   +0                     +RING_PLACE                 +SLOT_STRIDE
 *   | struct wire_slot ... | ring i | ring i + SLOTS | |
 */
#define WIRE_SLOT_STRIDE    1024u
#define WIRE_RING_PLACE     640u
#define WIRE_SLOTS_OFFSET   WIRE_PAGE
#define WIRE_CONTROL_OFFSET (WIRE_SLOTS_OFFSET + WIRE_SLOTS * WIRE_SLOT_STRIDE)
#define WIRE_DATA_OFFSET    (WIRE_CONTROL_OFFSET + (uint64_t)WIRE_SLOTS * WIRE_CONTROL_STRIDE)
#define WIRE_ARENA_BYTES    (WIRE_DATA_OFFSET + (uint64_t)WIRE_RINGS * WIRE_DATA_STRIDE)

/* A limit on the address space is the program's to use up: the arena takes at most this part. */
#define WIRE_ARENA_SHARE 16

_Static_assert(sizeof(struct wire_slot) <= WIRE_RING_PLACE, "a slot ends before the rings");
_Static_assert(WIRE_RING_PLACE + WIRE_RINGS / WIRE_SLOTS * sizeof(struct wire_ring) <=
		       WIRE_SLOT_STRIDE, "its rings end before the next slot");
_Static_assert(sizeof(struct wire_ring) == 192, "ring descriptors keep their shape");
_Static_assert(WIRE_RING_SPAN + WIRE_RECORD_MAX <= WIRE_DATA_STRIDE, "the slack holds a record");
_Static_assert(sizeof(struct wire_sample) == 24, "sample header");
_Static_assert(sizeof(struct wire_node) == 16 && sizeof(struct wire_node_sample) == 24, "nodes");

static inline struct wire_slot *wire_slot(void *arena, unsigned slot)
{
	return (struct wire_slot *)((char *)arena + WIRE_SLOTS_OFFSET + slot * WIRE_SLOT_STRIDE);
}

static inline unsigned wire_slot_index(const void *arena, const struct wire_slot *slot)
{
	return (unsigned)((const char *)slot - (const char *)arena - WIRE_SLOTS_OFFSET) /
		WIRE_SLOT_STRIDE;
}

static inline struct wire_ring *wire_ring(void *arena, unsigned ring)
{
	struct wire_slot *slot = wire_slot(arena, ring % WIRE_SLOTS);

	return (struct wire_ring *)((char *)slot + WIRE_RING_PLACE) + ring / WIRE_SLOTS;
}

static inline char *wire_control_data(void *arena, unsigned slot)
{
	return (char *)arena + WIRE_CONTROL_OFFSET + (uint64_t)slot * WIRE_CONTROL_STRIDE;
}

static inline char *wire_ring_data(void *arena, unsigned ring)
{
	return (char *)arena + WIRE_DATA_OFFSET + (uint64_t)ring * WIRE_DATA_STRIDE;
}

#endif
