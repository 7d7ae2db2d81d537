/* SPDX-License-Identifier: MIT */
/*
 * A function of a virtual machine is one word of a stack. Each name, file and line is kept once in
 * a process and has an address in the code space, so that readers, merging and naming treat it as
 * they treat a stub. Names that find the control ring full wait in a list and come later.
 *
 * The table is open addressing, at most half full. Readers take no lock: slots only ever go from
 * empty to full, and a table that was outgrown stays as it is. Who misses something in it looks
 * again under the lock.
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

/* Writers'. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t count;
static size_t text_bytes;

/* The two that are always there, as long as their longest text. */
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
	/* With the length, so that zeroes at the end are not nothing. */
	return mix(hash, word | (uint64_t)bytes << 56);
}

/* ---- the fixed two, and forks ---------------------------------------------------------------- */

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

/*
 * A lock that is held while lists and tables change; taken before memory is.
 * Context: this folder's.
 */
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
	/* Names come from scripts: they shall not know which of them meet in one slot. */
	seed = mix(clock_monotonic_ns(), (uintptr_t)&seed);
	/* Before ours is taken: memory that lasts has a lock of its own, taken below it. */
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

/* What is looked for, as it would be kept. */
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

/* The function, or NULL with the slot it would have. */
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
		/* One that is full to the half can take more, but find_slot() needs an end. */
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
 * Telling names. The control ring holds some hundred of them, and flamerun empties it twenty times
 * a second: a machine that enters thousands of functions at once has to wait with some. They are
 * remembered in a list, so that none is lost because it is not seen again.
 */

_Static_assert(sizeof(struct wire_function) + 2 * (FUNCTION_NAME_BYTES + 1) + 8 <=
		       WIRE_CONTROL_BYTES / 2,
	"a record with the longest name and file fits the control ring");

/* Under function_lock(). */
static struct function *waiting;
static uint64_t waiting_image; /* whose it is; another one has nobody waiting */
static uint32_t has_waiting;   /* atomic: worth the lock */

/* Modules met by handlers and marks come through the same ring, and do not wait. */
#define ROOM_FOR_OTHERS (WIRE_CONTROL_BYTES / 4)

static int has_room(const struct wire_slot *slot, uint32_t bytes)
{
	uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_ACQUIRE);

	/* Twice, because one that does not fit before the ring's end leaves that empty. */
	return head - tail + 2 * bytes + ROOM_FOR_OTHERS <= WIRE_CONTROL_BYTES;
}

/*
 * Returns 1 when the ring has it. Under function_lock(): the ring is read in order, and who is
 * interrupted between the two steps keeps back what others announced behind it.
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
	/* Now others may write stacks that have it. */
	__atomic_store_n(&function->published, sampler.image, __ATOMIC_RELEASE);
	return 1;
}

static int is_published(const struct function *function)
{
	return __atomic_load_n(&function->published, __ATOMIC_ACQUIRE) == sampler.image;
}

/* Under function_lock(). */
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

/* In a process that samples itself the worker empties the ring. */
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
