/* SPDX-License-Identifier: MIT */
/*
 * system [MILLISECONDS]: use a part of the CPU time in the kernel, only in read(2), and the other
 * part in main(). The program prints "user" and "system", measured by getrusage(2).
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/targets/spin.h"

static uint64_t in_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	static char bytes[1 << 16];
	uint64_t limit_ns = argument(argc, argv, 1, 2000) * 1000000ULL;
	int zeroes = open("/dev/zero", O_RDONLY);
	struct rusage used;

	do {
		for (unsigned i = spin_random(300, 900); i; i--)
			if (read(zeroes, bytes, sizeof(bytes)) < 0)
				return 1;
		spin(spin_random(20, 60));
		getrusage(RUSAGE_SELF, &used);
	} while (in_ns(used.ru_utime) + in_ns(used.ru_stime) < limit_ns);
	tell("user", in_ns(used.ru_utime));
	tell("system", in_ns(used.ru_stime));
	return 0;
}
