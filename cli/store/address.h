/* SPDX-License-Identifier: MIT */
/*
 * Where a store is, and what of it is meant:
 *
 *   clickhouse://[user@]host[:port][,host[:port]...]/database[?name=value[&name=value...]]
 *
 * "clickhouses" is by TLS. A password has no place in it, for every process can read the words of
 * every other.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_ADDRESS_H
#define CLI_STORE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "render/bytes.h"

#define STORE_HOSTS_MAX	  64u
#define STORE_LABEL_BYTES 256u
#define STORE_SILENT_S	  60 /* how long a server may say nothing, unless ?timeout= does */
#define STORE_PORT	  "8123"
#define STORE_PORT_SECURE "8443"

/* What profiles are found by. The order is that of store_label_names(). */
enum store_label {
	STORE_SERVICE,
	STORE_VERSION,
	STORE_HOST,
	STORE_UNIT, /* what is counted: "cpu", "bytes" */
	STORE_LABELS
};

struct store_address {
	bool is_secure;
	unsigned hosts;
	char host[STORE_HOSTS_MAX][STORE_LABEL_BYTES]; /* each with its port */
	char database[65];
	char user[65]; /* "": nobody said */
	unsigned silent_s;
	/* The selection; "": any. */
	char label[STORE_LABELS][STORE_LABEL_BYTES];
	int64_t from_s, to_s; /* of their start, since the epoch; to_s is the first that is not */
};

/* Does @path begin as the address of a store does? */
bool store_address_is(const char *path);

/*
 * Parse @text. @now_s: what "-1h" is before. Returns 0, or -EINVAL with @message filled.
 */
int store_address_parse(struct store_address *address, const char *text, int64_t now_s,
	struct diag_message *message);

/* Has @address a selection? Where profiles go to none is wanted. */
bool store_address_selects(const struct store_address *address);

/* The names of labels by number, NULL at the end. */
const char *const *store_label_names(void);

/*
 * Parse @text, a time: "-90s", "-5m", "-1h", "-7d", "now", seconds since the epoch, "2026-11-25" or
 * "2026-11-25T10:00" with ":30" or without, in UTC. Returns 0, or -EINVAL.
 */
int store_time_parse(const char *text, int64_t now_s, int64_t *time_s);

/*
 * Append @text, any bytes but NUL, to a query as a literal. This is the only way by which a text
 * gets into one. Source: "String Literal" in ClickHouse's manual; \xHH is taken by 18.16, too.
 */
void store_put_literal(struct bytes *query, const char *text);

#endif
