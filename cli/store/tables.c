/* SPDX-License-Identifier: MIT */
/*
 * Create tables in the SQL of ClickHouse 18.16, which has no codecs, no LowCardinality and no TTL.
 *
 * Weights are sorted by stack, because the rows of a stack in thousands of profiles are then
 * neighbours and need a quarter of the space of sorting by profile. An attempt number has only 32
 * bits, because it is most of a row and does not compress. The table `attempts` ensures that each
 * number is unique. All tables but `symbols` are partitioned by day, so that a day can be dropped.
 */
#include "cli/store/tables.h"

static const struct {
	const char *name, *columns, *engine;
} tables[] = {
	{"attempts", "day Date, attempt UInt32, nonce UInt64",
		"MergeTree() PARTITION BY day ORDER BY attempt"},
	{"profiles",
		"day Date, profile String, attempt UInt32, committed DateTime, service String, "
		"version String, host String, unit String, start DateTime, span UInt64, "
		"period UInt64, count_name String, title String, weight UInt64",
		"MergeTree() PARTITION BY day ORDER BY (service, version, host, start)"},
	{"frames",
		"day Date, service String, frame UInt64, kind UInt8, line UInt32, name String, "
		"module String, file String",
		"ReplacingMergeTree() PARTITION BY day ORDER BY (service, frame)"},
	{"stacks", "day Date, service String, stack UInt64, parent UInt64, frame UInt64",
		"ReplacingMergeTree() PARTITION BY day ORDER BY (service, stack)"},
	{"weights", "day Date, service String, stack UInt64, attempt UInt32, weight UInt64",
		"MergeTree() PARTITION BY day ORDER BY (service, stack, attempt)"},
	{"symbols", "build_id String, page UInt64, start UInt64, end UInt64, name String",
		"ReplacingMergeTree() ORDER BY (build_id, page, start)"},
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

int store_tables_make(struct store_http *http, const struct store_address *address, unsigned host,
	struct diag_message *message)
{
	struct store_request requests[TABLES] = {{.host = host}};
	int error;

	store_request_text(&requests[0], "CREATE DATABASE IF NOT EXISTS %s", address->database);
	error = store_http_ask(http, requests, 1, message);
	store_requests_release(requests, 1);
	for (size_t i = 0; !error && i < TABLES; i++) {
		requests[i].host = host;
		store_request_text(&requests[i],
			"CREATE TABLE IF NOT EXISTS %s.%s (%s) ENGINE = %s", address->database,
			tables[i].name, tables[i].columns, tables[i].engine);
	}
	if (!error)
		error = store_http_ask(http, requests, TABLES, message);
	store_requests_release(requests, TABLES);
	return error;
}
