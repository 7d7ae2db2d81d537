/* SPDX-License-Identifier: MIT */
/*
 * nongnu libunwind, if the host has loaded it: for each region, add one entry to its list of
 * dynamic code, in the format UNW_INFO_FORMAT_REMOTE_TABLE. Despite the name, unw_step() uses this
 * format for its own process, too. It is the search table of an .eh_frame_hdr, and has no names.
 * Source: libunwind's libunwind-dynamic.h, src/mi/dyn-register.c, src/dwarf/Gfind_proc_info-lsb.c.
 *
 * In versions 1.6 to 1.8, an entry has one word more than in earlier and later versions, although
 * the library's name is the same. find_shift() tests which layout is in use.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/registers.h"

#define DYNAMIC	     0
#define REMOTE_TABLE 2

/*
 * An .eh_frame_hdr: version and three encodings, address of .eh_frame, number of entries, entries.
 */
#define HEADER_ENCODINGS 0x3b031b01u
#define HEADER_BYTES	 12

/* The number of other entries that must have been removed before a removed entry is reused. */
#define REMOVED_MIN 64

struct dyn_info {
	struct dyn_info *next;
	struct dyn_info *prev;
	uintptr_t start_ip;
	uintptr_t end_ip;
	uintptr_t gp;
	int32_t format;
	int32_t pad;
	/* A load offset (in some versions), then a union, whose words WORD_* are used. */
	uintptr_t words[16];
};

enum { WORD_SEGBASE = 1, WORD_TABLE_LEN, WORD_TABLE_DATA };

/*
 * libunwind reads its list without a lock, so another thread may still be reading an entry that is
 * being removed. So entries are never freed. Removed entries are kept in this list, oldest first.
 * libunwind sets the links of a removed entry to NULL: a thread that still reads the entry finds
 * the end of libunwind's list, and not another entry's data.
 */
struct entry {
	struct dyn_info info;
	struct entry *next_removed;
};
static struct entry *removed, **removed_tail = &removed;
static unsigned removed_count;

static void (*dyn_register)(struct dyn_info *);
static void (*dyn_cancel)(struct dyn_info *);
static void (*flush_cache)(void *space, uintptr_t lo, uintptr_t hi);
static void **local_space;
static int (*init_local)(void *cursor, void *context);
static int (*get_proc_name)(void *cursor, char *name, size_t room, uintptr_t *offset);
static int found;      /* atomic: functions found */
static int shift = -1; /* words before union; or -1 */

static void *symbol(void *handle, const char *x86_64, const char *aarch64)
{
	void *address = dlsym(handle, x86_64);

	return address ? address : dlsym(handle, aarch64);
}

static void prepare(void)
{
	void *handle;

	if (__atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return;
	handle = publish_loaded("libunwind.so.8");
	if (!handle)
		handle = RTLD_DEFAULT;
	dyn_register = (void (*)(struct dyn_info *))dlsym(handle, "_U_dyn_register");
	dyn_cancel = (void (*)(struct dyn_info *))dlsym(handle, "_U_dyn_cancel");
	/* libunwind's macros make these names from unw_flush_cache and unw_local_addr_space. */
	flush_cache = (void (*)(void *, uintptr_t, uintptr_t))symbol(
		handle, "_Ux86_64_flush_cache", "_Uaarch64_flush_cache");
	local_space = symbol(handle, "_ULx86_64_local_addr_space", "_ULaarch64_local_addr_space");
	init_local = (int (*)(void *, void *))symbol(
		handle, "_ULx86_64_init_local", "_ULaarch64_init_local");
	get_proc_name = (int (*)(void *, char *, size_t, uintptr_t *))symbol(
		handle, "_ULx86_64_get_proc_name", "_ULaarch64_get_proc_name");
	if (dyn_register && dyn_cancel && init_local && get_proc_name)
		__atomic_store_n(&found, 1, __ATOMIC_RELEASE);
}

/*
 * Register a procedure whose name is "0" in one layout and "1" in the other. The name that
 * libunwind returns shows the layout. Nothing is unwound. Returns the number of words before the
 * union, 0 or 1; or -ENOTSUP if the layout is unknown.
 */
static int find_shift(void)
{
	static uint8_t procedure[64]; /* only the address is used */
	static struct dyn_info info;
	uintptr_t pc = (uintptr_t)procedure + sizeof(procedure) / 2, offset;
	/* At least the sizes of unw_context_t and unw_cursor_t in all versions. */
	enum { CONTEXT_BYTES = 8192, CURSOR_BYTES = 40960 };
	uint8_t *context = calloc(1, CONTEXT_BYTES + CURSOR_BYTES);
	char name[2] = "";

	if (!context)
		return -ENOMEM;
	memcpy(context + arch_ucontext_offset(ARCH_DWARF_PC), &pc, sizeof(pc));
	info = (struct dyn_info){
		.start_ip = (uintptr_t)procedure,
		.end_ip = (uintptr_t)procedure + sizeof(procedure),
		.format = DYNAMIC,
		.words = {(uintptr_t)"0", (uintptr_t)"1"},
	};
	dyn_register(&info);
	if (!init_local(context + CONTEXT_BYTES, context))
		get_proc_name(context + CONTEXT_BYTES, name, sizeof(name), &offset);
	dyn_cancel(&info);
	free(context);
	return *name == '0' || *name == '1' ? *name - '0' : -ENOTSUP;
}

static int start(void)
{
	if (!__atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return -ENOENT;
	if (shift < 0)
		shift = find_shift();
	return shift < 0 ? shift : 0;
}

static struct entry *alloc_entry(void)
{
	struct entry *entry = removed;

	if (removed_count <= REMOVED_MIN)
		return calloc(1, sizeof(*entry));
	removed = entry->next_removed;
	removed_count--;
	return entry;
}

static int add_region(const struct region *region, void **state)
{
	const uint32_t *header = (const uint32_t *)region->eh_frame_hdr;
	struct entry *entry;

	/*
	 * Skip code without call-frame information: it has frame pointers, which libunwind tries
	 * anyway.
	 */
	if (!header)
		return 0;
	if (header[0] != HEADER_ENCODINGS)
		return -ENOTSUP;
	entry = alloc_entry();
	if (!entry)
		return -ENOMEM;
	entry->info = (struct dyn_info){
		.start_ip = region->start,
		.end_ip = region->start + region->bytes,
		.format = REMOTE_TABLE,
	};
	entry->info.words[shift + WORD_SEGBASE] = region->eh_frame_hdr;
	/* The length is in words. An entry of the table has eight bytes, which is one word. */
	entry->info.words[shift + WORD_TABLE_LEN] = header[2];
	entry->info.words[shift + WORD_TABLE_DATA] = region->eh_frame_hdr + HEADER_BYTES;
	dyn_register(&entry->info);
	*state = entry;
	return 0;
}

static void remove_region(const struct region *region, void *state)
{
	struct entry *entry = state;

	if (!entry)
		return;
	dyn_cancel(&entry->info);
	if (flush_cache && local_space)
		flush_cache(*local_space, region->start, region->start + region->bytes);
	entry->next_removed = NULL;
	if (!removed)
		removed_tail = &removed;
	*removed_tail = entry;
	removed_tail = &entry->next_removed;
	removed_count++;
}

const struct publisher publisher_libunwind = {
	.flag = FLAMEPROF_PUBLISH_LIBUNWIND,
	.prepare = prepare,
	.start = start,
	.add_region = add_region,
	.remove_region = remove_region,
};
