/* SPDX-License-Identifier: MIT */
/*
 * jitdump FOLDER MS: run generated code that is replaced by other code. FOLDER/jit-PID.dump
 * describes the code with times. The program uses MS of CPU time in `early`, then MS in `late`:
 * half of it at the address that `early` had, half at the address to which `late` is then moved.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/spin.h"

typedef void work_fn(unsigned units);

#define PAGE 4096

__attribute__((noinline, noclone, aligned(PAGE))) static void work(unsigned units)
{
	spin(units);
}

static int dump;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(const void *bytes, size_t count)
{
	if (write(dump, bytes, count) != (ssize_t)count)
		abort();
}

static void open_dump(const char *folder)
{
	struct {
		uint32_t magic, version, total_size, machine, pad, pid;
		uint64_t timestamp, flags;
	} header = {0x4a695444, 1, sizeof(header), 62, 0, (uint32_t)getpid(), 0, 0};
	char path[256];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	dump = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	put(&header, sizeof(header));
	/* perf finds the jitdump by this mapping. */
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		abort();
}

static void put_load(const char *name, const void *code, uint64_t index)
{
	uint64_t body[] = {(uint64_t)(uint32_t)getpid() << 32 | (uint32_t)getpid(), (uintptr_t)code,
		(uintptr_t)code, PAGE, index};
	struct {
		uint32_t id, total_size;
		uint64_t timestamp;
	} header = {0, (uint32_t)(sizeof(header) + sizeof(body) + strlen(name) + 1), now_ns()};

	header.total_size += PAGE;
	put(&header, sizeof(header));
	put(body, sizeof(body));
	put(name, strlen(name) + 1);
	put(code, PAGE);
}

static void put_move(const void *from, const void *to, uint64_t index)
{
	uint64_t body[] = {(uint64_t)(uint32_t)getpid() << 32 | (uint32_t)getpid(), (uintptr_t)to,
		(uintptr_t)from, (uintptr_t)to, PAGE, index};
	struct {
		uint32_t id, total_size;
		uint64_t timestamp;
	} header = {1, (uint32_t)(sizeof(header) + sizeof(body)), now_ns()};

	put(&header, sizeof(header));
	put(body, sizeof(body));
}

static void *make_code(void)
{
	void *code = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		abort();
	memcpy(code, (void *)(uintptr_t)work, PAGE);
	__builtin___clear_cache(code, (char *)code + PAGE);
	if (mprotect(code, PAGE, PROT_READ | PROT_EXEC))
		abort();
	return code;
}

static uint64_t time_of(void *code, uint64_t ns)
{
	uint64_t begin = cpu_ns();

	while (cpu_ns() - begin < ns)
		((work_fn *)(uintptr_t)code)(spin_random(100, 400));
	return cpu_ns() - begin;
}

int main(int argc, char **argv)
{
	uint64_t ns = argument(argc, argv, 2, 2000) * 1000000ULL, late;
	void *first = make_code(), *second = make_code();

	if (argc < 2)
		return 2;
	open_dump(argv[1]);
	put_load("early", first, 1);
	tell("early", time_of(first, ns));
	put_load("late", first, 2);
	late = time_of(first, ns / 2);
	put_move(first, second, 2);
	late += time_of(second, ns / 2);
	tell("late", late);
	return 0;
}
