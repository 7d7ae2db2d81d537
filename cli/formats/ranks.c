/* SPDX-License-Identifier: MIT */
/*
 * Statistics of ranks and their description in words. Unusual ranks are found by the median and the
 * median distance from it, because the unusual ranks themselves would shift a mean.
 */
#include "cli/formats/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define NS_PER_S   1e9
#define FIRST_ROOM 64

/*
 * Minimum distance from the median, in standard deviations, that makes a rank unusual. A standard
 * deviation is estimated as MEDIAN_SIGMA times the median of all ranks' distances.
 */
#define FAR	     5.0
#define MEDIAN_SIGMA 1.4826
/* Distances below this part of the median are not unusual. */
#define FAR_SHARE 0.05
/* With fewer ranks none is unusual. */
#define USUAL_RANKS 4
/* Ranks listed one by one. */
#define NAMED_RANKS 8

struct ranks *ranks_new(void)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks));

	if (ranks)
		ranks->names = calltree_new();
	if (ranks && !ranks->names) {
		free(ranks);
		return NULL;
	}
	return ranks;
}

void ranks_free(struct ranks *ranks)
{
	if (!ranks)
		return;
	for (uint32_t i = 0; i < ranks->node_count; i++)
		free(ranks->nodes[i]);
	free(ranks->nodes);
	free(ranks->one);
	free(ranks->function);
	calltree_free(ranks->names);
	free(ranks);
}

/* Fortran names (mpi_send_, pmpi_send__, mpi_send_f08_) end in an underscore. */
bool ranks_is_mpi(const char *name)
{
	size_t bytes = strlen(name);

	if (*name == 'P' || *name == 'p')
		name++;
	if (!strncmp(name, "MPI_", 4))
		return name[4] >= 'A' && name[4] <= 'Z';
	return !strncmp(name, "mpi_", 4) && name[4] >= 'a' && name[4] <= 'z' && bytes > 5 &&
	       name[strlen(name) - 1] == '_';
}

bool ranks_is_mpi_library(const char *module)
{
	return !strncmp(module, "libmpi", 6) && strstr(module, ".so");
}

/* ---- adding ---------------------------------------------------------------------------------- */

int ranks_node(struct ranks *ranks, const char *name, uint32_t *node)
{
	/* Search backwards, because ranks of one node are added one after the other. */
	for (uint32_t i = ranks->node_count; i-- > 0;)
		if (!strcmp(ranks->nodes[i], name)) {
			*node = i;
			return 0;
		}
	if (ARRAY_GROW(ranks->nodes, ranks->node_count, ranks->node_room, FIRST_ROOM))
		return -ENOMEM;
	ranks->nodes[ranks->node_count] = strdup(name);
	if (!ranks->nodes[ranks->node_count])
		return -ENOMEM;
	*node = ranks->node_count++;
	return 0;
}

int ranks_add(struct ranks *ranks, const struct ranks_one *one)
{
	if (ARRAY_GROW(ranks->one, ranks->count, ranks->room, FIRST_ROOM))
		return -ENOMEM;
	ranks->one[ranks->count++] = *one;
	return 0;
}

static uint32_t function_number(struct calltree *names, const struct calltree_frame *frame)
{
	return calltree_frame(names, frame->name, frame->module, CALLTREE_NATIVE);
}

int ranks_add_function(struct ranks *ranks, const struct calltree_frame *frame,
	const struct ranks_function *function)
{
	uint32_t known = calltree_frames(ranks->names);
	uint32_t number = function_number(ranks->names, frame);
	struct ranks_function *sum;

	if (calltree_error(ranks->names) ||
		ARRAY_GROW(ranks->function, number, ranks->function_room, FIRST_ROOM))
		return -ENOMEM;
	sum = &ranks->function[number];
	if (number == known) {
		*sum = *function;
		return 0;
	}
	sum->sum += function->sum;
	sum->self += function->self;
	sum->ranks += function->ranks;
	if (function->least < sum->least ||
		(function->least == sum->least && function->least_rank < sum->least_rank)) {
		sum->least = function->least;
		sum->least_rank = function->least_rank;
	}
	if (function->most > sum->most ||
		(function->most == sum->most && function->most_rank < sum->most_rank)) {
		sum->most = function->most;
		sum->most_rank = function->most_rank;
	}
	return 0;
}

/* ---- what is unusual ------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
	const struct ranks_one *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Mark no rank if out of memory. */
static void find_unusual(struct ranks *ranks)
{
	uint32_t count = ranks->count;
	double *values = calloc((size_t)count + 1, sizeof(*values)), usual, far;

	if (!values || count < USUAL_RANKS)
		goto out;
	for (uint32_t i = 0; i < count; i++)
		values[i] = (double)ranks_work(&ranks->one[i]);
	usual = median(values, count);
	for (uint32_t i = 0; i < count; i++)
		values[i] = fabs((double)ranks_work(&ranks->one[i]) - usual);
	far = fmax(FAR * MEDIAN_SIGMA * median(values, count), FAR_SHARE * usual);
	for (uint32_t i = 0; i < count; i++) {
		double work = (double)ranks_work(&ranks->one[i]);

		ranks->one[i].is_unusual =
			fabs(work - usual) > fmax(far, FAR * sqrt(fmax(work, usual)));
	}
out:
	free(values);
}

void ranks_finish(struct ranks *ranks)
{
	if (ranks->count)
		qsort(ranks->one, ranks->count, sizeof(*ranks->one), by_number);
	find_unusual(ranks);
}

/* ---- reading --------------------------------------------------------------------------------- */

bool ranks_find(const struct ranks *ranks, const struct calltree_frame *frame,
	struct ranks_function *function)
{
	uint32_t known = calltree_frames(ranks->names);
	uint32_t number = function_number(ranks->names, frame);

	if (number >= known || calltree_error(ranks->names))
		return false;
	*function = ranks->function[number];
	if (function->ranks < ranks->count)
		function->least = 0;
	return true;
}

double ranks_mean(const struct ranks *ranks, const struct ranks_function *function)
{
	return ranks->count ? (double)function->sum / ranks->count : 0;
}

double ranks_imbalance(const struct ranks *ranks, const struct ranks_function *function)
{
	double mean = ranks_mean(ranks, function);

	return mean > 0 ? (double)function->most / mean - 1 : 0;
}

bool ranks_is_chance(double mean, uint64_t most)
{
	return (double)most <= mean + FAR * sqrt(mean);
}

struct ranks_range ranks_range(
	const struct ranks *ranks, uint64_t (*figure)(const struct ranks_one *))
{
	struct ranks_range range = {.least = UINT64_MAX};

	for (uint32_t i = 0; i < ranks->count; i++) {
		uint64_t value = figure(&ranks->one[i]);

		range.mean += (double)value / ranks->count;
		if (value < range.least) {
			range.least = value;
			range.least_at = i;
		}
		if (!i || value > range.most) {
			range.most = value;
			range.most_at = i;
		}
	}
	return range;
}

/* ---- words ----------------------------------------------------------------------------------- */

void ranks_name(const struct ranks *ranks, uint32_t at, char out[RANKS_TEXT_BYTES])
{
	snprintf(out, RANKS_TEXT_BYTES, "rank %" PRIu32 " on %.100s", ranks->one[at].number,
		ranks->nodes[ranks->one[at].node]);
}

static double seconds(const struct ranks *ranks, double weight)
{
	return weight * (double)ranks->period_ns / NS_PER_S;
}

static void print_range(const struct ranks *ranks, const char *what,
	uint64_t (*figure)(const struct ranks_one *), char out[RANKS_TEXT_BYTES])
{
	struct ranks_range range = ranks_range(ranks, figure);
	char least[RANKS_TEXT_BYTES], most[RANKS_TEXT_BYTES];
	size_t at;

	ranks_name(ranks, range.least_at, least);
	ranks_name(ranks, range.most_at, most);
	at = (size_t)snprintf(out, RANKS_TEXT_BYTES,
		"%s: %.2f s a rank, from %.2f s (%.60s) to %.2f s (%.60s)", what,
		seconds(ranks, range.mean), seconds(ranks, (double)range.least), least,
		seconds(ranks, (double)range.most), most);
	if (range.mean > 0 && at < RANKS_TEXT_BYTES)
		snprintf(out + at, RANKS_TEXT_BYTES - at, ", imbalance %.0f %%",
			100 * ((double)range.most / range.mean - 1));
}

static void print_job(const struct ranks *ranks, char out[RANKS_TEXT_BYTES])
{
	uint64_t cpu = 0, in_mpi = 0;
	int at;

	for (uint32_t i = 0; i < ranks->count; i++) {
		cpu += ranks->one[i].cpu;
		in_mpi += ranks->one[i].cpu_in_mpi;
	}
	at = snprintf(out, RANKS_TEXT_BYTES, "%" PRIu32 " rank%s on %" PRIu32 " node%s",
		ranks->count, ranks->count == 1 ? "" : "s", ranks->node_count,
		ranks->node_count == 1 ? "" : "s");
	if (ranks->size > ranks->count)
		at += snprintf(out + at, RANKS_TEXT_BYTES - (size_t)at,
			", %" PRIu32 " of %" PRIu32 " left no trace", ranks->size - ranks->count,
			ranks->size);
	snprintf(out + at, RANKS_TEXT_BYTES - (size_t)at,
		": %.2f s on CPUs, %.2f s of it inside MPI", seconds(ranks, (double)cpu),
		seconds(ranks, (double)in_mpi));
}

static void print_end(const struct ranks *ranks, uint32_t at, char out[RANKS_TEXT_BYTES])
{
	const struct ranks_one *one = &ranks->one[at];
	char name[RANKS_TEXT_BYTES];

	ranks_name(ranks, at, name);
	if (!one->has_ended)
		snprintf(out, RANKS_TEXT_BYTES,
			"%.150s was not seen to end: of it is known what it did in %.2f s", name,
			(double)one->duration_ns / NS_PER_S);
	else if (one->signal)
		snprintf(out, RANKS_TEXT_BYTES,
			"%.150s was killed by signal %" PRIu32 " (%s) after %.2f s", name,
			one->signal, strsignal((int)one->signal),
			(double)one->duration_ns / NS_PER_S);
	else
		snprintf(out, RANKS_TEXT_BYTES, "%.150s ended with status %" PRIu32 " after %.2f s",
			name, one->status, (double)one->duration_ns / NS_PER_S);
}

/* Was the rank killed by a signal that launchers send to all ranks when one has failed? */
static bool was_killed(const struct ranks_one *one)
{
	return one->has_ended && (one->signal == SIGTERM || one->signal == SIGKILL);
}

static bool has_failed(const struct ranks_one *one)
{
	return one->has_ended && (one->status || one->signal) && !was_killed(one);
}

static bool is_open(const struct ranks_one *one)
{
	return !one->has_ended;
}

static uint32_t count_ranks(const struct ranks *ranks, bool (*is)(const struct ranks_one *))
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ranks->count; i++)
		count += is(&ranks->one[i]);
	return count;
}

static bool is_unusual(const struct ranks_one *one)
{
	return one->is_unusual;
}

static void print_unusual(const struct ranks *ranks, uint32_t at, char out[RANKS_TEXT_BYTES])
{
	const struct ranks_one *one = &ranks->one[at];
	char name[RANKS_TEXT_BYTES];

	ranks_name(ranks, at, name);
	snprintf(out, RANKS_TEXT_BYTES,
		"unusual: %.150s worked %.2f s outside MPI, and spent %.2f s inside", name,
		seconds(ranks, (double)ranks_work(one)), seconds(ranks, (double)ranks_in_mpi(one)));
}

/* Print line *@line about the ranks that @is selects. If there are fewer lines, subtract them. */
static bool print_ranks(const struct ranks *ranks, unsigned *line,
	bool (*is)(const struct ranks_one *),
	void (*print)(const struct ranks *, uint32_t, char[RANKS_TEXT_BYTES]), const char *more,
	char out[RANKS_TEXT_BYTES])
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < ranks->count; i++) {
		if (!is(&ranks->one[i]) || ++found > NAMED_RANKS)
			continue;
		if (!(*line)--) {
			print(ranks, i, out);
			return true;
		}
	}
	if (found <= NAMED_RANKS || (*line)--)
		return false;
	snprintf(out, RANKS_TEXT_BYTES, "%" PRIu32 " more ranks %s", found - NAMED_RANKS, more);
	return true;
}

/* Print a line about killed ranks. If other ranks failed, killed ones are only counted. */
static bool print_killed(const struct ranks *ranks, unsigned *line, char out[RANKS_TEXT_BYTES])
{
	uint32_t ended = count_ranks(ranks, was_killed);

	if (!ended || !count_ranks(ranks, has_failed))
		return print_ranks(ranks, line, was_killed, print_end, "were killed", out);
	if ((*line)--)
		return false;
	snprintf(out, RANKS_TEXT_BYTES, "%" PRIu32 " other%s %s killed by SIGTERM or SIGKILL",
		ended, ended == 1 ? "" : "s", ended == 1 ? "was" : "were");
	return true;
}

bool ranks_line(const struct ranks *ranks, unsigned line, char out[RANKS_TEXT_BYTES])
{
	if (!ranks->count)
		return false;
	if (!line--) {
		print_job(ranks, out);
		return true;
	}
	if (print_ranks(ranks, &line, has_failed, print_end, "failed", out) ||
		print_killed(ranks, &line, out) ||
		print_ranks(ranks, &line, is_open, print_end, "were not seen to end", out) ||
		print_ranks(ranks, &line, is_unusual, print_unusual, "are unusual", out))
		return true;
	if (line > 1)
		return false;
	if (!line)
		print_range(ranks, "outside MPI", ranks_work, out);
	else
		print_range(ranks, "inside MPI, running and waiting", ranks_in_mpi, out);
	return true;
}
