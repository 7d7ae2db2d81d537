/* SPDX-License-Identifier: MIT */
/* Processes that may not make executable memory, for tests: by seccomp, as containers do. */
#ifndef TESTS_UNIT_DENY_EXECUTABLE_H
#define TESTS_UNIT_DENY_EXECUTABLE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/*
 * From now on mprotect() to executable answers EACCES, as under PR_SET_MDWE; @memfd:
 * memfd_create(), too. Returns 0 where that can be had.
 */
static inline int deny_executable(int memfd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 2, 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, memfd ? SYS_memfd_create : 0xffff, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
