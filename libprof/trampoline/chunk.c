/* SPDX-License-Identifier: MIT */
#include "libprof/trampoline/chunk.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/emit.h"
#include "libprof/trampoline/executable.h"

#define APART	     (64u << 20)
#define NEAR	     ((uintptr_t)1 << 30)
#define PLACES_ALIGN 65536u /* no page is larger */

static uintptr_t last_place; /* atomic: of the chunk mapped last */
static struct chunk *pool; /* chunks without code */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t round_to_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

/* As many slots as the pages of code hold, and as their data may be away from them. */
static void plan_for(const struct arch_stub_template *stub, uint32_t slots, struct emit_plan *plan)
{
	uint32_t stride = emit_stride(stub);
	size_t reach;

	slots = (uint32_t)(round_to_pages((size_t)slots * stride) / stride);
	do {
		emit_plan(stub, slots, plan);
		plan->target_at =
			(uint32_t)(round_to_pages(plan->end_at) + offsetof(struct chunk, target));
		plan->payload_at = (uint32_t)(round_to_pages(plan->end_at) +
					      offsetof(struct chunk, slot[0].payload));
		plan->payload_stride = sizeof(struct region_slot);
		reach = plan->payload_at + (size_t)slots * sizeof(struct region_slot);
		slots /= 2;
	} while (reach > ARCH_STUB_REACH && slots);
}

static struct chunk *take_from_pool(size_t code_room, uint32_t slots)
{
	struct chunk *chunk;

	pthread_mutex_lock(&pool_lock);
	for (struct chunk **at = &pool; (chunk = *at); at = &chunk->next_pooled) {
		if (chunk->code_room == code_room && chunk->slot_room >= slots) {
			*at = chunk->next_pooled;
			break;
		}
	}
	pthread_mutex_unlock(&pool_lock);
	return chunk;
}

static void give_to_pool(struct chunk *chunk)
{
	pthread_mutex_lock(&pool_lock);
	chunk->next_pooled = pool;
	pool = chunk;
	pthread_mutex_unlock(&pool_lock);
}

/*
 * Where to ask for @bytes. A call and its return across 4 GiB cost a nanosecond and more on CPUs
 * that predict the lower half of an address: programs and their mappings are further apart, so
 * stubs are put near their target, where the address space is empty. Below it, because a heap grows
 * above; far above where there is nothing below. It is a wish: the kernel takes another place where
 * this one is in use. Somewhat random, as other mappings are.
 */
static void *place_near(const void *target, size_t bytes)
{
	uintptr_t at = (uintptr_t)target & ~(uintptr_t)(PLACES_ALIGN - 1);
	uintptr_t last = __atomic_load_n(&last_place, __ATOMIC_RELAXED);
	uint16_t pages;
	uintptr_t jitter = 0;

	if (getrandom(&pages, sizeof(pages), GRND_NONBLOCK) == sizeof(pages))
		jitter = (uintptr_t)pages << 12;
	/* Chunks of neighbours go side by side. */
	if (last && last - at + NEAR < 2 * NEAR)
		at = last - bytes;
	else if (at > 2 * NEAR)
		at -= APART + jitter;
	else
		at += NEAR - jitter;
	return (void *)(at & ~(uintptr_t)(PLACES_ALIGN - 1));
}

static struct chunk *map_chunk(size_t code_room, uint32_t slots, const void *target)
{
	size_t data_bytes =
		round_to_pages(sizeof(struct chunk) + slots * sizeof(struct region_slot));
	struct chunk *chunk;
	void *start = mmap(place_near(target, code_room + data_bytes), code_room + data_bytes,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	__atomic_store_n(&last_place, (uintptr_t)start, __ATOMIC_RELAXED);
	chunk = (struct chunk *)((char *)start + code_room);
	chunk->code_room = code_room;
	chunk->slot_room =
		(uint32_t)((data_bytes - sizeof(struct chunk)) / sizeof(struct region_slot));
	return chunk;
}

struct writing {
	struct emit_plan plan;
	uintptr_t start;
};

static void write_code(void *context, uint8_t *room)
{
	const struct writing *writing = context;

	emit_write(&writing->plan, writing->start, room);
}

static void describe(struct chunk *chunk, const struct emit_plan *plan,
	const struct flameprof_arena *arena, int of_file)
{
	uintptr_t start = (uintptr_t)chunk - chunk->code_room;
	struct region *region = &chunk->region;

	region_change_begin(region);
	region->start = start;
	region->bytes = plan->code_bytes;
	region->kind = arena->kind;
	region->hides_target = arena->hides_target;
	region->stride = plan->stride;
	region->code_bytes = plan->stub->code_bytes;
	region->slots = plan->slots;
	region->slot = chunk->slot;
	region->eh_frame_hdr = start + plan->header_at;
	region->cfi_start = start;
	region->cfi_end = start + plan->end_at;
	region->row_space = region_space_new(plan->stride);
	region->eh_frame = (const void *)(start + plan->frame_at);
	region->eh_frame_bytes = plan->frame_end - plan->frame_at;
	region->brief_frame = plan->brief_at ? (const void *)(start + plan->brief_at) : NULL;
	region->of_file = of_file;
	region->owner = chunk;
	region->published = NULL;
	region_change_end(region);
}

int chunk_new(struct chunk **out, uint32_t slots, struct flameprof_arena *arena)
{
	struct writing writing;
	const struct emit_plan *plan = &writing.plan;
	struct chunk *chunk;
	size_t code_room;
	int error, of_file;

	plan_for(&arena->stub, slots, &writing.plan);
	code_room = round_to_pages(plan->end_at);
	chunk = take_from_pool(code_room, plan->slots);
	if (!chunk)
		chunk = map_chunk(code_room, plan->slots, (const void *)arena->near);
	if (!chunk)
		return -ENOMEM;
	writing.start = (uintptr_t)chunk - code_room;
	error = executable_make(writing.start, code_room, write_code, &writing, &of_file);
	if (error) {
		executable_drop(writing.start, code_room);
		give_to_pool(chunk);
		return error;
	}
	chunk->target = arena->target;
	chunk->arena = arena;
	chunk->used = 0;
	describe(chunk, plan, arena, of_file);
	*out = chunk;
	return 0;
}

void chunk_free(struct chunk *chunk)
{
	executable_drop((uintptr_t)chunk - chunk->code_room, chunk->code_room);
	give_to_pool(chunk);
}

void chunk_fork_prepare(void)
{
	pthread_mutex_lock(&pool_lock);
}

void chunk_fork_done(void)
{
	pthread_mutex_unlock(&pool_lock);
}
