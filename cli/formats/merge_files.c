/* SPDX-License-Identifier: MIT */
/*
 * Each thread reads several neighbouring files into a sum of its own. The sums are joined in the
 * order of the files. If units differ or an error occurs, the result could differ from reading one
 * by one, so the sums are dropped and all files are read one by one.
 */
#include "cli/formats/merge_files.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include "render/bytes.h"

#define PARTS_MAX  16u
#define PART_BYTES (1u << 20) /* bytes of files per thread */

struct part {
	const char *const *paths;
	unsigned count;
	const struct input_request *request;
	bool has_root;
	struct merge merge;
	struct bytes lines; /* its messages, printed later */
	int error;
	pthread_t thread;
};

static int read_row(struct merge *merge, const char *const *paths, unsigned count,
	const struct input_request *request, bool has_root, struct diag_message *message)
{
	int error = 0;

	for (unsigned i = 0; !error && i < count; i++)
		error = merge_read(merge, paths[i], request, has_root, message);
	return error;
}

static void *read_part(void *context)
{
	struct part *part = context;
	struct diag_message ignored;

	diag_hold(&part->lines);
	part->error = read_row(
		&part->merge, part->paths, part->count, part->request, part->has_root, &ignored);
	diag_hold(NULL);
	return NULL;
}

static off_t size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) || !S_ISREG(status.st_mode) ? -1 : status.st_size;
}

/* Returns how many parts to read in parallel; 1 if a path is no file or symbols are fetched. */
static unsigned choose_parts(
	const char *const *paths, unsigned count, const struct input_request *request, off_t *bytes)
{
	cpu_set_t processors;
	unsigned most = PARTS_MAX;

	*bytes = 0;
	for (unsigned i = 0; i < count; i++) {
		off_t size = size_of(paths[i]);

		if (size < 0 || request->fetches)
			return 1;
		*bytes += size;
	}
	if (sched_getaffinity(0, sizeof(processors), &processors))
		return 1;
	if ((unsigned)CPU_COUNT(&processors) < most)
		most = (unsigned)CPU_COUNT(&processors);
	return *bytes / PART_BYTES < most ? (unsigned)(*bytes / PART_BYTES) : most;
}

/*
 * Read all parts, each in a thread of its own, and join them into @merge. Returns 0 and prints the
 * messages of all parts, or returns the first error and prints none.
 */
static int read_parts(struct merge *merge, struct part *parts, unsigned count)
{
	struct diag_message ignored;
	struct bytes lines = {0};
	int error = 0;

	for (unsigned i = 1; i < count; i++)
		if (pthread_create(&parts[i].thread, NULL, read_part, &parts[i]))
			parts[i].thread = 0;
	read_part(&parts[0]);
	for (unsigned i = 0; i < count; i++) {
		if (i && parts[i].thread)
			pthread_join(parts[i].thread, NULL);
		else if (i)
			read_part(&parts[i]);
		if (!error)
			error = parts[i].error;
		if (!error)
			error = merge_join(merge, &parts[i].merge, &ignored);
		bytes_put(&lines, parts[i].lines.data, parts[i].lines.used);
		bytes_release(&parts[i].lines);
		merge_release(&parts[i].merge);
	}
	if (!error)
		diag_put(&lines);
	bytes_release(&lines);
	return error;
}

int merge_files(struct merge *merge, const char *const *paths, unsigned count,
	const struct input_request *request, bool has_root, struct diag_message *message)
{
	struct part parts[PARTS_MAX];
	off_t bytes, before = 0;
	unsigned wanted = choose_parts(paths, count, request, &bytes), made = 0;
	const char *name = merge->part;

	for (unsigned i = 0; wanted > 1 && i < count; i++) {
		/* Index of the part with the file's first byte, if file sizes have not changed. */
		unsigned at = (unsigned)(before * wanted / (bytes + 1));

		before += size_of(paths[i]);
		if (!made || (at > made - 1 && made < wanted)) {
			parts[made++] = (struct part){.paths = paths + i,
				.request = request,
				.has_root = has_root,
				.merge = {.part = name, .is_part = true}};
		}
		parts[made - 1].count++;
	}
	merge->is_part = true;
	if (made > 1 && !read_parts(merge, parts, made)) {
		merge->is_part = false;
		return 0;
	}
	merge_release(merge);
	merge->part = name;
	return read_row(merge, paths, count, request, has_root, message);
}
