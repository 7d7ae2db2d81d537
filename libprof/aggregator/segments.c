/* SPDX-License-Identifier: MIT */
/*
 * Reading a mapped module's program headers. It may be unmapped at any moment, so the kernel does
 * the reading: it answers with an error where a load would be a fault.
 */
#include "libprof/aggregator/segments.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/syscall.h"

#define HEADERS_MAX 64

/* Container runtimes refuse process_vm_readv(2), not this. */
static int read_by_file(uint64_t address, void *to, size_t bytes)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;

	ssize_t n = pread(fd, to, bytes, (off_t)address);

	close(fd);
	return n == (ssize_t)bytes;
}

static int read_memory(uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {to, bytes};
	struct iovec remote = {(void *)(uintptr_t)address, bytes};

	long n = arch_syscall6(
		SYS_process_vm_readv, getpid(), (long)&local, 1, (long)&remote, 1, 0);

	return n == (long)bytes || read_by_file(address, to, bytes);
}

static int is_elf(const ElfW(Ehdr) *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
		header->e_phentsize == sizeof(ElfW(Phdr)) && header->e_phnum <= HEADERS_MAX;
}

static void add(struct names_module *module, const ElfW(Phdr) *segment)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = module->bias + segment->p_vaddr;

	if (first < module->start || first >= module->end || !segment->p_filesz ||
		segment->p_filesz > module->end - first ||
		segment->p_vaddr % page != segment->p_offset % page)
		return;
	module->segment[module->segments++] = (struct names_segment){
		.start = first & -page,
		.end = (first + segment->p_filesz + page - 1) & -page,
		.file_offset = segment->p_offset & -page,
	};
}

void segments_read(struct names_module *module)
{
	ElfW(Phdr) segments[HEADERS_MAX];
	ElfW(Ehdr) header;

	module->segments = 0;
	if (!read_memory(module->start, &header, sizeof(header)) || !is_elf(&header) ||
		!read_memory(module->start + header.e_phoff, segments,
			header.e_phnum * sizeof(segments[0])))
		return;
	for (unsigned i = 0; i < header.e_phnum && module->segments < NAMES_SEGMENTS; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			add(module, &segments[i]);
}
