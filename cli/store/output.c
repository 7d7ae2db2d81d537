/* SPDX-License-Identifier: MIT */
/* Make profiles for a store from trees. Labels that are not given get defaults. */
#include "cli/store/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/profile/picture_names.h"
#include "render/transform.h"

#define NS_PER_S 1000000000ULL

static int refuse_label(const char *text, struct diag_message *message)
{
	diag_fail(message, -EINVAL, "--label has service, version, host and start, not '%.200s'",
		text);
	diag_fail_hint(message, "--label service=api --label version=2.1");
	return -EINVAL;
}

static int set_label(struct store_profile *profile, const char *text, struct diag_message *message)
{
	const char *value = strchr(text, '=') + 1;
	size_t bytes = (size_t)(value - text) - 1;

	for (unsigned i = 0; i < STORE_UNIT; i++) {
		if (strncmp(store_label_names()[i], text, bytes) || store_label_names()[i][bytes])
			continue;
		if (strlen(value) >= STORE_LABEL_BYTES)
			return diag_fail(message, -EINVAL, "--label %.*s: more than %u bytes",
				(int)bytes, text, STORE_LABEL_BYTES - 1);
		strcpy(profile->label[i], value);
		return 0;
	}
	if (strncmp(text, "start=", bytes + 1))
		return refuse_label(text, message);
	if (store_time_parse(value, time(NULL), &profile->start_s))
		return diag_fail(message, -EINVAL,
			"--label start wants a time as 2026-11-25T10:00, "
			"not '%.200s'",
			value);
	return 0;
}

static int set_labels(struct store_profile *profile, const struct options_list *labels,
	struct diag_message *message)
{
	int error = 0;

	for (unsigned i = 0; !error && i < labels->count; i++)
		error = set_label(profile, labels->item[i], message);
	return error;
}

int store_labels_check(const struct options_list *labels, struct diag_message *message)
{
	struct store_profile profile = {.spooled = NULL};

	return set_labels(&profile, labels, message);
}

/* Set @service to the base name of the first word in @title. */
static void guess_service(char service[STORE_LABEL_BYTES], const char *title)
{
	char word[STORE_LABEL_BYTES];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(title, " "), title);
	snprintf(service, STORE_LABEL_BYTES, "%s", base_name(word));
}

int store_output_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels, int64_t start_s,
	const struct bytes *bytes, struct diag_message *message)
{
	const struct calltree *fine = picture->fine ? picture->fine : tree;
	struct calltree *made = NULL;
	int error = transform_addresses(fine, &made);

	if (!error)
		error = store_profile_make(profile, made ? made : fine, picture);
	calltree_free(made);
	if (error)
		return diag_fail(message, error, "out of memory");
	error = set_labels(profile, labels, message);
	if (error)
		return error;
	if (!profile->label[STORE_HOST][0])
		gethostname(profile->label[STORE_HOST], HOST_NAME_MAX);
	if (!profile->label[STORE_SERVICE][0])
		guess_service(profile->label[STORE_SERVICE], profile->title);
	if (!profile->label[STORE_SERVICE][0]) {
		diag_fail(message, -EINVAL, "of which service is it? Its stacks do not say so");
		diag_fail_hint(message, "--label service=NAME");
		return -EINVAL;
	}
	if (!profile->start_s && picture->created_s > 0 && picture->created_s <= UINT32_MAX)
		profile->start_s = picture->created_s;
	/* Set the id before @start_s is used, so that equal files get the same id at any time. */
	if (bytes)
		store_profile_identify(profile, bytes);
	if (!profile->start_s)
		profile->start_s = start_s;
	if (!bytes)
		store_profile_identify_run(profile);
	return 0;
}

void store_output_report(const struct store_push *push, const struct store_pushed *pushed)
{
	const struct store_address *address = store_push_address(push);
	char more[32] = "";

	if (address->hosts > 1)
		snprintf(more, sizeof(more), " and %u more", address->hosts - 1);
	if (pushed->dropped)
		diag_error("the spool is full: its %u oldest profile%s gone", pushed->dropped,
			pushed->dropped == 1 ? " is" : "s are");
	if (pushed->spooled)
		diag_error("%u profile%s waiting for the next push", pushed->spooled,
			pushed->spooled == 1 ? " is" : "s are");
	if (pushed->sent || pushed->known)
		diag_info("pushed %u profile%s to '%s' of %s%s%s", pushed->sent,
			pushed->sent == 1 ? "" : "s", address->database, address->host[0], more,
			pushed->known ? ", those that it had are left out" : "");
}

int store_output_write(struct store_push *push, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels,
	struct diag_message *message)
{
	struct store_profile profile;
	struct store_pushed pushed;
	int64_t now = time(NULL), span = (int64_t)(picture->duration_ns / NS_PER_S);
	int error = store_output_make(&profile, tree, picture, labels, now - span, NULL, message);

	if (!error)
		error = store_push_add(push, &profile, message);
	if (!error)
		error = store_push_end(push, &pushed, message);
	if (!error)
		store_output_report(push, &pushed);
	store_profile_release(&profile);
	return error;
}
