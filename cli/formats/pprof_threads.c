/* SPDX-License-Identifier: MIT */
/* Labels to threads: name and number of a sample's thread as one text, interned. */
#include "cli/formats/pprof_threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* FNV-1a. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	while (*text)
		hash = (hash ^ (uint8_t)*text++) * 0x100000001b3ULL;
	return index_hash(hash, 0);
}

static int name_equal(const void *context, uint32_t item, const void *key)
{
	return !strcmp(((const struct pprof_threads *)context)->names[item], key);
}

static int intern(struct pprof_threads *threads, const char *name, struct calltree *tree,
	uint32_t *thread)
{
	uint64_t hash = hash_text(name);
	uint32_t at = index_find(&threads->index, hash, name_equal, threads, name);
	int error = 0;

	if (at == UINT32_MAX) {
		at = threads->name_count;
		error = pprof_reserve(&threads->names, at, &threads->name_room,
			sizeof(*threads->names));
		if (!error && !(threads->names[at] = strdup(name)))
			error = -ENOMEM;
		if (error)
			return error;
		threads->name_count++;
		error = index_add(&threads->index, hash, at);
		calltree_thread(tree, at, name);
	}
	*thread = at;
	return error;
}

int pprof_threads_find(struct pprof_threads *threads, const struct pprof_tables *tables,
	struct protobuf sample, struct calltree *tree, uint32_t *thread)
{
	struct identity identity = {"", ""};
	char text[2 * LABEL_BYTES + 16];
	struct protobuf_field field;
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
	error = intern(threads, text, tree, thread);
	return error ? diag_fail(tables->message, error, "cannot read '%s': %s", tables->name,
			       error == -E2BIG ? "too many threads" : strerror(-error))
		     : 0;
}

void pprof_threads_release(struct pprof_threads *threads)
{
	for (uint32_t i = 0; i < threads->name_count; i++)
		free(threads->names[i]);
	free(threads->names);
	index_release(&threads->index);
}
