/* SPDX-License-Identifier: MIT */
/*
 * Print the chains of inlined functions at addresses, from the DWARF of one file. The addresses are
 * read from standard input, hexadecimal, one per line:
 *
 *	bench-inlines FILE <ADDRESSES	chains, as `addr2line -fi -a` prints them
 *	bench-inlines -q FILE ...	only their number, the time and the memory used
 *
 * Without FILE it resolves addresses all over its own code.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/symbols/inlines.h"

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static size_t read_addresses(uint64_t **addresses)
{
	uint64_t *list = NULL;
	size_t count = 0, room = 0, kept = 0;
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		if (count == room) {
			room = room ? 2 * room : 1024;
			list = reallocarray(list, room, sizeof(*list));
			if (!list)
				exit(1);
		}
		list[count++] = strtoull(line, NULL, 16);
	}
	if (count)
		qsort(list, count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++)
		if (!kept || list[i] != list[kept - 1])
			list[kept++] = list[i];
	*addresses = list;
	return kept;
}

static void print_chain(const struct inlines *inlines, size_t index, uint64_t address)
{
	const struct symbols_frame *frames = inlines->chains[index].frames;
	uint32_t count = inlines->chains[index].count;

	printf("0x%016" PRIx64 "\n", address);
	if (!count)
		printf("??\n??:0\n");
	while (count-- > 0)
		printf("%s\n%s:%u\n", frames[count].name[0] ? frames[count].name : "??",
			frames[count].file[0] ? frames[count].file : "??", frames[count].line);
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void print_cost(const struct inlines *inlines, size_t addresses, const struct timespec *from)
{
	struct rusage usage;
	struct timespec now;
	size_t known = 0, frames = 0;

	for (size_t i = 0; i < addresses; i++) {
		known += inlines->chains[i].count != 0;
		frames += inlines->chains[i].count;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	getrusage(RUSAGE_SELF, &usage);
	printf("%zu addresses, %zu known, %zu frames; %.3f s elapsed, %.3f s user, %.3f s system, "
	       "%ld KiB at most\n",
		addresses, known, frames,
		(double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9,
		seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss);
}

extern const char __executable_start, etext;

static size_t own_addresses(uint64_t **addresses)
{
	size_t count = (size_t)(&etext - &__executable_start), kept = 0;

	*addresses = calloc(count, sizeof(**addresses));
	if (!*addresses)
		exit(1);
	for (; kept < count; kept++)
		(*addresses)[kept] = kept;
	return count;
}

int main(int argc, char **argv)
{
	int is_quiet = argc < 2 || !strcmp(argv[1], "-q");
	const char *path = argc < 2 ? "/proc/self/exe" : argv[argc - 1];
	struct inlines_request request = {.style = DEMANGLE_NONE};
	struct inlines *inlines;
	struct elf_file file;
	uint64_t *addresses = NULL;
	struct timespec from;
	int error;

	request.count = argc < 2 ? own_addresses(&addresses) : read_addresses(&addresses);
	clock_gettime(CLOCK_MONOTONIC, &from);
	error = elf_file_open(&file, path, 0);
	if (error) {
		fprintf(stderr, "%s: %s\n", path, strerror(-error));
		return 1;
	}
	request.addresses = addresses;
	request.file = &file;
	error = inlines_read(&request, &inlines);
	if (error) {
		fprintf(stderr, "%s: no DWARF\n", path);
		return 1;
	}
	for (size_t i = 0; i < request.count && !is_quiet; i++)
		print_chain(inlines, i, addresses[i]);
	if (is_quiet)
		print_cost(inlines, request.count, &from);
	inlines_free(inlines);
	elf_file_close(&file);
	free(addresses);
	return 0;
}
