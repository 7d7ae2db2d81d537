/* SPDX-License-Identifier: MIT */
/*
 * Tables of functions, changed where they are or copied. Nothing is kept of a table that can be
 * written: what is a stub in it says so itself. A copy is one block of its own, which never
 * moves while anybody has it; the same table, given again, is not copied twice.
 *
 * Whether a table can be written is read from /proc/self/maps. Other ways to find out write to it,
 * or are answered with yes by emulators. Where /proc/self/maps cannot be read the table is copied,
 * which is always right.
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
	flameprof_function **source; /* the host's own */
	size_t n;
	size_t users; /* how often it was handed out */
	flameprof_function *entry[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* copies, all of them */
static struct copy *copies;

static FORK_LOCK(watch_forks, lock, (void)0)

/*
 * Asked of /proc/self/maps, because every other way of finding out writes, or is answered "yes" to
 * everything by an emulator (madvise(2)). Where there is no /proc the table counts as one that
 * can't be written, and is copied: that is always right.
 */
static int is_writable(flameprof_function **table, size_t n)
{
	uintptr_t at = (uintptr_t)table, end = (uintptr_t)(table + n);
	struct maps maps;
	struct mapping mapping;

	if (maps_open(&maps))
		return 0;
	/* In order of address: what begins behind @at leaves a hole. */
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

/* Calls through the table may be running. */
static void store_entry(flameprof_function **entry, flameprof_function *function)
{
	if (*entry != function)
		__atomic_store_n(entry, function, __ATOMIC_RELEASE);
}

/*
 * What the entries of @table shall be, into @stubs. Returns how many change; -EACCES, -EBUSY,
 * -EINVAL, -ENOMEM.
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

/* Context: lock held. */
static struct copy *find_copy(flameprof_function *const *source, flameprof_function *const *entries)
{
	struct copy *copy = copies;

	while (copy && copy->source != source && copy->entry != entries)
		copy = copy->next;
	return copy;
}

/* The copy of @source, one more time in use; NULL: no memory. Context: lock held. */
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

/* Put @stubs into the copy of *@table, which becomes it. Returns 0 or -ENOMEM. */
static int write_copy(flameprof_function ***table, size_t n, flameprof_function **stubs)
{
	struct copy *copy;

	watch_forks();
	pthread_mutex_lock(&lock);
	copy = ref_copy(*table, n);
	for (size_t i = 0; copy && i < n; i++) {
		flameprof_function *original = copy->entry[i];

		/* A stub of the same function stays, whatever its name. */
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

/* *@table is the host's own again, if it was a copy. Returns 1 then, 0, or -EINVAL. */
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
