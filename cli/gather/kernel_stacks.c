/* SPDX-License-Identifier: MIT */
/*
 * Records as perf_event_open(2) has them. The kernel alone writes them; what does not fit the
 * memory it leaves out and says so, which costs a stack its kernel's part and nothing else.
 */
#include "cli/gather/kernel_stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A look of some 30 frames, and what a second may bring: we come several times in one. */
#define LOOK_BYTES 512u
#define BYTES_MIN  (4u * 4096)
#define BYTES_MAX  (128u * 4096)

void kernel_stacks_ask(struct perf_event_attr *attributes)
{
	attributes->exclude_kernel = 0;
	attributes->sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	attributes->use_clockid = 1;
	attributes->clockid = CLOCK_MONOTONIC;
}

int kernel_stacks_open(struct kernel_stacks *stacks, int fd, uint32_t rate_hz)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = BYTES_MIN;
	void *pages;

	while (bytes < BYTES_MAX && bytes < (size_t)rate_hz * LOOK_BYTES / 4)
		bytes *= 2;
	pages = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	stacks->pages = pages;
	stacks->bytes = bytes;
	return 0;
}

static struct perf_event_mmap_page *head_of(const struct kernel_stacks *stacks)
{
	return (struct perf_event_mmap_page *)stacks->pages;
}

void kernel_stacks_close(struct kernel_stacks *stacks)
{
	if (stacks->pages)
		munmap(stacks->pages, (size_t)sysconf(_SC_PAGESIZE) + stacks->bytes);
	*stacks = (struct kernel_stacks){0};
}

/* @bytes at @at, which may go on at the beginning. */
static void copy_out(const struct kernel_stacks *stacks, uint64_t at, void *out, size_t bytes)
{
	const char *records = stacks->pages + sysconf(_SC_PAGESIZE);
	size_t from = (size_t)at & (stacks->bytes - 1);
	size_t first = stacks->bytes - from < bytes ? stacks->bytes - from : bytes;

	memcpy(out, records + from, first);
	memcpy((char *)out + first, records, bytes - first);
}

/* A sample's record up to its frames. */
struct look {
	struct perf_event_header header;
	uint64_t time_ns;
	uint64_t count;
};

/*
 * Addresses come in runs behind a word that says whose they are. A return address stands behind its
 * call.
 */
static void read_frames(const struct kernel_stacks *stacks, uint64_t at, const struct look *look,
	struct kernel_stack *out)
{
	uint64_t room = (look->header.size - sizeof(*look)) / sizeof(uint64_t);
	uint64_t count = look->count < room ? look->count : room, context = 0, frame;

	*out = (struct kernel_stack){0};
	for (uint64_t i = 0; i < count; i++) {
		copy_out(stacks, at + sizeof(*look) + i * sizeof(frame), &frame, sizeof(frame));
		if (frame >= (uint64_t)PERF_CONTEXT_MAX) {
			context = frame;
		} else if (context == (uint64_t)PERF_CONTEXT_USER) {
			out->user_pc = frame;
			return;
		} else if (context == (uint64_t)PERF_CONTEXT_KERNEL &&
			   out->count < KERNEL_STACK_FRAMES) {
			out->frame[out->count] = frame - (out->count != 0);
			out->count++;
		}
	}
}

int kernel_stacks_next(
	const struct kernel_stacks *stacks, uint64_t until_ns, struct kernel_stack *out)
{
	struct perf_event_mmap_page *head = stacks->pages ? head_of(stacks) : NULL;
	uint64_t written = head ? __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE) : 0;
	int found = 0;

	while (head && !found && written - head->data_tail >= sizeof(struct perf_event_header)) {
		uint64_t at = head->data_tail;
		struct look look = {0};

		copy_out(stacks, at, &look.header, sizeof(look.header));
		if (look.header.size < sizeof(look.header) || look.header.size > written - at)
			break;
		if (look.header.type == PERF_RECORD_SAMPLE && look.header.size >= sizeof(look)) {
			copy_out(stacks, at, &look, sizeof(look));
			if (look.time_ns > until_ns)
				break;
			read_frames(stacks, at, &look, out);
			found = 1;
		}
		__atomic_store_n(&head->data_tail, at + look.header.size, __ATOMIC_RELEASE);
	}
	return found;
}
