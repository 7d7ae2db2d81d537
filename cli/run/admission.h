/* SPDX-License-Identifier: MIT */
/*
 * Can a preloaded library get into this ELF file? Only the file is looked at; how a command leads
 * to it is preflight.h.
 */
#ifndef CLI_RUN_ADMISSION_H
#define CLI_RUN_ADMISSION_H

#include "cli/diag.h"
#include "cli/run/privilege.h"

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
