/* SPDX-License-Identifier: MIT */
/*
 * The symbols of ELF files into a store, once for each build-id, so that what ran without them
 * elsewhere is named.
 */
#ifndef CLI_STORE_SYMBOLS_PUSH_H
#define CLI_STORE_SYMBOLS_PUSH_H

#include "cli/diag.h"
#include "cli/store/push.h"

/*
 * Push the symbols of the ELF file at @path, its own and those of its debug file, to all servers of
 * @push (borrowed). Returns 0 and how many functions in *@count, 0: they had them; or -errno with
 * @message filled: -ENOENT without a build-id or without symbols.
 */
int symbols_push(
	struct store_push *push, const char *path, size_t *count, struct diag_message *message);

#endif
