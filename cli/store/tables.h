/* SPDX-License-Identifier: MIT */
/*
 * The tables of a store, which flamerun-clickhouse(5) documents: made where they are missing.
 */
#ifndef CLI_STORE_TABLES_H
#define CLI_STORE_TABLES_H

#include "cli/diag.h"
#include "cli/store/http.h"

/*
 * Make the database and the tables that @address's server number @host lacks.
 * Returns 0, or -errno with @message filled, -EAGAIN: it can be tried again.
 */
int store_tables_make(struct store_http *http, const struct store_address *address, unsigned host,
	struct diag_message *message);

#endif
