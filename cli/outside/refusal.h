/* SPDX-License-Identifier: MIT */
/*
 * Explain why a process cannot be traced or read: which rule forbids it, and how to allow it.
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
	char who[64];	 /* as "1234 (redis-server)" */
	char user[64];	 /* name of its user */
	/* flamerun runs as root, perhaps only in a user namespace. */
	bool is_root;
	/* The process has flamerun's effective user. */
	bool is_ours;
	/* The process is not dumpable (prctl(2), PR_SET_DUMPABLE). */
	bool is_private;
	int yama_scope;	 /* ptrace_scope; 0: no Yama */
	bool shares_user_namespace;
};

/*
 * Check before attaching whether @pid can be traced. It cannot if it does not exist, has ended, is
 * traced already, has another word size, or is a thread id, a kernel thread or flamerun itself.
 * Returns 0, or -errno with @message filled.
 */
int refusal_predict(pid_t pid, struct diag_message *message);

/* Fill @message with the rule that made tracing of @facts->pid fail with EPERM. Returns -EPERM. */
int refusal_of_permission(const struct refusal_facts *facts, struct diag_message *message);

/* Explain @error (negative errno) of reading what @pid's threads wait for. Returns -errno. */
int refusal_of_waits(pid_t pid, int error, struct diag_message *message);

/* Does a seccomp filter or the kernel forbid any process_vm_readv(2)? If so, fill @message. */
bool refusal_of_memory(struct diag_message *message);

/*
 * Fill @message with the cause of @error, a negative errno from attaching to @pid. Returns @error.
 */
int refusal_explain(pid_t pid, int error, struct diag_message *message);

#endif
