/* SPDX-License-Identifier: MIT */
/*
 * Make and end stubs, small generated functions that call a target. A stub occupies one slot of a
 * chunk. The code and the call-frame information of all stubs of a chunk are written once, when the
 * chunk is made. Making a stub only writes its name, its payload and then `space`, its address in
 * the code space (a range of numbers of which each stub gets new ones). A stub ends when `space`
 * becomes 0. Readers that run at the same time read `space` before and after the other fields
 * (region_find_stub()).
 */
#include "libprof/trampoline/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/signature.h"
#include "libprof/flameprof_signature.h"
#include "libprof/trampoline/fork_lock.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/permanent.h"
#include "libprof/trampoline/publish.h"
#include "libprof/trampoline/region.h"

/* ---- the signature of a function's type ------------------------------------------------------ */

#define ALIGNMENT_MAX 16u /* bytes of a stub's frame */
#define WORDS_MAX     64u

/*
 * In bytes. Larger arguments and results are passed in the same way on every CPU. For smaller ones,
 * the way depends on the types of the members, too.
 */
#define VAGUE_ARGUMENT_MAX 64u
#define VAGUE_RESULT_MAX   16u

_Static_assert((int)FLAMEPROF_TYPE_OBJECT == (int)ARCH_TYPE_OBJECT &&
		       (int)FLAMEPROF_TYPE_COMPLEX == (int)ARCH_TYPE_COMPLEX,
	"kinds are the same");

static const struct flameprof_signature impossible = {
	.stack_words = ~0u, .integer_arguments = FLAMEPROF_SIGNATURE_UNKNOWN};

/* Unpack a type. Returns 1 if a stub can pass values of this type. */
static int read_type(uint64_t word, struct arch_type *out)
{
	unsigned kind = word & 0xff;

	*out = (struct arch_type){
		(enum arch_type_kind)kind, word >> 24, (unsigned)(word >> 8 & 0xffff)};
	return kind <= ARCH_TYPE_OBJECT && out->alignment <= ALIGNMENT_MAX;
}

/* Does the way to pass a value of this type depend on more than the type's size? */
static int is_vague(const struct arch_type *type, uint64_t bytes_max)
{
	return type->kind == ARCH_TYPE_OBJECT ||
	       (type->kind == ARCH_TYPE_AGGREGATE && type->bytes <= bytes_max);
}

/*
 * Can a bind stub pass the payload as the first argument? To make room, each integer argument moves
 * to the next register, and the argument in the last register moves to the stack, before all other
 * stack arguments.
 */
static int can_bind(const struct arch_call *call)
{
	if (call->has_pair && !ARCH_CALL_PAIRS_MOVE)
		return 0;
	return !call->is_spilled ||
	       !(call->is_spilled_behind || call->has_pair || call->has_aligned);
}

struct flameprof_signature flameprof_signature_of(
	uint64_t result, const uint64_t *arguments, size_t count)
{
	struct flameprof_signature signature = {0};
	struct arch_call call = {0};
	struct arch_type type;
	int vague;

	if ((count && !arguments) || !read_type(result, &type))
		return impossible;
	vague = is_vague(&type, VAGUE_RESULT_MAX);
	signature.memory_result = (unsigned)arch_call_result(&call, &type);
	for (size_t i = 0; i < count; i++) {
		if (!read_type(arguments[i], &type))
			return impossible;
		if (type.kind == ARCH_TYPE_VOID)
			continue;
		vague |= is_vague(&type, VAGUE_ARGUMENT_MAX);
		arch_call_argument(&call, &type);
		if (call.stack_words > WORDS_MAX)
			return impossible;
	}
	signature.stack_words = (unsigned)call.stack_words;
	signature.integer_arguments =
		vague || !can_bind(&call) ? FLAMEPROF_SIGNATURE_UNKNOWN : call.integer_words;
	return signature;
}

/*
 * Bytes of code of an arena's first chunk, and of its largest chunks. Each chunk is four times as
 * large as the previous one. Few large chunks are better, because some unwinders search all chunks.
 */
#define FIRST_BYTES 4096u
#define MOST_BYTES  (1u << 20)

#define SLOT_MASK ((1u << ARENA_SLOT_BITS) - 1)

_Static_assert(MOST_BYTES / ARCH_STUB_ALIGN <= 1u << ARENA_SLOT_BITS, "a slot's number fits");
_Static_assert(ARENA_CHUNKS_MAX <= 1u << (32 - ARENA_SLOT_BITS), "a chunk's number fits");

static struct flameprof_arena *arenas;
/* Atomic: 1 between flameprof_arenas_suspend() and flameprof_arenas_resume(). */
static int suspended;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_for_fork(void)
{
	pthread_mutex_lock(&list_lock);
	for (struct flameprof_arena *arena = arenas; arena; arena = arena->next)
		pthread_mutex_lock(&arena->lock);
}

static void unlock_after_fork(void)
{
	for (struct flameprof_arena *arena = arenas; arena; arena = arena->next)
		pthread_mutex_unlock(&arena->lock);
	pthread_mutex_unlock(&list_lock);
}

static FORK_WATCH(watch_forks, lock_for_fork, unlock_after_fork, chunk_watch_forks();
	permanent_watch_forks())

void arenas_lock(struct flameprof_arena **first)
{
	pthread_mutex_lock(&list_lock);
	*first = arenas;
}

void arenas_unlock(void)
{
	pthread_mutex_unlock(&list_lock);
}

int arenas_are_suspended(void)
{
	return __atomic_load_n(&suspended, __ATOMIC_RELAXED);
}

int arenas_suspend(int is_suspended)
{
	return __atomic_exchange_n(&suspended, is_suspended, __ATOMIC_RELAXED);
}

/* Returns the slot for @low, the low half of a word of the free list, and its chunk. */
static struct region_slot *slot_of(
	struct flameprof_arena *arena, uint32_t low, struct chunk **chunk)
{
	*chunk = __atomic_load_n(&arena->chunk[(low - 1) >> ARENA_SLOT_BITS], __ATOMIC_ACQUIRE);
	return &(*chunk)->slot[(low - 1) & SLOT_MASK];
}

static struct region_slot *pop_freed(struct flameprof_arena *arena, struct chunk **chunk)
{
	uint64_t head = __atomic_load_n(&arena->free_list, __ATOMIC_ACQUIRE);
	struct region_slot *slot;
	uint64_t below;

	do {
		if (!(uint32_t)head)
			return NULL;
		slot = slot_of(arena, (uint32_t)head, chunk);
		/*
		 * If another thread has claimed the slot by now, `payload` is no link any more, but
		 * then the exchange fails.
		 */
		below = (uint32_t)__atomic_load_n(&slot->payload, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&arena->free_list, &head,
		((head >> 32) + 1) << 32 | below, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return slot;
}

/* Push @slot of @chunk onto the free list. The slot's `space` must be 0. */
static void arena_free_slot(
	struct flameprof_arena *arena, struct chunk *chunk, struct region_slot *slot)
{
	uint32_t low = (chunk->number << ARENA_SLOT_BITS | (uint32_t)(slot - chunk->slot)) + 1;
	uint64_t head = __atomic_load_n(&arena->free_list, __ATOMIC_RELAXED);

	do {
		__atomic_store_n(&slot->payload, (uint32_t)head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&arena->free_list, &head,
		((head >> 32) + 1) << 32 | low, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct region_slot *claim_unused(struct chunk *chunk)
{
	uint32_t at;

	/* Read `used` first, so that it does not grow at each call when the chunk is full. */
	if (!chunk || __atomic_load_n(&chunk->used, __ATOMIC_RELAXED) >= chunk->region.slots)
		return NULL;
	at = __atomic_fetch_add(&chunk->used, 1, __ATOMIC_RELAXED);
	return at < chunk->region.slots ? &chunk->slot[at] : NULL;
}

/* Add a chunk to @arena. Returns 0 or -errno. Context: arena->lock is held. */
static int add_chunk(struct flameprof_arena *arena)
{
	uint32_t bytes = FIRST_BYTES << 2 * (arena->chunks < 8 ? arena->chunks : 8);
	uint32_t stride = REGION_STRIDE(arena->stub.code_bytes);
	struct chunk *chunk;
	int error;

	if (arena->chunks == ARENA_CHUNKS_MAX)
		return -ENOMEM;
	if (bytes > MOST_BYTES)
		bytes = MOST_BYTES;
	error = chunk_new(&chunk, bytes / stride, arena);
	if (error)
		return error;
	chunk->number = arena->chunks;
	error = region_add(&chunk->region);
	if (error) {
		chunk_free(chunk);
		return error;
	}
	__atomic_store_n(&arena->chunk[arena->chunks++], chunk, __ATOMIC_RELEASE);
	__atomic_store_n(&arena->current, chunk, __ATOMIC_RELEASE);
	return 0;
}

void arena_set_status(struct flameprof_arena *arena, enum flameprof_stub_status status)
{
	__atomic_store_n(&arena->status, status, __ATOMIC_RELAXED);
}

static enum flameprof_stub_status status_of(int error)
{
	if (!error)
		return FLAMEPROF_STUBS_WORK;
	return error == -EACCES ? FLAMEPROF_STUBS_DENIED : FLAMEPROF_STUBS_NO_MEMORY;
}

static struct region_slot *claim_from_new_chunk(
	struct flameprof_arena *arena, struct chunk *full, struct chunk **chunk)
{
	struct region_slot *slot = NULL;
	struct chunk *added = NULL;
	int error;

	pthread_mutex_lock(&arena->lock);
	*chunk = __atomic_load_n(&arena->current, __ATOMIC_RELAXED);
	/* Check again: another thread may have added a chunk before this thread got the lock. */
	if (*chunk != full)
		slot = claim_unused(*chunk);
	if (!slot) {
		error = add_chunk(arena);
		*chunk = arena->current;
		slot = error ? NULL : claim_unused(*chunk);
		added = error ? NULL : *chunk;
		arena_set_status(arena, status_of(error));
	}
	pthread_mutex_unlock(&arena->lock);
	if (added)
		publish_add_region(&added->region);
	return slot;
}

/*
 * Claim a free slot; *@chunk gets its chunk, which may be new. Returns NULL on failure: see
 * arena->status.
 */
static struct region_slot *arena_alloc_slot(struct flameprof_arena *arena, struct chunk **chunk)
{
	struct region_slot *slot = pop_freed(arena, chunk);

	if (slot)
		return slot;
	*chunk = __atomic_load_n(&arena->current, __ATOMIC_ACQUIRE);
	slot = claim_unused(*chunk);
	/* If the system refuses executable memory, do not ask it again for each stub. */
	if (!slot && flameprof_arena_status(arena) != FLAMEPROF_STUBS_DENIED)
		slot = claim_from_new_chunk(arena, *chunk, chunk);
	return slot;
}

void arena_drop_chunks(struct flameprof_arena *arena)
{
	for (uint32_t i = 0; i < arena->chunks; i++) {
		struct chunk *chunk = arena->chunk[i];

		for (uint32_t slot = 0; slot < chunk->region.slots; slot++)
			__atomic_store_n(&chunk->slot[slot].space, 0, __ATOMIC_RELEASE);
		region_remove(&chunk->region);
		publish_remove_region(&chunk->region);
		chunk_free(chunk);
		arena->chunk[i] = NULL;
	}
	arena->chunks = 0;
	arena->current = NULL;
	arena->free_list = 0;
}

static int check_signature(
	const struct flameprof_signature *signature, struct arch_stub_shape *shape)
{
	static const struct flameprof_signature zero;

	if (memcmp(signature->reserved, zero.reserved, sizeof(zero.reserved)))
		return -EINVAL;
	shape->stack_words = signature->stack_words;
	shape->integer_arguments = signature->integer_arguments;
	shape->memory_result = signature->memory_result != 0;
	return 0;
}

/* Make the first chunk immediately, so that the arena's status shows whether stubs can be made. */
static void make_first_chunk(struct flameprof_arena *arena)
{
	int error;

	if (arenas_are_suspended()) {
		arena_set_status(arena, FLAMEPROF_STUBS_SUSPENDED);
		return;
	}
	pthread_mutex_lock(&arena->lock);
	error = add_chunk(arena);
	arena_set_status(arena, status_of(error));
	pthread_mutex_unlock(&arena->lock);
	if (!error)
		publish_add_region(&arena->current->region);
}

int arena_new(struct flameprof_arena **out, enum flameprof_code_kind kind,
	const struct arch_stub_shape *shape, flameprof_function *target, flameprof_function *near)
{
	struct flameprof_arena *arena;
	int error;

	watch_forks();
	arena = calloc(1, sizeof(*arena));
	if (!arena)
		return -ENOMEM;
	error = arch_stub_prepare(shape, &arena->stub);
	if (error) {
		free(arena);
		return error;
	}
	arena->kind = kind;
	arena->shape = *shape;
	arena->target = target;
	arena->near = near;
	pthread_mutex_init(&arena->lock, NULL);
	pthread_mutex_lock(&list_lock);
	arena->next = arenas;
	arenas = arena;
	pthread_mutex_unlock(&list_lock);
	make_first_chunk(arena);
	*out = arena;
	return 0;
}

int flameprof_arena_new(struct flameprof_arena **out, enum flameprof_stub_kind kind,
	flameprof_function *target, const struct flameprof_signature *signature)
{
	struct arch_stub_shape shape = {.bind = kind == FLAMEPROF_STUB_BIND};

	if (other_copy.flameprof_arena_new)
		return other_copy.flameprof_arena_new(out, kind, target, signature);
	if (!out || !target || (kind != FLAMEPROF_STUB_CALL && kind != FLAMEPROF_STUB_BIND) ||
		(signature && check_signature(signature, &shape)))
		return -EINVAL;
	return arena_new(out, shape.bind ? FLAMEPROF_CODE_BIND_STUB : FLAMEPROF_CODE_CALL_STUB,
		&shape, target, target);
}

void flameprof_arena_free(struct flameprof_arena *arena)
{
	if (other_copy.flameprof_arena_free) {
		other_copy.flameprof_arena_free(arena);
		return;
	}
	if (!arena)
		return;
	pthread_mutex_lock(&list_lock);
	for (struct flameprof_arena **at = &arenas; *at; at = &(*at)->next) {
		if (*at == arena) {
			*at = arena->next;
			break;
		}
	}
	pthread_mutex_unlock(&list_lock);
	arena_drop_chunks(arena);
	pthread_mutex_destroy(&arena->lock);
	free(arena->suspended);
	free(arena);
}

void flameprof_arena_hide_target(struct flameprof_arena *arena)
{
	if (other_copy.flameprof_arena_hide_target) {
		other_copy.flameprof_arena_hide_target(arena);
		return;
	}
	if (!arena)
		return;
	pthread_mutex_lock(&arena->lock);
	arena->hides_target = 1;
	for (uint32_t i = 0; i < arena->chunks; i++)
		__atomic_store_n(&arena->chunk[i]->region.hides_target, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&arena->lock);
}

enum flameprof_stub_status flameprof_arena_status(const struct flameprof_arena *arena)
{
	if (other_copy.flameprof_arena_status)
		return other_copy.flameprof_arena_status(arena);
	if (!arena)
		return FLAMEPROF_STUBS_NO_MEMORY;
	return (enum flameprof_stub_status)__atomic_load_n(&arena->status, __ATOMIC_RELAXED);
}

/* ---- making and freeing stubs ---------------------------------------------------------------- */

static uintptr_t stub_address(const struct chunk *chunk, const struct region_slot *slot)
{
	return chunk->region.start + (uintptr_t)(slot - chunk->slot) * chunk->region.stride;
}

flameprof_function *arena_new_stub(
	struct flameprof_arena *arena, const char *name, uintptr_t payload)
{
	struct region_slot *slot;
	struct chunk *chunk;
	char *text;

	if (flameprof_arena_status(arena) == FLAMEPROF_STUBS_SUSPENDED)
		return NULL;
	slot = arena_alloc_slot(arena, &chunk);
	if (!slot)
		return NULL;
	text = (char *)slot->name;
	/*
	 * Order the stores below after the store of 0 to `space` that ended the slot's last stub.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (permanent_set_text(&text, name && *name ? name : ARENA_NO_NAME, FLAMEPROF_NAME_BYTES)) {
		arena_free_slot(arena, chunk, slot);
		return NULL;
	}
	__atomic_store_n(&slot->name, text, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->payload, payload, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->published, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->space, region_space_new(chunk->region.stride), __ATOMIC_RELEASE);
	publish_add_slot(&chunk->region, (uint32_t)(slot - chunk->slot));
	return (flameprof_function *)stub_address(chunk, slot);
}

flameprof_function *flameprof_stub_new(
	struct flameprof_arena *arena, const char *name, uintptr_t payload)
{
	flameprof_function *stub;

	if (other_copy.flameprof_stub_new)
		return other_copy.flameprof_stub_new(arena, name, payload);
	if (!arena)
		return NULL;
	stub = arena_new_stub(arena, name, payload);
	return stub ? stub : arena_plain(arena, payload);
}

/* Returns the slot of the stub at @address, or NULL if no stub of @arena is there. */
static struct region_slot *find_slot(
	struct flameprof_arena *arena, uintptr_t address, struct chunk **chunk)
{
	const struct region *region = region_find(address);
	uintptr_t offset;

	if (!region || region->kind == FLAMEPROF_CODE_HOST)
		return NULL;
	*chunk = region->owner;
	offset = address - region->start;
	if ((*chunk)->arena != arena || offset % region->stride)
		return NULL;
	return &(*chunk)->slot[offset / region->stride];
}

void flameprof_stub_free(struct flameprof_arena *arena, flameprof_function *stub)
{
	struct region_slot *slot;
	struct chunk *chunk;

	if (other_copy.flameprof_stub_free) {
		other_copy.flameprof_stub_free(arena, stub);
		return;
	}
	if (!arena || !stub || stub == arena->target)
		return;
	slot = find_slot(arena, (uintptr_t)stub, &chunk);
	/*
	 * The exchange lets only one of two threads that free the stub at the same time free the
	 * slot.
	 */
	if (!slot || !__atomic_exchange_n(&slot->space, 0, __ATOMIC_ACQ_REL))
		return;
	publish_remove_slot(&chunk->region, (uint32_t)(slot - chunk->slot));
	arena_free_slot(arena, chunk, slot);
}
