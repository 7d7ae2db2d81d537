/* SPDX-License-Identifier: MIT */
/*
 * Read a jitdump (jit-PID.dump): binary records of the code that a JIT compiler generates, with
 * times, because an address can belong to different functions at different times. `node
 * --perf-prof`, CPython's `-X perf_jit`, LLVM, PHP and Erlang write it. The input is untrusted.
 * Format: Linux tools/perf/Documentation/jitdump-specification.txt. Context: one thread.
 */
#ifndef CLI_SYMBOLS_JITDUMP_H
#define CLI_SYMBOLS_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>

struct jitdump;

/* Limits for one file. The code itself is never read. */
#define JITDUMP_MAX_LOADS      (4u << 20)
#define JITDUMP_MAX_TEXT_BYTES (512u << 20)
#define JITDUMP_MAX_NAME_BYTES 4096u

/* A time that is later than all records. */
#define JITDUMP_LAST UINT64_MAX

/*
 * Read the dump at @fd (borrowed). A truncated last record and records of unknown kinds are
 * skipped. Returns 0 and an owned dump in *@out; -EBADMSG if it is no jitdump; -ENOMEM; or -errno
 * of reading.
 */
int jitdump_read(struct jitdump **out, int fd);

void jitdump_free(struct jitdump *dump); /* NULL is fine */

/*
 * Return the name of the last code that was loaded at @address before @time_ns (CLOCK_MONOTONIC);
 * NULL if there was none or if it had been moved away. If the dump's times are of another clock,
 * @time_ns is ignored. Valid until jitdump_free(). *@is_shared is set if other code may have been
 * at @address at another time.
 */
const char *jitdump_lookup(
	const struct jitdump *dump, uint64_t address, uint64_t time_ns, bool *is_shared);

/* Return whether @path, of a mapping, has the file name of a jitdump, such as jit-1234.dump. */
bool jitdump_is_named(const char *path);

#endif
