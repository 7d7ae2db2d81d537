/* SPDX-License-Identifier: MIT */
/*
 * Check that each thread's lifetime, by the kernel's clocks, equals the sum of the times that were
 * recorded. The sum differs if a record was lost, a wait was recorded twice or for another thread,
 * or a period of time was skipped.
 */
#include "cli/run/summary_waits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diag.h"
#include "cli/profile/wait_sites.h"
#include "libprof/profile/tables.h"
#include "render/transform.h"

#define NS_PER_S 1e9

/* number of threads that get a line */
#define BOOKS 20

/* Times may differ from a lifetime by the larger of this share and two periods per thread. */
#define BALANCE_SHARE 0.01

/* If a smaller percentage of the planned reads of threads' states was done, print the number. */
#define THINNED_PERCENT	 90
#define WAIT_READS_PER_S 20

/* Parts below this percentage of the time are not printed. */
#define SMALL_PERCENT 5

/* Do not print a second holder of locks if it caused a smaller percentage of the waits. */
#define HOLDER_PERCENT 1

struct book {
	const struct record_life *life;	     /* NULL: sum of several */
	const struct profile_thread *thread; /* NULL: not in the profile */
	double span_ns, cpu_ns, ready_ns, waiting_ns, unknown_ns, paused_ns;
};

/* ---- balance of threads ---------------------------------------------------------------------- */

static void add_weight(struct book *book, unsigned call, double ns)
{
	if (call == WIRE_WAIT_NO_CPU)
		book->ready_ns += ns;
	else if (call == WIRE_WAIT_UNKNOWN)
		book->unknown_ns += ns;
	else
		book->waiting_ns += ns;
}

static void add_book(struct book *to, const struct book *book)
{
	to->span_ns += book->span_ns;
	to->cpu_ns += book->cpu_ns;
	to->ready_ns += book->ready_ns;
	to->waiting_ns += book->waiting_ns;
	to->unknown_ns += book->unknown_ns;
	to->paused_ns += book->paused_ns;
}

/* Returns an owned array: the times of each thread's life, then their sum. NULL: no memory. */
static struct book *make_books(const struct summary_waits *summary)
{
	const struct flameprof_profile *profile = summary->profile;
	unsigned count = summary->state->life_count;
	struct book *books = calloc((size_t)count + 1, sizeof(*books));
	uint32_t *book_of = calloc((size_t)profile->thread_count + 1, sizeof(*book_of));

	for (unsigned i = 0; books && book_of && i < count; i++) {
		const struct record_life *life = &summary->state->lives[i];
		const struct profile_thread_key key = {life->image, life->thread};
		uint32_t thread = profile_find_thread(profile, &key);

		books[i] = (struct book){.life = life,
			.span_ns = (double)life->span_ns,
			.cpu_ns = (double)life->cpu_ns,
			.paused_ns = (double)life->paused_ns};
		if (thread)
			books[i].thread = profile_thread_at(profile, thread - 1);
		book_of[thread ? thread - 1 : profile->thread_count] = i + 1;
	}
	for (uint32_t i = 0; books && book_of && i < profile->stack_count; i++) {
		const struct profile_stack *stack = profile_stack_at(profile, i);
		uint32_t book = book_of[stack->thread];

		if (stack->kind == WIRE_KIND_WAIT && book)
			add_weight(&books[book - 1],
				WIRE_WAIT_CALL(
					profile_node_frame(profile_node_at(profile, stack->node))),
				(double)stack->weight * (double)profile->period_ns);
	}
	for (unsigned i = 0; books && i < count; i++)
		add_book(&books[count], &books[i]);
	free(book_of);
	return books;
}

static double off_ns(const struct book *book)
{
	return book->cpu_ns + book->ready_ns + book->waiting_ns + book->unknown_ns +
	       book->paused_ns - book->span_ns;
}

static void describe_book(const struct book *book, char *line, size_t bytes)
{
	double off = book->span_ns > 0 ? 100 * off_ns(book) / book->span_ns : 0;
	char paused[40] = "";

	if (book->paused_ns > 0)
		snprintf(paused, sizeof(paused), " + %.3f left out", book->paused_ns / NS_PER_S);
	snprintf(line, bytes,
		"%.3f s = %.3f on a CPU + %.3f ready + %.3f waiting + %.3f [waiting]%s, off by "
		"%+.1f %%",
		book->span_ns / NS_PER_S, book->cpu_ns / NS_PER_S, book->ready_ns / NS_PER_S,
		book->waiting_ns / NS_PER_S, book->unknown_ns / NS_PER_S, paused, off);
}

static int by_span(const void *a, const void *b)
{
	const struct book *x = a, *y = b;

	return x->span_ns < y->span_ns ? 1 : x->span_ns > y->span_ns ? -1 : 0;
}

static void print_books(struct book *books, unsigned count)
{
	struct book rest = {0};
	char line[200];

	qsort(books, count, sizeof(*books), by_span);
	diag_verbose("each thread's lifetime by the kernel's clocks, and what was recorded of it:");
	for (unsigned i = 0; i < count; i++) {
		const struct profile_thread *thread = books[i].thread;
		const struct record_life *life = books[i].life;

		if (i >= BOOKS) {
			add_book(&rest, &books[i]);
			continue;
		}
		describe_book(&books[i], line, sizeof(line));
		/*
		 * The profile has the thread's last name, but only if at least one whole period of
		 * the thread was recorded.
		 */
		diag_verbose("  %s (%" PRIu32 "): %s",
			thread && thread->name[0] ? thread->name
			: life->comm[0]		  ? life->comm
						  : "?",
			thread && !life->tid ? thread->tid : life->tid, line);
	}
	if (count <= BOOKS)
		return;
	describe_book(&rest, line, sizeof(line));
	diag_verbose("  %u more: %s", count - BOOKS, line);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/*
 * Find the sites of lock waits for which at least one holder is known. Return all waits at these
 * sites, including waits without a known holder, as an owned array with its length in *@count; NULL
 * if there are none, or no memory.
 */
static struct wait_site *find_locks(const struct calltree *tree, size_t *count)
{
	uint32_t nodes = calltree_nodes(tree);
	struct wait_site *places = calloc((size_t)nodes + 1, sizeof(*places));
	bool *is_lock = calloc((size_t)nodes + 1, sizeof(*is_lock));

	*count = 0;
	for (int pass = 0; places && is_lock && pass < 2; pass++)
		for (uint32_t i = 1; i < nodes; i++) {
			const struct calltree_node *node = calltree_node_at(tree, i);
			struct wait_site place;

			if (!node->self ||
				calltree_frame_at(tree, node->frame)->kind != CALLTREE_WAIT)
				continue;
			place = wait_site_of(tree, i);
			if (pass && is_lock[node->parent])
				places[(*count)++] = place;
			is_lock[node->parent] |= place.holder_bytes > 0;
		}
	free(is_lock);
	if (!*count) {
		free(places);
		return NULL;
	}
	return places;
}

/* Write the holders in @places to @line, as "cache_fill 65 %, unknown 35 %". */
static void describe_holders(struct wait_site *places, size_t count, char *line, size_t bytes)
{
	uint64_t all = 0;
	size_t used = 0;

	line[0] = '\0';
	for (size_t i = 0; i < count; i++)
		all += places[i].weight;
	qsort(places, count, sizeof(*places), wait_site_by_weight);
	for (size_t i = 0; i < count && used + 1 < bytes; i++)
		used += (size_t)snprintf(line + used, bytes - used, "%s%.*s %.0f %%", i ? ", " : "",
			places[i].holder_bytes ? places[i].holder_bytes : (int)strlen("unknown"),
			places[i].holder_bytes ? places[i].holder : "unknown",
			100.0 * (double)places[i].weight / (double)all);
}

static void print_lock_table(struct wait_site *places, size_t count, double period_s)
{
	char line[400];
	size_t end;

	count = wait_sites_merge(places, count, wait_site_by_site_and_holder);
	diag_verbose("locks: who waited for them, and which functions held them meanwhile:");
	for (size_t from = 0, rows = 0; from < count && rows < BOOKS; from = end, rows++) {
		const struct wait_site place = places[from];
		uint64_t weight = 0;

		for (end = from; end < count && !wait_site_by_site(&place, &places[end]); end++)
			weight += places[end].weight;
		describe_holders(&places[from], end - from, line, sizeof(line));
		diag_verbose("  %.*s below %.120s: %.3f s: %s", place.leaf_bytes, place.leaf,
			place.function, (double)weight * period_s, line);
	}
}

/* Append @separator and a text about the holder at @place: "cache_fill held them for 2.10 s". */
static void append_holder(char *line, size_t bytes, const char *separator,
	const struct wait_site *place, double period_s)
{
	size_t used = strlen(line);

	snprintf(line + used, bytes - used, "%s%.*s held them for %.2f s", separator,
		place->holder_bytes < 120 ? place->holder_bytes : 120, place->holder,
		(double)place->weight * period_s);
}

/* Write how long threads waited for locks, and the two functions that held them the longest. */
static void describe_longest_holders(
	struct wait_site *places, size_t count, double period_s, char *line, size_t bytes)
{
	double all_s = 0;

	count = wait_sites_merge(places, count, wait_site_by_holder);
	for (size_t i = 0; i < count; i++) {
		all_s += (double)places[i].weight * period_s;
		/* Do not print waits without a known holder. */
		if (!places[i].holder_bytes)
			places[i].weight = 0;
	}
	qsort(places, count, sizeof(*places), wait_site_by_weight);
	snprintf(line, bytes, "for locks %.2f s", all_s);
	append_holder(line, bytes, ": ", &places[0], period_s);
	if (count > 1 && (double)places[1].weight * period_s * 100 >= HOLDER_PERCENT * all_s)
		append_holder(line, bytes, ", ", &places[1], period_s);
}

/* Write how long threads waited for locks and who held them; "" if no holder is known. */
static void describe_locks(const struct summary_waits *summary, char *line, size_t bytes)
{
	double period_s = (double)summary->profile->period_ns / NS_PER_S;
	size_t count;
	struct wait_site *places = find_locks(summary->tree, &count);
	struct wait_site *copy = places ? malloc(count * sizeof(*copy)) : NULL;

	line[0] = '\0';
	if (copy) {
		memcpy(copy, places, count * sizeof(*copy));
		describe_longest_holders(copy, count, period_s, line, bytes);
		print_lock_table(places, count, period_s);
	}
	free(copy);
	free(places);
}

/* ---- the whole run --------------------------------------------------------------------------- */

/*
 * Append "0.02 s" and @what, after ", " if @line is not empty. Append nothing if @ns is less than
 * SMALL_PERCENT of @all_ns.
 */
static void append_part(char *line, size_t bytes, double ns, double all_ns, const char *what)
{
	size_t used = strlen(line);

	if (ns * 100 >= SMALL_PERCENT * all_ns)
		snprintf(line + used, bytes - used, "%s%.2f s%s", used ? ", " : "", ns / NS_PER_S,
			what);
}

static void print_run(const struct summary_waits *summary, const struct book *all, unsigned threads)
{
	const struct transform_shape shape = {.fold_idle = true};
	struct calltree *folded = NULL;
	struct wait_site *places, *most;
	char line[400] = "", locks[400];
	uint64_t idle;
	double idle_ns, waiting_ns;
	size_t used, count;

	transform_shape(summary->tree, &shape, &folded);
	places = wait_sites_find(folded ? folded : summary->tree, &count, &idle);
	most = count ? &places[0] : NULL;
	idle_ns = (double)idle * (double)summary->profile->period_ns;
	waiting_ns = all->waiting_ns - idle_ns;
	append_part(line, sizeof(line), waiting_ns, all->span_ns, "");
	used = strlen(line);
	if (most && used)
		snprintf(line + used, sizeof(line) - used, ", most of it in %.*s%s%.120s",
			most->leaf_bytes, most->leaf, most->function[0] ? ", called by " : "",
			most->function);
	append_part(line, sizeof(line), all->ready_ns, all->span_ns, " for a free CPU");
	append_part(line, sizeof(line), idle_ns, all->span_ns, " in idle threads");
	append_part(line, sizeof(line), all->paused_ns, all->span_ns, " while paused");
	describe_locks(summary, locks, sizeof(locks));
	if (line[0] || locks[0])
		diag_info("waiting, all threads together: %s%s%s%s", line,
			line[0] && locks[0] ? "; " : "", locks,
			summary->has_viewer && !summary->shows_waits
				? " (to see where: key w in the picture)"
				: "");
	diag_verbose("%u %s: %.2f s = %.2f on a CPU + %.2f ready + %.2f waiting + %.2f in idle "
		     "threads + %.2f waiting for an unknown cause + %.2f paused",
		threads, threads == 1 ? "thread" : "threads", all->span_ns / NS_PER_S,
		all->cpu_ns / NS_PER_S, all->ready_ns / NS_PER_S, waiting_ns / NS_PER_S,
		idle_ns / NS_PER_S, all->unknown_ns / NS_PER_S, all->paused_ns / NS_PER_S);
	free(places);
	calltree_free(folded);
}

/* ---- reads of threads' states ---------------------------------------------------------------- */

static void print_wait_reads(const struct summary_waits *summary)
{
	const struct wire_counters *counts = &summary->profile->totals.counts;
	double wanted = (double)counts->wait_reads_due, done = (double)counts->wait_reads_done;

	for (int source = 0; source < RECORD_SOURCES; source++)
		if (summary->state->waits[source].refusal[0])
			diag_info("what threads wait for could not be read: %s",
				summary->state->waits[source].refusal);
	if (done * 100 < wanted * THINNED_PERCENT)
		diag_verbose(
			"waits: each thread's state was read %.*f times a second instead of %d, to "
			"stay below 2 %% of a CPU",
			done * 10 < wanted ? 1 : 0, WAIT_READS_PER_S * done / wanted,
			WAIT_READS_PER_S);
	if (counts->wait_reads_due)
		diag_verbose("waits: %" PRIu64 " threads' states read, and %" PRIu64
			     " stacks, of which %" PRIu64 " changed meanwhile",
			counts->wait_reads_done, counts->stacks_read, counts->stacks_changed);
}

bool summary_waits_print(const struct summary_waits *summary)
{
	unsigned count = summary->state->life_count;
	struct book *books = count ? make_books(summary) : NULL;
	struct book *all;
	char line[200];

	if (!books)
		return false;
	all = &books[count];
	print_run(summary, all, count);
	print_wait_reads(summary);
	if (fabs(off_ns(all)) > fmax(BALANCE_SHARE * all->span_ns,
					2.0 * count * (double)summary->profile->period_ns)) {
		describe_book(all, line, sizeof(line));
		diag_info("threads' times do not add up: %s", line);
	}
	print_books(books, count);
	free(books);
	return true;
}
