/* SPDX-License-Identifier: MIT */
/*
 * Functions of virtual machines. A frame is one word: the function's address in the code space. So
 * readers, merging and naming treat it like a stub. If the control ring is full, a function's name
 * waits in a list.
 *
 * The table uses open addressing and is usually at most half full. Readers take no lock, because
 * slots only change from empty to full, and an outgrown table stays unchanged. A reader that does
 * not find a function searches again under the lock.
 */
#include "libprof/vmstack/function.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "libprof/sampler/clock.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/trampoline/permanent.h"
#include "libprof/trampoline/region.h"
#include "libprof/wire.h"

#define SLOTS_MIN 1024u
#define MIX	  0x9fb21c651e98df25ULL

struct table {
	uint32_t mask;
	uint32_t pad;
	struct function *slot[]; /* atomic */
};

static struct table *table; /* atomic */
static uint64_t seed;	    /* set before the first table */

/*
 * Held by writers while lists and tables change. It must be taken before the lock of permanent.c.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t count;
static size_t text_bytes;

/*
 * Two fixed functions, "[vm]" and "[more functions]". `union fixed` has room for the longer text.
 */
#define ANONYMOUS "[anonymous]"
#define OTHER	  "[more functions]"

union fixed {
	struct function function;
	char room[sizeof(struct function) + sizeof(OTHER) + 1];
};

static union fixed root, other;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- hashes ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * MIX;
	return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, const char *text, uint32_t bytes)
{
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= (uint32_t)sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, text, bytes);
	/* Include the length, so that zero bytes at the end change the hash. */
	return mix(hash, word | (uint64_t)bytes << 56);
}

/* ---- the two fixed functions, and forks ------------------------------------------------------ */

static void set_fixed(union fixed *fixed, const char *name, uint32_t flags)
{
	struct function *function = &fixed->function;

	function->name_bytes = (uint32_t)strlen(name) + 1;
	function->file_bytes = 1;
	function->flags = flags;
	strcpy(function->text, name);
	function->text[function->name_bytes] = '\0';
	function->space = region_space_new(1);
}

static void function_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void function_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void init_once(void)
{
	set_fixed(&root, "[vm]", WIRE_FUNCTION_ROOT);
	set_fixed(&other, OTHER, 0);
	/*
	 * Use a secret seed: scripts choose the names of functions, and must not be able to choose
	 * names whose hashes collide.
	 */
	seed = mix(clock_monotonic_ns(), (uintptr_t)&seed);
	/*
	 * permanent.c's fork handlers must be registered first, because a fork runs the handlers in
	 * reverse order, and function_lock() is taken before permanent.c's lock.
	 */
	permanent_watch_forks();
	pthread_atfork(function_lock, function_unlock, function_unlock);
}

struct function *function_root(void)
{
	pthread_once(&once, init_once);
	return &root.function;
}

struct function *function_other(void)
{
	pthread_once(&once, init_once);
	return &other.function;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* A function to find, in the form in which it is stored. */
struct key {
	const char *name, *file;
	uint32_t name_length, file_length;
	uint32_t line;
	uint64_t hash;
};

static struct key key_of(const struct flameprof_vm_frame *frame, struct function_file *before)
{
	struct key key = {
		.name = frame->name && *frame->name ? frame->name : ANONYMOUS,
		.file = frame->file ? frame->file : "",
		.line = frame->line,
	};

	if (before->file != key.file) {
		before->file = key.file;
		before->bytes = (uint32_t)strnlen(key.file, FUNCTION_NAME_BYTES);
		before->hash = hash_text(seed, key.file, before->bytes);
	}
	key.file_length = before->bytes;
	key.name_length = (uint32_t)strnlen(key.name, FUNCTION_NAME_BYTES);
	key.hash = mix(hash_text(before->hash, key.name, key.name_length), key.line);
	return key;
}

static int matches_key(const struct function *function, const struct key *key)
{
	return function->hash == key->hash && function->line == key->line &&
	       function->name_bytes == key->name_length + 1 &&
	       function->file_bytes == key->file_length + 1 &&
	       !memcmp(function->text, key->name, key->name_length) &&
	       !memcmp(function->text + function->name_bytes, key->file, key->file_length);
}

/* Returns the function, or NULL with the empty slot for it in *@slot. */
static struct function *find_slot(struct table *in, const struct key *key, struct function ***slot)
{
	for (uint32_t at = (uint32_t)key->hash;; at++) {
		struct function **here = &in->slot[at & in->mask];
		struct function *function = __atomic_load_n(here, __ATOMIC_ACQUIRE);

		if (!function || matches_key(function, key)) {
			*slot = here;
			return function;
		}
	}
}

static int grow_table(void)
{
	struct table *now = __atomic_load_n(&table, __ATOMIC_RELAXED);
	uint32_t slots = now ? 2 * (now->mask + 1) : SLOTS_MIN;
	struct table *larger = (struct table *)permanent_reserve(
		NULL, sizeof(*larger) + (size_t)slots * sizeof(larger->slot[0]));

	if (!larger)
		return -ENOMEM;
	larger->mask = slots - 1;
	for (uint32_t i = 0; now && i <= now->mask; i++) {
		struct function *function = now->slot[i];
		uint32_t at = function ? (uint32_t)function->hash : 0;

		if (!function)
			continue;
		while (larger->slot[at & larger->mask])
			at++;
		larger->slot[at & larger->mask] = function;
	}
	__atomic_store_n(&table, larger, __ATOMIC_RELEASE);
	return 0;
}

static struct function *new_function(const struct key *key)
{
	size_t bytes = (size_t)key->name_length + 1 + key->file_length + 1;
	struct function *function;

	if (count == FUNCTIONS_MAX || bytes > FUNCTION_TEXT_MAX - text_bytes)
		return NULL;
	function = (struct function *)permanent_reserve(NULL, sizeof(*function) + bytes);
	if (!function)
		return NULL;
	function->hash = key->hash;
	function->line = key->line;
	function->name_bytes = key->name_length + 1;
	function->file_bytes = key->file_length + 1;
	memcpy(function->text, key->name, key->name_length);
	memcpy(function->text + function->name_bytes, key->file, key->file_length);
	function->space = region_space_new(1);
	count++;
	text_bytes += bytes;
	return function;
}

static struct function *insert_function(const struct key *key)
{
	struct table *now = __atomic_load_n(&table, __ATOMIC_RELAXED);
	struct function *function = NULL;
	struct function **slot;

	if (!now || count >= now->mask / 2) {
		/*
		 * Without memory for a larger table, fill the table beyond a half, but leave empty
		 * slots, because find_slot() stops at an empty slot.
		 */
		if (grow_table() && (!now || count >= now->mask / 4 * 3))
			return NULL;
		now = __atomic_load_n(&table, __ATOMIC_RELAXED);
	}
	function = find_slot(now, key, &slot);
	if (function)
		return function;
	function = new_function(key);
	if (function)
		__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	return function;
}

struct function *function_find(
	const struct flameprof_vm_frame *frame, struct function_file *before)
{
	struct function *found = NULL;
	struct function **slot;
	struct table *now;
	struct key key;

	pthread_once(&once, init_once);
	key = key_of(frame, before);
	now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	if (now)
		found = find_slot(now, &key, &slot);
	if (!found) {
		function_lock();
		found = insert_function(&key);
		function_unlock();
	}
	return found ? found : &other.function;
}

/* ---- announcing ------------------------------------------------------------------------------ */
/*
 * Write names to the control ring. The ring holds some hundred names, and flamerun empties it
 * twenty times a second, so if a virtual machine enters thousands of functions at once, some names
 * must wait. They are kept in a list, so that a name is written even if its function is not seen
 * again.
 */

_Static_assert(sizeof(struct wire_function) + 2 * (FUNCTION_NAME_BYTES + 1) + 8 <=
		       WIRE_CONTROL_BYTES / 2,
	"a record with the longest name and file fits the control ring");

/* Functions whose names wait. Protected by function_lock(). */
static struct function *waiting;
/* Image to which the list belongs; for another image, the list is empty. */
static uint64_t waiting_image;
/* Atomic; read without the lock. */
static uint32_t has_waiting;

/*
 * Bytes kept free for marks and for modules' records, which handlers write, because those records
 * cannot be deferred.
 */
#define ROOM_FOR_OTHERS (WIRE_CONTROL_BYTES / 4)

static int has_room(const struct wire_slot *slot, uint32_t bytes)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_ACQUIRE);

	/*
	 * Count the bytes twice, because a record that does not fit before the ring's end leaves
	 * that part empty.
	 */
	return head - tail + 2 * bytes + ROOM_FOR_OTHERS <= WIRE_CONTROL_BYTES;
}

/*
 * Write the record of @function's name. Returns 1 if the ring had room. Context: under
 * function_lock(), so that few threads are between reserve and commit at once: the ring is read in
 * order, and a writer that is interrupted there delays all later records.
 */
static int write_name_record(struct function *function)
{
	uint32_t name_bytes = function->name_bytes + function->file_bytes;
	uint32_t bytes = ((uint32_t)sizeof(struct wire_function) + name_bytes + 7) & ~7u;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);
	struct wire_function *record;

	if (!has_room(sampler.slot, bytes))
		return 0;
	record = (struct wire_function *)control_reserve(sampler.slot, data, bytes);
	if (!record)
		return 0;
	record->space = function->space;
	record->line = function->line;
	record->flags = function->flags;
	record->name_bytes = function->name_bytes;
	record->file_bytes = function->file_bytes;
	memcpy(record->name, function->text, name_bytes);
	control_commit(&record->control, bytes, WIRE_CONTROL_FUNCTION);
	/*
	 * From now on other threads may write stacks that contain the function without writing its
	 * name.
	 */
	__atomic_store_n(&function->published, sampler.image, __ATOMIC_RELEASE);
	return 1;
}

static int is_published(const struct function *function)
{
	return __atomic_load_n(&function->published, __ATOMIC_ACQUIRE) == sampler.image;
}

/* Add @function to the waiting list. Context: under function_lock(). */
static void add_waiting(struct function *function)
{
	if (waiting_image != sampler.image) {
		waiting_image = sampler.image;
		waiting = NULL;
	}
	if (function->waiting != sampler.image) {
		function->waiting = sampler.image;
		function->next_waiting = waiting;
		waiting = function;
		__atomic_store_n(&has_waiting, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sampler.slot->control_dropped, 1, __ATOMIC_RELAXED);
	}
}

/* If the ring is nearly full, wake the worker of a process that profiles itself. */
static void wake_reader(const struct wire_slot *slot)
{
	if (sampler_is_hosted() && !has_room(slot, WIRE_CONTROL_BYTES / 4))
		sampler_wake_reader(sampler.arena);
}

void function_announce(struct function *function)
{
	if (is_published(function))
		return;
	function_lock();
	if (!is_published(function) && !write_name_record(function))
		add_waiting(function);
	function_unlock();
	wake_reader(sampler.slot);
}

unsigned function_announce_waiting(void)
{
	unsigned announced = 0;

	if (!__atomic_load_n(&has_waiting, __ATOMIC_RELAXED))
		return 0;
	function_lock();
	if (waiting_image != sampler.image)
		waiting = NULL;
	while (waiting && (is_published(waiting) || write_name_record(waiting))) {
		waiting = waiting->next_waiting;
		__atomic_fetch_sub(&sampler.slot->control_dropped, 1, __ATOMIC_RELAXED);
		announced++;
	}
	__atomic_store_n(&has_waiting, waiting != NULL, __ATOMIC_RELAXED);
	function_unlock();
	return announced;
}
