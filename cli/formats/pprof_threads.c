/* SPDX-License-Identifier: MIT */
/* Labels to threads: name and number of a sample's thread as one text, interned. */
#include "cli/formats/pprof_threads.h"

#include <inttypes.h>
#include <stdio.h>

enum { SAMPLE_LABEL = 3, LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };

#define LABEL_BYTES 256

/* What the labels of one sample say. */
struct identity {
	char name[LABEL_BYTES];
	char id[LABEL_BYTES];
};

static int is_one_of(const char *key, const char *const *names)
{
	while (*names && strcmp(key, *names))
		names++;
	return *names != NULL;
}

static int take_label(const struct pprof_tables *tables, struct protobuf label,
	struct identity *identity)
{
	static const char *const names[] = {"thread", "thread_name", "thread name", NULL};
	static const char *const ids[] = {"thread_id", "thread id", "tid", NULL};
	uint64_t numbers[LABEL_NUMBER + 1] = {0};
	struct protobuf_field field;
	char key[16];
	int more;

	while ((more = protobuf_next(&label, &field)) > 0)
		if (field.number <= LABEL_NUMBER)
			numbers[field.number] = field.value;
	if (more)
		return pprof_damaged(tables, label.at, "a damaged label");
	pprof_text(tables, numbers[LABEL_KEY], key, sizeof(key));
	if (is_one_of(key, names) && numbers[LABEL_TEXT])
		pprof_text(tables, numbers[LABEL_TEXT], identity->name, sizeof(identity->name));
	else if (is_one_of(key, ids) && numbers[LABEL_TEXT])
		pprof_text(tables, numbers[LABEL_TEXT], identity->id, sizeof(identity->id));
	else if (is_one_of(key, ids) && numbers[LABEL_NUMBER])
		snprintf(identity->id, sizeof(identity->id), "%" PRId64,
			(int64_t)numbers[LABEL_NUMBER]);
	return 0;
}

int pprof_threads_find(struct pprof_pool *threads, const struct pprof_tables *tables,
	struct protobuf sample, struct calltree *tree, uint32_t *thread)
{
	struct identity identity = {"", ""};
	char text[2 * LABEL_BYTES + 16];
	struct protobuf_field field;
	uint32_t known;
	int error = 0;

	/* The sample itself was read before: it has no damage. */
	while (!error && protobuf_next(&sample, &field) > 0)
		if (field.number == SAMPLE_LABEL && field.type == PROTOBUF_BYTES)
			error = take_label(tables, field.bytes, &identity);
	if (error)
		return error;
	*thread = PPROF_UNSET;
	if (!identity.name[0] && !identity.id[0])
		return 0;
	if (!identity.id[0])
		snprintf(text, sizeof(text), "%s", identity.name);
	else
		snprintf(text, sizeof(text), "%s (%s)",
			identity.name[0] ? identity.name : "thread", identity.id);
	known = threads->count;
	error = pprof_pool_add(threads, text, thread);
	if (error)
		return diag_fail(tables->message, error, "cannot read '%s': %s", tables->name,
			error == -E2BIG ? "too many threads" : strerror(-error));
	if (*thread == known)
		calltree_thread(tree, *thread, text);
	return 0;
}
