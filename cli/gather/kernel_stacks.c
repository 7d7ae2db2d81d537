/* SPDX-License-Identifier: MIT */
/*
 * Parse the records of a perf event's ring buffer (source: perf_event_open(2)). Only the kernel
 * writes them. If the buffer is full, the kernel drops records, and only these stacks are lost.
 */
#include "cli/gather/kernel_stacks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Room for seven stacks. The collector reads the ring buffer at least 20 times a second. */
#define RECORDS_BYTES (16u * 4096)

#define REGISTERS_MAX 64u

int kernel_stacks_open(struct kernel_stacks *stacks, pid_t tid, uint64_t period_ns)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = ARCH_PERF_REGS,
		.sample_stack_user = KERNEL_STACK_BYTES,
		.exclude_user = 1,
		.exclude_callchain_user = 1,
		.exclude_hv = 1,
		.remove_on_exec = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/*
		 * The watermark is never reached, so the event wakes nobody. The buffer is polled.
		 */
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
	};
	int fd = (int)syscall(
		SYS_perf_event_open, &attributes, tid, -1, -1, (long)PERF_FLAG_FD_CLOEXEC);
	void *pages;

	if (fd < 0)
		return -errno;
	pages = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RECORDS_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED) {
		int error = -errno;

		close(fd);
		return error;
	}
	*stacks = (struct kernel_stacks){
		.pages = pages, .bytes = RECORDS_BYTES, .descriptor = fd};
	return 0;
}

void kernel_stacks_close(struct kernel_stacks *stacks)
{
	if (!stacks->pages)
		return;
	munmap(stacks->pages, (size_t)sysconf(_SC_PAGESIZE) + stacks->bytes);
	close(stacks->descriptor);
	*stacks = (struct kernel_stacks){0};
}

/* The read position in a record and the record's end, in bytes since the event was opened. */
struct cursor {
	const struct kernel_stacks *stacks;
	uint64_t at, end;
};

/* Copy the record's next @bytes, which may wrap around. Returns 0 if fewer are left. */
static int read_bytes(struct cursor *cursor, void *out, uint64_t bytes)
{
	const struct kernel_stacks *stacks = cursor->stacks;
	const char *records = stacks->pages + sysconf(_SC_PAGESIZE);
	size_t from = (size_t)cursor->at & (stacks->bytes - 1), first = stacks->bytes - from;

	if (bytes > cursor->end - cursor->at)
		return 0;
	if (first > bytes)
		first = (size_t)bytes;
	memcpy(out, records + from, first);
	memcpy((char *)out + first, records, (size_t)bytes - first);
	cursor->at += bytes;
	return 1;
}

/*
 * Read the kernel's part of the call chain: the addresses after PERF_CONTEXT_KERNEL. All except the
 * innermost are return addresses. Subtract 1 from these to get into the call instruction.
 */
static int read_frames(struct cursor *cursor, struct kernel_stack *out)
{
	uint64_t count, frame;
	int is_kernel = 0;

	if (!read_bytes(cursor, &count, sizeof(count)))
		return 0;
	for (; count; count--) {
		if (!read_bytes(cursor, &frame, sizeof(frame)))
			return 0;
		if (frame >= (uint64_t)PERF_CONTEXT_MAX) {
			is_kernel = frame == (uint64_t)PERF_CONTEXT_KERNEL;
		} else if (is_kernel && out->count < KERNEL_STACK_FRAMES) {
			out->frame[out->count] = frame - (out->count != 0);
			out->count++;
		}
	}
	return out->count != 0;
}

/*
 * Read the user registers. Returns 0 if there are none, as for 32-bit programs and kernel threads.
 */
static int read_registers(struct cursor *cursor, struct kernel_stack *out)
{
	uint64_t abi, words[REGISTERS_MAX];

	if (!read_bytes(cursor, &abi, sizeof(abi)) || abi != PERF_SAMPLE_REGS_ABI_64 ||
		!read_bytes(cursor, words, sizeof(*words) * __builtin_popcountll(ARCH_PERF_REGS)))
		return 0;
	arch_registers_from_perf(&out->registers, words);
	return 1;
}

/* Read the user stack: the record has a size, so many bytes, and the number of valid bytes. */
static int read_stack(struct cursor *cursor, struct kernel_stack *out)
{
	uint64_t room, bytes = 0;

	if (!read_bytes(cursor, &room, sizeof(room)) || room > sizeof(out->stack) ||
		!read_bytes(cursor, out->stack, room))
		return 0;
	if (room && !read_bytes(cursor, &bytes, sizeof(bytes)))
		return 0;
	out->bytes = (uint32_t)(bytes < room ? bytes : room);
	return 1;
}

int kernel_stacks_next(const struct kernel_stacks *stacks, struct kernel_stack *out)
{
	struct perf_event_mmap_page *head = (struct perf_event_mmap_page *)stacks->pages;
	uint64_t written = head ? __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE) : 0;
	int found = 0;

	while (head && !found) {
		struct cursor cursor = {stacks, head->data_tail, written};
		struct perf_event_header header;

		if (!read_bytes(&cursor, &header, sizeof(header)) || header.size < sizeof(header) ||
			header.size > written - head->data_tail)
			break;
		cursor.end = head->data_tail + header.size;
		out->count = 0;
		found = header.type == PERF_RECORD_SAMPLE &&
			read_bytes(&cursor, &out->time_ns, sizeof(out->time_ns)) &&
			read_frames(&cursor, out) && read_registers(&cursor, out) &&
			read_stack(&cursor, out);
		__atomic_store_n(&head->data_tail, cursor.end, __ATOMIC_RELEASE);
	}
	return found;
}
