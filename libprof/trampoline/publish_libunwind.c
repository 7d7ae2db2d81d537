/* SPDX-License-Identifier: MIT */
/*
 * nongnu libunwind, where the host has it loaded: one entry a region in its list of dynamic code.
 * The entry is of the format UNW_INFO_FORMAT_REMOTE_TABLE, which despite its name is the one that
 * unw_step() follows in its own process: the search table of an .eh_frame_hdr. Names it cannot carry.
 * Source: libunwind's libunwind-dynamic.h, src/mi/dyn-register.c, src/dwarf/Gfind_proc_info-lsb.c.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <stdlib.h>

#include "libprof/trampoline/publish_loaded.h"

#define REMOTE_TABLE 2

/* .eh_frame_hdr: version and three encodings, the section's address, how many entries, entries. */
#define HEADER_ENCODINGS 0x3b031b01u
#define HEADER_BYTES	 12

/* Entries that were taken back are not used again before so many others were. */
#define RESTING 64

struct dyn_info {
	struct dyn_info *next;
	struct dyn_info *prev;
	uintptr_t start_ip;
	uintptr_t end_ip;
	uintptr_t gp;
	int32_t format;
	int32_t pad;
	uintptr_t name_ptr;
	uintptr_t segbase;
	uintptr_t table_len; /* in words of eight bytes: one a stub */
	uintptr_t table_data;
	uintptr_t later_versions[8]; /* whose union is larger */
};

/*
 * libunwind reads its list without a lock, so that a thread may stand on an entry that is taken
 * back. Entries are never freed; they rest here, the longest at the head, with the links that
 * libunwind reads set to NULL by it: such a thread finds the list's end, not another entry's data.
 */
struct entry {
	struct dyn_info info;
	struct entry *next_resting;
};
static struct entry *resting, **resting_tail = &resting;
static unsigned resting_count;

static void (*dyn_register)(struct dyn_info *);
static void (*dyn_cancel)(struct dyn_info *);
static void (*flush_cache)(void *space, uintptr_t lo, uintptr_t hi);
static void **local_space;
static int found; /* atomic */

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
	/* Names that libunwind's headers make of unw_flush_cache and unw_local_addr_space. */
	flush_cache = (void (*)(void *, uintptr_t, uintptr_t))symbol(
		handle, "_Ux86_64_flush_cache", "_Uaarch64_flush_cache");
	local_space = symbol(handle, "_ULx86_64_local_addr_space", "_ULaarch64_local_addr_space");
	if (dyn_register && dyn_cancel)
		__atomic_store_n(&found, 1, __ATOMIC_RELEASE);
}

static int start(void)
{
	return __atomic_load_n(&found, __ATOMIC_ACQUIRE) ? 0 : -ENOENT;
}

static struct entry *take_entry(void)
{
	struct entry *entry = resting;

	if (resting_count <= RESTING)
		return calloc(1, sizeof(*entry));
	resting = entry->next_resting;
	resting_count--;
	return entry;
}

static int add_region(const struct region *region, void **state)
{
	const uint32_t *header = (const uint32_t *)region->eh_frame_hdr;
	struct entry *entry;

	/* Frame pointers are what libunwind tries of itself where it knows nothing. */
	if (!header)
		return 0;
	if (header[0] != HEADER_ENCODINGS)
		return -ENOTSUP;
	entry = take_entry();
	if (!entry)
		return -ENOMEM;
	entry->info = (struct dyn_info){
		.start_ip = region->start,
		.end_ip = region->start + region->bytes,
		.format = REMOTE_TABLE,
		.segbase = region->eh_frame_hdr,
		.table_len = header[2],
		.table_data = region->eh_frame_hdr + HEADER_BYTES,
	};
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
	entry->next_resting = NULL;
	if (!resting)
		resting_tail = &resting;
	*resting_tail = entry;
	resting_tail = &entry->next_resting;
	resting_count++;
}

const struct publisher publisher_libunwind = {
	.flag = FLAMEPROF_PUBLISH_LIBUNWIND,
	.prepare = prepare,
	.start = start,
	.add_region = add_region,
	.remove_region = remove_region,
};
