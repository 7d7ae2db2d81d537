/* SPDX-License-Identifier: MIT */
/*
 * For tests of publishing: a chain of three stubs, each called through the previous stub. The
 * innermost call is a function's or, if the stubs are intercepts, the tick check of the last stub.
 * Also reads this process's perf map.
 */
#ifndef TESTS_UNIT_STUB_CHAIN_H
#define TESTS_UNIT_STUB_CHAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/flameprof_vm.h"

#define CHAIN 3

typedef int chain_function(unsigned depth);

static struct flameprof_arena *chain_arena;
static chain_function *chain_stub[CHAIN];
static int (*chain_leaf)(void);

static __attribute__((noinline, unused)) int chain_step(unsigned depth)
{
	/* Add 1, so that no call is a tail call. */
	return (depth < CHAIN ? chain_stub[depth](depth + 1) : chain_leaf()) + 1;
}

static inline chain_function *chain_new_stub(const char *name, uintptr_t payload)
{
	return (chain_function *)flameprof_stub_new(chain_arena, name, payload);
}

static inline void chain_free_stub(chain_function *stub)
{
	flameprof_stub_free(chain_arena, (flameprof_function *)stub);
}

/* Make the arena and the stubs "chain_0" to "chain_2". */
static inline void chain_make(void)
{
	char name[] = "chain_0";

	assert_int_equal(flameprof_arena_new(&chain_arena, FLAMEPROF_STUB_CALL,
				 (flameprof_function *)chain_step, NULL), 0);
	if (flameprof_arena_status(chain_arena) != FLAMEPROF_STUBS_WORK)
		skip();
	for (unsigned i = 0; i < CHAIN; i++) {
		name[6] = '0' + i;
		chain_stub[i] = chain_new_stub(name, i);
		assert_ptr_not_equal(chain_stub[i], chain_step);
	}
}

static inline void chain_drop(void)
{
	flameprof_arena_free(chain_arena);
	chain_arena = NULL;
}

/* the leaf function, if the tick check shall call it; else NULL */
static int (*chain_in_check)(void);

static inline void chain_on_interrupt(void *context, uint32_t ticks)
{
	int (*leaf)(void) = chain_in_check;

	(void)context;
	(void)ticks;
	if (leaf)
		leaf();
}

static inline int chain_raise(void)
{
	flameprof_interrupt_ticks = 1;
	return 0;
}

/*
 * Make the chain of intercept stubs that all call the same original function. Intercepts are never
 * freed.
 */
static inline void chain_make_intercepts(void)
{
	char name[] = "chain_0";

	flameprof_interrupt_enable(10000000000, chain_on_interrupt, NULL);
	for (unsigned i = 0; i < CHAIN; i++) {
		name[6] = '0' + i;
		chain_stub[i] = (chain_function *)flameprof_intercept(
			(flameprof_function *)chain_step, name, NULL);
		if (flameprof_intercept_status() == FLAMEPROF_STUBS_DENIED)
			skip();
		assert_ptr_not_equal(chain_stub[i], chain_step);
	}
}

/*
 * Call @leaf through the chain: CHAIN + 1 frames of chain_step() and CHAIN frames of stubs lead to
 * @leaf. If the tick check calls @leaf, the innermost chain_step() has already returned.
 */
static inline int chain_call(int (*leaf)(void))
{
	chain_leaf = chain_in_check ? chain_raise : leaf;
	if (chain_in_check)
		chain_in_check = leaf;
	return chain_step(0) - (CHAIN + 1);
}

/* Return the index of the chain's stub that contains the return address @pc, or -1. */
static inline int chain_index(uintptr_t pc)
{
	struct flameprof_code_info info;

	if (flameprof_lookup(pc - 1, &info) || strncmp(info.name, "chain_", 6))
		return -1;
	return atoi(info.name + 6);
}

static inline void map_path(char path[64], pid_t pid)
{
	snprintf(path, 64, "/tmp/perf-%d.map", (int)pid);
}

static inline void map_remove(pid_t pid)
{
	char path[64];

	map_path(path, pid);
	unlink(path);
}

/* Return the text of the perf map of @pid, owned by the caller; NULL if there is none. */
static inline char *map_text(pid_t pid)
{
	char path[64];
	size_t room = 1 << 22, used;
	char *text;
	FILE *file;

	map_path(path, pid);
	file = fopen(path, "r");
	if (!file)
		return NULL;
	text = malloc(room);
	assert_non_null(text);
	used = fread(text, 1, room - 1, file);
	text[used] = '\0';
	fclose(file);
	return text;
}

/*
 * Count the lines of @text that read "START SIZE @name". If @start is NULL, START can be any
 * address.
 */
static inline unsigned map_count(const char *text, const void *start, const char *name)
{
	unsigned count = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n') + 1) {
		unsigned long at, bytes;
		int skipped = 0;
		size_t length = strlen(name);

		if (!strchr(line, '\n') ||
			sscanf(line, "%lx %lx %n", &at, &bytes, &skipped) != 2)
			break;
		if (strncmp(line + skipped, name, length) || line[skipped + length] != '\n')
			continue;
		count += bytes && (!start || at == (uintptr_t)start);
	}
	return count;
}

#endif
