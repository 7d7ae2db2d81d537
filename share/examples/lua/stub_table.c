/* SPDX-License-Identifier: MIT */
/* The slow operations of the table. The fast lookup is stub_of() in stubs.h. */
#include "share/examples/lua/stub_table.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_PLACES 1024

int stub_table_init(struct stub_table *table)
{
	*table = (struct stub_table){.places = calloc(FIRST_PLACES, sizeof(*table->places))};
	if (!table->places)
		return -ENOMEM;
	table->mask = FIRST_PLACES - 1;
	return 0;
}

void stub_table_release(struct stub_table *table)
{
	free(table->places);
	*table = (struct stub_table){0};
}

/* Returns the entry of @proto. If there is none, returns the free entry in which to put @proto. */
static struct stub *place_of(const struct stub_table *table, const struct lua_proto *proto)
{
	for (size_t i = stub_table_home(table, proto);; i++) {
		struct stub *stub = &table->places[i & table->mask];

		if (!stub->proto || stub->proto == proto)
			return stub;
	}
}

static int grow(struct stub_table *table)
{
	struct stub_table bigger = {.mask = table->mask * 2 + 1, .used = table->used};

	bigger.places = calloc(bigger.mask + 1, sizeof(*bigger.places));
	if (!bigger.places)
		return -ENOMEM;
	for (size_t i = 0; i <= table->mask; i++)
		if (table->places[i].proto)
			*place_of(&bigger, table->places[i].proto) = table->places[i];
	free(table->places);
	*table = bigger;
	return 0;
}

struct stub *stub_table_find(const struct stub_table *table, const struct lua_proto *proto)
{
	struct stub *stub = place_of(table, proto);

	return stub->proto ? stub : NULL;
}

struct stub *stub_table_add(struct stub_table *table, const struct lua_proto *proto)
{
	struct stub *stub;

	if (table->used * 2 > table->mask && grow(table))
		return NULL;
	stub = place_of(table, proto);
	stub->proto = proto;
	table->used++;
	return stub;
}

void stub_table_remove(struct stub_table *table, struct stub *stub)
{
	size_t mask = table->mask, hole = (size_t)(stub - table->places);

	table->used--;
	for (size_t i = (hole + 1) & mask; table->places[i].proto; i = (i + 1) & mask) {
		size_t home = stub_table_home(table, table->places[i].proto);

		/*
		 * Leave an entry in place if its search begins after the hole, because the search
		 * would not find it in the hole.
		 */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		table->places[hole] = table->places[i];
		hole = i;
	}
	table->places[hole] = (struct stub){0};
}
