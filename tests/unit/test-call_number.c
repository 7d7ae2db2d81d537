/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Find the number of a system call from the stack of its caller, in a made-up file that contains
 * glibc's functions as Debian 13 has them.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "arch/cancellable.h"
#include "arch/epilogue.h"
#include "arch/syscall.h"
#include "cli/symbols/call_number.h"

#define BIAS	   0x400000u /* address = offset in the file + BIAS */
#define FILE_BYTES 0x600u

/* offsets of functions in the file */
#define CANCEL_ARCH 0x100u
#define INTERNAL    0x180u
#define CANCEL	    0x240u
#define READ	    0x280u
#define FUTEX	    0x2c0u
/* syscall(2), whose first parameter is the number */
#define ANY_NUMBER  0x300u
/* a function that calls ANY_NUMBER with a constant as seventh parameter */
#define USER	    0x340u
/* a function whose code before a call can be decoded in two ways */
#define TWICE	    0x3a0u
#define GETPID	    0x400u

struct fixture {
	char *bytes;
	unsigned at; /* offset at which the next code is put */
	/*
	 * offsets behind the instructions that make system calls (_made) and behind calls (_called)
	 */
	unsigned arch_made, internal_called, internal_made, cancel_called, read_called,
		futex_called, any_made, user_called, twice_called, getpid_made;
};

static unsigned put_code(struct fixture *fixture, const char *code, unsigned bytes)
{
	memcpy(fixture->bytes + fixture->at, code, bytes);
	return fixture->at += bytes;
}

#define CODE(fixture, code) put_code(fixture, code, sizeof(code) - 1)

/* Write a call of the function at offset @target. Returns the offset to which the call returns. */
static unsigned put_call(struct fixture *fixture, unsigned target)
{
#ifdef __x86_64__
	int32_t distance = (int32_t)(target - fixture->at - 5);

	CODE(fixture, "\xe8");
#else
	uint32_t distance = 0x94000000u | ((target - fixture->at) / 4 & 0x3ffffff);
#endif
	return put_code(fixture, (const char *)&distance, sizeof(distance));
}

#ifdef __x86_64__

static void put_functions(struct fixture *fixture)
{
	fixture->at = CANCEL_ARCH; /* mov (%rdi),%eax; testb $8,(%rdi); jne */
	CODE(fixture, "\x8b\x07\xf6\x07\x08\x0f\x85\xd0\xff\xff\xff");
	fixture->arch_made = CODE(fixture, ARCH_CANCELLABLE);
	CODE(fixture, "\xc3");
	fixture->at = INTERNAL;
	CODE(fixture, "\x53\x49\x89\xca\x64\x48\x8b\x1c\x25\x10\0\0\0\x8b\x83\x08\x03\0\0"
		      "\x80\x3d\xa6\xdd\x15\0\0\x75\x44\xa8\x01\x75\x40\xa8\x10\x75\x3c\x41\x51"
		      "\x4c\x8d\x9b\x08\x03\0\0\x49\x89\xc9\x48\x89\xf1\x41\x50"
		      "\x48\x8b\x74\x24\x20\x49\x89\xd0\x48\x89\xfa\x4c\x89\xdf");
	fixture->internal_called = put_call(fixture, CANCEL_ARCH);
	CODE(fixture, "\x8b\x93\x08\x03\0\0\x59\x5e\x48\x83\xf8\xfc\x74\x1a\x5b\xc3");
	fixture->internal_made = CODE(fixture, "\x48\x8b\x44\x24\x10\x0f\x05");
	CODE(fixture, "\x5b\xc3");
	fixture->at = CANCEL; /* sub $16,%rsp; push 24(%rsp) */
	CODE(fixture, "\x48\x83\xec\x10\xff\x74\x24\x18");
	fixture->cancel_called = put_call(fixture, INTERNAL);
	CODE(fixture, "\x5a\x59\xc3");
	fixture->at = READ;
	CODE(fixture, "\x48\x83\xec\x10\x48\x63\xff\x45\x31\xc9\x45\x31\xc0\x6a\0\x31\xc9");
	fixture->read_called = put_call(fixture, CANCEL);
	CODE(fixture, "\x48\x83\xc4\x18\xc3");
	fixture->at = FUTEX; /* returns -errno */
	CODE(fixture, "\x48\x83\xec\x08\x68\xca\0\0\0\x45\x31\xc0");
	fixture->futex_called = put_call(fixture, INTERNAL);
	CODE(fixture, "\x5a\x59\xc3");
	fixture->at = ANY_NUMBER;
	CODE(fixture, "\x48\x89\xf8\x48\x89\xf7\x48\x89\xd6\x48\x89\xca\x4d\x89\xc2\x4d\x89\xc8"
		      "\x4c\x8b\x4c\x24\x08");
	fixture->any_made = CODE(fixture, "\x0f\x05");
	CODE(fixture, "\xc3");
	fixture->at = USER;
	CODE(fixture, "\x48\x83\xec\x08\x6a\x02");
	fixture->user_called = put_call(fixture, ANY_NUMBER);
	CODE(fixture, "\xc3");
	/* push $1; mov $0x6a,%edx: its last bytes could also be push $0; add %al,(%rax) */
	fixture->at = TWICE;
	CODE(fixture, "\x48\x83\xec\x10\x6a\x01\xba\x6a\0\0\0");
	fixture->twice_called = put_call(fixture, CANCEL);
	fixture->at = GETPID;
	CODE(fixture, "\xb8\x27\0\0\0");
	fixture->getpid_made = CODE(fixture, "\x0f\x05");
}

#else

#define WORD(fixture, word) \
	put_code(fixture, (const char *)&(const uint32_t){word}, sizeof(uint32_t))

static void put_functions(struct fixture *fixture)
{
	fixture->at = CANCEL_ARCH;
	WORD(fixture, 0xd503245f); /* bti c */
	WORD(fixture, 0xb9400000); /* ldr w0, [x0] */
	WORD(fixture, 0x37180140); /* tbnz w0, #3 */
	fixture->arch_made = CODE(fixture, ARCH_CANCELLABLE);
	WORD(fixture, 0xd65f03c0); /* ret */
	fixture->at = INTERNAL;
	WORD(fixture, 0xd503233f); /* paciasp */
	WORD(fixture, 0xa9be7bfd); /* stp x29, x30, [sp, #-32]! */
	WORD(fixture, 0xaa0603e8); /* mov x8, x6 */
	WORD(fixture, 0x910003fd); /* mov x29, sp */
	WORD(fixture, 0xaa0803e1); /* mov x1, x8 */
	WORD(fixture, 0xaa0403e6); /* mov x6, x4 */
	WORD(fixture, 0xaa1303e0); /* mov x0, x19 */
	fixture->internal_called = put_call(fixture, CANCEL_ARCH);
	WORD(fixture, 0xb9400261); /* ldr w1, [x19] */
	fixture->internal_made = WORD(fixture, 0xd4000001);
	WORD(fixture, 0xd65f03c0);
	fixture->at = CANCEL;
	WORD(fixture, 0xd503233f);
	WORD(fixture, 0xa9bf7bfd);
	WORD(fixture, 0x910003fd);
	fixture->cancel_called = put_call(fixture, INTERNAL);
	WORD(fixture, 0xd65f03c0);
	fixture->at = READ;
	WORD(fixture, 0x528007e6); /* mov w6, #63 */
	WORD(fixture, 0xd2800004); /* mov x4, #0 */
	fixture->read_called = put_call(fixture, CANCEL);
	fixture->at = FUTEX;
	WORD(fixture, 0xd2800c46); /* mov x6, #98 */
	fixture->futex_called = put_call(fixture, INTERNAL);
	fixture->at = ANY_NUMBER;
	WORD(fixture, 0xaa0003e8); /* mov x8, x0 */
	fixture->any_made = WORD(fixture, 0xd4000001);
	fixture->at = USER;
	WORD(fixture, 0x52800046); /* mov w6, #2 */
	fixture->user_called = put_call(fixture, ANY_NUMBER);
	fixture->at = TWICE;
	WORD(fixture, 0x52800046);
	WORD(fixture, 0xf94003e6); /* ldr x6, [sp] */
	fixture->twice_called = put_call(fixture, CANCEL);
	fixture->at = GETPID;
	WORD(fixture, 0xd2801588); /* mov x8, #172 */
	fixture->getpid_made = WORD(fixture, 0xd4000001);
}

#endif

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT},
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = BIAS,
		.p_filesz = FILE_BYTES,
		.p_memsz = FILE_BYTES};

	fixture->bytes = calloc(1, FILE_BYTES);
	memcpy(fixture->bytes, &header, sizeof(header));
	memcpy(fixture->bytes + sizeof(header), &segment, sizeof(segment));
	put_functions(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->bytes);
	free(fixture);
	return 0;
}

/*
 * Find the call number for the stack @code, which lists offsets, innermost first, and ends with 0.
 */
static struct call_number find(const struct fixture *fixture, const unsigned code[4])
{
	struct call_number call = {.number = 77, .passing = 77};
	struct elf_file file;
	char *copy = malloc(FILE_BYTES);

	memcpy(copy, fixture->bytes, FILE_BYTES);
	assert_int_equal(elf_file_init_memory(&file, copy, FILE_BYTES), 0);
	for (unsigned i = 0; i < 4; i++)
		call.addresses[i] = code[i] ? BIAS + code[i] - (i ? 1 : 0) : 0;
	call_number_find(&file, &call);
	elf_file_close(&file);
	return call;
}

#define ASSERT_FOUND(expected_number, expected_passing, ...)                                \
	do {                                                                                \
		struct call_number found = find(fixture, (const unsigned[4]){__VA_ARGS__}); \
                                                                                            \
		assert_int_equal(found.number, expected_number);                            \
		assert_int_equal(found.passing, expected_passing);                          \
	} while (0)

static void test_one_thread(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_FOUND(SYS_read, 2, fixture->internal_made, fixture->cancel_called,
		fixture->read_called, 0x500);
	ASSERT_FOUND(SYS_futex, 1, fixture->internal_made, fixture->futex_called, 0x500);
}

static void test_several_threads(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_FOUND(SYS_read, 3, fixture->arch_made, fixture->internal_called,
		fixture->cancel_called, fixture->read_called);
	ASSERT_FOUND(
		SYS_futex, 2, fixture->arch_made, fixture->internal_called, fixture->futex_called);
}

/*
 * These functions run in user mode, not in a system call: there is no number, but their frames are
 * skipped all the same.
 */
static void test_in_user_mode(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_FOUND(-1, 3, CANCEL_ARCH + 12, fixture->internal_called, fixture->cancel_called,
		fixture->read_called);
	ASSERT_FOUND(-1, 2, INTERNAL, fixture->cancel_called, fixture->read_called);
	ASSERT_FOUND(-1, 1, CANCEL + 4, fixture->read_called);
	ASSERT_FOUND(-1, 0, READ + 4, fixture->read_called + 40);
}

static void test_other_calls(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_FOUND(SYS_getpid, 0, fixture->getpid_made, fixture->read_called);
	/* A constant seventh parameter of a function that calls syscall() is not the number. */
	ASSERT_FOUND(ARCH_SYSCALL_NUMBERLESS, 0, fixture->any_made, fixture->user_called, 0x500);
}

/*
 * No number is found for stacks that end early or continue in another file, nor if a caller sets
 * the number in another way.
 */
static void test_what_is_not_known(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_FOUND(ARCH_SYSCALL_NUMBERLESS, 0, fixture->arch_made);
	ASSERT_FOUND(ARCH_SYSCALL_NUMBERLESS, 0, fixture->arch_made, fixture->internal_called,
		fixture->cancel_called);
	ASSERT_FOUND(ARCH_SYSCALL_NUMBERLESS, 0, fixture->internal_made, fixture->cancel_called,
		fixture->twice_called);
	/* The call of the function goes through a register, so its target is unknown. */
	memset(fixture->bytes + fixture->read_called - ARCH_CALL_BYTES, 0, ARCH_CALL_BYTES);
	ASSERT_FOUND(ARCH_SYSCALL_NUMBERLESS, 0, fixture->internal_made, fixture->cancel_called,
		fixture->read_called);
	/*
	 * The code at CANCEL_ARCH differs by a bit, so it is not recognized as the function that
	 * makes the call.
	 */
	fixture->bytes[CANCEL_ARCH + 24] ^= 1;
	ASSERT_FOUND(ARCH_SYSCALL_NUMBERLESS, 0, fixture->internal_made, fixture->futex_called);
}

/* Code at both ends of the file. */
static void test_bounds(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_FOUND(-1, 0, 1, 2, 3, 4);
	ASSERT_FOUND(-1, 0, FILE_BYTES, FILE_BYTES, FILE_BYTES, FILE_BYTES);
	ASSERT_FOUND(-1, 0, FILE_BYTES + 1, FILE_BYTES + 2);
	fixture->at = FILE_BYTES - 2 * ARCH_CALL_BYTES;
	put_call(fixture, FILE_BYTES - 4);
	put_call(fixture, 0);
	ASSERT_FOUND(-1, 0, READ, FILE_BYTES, FILE_BYTES - ARCH_CALL_BYTES);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(call_number_name(SYS_read), "read");
	assert_string_equal(call_number_name(SYS_epoll_pwait), "epoll_pwait");
	assert_string_equal(call_number_name(SYS_futex), "futex");
	assert_null(call_number_name(-1));
	assert_null(call_number_name(ARCH_SYSCALL_NUMBERLESS));
	assert_null(call_number_name(100000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_thread),
		TEST(several_threads),
		TEST(in_user_mode),
		TEST(other_calls),
		TEST(what_is_not_known),
		TEST(bounds),
		TEST(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
