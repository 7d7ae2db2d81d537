/* SPDX-License-Identifier: MIT */
/*
 * Can a preloaded library get into this ELF file? Only the file is looked at; how a command leads
 * to it is preflight.h.
 */
#ifndef CLI_RUN_ADMISSION_H
#define CLI_RUN_ADMISSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/diag.h"

/*
 * Would running a file change what the process may do? Then the kernel sets AT_SECURE and ld.so
 * ignores LD_PRELOAD. The rules are those of cap_bprm_creds_from_file() in the kernel's
 * security/commoncap.c and of bprm_fill_uid() in fs/exec.c.
 */
enum privilege_change {
	PRIVILEGE_SAME = 0,
	PRIVILEGE_USER,         /* set-user-id, and not ours already */
	PRIVILEGE_GROUP,        /* set-group-id, and not ours already */
	PRIVILEGE_CAPABILITIES, /* file capabilities */
	PRIVILEGE_OURSELVES     /* flamerun itself runs with other effective than real ids */
};

/* What the file asks for. */
struct privilege_file {
	mode_t mode;
	uid_t owner;
	gid_t group;
	bool nosuid;        /* its mount ignores set-id bits and capabilities */
	bool cap_effective; /* capabilities with the effective flag */
	bool cap_permitted; /* any permitted capability */
};

/* Who would run it. */
struct privilege_self {
	uid_t uid, euid;
	gid_t gid, egid;
	bool no_new_privs;
};

/* Read both. @descriptor is the opened file. Returns 0 or -errno. */
int privilege_read_file(int descriptor, struct privilege_file *file);

void privilege_read_self(struct privilege_self *self);

/* What would change. A pure function. */
enum privilege_change privilege_decide(
	const struct privilege_file *file, const struct privilege_self *self);

/* How a program can be sampled that no library gets into. */
enum admission_way {
	ADMISSION_REFUSED = 0,
	ADMISSION_OUTSIDE /* by a tracer: outside.h */
};

/*
 * @descriptor  the file, opened for reading; borrowed. Its first bytes are the ELF magic number.
 * @name        what to call it in messages; borrowed.
 * @self        who would run it.
 * @way         set when the library cannot get in; may be NULL
 *
 * Returns 0; -ENOTSUP with @message filled when the library cannot get in (static, other CPU or
 * word size, other C library, privileges change); -ENOEXEC with @message filled when the kernel
 * would not run it either, -ENOENT when its loader is missing; -errno of reading.
 */
int admission_check(int descriptor, const char *name, const struct privilege_self *self,
	enum admission_way *way, struct diag_message *message);

#endif
