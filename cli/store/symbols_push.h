/* SPDX-License-Identifier: MIT */
/*
 * Push the symbols of ELF files into a store, once per build-id, so that addresses sampled on
 * machines without symbols can be named.
 */
#ifndef CLI_STORE_SYMBOLS_PUSH_H
#define CLI_STORE_SYMBOLS_PUSH_H

#include "cli/diag.h"
#include "cli/store/push.h"

/*
 * Push the symbols of the ELF file @path and of its debug file to all servers of @push (borrowed).
 * Returns 0 with the number of functions in *@count (0 if all servers had them), or -errno with
 * @message filled: -ENOENT if there is no build-id or no symbol.
 */
int symbols_push(
	struct store_push *push, const char *path, size_t *count, struct diag_message *message);

#endif
