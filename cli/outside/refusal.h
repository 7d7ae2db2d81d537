/* SPDX-License-Identifier: MIT */
/*
 * Why a process may not be looked into, in words: which rule said no, and what would allow it.
 * Rules: ptrace(2), "Ptrace access mode checking"; the kernel's
 * Documentation/admin-guide/LSM/Yama.rst.
 *
 * Context: any thread.
 */
#ifndef CLI_OUTSIDE_REFUSAL_H
#define CLI_OUTSIDE_REFUSAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/diag.h"

/* What the rules go by. */
struct refusal_facts {
	pid_t pid;
	char who[64];	 /* for people: "1234 (redis-server)" */
	char user[64];	 /* whose it is */
	bool is_root;	 /* we are, at least inside a user namespace */
	bool is_ours;	 /* it runs as the user that we are */
	bool is_private; /* its memory is not its user's: it changed privileges, or asked for it */
	int yama_scope;	 /* 0 where there is no Yama */
	bool shares_user_namespace;
};

/*
 * What can be said before trying: no such process, a thread's number, a kernel thread, one that has
 * ended, is traced already, or is of another word size.
 * Returns 0, or -errno with @message filled.
 */
int refusal_predict(pid_t pid, struct diag_message *message);

/* Fill @message: which rule keeps us from tracing @facts->pid, on EPERM. Returns -EPERM. */
int refusal_of_permission(const struct refusal_facts *facts, struct diag_message *message);

/* The same for @error (a negative errno) of reading what a thread of @pid waits for. */
int refusal_of_looking(pid_t pid, int error, struct diag_message *message);

/* Fill @message when nobody's memory can be read here, as by a seccomp filter. Returns whether. */
bool refusal_of_memory(struct diag_message *message);

/* Fill @message for @error (a negative errno) of attaching to @pid. Returns @error. */
int refusal_explain(pid_t pid, int error, struct diag_message *message);

#endif
