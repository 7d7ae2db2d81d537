/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * Functions of languages whose runtime is one of ours, without its help: what a thread's stack of
 * language frames is, read out of the runtime's own structures. A walk of the native stack asks for
 * them where they belong:
 *
 *	leaf    time_sleep                       native: what the language called
 *	        "work", "main"                   language frames of one *run*, innermost first
 *	        _PyEval_EvalFrameDefault         the activation that runs them: *place* lies in it
 *	        _PyFunction_Vectorcall …         native: what called the language
 *
 * A place is an address that lies in the activation's stack frame, because the runtime keeps
 * something there. So a run is not given to a frame by a name or by a range of code: where the walk
 * steps over the place, there the run was. Runs whose place no frame has stay out of the stack,
 * which is native there.
 *
 * Everything is read by runtime_load(), of one's own process in the handler and of another one from
 * outside; it may fail at any address. Objects are freed and their memory is used again, so what is
 * known of a function is found by its address and by what it holds.
 */
#ifndef LIBPROF_RUNTIME_RUNTIME_H
#define LIBPROF_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "arch/registers.h"
#include "libprof/unwind/unwind.h"

/* ---- reading --------------------------------------------------------------------------------- */

#define RUNTIME_WINDOW_BYTES 512u

/*
 * What was read around an address is kept while one stack is read. Where all windows are stands
 * together, for each is asked.
 */
struct runtime_window {
	uintptr_t start;
	uint32_t bytes;
};
struct runtime_content {
	char bytes[RUNTIME_WINDOW_BYTES];
};

/*
 * What a reader found out and the next walks may use, by a hash of all that it depends on. Zeroed
 * at first; any thread may read and write it at any time. An entry that is written at the moment
 * does not match its check.
 */
#define RUNTIME_CACHE_BITS  14u
#define RUNTIME_CACHE_WORDS 3u
struct runtime_cached {
	uint64_t check; /* atomic, as the words are: of the key and the words */
	uint64_t words[RUNTIME_CACHE_WORDS];
};
struct runtime_cache {
	struct runtime_cached entries[1u << RUNTIME_CACHE_BITS];
};

/* Objects that refer to each other lie in more places than one. */
#define RUNTIME_WINDOWS_MORE 28u

/*
 * What two walks of a thread's running had to ask the kernel for: the next one asks for the same,
 * and reads all of it by one call. Of what one walk alone asked for little is asked for again.
 * Zeroed at first.
 */
#define RUNTIME_AGAIN 24u
struct runtime_again {
	uint32_t count, new_count;
	struct iovec windows[RUNTIME_AGAIN];
	struct iovec new_windows[RUNTIME_AGAIN]; /* of the last walk alone */
};

#define RUNTIME_AHEAD	    8u
#define RUNTIME_AHEAD_BYTES 256u
#define RUNTIME_AHEAD_LEAST 64u

/* Room that a reader has more where it is lent one: too much for a handler's stack. */
struct runtime_room {
	struct runtime_window windows[RUNTIME_WINDOWS_MORE];
	struct runtime_content contents[RUNTIME_WINDOWS_MORE];
	struct iovec local[RUNTIME_AGAIN + 1], remote[RUNTIME_AGAIN + 1]; /* of a call */
};

#define RUNTIME_HINTS  16u /* a power of two */
#define RUNTIME_NOTED  28u
#define RUNTIME_AN_AGE 4096u /* walks */

struct runtime_reader {
	int pid;	/* whose memory; 0: our own, where process_vm_readv(2) is forbidden */
	int is_own;	/* it is ours */
	int is_trusted; /* and alive for as long as it is looked at: plain loads */
	int may_trust;	/* so it becomes behind the innermost frame; begin() may forbid it */
	/* Of our own, and there for as long as the runtime's module: plain loads. */
	uintptr_t fixed_start, fixed_bytes;
	uintptr_t stack_start, stack_bytes; /* of the thread that is walked, likewise */
	struct runtime_cache *cache;	    /* borrowed; NULL: there is none */
	uint32_t age; /* of the walk: what little tells is believed in walks of the same */
	/* The runtime's own, for the rest of the walk: an address or 0, and what it found there. */
	uintptr_t noted_at;
	uint64_t noted[RUNTIME_NOTED];
	unsigned oldest;		 /* window to fill next */
	uint8_t found_in[RUNTIME_HINTS]; /* by address: the window that had it lately */
	uint32_t used;			 /* bit n is set: something was found in window n */
	struct runtime_again *again;	 /* borrowed; NULL: nothing is known of a walk before */
	int was_read_again;
	struct runtime_window windows[2];
	struct runtime_content contents[2];
	struct runtime_room *room; /* borrowed, see runtime_lend(); NULL: there is none */
};

static inline void runtime_reader_init(struct runtime_reader *reader, int pid, int is_own)
{
	reader->pid = pid;
	reader->is_own = is_own;
	reader->is_trusted = reader->may_trust = 0;
	reader->fixed_start = reader->fixed_bytes = 0;
	reader->stack_start = reader->stack_bytes = 0;
	reader->cache = NULL;
	reader->age = 0;
	reader->noted_at = 0;
	reader->oldest = 0;
	memset(reader->found_in, 0, sizeof(reader->found_in));
	reader->used = 0;
	reader->again = NULL;
	reader->was_read_again = 0;
	memset(reader->windows, 0, sizeof(reader->windows));
	reader->room = NULL;
}

/* Whatever is in it; taken back by reader->room = NULL. */
static inline void runtime_lend(struct runtime_reader *reader, struct runtime_room *room)
{
	for (unsigned i = 0; i < RUNTIME_WINDOWS_MORE; i++)
		room->windows[i].bytes = 0;
	reader->room = room;
}

int runtime_load_checked(struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes);

/*
 * Copy @bytes, at most RUNTIME_WINDOW_BYTES, at @address into @to. Returns 0 or -EFAULT, with any
 * bytes in @to.
 */
static inline int runtime_load(
	struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes)
{
	/* Most are words of what is trusted: no call for them. */
	if (!reader->is_trusted || !address)
		return runtime_load_checked(reader, address, to, bytes);
	memcpy(to, (const void *)address, bytes);
	return 0;
}

static inline int runtime_load_word(
	struct runtime_reader *reader, uintptr_t address, uintptr_t *value)
{
	return runtime_load(reader, address, value, sizeof(*value));
}

const void *runtime_view_checked(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/*
 * The same bytes where they lie, or where they were read into: good until the next reading. NULL:
 * they can't be read.
 */
static inline const void *runtime_view(
	struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	return reader->is_trusted && address ? (const void *)address
					     : runtime_view_checked(reader, address, bytes);
}

/* Bytes that are read one after another, from @at to @end. */
struct runtime_bytes {
	struct runtime_reader *reader; /* borrowed */
	uintptr_t at, end;
	unsigned used, got; /* of `bytes`; 0 at first */
	uint8_t bytes[64];
};

/* The next of them; -1: there are no more, or they can't be read. */
int runtime_byte(struct runtime_bytes *bytes);

/* As much of it will be asked for, piece by piece: one call of the kernel's is enough. */
void runtime_expect(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/*
 * The same of what is longer than a window: as much of it as goes into RUNTIME_RUN windows, if the
 * first is not there yet.
 */
#define RUNTIME_RUN 9u
void runtime_expect_run(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/*
 * RUNTIME_AHEAD_LEAST bytes at each of @places will be asked for, in this order: the same, as far
 * as there is room, and of what has not been read. What was expected so before is not any more.
 */
void runtime_expect_each(struct runtime_reader *reader, const uintptr_t *places, unsigned count);

/* Has it been read, or is it read plainly? */
int runtime_has(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/* The walk is over: keep for the next one what this one has read, if its reader->again is lent. */
void runtime_note_again(struct runtime_reader *reader);

/* What was read is read again. */
static inline void runtime_forget(struct runtime_reader *reader)
{
	reader->windows[0].bytes = reader->windows[1].bytes = 0;
	if (reader->room)
		runtime_lend(reader, reader->room);
}

static inline uint64_t runtime_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 29;
}

/* Find the words that were kept by @key. Returns 1 and them, or 0. */
int runtime_cache_find(
	const struct runtime_reader *reader, uint64_t key, uint64_t words[RUNTIME_CACHE_WORDS]);
void runtime_cache_keep(const struct runtime_reader *reader, uint64_t key,
	const uint64_t words[RUNTIME_CACHE_WORDS]);

/* The same of one number. */
int runtime_cache_find_number(const struct runtime_reader *reader, uint64_t key, uint32_t *number);
void runtime_cache_keep_number(const struct runtime_reader *reader, uint64_t key, uint32_t number);

/* A character as UTF-8; what is none becomes '?'. Returns how many bytes. */
unsigned runtime_encode(uint32_t character, char out[4]);

/* As much of @text as there is room for, without its NUL. Returns how many bytes. */
uint32_t runtime_put_text(char *out, uint32_t room, const char *text);

/*
 * As much of the @length bytes at @address, up to a NUL, as there is room for: their beginning, or
 * where @keep_end their end. Returns how many bytes.
 */
uint32_t runtime_load_text(struct runtime_reader *reader, uintptr_t address, uintptr_t length,
	char *out, uint32_t room, int keep_end);

/* Of what was read. */
static inline uintptr_t runtime_word_in(const char *bytes, uint32_t offset)
{
	uintptr_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static inline uint32_t runtime_int_in(const char *bytes, uint32_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static inline uint16_t runtime_short_in(const char *bytes, uint32_t offset)
{
	uint16_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* ---- contract: what each runtime brings ------------------------------------------------------ */

#define RUNTIME_WORDS_MAX   64u
#define RUNTIME_OBJECTS_MAX 8u

/* So many bytes of the evaluator's code may set an activation up. */
#define RUNTIME_SETUP_MAX 1024u

/* A runtime in a process. Its kind fills in `word` as it likes. */
struct runtime {
	const struct runtime_kind *kind; /* NULL: none */
	uint32_t version;
	/*
	 * It keeps nothing in its activations' stack frames. Each has one run and is told by its
	 * code, from entry to entry_end: both have to be as many, or the innermost activation has
	 * none, for it is just begun or left.
	 */
	uint32_t is_counted;
	/*
	 * The runtime links a run and the activation that runs it at different moments, and nothing
	 * but the order of both lists says which belong together. If there are more of one than of
	 * the other, none of the thread's language frames is believed.
	 */
	uint32_t is_paired;
	/* What entry's function calls to run frames is part of the activation, too. */
	uint32_t has_inner;
	/*
	 * An activation that called another one through a single function has the run of that one.
	 * So it has through two functions, if the inner one is the function from joiner to
	 * joiner_end. For counted ones only.
	 */
	uint32_t is_joined;
	uintptr_t joiner, joiner_end;
	uint32_t offsets[RUNTIME_WORDS_MAX];
	uintptr_t base; /* of its global state, which lies in its module */
	uintptr_t base_bytes;
	uintptr_t code_type;	    /* what tells its functions from other objects */
	uintptr_t entry, entry_end; /* the evaluator's code, or what of it has a name */
	uintptr_t setup_end;	    /* in it: before, an activation is being set up */
	/* Addresses of what it makes once and never frees; its kind knows of what. */
	uintptr_t objects[RUNTIME_OBJECTS_MAX];
	/* What calls the activation of the outermost of counted runs, where stacks lack that. */
	uintptr_t start, start_end;
};

#define RUNTIME_PLACE_COUNTED	(UINTPTR_MAX - 1)
#define RUNTIME_PLACE_OUTERMOST (UINTPTR_MAX - 2) /* of the run that runtime.start calls */

/* A thread, as far as it is known who that is. */
struct runtime_thread {
	uintptr_t self; /* as pthread_self(), or 0 */
	uint32_t tid;	/* as its process knows it, or 0 */
};

/* One language frame. */
#define RUNTIME_LINE_LATER     UINT32_MAX
#define RUNTIME_POSITION_FIRST INT32_MIN /* stands for where the function begins */
struct runtime_frame {
	uintptr_t function;  /* address of its code */
	uint64_t identity;   /* hash of that address and of what the code holds */
	uint32_t first_line; /* RUNTIME_LINE_LATER: line() knows it */
	uint32_t line;	     /* where there is no kind->line(): 0: none */
	int32_t position;    /* of the instruction, in the runtime's units; < 0: not known */
	/* The rest is the kind's. */
	uint64_t key;
	uintptr_t code;
	int32_t inlined; /* which function in it */
	uint32_t start;
	uintptr_t lines; /* what the runtime knows of lines, 0: nothing */
	uintptr_t name, file;
};

/* A thread's stack of language frames, from the innermost on. */
struct runtime_stack {
	uintptr_t state;      /* the runtime's structure for the thread */
	uintptr_t frame;      /* of the next run, its innermost; 0: no more runs */
	uintptr_t activation; /* the runtime's own note on the activation, if it has one */
	uintptr_t place;      /* in the activation that runs it */
	int is_shared;	      /* another state may have the next run: begin again behind each */
	int is_over;	      /* the frame told last was the outermost of its run */
	int is_innermost;     /* for enter(): the activation has called nothing */
	/* That runs it, or for counted ones the one inside of that; NULL: none is known. */
	const struct unwind_frame *run_by;
	uintptr_t own[5]; /* the kind's */
	/*
	 * Of generated code: a hash of all that its frames depend on, 0: what they are is not kept;
	 * and what is known of the frame that the walk is at.
	 */
	uint64_t key;
	struct runtime_frame found;
};

/* Names are cut at their end, paths at their beginning. */
#define RUNTIME_NAME_BYTES 256u
#define RUNTIME_FILE_BYTES 512u

/* Which structure of the runtime's is a thread's. */
struct runtime_state {
	uint32_t tid; /* as its process knows it */
	uintptr_t state;
};

struct runtime_symbols;

/* One for each language. All return 0 or -errno; none writes but to what it is given. */
struct runtime_kind {
	const char *name;
	const char *known; /* versions that are read, in words for a person: "3.8 to 3.15" */
	/*
	 * Is the module one? Its symbols are looked up in its own tables. -EAGAIN: it is, but is
	 * being loaded still. -ENOTSUP: it is, but is not laid out as any that is known.
	 */
	int (*find)(struct runtime *out, struct runtime_reader *reader,
		struct runtime_symbols *symbols);
	/*
	 * @thread's innermost run of those that have their places from @sp on; of a thread that is
	 * not known, whoever has the nearest. @known is what the last answer for the thread was, or
	 * 0. Where what it runs may go away, reader->may_trust is 0 then.
	 */
	int (*begin)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
		struct runtime_stack *out);
	/*
	 * Stand at the language frames that native @frame runs. NULL: begin() knows all runs.
	 * Returns 0 or -errno for a frame of the evaluator; for generated code 1, with the key by
	 * which its frames are kept in stack->key, 0: it runs none, or -errno.
	 */
	int (*enter)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, const struct unwind_frame *frame);
	/*
	 * The next frames, innermost first, at most @room: one of the evaluator's, or all of
	 * generated code's. Returns how many; 0: that was all, and @stack is at the next run; or
	 * -errno.
	 */
	int (*next)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct runtime_frame *out, unsigned room);
	/*
	 * Leave a frame that the walk cannot leave by itself, see UNWIND_ASK
	 * (unwind/unwind_core.h). What it finds out for enter() stays in @stack. NULL: the walk
	 * leaves all of them.
	 */
	int (*step)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct unwind_activation *at);
	/*
	 * All threads that the runtime knows by their numbers, at most @room, in any order. Returns
	 * how many. NULL: it does not know them so.
	 */
	unsigned (*states)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_state *out, unsigned room);
	/* The line that @frame is at, 0: none. Bounded, but long: kept. NULL: frames have it. */
	uint32_t (*line)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_frame *frame);
	/* A text as UTF-8; what is longer than @room is cut. Returns bytes, with the NUL. */
	uint32_t (*text)(const struct runtime *runtime, struct runtime_reader *reader,
		uintptr_t address, char *out, uint32_t room, int keep_end);
};

/*
 * Does an evaluator run the language frames? Otherwise each frame of the runtime's generated code
 * has some of its own.
 */
static inline int runtime_has_evaluator(const struct runtime *runtime)
{
	return runtime->is_counted || runtime->kind->begin;
}

/* Does the walk come to code that the runtime has generated? */
static inline int runtime_generates_code(const struct runtime *runtime)
{
	return runtime->kind->step || !runtime_has_evaluator(runtime);
}

extern const struct runtime_kind runtime_cpython, runtime_php, runtime_ruby, runtime_perl,
	runtime_lua, runtime_luajit, runtime_v8, runtime_hotspot;

/* ---- symbols --------------------------------------------------------------------------------- */

/* Where a mapped module has its symbols. */
struct runtime_symbols {
	uintptr_t bias;
	uintptr_t symbols, strings, hash;
	uint32_t buckets, first, bloom_words, bloom_shift;
	uintptr_t eh_frame_hdr; /* 0: it is not known */
};

/* Read the dynamic section at @dynamic. Returns 0, -EFAULT or -ENOENT: no table is there. */
int runtime_symbols_read(struct runtime_symbols *out, struct runtime_reader *reader,
	uintptr_t dynamic, uintptr_t bias);

/* The address of symbol @name in the module, its size in @bytes unless NULL; 0: it has none. */
uintptr_t runtime_symbol(struct runtime_symbols *symbols, struct runtime_reader *reader,
	const char *name, uint64_t *bytes);

/*
 * Where the function begins that has @pc, and where the one behind it does, as .eh_frame_hdr lists
 * them. Returns 0, or -ENOENT: it is in no list, or the last of it.
 */
int runtime_function(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uintptr_t pc, uintptr_t *begin, uintptr_t *end);

/* ---- finding --------------------------------------------------------------------------------- */

/* A module, as mapped. */
struct runtime_module {
	uintptr_t dynamic, bias;
	uintptr_t eh_frame_hdr; /* 0: it has none, or none that can be read */
};

/*
 * Is @module a runtime? Returns 1 with @out, or 0; -EAGAIN: that can't be told yet; -ENOTSUP: it
 * is out->kind, but not one that is known.
 * Context: signal-safe, any thread.
 */
int runtime_find(
	struct runtime *out, struct runtime_reader *reader, const struct runtime_module *module);

/* @kind in a set of kinds. */
uint32_t runtime_bit(const struct runtime_kind *kind);

/* The kind that has bit @number in such a set; NULL: no kind has that or a higher one. */
const struct runtime_kind *runtime_kind_at(unsigned number);

#endif
