/* SPDX-License-Identifier: MIT */
/*
 * Explain why a process cannot be traced or read: which rule forbids it, and what would allow it.
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

struct refusal_facts {
	pid_t pid;
	char who[64];	 /* for messages: "1234 (redis-server)" */
	char user[64];	 /* name of its user */
	bool is_root;	 /* flamerun runs as root, perhaps of a user namespace only */
	bool is_ours;	 /* its user is flamerun's effective user */
	bool is_private; /* it is not dumpable (prctl(2), PR_SET_DUMPABLE) */
	int yama_scope;	 /* ptrace_scope; 0: no Yama */
	bool shares_user_namespace;
};

/*
 * Check what is known before attaching. Refuses a process that does not exist, has ended, is traced
 * already or has another word size, a thread's id, a kernel thread, and flamerun itself.
 * Returns 0, or -errno with @message filled.
 */
int refusal_predict(pid_t pid, struct diag_message *message);

/* Explain EPERM of tracing @facts->pid: fill @message with the rule. Returns -EPERM. */
int refusal_of_permission(const struct refusal_facts *facts, struct diag_message *message);

/* Explain @error (a negative errno) of reading what a thread of @pid waits for. Returns -errno. */
int refusal_of_looking(pid_t pid, int error, struct diag_message *message);

/* Fill @message and return true if process_vm_readv(2) always fails, as under a seccomp filter. */
bool refusal_of_memory(struct diag_message *message);

/* Explain @error (a negative errno) of attaching to @pid. Returns @error. */
int refusal_explain(pid_t pid, int error, struct diag_message *message);

#endif
