/* SPDX-License-Identifier: MIT */
/*
 * confine UID PROGRAM [ARGUMENT...]: exec a program as a container's user would run it: with
 * another uid (if allowed), without capabilities, with no_new_privs, and with a seccomp filter that
 * returns EPERM for the system calls that container runtimes refuse to a profiler: perf_event_open,
 * ptrace, process_vm_readv/writev, bpf.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int die(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	return 125;
}

/*
 * The filter need not check the architecture, because it is only for tests and no security
 * boundary.
 */
static int install_filter(void)
{
#define REFUSE(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_perf_event_open),
		REFUSE(SYS_ptrace),
		REFUSE(SYS_process_vm_readv),
		REFUSE(SYS_process_vm_writev),
		REFUSE(SYS_bpf),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	return (int)syscall(SYS_capset, &header, none);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: confine UID PROGRAM [ARGUMENT...]\n", stderr);
		return 125;
	}
	uid_t uid = (uid_t)strtoul(argv[1], NULL, 10);
	for (int capability = 0; capability <= 63; capability++)
		prctl(PR_CAPBSET_DROP,
			capability); /* EINVAL after the last capability, EPERM if not root */
	if (geteuid() == 0 &&
		(setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		return die("cannot become another user");
	if (drop_capabilities())
		return die("cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return die("no_new_privs");
	if (install_filter())
		return die("cannot install the filter");
	execvp(argv[2], argv + 2);
	return die(argv[2]);
}
