/* SPDX-License-Identifier: MIT */
/*
 * Replace functions in the host's tables by intercept stubs: in place, or in a copy if the table is
 * read-only. No list of writable tables is kept, because stubs in them are recognised by their
 * addresses. A copy is one block that does not move while it is in use, and a table has at most one
 * copy.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "libprof/interrupt/interrupt.h"
#include "libprof/sampler/text.h"
#include "libprof/trampoline/fork_lock.h"
#include "libprof/trampoline/other_copy.h"

struct copy {
	struct copy *next;
	flameprof_function **source; /* the host's own table */
	size_t n;
	/* Number of calls that got this copy and have not given it back. */
	size_t users;
	flameprof_function *entry[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects copies */
static struct copy *copies;

static FORK_LOCK(watch_forks, lock, (void)0)

	/*
	 * Returns 1 if the whole table can be written. Read /proc/self/maps for this, because other
	 * ways write to the table, or are always "yes" under emulators (madvise(2)). Without /proc
	 * return 0: the table is then copied, which is always correct.
	 */
	static int is_writable(flameprof_function **table, size_t n)
{
	uintptr_t at = (uintptr_t)table, end = (uintptr_t)(table + n);
	struct maps maps;
	struct mapping mapping;

	if (maps_open(&maps))
		return 0;
	/*
	 * The mappings are sorted by address. If the next one starts after `at`, the gap before it
	 * cannot be written.
	 */
	while (at < end && maps_next(&maps, &mapping) && mapping.start <= at) {
		if (mapping.end <= at)
			continue;
		if (!mapping.writable)
			break;
		at = mapping.end;
	}
	maps_close(&maps);
	return at >= end;
}

/* Store the entry atomically, because other threads may be calling through the table. */
static void store_entry(flameprof_function **entry, flameprof_function *function)
{
	if (*entry != function)
		__atomic_store_n(entry, function, __ATOMIC_RELEASE);
}

/*
 * Make a stub in @stubs for each entry of @table. Returns the number of stubs that differ from the
 * table's entries, or -errno.
 */
static int make_stubs(flameprof_function *const *table, size_t n, const char *const *names,
	const struct flameprof_signature *signatures, flameprof_function **stubs)
{
	int changed = 0;

	for (size_t i = 0; i < n; i++) {
		int error = 0;

		stubs[i] = table[i];
		if (table[i] && names[i])
			error = intercept_make(&stubs[i], table[i], names[i],
				signatures ? &signatures[i] : NULL);
		if (error)
			return error;
		changed += stubs[i] != table[i];
	}
	return changed;
}

/*
 * Returns the copy of @source, or the copy whose table is @entries, or NULL. Context: lock is held.
 */
static struct copy *find_copy(flameprof_function *const *source, flameprof_function *const *entries)
{
	struct copy *copy = copies;

	while (copy && copy->source != source && copy->entry != entries)
		copy = copy->next;
	return copy;
}

/*
 * Find or make the copy of @source, and count one more user. Returns NULL without memory. Context:
 * lock is held.
 */
static struct copy *ref_copy(flameprof_function **source, size_t n)
{
	struct copy *copy = find_copy(source, NULL);

	if (copy && copy->n != n)
		copy = NULL;
	if (!copy) {
		copy = malloc(sizeof(*copy) + n * sizeof(flameprof_function *));
		if (!copy)
			return NULL;
		*copy = (struct copy){.next = copies, .source = source, .n = n};
		for (size_t i = 0; i < n; i++)
			copy->entry[i] = source[i];
		copies = copy;
	}
	copy->users++;
	return copy;
}

/* Store @stubs in the copy of *@table, and make *@table the copy. Returns 0 or -ENOMEM. */
static int write_copy(flameprof_function ***table, size_t n, flameprof_function **stubs)
{
	struct copy *copy;

	watch_forks();
	pthread_mutex_lock(&lock);
	copy = ref_copy(*table, n);
	for (size_t i = 0; copy && i < n; i++) {
		flameprof_function *original = copy->entry[i];

		/* If the copy has a stub of this function, keep it, even with another name. */
		if (!intercept_find(copy->entry[i], &original) || original != (*table)[i])
			store_entry(&copy->entry[i], stubs[i]);
	}
	pthread_mutex_unlock(&lock);
	if (copy)
		*table = copy->entry;
	return copy ? 0 : -ENOMEM;
}

int flameprof_intercept_table(flameprof_function ***table, size_t n, const char *const *names,
	const struct flameprof_signature *signatures)
{
	flameprof_function **stubs;
	int changed, error = 0;

	if (other_copy.flameprof_intercept_table)
		return other_copy.flameprof_intercept_table(table, n, names, signatures);
	if (!n)
		return 0;
	if (!table || !*table || !names || n > INT_MAX)
		return -EINVAL;
	stubs = calloc(n, sizeof(*stubs));
	if (!stubs)
		return -ENOMEM;
	changed = make_stubs(*table, n, names, signatures, stubs);
	if (changed > 0 && is_writable(*table, n)) {
		for (size_t i = 0; i < n; i++)
			store_entry(&(*table)[i], stubs[i]);
	} else if (changed > 0) {
		error = write_copy(table, n, stubs);
	}
	free(stubs);
	return error ? error : changed;
}

/*
 * If *@table is a copy, make *@table the host's own table again and free the copy after its last
 * user. Returns 1; 0 if *@table is not a copy; or -EINVAL for another size.
 */
static int unref_copy(flameprof_function ***table, size_t n)
{
	struct copy *copy;
	int answer = 0;

	pthread_mutex_lock(&lock);
	copy = find_copy(NULL, *table);
	if (copy && copy->n != n) {
		answer = -EINVAL;
	} else if (copy) {
		*table = copy->source;
		answer = 1;
	}
	if (answer == 1 && !--copy->users) {
		struct copy **at = &copies;

		while (*at != copy)
			at = &(*at)->next;
		*at = copy->next;
		free(copy);
	}
	pthread_mutex_unlock(&lock);
	return answer;
}

static int count_stubs(flameprof_function *const *table, size_t n)
{
	flameprof_function *original;
	int count = 0;

	for (size_t i = 0; i < n; i++)
		count += intercept_find(table[i], &original);
	return count;
}

int flameprof_intercept_restore(flameprof_function ***table, size_t n)
{
	flameprof_function *original;
	int count, answer;

	if (other_copy.flameprof_intercept_restore)
		return other_copy.flameprof_intercept_restore(table, n);
	if (!n)
		return 0;
	if (!table || !*table || n > INT_MAX)
		return -EINVAL;
	watch_forks();
	count = count_stubs(*table, n);
	answer = unref_copy(table, n);
	if (answer)
		return answer < 0 ? answer : count;
	if (count && !is_writable(*table, n))
		return -EACCES;
	for (size_t i = 0; i < n; i++)
		if (intercept_find((*table)[i], &original))
			store_entry(&(*table)[i], original);
	return count;
}
