/* SPDX-License-Identifier: MIT */
/*
 * Compilers set the number of a system call just before the instruction that makes it. glibc 2.41
 * and later makes every system call that is a cancellation point by one of two instructions,
 * which get the number as a parameter. The stack of a read(2) has these functions, innermost first:
 *
 *	__syscall_cancel_arch      makes the call in programs with several threads
 *	__internal_syscall_cancel  makes the call in programs with one thread
 *	__syscall_cancel           missing if the caller does not set errno
 *	read                       passes the constant 0
 *
 * These functions have no names in a stripped libc. __syscall_cancel_arch is written in assembly,
 * so its bytes are known; only __internal_syscall_cancel calls it.
 */
#include "cli/symbols/call_number.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arch/cancellable.h"
#include "arch/epilogue.h"
#include "arch/syscall.h"

/* A function in the list above calls the one before it within this many bytes of its start. */
#define ARCH_BYTES     64u
#define INTERNAL_BYTES 128u
#define CANCEL_BYTES   32u

/* Some bytes of code in a file. `start` is the ELF virtual address of the first one. */
struct code_bytes {
	const uint8_t *code; /* borrowed from the file */
	uint64_t start;
	unsigned bytes;
};

/* Find the loaded segment that has a byte of the file at @address. Returns 0 or -ENOENT. */
static int find_segment(const struct elf_file *file, uint64_t address, GElf_Phdr *segment)
{
	size_t headers = elf_file_headers(file);

	for (size_t i = 0; i < headers; i++)
		if (gelf_getphdr(file->elf, (int)i, segment) && segment->p_type == PT_LOAD &&
			address >= segment->p_vaddr &&
			address - segment->p_vaddr < segment->p_filesz)
			return 0;
	return -ENOENT;
}

/*
 * Read the code from @before bytes before @address to @after bytes after it, limited to the segment
 * that contains the byte before @address.
 */
static bool read_code_bytes(const struct elf_file *file, uint64_t address, unsigned before,
	unsigned after, struct code_bytes *out)
{
	GElf_Phdr segment;
	Elf_Data *data;
	uint64_t room;

	if (!address || find_segment(file, address - 1, &segment))
		return false;
	if (before > address - segment.p_vaddr)
		before = (unsigned)(address - segment.p_vaddr);
	room = segment.p_vaddr + segment.p_filesz - address;
	if (after > room)
		after = (unsigned)room;
	data = elf_getdata_rawchunk(file->elf,
		(int64_t)(segment.p_offset + (address - segment.p_vaddr) - before), before + after,
		ELF_T_BYTE);
	if (!data)
		return false;
	*out = (struct code_bytes){data->d_buf, address - before, before + after};
	return true;
}

/* Is the function at @function __syscall_cancel_arch()? Compare its bytes. */
static bool is_arch(const struct elf_file *file, uint64_t function)
{
	struct code_bytes start;

	return read_code_bytes(file, function, 0, ARCH_BYTES, &start) &&
	       memmem(start.code, start.bytes, ARCH_CANCELLABLE, sizeof(ARCH_CANCELLABLE) - 1);
}

/* Do the first @bytes of @function directly call a function for which @is_wanted is true? */
static bool calls(const struct elf_file *file, uint64_t function, unsigned bytes,
	bool (*is_wanted)(const struct elf_file *, uint64_t))
{
	struct code_bytes start;

	if (!read_code_bytes(file, function, 0, bytes, &start))
		return false;
	for (unsigned at = 0; at + ARCH_CALL_BYTES <= start.bytes; at += ARCH_CALL_STEP) {
		uint64_t called = arch_called(start.code + at, start.start + at);

		if (called && is_wanted(file, called))
			return true;
	}
	return false;
}

static bool is_internal(const struct elf_file *file, uint64_t function)
{
	return calls(file, function, INTERNAL_BYTES, is_arch);
}

static bool is_cancel(const struct elf_file *file, uint64_t function)
{
	return calls(file, function, CANCEL_BYTES, is_internal);
}

/*
 * Decode the call instruction at @frame. If it calls __internal_syscall_cancel or __syscall_cancel
 * with a constant system call number, return the number. Return ARCH_SYSCALL_NUMBERLESS if it is a
 * direct call without a constant number, and -1 if it is another kind of call.
 */
static long passed_number(const struct elf_file *file, uint64_t frame)
{
	uint64_t end = frame + 1;
	struct code_bytes before;
	long number;

	if (!frame || !read_code_bytes(file, end, ARCH_SYSCALL_CODE, 0, &before))
		return -1;
	number = arch_cancellable_number(before.code, before.bytes);
	if (number >= 0) {
		uint64_t called = arch_called(
			before.code + before.bytes - ARCH_CALL_BYTES, end - ARCH_CALL_BYTES);

		if (!is_internal(file, called) && !is_cancel(file, called))
			return -1;
	}
	return number;
}

void call_number_find(const struct elf_file *file, struct call_number *call)
{
	struct code_bytes before;
	long passed = ARCH_SYSCALL_NUMBERLESS;

	call->number = -1;
	call->passing = 0;
	if (read_code_bytes(file, call->addresses[0], ARCH_SYSCALL_CODE, 0, &before))
		call->number = (int32_t)arch_syscall_before(before.code, before.bytes);
	if (call->number >= 0)
		return;
	/* Find glibc's functions even outside of system calls, so that their frames are hidden. */
	for (uint32_t at = 1; at < CALL_NUMBER_FRAMES && passed == ARCH_SYSCALL_NUMBERLESS; at++) {
		passed = passed_number(file, call->addresses[at]);
		if (passed < 0)
			continue;
		call->passing = at;
		if (call->number == ARCH_SYSCALL_NUMBERLESS)
			call->number = (int32_t)passed;
	}
}

/* The Makefile generates this: a line [number] = "name" for each __NR_name of <sys/syscall.h>. */
static const char *const names[] = {
#include "system_calls.inc"
};

const char *call_number_name(long number)
{
	return number >= 0 && (size_t)number < sizeof(names) / sizeof(names[0]) ? names[number]
										: NULL;
}
