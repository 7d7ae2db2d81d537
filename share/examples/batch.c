/* SPDX-License-Identifier: MIT */
/*
 * A batch tool that draws its own phases. One profiler runs all the time: it is flushed at the end
 * of each phase, and the phases' profiles are merged into one picture of the whole. The report at
 * the end is profiled by a scope.
 *
 *	cc -O2 batch.c $(pkg-config --cflags --libs flameprof) -o batch
 *	./batch			# make.svg parse.svg total.svg report.svg
 *	./batch 4000000 pb	# for pprof and flamerun render
 *
 * The work: a shop's sales are parsed from text, added up by customer, and sorted.
 */
#include <flameprof_profile.h>
#include <flameprof_scope.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUSTOMERS  4096
#define LINE_BYTES 64
/* Prevent inlining, so that each function has a box of its own in the picture. */
#define BOX	   __attribute__((noinline))

static const char *ending = "svg";

struct customer {
	char name[16];
	uint64_t cents;
	uint32_t sales;
};

struct shop {
	char *text; /* one sale per line: name;cents;day */
	size_t bytes;
	/* hash table by name with open addressing; a copy is sorted by cents */
	struct customer customer[CUSTOMERS];
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

BOX static size_t make_sale(char *out, uint64_t *random)
{
	static const char *const day[] = {"mon", "tue", "wed", "thu", "fri", "sat"};
	/* A few of the customers make most of the purchases. */
	unsigned who = (unsigned)(next_random(random) % (1 + next_random(random) % 3000));

	return (size_t)snprintf(out, LINE_BYTES, "customer-%u;%u;%s\n", who,
		(unsigned)(next_random(random) % 100000), day[next_random(random) % 6]);
}

BOX static int make(struct shop *shop, unsigned sales)
{
	uint64_t random = 88172645463325252ULL;

	shop->text = malloc((size_t)sales * LINE_BYTES + 1);
	if (!shop->text)
		return -1;
	for (unsigned i = 0; i < sales; i++)
		shop->bytes += make_sale(shop->text + shop->bytes, &random);
	shop->text[shop->bytes] = '\0';
	return 0;
}

BOX static struct customer *find_customer(struct shop *shop, const char *name, size_t bytes)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	for (;; hash++) {
		struct customer *customer = &shop->customer[hash % CUSTOMERS];

		if (!customer->name[0])
			memcpy(customer->name, name, bytes);
		if (!strncmp(customer->name, name, bytes) && !customer->name[bytes])
			return customer;
	}
}

BOX static uint64_t parse_cents(const char *text)
{
	return strtoull(text, NULL, 10);
}

BOX static void parse(struct shop *shop)
{
	for (const char *line = shop->text; *line; line = strchr(line, '\n') + 1) {
		size_t bytes = strcspn(line, ";");
		struct customer *customer = find_customer(shop, line, bytes);

		customer->cents += parse_cents(line + bytes + 1);
		customer->sales++;
	}
}

BOX static int by_cents(const void *left, const void *right)
{
	const struct customer *a = left, *b = right;

	return a->cents < b->cents ? 1 : a->cents > b->cents ? -1 : strcmp(a->name, b->name);
}

static const char *picture_of(const char *phase)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s.%s", phase, ending);
	return name;
}

BOX static int report(struct shop *shop, unsigned times)
{
	/* Profile from here to the end of the block, also if the block is left by return. */
	FLAMEPROF_SCOPE(picture_of("report"), .rate = 997, .title = "batch: report");
	struct customer *sorted = malloc(sizeof(shop->customer));

	if (!sorted)
		return -1;
	for (unsigned i = 0; i < times; i++) {
		memcpy(sorted, shop->customer, sizeof(shop->customer));
		qsort(sorted, CUSTOMERS, sizeof(*sorted), by_cents);
	}
	for (unsigned i = 0; i < 3; i++)
		printf("%-14s %6" PRIu32 " sales %10.2f\n", sorted[i].name, sorted[i].sales,
			(double)sorted[i].cents / 100);
	free(sorted);
	return 0;
}

static void complain(const char *what, int error)
{
	if (error)
		fprintf(stderr, "batch: %s: %s\n", what, strerror(-error));
}

/* End a phase: draw its profile, and merge the profile into @total. */
static void end_phase(struct flameprof_profile **total, const char *phase)
{
	struct flameprof_profile *profile;
	int error = flameprof_flush(&profile, -1);

	if (error) {
		complain("flush", error);
		return;
	}
	complain(phase, flameprof_profile_write(profile, picture_of(phase)));
	if (!*total) {
		*total = profile;
		return;
	}
	complain("merge", flameprof_profile_merge(*total, profile));
	flameprof_profile_free(profile);
}

int main(int argc, char **argv)
{
	unsigned sales = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4000000;
	static struct shop shop;
	struct flameprof_profile *total = NULL;
	struct flameprof_scope_report last;
	int error;

	if (argc > 2)
		ending = argv[2];
	complain("start", flameprof_start(&(struct flameprof_options){.title = "batch"}));
	if (make(&shop, sales)) {
		fprintf(stderr, "batch: out of memory\n");
		return 1;
	}
	end_phase(&total, "make");
	parse(&shop);
	end_phase(&total, "parse");
	complain("stop", flameprof_stop(NULL, -1));
	if (total)
		complain("total", flameprof_profile_write(total, picture_of("total")));
	flameprof_profile_free(total);

	error = report(&shop, sales / 1000);
	if (!flameprof_scope_last(&last)) {
		complain("report", last.error);
		printf("report: %" PRIu64 " samples in %.2f s\n", last.weight,
			(double)last.elapsed_ns / 1e9);
	}
	free(shop.text);
	return error ? 1 : 0;
}
