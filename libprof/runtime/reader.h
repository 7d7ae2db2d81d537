/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * Read the memory of a process that may change its memory at any time: the handler's own process,
 * or another process from outside. Every load may fail. Objects are freed and their memory is
 * reused, so callers check what they read: the type of an object, the bounds of a length, the end
 * of a list.
 *
 * There are three kinds of loads:
 *
 *	plain		a load instruction, if reader->is_trusted is set or the address is in a
 *			range that is never unmapped (the runtime's variables, the thread's stack)
 *	from a window	from a copy of the bytes around an address that this walk read before
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

/*
 * The bounds of windows are kept apart from their contents, because each load searches all bounds.
 */
struct runtime_window {
	uintptr_t start;
	uint32_t bytes;
};
struct runtime_content {
	char bytes[RUNTIME_WINDOW_BYTES];
};

/*
 * Addresses of the windows that the last two walks of a thread used. The next walk reads all of
 * them with its first system call. Zero the structure before the first use. new_windows: windows
 * that only the last walk used.
 */
#define RUNTIME_AGAIN 24u
struct runtime_again {
	uint32_t count, new_count;
	struct iovec windows[RUNTIME_AGAIN];
	struct iovec new_windows[RUNTIME_AGAIN];
};

/*
 * More windows, and arguments of system calls. A caller lends them to a reader, because they are
 * too large for the stack of a signal handler.
 */
struct runtime_room {
	struct runtime_window windows[RUNTIME_WINDOWS_MORE];
	struct runtime_content contents[RUNTIME_WINDOWS_MORE];
	struct iovec local[RUNTIME_AGAIN + 1], remote[RUNTIME_AGAIN + 1];
};

/* ---- the cache ------------------------------------------------------------------------------- */

/*
 * A table from a key to cached words. The key is a hash of what is searched for and of everything
 * that the result depends on. Zero the table before the first use. Any thread may read and write it
 * at any time: an entry that is half written has a wrong `check` and is not used.
 */
#define RUNTIME_CACHE_BITS  14u
#define RUNTIME_CACHE_WORDS 3u
struct runtime_cached {
	/*
	 * A hash of the key and of `words`. `check` and `words` are accessed by atomic operations.
	 */
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
	/* The process's pid; 0: it is the handler's own, and process_vm_readv(2) is forbidden. */
	int pid;
	int is_own;	/* the process is our own */
	/*
	 * Set while all memory to be read is known to stay mapped. Loads are then plain
	 * instructions.
	 */
	int is_trusted;
	/* Set if is_trusted may be set once the first frame of a run was read. */
	int may_trust;
	/* A range of the handler's own process that is never unmapped: use plain loads. */
	uintptr_t fixed_start, fixed_bytes;
	/* Address and bytes of the stack of the walked thread. */
	uintptr_t stack_start, stack_bytes;
	struct runtime_cache *cache;	    /* borrowed; NULL: no cache */
	/* Changes every RUNTIME_AN_AGE walks, so that results whose key contains it expire. */
	uint32_t age;
	/* For the runtime's reader, during one walk: an address (or 0), and what was read there. */
	uintptr_t noted_at;
	uint64_t noted[RUNTIME_NOTED];
	unsigned oldest;		 /* index of the window to fill next */
	/* Indexed by a hash of an address: the window in which that address was found last. */
	uint8_t found_in[RUNTIME_HINTS];
	uint32_t used;			 /* bit n is set if window n was used */
	/* Borrowed; NULL: windows of earlier walks are not recorded. */
	struct runtime_again *again;
	int was_read_again;
	struct runtime_window windows[2];
	struct runtime_content contents[2];
	/* Borrowed by runtime_lend(); NULL: the reader has only two windows. */
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

/* Lend @room to @reader until reader->room is set to NULL. @room need not be initialised. */
static inline void runtime_lend(struct runtime_reader *reader, struct runtime_room *room)
{
	for (unsigned i = 0; i < RUNTIME_WINDOWS_MORE; i++)
		room->windows[i].bytes = 0;
	reader->room = room;
}

/* ---- loads ----------------------------------------------------------------------------------- */

int runtime_load_checked(struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes);

/* Copy @bytes bytes, at most RUNTIME_WINDOW_BYTES. Returns 0, or -EFAULT with undefined *@to. */
static inline int runtime_load(
	struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes)
{
	/* Trusted loads are inline, because most loads are trusted. */
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
 * Returns a pointer to the @bytes bytes at @address without copying them, or NULL if they cannot be
 * read. The pointer is valid until the next load. @bytes is at most RUNTIME_WINDOW_BYTES, unless
 * the load is a plain one.
 */
static inline const void *runtime_view(
	struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	return reader->is_trusted && address ? (const void *)address
					     : runtime_view_checked(reader, address, bytes);
}

/* A sequential read of bytes from @at to @end. Set `used` and `got` to 0 before the first read. */
struct runtime_bytes {
	struct runtime_reader *reader; /* borrowed */
	uintptr_t at, end;
	unsigned used, got; /* indices into `bytes` */
	uint8_t bytes[64];
};

/* Returns the next byte; -1 at the end, or if the byte cannot be read. */
int runtime_byte(struct runtime_bytes *bytes);

/*
 * Read @bytes bytes at @address, at most RUNTIME_WINDOW_BYTES, into one window. Call this before
 * several loads from these bytes, to make one system call instead of several.
 */
void runtime_expect(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/* Read @bytes bytes at @address, at most RUNTIME_RUN windows full, by one system call. */
#define RUNTIME_RUN 9u
void runtime_expect_run(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/*
 * Read at least RUNTIME_AHEAD_LEAST bytes at each of @addresses by one system call. Addresses that
 * are in a window already are skipped, and at most RUNTIME_AHEAD addresses are read. List the
 * addresses in the order in which they will be loaded.
 */
#define RUNTIME_AHEAD	    8u
#define RUNTIME_AHEAD_BYTES 256u
#define RUNTIME_AHEAD_LEAST 64u
void runtime_expect_each(struct runtime_reader *reader, const uintptr_t *addresses, unsigned count);

/* Can @bytes bytes at @address be loaded without a system call? */
int runtime_has(struct runtime_reader *reader, uintptr_t address, size_t bytes);

/* At the end of a walk, record the windows that it used in reader->again, if that is not NULL. */
void runtime_note_again(struct runtime_reader *reader);

/* Empty all windows, so that later loads read the memory again. */
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

/* Look up, or store, words for @key. The lookup returns 1; or 0, with undefined @words. */
int runtime_cache_find(
	const struct runtime_reader *reader, uint64_t key, uint64_t words[RUNTIME_CACHE_WORDS]);
void runtime_cache_keep(const struct runtime_reader *reader, uint64_t key,
	const uint64_t words[RUNTIME_CACHE_WORDS]);

/* Variants of runtime_cache_find() and runtime_cache_keep() for a single number. */
int runtime_cache_find_number(const struct runtime_reader *reader, uint64_t key, uint32_t *number);
void runtime_cache_keep_number(const struct runtime_reader *reader, uint64_t key, uint32_t number);

/* ---- texts ----------------------------------------------------------------------------------- */

/* Write @character as UTF-8, or '?' if it is not valid. Returns the number of bytes. */
unsigned runtime_encode(uint32_t character, char out[4]);

/* Copy @text without its NUL, at most @room bytes. Returns the number of bytes. */
uint32_t runtime_put_text(char *out, uint32_t room, const char *text);

/*
 * Load the text of at most @length bytes at @address, up to a NUL. If the text does not fit into
 * @room bytes, load the beginning or, if @keep_end, the end. Returns the number of bytes.
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
 * Find the function that contains @pc, by .eh_frame_hdr. Set @begin to its start and @end to the
 * start of the next function. Returns 0, or -ENOENT if no listed function contains @pc. The last
 * function is never found, because its end is not known.
 */
int runtime_function(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uintptr_t pc, uintptr_t *begin, uintptr_t *end);

#endif
