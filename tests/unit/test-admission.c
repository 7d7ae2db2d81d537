/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Decide which ELF files a preloaded library can be loaded into, and when the kernel sets
 * AT_SECURE. The files are made by hand, whole or damaged. The last test compares the result with
 * the kernel's own AT_SECURE.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/run/admission.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

enum {
	INTERP,
	DYNAMIC,
	LOAD,
	SEGMENTS
};

/* The contents of a small program's ELF file. */
struct program {
	ElfW(Ehdr) header;
	ElfW(Phdr) segments[SEGMENTS];
	ElfW(Dyn) dynamic[3];
	char loader[64];
};

static struct diag_message message;
static struct privilege_self self;

/* Make a dynamic program for this CPU. */
static struct program make_sound_program(void)
{
	struct program program = {.header = __ehdr_start};

	program.header.e_type = ET_DYN;
	program.header.e_phoff = offsetof(struct program, segments);
	program.header.e_phentsize = sizeof(ElfW(Phdr));
	program.header.e_phnum = SEGMENTS;
	program.segments[INTERP] = (ElfW(Phdr)){
		.p_type = PT_INTERP,
		.p_offset = offsetof(struct program, loader),
		.p_filesz = sizeof("/bin/sh"),
	};
	strcpy(program.loader, "/bin/sh"); /* any existing file */
	program.segments[DYNAMIC] = (ElfW(Phdr)){
		.p_type = PT_DYNAMIC,
		.p_offset = offsetof(struct program, dynamic),
		.p_filesz = sizeof(program.dynamic),
	};
	program.segments[LOAD] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_filesz = sizeof(program)};
	program.dynamic[0].d_tag = DT_NEEDED;
	return program;
}

static int check_bytes(const void *file, size_t bytes)
{
	int descriptor = memfd_create("program", MFD_CLOEXEC);
	int error;

	memset(&message, 0, sizeof(message));
	privilege_read_self(&self);
	assert_int_equal(write(descriptor, file, bytes), bytes);
	error = admission_check(descriptor, "prog", &self, NULL, &message);
	close(descriptor);
	assert_int_equal(message.text[0] != '\0', error != 0);
	return error;
}

static int check(const struct program *program)
{
	return check_bytes(program, sizeof(*program));
}

static void refused(const struct program *program, const char *because)
{
	assert_int_equal(check(program), -ENOTSUP);
	assert_non_null(strstr(message.text, because));
	assert_true(message.hint[0]);
}

static void a_dynamic_program_is_admitted(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	assert_int_equal(check(&program), 0);
	program.header.e_type = ET_EXEC;
	assert_int_equal(check(&program), 0);
}

static void our_own_program_is_admitted(void **state)
{
	int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (getenv("TEST_EMULATED")) /* /proc/self/exe is the emulator's */
		skip();
	privilege_read_self(&self);
	assert_int_equal(admission_check(descriptor, "self", &self, NULL, &message), 0);
	close(descriptor);
}

static void static_programs(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	program.segments[INTERP].p_type = PT_NOTE;
	refused(&program, "statically linked");
	program.header.e_type = ET_EXEC;
	refused(&program, "statically linked");
	/* DF_1_PIE distinguishes a static position-independent executable from a shared library. */
	program.header.e_type = ET_DYN;
	program.dynamic[0] = (ElfW(Dyn)){.d_tag = DT_SONAME};
	program.dynamic[1] = (ElfW(Dyn)){.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE};
	refused(&program, "statically linked");
}

/* Go's linker makes programs that need no library if they use no cgo. */
static void programs_that_need_no_library(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	program.dynamic[0] = (ElfW(Dyn)){.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE};
	refused(&program, "uses no C library");
	program.dynamic[0].d_tag = DT_NULL;
	program.dynamic[1].d_tag = DT_NEEDED;
	refused(&program, "uses no C library");
}

static void the_loader_itself_is_admitted(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	program.segments[INTERP].p_type = PT_NOTE;
	program.dynamic[0] = (ElfW(Dyn)){.d_tag = DT_SONAME};
	program.dynamic[1] =
		(ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(struct program, loader)};
	strcpy(program.loader, "ld-linux-x86-64.so.2");
	assert_int_equal(check(&program), 0);
	strcpy(program.loader, "libc.musl-x86_64.so.1");
	refused(&program, "another C library");
	program.dynamic[0].d_tag = DT_NULL;
	program.dynamic[1].d_tag = DT_SONAME;
	refused(&program, "another C library");
}

static void other_machines(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	program.header.e_machine = program.header.e_machine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
	refused(&program, "is made for");
	program.header.e_machine = 0xfedc;
	refused(&program, "another CPU");
	program = make_sound_program();
	program.header.e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	refused(&program, "-bit program");
	program = make_sound_program();
	program.header.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	refused(&program, "byte order");
}

static void a_32_bit_header_is_enough(void **state)
{
	Elf32_Ehdr header = {.e_machine = EM_386, .e_type = ET_EXEC};

	(void)state;
	memcpy(header.e_ident, __ehdr_start.e_ident, EI_NIDENT);
	header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(check_bytes(&header, sizeof(header)), -ENOTSUP);
	assert_non_null(strstr(message.text, "32-bit"));
}

static void set_loader(struct program *program, const char *loader)
{
	snprintf(program->loader, sizeof(program->loader), "%s", loader);
	program->segments[INTERP].p_filesz = strlen(loader) + 1;
}

static void other_c_libraries(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	set_loader(&program, "/lib/ld-musl-x86_64.so.1");
	refused(&program, "ld-musl-x86_64.so.1");
	set_loader(&program, "ld-musl-aarch64.so.1");
	refused(&program, "ld-musl");
	set_loader(&program, "/system/bin/linker64");
	refused(&program, "linker64");
}

static void a_missing_loader_is_named(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	set_loader(&program, "/none/ld-linux.so.9");
	assert_int_equal(check(&program), -ENOENT);
	assert_non_null(strstr(message.text, "'/none/ld-linux.so.9'"));
}

/*
 * The kernel execs none of these damaged files either, so they must not be refused for another
 * reason.
 */
static void damaged_files(void **state)
{
	const struct program whole = make_sound_program();
	struct program program;

	(void)state;
#define DAMAGED(change)                                      \
	do {                                                 \
		program = whole;                             \
		change;                                      \
		assert_int_equal(check(&program), -ENOEXEC); \
	} while (0)
	DAMAGED(program.header.e_type = ET_REL);
	DAMAGED(program.header.e_type = ET_CORE);
	DAMAGED(program.header.e_phnum = 0);
	DAMAGED(program.header.e_phnum = 1171);
	DAMAGED(program.header.e_phnum = 0xffff);
	DAMAGED(program.header.e_phentsize = 1);
	DAMAGED(program.header.e_phoff = sizeof(program));
	DAMAGED(program.header.e_phoff = UINT64_MAX);
	DAMAGED(program.header.e_phoff = INT64_MAX);
	DAMAGED(program.header.e_phoff = INT64_MAX - 65536);
	DAMAGED(program.segments[INTERP].p_offset = UINT64_MAX);
	DAMAGED(program.segments[INTERP].p_offset = sizeof(program) - 1);
	DAMAGED(program.segments[INTERP].p_filesz = 0);
	DAMAGED(program.segments[INTERP].p_filesz = 1);
	DAMAGED(program.segments[INTERP].p_filesz = 4097);
	DAMAGED(program.segments[INTERP].p_filesz = UINT64_MAX);
	DAMAGED(program.segments[INTERP].p_filesz = 3); /* no NUL at the end */
	for (size_t bytes = 4; bytes < offsetof(struct program, loader); bytes++)
		assert_int_equal(check_bytes(&whole, bytes), -ENOEXEC);
}

static void damaged_dynamic_sections_are_static_programs(void **state)
{
	struct program program = make_sound_program();

	(void)state;
	program.segments[INTERP].p_type = PT_NOTE;
	program.segments[DYNAMIC].p_offset = UINT64_MAX - 8;
	program.segments[DYNAMIC].p_filesz = UINT64_MAX;
	refused(&program, "statically linked");
	program.segments[DYNAMIC].p_offset = sizeof(program) - 8;
	refused(&program, "statically linked");
}

/* ---- privilege ------------------------------------------------------------------------------- */

#define NOBODY   65534
#define EMULATED 2 /* the kernel cannot exec this program: qemu-user runs it */

static const struct privilege_self user = {.uid = 1000, .euid = 1000, .gid = 1000, .egid = 1000};
static const struct privilege_self root = {0};

static enum privilege_change decide(struct privilege_file file, struct privilege_self who)
{
	return privilege_decide(&file, &who);
}

static void set_id_bits(void **state)
{
	const struct privilege_file su = {.mode = 04755};
	const struct privilege_file own = {.mode = 04755, .owner = 1000};
	const struct privilege_file games = {.mode = 02755, .owner = 0, .group = 60};
	const struct privilege_file locking = {.mode = 02745, .group = 60};

	(void)state;
	assert_int_equal(decide(su, user), PRIVILEGE_USER);
	assert_int_equal(decide(su, root), PRIVILEGE_SAME);
	assert_int_equal(decide(own, user), PRIVILEGE_SAME);
	assert_int_equal(decide(own, root), PRIVILEGE_USER);
	assert_int_equal(decide(games, user), PRIVILEGE_GROUP);
	assert_int_equal(decide(games, root), PRIVILEGE_GROUP);
	assert_int_equal(decide(locking, user), PRIVILEGE_SAME);
	assert_int_equal(decide((struct privilege_file){.mode = 0755}, user), PRIVILEGE_SAME);
}

static void capabilities(void **state)
{
	const struct privilege_file ping = {.cap_permitted = true, .cap_effective = true};
	const struct privilege_file permitted = {.cap_permitted = true};
	struct privilege_self confined = user;

	(void)state;
	confined.no_new_privs = true;
	assert_int_equal(decide(ping, user), PRIVILEGE_CAPABILITIES);
	assert_int_equal(decide(permitted, user), PRIVILEGE_CAPABILITIES);
	assert_int_equal(decide(ping, root), PRIVILEGE_SAME);
	assert_int_equal(decide(ping, confined), PRIVILEGE_CAPABILITIES);
	assert_int_equal(decide(permitted, confined), PRIVILEGE_SAME);
}

static void mounts_and_sandboxes_that_ignore_them(void **state)
{
	const struct privilege_file on_nosuid = {
		.mode = 06755, .nosuid = true, .cap_permitted = true, .cap_effective = true};
	struct privilege_self confined = user;

	(void)state;
	confined.no_new_privs = true;
	assert_int_equal(decide(on_nosuid, user), PRIVILEGE_SAME);
	assert_int_equal(decide((struct privilege_file){.mode = 06755}, confined), PRIVILEGE_SAME);
}

static void our_own_ids(void **state)
{
	struct privilege_self odd = user;

	(void)state;
	odd.euid = 0;
	assert_int_equal(decide((struct privilege_file){.mode = 0755}, odd), PRIVILEGE_OURSELVES);
}

/*
 * Run a copy of this program that keeps its mode and owner. Returns the AT_SECURE that the kernel
 * gives the copy.
 */
static int kernels_answer(const char *copy)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(copy, copy, "--at-secure", (char *)NULL);
		_exit(errno == ENOEXEC ? EMULATED : 9);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) <= EMULATED);
	return WEXITSTATUS(status);
}

static void copy_self(int to)
{
	char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY);
	ssize_t have;

	while ((have = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)have), have);
	close(from);
}

/*
 * Only root can make set-id files of other owners. Other users compare the modes without set-id
 * bits only.
 */
static void the_kernel_agrees(void **state)
{
	static const mode_t modes[] = {0755, 04755, 02755, 02745, 06755};
	char copy[] = "/tmp/test-privilege.XXXXXX";
	int descriptor = mkstemp(copy);
	uid_t owners[] = {getuid(), NOBODY};
	int answer = EMULATED;

	(void)state;
	copy_self(descriptor);
	close(descriptor);
	for (size_t i = 0; i < 2 * sizeof(modes) / sizeof(modes[0]); i++) {
		struct privilege_file file;
		struct privilege_self who;

		if (i % 2 && geteuid())
			continue;
		assert_int_equal(
			chown(copy, owners[i % 2], owners[i % 2] ? owners[i % 2] : getgid()), 0);
		assert_int_equal(chmod(copy, modes[i / 2]), 0);
		descriptor = open(copy, O_RDONLY | O_CLOEXEC);
		assert_int_equal(privilege_read_file(descriptor, &file), 0);
		close(descriptor);
		privilege_read_self(&who);
		answer = kernels_answer(copy);
		if (answer == EMULATED)
			break;
		assert_int_equal(privilege_decide(&file, &who) != PRIVILEGE_SAME, answer);
	}
	unlink(copy);
	if (answer == EMULATED)
		skip();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dynamic_program_is_admitted),
		cmocka_unit_test(our_own_program_is_admitted),
		cmocka_unit_test(static_programs),
		cmocka_unit_test(programs_that_need_no_library),
		cmocka_unit_test(the_loader_itself_is_admitted),
		cmocka_unit_test(other_machines),
		cmocka_unit_test(a_32_bit_header_is_enough),
		cmocka_unit_test(other_c_libraries),
		cmocka_unit_test(a_missing_loader_is_named),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(damaged_dynamic_sections_are_static_programs),
		cmocka_unit_test(set_id_bits),
		cmocka_unit_test(capabilities),
		cmocka_unit_test(mounts_and_sandboxes_that_ignore_them),
		cmocka_unit_test(our_own_ids),
		cmocka_unit_test(the_kernel_agrees),
	};

	if (argc == 2 && !strcmp(argv[1], "--at-secure"))
		_exit(getauxval(AT_SECURE) !=
			/* the copy skips the leak checker, which fails under AT_SECURE */
			0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
