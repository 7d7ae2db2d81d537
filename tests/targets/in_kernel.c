/* SPDX-License-Identifier: MIT */
/*
 * in_kernel [MILLISECONDS]: one thread runs three functions in turns. reads() has its time in
 * system calls and touches() in page faults, so both in the kernel; computes() has its time in user
 * code.
 * The program prints each function's CPU time, about a third each. It exits with 1 if a read is cut
 * short.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define PAGES 256u
#define PAGE  4096u

static char buffer[65536];

BOX static void computes(unsigned units)
{
	spin(units);
	KEEP_FRAME();
}

BOX static void reads(int file, unsigned units)
{
	for (unsigned i = 0; i < 16 * units; i++)
		if (read(file, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
			exit(1);
	KEEP_FRAME();
}

BOX static void touches(char *memory)
{
	for (unsigned i = 0; i < PAGES; i++)
		memory[i * PAGE] = 1;
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 2000) * 1000000ULL, ns[3] = {0, 0, 0}, at[4];
	int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (file < 0 || memory == MAP_FAILED || madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE))
		return 1;
	/*
	 * Skip the function that has the most time so far, so that each gets a third on any
	 * machine.
	 */
	while (ns[0] + ns[1] + ns[2] < limit_ns) {
		at[0] = cpu_ns();
		if (ns[0] <= ns[1] || ns[0] <= ns[2])
			computes(spin_random(10, 40));
		at[1] = cpu_ns();
		if (ns[1] <= ns[0] || ns[1] <= ns[2])
			reads(file, spin_random(10, 40));
		at[2] = cpu_ns();
		if (ns[2] <= ns[0] || ns[2] <= ns[1])
			touches(memory);
		at[3] = cpu_ns();
		for (int i = 0; i < 3; i++)
			ns[i] += at[i + 1] - at[i];
		if (madvise(memory, PAGES * PAGE, MADV_DONTNEED))
			return 1;
	}
	printf("computes %llu\nreads %llu\ntouches %llu\n", (unsigned long long)ns[0],
		(unsigned long long)ns[1], (unsigned long long)ns[2]);
	return 0;
}
