/* SPDX-License-Identifier: MIT */
/*
 * The address of a store (a ClickHouse database on one or more servers) and the selection of
 * profiles in the store:
 *
 *   clickhouse://[user@]host[:port][,host[:port]...]/database[?name=value[&name=value...]]
 *
 * "clickhouses" uses TLS. An address must not contain a password, because any process can read the
 * arguments of other processes. Context: one thread.
 */
#ifndef CLI_STORE_ADDRESS_H
#define CLI_STORE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "render/bytes.h"

#define STORE_HOSTS_MAX	  64u
#define STORE_LABEL_BYTES 256u
/* A request fails after this many seconds without data, unless ?timeout= is given. */
#define STORE_SILENT_S	  60
#define STORE_PORT	  "8123"
#define STORE_PORT_SECURE "8443"

/* Labels that select profiles, in the order of store_label_names(). */
enum store_label {
	STORE_SERVICE,
	STORE_VERSION,
	STORE_HOST,
	STORE_UNIT, /* the unit counted: "cpu", "bytes" */
	STORE_LABELS
};

struct store_address {
	bool is_secure;
	unsigned hosts;
	char host[STORE_HOSTS_MAX][STORE_LABEL_BYTES]; /* with port */
	char database[65];
	char user[65]; /* "" if none is given */
	unsigned silent_s;
	/* The selection; "": any. */
	char label[STORE_LABELS][STORE_LABEL_BYTES];
	/* range of start times in seconds since the epoch, without to_s itself */
	int64_t from_s, to_s;
};

/* Does @path begin like the address of a store? */
bool store_address_is(const char *path);

/* Parse @text. "-1h" is relative to @now_s. Returns 0, or -EINVAL with @message filled. */
int store_address_parse(struct store_address *address, const char *text, int64_t now_s,
	struct diag_message *message);

/* Does @address select profiles? An address to which profiles are pushed must not. */
bool store_address_selects(const struct store_address *address);

/* Returns the names of labels, in the order of enum store_label. NULL ends the list. */
const char *const *store_label_names(void);

/*
 * Parse a time in UTC: "-90s", "-5m", "-1h", "-7d", "now", seconds since the epoch, "2026-11-25",
 * "2026-11-25T10:00" or "2026-11-25T10:00:30". Returns 0 or -EINVAL.
 */
int store_time_parse(const char *text, int64_t now_s, int64_t *time_s);

/*
 * Append @text, any bytes but NUL, to a query as a string literal. Any other way to put text into a
 * query would allow injections. Source: "String Literal" in ClickHouse's manual; ClickHouse 18.16
 * also has \xHH.
 */
void store_put_literal(struct bytes *query, const char *text);

#endif
