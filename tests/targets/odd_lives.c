/* SPDX-License-Identifier: MIT */
/*
 * odd_lives CASE: unusual states of processes that the library could break. Each state begins after
 * some CPU time was used. Output and exit status must equal those without flamerun.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

/* Allow only write() and exit_group(), not even the return from a signal handler. */
static const struct sock_filter only_write[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void confined(int by_prctl)
{
	struct sock_fprog program = {sizeof(only_write) / sizeof(*only_write),
		(struct sock_filter *)only_write};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_prctl)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	else
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	spin(4000);
	if (write(STDOUT_FILENO, "confined\n", 9) != 9)
		abort();
	syscall(SYS_exit_group, 5);
}

/*
 * The first child in a new pid namespace is this namespace's init. It must be the program's child,
 * not the library's.
 */
static void new_pid_namespace(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID)) {
		puts("no namespaces here");
		return;
	}
	spin(4000);
	usleep(300000);
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		int status = -1;
		if (!child)
			_exit(getpid());
		waitpid(child, &status, 0);
		printf("child %d: status %x\n", i, (unsigned)status);
		if (!i)
			break;
	}
}

static void *burn(void *argument)
{
	spin(400);
	return argument;
}

static void threads(void)
{
	pthread_t ids[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&ids[i], NULL, burn, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
}

/* fork() without libc. */
static void raw_fork(void)
{
	int status;
	long child = syscall(SYS_clone, (long)17, 0, 0, 0, 0);

	if (!child) {
		threads();
		_exit(7);
	}
	waitpid((pid_t)child, &status, 0);
	printf("status %x\n", (unsigned)status);
}

/* No thread can get a timer. Threads must start, compute and end as usual. */
static void no_timers(void)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_SIGPENDING, &none);
	for (int i = 0; i < 8; i++)
		threads();
}

static void fork_refused(void)
{
	const struct rlimit none = {1, 1};

	setrlimit(RLIMIT_NPROC, &none);
	if (!getuid() && setuid(65534))
		return;
	for (int i = 0; i < 5; i++)
		printf("fork: %d\n", fork());
}

static void dumped(void)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[4096];
	unsigned long kb = 0, size_kb = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		sscanf(line, "Size: %lu", &size_kb);
		if (!strncmp(line, "VmFlags:", 8) && strstr(line, " sh ") && !strstr(line, " dd "))
			kb += size_kb;
	}
	if (maps)
		fclose(maps);
	printf("a core dump holds more than 1 MB of shared memory: %d\n", kb > 1024);
}

/*
 * Wait for children of any kind, before and after some work. There must be none, because the
 * program has made none.
 */
static void any_child(unsigned turns)
{
	spin(12000);
	for (int i = 0; i < 2; i++) {
		int child = waitpid(-1, NULL, __WALL);
		printf("child %d, errno %d\n", child, errno);
		child = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | __WCLONE);
		printf("child %d, errno %d\n", child, errno);
		for (unsigned j = 0; j < turns; j++)
			spin(12000);
	}
}

static void allocate(size_t megabytes)
{
	char *memory = malloc(megabytes << 20);

	if (memory)
		memory[0] = 1;
	puts(memory ? "allocated" : "out of memory");
	free(memory);
}

/* Exec the child in another root folder without the library. LD_PRELOAD names no file there. */
static void other_root(char **words)
{
	if (chroot(words[0])) {
		puts("no chroot here");
		return;
	}
	chdir("/");
	fflush(stdout);
	execl("/child", "child", "child", NULL);
}

/* Change the root folder before the program has a sample, so that /proc disappears. */
BOX static void root_left(const char *root, int by_syscall)
{
	if (by_syscall ? syscall(SYS_chroot, root) : chroot(root)) {
		puts("no chroot here");
		return;
	}
	spin(4000);
	KEEP_FRAME();
}

BOX static void *goes_on(void *argument)
{
	spin(4000);
	puts("end");
	return argument;
}

/* The main thread ends before the first sample. The process's links in /proc are then gone. */
static void main_gone(void)
{
	pthread_t id;

	pthread_create(&id, NULL, goes_on, NULL);
	pthread_exit(NULL);
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";

	if (!strcmp(what, "child")) {
		printf("LD_PRELOAD: %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
		return 0;
	}
	if (!strcmp(what, "root-left") && count > 3)
		root_left(words[2], !strcmp(words[3], "by-syscall"));
	else if (!strcmp(what, "main-gone"))
		main_gone();
	/* The library must fork no child before this one. */
	else if (strcmp(what, "new-pid-namespace"))
		spin(3000);
	if (!strcmp(what, "confined-by-prctl"))
		confined(1);
	else if (!strcmp(what, "confined-by-syscall"))
		confined(0);
	else if (!strcmp(what, "new-pid-namespace"))
		new_pid_namespace();
	else if (!strcmp(what, "raw-fork"))
		raw_fork();
	else if (!strcmp(what, "no-timers"))
		no_timers();
	else if (!strcmp(what, "fork-refused"))
		fork_refused();
	else if (!strcmp(what, "dumped"))
		dumped();
	else if (!strcmp(what, "any-child"))
		any_child(argument(count, words, 2, 10));
	else if (!strcmp(what, "allocate"))
		allocate(64);
	else if (!strcmp(what, "allocate-more"))
		allocate(320);
	else if (!strcmp(what, "other-root") && count > 2)
		other_root(words + 2);
	else if (strcmp(what, "root-left"))
		return 2;
	puts("end");
	return 0;
}
