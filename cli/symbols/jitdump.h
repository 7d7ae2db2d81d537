/* SPDX-License-Identifier: MIT */
/*
 * jitdump: binary records in jit-PID.dump of the code that a JIT compiler makes, with times, so
 * that an address can be one function's now and another one's later. `node --perf-prof`, CPython's
 * `-X perf_jit`, LLVM, PHP and Erlang write it.
 * Format: Linux tools/perf/Documentation/jitdump-specification.txt. Untrusted input.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_JITDUMP_H
#define CLI_SYMBOLS_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>

struct jitdump;

/* Of a file that has more only so much is believed; the bytes of code are never read. */
#define JITDUMP_MAX_LOADS      (4u << 20)
#define JITDUMP_MAX_TEXT_BYTES (512u << 20)
#define JITDUMP_MAX_NAME_BYTES 4096u

/* A time later than all. */
#define JITDUMP_LAST UINT64_MAX

/*
 * Read the dump behind @fd (borrowed). A torn end and records of unknown kinds are skipped.
 * Returns 0 and an owned dump in *@out; -EBADMSG when it is none; -ENOMEM; or -errno of reading.
 */
int jitdump_read(struct jitdump **out, int fd);

void jitdump_free(struct jitdump *dump); /* NULL is fine */

/*
 * The name of what lay at @address at @time_ns (CLOCK_MONOTONIC): of what was put there before that
 * the last one, unless it was moved away by then. NULL: nobody's. Valid until jitdump_free().
 * *@is_shared: at another time it may be another one's.
 */
const char *jitdump_lookup(
	const struct jitdump *dump, uint64_t address, uint64_t time_ns, bool *is_shared);

/* Is @path (a mapping's) called as a dump is: jit-1234.dump? */
bool jitdump_is_named(const char *path);

#endif
