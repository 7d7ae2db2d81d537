/* SPDX-License-Identifier: MIT */
/*
 * Questions to the servers of a store, several at once, by libcurl. It is loaded when it is needed:
 * a run that has no store starts without a TLS library.
 *
 * What servers answer is bounded in size and time, and nothing else is believed: whoever reads it
 * checks it.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_HTTP_H
#define CLI_STORE_HTTP_H

#include "cli/diag.h"
#include "cli/store/address.h"
#include "render/bytes.h"

#define STORE_ANSWER_MAX ((size_t)1 << 30)

struct store_http;

/* A table that goes along with a query, which calls it "given". */
struct store_given {
	const struct bytes *rows; /* borrowed */
	const char *structure;	  /* "attempt UInt32, unit UInt32" */
};

struct store_request {
	unsigned host;
	struct bytes query;	/* SQL; owned */
	const struct bytes *in; /* rows of an INSERT; borrowed, or NULL */
	struct store_given given;
	/*
	 * What came of it. 0; -EAGAIN: it can be tried again; -ENOENT: there is no such table;
	 * -EACCES, -EFBIG, -EPROTO: it is not to be had; -ENOMEM.
	 */
	int error;
	char why[256];	     /* in words, "" when all is well */
	struct bytes answer; /* owned */
};

/* A query in the manner of printf, %s being checked names and literals only. */
void store_request_text(struct store_request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * @address is borrowed as long as the object is used. Finds libcurl and credentials.
 * Returns 0 and an owned object in *@out, or -errno with @message filled.
 */
int store_http_new(
	struct store_http **out, const struct store_address *address, struct diag_message *message);
void store_http_free(struct store_http *http); /* NULL is fine */

/*
 * Ask all @requests (@count) that have a query at the same time, and wait. Returns the first error
 * of one of them, in their order, with @message filled; all of them have theirs.
 */
int store_http_ask(struct store_http *http, struct store_request *requests, unsigned count,
	struct diag_message *message);

/* Give back what @requests own, and make them all zero. */
void store_requests_release(struct store_request *requests, unsigned count);

#endif
