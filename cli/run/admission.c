/* SPDX-License-Identifier: MIT */
/*
 * What an ELF file's headers say about LD_PRELOAD. Layout and rules: elf(5), load_elf_binary() in
 * the kernel's fs/binfmt_elf.c. Nothing read from the file is believed before it is bounded.
 */
#include "cli/run/admission.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/needed.h"
#include "cli/run/sanitizer.h"

#define PROGRAM_HEADERS_BYTES_MAX 65536 /* the kernel takes no more */
#define DYNAMIC_ENTRIES_MAX       4096

#define ANY_PROGRAM_HINT "perf record --call-graph dwarf samples any program"

/* Our own ELF header: what a program must look like to hold a library of ours. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct image {
	int descriptor;
	const char *name;
	ElfW(Ehdr) header;
	char loader[PATH_MAX]; /* "" when there is no PT_INTERP */
	uint64_t dynamic_offset, dynamic_bytes;
};

static int read_at(int descriptor, void *out, size_t bytes, uint64_t offset)
{
	ssize_t have;

	if (offset > INT64_MAX - bytes)
		return -ENOEXEC;
	have = pread(descriptor, out, bytes, (off_t)offset);
	if (have < 0)
		return -errno;
	return (size_t)have == bytes ? 0 : -ENOEXEC;
}

static const char *machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{EM_386, "x86"},
		{EM_X86_64, "x86_64"},
		{EM_AARCH64, "aarch64"},
		{EM_ARM, "arm"},
		{EM_RISCV, "riscv"},
		{EM_PPC64, "ppc64"},
		{EM_S390, "s390"},
		{EM_MIPS, "mips"},
		{EM_LOONGARCH, "loongarch"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "another CPU";
}

/* The fields up to e_machine have the same place for both word sizes and are read first. */
static int check_kind(const struct image *image, struct diag_message *message)
{
	const ElfW(Ehdr) *header = &image->header;
	const ElfW(Ehdr) *ours = &__ehdr_start;

	if (header->e_ident[EI_DATA] != ours->e_ident[EI_DATA]) {
		diag_fail(message, -ENOTSUP, "'%s' is made for a CPU of the other byte order",
			image->name);
		diag_fail_hint(message, "profile it on a machine it was made for");
		return -ENOTSUP;
	}
	if (header->e_ident[EI_CLASS] != ours->e_ident[EI_CLASS]) {
		diag_fail(message, -ENOTSUP, "'%s' is a %s-bit program, this flamerun is not",
			image->name, header->e_ident[EI_CLASS] == ELFCLASS32 ? "32" : "64");
		diag_fail_hint(message, ANY_PROGRAM_HINT);
		return -ENOTSUP;
	}
	if (header->e_machine != ours->e_machine) {
		diag_fail(message, -ENOTSUP, "'%s' is made for %s, this flamerun is for %s",
			image->name, machine_name(header->e_machine),
			machine_name(ours->e_machine));
		diag_fail_hint(message, "profile it on a machine it was made for");
		return -ENOTSUP;
	}
	return 0;
}

static int read_loader(struct image *image, const ElfW(Phdr) *segment)
{
	int error;

	if (segment->p_filesz < 2 || segment->p_filesz > sizeof(image->loader))
		return -ENOEXEC;
	error = read_at(image->descriptor, image->loader, segment->p_filesz, segment->p_offset);
	if (!error && image->loader[segment->p_filesz - 1])
		error = -ENOEXEC;
	if (error)
		image->loader[0] = '\0';
	return error;
}

static int read_segments(struct image *image)
{
	const ElfW(Ehdr) *header = &image->header;
	int error = 0;

	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	if (header->e_phentsize != sizeof(ElfW(Phdr)) || !header->e_phnum ||
		header->e_phnum * sizeof(ElfW(Phdr)) > PROGRAM_HEADERS_BYTES_MAX)
		return -ENOEXEC;
	for (unsigned i = 0; i < header->e_phnum && !error; i++) {
		ElfW(Phdr) segment;

		if (header->e_phoff > INT64_MAX - PROGRAM_HEADERS_BYTES_MAX)
			return -ENOEXEC;
		error = read_at(image->descriptor, &segment, sizeof(segment),
			header->e_phoff + i * sizeof(segment));
		if (error)
			break;
		if (segment.p_type == PT_INTERP && !image->loader[0])
			error = read_loader(image, &segment);
		if (segment.p_type == PT_DYNAMIC) {
			image->dynamic_offset = segment.p_offset;
			image->dynamic_bytes = segment.p_filesz;
		}
	}
	return error;
}

/*
 * Without PT_INTERP a file is static, or it is ld.so itself, run as "ld.so ./program": that one is
 * a shared object, not marked as a (static) position independent executable.
 */
static bool is_loader(const struct image *image)
{
	uint64_t count = image->dynamic_bytes / sizeof(ElfW(Dyn));
	bool has_name = false;

	if (image->header.e_type != ET_DYN)
		return false;
	for (uint64_t i = 0; i < count && i < DYNAMIC_ENTRIES_MAX; i++) {
		ElfW(Dyn) entry;

		if (read_at(image->descriptor, &entry, sizeof(entry),
			    image->dynamic_offset + i * sizeof(entry)))
			return false;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
			return false;
		if (entry.d_tag == DT_SONAME)
			has_name = true;
	}
	return has_name;
}

static int check_loader(const struct image *image, struct diag_message *message)
{
	/* Other C libraries: with ours, which needs glibc, their programs would not start. */
	static const char *const others[] = {"ld-musl", "ld-uClibc", "linker"};
	const char *slash = strrchr(image->loader, '/');
	const char *base = slash ? slash + 1 : image->loader;

	if (!image->loader[0]) {
		if (is_loader(image))
			return 0;
		diag_fail(message, -ENOTSUP,
			"'%s' is statically linked, no library can be put into it", image->name);
		diag_fail_hint(message, "link it without -static; or: " ANY_PROGRAM_HINT);
		return -ENOTSUP;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strncmp(base, others[i], strlen(others[i])))
			continue;
		diag_fail(message, -ENOTSUP, "'%s' uses another C library than glibc (%s)",
			image->name, base);
		diag_fail_hint(message, ANY_PROGRAM_HINT);
		return -ENOTSUP;
	}
	if (access(image->loader, F_OK))
		return diag_fail(message, -errno, "cannot run '%s': its loader '%s': %s",
			image->name, image->loader, strerror(errno));
	return 0;
}

static void name_user(const struct privilege_file *file, char *out, size_t bytes)
{
	const struct passwd *user = getpwuid(file->owner);

	if (user)
		snprintf(out, bytes, "%s", user->pw_name);
	else
		snprintf(out, bytes, "uid %u", (unsigned)file->owner);
}

/* What people put before a command to run it as somebody else; it belongs before flamerun. */
static const char *prefix_command(const char *name)
{
	static const char *const commands[] = {"sudo", "doas", "pkexec"};
	const char *slash = strrchr(name, '/');

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(slash ? slash + 1 : name, commands[i]))
			return commands[i];
	return NULL;
}

static int check_privileges(
	const struct image *image, const struct privilege_self *self, struct diag_message *message)
{
	struct privilege_file file;
	char user[64];
	int error = privilege_read_file(image->descriptor, &file);

	if (error)
		return error;
	switch (privilege_decide(&file, self)) {
	case PRIVILEGE_SAME:
		return 0;
	case PRIVILEGE_USER:
		name_user(&file, user, sizeof(user));
		diag_fail(message, -ENOTSUP,
			"'%s' is set-user-id: the loader ignores preloaded libraries", image->name);
		if (prefix_command(image->name))
			diag_fail_hint(message, "put it first: %s flamerun ...",
				prefix_command(image->name));
		else
			diag_fail_hint(message, "run flamerun as %s", user);
		return -ENOTSUP;
	case PRIVILEGE_GROUP:
		diag_fail(message, -ENOTSUP,
			"'%s' is set-group-id: the loader ignores preloaded libraries",
			image->name);
		diag_fail_hint(message, "profile a copy of it: cp drops the bit");
		return -ENOTSUP;
	case PRIVILEGE_CAPABILITIES:
		diag_fail(message, -ENOTSUP,
			"'%s' has file capabilities: the loader ignores preloaded libraries",
			image->name);
		diag_fail_hint(message, "run flamerun as root, or profile a copy: cp drops them");
		return -ENOTSUP;
	case PRIVILEGE_OURSELVES:
		return diag_fail(message, -ENOTSUP,
			"flamerun runs with other effective than real ids: the loader ignores "
			"preloaded libraries");
	}
	return -EINVAL;
}

int admission_check(int descriptor, const char *name, const struct privilege_self *self,
	enum admission_way *way, struct diag_message *message)
{
	enum admission_way ignored = ADMISSION_REFUSED;
	struct image image = {.descriptor = descriptor, .name = name};
	/* All that the two word sizes have in common; a file of 52 bytes can be a whole header. */
	size_t common = offsetof(ElfW(Ehdr), e_version);
	struct needed_file file;
	int error = read_at(descriptor, &image.header, common, 0);

	way = way ? way : &ignored;
	*way = ADMISSION_REFUSED;
	if (!error)
		error = check_kind(&image, message);
	if (error == -ENOTSUP)
		return error;
	if (!error)
		error = read_at(descriptor, &image.header, sizeof(image.header), 0);
	if (!error)
		error = read_segments(&image);
	if (error)
		return diag_fail(message, error, "cannot run '%s': %s", name, strerror(-error));
	/* The kernel takes the privileges from a program that others than root trace. */
	error = check_privileges(&image, self, message);
	if (error == -ENOTSUP && !self->euid && !self->uid)
		*way = ADMISSION_OUTSIDE;
	if (error)
		return error;
	*way = ADMISSION_OUTSIDE;
	error = check_loader(&image, message);
	if (error)
		return error;
	/* Its leak checker fails under a tracer. */
	*way = ADMISSION_REFUSED;
	file = (struct needed_file){.descriptor = descriptor,
		.header = &image.header,
		.dynamic_offset = image.dynamic_offset,
		.dynamic_bytes = image.dynamic_bytes};
	return sanitizer_check(&file, name, message);
}
