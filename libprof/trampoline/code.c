/* SPDX-License-Identifier: MIT */
/*
 * The host's own code. A struct code is never freed: its region is read by handlers; removed ones
 * are used again.
 */
#include "libprof/trampoline/code.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "libprof/flameprof_stub.h"
#include "libprof/trampoline/elsewhere.h"
#include "libprof/trampoline/fork.h"
#include "libprof/trampoline/frame_index.h"
#include "libprof/trampoline/lasting.h"
#include "libprof/trampoline/publish.h"
#include "libprof/trampoline/region.h"

struct code {
	struct region region;
	struct region_slot slot;
	struct code *next_unused;
	char *table; /* the index of its call-frame information */
};

static struct code *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* unused; and removals, one at a time */

static struct code *new_code(void)
{
	char *room = lasting_room(NULL, sizeof(struct code) + _Alignof(struct code));

	if (!room)
		return NULL;
	return (struct code *)(((uintptr_t)room + _Alignof(struct code) - 1) &
			       ~(uintptr_t)(_Alignof(struct code) - 1));
}

static struct code *take(void)
{
	struct code *code;

	trampoline_fork_register();
	pthread_mutex_lock(&lock);
	code = unused;
	if (code)
		unused = code->next_unused;
	pthread_mutex_unlock(&lock);
	return code ? code : new_code();
}

static void give(struct code *code)
{
	pthread_mutex_lock(&lock);
	code->next_unused = unused;
	unused = code;
	pthread_mutex_unlock(&lock);
}

static void describe(struct code *code, uintptr_t start, size_t bytes,
	const struct frame_index *index, const void *eh_frame)
{
	struct region *region = &code->region;

	region->start = start;
	region->bytes = bytes;
	region->kind = FLAMEPROF_CODE_HOST;
	region->stride = (uint32_t)bytes;
	region->code_bytes = (uint32_t)bytes;
	region->slots = 1;
	region->slot = &code->slot;
	region->eh_frame_hdr = index->eh_frame_hdr;
	region->cfi_start = index->cfi_start;
	region->cfi_end = index->cfi_end;
	region->eh_frame = eh_frame;
	region->eh_frame_bytes = index->eh_frame_bytes;
	region->brief_frame = NULL;
	region->of_file = 0;
	region->owner = code;
	region->published = NULL;
	code->slot.payload = 0;
	code->slot.published = 0;
	region->row_space = region_space_new(bytes);
	__atomic_store_n(&code->slot.space, region->row_space, __ATOMIC_RELEASE);
}

int flameprof_code_add(const void *start, size_t bytes, const char *name, const void *eh_frame)
{
	struct frame_index index = {0};
	struct code *code;
	char *text;
	int error = 0;

	if (elsewhere.flameprof_code_add)
		return elsewhere.flameprof_code_add(start, bytes, name, eh_frame);
	if (!start || !bytes || bytes > UINT32_MAX || (uintptr_t)start + bytes < (uintptr_t)start)
		return -EINVAL;
	code = take();
	if (!code)
		return -ENOMEM;
	region_change_begin(&code->region);
	text = (char *)code->slot.name;
	if (lasting_set_text(&text, name && *name ? name : "[anonymous]", FLAMEPROF_NAME_BYTES))
		error = -ENOMEM;
	if (!error && eh_frame)
		error = frame_index_make(&index, &code->table, eh_frame, (uintptr_t)start, bytes);
	if (!error) {
		code->slot.name = text;
		describe(code, (uintptr_t)start, bytes, &index, eh_frame);
	}
	region_change_end(&code->region);
	if (!error)
		error = region_add(&code->region);
	if (error) {
		__atomic_store_n(&code->slot.space, 0, __ATOMIC_RELEASE);
		give(code);
		return error;
	}
	publish_add_region(&code->region);
	return 0;
}

int flameprof_code_remove(const void *start)
{
	const struct region *region;
	struct code *code;

	if (elsewhere.flameprof_code_remove)
		return elsewhere.flameprof_code_remove(start);
	region = region_find((uintptr_t)start);
	if (!region || region->kind != FLAMEPROF_CODE_HOST || region->start != (uintptr_t)start)
		return -ENOENT;
	code = region->owner;
	/* Removed twice at once: one of them does it. */
	if (!__atomic_exchange_n(&code->slot.space, 0, __ATOMIC_ACQ_REL))
		return -ENOENT;
	region_remove(&code->region);
	publish_remove_region(&code->region);
	give(code);
	return 0;
}

void code_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void code_fork_done(void)
{
	pthread_mutex_unlock(&lock);
}
