/* SPDX-License-Identifier: MIT */
/*
 * The books fail where a record was lost, a wait was told twice or of another thread, or a moment
 * was passed over: the left side of their equation are clocks of the kernel, the right side is what
 * came through rings, pipe and profile.
 */
#include "cli/run/summary_waits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diag.h"
#include "libprof/profile/tables.h"
#include "render/transform.h"

#define NS_PER_S 1e9

/* Threads that are told of one by one. */
#define BOOKS 20

/* Off by more than this, and than two periods a thread, the books do not balance. */
#define BALANCE_SHARE 0.01

/* Of all looks wanted, in percent: fewer are said. */
#define THINNED_PERCENT 90
#define LOOKS_PER_S	20

/* Less of the time, in percent, is not spoken of. */
#define SMALL_PERCENT 1

struct book {
	const struct record_life *life;	     /* NULL: of all the rest */
	const struct profile_thread *thread; /* NULL: nothing was told of it */
	double span_ns, cpu_ns, ready_ns, waiting_ns, unknown_ns;
};

/* ---- books ----------------------------------------------------------------------------------- */

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
}

/* Of each life, with a place for the sum behind; owned. NULL without memory. */
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
			.cpu_ns = (double)life->cpu_ns};
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
	return book->cpu_ns + book->ready_ns + book->waiting_ns + book->unknown_ns - book->span_ns;
}

static void describe_book(const struct book *book, char *line, size_t bytes)
{
	double off = book->span_ns > 0 ? 100 * off_ns(book) / book->span_ns : 0;

	snprintf(line, bytes,
		"%.3f s = %.3f on a CPU + %.3f ready + %.3f waiting + %.3f [waiting], off by "
		"%+.1f %%",
		book->span_ns / NS_PER_S, book->cpu_ns / NS_PER_S, book->ready_ns / NS_PER_S,
		book->waiting_ns / NS_PER_S, book->unknown_ns / NS_PER_S, off);
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
	diag_verbose("threads, by the kernel's clocks and by what was told of them:");
	for (unsigned i = 0; i < count; i++) {
		const struct profile_thread *thread = books[i].thread;

		if (i >= BOOKS) {
			add_book(&rest, &books[i]);
			continue;
		}
		describe_book(&books[i], line, sizeof(line));
		diag_verbose("  %s (%" PRIu32 "): %s",
			thread && thread->name[0] ? thread->name : "?", thread ? thread->tid : 0,
			line);
	}
	if (count <= BOOKS)
		return;
	describe_book(&rest, line, sizeof(line));
	diag_verbose("  %u more: %s", count - BOOKS, line);
}

/* ---- what the run was ------------------------------------------------------------------------ */

/* A function, and what it waits for. */
struct place {
	const char *leaf, *function;
	uint64_t weight;
};

/* Code of the C library and its loader is in everybody's way to a wait. */
static bool is_libc(const struct calltree_frame *frame)
{
	const char *module = frame->module;

	return !strncmp(module, "libc.so", 7) || !strncmp(module, "libc-2", 6) ||
	       !strncmp(module, "libpthread", 10) || !strncmp(module, "ld-", 3);
}

/* Whose wait @node is: the innermost function that is not the C library's. */
static const char *waiter_of(const struct calltree *tree, uint32_t node)
{
	uint32_t at = calltree_node_at(tree, node)->parent;
	const char *outermost = NULL;

	for (; at != CALLTREE_ROOT; at = calltree_node_at(tree, at)->parent) {
		const struct calltree_frame *frame =
			calltree_frame_at(tree, calltree_node_at(tree, at)->frame);

		if (frame->kind == CALLTREE_PROCESS || frame->kind == CALLTREE_SYNTHETIC)
			continue;
		if (!is_libc(frame))
			return frame->name;
		outermost = frame->name;
	}
	return outermost;
}

static int by_words(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->leaf, y->leaf);

	return order ? order : strcmp(x->function, y->function);
}

/* Is @node below "[idle]", the frame that stands above what idle threads do? */
static bool is_idle(const struct calltree *tree, uint32_t node)
{
	for (; node != CALLTREE_ROOT; node = calltree_node_at(tree, node)->parent)
		if (calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->kind ==
			CALLTREE_IDLE)
			return true;
	return false;
}

/*
 * Where most is waited, into *@most, with weight 0 when nothing is. What idle threads wait for says
 * nothing of the run: it is not looked at. Returns its weight.
 */
static uint64_t find_most(const struct calltree *tree, struct place *most)
{
	uint64_t idle = 0;
	struct place *places = calloc((size_t)calltree_nodes(tree) + 1, sizeof(*places));
	size_t count = 0, kept = 0;

	for (uint32_t i = 1; places && i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);
		const char *function;

		if (frame->kind != CALLTREE_WAIT || !node->self || !frame->module[0] ||
			!strcmp(frame->module, "cpu"))
			continue;
		if (is_idle(tree, i)) {
			idle += node->self;
			continue;
		}
		function = waiter_of(tree, i);
		places[count++] = (struct place){frame->name, function ? function : "", node->self};
	}
	if (count)
		qsort(places, count, sizeof(*places), by_words);
	for (size_t i = 1; i < count; i++) {
		if (by_words(&places[kept], &places[i]))
			places[++kept] = places[i];
		else
			places[kept].weight += places[i].weight;
	}
	for (size_t i = 0; count && i <= kept; i++)
		if (places[i].weight > most->weight)
			*most = places[i];
	free(places);
	return idle;
}

/* ", 0.02 s WHAT" where that is worth a word. */
static void append_part(char *line, size_t bytes, double ns, double all_ns, const char *what)
{
	size_t used = strlen(line);

	if (ns * 100 >= SMALL_PERCENT * all_ns)
		snprintf(line + used, bytes - used, ", %.2f s %s", ns / NS_PER_S, what);
}

static void print_run(const struct summary_waits *summary, const struct book *all, unsigned threads)
{
	const struct transform_shape shape = {.fold_idle = true};
	struct calltree *folded = NULL;
	struct place most = {0};
	char line[400], of[32] = "";
	double idle_ns;
	size_t used;

	if (threads > 1)
		snprintf(of, sizeof(of), " of %u threads", threads);
	snprintf(line, sizeof(line), "%.2f s%s: %.2f s on a CPU", all->span_ns / NS_PER_S, of,
		all->cpu_ns / NS_PER_S);
	append_part(line, sizeof(line), all->ready_ns, all->span_ns, "ready without one");
	append_part(line, sizeof(line), all->unknown_ns, all->span_ns, "[waiting], unseen");
	transform_shape(summary->tree, &shape, &folded);
	idle_ns = (double)find_most(folded ? folded : summary->tree, &most) *
		  (double)summary->profile->period_ns;
	append_part(line, sizeof(line), idle_ns, all->span_ns, "in idle threads");
	append_part(line, sizeof(line), all->waiting_ns - idle_ns, all->span_ns, "waiting");
	used = strlen(line);
	/* Names of leaves are in brackets, which this sentence does without. */
	if (most.weight && (all->waiting_ns - idle_ns) * 100 >= SMALL_PERCENT * all->span_ns)
		used += (size_t)snprintf(line + used, sizeof(line) - used, ", most in %.*s%s%.120s",
			(int)strlen(most.leaf) - 2, most.leaf + 1,
			most.function[0] ? " below " : "", most.function);
	if (summary->has_viewer && !summary->shows_waits && used < sizeof(line))
		snprintf(line + used, sizeof(line) - used, "; press w");
	diag_info("%s", line);
	calltree_free(folded);
}

/* ---- looks ----------------------------------------------------------------------------------- */

static void print_looks(const struct pipe_reader_state *state)
{
	struct record_waits sum = {0};

	for (int source = 0; source < RECORD_SOURCES; source++) {
		const struct record_waits *waits = &state->waits[source];

		sum.wanted += waits->wanted;
		sum.looked += waits->looked;
		sum.looks += waits->looks;
		sum.changed += waits->changed;
		sum.untracked += waits->untracked;
		sum.unreachable += waits->unreachable;
		if (waits->refusal[0])
			diag_info("what threads wait for could not be seen: %s", waits->refusal);
	}
	if (sum.looked * 100 < sum.wanted * THINNED_PERCENT)
		diag_info("waits: looked at each thread %.*f times a second instead of %d, to stay "
			  "below 2 %% of a CPU",
			sum.looked * 10 < sum.wanted ? 1 : 0,
			LOOKS_PER_S * (double)sum.looked / (double)sum.wanted, LOOKS_PER_S);
	if (sum.untracked)
		diag_info(
			"%" PRIu64 " threads were not looked at: too many at once", sum.untracked);
	if (sum.unreachable)
		diag_info("what %" PRIu64 " %s in other PID namespaces waited for was not looked "
			  "at",
			sum.unreachable, sum.unreachable == 1 ? "process" : "processes");
	if (sum.wanted)
		diag_verbose("waits: %" PRIu64 " threads looked at, %" PRIu64
			     " stacks, of which %" PRIu64 " changed meanwhile",
			sum.looked, sum.looks, sum.changed);
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
	print_looks(summary->state);
	if (fabs(off_ns(all)) > fmax(BALANCE_SHARE * all->span_ns,
					2.0 * count * (double)summary->profile->period_ns)) {
		describe_book(all, line, sizeof(line));
		diag_info("threads' times do not add up: %s", line);
	}
	print_books(books, count);
	free(books);
	return true;
}
