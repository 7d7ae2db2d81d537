/* SPDX-License-Identifier: MIT */
/* For tests: make system calls fail in this process by a seccomp filter, as containers do. */
#ifndef TESTS_UNIT_DENY_H
#define TESTS_UNIT_DENY_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define DENY_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

static inline int deny_by(struct sock_filter *code, unsigned short length)
{
	struct sock_fprog program = {length, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/*
 * Make the system call @call fail with EPERM in this process. Returns 0, or nonzero if no filter
 * can be installed.
 */
static inline int deny_call(unsigned call)
{
	struct sock_filter code[] = {
		DENY_LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return deny_by(code, sizeof(code) / sizeof(code[0]));
}

/*
 * Make mprotect() with PROT_EXEC fail with EACCES in this process, as PR_SET_MDWE does; if @memfd
 * is set, make memfd_create() fail too. Returns 0, or nonzero if no filter can be installed.
 */
static inline int deny_executable(int memfd)
{
	struct sock_filter code[] = {
		DENY_LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
		DENY_LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 2, 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, memfd ? SYS_memfd_create : 0xffff, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	};

	return deny_by(code, sizeof(code) / sizeof(code[0]));
}

#endif
