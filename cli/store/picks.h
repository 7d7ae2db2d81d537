/* SPDX-License-Identifier: MIT */
/*
 * Find the profiles that addresses select, and choose one committed attempt (push.h) of each.
 * Context: one thread.
 */
#ifndef CLI_STORE_PICKS_H
#define CLI_STORE_PICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/store/address.h"
#include "cli/store/http.h"
#include "libprof/pprof/writer.h"

#define PICKS_MAX (1u << 23)

/* A server to ask for profiles, for one side of a comparison. Pointers are borrowed. */
struct store_server {
	const struct store_address *address;
	struct store_http *http;
	unsigned host, side;
	/* index of the first server in the list with equal host, database and user */
	uint32_t same_as;
};

/* A committed attempt to store a profile. */
struct pick {
	uint64_t id[2];
	/* index in the list of servers; picks_choose() replaces it by same_as */
	uint32_t server;
	uint32_t attempt, committed_s, start_s;
	uint32_t service, host, title; /* indices of texts */
	uint32_t run, group;	       /* set by the caller */
	uint16_t day;
	uint8_t side;
	uint64_t period_ns, span_ns, weight;
};

struct picks {
	struct pick *at; /* owned */
	size_t count, room;
	struct texts texts;
	/* The unit of all profiles. */
	char unit[STORE_LABEL_BYTES], count_name[64];
	bool is_time;
};

/*
 * Ask the @count @servers for the profiles that their addresses select, and keep one attempt of
 * each profile and side. @picks is all zero first; the caller must release it, after errors as
 * well. Returns 0, or -errno with @message filled: -EINVAL if profiles have different units,
 * -ENOENT if none is selected.
 */
int picks_read(struct picks *picks, const struct store_server *servers, unsigned count,
	struct diag_message *message);
void picks_release(struct picks *picks);

/*
 * First step of picks_read(), for tests: add the rows in the answer of server number @server.
 * Returns 0, -EPROTO (damaged), -EINVAL, -E2BIG or -ENOMEM.
 */
int picks_add(struct picks *picks, uint32_t server, const struct bytes *answer,
	struct diag_message *message);

/* Second step of picks_read(): keep the first committed attempt of each profile and side. */
void picks_choose(struct picks *picks, const struct store_server *servers);

#endif
