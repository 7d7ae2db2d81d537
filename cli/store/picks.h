/* SPDX-License-Identifier: MIT */
/*
 * Choose the profiles that addresses select, and one committed attempt (push.h) of each.
 *
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

/* A server of an address, for one side of a comparison. Pointers are borrowed. */
struct store_server {
	const struct store_address *address;
	struct store_http *http;
	unsigned host, side;
	uint32_t same_as; /* index of the first server in the list with equal host, database and
			   * user */
};

/* A committed attempt of a profile. */
struct pick {
	uint64_t id[2];
	uint32_t server; /* index of the first equal server in the list */
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
 * Ask @servers (@count) for the profiles that their addresses select; one attempt of each profile
 * and side remains. @picks is all zero at first; the caller must release it in any case. Returns 0,
 * -EINVAL if the profiles have different units, -ENOENT if there is none, or another -errno, with
 * @message filled.
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
