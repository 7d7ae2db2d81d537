/* SPDX-License-Identifier: MIT */
/*
 * The objects met so far, and which mapping shows which of them.
 */
#include "cli/outside/object.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/outside/memory.h"
#include "cli/outside/object_read.h"
#include "cli/symbols/regular.h"

static void object_free(struct object *object)
{
	if (!object)
		return;
	free(object->path);
	free(object->cfi);
	free(object);
}

/* The mapped file as the target names it, if it is still the one. Returns a descriptor or -1. */
static int open_mapped(pid_t pid, const struct mapping *mapping, struct stat *status)
{
	int fd = mapping->path[0] == '/' ? regular_open(mapping->path, (uint32_t)pid, 0) : -1;

	if (fd < 0)
		return -1;
	if (!fstat(fd, status) && status->st_ino == mapping->inode &&
		major(status->st_dev) == mapping->major && minor(status->st_dev) == mapping->minor)
		return fd;
	close(fd);
	return -1;
}

static bool is_same(const struct object *object, const struct mapping *mapping,
	const struct timespec *changed)
{
	return object->inode == mapping->inode && object->major == mapping->major &&
	       object->minor == mapping->minor && !strcmp(object->path, mapping->path) &&
	       object->changed.tv_sec == changed->tv_sec &&
	       object->changed.tv_nsec == changed->tv_nsec;
}

static int keep(struct objects *objects, struct object *object)
{
	if (objects->count == WIRE_MODULE_MAX)
		return -E2BIG;
	if (objects->count == objects->room) {
		unsigned room = objects->room ? objects->room * 2 : 64;
		struct object **more = realloc(objects->list, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		objects->list = more;
		objects->room = room;
	}
	objects->list[objects->count++] = object;
	object->number = objects->count;
	return 0;
}

static struct object *make(pid_t pid, const struct mapping *mapping, const struct mapping *first,
	int descriptor)
{
	struct object_source source = {.descriptor = descriptor, .pid = pid};
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->path = strdup(mapping->path);
	object->inode = mapping->inode;
	object->major = mapping->major;
	object->minor = mapping->minor;
	if (descriptor < 0 && !first)
		goto fail;
	source.base = first ? first->start : 0;
	if (object->path && !object_read(object, &source))
		return object;
fail:
	object_free(object);
	return NULL;
}

const struct object *objects_find(struct objects *objects, pid_t pid,
	const struct mapping *mapping, const struct mapping *first)
{
	struct stat status = {0};
	struct object *object = NULL;
	int fd = open_mapped(pid, mapping, &status);

	for (unsigned i = 0; i < objects->count && !object; i++)
		if (is_same(objects->list[i], mapping, &status.st_ctim))
			object = objects->list[i];
	if (object)
		goto out;
	object = make(pid, mapping, first, fd);
	if (!object)
		goto out;
	object->changed = status.st_ctim;
	if (keep(objects, object)) {
		object_free(object);
		object = NULL;
	}
out:
	if (fd >= 0)
		close(fd);
	return object;
}

void objects_release(struct objects *objects)
{
	for (unsigned i = 0; i < objects->count; i++)
		object_free(objects->list[i]);
	free(objects->list);
	*objects = (struct objects){0};
}

int object_bias(const struct object *object, const struct mapping *mapping, uintptr_t *bias)
{
	for (unsigned i = 0; i < object->load_count; i++) {
		const struct object_load *load = &object->loads[i];
		uint64_t floor = load->offset & ~(uint64_t)(MEMORY_PAGE - 1);

		if (mapping->offset < floor || mapping->offset >= load->offset + load->bytes)
			continue;
		/* Of two segments in one page the later one is meant when it begins there. */
		if (i + 1 < object->load_count &&
			(object->loads[i + 1].offset & ~(uint64_t)(MEMORY_PAGE - 1)) ==
				mapping->offset)
			continue;
		*bias = mapping->start - (mapping->offset - load->offset + load->vaddr);
		return 0;
	}
	return -ENOENT;
}
