/* SPDX-License-Identifier: MIT */
/*
 * Decide whether LD_PRELOAD works for a program: check set-id bits and file capabilities by the
 * kernel's rules for exec, and ELF headers (elf_program.h). The messages are in cli/explain.def.
 *
 * Programs with AddressSanitizer are refused, because its shared runtime ends a program in which
 * another library was loaded first. ASAN_OPTIONS or a preloaded runtime would help, but would also
 * change the program and all its children, so setting them is left to the user.
 */
#include "cli/run/admission.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/explain.h"
#include "libprof/preload/elf_program.h"

/* ---- privileges ------------------------------------------------------------------------------ */

/*
 * Read the attribute security.capability. Its value is a little-endian struct vfs_ns_cap_data,
 * whose last field exists from version 3 on.
 */
static void read_capabilities(int descriptor, struct privilege_file *file)
{
	struct vfs_ns_cap_data data;
	ssize_t bytes = fgetxattr(descriptor, "security.capability", &data, sizeof(data));
	uint32_t magic;

	if (bytes < (ssize_t)XATTR_CAPS_SZ_1)
		return;
	magic = le32toh(data.magic_etc);
	file->cap_effective = magic & VFS_CAP_FLAGS_EFFECTIVE;
	file->cap_permitted = data.data[0].permitted != 0;
	if ((magic & VFS_CAP_REVISION_MASK) != VFS_CAP_REVISION_1 &&
		bytes >= (ssize_t)XATTR_CAPS_SZ_2)
		file->cap_permitted |= data.data[1].permitted != 0;
}

int privilege_read_file(int descriptor, struct privilege_file *file)
{
	struct statvfs mount;
	struct stat status;

	if (fstat(descriptor, &status))
		return -errno;
	memset(file, 0, sizeof(*file));
	file->mode = status.st_mode;
	file->owner = status.st_uid;
	file->group = status.st_gid;
	file->nosuid = !fstatvfs(descriptor, &mount) && (mount.f_flag & ST_NOSUID);
	read_capabilities(descriptor, file);
	return 0;
}

void privilege_read_self(struct privilege_self *self)
{
	self->uid = getuid();
	self->euid = geteuid();
	self->gid = getgid();
	self->egid = getegid();
	self->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

enum privilege_change privilege_decide(
	const struct privilege_file *file, const struct privilege_self *self)
{
	/* S_ISGID without S_IXGRP once meant mandatory locking, and does not change the group. */
	mode_t set_group = S_ISGID | S_IXGRP;

	if (self->uid != self->euid || self->gid != self->egid)
		return PRIVILEGE_OURSELVES;
	if (file->nosuid)
		return PRIVILEGE_SAME;
	if (!self->no_new_privs) {
		if ((file->mode & S_ISUID) && file->owner != self->uid)
			return PRIVILEGE_USER;
		if ((file->mode & set_group) == set_group && file->group != self->gid)
			return PRIVILEGE_GROUP;
		if (file->cap_permitted && self->uid != 0)
			return PRIVILEGE_CAPABILITIES;
	}
	/* no_new_privs withholds file capabilities, but the effective flag still sets AT_SECURE. */
	if (file->cap_effective && self->uid != 0)
		return PRIVILEGE_CAPABILITIES;
	return PRIVILEGE_SAME;
}

/* ---- headers --------------------------------------------------------------------------------- */

/* flamerun's own ELF header. The library requires the same CPU, word size and byte order. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct image {
	int descriptor;
	const char *name;
	struct elf_program program;
};

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

static int refuse_kind(const struct image *image, struct diag_message *message)
{
	const struct elf_program *program = &image->program;
	const ElfW(Ehdr) *ours = &__ehdr_start;

	if (program->byte_order != ours->e_ident[EI_DATA])
		return explain(message, -ENOTSUP, EXPLAIN_BYTE_ORDER, FACTS(.name = image->name));
	if (program->word_class != ours->e_ident[EI_CLASS])
		return explain(message, -ENOTSUP, EXPLAIN_WORD_SIZE,
			FACTS(.name = image->name,
				.n = program->word_class == ELFCLASS32 ? 32 : 64));
	return explain(message, -ENOTSUP, EXPLAIN_OTHER_CPU,
		FACTS(.name = image->name, .other = machine_name(program->machine),
			.why = machine_name(ours->e_machine)));
}

static int check_loader(const struct image *image, struct diag_message *message)
{
	const struct elf_program *program = &image->program;
	char loader[PATH_MAX] = "", in_words[PATH_MAX + 4] = "";
	const char *slash;

	/*
	 * elf_program_read() has checked that a NUL ends the path, but the file may have changed.
	 */
	if (pread(image->descriptor, loader, program->loader_bytes, (off_t)program->loader_offset) <
		0)
		return -errno;
	loader[sizeof(loader) - 1] = '\0';
	slash = strrchr(loader, '/');
	switch (program->kind) {
	case ELF_PROGRAM_STATIC:
		return explain(message, -ENOTSUP, EXPLAIN_STATIC, FACTS(.name = image->name));
	case ELF_PROGRAM_OTHER_LIBC:
		if (loader[0])
			snprintf(in_words, sizeof(in_words), " (%s)", slash ? slash + 1 : loader);
		return explain(message, -ENOTSUP, EXPLAIN_OTHER_LIBC,
			FACTS(.name = image->name, .other = in_words));
	case ELF_PROGRAM_NO_LIBC:
		return explain(message, -ENOTSUP, EXPLAIN_NO_LIBC, FACTS(.name = image->name));
	default:
		break;
	}
	if (loader[0] && access(loader, F_OK))
		return explain(message, -errno, EXPLAIN_NO_LOADER,
			FACTS(.name = image->name, .other = loader, .why = strerror(errno)));
	return 0;
}

/*
 * Refuse a program with AddressSanitizer as a shared library, which ends the program if any library
 * was loaded before it, such as a preloaded one. A static AddressSanitizer and other sanitizers do
 * not check the order.
 */
static int check_sanitizer(const struct image *image, struct diag_message *message)
{
	if (!image->program.sanitizer[0] || elf_program_allows_any_order(getenv("ASAN_OPTIONS")) ||
		elf_program_preloads_sanitizer(getenv("LD_PRELOAD"), NULL))
		return 0;
	return explain(message, -ENOTSUP, EXPLAIN_SANITIZED,
		FACTS(.name = image->name, .other = image->program.sanitizer));
}

/* If @name is sudo, doas or pkexec, returns its name, which the user can put before flamerun. */
static const char *prefix_command(const char *name)
{
	static const char *const commands[] = {"sudo", "doas", "pkexec"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(basename(name), commands[i]))
			return commands[i];
	return NULL;
}

static int check_privileges(
	const struct image *image, const struct privilege_self *self, struct diag_message *message)
{
	const char *command = prefix_command(image->name);
	struct privilege_file file;
	char user[64];
	int error = privilege_read_file(image->descriptor, &file);

	if (error)
		return error;
	explain_user(user, sizeof(user), file.owner);
	switch (privilege_decide(&file, self)) {
	case PRIVILEGE_SAME:
		return 0;
	case PRIVILEGE_USER:
		return explain(message, -ENOTSUP,
			command ? EXPLAIN_SET_USER_COMMAND : EXPLAIN_SET_USER,
			FACTS(.name = image->name, .other = command ? command : user));
	case PRIVILEGE_GROUP:
		return explain(message, -ENOTSUP, EXPLAIN_SET_GROUP, FACTS(.name = image->name));
	case PRIVILEGE_CAPABILITIES:
		return explain(message, -ENOTSUP, EXPLAIN_CAPABILITIES, FACTS(.name = image->name));
	case PRIVILEGE_OURSELVES:
		return explain(message, -ENOTSUP, EXPLAIN_OWN_IDS, FACTS(.name = image->name));
	}
	return -EINVAL;
}

int admission_check(int descriptor, const char *name, const struct privilege_self *self,
	enum admission_way *way, struct diag_message *message)
{
	enum admission_way ignored = ADMISSION_REFUSED;
	struct image image = {.descriptor = descriptor, .name = name};
	int error = elf_program_read(descriptor, &image.program);

	way = way ? way : &ignored;
	*way = ADMISSION_REFUSED;
	if (error)
		return diag_fail(message, error, "cannot run '%s': %s", name, strerror(-error));
	if (image.program.kind == ELF_PROGRAM_OTHER_CPU)
		return refuse_kind(&image, message);
	/*
	 * The kernel lets a program keep its privileges if root traces it, so root can sample it
	 * from outside. Traced by other users, the program would lose them.
	 */
	error = check_privileges(&image, self, message);
	if (error == -ENOTSUP && !self->euid && !self->uid)
		*way = ADMISSION_OUTSIDE;
	if (error)
		return error;
	*way = ADMISSION_OUTSIDE;
	error = check_loader(&image, message);
	if (error)
		return error;
	/*
	 * A tracer is no alternative for a program with AddressSanitizer, because its leak checker
	 * fails under a tracer.
	 */
	*way = ADMISSION_REFUSED;
	return check_sanitizer(&image, message);
}
