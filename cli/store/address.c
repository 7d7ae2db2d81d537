/* SPDX-License-Identifier: MIT */
/* Parse the address of a store. Check each part, because queries contain parts of the address. */
#include "cli/store/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEME	      "clickhouse://"
#define SCHEME_SECURE "clickhouses://"

#define HOST_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]"
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define TIME_MAX	INT64_C(0xffffffff) /* largest DateTime of ClickHouse */

const char *const *store_label_names(void)
{
	static const char *const names[STORE_LABELS + 1] = {"service", "version", "host", "unit"};

	return names;
}

bool store_address_is(const char *path)
{
	return !strncmp(path, SCHEME, strlen(SCHEME)) ||
	       !strncmp(path, SCHEME_SECURE, strlen(SCHEME_SECURE));
}

static int refuse(struct diag_message *message, const char *what, const char *part, size_t bytes)
{
	diag_fail(message, -EINVAL, "a store's address %s: '%.*s'", what,
		(int)(bytes < 200 ? bytes : 200), part);
	diag_fail_hint(message, "clickhouse://host[:port][,host...]/database"
				"[?service=NAME&version=TEXT&from=-1h]");
	return -EINVAL;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static int add_host(
	struct store_address *address, const char *text, size_t bytes, struct diag_message *message)
{
	size_t size = sizeof(address->host[0]);
	const char *port;
	char *host;

	if (!bytes || bytes + sizeof(STORE_PORT_SECURE) + 1 > size ||
		strspn(text, HOST_CHARACTERS) < bytes)
		return refuse(message, "has a host that is none", text, bytes);
	if (address->hosts == STORE_HOSTS_MAX)
		return refuse(message, "has too many hosts", text, bytes);
	host = address->host[address->hosts];
	snprintf(host, size, "%.*s", (int)bytes, text);
	/* Find the port. In an IPv6 address, it follows the closing bracket. */
	port = strrchr(host, ':');
	if (port && (!strchr(port, ']') || port < strrchr(host, ']')) && port != host &&
		(port[-1] == ']' || strchr(host, ':') == port)) {
		if (!port[1] || port[1 + strspn(port + 1, "0123456789")] || strlen(port + 1) > 5)
			return refuse(message, "has a port that is none", text, bytes);
	} else {
		snprintf(host + bytes, size - bytes, ":%s",
			address->is_secure ? STORE_PORT_SECURE : STORE_PORT);
	}
	for (unsigned i = 0; i < address->hosts; i++)
		if (!strcmp(address->host[i], host))
			return refuse(message, "has a host twice", host, strlen(host));
	address->hosts++;
	return 0;
}

static int parse_hosts(
	struct store_address *address, const char *text, size_t bytes, struct diag_message *message)
{
	const char *at = memchr(text, '@', bytes), *end = text + bytes;
	size_t user = at ? (size_t)(at - text) : 0;
	int error = 0;

	if (at && memchr(text, ':', user)) {
		diag_fail(message, -EINVAL,
			"a password in a store's address could be read by every process");
		diag_fail_hint(message, "CLICKHOUSE_PASSWORD, or a file of credentials: see "
					"flamerun-clickhouse(5)");
		return -EINVAL;
	}
	if (at && (!user || user >= sizeof(address->user)))
		return refuse(message, "has a user that is none", text, user);
	snprintf(address->user, sizeof(address->user), "%.*s", (int)user, text);
	for (text = at ? at + 1 : text; !error && text <= end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		size_t length = (size_t)((comma ? comma : end) - text);

		error = add_host(address, text, length, message);
		text += length + 1;
	}
	return error;
}

/* ---- the selection --------------------------------------------------------------------------- */

static int digit_of(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

/* Decode %XX. Returns 0 or -EINVAL. */
static int decode(char out[STORE_LABEL_BYTES], const char *text, size_t bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < bytes; i++) {
		int value = (unsigned char)text[i];

		if (value == '%' && i + 2 < bytes)
			value = digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0
					? -1
					: digit_of(text[i + 1]) << 4 | digit_of(text[i + 2]);
		else if (value == '%')
			value = -1;
		if (text[i] == '%')
			i += 2;
		if (value <= 0 || used + 1 == STORE_LABEL_BYTES)
			return -EINVAL;
		out[used++] = (char)value;
	}
	out[used] = '\0';
	return 0;
}

/* Parse "1h", the part of "-1h" after the sign. */
static int parse_before(const char *text, int64_t now_s, int64_t *time_s)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	size_t digits = strspn(text, "0123456789");
	int64_t number = digits && digits < 10 ? strtoll(text, NULL, 10) : -1;

	for (size_t i = 0; number >= 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[digits] != units[i].letter || text[digits + 1])
			continue;
		number *= units[i].seconds;
		*time_s = number < now_s ? now_s - number : 0;
		return 0;
	}
	return -EINVAL;
}

int store_time_parse(const char *text, int64_t now_s, int64_t *time_s)
{
	static const char *const forms[] = {
		NULL, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	size_t digits = strspn(text, "0123456789");

	if (*text == '-')
		return parse_before(text + 1, now_s, time_s);
	if (!strcmp(text, "now")) {
		*time_s = now_s;
		return 0;
	}
	for (size_t i = !digits || text[digits]; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm time = {0};
		const char *end = i ? strptime(text, forms[i], &time) : text + digits;
		int64_t seconds;

		if (!end || *end)
			continue;
		seconds = i ? timegm(&time) : strtoll(text, NULL, 10);
		if (seconds < 0 || seconds > TIME_MAX)
			return -EINVAL;
		*time_s = seconds;
		return 0;
	}
	return -EINVAL;
}

static int store_parameter(struct store_address *address, const char *name, size_t name_bytes,
	const char *value, int64_t now_s)
{
	struct {
		const char *name;
		int64_t *time_s;
	} times[] = {{"from", &address->from_s}, {"to", &address->to_s}};
	char *end;

	for (unsigned i = 0; i < STORE_LABELS; i++)
		if (!strncmp(store_label_names()[i], name, name_bytes) &&
			!store_label_names()[i][name_bytes]) {
			strcpy(address->label[i], value);
			return 0;
		}
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!strncmp(times[i].name, name, name_bytes) && !times[i].name[name_bytes])
			return store_time_parse(value, now_s, times[i].time_s);
	if (name_bytes != strlen("timeout") || strncmp(name, "timeout", name_bytes))
		return -ENOENT;
	address->silent_s = (unsigned)strtoul(value, &end, 10);
	return *end || !address->silent_s || address->silent_s > 86400 ? -EINVAL : 0;
}

static int parse_selection(struct store_address *address, const char *text, int64_t now_s,
	struct diag_message *message)
{
	while (*text) {
		size_t bytes = strcspn(text, "&"), name = strcspn(text, "=&");
		char value[STORE_LABEL_BYTES];
		int error = -EINVAL;

		if (name < bytes)
			error = decode(value, text + name + 1, bytes - name - 1);
		if (!error)
			error = store_parameter(address, text, name, value, now_s);
		if (error == -ENOENT)
			return refuse(message,
				"has service, version, host, unit, from, to and timeout, not this",
				text, bytes);
		if (error)
			return refuse(message, "has a value that is none", text, bytes);
		text += bytes + (text[bytes] == '&');
	}
	return 0;
}

bool store_address_selects(const struct store_address *address)
{
	for (unsigned i = 0; i < STORE_LABELS; i++)
		if (address->label[i][0])
			return true;
	return address->from_s || address->to_s != TIME_MAX;
}

int store_address_parse(struct store_address *address, const char *text, int64_t now_s,
	struct diag_message *message)
{
	const char *hosts = strstr(text, "://");
	size_t bytes, name;
	int error;

	*address = (struct store_address){
		.is_secure = !strncmp(text, SCHEME_SECURE, strlen(SCHEME_SECURE)),
		.silent_s = STORE_SILENT_S,
		.to_s = TIME_MAX};
	if (!store_address_is(text) || !hosts)
		return refuse(message, "begins with clickhouse://", text, strlen(text));
	hosts += strlen("://");
	bytes = strcspn(hosts, "/?");
	error = parse_hosts(address, hosts, bytes, message);
	if (error)
		return error;
	text = hosts + bytes + (hosts[bytes] == '/');
	bytes = strcspn(text, "?");
	name = strspn(text, NAME_CHARACTERS);
	if (!bytes || name < bytes || bytes >= sizeof(address->database) ||
		strchr("0123456789", *text))
		return refuse(message, "ends in the name of a database", text, bytes);
	snprintf(address->database, sizeof(address->database), "%.*s", (int)bytes, text);
	return text[bytes] ? parse_selection(address, text + bytes + 1, now_s, message) : 0;
}

void store_put_literal(struct bytes *query, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	bytes_text(query, "'");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		char escaped[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};

		if (c == '\'' || c == '\\')
			bytes_put(query, (char[]){'\\', (char)c}, 2);
		else if (c < 0x20 || c == 0x7f)
			bytes_put(query, escaped, sizeof(escaped));
		else
			bytes_put(query, text, 1);
	}
	bytes_text(query, "'");
}
