/* SPDX-License-Identifier: MIT */
/*
 * Two programs that run under one flamerun. "lie" writes random values to all parts of the shared
 * arena that other processes read, until it is killed. "work" has threads and forks; the results
 * that it prints must be equal each time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/wire.h"

#define THREADS 16
#define ROUNDS	8

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *map_arena(void)
{
	const char *channel = getenv(WIRE_ENV);
	unsigned pid, descriptor;
	struct stat status;
	char path[64];
	void *arena;
	int fd;

	if (!channel || sscanf(channel, "%u:%u:", &pid, &descriptor) != 2)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, descriptor);
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &status))
		return NULL;
	arena = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return arena == MAP_FAILED ? NULL : arena;
}

/*
 * Returns whether the word at offset @at must keep its value, because other programs recognize the
 * arena by it.
 */
static int is_kept(uint64_t at)
{
	const uint64_t kept[] = {offsetof(struct wire_arena, magic),
		offsetof(struct wire_arena, version), offsetof(struct wire_arena, cookie),
		offsetof(struct wire_arena, closing), offsetof(struct wire_arena, blocks)};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (at == kept[i] / 4)
			return 1;
	return at == offsetof(struct wire_arena, cookie) / 4 + 1 || at == 1;
}

static int lie(void)
{
	uint32_t *words = map_arena();
	uint64_t random = 88172645463325252ULL;

	if (!words)
		return 1;
	alarm(120); /* in case that it is not killed */
	puts("lying");
	fflush(stdout);
	for (;;) {
		uint64_t choice = next_random(&random);
		/*
		 * Choose random offsets in the first slots, the header, the blocks, the first
		 * control rings and the start of the pool.
		 */
		uint64_t places[] = {WIRE_SLOTS_OFFSET + (choice >> 8) % (8 * WIRE_SLOT_STRIDE),
			(choice >> 8) % sizeof(struct wire_arena),
			WIRE_BLOCKS_OFFSET + (choice >> 8) % 512,
			WIRE_CONTROL_OFFSET + (choice >> 8) % (8ULL * WIRE_CONTROL_BYTES),
			WIRE_POOL_OFFSET + (choice >> 8) % (4ULL * WIRE_BLOCK_BYTES)};
		uint64_t at = places[choice % 5] / 4;
		uint64_t value = next_random(&random);

		if (!is_kept(at))
			__atomic_store_n(&words[at],
				(uint32_t)(value & 1 ? value >> 32
						     : value >> (32 + value / 2 % 32)),
				__ATOMIC_RELAXED);
	}
}

static void *sum(void *argument)
{
	uintptr_t from = (uintptr_t)argument, all = 0;

	for (uintptr_t i = 0; i < 2000000; i++)
		all += (i ^ from) % 7;
	return (void *)(all * 100 + from);
}

static unsigned long sum_all(void)
{
	pthread_t threads[THREADS];
	unsigned long all = 0;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, sum, (void *)i))
			exit(2);
	for (uintptr_t i = 0; i < THREADS; i++) {
		void *result;

		if (pthread_join(threads[i], &result))
			exit(3);
		all = all * 31 + (unsigned long)(uintptr_t)result;
	}
	return all;
}

static int work(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int status;
		pid_t child;

		printf("%lu\n", sum_all());
		fflush(stdout);
		child = fork();
		if (!child)
			_exit(sum_all() % 100 + 1);
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 4;
		printf("child %x\n", (unsigned)status);
	}
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "lie") ? lie() : work();
}
