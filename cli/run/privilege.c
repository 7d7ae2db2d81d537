/* SPDX-License-Identifier: MIT */
/*
 * Set-id bits and file capabilities, as the kernel weighs them at exec.
 */
#include "cli/run/privilege.h"

#include <endian.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* security.capability: struct vfs_ns_cap_data, little endian, its tail absent before version 3. */
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
	/* Without the group's x bit, S_ISGID once meant mandatory locking and changes no ids. */
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
	/* no_new_privs withholds the capabilities, yet the effective flag still sets AT_SECURE. */
	if (file->cap_effective && self->uid != 0)
		return PRIVILEGE_CAPABILITIES;
	return PRIVILEGE_SAME;
}
