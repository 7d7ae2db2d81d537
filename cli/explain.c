/* SPDX-License-Identifier: MIT */
/*
 * Fill and print messages of the table by their cause. Placeholders have names, unlike printf()
 * formats, because the compiler could not check the formats of a table against the arguments.
 */
#include "cli/explain.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *message, *hint;
} explanations[] = {
#define EXPLAIN(cause, message, hint) {message, hint},
#include "cli/explain.def"
#undef EXPLAIN
};

static void put_string(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

/* Write the value of the placeholder @key into @out. @key has @bytes, without its braces. */
static void expand_key(
	char *out, size_t size, const char *key, size_t bytes, const struct explain_facts *facts)
{
	const char *bar = memchr(key, '|', bytes);

	if (bar && facts->n == 1)
		snprintf(out, size, "%.*s", (int)(bar - key), key);
	else if (bar)
		snprintf(out, size, "%.*s", (int)(key + bytes - bar - 1), bar + 1);
	else if (!strncmp(key, "name}", bytes + 1))
		put_string(out, size, facts->name);
	else if (!strncmp(key, "other}", bytes + 1))
		put_string(out, size, facts->other);
	else if (!strncmp(key, "why}", bytes + 1))
		put_string(out, size, facts->why);
	else if (!strncmp(key, "n}", bytes + 1))
		snprintf(out, size, "%" PRIu64, facts->n);
	else if (!strncmp(key, "percent}", bytes + 1))
		snprintf(out, size, "%.1f", facts->percent);
	else if (!strncmp(key, "seconds}", bytes + 1))
		snprintf(out, size, "%.2f", facts->seconds);
	else
		snprintf(out, size, "{%.*s}", (int)bytes, key);
}

void explain_expand(char *out, size_t size, const char *text, const struct explain_facts *facts)
{
	size_t used = 0;

	out[0] = '\0';
	while (*text && used + 1 < size) {
		size_t bytes = strcspn(text, "{");

		if (bytes || !strchr(text, '}')) {
			bytes = bytes ? bytes : strlen(text);
			snprintf(out + used, size - used, "%.*s", (int)bytes, text);
			text += bytes;
		} else {
			bytes = strcspn(text + 1, "}");
			expand_key(out + used, size - used, text + 1, bytes, facts);
			text += bytes + 2;
		}
		used += strlen(out + used);
	}
}

int explain(struct diag_message *message, int error, enum explanation cause,
	const struct explain_facts *facts)
{
	char text[DIAG_TEXT_BYTES];

	if (explanations[cause].message) {
		explain_expand(text, sizeof(text), explanations[cause].message, facts);
		diag_fail(message, error, "%s", text);
	}
	if (explanations[cause].hint) {
		explain_expand(text, sizeof(text), explanations[cause].hint, facts);
		diag_fail_hint(message, "%s", text);
	}
	return error;
}

void explain_print(enum explanation cause, const struct explain_facts *facts)
{
	struct diag_message message = {.text = ""};

	explain(&message, 0, cause, facts);
	if (message.text[0])
		diag_info("%s", message.text);
	if (message.hint[0])
		diag_info("hint: %s", message.hint);
}

void explain_user(char *out, size_t size, uid_t uid)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(out, size, "%s", user->pw_name);
	else
		snprintf(out, size, "uid %u", (unsigned)uid);
}
