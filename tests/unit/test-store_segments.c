/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Read the segments of mapped modules from their ELF headers in memory. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "libprof/aggregator/store.h"
#include "tests/unit/deny.h"
#include "tests/unit/in-child.h"

/*
 * Compare the segments that segments_read() finds with /proc/self/maps, for this program and its
 * libraries.
 */
static int check_mapped(struct dl_phdr_info *info, size_t size, void *context)
{
	struct names_module module = {.number = 1, .bias = info->dlpi_addr};
	struct names_segment in_maps;
	char line[1024], kind[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned seen = 0;

	(void)size;
	module.start = UINT64_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + segment->p_vaddr < module.start)
			module.start = (info->dlpi_addr + segment->p_vaddr) & -4096ULL;
		module.end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
	}
	segments_read(&module);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &in_maps.start, &in_maps.end, kind,
			    &in_maps.file_offset) != 4 ||
			kind[2] != 'x' || in_maps.start < module.start ||
			in_maps.end > ((module.end + 4095) & -4096ULL))
			continue;
		assert_true(seen < module.segments);
		assert_int_equal(module.segment[seen].start, in_maps.start);
		assert_int_equal(module.segment[seen].end, in_maps.end);
		assert_int_equal(module.segment[seen].file_offset, in_maps.file_offset);
		seen++;
	}
	fclose(maps);
	assert_int_equal(seen, module.segments);
	*(unsigned *)context += seen;
	return 0;
}

static void segments_are_as_the_kernel_mapped_them(void **state)
{
	unsigned seen = 0;

	(void)state;
	/* Under qemu-user a process cannot read its own memory by process_vm_readv(2). */
	if (getenv("TEST_EMULATED"))
		skip();
	dl_iterate_phdr(check_mapped, &seen);
	assert_true(seen >= 3);
}

static int read_where_refused(void)
{
	extern const ElfW(Ehdr) __ehdr_start;
	const uint64_t start = (uintptr_t)&__ehdr_start;
	struct names_module before = {.start = start, .end = start + (1 << 30), .bias = start};
	struct names_module after = before;

	segments_read(&before);
	if (deny_call(SYS_process_vm_readv))
		return CANNOT;
	segments_read(&after);
	return !before.segments || memcmp(&before, &after, sizeof(before));
}

static void segments_are_read_where_a_sandbox_refuses(void **state)
{
	(void)state;
	if (getenv("TEST_EMULATED"))
		skip();
	check_in_child(read_where_refused);
}

static void headers_that_are_gone_or_lie_give_no_segments(void **state)
{
	ElfW(Ehdr) *header = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ElfW(Phdr) *segment = (ElfW(Phdr) *)(header + 1);
	struct names_module module = {.start = (uintptr_t)header,
		.end = (uintptr_t)header + 65536,
		.bias = (uintptr_t)header};

	(void)state;
	if (getenv("TEST_EMULATED"))
		skip();
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_phentsize = sizeof(*segment);
	header->e_phoff = sizeof(*header);
	header->e_phnum = 1;
	*segment = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x1010,
		.p_offset = 0x3010, .p_filesz = 0x1800};
	segments_read(&module);
	assert_int_equal(module.segments, 1);
	assert_int_equal(module.segment[0].end - module.segment[0].start, 0x2000);
	assert_int_equal(module.segment[0].file_offset, 0x3000);
	for (unsigned kind = 0; kind < 7; kind++) {
		ElfW(Ehdr) whole = *header;
		ElfW(Phdr) as_was = *segment;

		switch (kind) {
		case 0: segment->p_offset++; break;
		case 1: segment->p_vaddr = 0x100000; break;
		case 2: segment->p_filesz = UINT64_MAX; break;
		case 3: header->e_phnum = 65535; break;
		case 4: header->e_phoff = UINT64_MAX; break;
		case 5: header->e_phentsize = 1; break;
		case 6: segment->p_filesz = 0; break;
		}
		segments_read(&module);
		assert_int_equal(module.segments, 0);
		*header = whole;
		*segment = as_was;
	}
	munmap(header, 65536);
	segments_read(&module);
	assert_int_equal(module.segments, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_as_the_kernel_mapped_them),
		cmocka_unit_test(segments_are_read_where_a_sandbox_refuses),
		cmocka_unit_test(headers_that_are_gone_or_lie_give_no_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
