/* SPDX-License-Identifier: MIT */
/*
 * generated MILLISECONDS: main() calls three pieces of generated code in turns. A perf map names
 * them.
 *
 *   leaf_code  a loop that does not change stack pointer and frame pointer
 *   data_code  uses the frame pointer for data, as PCRE2's compiler does: it points at a record
 *              like a frame's, whose address is behind a byte that looks like a call
 *   jump_code  as data_code, but returns by a jump, so its caller cannot be found
 *
 * Each piece has a third of the time, except for a little time in main and caller.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define PAGE	   4096
#define PIECE	   64
#define LOOP_TURNS 1000000

typedef void code_fn(unsigned long turns, const uintptr_t *data);

#if defined(__x86_64__)

/*
 *	48 ff cf	1: dec  %rdi
 *	75 fb		   jne  1b
 *	c3		   ret
 *
 *	55		   push %rbp
 *	48 89 f5	   mov  %rsi,%rbp
 *	48 ff cf	1: dec  %rdi
 *	75 fb		   jne  1b
 *	5d		   pop  %rbp
 *	c3		   ret			or 59 pop %rcx; ff e1 jmp *%rcx
 */
static const uint8_t leaf_code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
static const uint8_t data_code[] = {
	0x55, 0x48, 0x89, 0xf5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
static const uint8_t jump_code[] = {
	0x55, 0x48, 0x89, 0xf5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0x59, 0xff, 0xe1};
#define CALL_BYTE 0xe8

#elif defined(__aarch64__)

/*
 *	f1000400	1: subs x0, x0, #1
 *	54ffffe1	   b.ne 1b
 *	d65f03c0	   ret
 *
 *	a9bf7bfd	   stp  x29, x30, [sp, #-16]!
 *	aa0103fd	   mov  x29, x1
 *	f1000400	1: subs x0, x0, #1
 *	54ffffe1	   b.ne 1b
 *	a8c17bfd	   ldp  x29, x30, [sp], #16
 *	d65f03c0	   ret			or d61f03c0 br x30
 */
static const uint32_t leaf_code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
static const uint32_t data_code[] = {
	0xa9bf7bfd, 0xaa0103fd, 0xf1000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
static const uint32_t jump_code[] = {
	0xa9bf7bfd, 0xaa0103fd, 0xf1000400, 0x54ffffe1, 0xa8c17bfd, 0xd61f03c0};
#define CALL_BYTE 0x94

#endif

static char not_code[PAGE];

BOX static void caller(code_fn *code, const uintptr_t *data)
{
	code(LOOP_TURNS, data);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 1000) * 1000000ULL;
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t data[4] = {(uintptr_t)(data + 2), (uintptr_t)not_code + 64};
	static const char *const names[] = {"leaf_code", "data_code", "jump_code"};
	char path[64];
	FILE *map;

	if (code == MAP_FAILED)
		return 1;
	memset(not_code, CALL_BYTE, sizeof(not_code));
	memcpy(code, leaf_code, sizeof(leaf_code));
	memcpy(code + PIECE, data_code, sizeof(data_code));
	memcpy(code + 2 * PIECE, jump_code, sizeof(jump_code));
	mprotect(code, PAGE, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(code, code + PAGE);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		return 1;
	for (unsigned i = 0; i < 3; i++)
		fprintf(map, "%lx %x %s\n", (unsigned long)(code + i * PIECE), PIECE, names[i]);
	fclose(map);
	fprintf(stderr, "map: %s\n", path);
	for (unsigned i = 0; cpu_ns() < limit_ns; i++)
		caller((code_fn *)(void *)(code + i % 3 * PIECE), data);
	return 0;
}
