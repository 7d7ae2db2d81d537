/* SPDX-License-Identifier: MIT */
/*
 * Send queries to the servers of a store, several at once, by libcurl. libcurl is loaded when it is
 * first needed, so that runs without a store start without a TLS library.
 *
 * The size and time of answers are limited. Their contents are untrusted, so callers must check
 * them. Context: one thread.
 */
#ifndef CLI_STORE_HTTP_H
#define CLI_STORE_HTTP_H

#include "cli/diag.h"
#include "cli/store/address.h"
#include "render/bytes.h"

#define STORE_ANSWER_MAX ((size_t)1 << 30)

struct store_http;

/* A table that is sent with a query. Its name in the query is "given". */
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
	 * Result: 0; -EAGAIN: a later request may succeed; -ENOENT: no such table; -EACCES, -EFBIG,
	 * -EPROTO: permanent failure; -ENOMEM.
	 */
	int error;
	char why[256];	     /* the error in words, "" if there is none */
	struct bytes answer; /* owned */
};

/* Append printf text to the query. %s must be checked names or literals (store_put_literal()). */
void store_request_text(struct store_request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Load libcurl and find credentials. @address is borrowed until store_http_free(). Returns 0 with
 * an owned object in *@out, or -errno with @message filled.
 */
int store_http_new(
	struct store_http **out, const struct store_address *address, struct diag_message *message);
void store_http_free(struct store_http *http); /* NULL is fine */

/*
 * Send all @requests that have a query, in parallel, and wait for the answers. Each request gets
 * its own result. Returns the error of the first request that failed, in the order of @requests,
 * with @message filled; or 0.
 */
int store_http_ask(struct store_http *http, struct store_request *requests, unsigned count,
	struct diag_message *message);

/* Free the memory that @requests own, and set them to zero. */
void store_requests_release(struct store_request *requests, unsigned count);

#endif
