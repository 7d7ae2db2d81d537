/* SPDX-License-Identifier: MIT */
/*
 * A DWARF entry has no reference to its parent. So list all namespaces, classes and functions (the
 * containers) of a unit once, in the order of the file, with the offsets at which they begin and
 * end. To find the container of an entry, begin at the last container before the entry and step to
 * outer containers until one encloses it.
 */
#include "cli/symbols/dwarf_containers.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define NONE	  UINT32_MAX
#define DEPTH_MAX 64
/* The cache is emptied when it has more containers than this. */
#define TOTAL_MAX (1u << 20)

struct container {
	/* begin: offset of the entry; end: offset at which the entry's children end */
	uint64_t begin;
	uint64_t end;
	/* DW_AT_name, or a reference to the declaration that has the name */
	struct dwarf_value name;
	/* index of the enclosing container, or NONE */
	uint32_t outer;
	bool has_name;
	/* the entry completes a declaration, which has the name */
	bool is_definition;
	bool is_namespace;
	bool is_class;
};

struct unit_containers {
	const struct dwarf_unit *unit; /* borrowed */
	struct container *list;	       /* owned; by rising `begin` */
	uint32_t count, room;
};

void dwarf_containers_release(struct dwarf_containers *containers)
{
	for (size_t i = 0; i < containers->count; i++)
		free(containers->list[i].list);
	free(containers->list);
	*containers = (struct dwarf_containers){0};
}

/* Can @die enclose other functions? A compiled copy that refers to its original cannot. */
static bool is_container(const struct dwarf_die *die)
{
	const uint32_t instance = DWARF_HAS(DWARF_LOW_PC) | DWARF_HAS(DWARF_RANGE_LIST);

	switch (die->tag) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return !(die->has & DWARF_HAS(DWARF_ORIGIN)) || !(die->has & instance);
	default:
		return false;
	}
}

/* Append the container @die. @outer: index of its enclosing container. Returns 0 or -ENOMEM. */
static int add_container(struct unit_containers *of, const struct dwarf_die *die, uint32_t outer)
{
	bool has_name = die->has & DWARF_HAS(DWARF_NAME);

	if (ARRAY_GROW(of->list, of->count, of->room, 64))
		return -ENOMEM;
	of->list[of->count++] = (struct container){
		.begin = die->offset,
		.end = UINT64_MAX,
		.name = die->value[has_name ? DWARF_NAME : DWARF_SPECIFICATION],
		.has_name = has_name,
		.is_definition = !has_name && die->has & DWARF_HAS(DWARF_SPECIFICATION),
		.outer = outer,
		.is_namespace = die->tag == DW_TAG_namespace,
		.is_class = die->tag == DW_TAG_class_type || die->tag == DW_TAG_structure_type,
	};
	return 0;
}

/* List the containers of a unit; in a broken unit, those before the error. Returns 0 or -ENOMEM. */
static int read_containers(struct dwarf_reader *reader, struct unit_containers *of)
{
	uint32_t enclosing[DEPTH_MAX] = {NONE};
	struct dwarf_die die = {0};
	unsigned depth = 0;
	int error = dwarf_walk_begin(reader, of->unit);

	if (error)
		return error == -ENOMEM ? error : 0;
	while (!error && dwarf_walk_next(reader, &die)) {
		if (!die.tag) {
			if (!depth)
				break;
			of->list[enclosing[depth--]].end = die.offset;
			continue;
		}
		if (!die.has_children)
			continue;
		if (is_container(&die) && depth + 1 < DEPTH_MAX) {
			error = add_container(of, &die, enclosing[depth]);
			enclosing[++depth] = of->count - 1;
		} else if (!dwarf_walk_skip(reader, of->unit, &die)) {
			break;
		}
	}
	return error;
}

/* Return the containers of @unit, reading them at the first call. Returns NULL if out of memory. */
static const struct unit_containers *containers_of(struct dwarf_containers *containers,
	struct dwarf_reader *reader, const struct dwarf_unit *unit)
{
	struct unit_containers *added;

	for (size_t i = 0; i < containers->count; i++)
		if (containers->list[i].unit == unit)
			return &containers->list[i];
	if (containers->total > TOTAL_MAX)
		dwarf_containers_release(containers);
	if (ARRAY_GROW(containers->list, containers->count, containers->room, 16))
		return NULL;
	added = &containers->list[containers->count++];
	*added = (struct unit_containers){.unit = unit};
	if (read_containers(reader, added))
		return NULL;
	containers->total += added->count;
	return added;
}

/* Return the index of the innermost container that encloses the entry at @offset, or NONE. */
static uint32_t find_container(const struct unit_containers *of, uint64_t offset)
{
	uint32_t upto = (uint32_t)ARRAY_UPTO(of->list, of->count, begin, offset - 1), at;

	for (at = upto ? upto - 1 : NONE; at != NONE; at = of->list[at].outer)
		if (offset < of->list[at].end)
			break;
	return at;
}

/*
 * Return the text to show for the unnamed container @of, or NULL. @inner is the name of the entity
 * inside @of. A lambda needs this, because gcc gives its class no name, and its function no linkage
 * name if it is local.
 */
static const char *replace_name(const struct container *of, const char *inner)
{
	static const char call[] = "operator()";

	if (of->is_namespace)
		return "(anonymous namespace)";
	return of->is_class && !strncmp(inner, call, sizeof(call) - 1) ? "{lambda}" : NULL;
}

/*
 * Return the name of @container, or NULL; valid as long as the result of dwarf_text(). @inner is
 * the name of the entity inside @container. Sets *@outer to the index of the enclosing container.
 * If @container is a definition outside of its class or namespace, *@outer encloses its
 * declaration.
 */
static const char *read_container(const struct unit_containers *of, struct dwarf_reader *reader,
	const struct container *container, const char *inner, uint32_t *outer)
{
	struct dwarf_reader *by = reader;
	struct dwarf_name declared;
	uint64_t offset;

	*outer = container->outer;
	if (container->has_name)
		return dwarf_text(reader, of->unit, &container->name);
	if (!container->is_definition)
		return replace_name(container, inner);
	offset = dwarf_reference(&by, of->unit, &container->name);
	if (offset == DWARF_NONE || !dwarf_function_name(by, offset, &declared) ||
		declared.unit != of->unit)
		return NULL;
	*outer = find_container(of, declared.offset);
	return dwarf_text(by, declared.unit, &declared.bare);
}

int dwarf_containers_write(struct dwarf_containers *containers, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, uint64_t offset, char *end, size_t bytes_max)
{
	static const char between[] = "::";
	const struct unit_containers *of;
	size_t written = 0;
	uint32_t i;

	if (!unit->is_cxx)
		return 0;
	of = containers_of(containers, reader, unit);
	if (!of)
		return -ENOMEM;
	/* Limit the number of steps, because references in a broken unit may form a cycle. */
	i = find_container(of, offset);
	for (unsigned steps = 0; i != NONE && steps < DEPTH_MAX; steps++) {
		const char *name =
			read_container(of, reader, &of->list[i], end - written, &i);
		size_t bytes = name ? strlen(name) : 0;

		if (!bytes)
			continue;
		if (bytes + 2 > bytes_max - written)
			return 0;
		written += bytes + 2;
		mempcpy(mempcpy(end - written, name, bytes), between, 2);
	}
	return (int)written;
}
