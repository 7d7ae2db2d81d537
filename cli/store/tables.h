/* SPDX-License-Identifier: MIT */
/* Create the missing tables of a store. flamerun-clickhouse(5) documents them. */
#ifndef CLI_STORE_TABLES_H
#define CLI_STORE_TABLES_H

#include "cli/diag.h"
#include "cli/store/http.h"

/*
 * Create the database and tables that server number @host of @address does not have. Returns 0, or
 * -errno with @message filled; -EAGAIN: may succeed later.
 */
int store_tables_make(struct store_http *http, const struct store_address *address, unsigned host,
	struct diag_message *message);

#endif
