/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Load memory, and look up symbols in a mapped module's own hash table (gABI; DT_GNU_HASH as glibc
 * reads it). The hash table is used because a few loads show that a module has none of the names.
 */
#include "libprof/runtime/reader.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/syscall.h"

#define PAGE	     4096u
/* The largest number of bits of a user-space address on the supported CPUs. */
#define ADDRESS_BITS 56

/* ---- probing --------------------------------------------------------------------------------- */

/*
 * Is the aligned word around @address readable? rt_sigprocmask() with an invalid `how` changes
 * nothing and fails with EINVAL if it can read the signal set at that address, otherwise with
 * EFAULT.
 */
static int is_readable(uintptr_t address)
{
	return arch_syscall4(SYS_rt_sigprocmask, ~0, (long)(address & ~7UL), NULL, 8) == -EINVAL;
}

static int copy_probed(uintptr_t address, void *to, size_t bytes)
{
	if (!is_readable(address) || !is_readable(address + bytes - 1))
		return -EFAULT;
	memcpy(to, (const void *)address, bytes);
	return 0;
}

static int is_within(uintptr_t start, uintptr_t all, uintptr_t address, size_t bytes)
{
	return address - start < all && bytes <= all - (address - start);
}

/* Reject values that cannot be addresses: memory of freed objects often holds other data. */
static int is_plausible(uintptr_t address)
{
	return address >= PAGE && !(address >> ADDRESS_BITS);
}

static int is_fixed(const struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	return is_within(reader->stack_start, reader->stack_bytes, address, bytes) ||
	       is_within(reader->fixed_start, reader->fixed_bytes, address, bytes);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static struct runtime_cached *cached_entry(const struct runtime_reader *reader, uint64_t key)
{
	return &reader->cache->entries[key * 0x9e3779b97f4a7c15ULL >> (64 - RUNTIME_CACHE_BITS)];
}

/* Each word has its own factor, so that words of two concurrent writers do not cancel out. */
static uint64_t check_of(uint64_t key, const uint64_t words[RUNTIME_CACHE_WORDS])
{
	return key ^ words[0] * 0x9fb21c651e98df25ULL ^ words[1] * 0xd6e8feb86659fd93ULL ^
	       words[2] * 0xa0761d6478bd642fULL;
}

int runtime_cache_find(
	const struct runtime_reader *reader, uint64_t key, uint64_t words[RUNTIME_CACHE_WORDS])
{
	const struct runtime_cached *entry;

	if (!reader->cache)
		return 0;
	entry = cached_entry(reader, key);
	for (unsigned i = 0; i < RUNTIME_CACHE_WORDS; i++)
		words[i] = __atomic_load_n(&entry->words[i], __ATOMIC_RELAXED);
	return __atomic_load_n(&entry->check, __ATOMIC_RELAXED) == check_of(key, words);
}

void runtime_cache_keep(const struct runtime_reader *reader, uint64_t key,
	const uint64_t words[RUNTIME_CACHE_WORDS])
{
	struct runtime_cached *entry;

	if (!reader->cache)
		return;
	entry = cached_entry(reader, key);
	for (unsigned i = 0; i < RUNTIME_CACHE_WORDS; i++)
		__atomic_store_n(&entry->words[i], words[i], __ATOMIC_RELAXED);
	__atomic_store_n(&entry->check, check_of(key, words), __ATOMIC_RELAXED);
}

int runtime_cache_find_number(const struct runtime_reader *reader, uint64_t key, uint32_t *number)
{
	uint64_t words[RUNTIME_CACHE_WORDS] = {0};
	int is_found = runtime_cache_find(reader, key, words);

	*number = (uint32_t)words[0];
	return is_found;
}

void runtime_cache_keep_number(const struct runtime_reader *reader, uint64_t key, uint32_t number)
{
	const uint64_t words[RUNTIME_CACHE_WORDS] = {number};

	runtime_cache_keep(reader, key, words);
}

/* ---- reading by windows ---------------------------------------------------------------------- */

static unsigned window_count(const struct runtime_reader *reader)
{
	return reader->room ? 2 + RUNTIME_WINDOWS_MORE : 2;
}

static struct runtime_window *window_at(struct runtime_reader *reader, unsigned i)
{
	return i < 2 ? &reader->windows[i] : &reader->room->windows[i - 2];
}

static char *content_of(struct runtime_reader *reader, unsigned i)
{
	return i < 2 ? reader->contents[i].bytes : reader->room->contents[i - 2].bytes;
}

/* Returns the index of the first window that contains all @bytes bytes at @address, or @count. */
static unsigned find_among(
	const struct runtime_window *windows, unsigned count, uintptr_t address, size_t bytes)
{
	unsigned i;

	for (i = 0; i < count; i++)
		if (is_within(windows[i].start, windows[i].bytes, address, bytes))
			break;
	return i;
}

/* Returns the index of a window that contains all @bytes bytes at @address, or window_count(). */
static unsigned find_window(struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	uint8_t *hint = &reader->found_in[address / RUNTIME_WINDOW_BYTES % RUNTIME_HINTS];
	unsigned i = *hint;

	if (i < window_count(reader) && !find_among(window_at(reader, i), 1, address, bytes))
		return i;
	i = find_among(reader->windows, 2, address, bytes);
	if (i == 2 && reader->room)
		i += find_among(reader->room->windows, RUNTIME_WINDOWS_MORE, address, bytes);
	*hint = (uint8_t)i;
	return i;
}

/*
 * Fill window @i from the range @remote. Returns 0, or -EFAULT if not all of the range is readable.
 */
static int read_window(struct runtime_reader *reader, unsigned i, struct iovec remote)
{
	struct runtime_window *window = window_at(reader, i);
	struct iovec local = {content_of(reader, i), remote.iov_len};
	long got = arch_syscall6(
		SYS_process_vm_readv, reader->pid, (long)&local, 1, (long)&remote, 1, 0);

	window->start = (uintptr_t)remote.iov_base;
	window->bytes = got > 0 ? (uint32_t)got : 0;
	return got == (long)remote.iov_len ? 0 : -EFAULT;
}

/*
 * Choose the range to read for @bytes bytes at @address: the aligned block that contains them. If
 * no block does, choose a range that ends with them, because stacks of frames are read downwards.
 * This range does not start in an earlier page.
 */
static struct iovec window_around(uintptr_t address, size_t bytes)
{
	uintptr_t end = address + bytes, start = address & ~(uintptr_t)(PAGE - 1);
	uintptr_t block = address & ~(uintptr_t)(RUNTIME_WINDOW_BYTES - 1);

	if (end - block <= RUNTIME_WINDOW_BYTES)
		return (struct iovec){(void *)block, RUNTIME_WINDOW_BYTES};
	if (end - start > RUNTIME_WINDOW_BYTES)
		start = end - RUNTIME_WINDOW_BYTES;
	if (start > address)
		start = address;
	return (struct iovec){(void *)start, end - start};
}

/* ---- windows of earlier walks ---------------------------------------------------------------- */

static int may_read_again(const struct runtime_reader *reader)
{
	return reader->again && reader->again->count && reader->room && reader->pid &&
	       !reader->was_read_again;
}

/*
 * Read the first @count ranges of room->remote by one system call, each into its own window, from
 * window reader->oldest on. @ranges are the same ranges, or fewer, larger ranges that contain them:
 * for the kernel, another range costs more than its bytes. Reading stops at the first unreadable
 * range.
 */
static void read_together(struct runtime_reader *reader, unsigned count, const struct iovec *ranges,
	unsigned range_count)
{
	struct runtime_room *room = reader->room;
	unsigned windows = window_count(reader);
	long got;

	for (unsigned n = 0; n < count; n++) {
		room->local[n].iov_base = content_of(reader, (reader->oldest + n) % windows);
		room->local[n].iov_len = room->remote[n].iov_len;
	}
	got = arch_syscall6(SYS_process_vm_readv, reader->pid, (long)room->local, count,
		(long)ranges, range_count, 0);
	for (unsigned n = 0; n < count; n++) {
		unsigned i = (reader->oldest + n) % windows;
		long bytes = (long)room->remote[n].iov_len;

		window_at(reader, i)->start = (uintptr_t)room->remote[n].iov_base;
		window_at(reader, i)->bytes = got >= bytes ? (uint32_t)bytes : 0;
		reader->used &= ~(1u << i);
		got -= bytes;
	}
	reader->oldest = (reader->oldest + count) % windows;
}

static int has_all(const struct iovec *window, const struct iovec *asked)
{
	return is_within((uintptr_t)window->iov_base, window->iov_len, (uintptr_t)asked->iov_base,
		asked->iov_len);
}

/*
 * Read @asked and, in the same system call, the windows of earlier walks (again->windows). @asked
 * comes first, in window 0, because reading stops at the first unreadable range. Returns 0 or
 * -EFAULT.
 */
static int read_again(struct runtime_reader *reader, struct iovec asked)
{
	const struct runtime_again *again = reader->again;
	struct iovec *ranges = reader->room->remote;
	unsigned count = 1;

	for (unsigned i = 0; i < again->count; i++)
		if (has_all(&again->windows[i], &asked))
			asked = again->windows[i];
	ranges[0] = asked;
	for (unsigned i = 0; i < again->count; i++)
		if (!has_all(&asked, &again->windows[i]))
			ranges[count++] = again->windows[i];
	reader->oldest = reader->used = 0;
	read_together(reader, count, ranges, count);
	reader->was_read_again = window_at(reader, 0)->bytes != 0;
	return reader->was_read_again ? 0 : -EFAULT;
}

static void add_window(struct iovec *windows, uint32_t *count, struct iovec window)
{
	if (*count < RUNTIME_AGAIN)
		windows[(*count)++] = window;
}

/* Does @again have @window, because the last walk or the last two walks used it? */
static int was_asked(const struct runtime_again *again, const struct iovec *window)
{
	for (unsigned i = 0; i < again->count; i++)
		if (again->windows[i].iov_base == window->iov_base)
			return 1;
	for (unsigned i = 0; i < again->new_count; i++)
		if (again->new_windows[i].iov_base == window->iov_base)
			return 1;
	return 0;
}

void runtime_note_again(struct runtime_reader *reader)
{
	struct runtime_again *again = reader->again, next;

	/* Keep the record of earlier walks if this walk used no window. */
	if (!again || !reader->room || !reader->used)
		return;
	next.count = next.new_count = 0;
	for (unsigned i = 0; i < window_count(reader); i++) {
		struct iovec window = {
			(void *)window_at(reader, i)->start, window_at(reader, i)->bytes};

		if (!(reader->used >> i & 1))
			continue;
		if (was_asked(again, &window))
			add_window(next.windows, &next.count, window);
		else
			add_window(next.new_windows, &next.new_count, window);
	}
	*again = next;
}

/*
 * Read the aligned block around the @bytes bytes at @address into a window; without
 * process_vm_readv(2), only these bytes. Returns the window's index, or window_count() on failure.
 */
static unsigned fill(struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	struct runtime_window *window = window_at(reader, reader->oldest);

	if (!is_plausible(address))
		return window_count(reader);
	if (may_read_again(reader))
		return read_again(reader, window_around(address, bytes)) ? window_count(reader) : 0;
	reader->used &= ~(1u << reader->oldest);
	if (reader->pid)
		return read_window(reader, reader->oldest, window_around(address, bytes))
			       ? window_count(reader)
			       : reader->oldest;
	window->bytes = 0;
	if (copy_probed(address, content_of(reader, reader->oldest), bytes))
		return window_count(reader);
	window->start = address;
	window->bytes = (uint32_t)bytes;
	return reader->oldest;
}

const void *runtime_view_checked(struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	unsigned at;

	if (!address || address + bytes < address)
		return NULL;
	if (reader->is_trusted || is_fixed(reader, address, bytes))
		return (const void *)address;
	if (bytes > RUNTIME_WINDOW_BYTES)
		return NULL;
	at = find_window(reader, address, bytes);
	if (at == window_count(reader)) {
		at = fill(reader, address, bytes);
		if (at == window_count(reader))
			return NULL;
	}
	reader->used |= 1u << at;
	if (at == reader->oldest)
		reader->oldest = (at + 1) % window_count(reader);
	return content_of(reader, at) + (address - window_at(reader, at)->start);
}

/* Without ThreadSanitizer, because another thread may write the words that are read here. */
__attribute__((no_sanitize("thread"))) int runtime_load_checked(
	struct runtime_reader *reader, uintptr_t address, void *to, size_t bytes)
{
	const void *from =
		bytes <= RUNTIME_WINDOW_BYTES ? runtime_view(reader, address, bytes) : NULL;

	if (!from)
		return -EFAULT;
	/* A memcpy() of constant size is inlined. ThreadSanitizer would intercept a call. */
	if (bytes == sizeof(uintptr_t))
		memcpy(to, from, sizeof(uintptr_t));
	else
		memcpy(to, from, bytes);
	return 0;
}

int runtime_byte(struct runtime_bytes *bytes)
{
	if (bytes->used == bytes->got) {
		/* Do not read across the end of a page: the next page may not be mapped. */
		uintptr_t rest = bytes->end - bytes->at,
			  room = sizeof(bytes->bytes) - bytes->at % sizeof(bytes->bytes);

		bytes->used = 0;
		bytes->got = (unsigned)(rest < room ? rest : room);
		if (!bytes->got || runtime_load(bytes->reader, bytes->at, bytes->bytes, bytes->got))
			return -1;
		bytes->at += bytes->got;
	}
	return bytes->bytes[bytes->used++];
}

void runtime_expect(struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	struct iovec asked = {(void *)address, bytes};

	if (!address || !reader->pid || bytes > RUNTIME_WINDOW_BYTES || reader->is_trusted ||
		is_fixed(reader, address, bytes) ||
		find_window(reader, address, bytes) < window_count(reader))
		return;
	if (may_read_again(reader)) {
		read_again(reader, asked);
		return;
	}
	reader->used &= ~(1u << reader->oldest);
	if (!read_window(reader, reader->oldest, asked))
		reader->oldest = (reader->oldest + 1) % window_count(reader);
}

void runtime_expect_run(struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	uintptr_t start = address & ~(uintptr_t)(RUNTIME_WINDOW_BYTES - 1), end = start;
	struct iovec whole = {(void *)start, 0};
	unsigned count = 0;

	if (!reader->room || !reader->pid || bytes <= RUNTIME_WINDOW_BYTES ||
		!is_plausible(address) || runtime_has(reader, address, 1) || may_read_again(reader))
		return;
	for (; count < RUNTIME_RUN && end < address + bytes; end += RUNTIME_WINDOW_BYTES)
		reader->room->remote[count++] = (struct iovec){(void *)end, RUNTIME_WINDOW_BYTES};
	whole.iov_len = end - start;
	read_together(reader, count, &whole, 1);
}

/*
 * Choose the range to read at @place: an aligned block around it, because related objects are
 * allocated next to each other. The block ends at the end of the page, or RUNTIME_AHEAD_LEAST bytes
 * after @place if that is in the next page.
 */
static struct iovec block_around(uintptr_t place)
{
	uintptr_t start = place & ~(uintptr_t)(RUNTIME_AHEAD_BYTES / 2 - 1);
	uintptr_t page_end = (place | (PAGE - 1)) + 1, least = place + RUNTIME_AHEAD_LEAST;
	uintptr_t end = start + RUNTIME_AHEAD_BYTES;

	if (end > page_end)
		end = least > page_end ? least : page_end;
	return (struct iovec){(void *)start, end - start};
}

void runtime_expect_each(struct runtime_reader *reader, const uintptr_t *places, unsigned count)
{
	unsigned blocks = 0, first, i;
	struct iovec *ranges;

	if (!reader->room || !reader->pid || !count)
		return;
	if (may_read_again(reader))
		read_again(reader, block_around(places[0]));
	ranges = reader->room->remote;
	for (unsigned n = 0; n < count && blocks < RUNTIME_AHEAD; n++) {
		for (i = 0; i < blocks; i++)
			if (is_within((uintptr_t)ranges[i].iov_base, ranges[i].iov_len, places[n],
				    RUNTIME_AHEAD_LEAST))
				break;
		if (i == blocks &&
			find_window(reader, places[n], RUNTIME_AHEAD_LEAST) == window_count(reader))
			ranges[blocks++] = block_around(places[n]);
	}
	if (!blocks)
		return;
	first = reader->oldest;
	read_together(reader, blocks, ranges, blocks);
	for (unsigned n = 0; n < blocks; n++) {
		i = (first + n) % window_count(reader);
		reader->used |= (uint32_t)(window_at(reader, i)->bytes != 0) << i;
	}
}

int runtime_has(struct runtime_reader *reader, uintptr_t address, size_t bytes)
{
	return reader->is_trusted || is_fixed(reader, address, bytes) ||
	       find_window(reader, address, bytes) < window_count(reader);
}

/* ---- texts ----------------------------------------------------------------------------------- */

unsigned runtime_encode(uint32_t character, char out[4])
{
	if (!character || (character >= 0xd800 && character < 0xe000) || character > 0x10ffff)
		character = '?';
	if (character < 0x80) {
		out[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		out[0] = (char)(0xc0 | character >> 6);
		out[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		out[0] = (char)(0xe0 | character >> 12);
		out[1] = (char)(0x80 | (character >> 6 & 0x3f));
		out[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | character >> 18);
	out[1] = (char)(0x80 | (character >> 12 & 0x3f));
	out[2] = (char)(0x80 | (character >> 6 & 0x3f));
	out[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

uint32_t runtime_put_text(char *out, uint32_t room, const char *text)
{
	uint32_t used = 0;

	while (used < room && text[used]) {
		out[used] = text[used];
		used++;
	}
	return used;
}

uint32_t runtime_load_text(struct runtime_reader *reader, uintptr_t address, uintptr_t length,
	char *out, uint32_t room, int keep_end)
{
	uint32_t used = 0;

	if (keep_end && length > room) {
		address += length - room;
		length = room;
	}
	while (used < room && used < length &&
		!runtime_load(reader, address + used, out + used, 1) && out[used])
		used++;
	return used;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Limits for malformed tables. Linkers do not create longer tables. */
#define DYNAMIC_MAX 128u
#define CHAIN_MAX   1024u
#define NAME_BYTES  96u

/* Returns the absolute @address of a dynamic entry: glibc does not relocate those of the vDSO. */
static uintptr_t absolute(uintptr_t bias, uintptr_t address)
{
	return address < bias ? address + bias : address;
}

int runtime_symbols_read(struct runtime_symbols *out, struct runtime_reader *reader,
	uintptr_t dynamic, uintptr_t bias)
{
	uint32_t head[4];
	ElfW(Dyn) entry;

	*out = (struct runtime_symbols){.bias = bias};
	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		if (runtime_load(reader, dynamic + i * sizeof(entry), &entry, sizeof(entry)))
			return -EFAULT;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			out->symbols = absolute(out->bias, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			out->strings = absolute(out->bias, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			out->hash = absolute(out->bias, entry.d_un.d_ptr);
	}
	if (!out->symbols || !out->strings || !out->hash ||
		runtime_load(reader, out->hash, head, sizeof(head)))
		return -ENOENT;
	out->buckets = head[0];
	out->first = head[1];
	out->bloom_words = head[2];
	out->bloom_shift = head[3];
	return out->buckets && out->bloom_words && out->bloom_shift < 32 ? 0 : -ENOENT;
}

static int has_name(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uint32_t at, const char *name)
{
	char found[NAME_BYTES];
	size_t bytes = strlen(name) + 1;

	return bytes <= sizeof(found) &&
	       !runtime_load(reader, symbols->strings + at, found, bytes) &&
	       !memcmp(found, name, bytes);
}

uintptr_t runtime_symbol(struct runtime_symbols *symbols, struct runtime_reader *reader,
	const char *name, uint64_t *bytes)
{
	uintptr_t bloom = symbols->hash + 16, buckets, chains;
	uint32_t hash = 5381, index, link;
	uint64_t word, mask;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	buckets = bloom + (uintptr_t)symbols->bloom_words * sizeof(word);
	chains = buckets + (uintptr_t)symbols->buckets * sizeof(index);
	mask = 1ULL << hash % 64 | 1ULL << (hash >> symbols->bloom_shift) % 64;
	if (runtime_load(reader, bloom + hash / 64 % symbols->bloom_words * sizeof(word), &word,
		    sizeof(word)) ||
		(word & mask) != mask ||
		runtime_load(reader, buckets + hash % symbols->buckets * sizeof(index), &index,
			sizeof(index)))
		return 0;
	for (unsigned n = 0; index >= symbols->first && n < CHAIN_MAX; n++, index++) {
		ElfW(Sym) symbol;

		if (runtime_load(reader, chains + (index - symbols->first) * sizeof(link), &link,
			    sizeof(link)))
			return 0;
		if ((link | 1) == (hash | 1) &&
			!runtime_load(reader, symbols->symbols + index * sizeof(symbol), &symbol,
				sizeof(symbol)) &&
			symbol.st_shndx != SHN_UNDEF &&
			has_name(symbols, reader, symbol.st_name, name)) {
			if (bytes)
				*bytes = symbol.st_size;
			return symbols->bias + symbol.st_value;
		}
		if (link & 1)
			break;
	}
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The header of .eh_frame_hdr (LSB Core), in the encoding that every linker writes. */
struct eh_frame_hdr {
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	int32_t pointer;
	uint32_t count;
};
#define UDATA4	       0x03
#define DATAREL_SDATA4 0x3b
#define FUNCTIONS_MAX  (1u << 22)

struct eh_frame_entry {
	int32_t function, record; /* offsets from .eh_frame_hdr */
};

int runtime_function(const struct runtime_symbols *symbols, struct runtime_reader *reader,
	uintptr_t pc, uintptr_t *begin, uintptr_t *end)
{
	uintptr_t table = symbols->eh_frame_hdr + sizeof(struct eh_frame_hdr);
	struct eh_frame_entry entry[2];
	struct eh_frame_hdr head;
	uint32_t low = 0, high;

	if (!symbols->eh_frame_hdr ||
		runtime_load(reader, symbols->eh_frame_hdr, &head, sizeof(head)) ||
		head.version != 1 || head.count_encoding != UDATA4 ||
		head.table_encoding != DATAREL_SDATA4 || head.count > FUNCTIONS_MAX)
		return -ENOENT;
	/* Find the last entry whose function starts at or before @pc. */
	for (high = head.count; low + 1 < high;) {
		uint32_t middle = low + (high - low) / 2;
		uintptr_t function;

		if (runtime_load(reader, table + middle * sizeof(*entry), entry, sizeof(*entry)))
			return -ENOENT;
		function = symbols->eh_frame_hdr + (uintptr_t)(intptr_t)entry->function;
		if (function <= pc)
			low = middle;
		else
			high = middle;
	}
	if (low + 1 >= head.count ||
		runtime_load(reader, table + low * sizeof(*entry), entry, sizeof(entry)))
		return -ENOENT;
	*begin = symbols->eh_frame_hdr + (uintptr_t)(intptr_t)entry[0].function;
	*end = symbols->eh_frame_hdr + (uintptr_t)(intptr_t)entry[1].function;
	return *begin <= pc && pc < *end ? 0 : -ENOENT;
}
