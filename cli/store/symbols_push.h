/* SPDX-License-Identifier: MIT */
/*
 * Push the symbols of ELF files into a store, once for each build-id, to name addresses that were
 * sampled on machines without symbols.
 */
#ifndef CLI_STORE_SYMBOLS_PUSH_H
#define CLI_STORE_SYMBOLS_PUSH_H

#include "cli/diag.h"
#include "cli/store/push.h"

/*
 * Push the symbols of the ELF file @path and of its debug file to all servers of @push (borrowed).
 * Returns 0 with the number of functions in *@count (0 if all servers already had them), or -errno
 * with @message filled: -ENOENT if the file has no build-id or no symbols.
 */
int symbols_push(
	struct store_push *push, const char *path, size_t *count, struct diag_message *message);

#endif
