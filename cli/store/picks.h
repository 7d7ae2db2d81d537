/* SPDX-License-Identifier: MIT */
/*
 * Which profiles of a store are meant, and which of their attempts count.
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

/* One server of an address, asked for one side of a comparison. Borrows what it points to. */
struct store_server {
	const struct store_address *address;
	struct store_http *http;
	unsigned host, side;
	uint32_t same_as; /* the first in their list that is the same server and database */
};

/* A profile's committed attempt. */
struct pick {
	uint64_t id[2];
	uint32_t server; /* the first in the list that is the same */
	uint32_t attempt, committed_s, start_s;
	uint32_t service, host, title; /* numbers of texts */
	uint32_t run, group;	       /* for the caller to set */
	uint16_t day;
	uint8_t side;
	uint64_t period_ns, span_ns, weight;
};

struct picks {
	struct pick *at; /* owned */
	size_t count, room;
	struct texts texts;
	/* What all of them count. */
	char unit[STORE_LABEL_BYTES], count_name[64];
	bool is_time;
};

/*
 * Ask @servers (@count) for the profiles that their addresses select; of each profile and side one
 * stays. Begin with all zero; to be released in any case.
 * Returns 0; -EINVAL when they count different things, -ENOENT when there is none, or another
 * -errno, with @message filled.
 */
int picks_read(struct picks *picks, const struct store_server *servers, unsigned count,
	struct diag_message *message);
void picks_release(struct picks *picks);

/*
 * The two steps of that. Take the rows of the answer of server number @server. Returns 0, -EPROTO
 * for damage, -EINVAL, -E2BIG, -ENOMEM.
 */
int picks_take(struct picks *picks, uint32_t server, const struct bytes *answer,
	struct diag_message *message);

/* Leave of each profile and side the attempt that was committed first, of all @servers' rows. */
void picks_choose(struct picks *picks, const struct store_server *servers);

#endif
