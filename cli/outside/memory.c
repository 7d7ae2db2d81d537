/* SPDX-License-Identifier: MIT */
/*
 * The page cache. Slots are filled page by page but asked for together: the kernel stops at the
 * first page that is missing and says how far it came.
 */
#include "cli/outside/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define NO_PAGE 1u /* no page begins there */

void memory_begin(struct memory *memory, pid_t pid)
{
	memory->pid = pid;
	for (unsigned slot = 0; slot < MEMORY_SLOTS; slot++)
		memory->held[slot] = NO_PAGE;
}

static unsigned slot_of(uintptr_t page)
{
	return page / MEMORY_PAGE % MEMORY_SLOTS;
}

static void fill(struct memory *memory, uintptr_t page)
{
	struct iovec local[MEMORY_STRETCH];
	struct iovec remote = {.iov_base = (void *)page};
	ssize_t got;

	for (unsigned i = 0; i < MEMORY_STRETCH; i++) {
		unsigned slot = slot_of(page + i * MEMORY_PAGE);

		memory->held[slot] = NO_PAGE;
		local[i] = (struct iovec){.iov_base = memory->page[slot], .iov_len = MEMORY_PAGE};
	}
	/* The last pages of the address space have no others behind them. */
	remote.iov_len = page > UINTPTR_MAX - MEMORY_STRETCH * MEMORY_PAGE
		? MEMORY_PAGE : MEMORY_STRETCH * MEMORY_PAGE;
	got = process_vm_readv(memory->pid, local, MEMORY_STRETCH, &remote, 1, 0);
	for (unsigned i = 0; got >= (ssize_t)(i + 1) * (ssize_t)MEMORY_PAGE; i++)
		memory->held[slot_of(page + i * MEMORY_PAGE)] = page + i * MEMORY_PAGE;
}

static const char *page_at(struct memory *memory, uintptr_t page)
{
	unsigned slot = slot_of(page);

	if (memory->held[slot] != page)
		fill(memory, page);
	return memory->held[slot] == page ? memory->page[slot] : NULL;
}

int memory_word(struct memory *memory, uintptr_t address, uintptr_t *value)
{
	char bytes[sizeof(*value)];
	uintptr_t page = address & ~(uintptr_t)(MEMORY_PAGE - 1);
	size_t offset = address - page;
	size_t first = MEMORY_PAGE - offset;
	const char *from = page_at(memory, page);

	if (!from)
		return -EFAULT;
	if (first >= sizeof(*value)) {
		memcpy(value, from + offset, sizeof(*value));
		return 0;
	}
	memcpy(bytes, from + offset, first);
	from = page_at(memory, page + MEMORY_PAGE);
	if (!from)
		return -EFAULT;
	memcpy(bytes + first, from, sizeof(*value) - first);
	memcpy(value, bytes, sizeof(*value));
	return 0;
}

int memory_copy(pid_t pid, uintptr_t address, void *out, size_t bytes)
{
	while (bytes) {
		struct iovec local = {.iov_base = out, .iov_len = bytes};
		struct iovec remote = {.iov_base = (void *)address, .iov_len = bytes};
		ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

		if (got <= 0)
			return -EFAULT;
		out = (char *)out + got;
		address += (size_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}
