/* SPDX-License-Identifier: MIT */
/*
 * Parse any bytes as the address of a store and as a time, and make an SQL literal of them. If the
 * literal is read as a server reads it, the result must be the same text, and the literal must end
 * where the text ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check that every byte of the literal stands for itself or is escaped as \\, \' or \xHH. */
static void check_literal(const char *text)
{
	struct bytes query = {0};
	const char *at;

	store_put_literal(&query, text);
	bytes_put(&query, "", 1);
	if (query.error || query.data[0] != '\'')
		abort();
	for (at = (char *)query.data + 1; *at != '\''; at++, text++) {
		char byte = *at;

		if (byte == '\\' && *++at == 'x') {
			char digits[3] = {at[1], at[1] ? at[2] : '\0', '\0'};

			byte = (char)strtoul(digits, NULL, 16);
			at += 2;
		} else if (byte == '\\') {
			byte = *at;
		}
		if (!*at || byte != *text)
			abort();
	}
	if (*text || at[1])
		abort();
	bytes_release(&query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char begin[] = "clickhouse://h/d?service=";
	static struct store_address address;
	struct diag_message message;
	char *text = malloc(size + sizeof(begin));
	int64_t time_s;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	check_literal(text);
	store_time_parse(text, 1764000000, &time_s);
	if (!store_address_parse(&address, text, 1764000000, &message) &&
		(!address.hosts || !address.database[0]))
		abort();
	strcpy(text, begin);
	memcpy(text + strlen(begin), data, size);
	text[strlen(begin) + size] = '\0';
	if (!store_address_parse(&address, text, 1764000000, &message))
		check_literal(address.label[STORE_SERVICE]);
	free(text);
	return 0;
}
