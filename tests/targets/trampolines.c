/* SPDX-License-Identifier: MIT */
/*
 * Each function is called through a few bytes of generated code (a trampoline), as CPython calls
 * its functions since 3.12 (Python/asm_trampoline.S). /tmp/perf-PID.map names this code. It has no
 * call-frame information and, on x86_64, no frame pointers. Argument: seconds of CPU time.
 *
 *	main -> py::outer -> outer -> py::middle -> middle -> py::leaf -> leaf, which spins
 *	main -> py::outer -> outer -> py::quick -> quick, which returns at once
 *
 * Every sample below main is in one of these two chains. Many samples of the second chain are in
 * the trampoline itself, before or after its call.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct trampoline {
	uint64_t (*call)(uint64_t, uint64_t, uint64_t, uint64_t (*)(uint64_t));
};

#if defined(__x86_64__)
/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
#elif defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], #16; ret */
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0060, 0xa8c17bfd, 0xd65f03c0};
#endif

static struct trampoline outer_way, middle_way, leaf_way, quick_way;

static __attribute__((noinline)) uint64_t leaf(uint64_t rounds)
{
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < rounds; i++)
		sum += i;
	return sum;
}

static __attribute__((noinline)) uint64_t quick(uint64_t number)
{
	return number + 1;
}

static __attribute__((noinline)) uint64_t middle(uint64_t rounds)
{
	return leaf_way.call(4 * rounds, 0, 0, leaf) + 1;
}

static __attribute__((noinline)) uint64_t outer(uint64_t rounds)
{
	uint64_t sum = middle_way.call(rounds, 0, 0, middle);

	for (uint64_t i = 0; i < rounds; i++)
		sum += quick_way.call(i, 0, 0, quick);
	return sum;
}

static struct trampoline make(uint8_t *at, const char *name, FILE *map)
{
	struct trampoline way;

	memcpy(at, code, sizeof(code));
	fprintf(map, "%lx %zx py::%s\n", (unsigned long)at, sizeof(code), name);
	memcpy(&way.call, &at, sizeof(way.call));
	return way;
}

static int make_all(FILE *map)
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -1;
	outer_way = make(page, "outer", map);
	middle_way = make(page + 64, "middle", map);
	leaf_way = make(page + 128, "leaf", map);
	quick_way = make(page + 192, "quick", map);
	__builtin___clear_cache((char *)page, (char *)page + 4096);
	return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	struct timespec used;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());

	FILE *map = fopen(path, "w");

	if (!map || make_all(map) || fclose(map))
		return 1;
	do {
		/* These calls take some ms; spin_until() in spin.h says why. */
		for (int i = 0; i < 300; i++)
			outer_way.call(2000, 0, 0, outer);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds);
	printf("pid %d\n", (int)getpid());
	return 0;
}
