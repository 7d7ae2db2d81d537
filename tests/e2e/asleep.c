/* SPDX-License-Identifier: MIT */
/*
 * Compare two walks of each sleeping thread's stack at the same stop: one from pc and sp alone, one
 * from all registers. Prints a line for each thread of the processes PID...:
 *
 *	TID WORD FRAMES OTHER-FRAMES END
 *
 * WORD is "equal", "incomplete" (the first walk ended early and reports this), "different" (the
 * first walk has a frame that the other lacks, or reports an end that it has not reached), or
 * "moved" if the thread ran in between. END is how the first walk ended. The other walk is by the
 * project's own unwinder or, with -u, by libunwind. With -v, both stacks are printed if they are
 * not equal, as MODULE+ADDRESS.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/ptrace.h"
#include "libprof/procfs.h"
#include "cli/outside/stackwalk.h"

static bool is_verbose, asks_libunwind;
static struct target_shared shared;
static struct memory memory;
static uint64_t ours[WIRE_MAX_DEPTH], whole[WIRE_MAX_DEPTH];

static void print_stack(const char *title, const uint64_t *frames, struct unwind_result result)
{
	printf("  %s, end %d:\n", title, result.end);
	for (unsigned i = 0; i < result.frames; i++) {
		unsigned number = WIRE_FRAME_MODULE(frames[i]);
		bool is_known = number && number <= shared.objects.count;

		printf("    %s+%#lx%s\n", is_known ? shared.objects.list[number - 1]->path : "?",
			(unsigned long)WIRE_FRAME_ADDRESS(frames[i]),
			frames[i] & WIRE_FRAME_BY_FP ? " fp" : "");
	}
}

/*
 * Returns whether two frames are equal. Ignore the mark "found by frame pointer". Next to a signal
 * frame, libunwind's address may differ by one.
 */
static bool is_same_frame(uint64_t mine, uint64_t theirs)
{
	mine &= ~WIRE_FRAME_BY_FP;
	theirs &= ~WIRE_FRAME_BY_FP;
	return mine == theirs || (asks_libunwind && mine - theirs + 1 <= 2);
}

static const char *judge(struct unwind_result asleep, struct unwind_result all)
{
	unsigned shared_frames = asleep.frames < all.frames ? asleep.frames : all.frames;

	for (unsigned i = 0; i < shared_frames; i++)
		if (!is_same_frame(ours[i], whole[i]))
			return "different";
	if (asleep.frames == all.frames && asleep.end == all.end)
		return "equal";
	if (asleep.frames <= all.frames && asleep.end == WIRE_END_LOST)
		return "incomplete";
	return "different";
}

static void compare(struct target *target, pid_t tid, const struct procfs_syscall *told)
{
	struct stackwalk walk = {.target = target, .shared = &shared, .memory = &memory};
	uint64_t regset[ARCH_REGSET_BYTES / 8];
	struct iovec iov = {.iov_base = regset, .iov_len = sizeof(regset)};
	struct arch_registers registers;
	struct unwind_result asleep, all;
	const char *word = "moved";

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov))
		return;
	arch_registers_from_regset(&registers, regset);
	memory_begin(&memory, target->pid);
	asleep = stackwalk_asleep(&walk, told->pc, told->sp, ours);
	all = asks_libunwind ? fallback_run(&walk, &registers, whole)
			     : stackwalk_run(&walk, &registers, whole);
	if (registers.r[ARCH_DWARF_PC] == told->pc && registers.r[ARCH_DWARF_SP] == told->sp &&
		all.frames)
		word = judge(asleep, all);
	printf("%d %s %u %u %d\n", tid, word, asleep.frames, all.frames, asleep.end);
	if (!is_verbose || !strcmp(word, "equal"))
		return;
	print_stack("from pc and sp", ours, asleep);
	print_stack("from all registers", whole, all);
}

static void look(struct target *target, pid_t tid)
{
	struct procfs_syscall told;
	int file = procfs_open(target->pid, tid, "syscall"), status;
	int error = file < 0 ? file : procfs_syscall_read(file, &told);

	if (file >= 0)
		close(file);
	if (error || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return;
	if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && waitpid(tid, &status, __WALL) == tid &&
		WIFSTOPPED(status))
		compare(target, tid, &told);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static void read_all(pid_t pid)
{
	char path[64];
	struct target *target = target_new(pid);
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	target_announce(target, &shared, 0, 0);
	target_remap(target, &shared);
	while (tasks && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			look(target, atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
	target_free(target);
}

int main(int argc, char **argv)
{
	shared.pipe_writer = &(struct pipe_writer){.descriptor = -1};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			is_verbose = true;
		else if (!strcmp(argv[i], "-u"))
			asks_libunwind = true;
		else
			read_all(atoi(argv[i]));
	}
	objects_release(&shared.objects);
	return 0;
}
