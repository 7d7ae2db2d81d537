/* SPDX-License-Identifier: MIT */
/*
 * mapped MS [MAP]: use MS of CPU time in `mapped_work`, which runs in a second mapping of the
 * program's file, as V8's builtins do; then half as much in `copied_work`, of which only a copy in
 * anonymous memory runs, as with JIT compilers. With MAP the copy is in a memfd, as .NET has it,
 * and /tmp/perf-PID.map gives it the name told_work.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/spin.h"

typedef void work_fn(unsigned units);

#define PAGE 4096

/*
 * Each function is on pages of its own. mapped_work() is never called at the address where the
 * loader has put it.
 */
__attribute__((noinline, noclone, aligned(PAGE))) static void mapped_work(unsigned units)
{
	spin(units);
}

__attribute__((noinline, noclone, aligned(PAGE))) static void copied_work(unsigned units)
{
	spin(units);
}

/* Return the offset of @address in the program's file, found in /proc/self/maps. */
static unsigned long offset_of(const void *address)
{
	unsigned long at = (unsigned long)address, start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start &&
			at < end) {
			fclose(maps);
			return at - start + offset;
		}
	abort();
}

static void write_map(const void *copied)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		abort();
	fprintf(map, "%lx %x told_work\n", (unsigned long)copied, PAGE);
	fclose(map);
	fprintf(stderr, "map: %s\n", path);
}

static uint64_t time_of(work_fn *work, uint64_t ns)
{
	uint64_t begin = cpu_ns();

	while (cpu_ns() - begin < ns)
		work(spin_random(100, 400));
	return cpu_ns() - begin;
}

int main(int argc, char **argv)
{
	uint64_t ns = argument(argc, argv, 1, 2000) * 1000000ULL;
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file,
		(off_t)offset_of((void *)(uintptr_t)mapped_work));
	int memory = argc > 2 ? memfd_create("code", MFD_CLOEXEC) : -1;
	void *copied = memory < 0 || ftruncate(memory, PAGE)
		? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		: mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

	if (mapped == MAP_FAILED || copied == MAP_FAILED)
		return 2;
	memcpy(copied, (void *)(uintptr_t)copied_work, PAGE);
	__builtin___clear_cache(copied, (char *)copied + PAGE);
	if (mprotect(copied, PAGE, PROT_READ | PROT_EXEC))
		return 2;
	if (argc > 2)
		write_map(copied);
	tell("mapped_work", time_of((work_fn *)(uintptr_t)mapped, ns));
	tell("copied_work", time_of((work_fn *)(uintptr_t)copied, ns / 2));
	return 0;
}
