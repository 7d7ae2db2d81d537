/* SPDX-License-Identifier: MIT */
/*
 * Code that a process mapped from files by itself: V8 maps its built-in functions from node's file
 * a second time. The library in the process knows only what the dynamic linker loaded; what is
 * sampled elsewhere is looked up in the kernel's list of mappings, and told as a module.
 *
 * Context: the collector's thread.
 */
#ifndef CLI_GATHER_MAPPINGS_H
#define CLI_GATHER_MAPPINGS_H

#include <stdint.h>

#include "cli/gather/outbox.h"

#define MAPPINGS_KNOWN 8

struct mappings {
	uint64_t wanted; /* an address in none of those that are known; 0: there was none */
	struct {
		uint64_t start, end;
	} known[MAPPINGS_KNOWN]; /* looked up before; the oldest makes room */
	uint32_t known_count;
	uint32_t told;	     /* as modules */
	uint32_t wait_ms;    /* between two looks; the longer, the less they found */
	uint64_t looked_ns;
};

/* Note the address of a frame without a module among the @count at @frames, any bytes. */
void mappings_want(struct mappings *mappings, const char *frames, uint32_t count);

/*
 * Look up what is wanted in process @pid, if it is time, and tell of a file's code there as a
 * module of @image. A process that may not be looked into has none.
 */
void mappings_look(struct mappings *mappings, uint32_t pid, uint64_t image, uint64_t now_ns,
	struct outbox *outbox);

#endif
