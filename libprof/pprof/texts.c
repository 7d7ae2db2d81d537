/* SPDX-License-Identifier: MIT */
/*
 * One run of bytes, where each text begins in it, and a table that finds them by content.
 */
#include "libprof/pprof/texts.h"

#include <errno.h>
#include <string.h>

#include "libprof/fnv.h"

static uint32_t hash_parts(const char *head, const char *tail, size_t tail_bytes)
{
	return lookup_hash(fnv_text(fnv_text(FNV_BEGIN, head, SIZE_MAX), tail, tail_bytes));
}

/* lookup_hash_fn: entries count from 1. */
static uint32_t hash_entry(const void *owner, uint32_t entry)
{
	return hash_parts("", texts_at(owner, entry - 1), SIZE_MAX);
}

static int is_equal(const char *text, const char *head, const char *tail, size_t tail_bytes)
{
	size_t head_bytes = strlen(head);

	return !strncmp(text, head, head_bytes) &&
		!strncmp(text + head_bytes, tail, tail_bytes) &&
		!text[head_bytes + tail_bytes];
}

/* Room for one more of @bytes, its NUL included. */
static int reserve(struct texts *texts, size_t bytes)
{
	struct pages_account *account = &texts->account;
	int error;

	account->limit_bytes = SIZE_MAX;
	if (bytes > UINT32_MAX - texts->used)
		return -ENOSPC;
	error = lookup_reserve(&texts->lookup, account, 1, hash_entry, texts);
	if (!error)
		error = pages_reserve(account, &texts->starts,
			((size_t)texts->count + 1) * sizeof(uint32_t));
	if (!error)
		error = pages_reserve(account, &texts->bytes, texts->used + bytes);
	return error;
}

int texts_add(struct texts *texts, const char *head, const char *tail, size_t tail_bytes,
	uint32_t *number)
{
	size_t head_bytes = strlen(head);
	struct lookup_probe probe;
	uint32_t entry;
	char *at;
	int error;

	tail_bytes = strnlen(tail, tail_bytes);
	error = reserve(texts, head_bytes + tail_bytes + 1);
	if (error)
		return error;
	probe = lookup_begin(&texts->lookup, hash_parts(head, tail, tail_bytes));
	while ((entry = lookup_next(&texts->lookup, &probe)))
		if (is_equal(texts_at(texts, entry - 1), head, tail, tail_bytes))
			break;
	if (!entry) {
		((uint32_t *)texts->starts.at)[texts->count] = texts->used;
		at = (char *)texts->bytes.at + texts->used;
		memcpy(at, head, head_bytes);
		memcpy(at + head_bytes, tail, tail_bytes);
		at[head_bytes + tail_bytes] = '\0';
		texts->used += (uint32_t)(head_bytes + tail_bytes + 1);
		entry = ++texts->count;
		lookup_put(&texts->lookup, &probe, entry);
	}
	*number = entry - 1;
	return 0;
}

void texts_release(struct texts *texts)
{
	pages_release(&texts->account, &texts->bytes);
	pages_release(&texts->account, &texts->starts);
	pages_release(&texts->account, &texts->lookup.slots);
	*texts = (struct texts){.count = 0};
}
