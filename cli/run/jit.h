/* SPDX-License-Identifier: MIT */
/*
 * --jit: the runtimes whose functions get names, and what became of it in the program's processes.
 */
#ifndef CLI_RUN_JIT_H
#define CLI_RUN_JIT_H

#include <stdint.h>

struct gather;

/* The words of --jit, "none" first, NULL at the end. */
const char *const *jit_names(void);

/* The enum wire_jit bits of @list: words of jit_names() with commas between; others are ignored. */
uint32_t jit_mask(const char *list);

/*
 * At the end of a run: say what @list asked for and no process got, and why. @gather (borrowed) is
 * NULL for a run that was sampled from outside.
 */
void jit_tell(const char *list, const struct gather *gather);

#endif
