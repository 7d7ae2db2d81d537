/* SPDX-License-Identifier: MIT */
/*
 * A chunk of equal stubs: its address, its contents, and how it becomes executable. If mprotect(2)
 * refuses executable memory, the pages are those of a memfd. If the memfd is refused, too, no stubs
 * are made, and the host gets the address of the target function instead of a stub's. A chunk is
 * mapped near its target, because calls over more than 4 GiB cost 1.6 ns more. One large chunk is
 * better than many small ones, because libgcc sorts all registered entries at each search.
 */
#include "libprof/trampoline/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arch/stub.h"
#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/fork_lock.h"
#include "libprof/trampoline/region.h"

/* ---- code and its unwinding information ------------------------------------------------------ */
/*
 * Layout of the executable pages: equal stubs, then their call-frame information. All of it is
 * written when the chunk is made, so that making a stub writes none of it.
 *
 *	code           stub, fill, stub, fill, ...        every `stride` bytes
 *	.eh_frame_hdr  a search table, one entry a stub   at `header_at`
 *	.eh_frame      one CIE, one FDE a stub, 0         at `frame_at`, up to `frame_end`
 *	brief one      one CIE, one FDE for all, 0        at `brief_at`, up to `end_at`
 *
 * The data pages after them have one word for each stub, its payload, and one word for all stubs,
 * the target.
 */

/* Source: LSB Core, "Exception Frames" (.eh_frame, .eh_frame_hdr). */

struct emit_plan {
	const struct arch_stub_template *stub;
	uint32_t slots;
	uint32_t stride;
	uint32_t code_bytes; /* slots * stride */
	uint32_t header_at;
	uint32_t frame_at;
	uint32_t frame_end;
	uint32_t brief_at; /* 0: none */
	uint32_t end_at;
	/* The caller sets the following members, in bytes from the first stub. */
	uint32_t target_at;
	/*
	 * Offset of the first stub's payload. The other payloads follow at multiples of
	 * payload_stride.
	 */
	uint32_t payload_at;
	uint32_t payload_stride;
};

/* Bytes of .eh_frame_hdr: four encodings, the address of .eh_frame, the number of entries. */
#define HEADER_BYTES 12u
#define ENTRY_BYTES  8u
#define CIE_BYTES    ((8 + ARCH_STUB_CIE_BYTES + 7) & ~7u)
#define BRIEF_FDE_BYTES ((FDE_FIXED + ARCH_STUB_BRIEF_MAX + 7) & ~7u)
/* Bytes of an FDE without instructions: length, CIE, first pc, range, augmentation length 0. */
#define FDE_FIXED    17u

static uint32_t fde_bytes(const struct arch_stub_template *stub)
{
	return (FDE_FIXED + stub->cfi_bytes + 7) & ~7u;
}

/* Returns the distance between two stubs in bytes. */
static uint32_t emit_stride(const struct arch_stub_template *stub)
{
	return (REGION_STRIDE(stub->code_bytes) + ARCH_STUB_ALIGN - 1) & ~(ARCH_STUB_ALIGN - 1u);
}

/* Compute the layout for @slots stubs of @stub. */
static void emit_plan(const struct arch_stub_template *stub, uint32_t slots, struct emit_plan *out)
{
	uint8_t program[ARCH_STUB_BRIEF_MAX];

	*out = (struct emit_plan){.stub = stub, .slots = slots, .stride = emit_stride(stub)};
	out->code_bytes = slots * out->stride;
	out->header_at = (out->code_bytes + 15) & ~15u;
	out->frame_at = (out->header_at + HEADER_BYTES + ENTRY_BYTES * slots + 7) & ~7u;
	out->frame_end = out->frame_at + CIE_BYTES + slots * fde_bytes(stub) + 4;
	out->end_at = out->frame_end;
	if (arch_stub_brief_cfi(stub, 0, out->stride, program)) {
		out->brief_at = (out->frame_end + 7) & ~7u;
		out->end_at = out->brief_at + CIE_BYTES + BRIEF_FDE_BYTES + 4;
	}
}

static void put_u32(uint8_t *room, uint32_t at, uint32_t value)
{
	memcpy(room + at, &value, sizeof(value));
}

static void write_code(const struct emit_plan *plan, uint8_t *room)
{
	memset(room, ARCH_STUB_FILL, plan->code_bytes);
	for (uint32_t i = 0; i < plan->slots; i++) {
		uint32_t at = i * plan->stride;

		arch_stub_write(plan->stub, room + at,
			(int32_t)(plan->payload_at + i * plan->payload_stride - at),
			(int32_t)(plan->target_at - at));
	}
}

static void write_cie(uint8_t *room, uint32_t at)
{
	put_u32(room, at, CIE_BYTES - 4);
	put_u32(room, at + 4, 0);
	memcpy(room + at + 8, arch_stub_cie, ARCH_STUB_CIE_BYTES);
}

static void write_brief(const struct emit_plan *plan, uintptr_t start, uint8_t *room)
{
	uint32_t at = plan->brief_at + CIE_BYTES;

	write_cie(room, plan->brief_at);
	put_u32(room, at, BRIEF_FDE_BYTES - 4);
	put_u32(room, at + 4, at + 4 - plan->brief_at);
	put_u32(room, at + 8, 0 - (at + 8));
	put_u32(room, at + 12, plan->code_bytes);
	arch_stub_brief_cfi(plan->stub, start, plan->stride, room + at + FDE_FIXED);
}

static void write_fdes(const struct emit_plan *plan, uint8_t *room)
{
	uint32_t bytes = fde_bytes(plan->stub);
	uint32_t at = plan->frame_at + CIE_BYTES;

	for (uint32_t i = 0; i < plan->slots; i++, at += bytes) {
		uint32_t code = i * plan->stride;

		put_u32(room, at, bytes - 4);
		put_u32(room, at + 4, at + 4 - plan->frame_at);
		put_u32(room, at + 8, code - (at + 8));
		put_u32(room, at + 12, plan->stub->code_bytes);
		memcpy(room + at + FDE_FIXED, plan->stub->cfi, plan->stub->cfi_bytes);
		put_u32(room, plan->header_at + HEADER_BYTES + ENTRY_BYTES * i,
			code - plan->header_at);
		put_u32(room, plan->header_at + HEADER_BYTES + ENTRY_BYTES * i + 4,
			at - plan->header_at);
	}
}

/* Write plan->end_at bytes to @room. The code will be executed at @start. */
static void emit_write(const struct emit_plan *plan, uintptr_t start, uint8_t *room)
{
	/* Version 1; .eh_frame: pcrel | sdata4; count: udata4; table: datarel | sdata4. */
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};

	write_code(plan, room);
	memset(room + plan->code_bytes, 0, plan->end_at - plan->code_bytes);
	memcpy(room + plan->header_at, encodings, sizeof(encodings));
	put_u32(room, plan->header_at + 4, plan->frame_at - (plan->header_at + 4));
	put_u32(room, plan->header_at + 8, plan->slots);
	write_cie(room, plan->frame_at);
	write_fdes(plan, room);
	if (plan->brief_at)
		write_brief(plan, start, room);
}

/* ---- executable memory ----------------------------------------------------------------------- */
/*
 * Executable memory is first written, then executed, and never both at the same time. The first
 * choice is private memory that is made executable after it is written. If the system refuses this
 * (prctl(PR_SET_MDWE), some SELinux policies), a memfd is written through one mapping and executed
 * through another.
 */

#ifndef MFD_EXEC
/* Flag of memfd_create(2) since Linux 6.3, required under the sysctl vm.memfd_noexec. */
#define MFD_EXEC 0x0010u
#endif

static int map_over(uintptr_t start, size_t bytes, int protection)
{
	void *memory = mmap((void *)start, bytes, protection,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return memory == MAP_FAILED ? -errno : 0;
}

/*
 * Returns -ENOMEM for ENOMEM, and -EACCES for all other errors, which mean that the system refuses.
 */
static int refusal_error(int error)
{
	return error == ENOMEM ? -ENOMEM : -EACCES;
}

static int make_executable(uintptr_t start, size_t bytes)
{
	int extra = ARCH_STUB_PROT;

	if (extra && !mprotect((void *)start, bytes, PROT_READ | PROT_EXEC | extra))
		return 0;
	return mprotect((void *)start, bytes, PROT_READ | PROT_EXEC) ? refusal_error(errno) : 0;
}

static int open_memfd(size_t bytes)
{
	struct rlimit limit;

	/* Check RLIMIT_FSIZE, because the kernel sends SIGXFSZ if a file grows beyond it. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < bytes) {
		errno = EFBIG;
		return -1;
	}

	int fd = memfd_create("flameprof-stubs", MFD_CLOEXEC | MFD_EXEC);

	return fd < 0 && errno == EINVAL ? memfd_create("flameprof-stubs", MFD_CLOEXEC) : fd;
}

static int make_from_file(
	uintptr_t start, size_t bytes, void (*write)(void *context, uint8_t *room), void *context)
{
	void *room = MAP_FAILED;
	int fd = open_memfd(bytes);
	int error = 0;

	if (fd < 0)
		return refusal_error(errno);
	/* Allocate all blocks: an access to a missing block would raise SIGBUS. */
	error = posix_fallocate(fd, 0, (off_t)bytes);
	if (error) {
		error = error == ENOSPC ? -ENOMEM : refusal_error(error);
		goto out;
	}
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (room == MAP_FAILED) {
		error = refusal_error(errno);
		goto out;
	}
	write(context, room);
	if (mmap((void *)start, bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) ==
		MAP_FAILED)
		error = refusal_error(errno);
out:
	if (room != MAP_FAILED)
		munmap(room, bytes);
	close(fd);
	return error;
}

/*
 * Map the pages [@start, @start + @bytes) anew, filled with executable code.
 *
 * @write    writes the code to @room; the code will be executed at @start
 * @of_file  gets 1 if the pages are those of a memfd, otherwise 0
 *
 * Returns 0; -ENOMEM; or -EACCES if the system refuses executable memory: the pages are then
 * readable and writable.
 */
static int executable_make(uintptr_t start, size_t bytes,
	void (*write)(void *context, uint8_t *room), void *context, int *of_file)
{
	int error = map_over(start, bytes, PROT_READ | PROT_WRITE);

	if (error)
		return refusal_error(-error);
	write(context, (uint8_t *)start);
	error = make_executable(start, bytes);
	*of_file = 0;
	if (error == -EACCES) {
		error = make_from_file(start, bytes, write, context);
		*of_file = !error;
	}
	if (!error)
		__builtin___clear_cache((char *)start, (char *)start + bytes);
	return error;
}

/* Free the memory of the pages, but keep their addresses reserved. */
static void executable_drop(uintptr_t start, size_t bytes)
{
	if (map_over(start, bytes, PROT_NONE))
		madvise((void *)start, bytes, MADV_DONTNEED);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

#define APART	     (64u << 20)
#define NEAR	     ((uintptr_t)1 << 30)
#define START_ALIGN  65536u /* the largest page size */

/* Atomic: address of the chunk that was mapped last. */
static uintptr_t last_start;
static struct chunk *pool; /* chunks without code */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

FORK_LOCK(chunk_watch_forks, pool_lock, region_watch_forks())

static size_t round_to_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

/* Plan enough slots to fill the pages of code, but so few that each stub reaches its payload. */
static void make_plan(const struct arch_stub_template *stub, uint32_t slots, struct emit_plan *plan)
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

static struct chunk *pool_pop(size_t code_room, uint32_t slots)
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

static void pool_push(struct chunk *chunk)
{
	pthread_mutex_lock(&pool_lock);
	chunk->next_pooled = pool;
	pool = chunk;
	pthread_mutex_unlock(&pool_lock);
}

/*
 * Returns an address hint for a chunk of @bytes near @target. On CPUs that predict only the lower
 * half of an address, a call and its return over more than 4 GiB cost a nanosecond or more. The
 * address is below the target, because a heap grows above it; or far above if there is no room
 * below. The address is random by some pages, as those of other mappings are. The kernel uses
 * another address if this one is not free.
 */
static void *address_near(const void *target, size_t bytes)
{
	uintptr_t at = (uintptr_t)target & ~(uintptr_t)(START_ALIGN - 1);
	uintptr_t last = __atomic_load_n(&last_start, __ATOMIC_RELAXED);
	uint16_t pages;
	uintptr_t jitter = 0;

	if (getrandom(&pages, sizeof(pages), GRND_NONBLOCK) == sizeof(pages))
		jitter = (uintptr_t)pages << 12;
	/* If the last chunk is near this target, map the new one next to it. */
	if (last && last - at + NEAR < 2 * NEAR)
		at = last - bytes;
	else if (at > 2 * NEAR)
		at -= APART + jitter;
	else
		at += NEAR - jitter;
	return (void *)(at & ~(uintptr_t)(START_ALIGN - 1));
}

static struct chunk *map_chunk(size_t code_room, uint32_t slots, const void *target)
{
	size_t data_bytes =
		round_to_pages(sizeof(struct chunk) + slots * sizeof(struct region_slot));
	struct chunk *chunk;
	void *start = mmap(address_near(target, code_room + data_bytes), code_room + data_bytes,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	__atomic_store_n(&last_start, (uintptr_t)start, __ATOMIC_RELAXED);
	chunk = (struct chunk *)((char *)start + code_room);
	chunk->code_room = code_room;
	chunk->slot_room =
		(uint32_t)((data_bytes - sizeof(struct chunk)) / sizeof(struct region_slot));
	return chunk;
}

struct write_job {
	struct emit_plan plan;
	uintptr_t start;
};

static void write_chunk(void *context, uint8_t *room)
{
	const struct write_job *write_job = context;

	emit_write(&write_job->plan, write_job->start, room);
}

static void fill_region(struct chunk *chunk, const struct emit_plan *plan,
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
	struct write_job write_job;
	const struct emit_plan *plan = &write_job.plan;
	struct chunk *chunk;
	size_t code_room;
	int error, of_file;

	make_plan(&arena->stub, slots, &write_job.plan);
	code_room = round_to_pages(plan->end_at);
	chunk = pool_pop(code_room, plan->slots);
	if (!chunk)
		chunk = map_chunk(code_room, plan->slots, (const void *)arena->near);
	if (!chunk)
		return -ENOMEM;
	write_job.start = (uintptr_t)chunk - code_room;
	error = executable_make(write_job.start, code_room, write_chunk, &write_job, &of_file);
	if (error) {
		executable_drop(write_job.start, code_room);
		pool_push(chunk);
		return error;
	}
	chunk->target = arena->target;
	chunk->arena = arena;
	chunk->used = 0;
	fill_region(chunk, plan, arena, of_file);
	*out = chunk;
	return 0;
}

void chunk_free(struct chunk *chunk)
{
	executable_drop((uintptr_t)chunk - chunk->code_room, chunk->code_room);
	pool_push(chunk);
}
