/* SPDX-License-Identifier: MIT */
/*
 * Decide whether a preloaded library can be loaded into the ELF file that a command runs.
 * preflight.h finds that file.
 */
#ifndef CLI_RUN_ADMISSION_H
#define CLI_RUN_ADMISSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/diag.h"

/*
 * How executing a file would change the privileges of the process. If they change, the kernel sets
 * AT_SECURE and ld.so ignores LD_PRELOAD. Source: cap_bprm_creds_from_file() in the kernel's
 * security/commoncap.c, and bprm_fill_uid() in fs/exec.c.
 */
enum privilege_change {
	PRIVILEGE_SAME = 0,
	PRIVILEGE_USER,         /* set-user-id to another user */
	PRIVILEGE_GROUP,        /* set-group-id to another group */
	PRIVILEGE_CAPABILITIES, /* file capabilities */
	/* flamerun's own effective ids differ from its real ids */
	PRIVILEGE_OURSELVES
};

/* Properties of a file by which executing it can change privileges. */
struct privilege_file {
	mode_t mode;
	uid_t owner;
	gid_t group;
	/* the file system is mounted nosuid: set-id bits and capabilities are ignored */
	bool nosuid;
	bool cap_effective; /* with the effective flag */
	bool cap_permitted; /* any permitted capability */
};

/* The process that would execute the file. */
struct privilege_self {
	uid_t uid, euid;
	gid_t gid, egid;
	bool no_new_privs;
};

/* Fill @file from the opened file @descriptor. Returns 0 or -errno. */
int privilege_read_file(int descriptor, struct privilege_file *file);

void privilege_read_self(struct privilege_self *self);

/* Returns how privileges change when @self executes @file, from these values alone. */
enum privilege_change privilege_decide(
	const struct privilege_file *file, const struct privilege_self *self);

/* How to sample a program if the library cannot be loaded into it. */
enum admission_way {
	ADMISSION_REFUSED = 0,
	ADMISSION_OUTSIDE /* by a tracer: outside.h */
};

/*
 * Check whether the library can be loaded into a file.
 * @descriptor: the file, opened for reading; borrowed. It begins with the ELF magic number.
 * @name: the file's name in messages; borrowed.
 * @self: the process that would execute the file.
 * @way: if the library cannot be loaded, set to how the program can be sampled instead; may be
 *           NULL.
 *
 * Returns 0; -ENOTSUP with @message filled if the library cannot be loaded (static program, other
 * CPU or word size, other C library, privileges change); -ENOEXEC with @message filled if the
 * kernel would not run the file either; -ENOENT with @message filled if the file's loader is
 * missing; -errno of reading.
 */
int admission_check(int descriptor, const char *name, const struct privilege_self *self,
	enum admission_way *way, struct diag_message *message);

#endif
