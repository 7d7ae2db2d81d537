/* SPDX-License-Identifier: MIT */
/*
 * Send queries by libcurl. A query is in the request's URL, rows are in its body. Servers must
 * complete the answer before they send it (wait_end_of_query), so that the status is final and a
 * truncated answer is detected. Source: "HTTP Interface" in ClickHouse's manual, libcurl-multi(3).
 */
#include "cli/store/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/credentials.h"

#define LIBRARY	  "libcurl.so.4"
#define CONNECT_S 5L
#define WAIT_MS	  1000

/* The functions of libcurl that this file calls, without the prefix "curl_". */
#define FUNCTIONS(CALL)                                                                       \
	CALL(easy_init)                                                                       \
	CALL(easy_cleanup)                                                                    \
	CALL(easy_setopt) CALL(easy_getinfo) CALL(easy_escape) CALL(easy_strerror) CALL(free) \
		CALL(multi_init) CALL(multi_cleanup) CALL(multi_add_handle)                   \
			CALL(multi_remove_handle) CALL(multi_perform) CALL(multi_poll)        \
				CALL(multi_info_read) CALL(mime_init) CALL(mime_addpart)      \
					CALL(mime_name) CALL(mime_filename) CALL(mime_data)   \
						CALL(mime_free) CALL(slist_append)            \
							CALL(slist_free_all)

#define POINTER_(name) typeof(&curl_##name) name;
struct library {
	FUNCTIONS(POINTER_)
};

struct store_http {
	const struct store_address *address;
	struct library curl;
	CURLM *multi;
	struct curl_slist *headers;
	struct credentials credentials;
};

/* One request in progress. */
struct transfer {
	struct store_request *request;
	CURL *easy;
	curl_mime *mime;
	char error[CURL_ERROR_SIZE];
};

void store_request_text(struct store_request *request, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0) {
		text = NULL;
		request->query.error = -ENOMEM;
	}
	va_end(arguments);
	if (text)
		bytes_text(&request->query, text);
	free(text);
}

void store_requests_release(struct store_request *requests, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bytes_release(&requests[i].query);
		bytes_release(&requests[i].answer);
		requests[i] = (struct store_request){.host = 0};
	}
}

/* ---- the library ----------------------------------------------------------------------------- */

/* Load libcurl. Never unload it, because it cannot end all that it started in this process. */
static int load(struct library *curl, struct diag_message *message)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		diag_fail(message, -ENOENT, "a store wants libcurl: %s", dlerror());
		diag_fail_hint(message, "it is in Debian's package libcurl4");
		return -ENOENT;
	}
#define FIND_(name)                                                     \
	curl->name = (typeof(curl->name))dlsym(library, "curl_" #name); \
	if (!curl->name)                                                \
		return diag_fail(message, -ENOENT, "a store wants libcurl 7.66, not an older one");
	FUNCTIONS(FIND_)
	return 0;
}

int store_http_new(
	struct store_http **out, const struct store_address *address, struct diag_message *message)
{
	struct store_http *http = calloc(1, sizeof(*http));
	int error;

	if (!http)
		return diag_fail(message, -ENOMEM, "out of memory");
	http->address = address;
	error = load(&http->curl, message);
	if (!error)
		error = credentials_find(&http->credentials, address->user, message);
	if (!error) {
		http->multi = http->curl.multi_init();
		/* Do not send "Expect: 100-continue", because many servers do not answer it. */
		http->headers = http->curl.slist_append(NULL, "Expect:");
		error = http->multi && http->headers ? 0
						     : diag_fail(message, -ENOMEM, "out of memory");
	}
	if (error)
		store_http_free(http);
	else
		*out = http;
	return error;
}

void store_http_free(struct store_http *http)
{
	if (!http)
		return;
	if (http->multi)
		http->curl.multi_cleanup(http->multi);
	if (http->headers)
		http->curl.slist_free_all(http->headers);
	credentials_release(&http->credentials);
	free(http);
}

/* ---- one request ----------------------------------------------------------------------------- */

static size_t keep_answer(char *data, size_t size, size_t count, void *context)
{
	struct store_request *request = context;

	if (size * count > STORE_ANSWER_MAX - request->answer.used)
		return 0;
	bytes_put(&request->answer, data, size * count);
	return request->answer.error ? 0 : size * count;
}

static int put_escaped(struct store_http *http, CURL *easy, struct bytes *url, const char *text)
{
	char *escaped = http->curl.easy_escape(easy, text, 0);

	if (!escaped)
		return -ENOMEM;
	bytes_text(url, escaped);
	http->curl.free(escaped);
	return 0;
}

static int make_url(struct store_http *http, struct transfer *transfer, struct bytes *url)
{
	const struct store_request *request = transfer->request;
	struct bytes query = {0};
	int error;

	bytes_text(url, http->address->is_secure ? "https://" : "http://");
	bytes_text(url, http->address->host[request->host]);
	bytes_text(url, "/?wait_end_of_query=1&query=");
	bytes_put(&query, request->query.data, request->query.used);
	bytes_put(&query, "", 1);
	error = query.error ? query.error
			    : put_escaped(http, transfer->easy, url, (char *)query.data);
	bytes_release(&query);
	if (!error && request->given.structure) {
		bytes_text(url, "&given_format=RowBinary&given_structure=");
		error = put_escaped(http, transfer->easy, url, request->given.structure);
	}
	bytes_put(url, "", 1);
	return error ? error : url->error;
}

/* Send the table as a file of a form, which is how ClickHouse receives external tables. */
static int put_given(struct store_http *http, struct transfer *transfer)
{
	const struct bytes *rows = transfer->request->given.rows;
	struct library *curl = &http->curl;
	curl_mimepart *part;

	transfer->mime = curl->mime_init(transfer->easy);
	part = transfer->mime ? curl->mime_addpart(transfer->mime) : NULL;
	if (!part || curl->mime_name(part, "given") || curl->mime_filename(part, "given") ||
		curl->mime_data(part, rows->used ? (const char *)rows->data : "", rows->used))
		return -ENOMEM;
	curl->easy_setopt(transfer->easy, CURLOPT_MIMEPOST, transfer->mime);
	return 0;
}

static void put_credentials(struct store_http *http, CURL *easy)
{
	const struct credentials *credentials = &http->credentials;
	struct library *curl = &http->curl;

	curl->easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	if (credentials->user)
		curl->easy_setopt(easy, CURLOPT_USERNAME, credentials->user);
	if (credentials->password)
		curl->easy_setopt(easy, CURLOPT_PASSWORD, credentials->password);
	if (credentials->file[0]) {
		curl->easy_setopt(easy, CURLOPT_NETRC, CURL_NETRC_OPTIONAL);
		curl->easy_setopt(easy, CURLOPT_NETRC_FILE, credentials->file);
	}
	if (getenv("CURL_CA_BUNDLE"))
		curl->easy_setopt(easy, CURLOPT_CAINFO, getenv("CURL_CA_BUNDLE"));
}

static int begin(struct store_http *http, struct transfer *transfer, struct store_request *request)
{
	struct library *curl = &http->curl;
	struct bytes url = {0};
	CURL *easy = curl->easy_init();
	int error;

	*transfer = (struct transfer){.request = request, .easy = easy};
	if (!easy)
		return -ENOMEM;
	error = make_url(http, transfer, &url);
	if (!error)
		curl->easy_setopt(easy, CURLOPT_URL, url.data);
	bytes_release(&url);
	curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)http->address->silent_s);
	curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	curl->easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
	curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_answer);
	curl->easy_setopt(easy, CURLOPT_WRITEDATA, request);
	curl->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl->easy_setopt(easy, CURLOPT_POST, 1L);
	/*
	 * libcurl repeats a request if a reused connection ends without an answer. An INSERT must
	 * not be repeated, because its rows may have arrived. So do not reuse a connection for it.
	 */
	if (request->in)
		curl->easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	put_credentials(http, easy);
	if (!error && request->given.structure)
		return put_given(http, transfer);
	curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
		(curl_off_t)(request->in ? request->in->used : 0));
	curl->easy_setopt(easy, CURLOPT_POSTFIELDS,
		request->in && request->in->used ? (const char *)request->in->data : "");
	return error;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Returns the error code in an answer "Code: 60, ..." (see ClickHouse's ErrorCodes.cpp), or 0. */
static unsigned long code_of(const struct bytes *answer)
{
	static const char begin[] = "Code: ";
	char number[16] = "";

	if (answer->used < strlen(begin) + sizeof(number) ||
		memcmp(answer->data, begin, strlen(begin)))
		return 0;
	memcpy(number, answer->data + strlen(begin), sizeof(number) - 1);
	return strtoul(number, NULL, 10);
}

static int error_of_code(unsigned long code)
{
	switch (code) {
	case 60: /* UNKNOWN_TABLE */
	case 81: /* UNKNOWN_DATABASE */
		return -ENOENT;
	case 192: /* UNKNOWN_USER */
	case 193: /* WRONG_PASSWORD */
	case 194: /* REQUIRED_PASSWORD */
	case 195: /* IP_ADDRESS_NOT_ALLOWED */
	case 291: /* DATABASE_ACCESS_DENIED */
	case 497: /* ACCESS_DENIED */
	case 516: /* AUTHENTICATION_FAILED */
		return -EACCES;
	case 159: /* TIMEOUT_EXCEEDED */
	case 202: /* TOO_MANY_SIMULTANEOUS_QUERIES */
	case 209: /* SOCKET_TIMEOUT */
	case 210: /* NETWORK_ERROR */
	case 236: /* ABORTED */
	case 241: /* MEMORY_LIMIT_EXCEEDED */
	case 242: /* TABLE_IS_READ_ONLY */
	case 243: /* NOT_ENOUGH_SPACE */
	case 252: /* TOO_MANY_PARTS */
	case 319: /* UNKNOWN_STATUS_OF_INSERT */
	case 999: /* KEEPER_EXCEPTION */
		return -EAGAIN;
	default:
		return -EPROTO;
	}
}

static void evaluate_answer(struct store_request *request, long status)
{
	unsigned long code = code_of(&request->answer);
	static const char end[] = ", e.what() =";
	size_t used = request->answer.used, bytes = used < 160 ? used : 160;
	const void *data = request->answer.data;
	const void *tail;
	bool is_insert = request->in != NULL;

	if (status == 200 && !(is_insert && request->answer.used))
		return;
	request->error = code				  ? error_of_code(code)
			 : status == 401 || status == 403 ? -EACCES
			 : status >= 500 || status == 429 ? -EAGAIN
							  : -EPROTO;
	tail = bytes ? memmem(data, bytes, end, strlen(end)) : NULL;
	if (tail)
		bytes = (size_t)((const char *)tail - (const char *)data);
	snprintf(request->why, sizeof(request->why), "status %ld%s%.*s", status, bytes ? ", " : "",
		(int)bytes, bytes ? (const char *)data : "");
}

static void evaluate(struct store_http *http, struct transfer *transfer, CURLcode result)
{
	struct store_request *request = transfer->request;
	long status = 0;

	if (result == CURLE_OK) {
		http->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
		evaluate_answer(request, status);
		return;
	}
	request->error = request->answer.error		 ? -ENOMEM
			 : result == CURLE_WRITE_ERROR	 ? -EFBIG
			 : result == CURLE_OUT_OF_MEMORY ? -ENOMEM
			 : result == CURLE_URL_MALFORMAT ||
					 result == CURLE_PEER_FAILED_VERIFICATION ||
					 result == CURLE_SSL_CACERT_BADFILE
				 ? -EPROTO
				 : -EAGAIN;
	snprintf(request->why, sizeof(request->why), "%s",
		result == CURLE_WRITE_ERROR ? "the answer is too large"
		: transfer->error[0]	    ? transfer->error
					    : http->curl.easy_strerror(result));
}

static void wait_all(struct store_http *http)
{
	struct library *curl = &http->curl;
	int running = 1, left;

	while (running) {
		CURLMsg *done;

		/* If libcurl fails, requests keep their initial error, "nobody asked it". */
		if (curl->multi_perform(http->multi, &running))
			break;
		while ((done = curl->multi_info_read(http->multi, &left))) {
			struct transfer *transfer = NULL;

			curl->easy_getinfo(done->easy_handle, CURLINFO_PRIVATE, &transfer);
			if (done->msg != CURLMSG_DONE || !transfer)
				continue;
			transfer->request->error = 0;
			transfer->request->why[0] = '\0';
			evaluate(http, transfer, done->data.result);
		}
		if (running && curl->multi_poll(http->multi, NULL, 0, WAIT_MS, NULL))
			break;
	}
}

int store_http_ask(struct store_http *http, struct store_request *requests, unsigned count,
	struct diag_message *message)
{
	struct transfer *transfers = calloc(count + 1, sizeof(*transfers));
	struct library *curl = &http->curl;

	if (!transfers)
		return diag_fail(message, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < count; i++) {
		int error = requests[i].query.error;

		bytes_release(&requests[i].answer);
		requests[i].why[0] = '\0';
		requests[i].error = error;
		if (!error && !requests[i].query.used)
			continue;
		strcpy(requests[i].why, "nobody asked it");
		requests[i].error = -EAGAIN;
		if (!error)
			error = begin(http, &transfers[i], &requests[i]);
		if (error || curl->multi_add_handle(http->multi, transfers[i].easy)) {
			requests[i].error = -ENOMEM;
			strcpy(requests[i].why, "out of memory");
		}
	}
	wait_all(http);
	for (unsigned i = 0; i < count; i++) {
		if (!transfers[i].easy)
			continue;
		curl->multi_remove_handle(http->multi, transfers[i].easy);
		curl->easy_cleanup(transfers[i].easy);
		if (transfers[i].mime)
			curl->mime_free(transfers[i].mime);
	}
	free(transfers);
	for (unsigned i = 0; i < count; i++) {
		if (!requests[i].error)
			continue;
		/* Pass no errno: diag_fail() would blame a resource limit of this process. */
		diag_fail(message, 0, "'%s': %s", http->address->host[requests[i].host],
			requests[i].why);
		return requests[i].error;
	}
	return 0;
}
