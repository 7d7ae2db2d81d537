/* SPDX-License-Identifier: MIT */
/*
 * The file jit-PID.dump in $JITDUMPDIR, or in the current folder: code, names and unwinding
 * information with time stamps. `perf inject --jit` makes an ELF file of each piece of code.
 *
 * Source: linux, tools/perf/Documentation/jitdump-specification.txt, tools/perf/util/jitdump.c.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/stub.h"
#include "libprof/sampler/clock.h"
#include "libprof/trampoline/publish.h"
#include "libprof/trampoline/publish_cfi.h"
#include "libprof/trampoline/publish_file.h"
#include "libprof/trampoline/region.h"
#include "libprof/unwind/cfi.h"

/* ---- the unwinding table of a record --------------------------------------------------------- */
/*
 * Unwinding information in the form that perf reads.
 *
 * perf maps the ELF file of a piece of code at the code's address, up to the end of the unwinding
 * information after the code. If two such files overlap, one cuts off the other. So the bytes after
 * each stub's code, within its stride (REGION_STRIDE), have only an .eh_frame_hdr with one entry.
 * The region's .eh_frame is written once, as a piece of its own, at its own address:
 *
 *	stub | table of one entry | fill ...  stub | table | fill ...      .eh_frame
 *	             `-------------------------------------------------------^
 */


/* The largest number of FDEs of one piece of the host's code. */
#define PUBLISH_JITDUMP_ENTRIES 16u

/* An .eh_frame_hdr with the encodings pcrel | sdata4, udata4, datarel | sdata4. */
struct publish_jitdump_table {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	struct {
		int32_t begin, fde;
	} entry[PUBLISH_JITDUMP_ENTRIES];
};

/*
 * A region with the .eh_frame that is written to the file for perf. The .eh_frame is in the memory
 * of this process at view.eh_frame; perf will read it at the address region->eh_frame. The host's
 * .eh_frame may refer to personality routines, which perf would search in memory. So it is replaced
 * by a copy without them, if the copy is not larger.
 */
struct publish_jitdump_frames {
	struct region view;
	/* An address in the view minus the address at which perf sees it. */
	uintptr_t shift;
	struct publish_bytes copy;
};

static void publish_jitdump_frames_init(
	struct publish_jitdump_frames *frames, const struct region *region)
{
	uintptr_t end = region->start + region->bytes;
	uintptr_t address = (uintptr_t)region->eh_frame;

	*frames = (struct publish_jitdump_frames){.view = *region};
	if (region->kind != FLAMEPROF_CODE_HOST ||
		publish_cfi_write(&frames->copy, region, region->start, end, address) ||
		frames->copy.used > region->eh_frame_bytes)
		return;
	frames->view.eh_frame = frames->copy.data;
	frames->view.eh_frame_bytes = frames->copy.used;
	frames->shift = (uintptr_t)frames->copy.data - address;
}

static void publish_jitdump_frames_release(struct publish_jitdump_frames *frames)
{
	free(frames->copy.data);
}

struct fde_search {
	/* The base address of the table, in the view. */
	uintptr_t origin;
	struct publish_jitdump_table *out;
};

/*
 * Insert an FDE in the order of addresses. A linear search suffices: there is nearly always only
 * one.
 */
static int put_entry(void *context, const struct cfi_fde *fde)
{
	struct fde_search *search = context;
	struct publish_jitdump_table *out = search->out;
	int64_t begin = fde->begin - search->origin, record = fde->record - search->origin;
	uint32_t i = out->count;

	if (i == PUBLISH_JITDUMP_ENTRIES)
		return -E2BIG;
	if (begin != (int32_t)begin || record != (int32_t)record)
		return -ERANGE;
	for (; i && out->entry[i - 1].begin > begin; i--)
		out->entry[i] = out->entry[i - 1];
	out->entry[i].begin = begin;
	out->entry[i].fde = record;
	out->count++;
	return 0;
}

static int find_fdes(const struct region *region, uintptr_t start, uintptr_t header,
	struct publish_jitdump_table *out)
{
	struct fde_search search = {.origin = header, .out = out};
	struct cfi_fde fde;
	int error;

	if (region->kind == FLAMEPROF_CODE_HOST) {
		struct publish_jitdump_frames frames;

		publish_jitdump_frames_init(&frames, region);
		search.origin += frames.shift;
		error = publish_cfi_each(&frames.view, put_entry, &search);
		publish_jitdump_frames_release(&frames);
	} else {
		struct unwind_module chunk = {
			.start = region->start,
			.end = (uintptr_t)region->eh_frame + region->eh_frame_bytes,
			.eh_frame_hdr = region->eh_frame_hdr,
		};

		error = cfi_find_fde(&chunk, start, &fde);
		if (!error)
			error = put_entry(&search, &fde);
	}
	return error;
}

/*
 * Is there room for the table after the code? A stub's stride includes room for it. After the
 * host's code there must be no other region.
 */
static int has_room(const struct region *region, uintptr_t start, uintptr_t table_end)
{
	uintptr_t code_end = region->start + region->bytes;

	if (region->kind != FLAMEPROF_CODE_HOST)
		return table_end - start <= region->stride;
	for (uintptr_t at = code_end; at < table_end; at += 8) {
		if (region_find(at))
			return 0;
	}
	return !region_find(table_end - 1);
}

/*
 * Make the table for the @bytes of @region's code from @start on.
 *
 * Returns the size of *@out; or 0 if there is no call-frame information, if it is invalid, or if
 * there is no room after the code.
 */
static size_t publish_jitdump_table_make(struct publish_jitdump_table *out,
	const struct region *region,
	uintptr_t start, size_t bytes)
{
	uintptr_t header = start + ((bytes + 7) & ~(size_t)7);
	size_t used;

	*out = (struct publish_jitdump_table){1, 0x1b, 0x03, 0x3b, .count = 0};
	if (!region->eh_frame || !region->eh_frame_hdr ||
		find_fdes(region, start, header, out) || !out->count)
		return 0;
	out->frame = (uintptr_t)region->eh_frame - (header + 4);
	used = (offsetof(struct publish_jitdump_table, entry[out->count]) + 7) & ~(size_t)7;
	return has_room(region, start, header + used) ? used : 0;
}

/* ---- jitdump --------------------------------------------------------------------------------- */

#define MAGIC	  0x4a695444u
#define VERSION	  1u
#define LOAD_MAX  (64u << 20) /* a size has 32 bits */

enum record_id { CODE_LOAD = 0, CODE_CLOSE = 3, CODE_UNWINDING_INFO = 4 };

struct file_header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t time_ns, flags;
};

struct prefix {
	uint32_t id, total_size;
	uint64_t time_ns;
};

struct load {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

struct unwinding {
	struct prefix prefix;
	uint64_t unwinding_size, eh_frame_hdr_size, mapped_size;
};

static struct publish_file dump;
/* A mapping of the file, by which perf finds the file. */
static void *marker;
static size_t marker_bytes;
static uint64_t code_index;
static uint64_t batch_ns; /* 0: read the clock */
static uint32_t own_pid;

/* Returns the time by the clock of `perf record -k 1`. A batch's records have equal times. */
static uint64_t now_ns(void)
{
	/* Call the kernel directly, because another library may interpose libc's function. */
	if (!batch_ns)
		batch_ns = clock_monotonic_by_call_ns();
	return batch_ns;
}

static int map_marker(void)
{
	marker_bytes = sysconf(_SC_PAGESIZE);
	marker = mmap(NULL, marker_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump.fd, 0);
	if (marker != MAP_FAILED)
		return 0;
	marker = NULL;
	return -errno;
}

static void unmap_marker(void)
{
	if (marker)
		munmap(marker, marker_bytes);
	marker = NULL;
}

static int start(void)
{
	const char *folder = secure_getenv("JITDUMPDIR");
	struct file_header header = {
		.magic = MAGIC,
		.version = VERSION,
		.total_size = sizeof(header),
		.elf_mach = ARCH_ELF_MACHINE,
		.pid = getpid(),
		.time_ns = now_ns(),
	};
	char path[4096];
	int error;

	if (dump.is_open)
		return 0;
	if (!folder || !*folder)
		folder = ".";
	if (snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid()) >=
		(int)sizeof(path))
		return -ENAMETOOLONG;
	error = publish_file_open(&dump, path, PUBLISH_FILE_OWN);
	if (error)
		return error;
	code_index = 0;
	own_pid = header.pid;
	publish_file_put(&dump, &header, sizeof(header));
	error = publish_file_flush(&dump);
	if (!error)
		error = map_marker();
	if (error)
		publish_file_drop(&dump);
	return error;
}

/* Write the header and the name of a record. The caller appends the bytes of the code. */
static void put_load(uintptr_t address, size_t bytes, const char *name)
{
	size_t name_bytes = strlen(name) + 1;
	struct load load = {
		.prefix = {CODE_LOAD, sizeof(load) + name_bytes + bytes, now_ns()},
		.pid = own_pid,
		/*
		 * Use the main thread's id: perf accepts any thread of the process here, and
		 * gettid() costs a system call.
		 */
		.tid = own_pid,
		.vma = address,
		.code_addr = address,
		.code_size = bytes,
		.code_index = code_index,
	};

	code_index++;
	publish_file_put(&dump, &load, sizeof(load));
	publish_file_put(&dump, name, name_bytes);
}

static void put_eh_frame(const struct region *region)
{
	struct publish_jitdump_frames frames;

	publish_jitdump_frames_init(&frames, region);
	put_load((uintptr_t)region->eh_frame, frames.view.eh_frame_bytes,
		"[call-frame information]");
	publish_file_put(&dump, frames.view.eh_frame, frames.view.eh_frame_bytes);
	publish_jitdump_frames_release(&frames);
}

static int add_region(const struct region *region, void **state)
{
	(void)state;
	if (region->kind == FLAMEPROF_CODE_HOST && region->bytes > LOAD_MAX)
		return -E2BIG;
	if (region->eh_frame && region->eh_frame_hdr && region->eh_frame_bytes <= LOAD_MAX)
		put_eh_frame(region);
	return 0;
}

/*
 * Write the unwinding table, which must precede the record of its code. If there is no table, perf
 * has only the name and unwinds by frame pointer.
 */
static void put_unwinding(const struct region *region, uintptr_t start_address, size_t code_bytes)
{
	struct publish_jitdump_table table;
	size_t bytes = publish_jitdump_table_make(&table, region, start_address, code_bytes);
	struct unwinding record = {
		.prefix = {CODE_UNWINDING_INFO, sizeof(record) + bytes, now_ns()},
		.unwinding_size = bytes,
		.eh_frame_hdr_size = bytes,
		.mapped_size = bytes,
	};

	if (!bytes)
		return;
	publish_file_put(&dump, &record, sizeof(record));
	publish_file_put(&dump, &table, bytes);
}

static int add_slot(const struct region *region, uint32_t slot, void *state)
{
	uintptr_t start_address = publish_slot_start(region, slot);
	size_t bytes = publish_slot_bytes(region);

	(void)state;
	put_unwinding(region, start_address, bytes);
	put_load(start_address, bytes, region->slot[slot].name);
	/* perf needs the code's bytes. If the host's code is unreadable, zeros are written. */
	if (region->kind == FLAMEPROF_CODE_HOST)
		publish_file_put_memory(&dump, start_address, bytes);
	else
		publish_file_put(&dump, (const void *)start_address, bytes);
	return 0;
}

static int flush(void)
{
	batch_ns = 0;
	if (!publish_file_flush(&dump))
		return 0;
	publish_file_drop(&dump);
	unmap_marker();
	return PUBLISH_ENDED;
}

static int fork_child(void)
{
	publish_file_drop(&dump);
	unmap_marker();
	return start();
}

static void finish(void)
{
	struct prefix record = {CODE_CLOSE, sizeof(record), now_ns()};

	publish_file_put(&dump, &record, sizeof(record));
	publish_file_flush(&dump);
}

const struct publisher publisher_jitdump = {
	.flag = FLAMEPROF_PUBLISH_JITDUMP,
	.start = start,
	.add_region = add_region,
	.add_slot = add_slot,
	.flush = flush,
	.fork_child = fork_child,
	.finish = finish,
};
