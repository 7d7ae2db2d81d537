/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * Read the memory of a process that may change it at any time: the handler's own process, or
 * another process from outside. Every load may fail. Objects are freed and their memory is reused,
 * so callers check what they read: the type of an object, the bounds of a length, the end of a
 * list.
 *
 * There are three kinds of loads:
 *
 *	plain		a load instruction, if reader->is_trusted is set or the address is in a
 *			range that is never unmapped (the runtime's variables, the thread's stack)
 *	from a window	bytes around an address that was read before in this walk
 *	a system call	process_vm_readv(2), which fills a window
 *
 * A cache keeps results of readers for later walks.
 */
#ifndef LIBPROF_RUNTIME_READER_H
#define LIBPROF_RUNTIME_READER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

/* ---- windows --------------------------------------------------------------------------------- */

#define RUNTIME_WINDOW_BYTES 512u
#define RUNTIME_WINDOWS_MORE 28u

/* Bounds and contents are in separate arrays, because each load searches the bounds. */
struct runtime_window {
	uintptr_t start;
	uint32_t bytes;
};
struct runtime_content {
	char bytes[RUNTIME_WINDOW_BYTES];
};

/*
 * The windows that the last two walks of a thread used. The next walk reads all of them with its
 * first system call. new_windows: only the last walk used them. Zero it before the first use.
 */
#define RUNTIME_AGAIN 24u
struct runtime_again {
	uint32_t count, new_count;
	struct iovec windows[RUNTIME_AGAIN];
	struct iovec new_windows[RUNTIME_AGAIN];
};

/* More windows and arguments of system calls for a reader; too large for a handler's stack. */
struct runtime_room {
	struct runtime_window windows[RUNTIME_WINDOWS_MORE];
	struct runtime_content contents[RUNTIME_WINDOWS_MORE];
	struct iovec local[RUNTIME_AGAIN + 1], remote[RUNTIME_AGAIN + 1];
};

/* ---- the cache ------------------------------------------------------------------------------- */

/*
 * A table from the hash of a question, with all that its answer depends on, to the answer. Zero it
 * before the first use. Any thread may read and write it at any time: a half-written entry does not
 * match its check.
 */
#define RUNTIME_CACHE_BITS  14u
#define RUNTIME_CACHE_WORDS 3u
struct runtime_cached {
	/* hash of key and words; atomic, as the words are */
	uint64_t check;
	uint64_t words[RUNTIME_CACHE_WORDS];
};
struct runtime_cache {
	struct runtime_cached entries[1u << RUNTIME_CACHE_BITS];
};

/* ---- the reader ------------------------------------------------------------------------------ */

#define RUNTIME_HINTS  16u /* a power of two */
#define RUNTIME_NOTED  28u
#define RUNTIME_AN_AGE 4096u /* walks */

/* The state of reading one process during one walk. */
struct runtime_reader {
	/* 0: our own process, if process_vm_readv(2) is forbidden in it */
	int pid;
	int is_own;	/* the process is our own */
	/* all memory that is read now stays mapped: use plain loads */
	int is_trusted;
	/* is_trusted may be set from the second frame of a run on */
	int may_trust;
	/* Ranges of our own process that are never unmapped, read by plain loads. */
	uintptr_t fixed_start, fixed_bytes;
	/* stack of the thread that is walked; bytes */
	uintptr_t stack_start, stack_bytes;
	struct runtime_cache *cache;	    /* borrowed; NULL: no cache */
	/* changes each RUNTIME_AN_AGE walks; in keys of results that expire */
	uint32_t age;
	/* For a runtime's reader during the walk: an address or 0, and results found there. */
	uintptr_t noted_at;
	uint64_t noted[RUNTIME_NOTED];
	unsigned oldest;		 /* index of the window to fill next */
	/* by address: the window that had it last */
	uint8_t found_in[RUNTIME_HINTS];
	uint32_t used;			 /* bit n is set if window n was used */
	/* borrowed; NULL: no record of earlier walks */
	struct runtime_again *again;
	int was_read_again;
	struct runtime_window windows[2];
	struct runtime_content contents[2];
	/* borrowed, see runtime_lend(); NULL: only two windows */
	struct runtime_room *room;
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

/* Lend @room, with any contents, until reader->room is set to NULL. */
static inline void runtime_lend(struct runtime_reader *reader, struct runtime_room *room)
{
	for (unsigned i = 0; i < RUNTIME_WINDOWS_MORE; i++)
		room->windows[i].bytes = 0;
	reader->room = room;
}

/* ---- loads ----------------------------------------------------------------------------------- */

int runtime_load_checked(struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes);

/*
 * Copy @bytes bytes, at most RUNTIME_WINDOW_BYTES, from @address to @to. Returns 0, or -EFAULT with
 * undefined bytes in @to.
 */
static inline int runtime_load(
	struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes)
{
	/* Most loads are trusted. They need no function call. */
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
 * Returns the address of the @bytes at @address, without a copy, valid until the next load, or NULL
 * if they cannot be read. At most RUNTIME_WINDOW_BYTES unless the load is plain.
 */
static inline const void *runtime_view(
	struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	return reader->is_trusted && address ? (const void *)address
					     : runtime_view_checked(reader, address, bytes);
}

/* A sequential read from @at to @end. Set `used` and `got` to 0 before the first read. */
struct runtime_bytes {
	struct runtime_reader *reader; /* borrowed */
	uintptr_t at, end;
	unsigned used, got; /* indices into `bytes` */
	uint8_t bytes[64];
};

/* Returns the next byte, or -1 at the end or if it cannot be read. */
int runtime_byte(struct runtime_bytes *bytes);

/*
 * Read @bytes bytes at @address, at most RUNTIME_WINDOW_BYTES, into one window ahead of loads of
 * parts of them.
 */
void runtime_expect(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/* Read more bytes than a window has into up to RUNTIME_RUN windows, by one system call. */
#define RUNTIME_RUN 9u
void runtime_expect_run(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/*
 * Read the RUNTIME_AHEAD_LEAST bytes at each of the @addresses that are in no window yet, by one
 * system call. List them in the order in which they will be loaded. At most RUNTIME_AHEAD are read.
 */
#define RUNTIME_AHEAD	    8u
#define RUNTIME_AHEAD_BYTES 256u
#define RUNTIME_AHEAD_LEAST 64u
void runtime_expect_each(struct runtime_reader *reader, const uintptr_t *addresses, unsigned count);

/* Can @bytes bytes at @address be loaded without a system call? */
int runtime_has(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/* End a walk: record the windows that it used in reader->again, if that is not NULL. */
void runtime_note_again(struct runtime_reader *reader);

/* Empty all windows, so that later loads read memory anew. */
static inline void runtime_forget(struct runtime_reader *reader)
{
	reader->windows[0].bytes = reader->windows[1].bytes = 0;
	if (reader->room)
		runtime_lend(reader, reader->room);
}

/* ---- the cache across walks ------------------------------------------------------------------ */

/* Returns the hash of @hash and @word. */
static inline uint64_t runtime_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 29;
}

/* Look up the words cached for @key. Returns 1, or 0 with undefined @words. */
int runtime_cache_find(
	const struct runtime_reader *reader, uint64_t key, uint64_t words[RUNTIME_CACHE_WORDS]);
void runtime_cache_keep(const struct runtime_reader *reader, uint64_t key,
	const uint64_t words[RUNTIME_CACHE_WORDS]);

/* Variants for a single number. */
int runtime_cache_find_number(const struct runtime_reader *reader, uint64_t key, uint32_t *number);
void runtime_cache_keep_number(const struct runtime_reader *reader, uint64_t key, uint32_t number);

/* ---- texts ----------------------------------------------------------------------------------- */

/* Write @character as UTF-8, or '?' if it is not valid. Returns the number of bytes. */
unsigned runtime_encode(uint32_t character, char out[4]);

/* Copy @text without its NUL, at most @room bytes. Returns the number of bytes. */
uint32_t runtime_put_text(char *out, uint32_t room, const char *text);

/*
 * Load the text of at most @length bytes at @address, up to a NUL. If it does not fit into @room
 * bytes, load the beginning or, if @keep_end, the end. Returns the number of bytes.
 */
uint32_t runtime_load_text(struct runtime_reader *reader, uintptr_t address, uintptr_t length,
	char *out, uint32_t room, int keep_end);

/* ---- fields in loaded bytes ------------------------------------------------------------------ */

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

/* ---- symbols --------------------------------------------------------------------------------- */

/* The dynamic symbol table of a mapped module. */
struct runtime_symbols {
	uintptr_t bias;
	uintptr_t symbols, strings, hash;
	uint32_t buckets, first, bloom_words, bloom_shift;
	uintptr_t eh_frame_hdr; /* 0: not known */
};

/* Read the dynamic section at @dynamic. Returns 0, -EFAULT, or -ENOENT if a table is missing. */
int runtime_symbols_read(struct runtime_symbols *out, struct runtime_reader *reader,
	uintptr_t dynamic, uintptr_t bias);

/*
 * Look up the defined symbol @name. Returns its address and, unless @bytes is NULL, its size in
 * @bytes; or 0 if the module does not define it.
 */
uintptr_t runtime_symbol(struct runtime_symbols *symbols, struct runtime_reader *reader,
	const char *name, uint64_t *bytes);

/*
 * Find the function that contains @pc in .eh_frame_hdr: its start, and the start of the next
 * function. Returns 0, or -ENOENT if no listed function contains @pc, or only the last one.
 */
int runtime_function(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uintptr_t pc, uintptr_t *begin, uintptr_t *end);

#endif
