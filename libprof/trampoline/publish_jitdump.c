/* SPDX-License-Identifier: MIT */
/*
 * jit-PID.dump in $JITDUMPDIR, else in the current folder: code, names and unwinding information
 * with times, of which `perf inject --jit` makes an ELF file for each piece of code.
 * Source: linux, tools/perf/Documentation/jitdump-specification.txt, tools/perf/util/jitdump.c.
 * How perf finds unwinding information: publish_jitdump_table.h.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/stub.h"
#include "libprof/trampoline/publish_file.h"
#include "libprof/trampoline/publish_jitdump_table.h"

#define MAGIC	  0x4a695444u
#define VERSION	  1u
#define LOAD_MAX  (64u << 20) /* a record's length has 32 bits */

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
static void *marker; /* perf finds the file by this mapping */
static size_t marker_bytes;
static uint64_t code_index;
static uint64_t batch_ns; /* 0: ask the clock */
static uint32_t own_pid;

/* What perf record -k 1 stamps samples with. All that is told together happened now. */
static uint64_t now_ns(void)
{
	struct timespec now;

	if (!batch_ns) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		batch_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	}
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

/* The record up to the code; the code's bytes follow. */
static void put_load(uintptr_t address, size_t bytes, const char *name)
{
	size_t name_bytes = strlen(name) + 1;
	struct load load = {
		.prefix = {CODE_LOAD, sizeof(load) + name_bytes + bytes, now_ns()},
		.pid = own_pid,
		/* Whichever thread: code is the process's, and asking costs a system call. */
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

/* Comes before the record of the code it belongs to. Code without is named and followed by fp. */
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
	/* The host's may be executable and not readable; perf wants bytes of some kind. */
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
