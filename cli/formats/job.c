/* SPDX-License-Identifier: MIT */
/*
 * Several threads read the files. For each file, a thread computes the weights (weigh.c) and adds
 * them under a lock: stacks to the tree, functions and ranks to struct ranks. The order of the
 * files does not matter. Which ranks keep threads of their own is known only after all files, so
 * the files of these ranks are read again, in order, by one thread.
 */
#include "cli/formats/job.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/formats/ranks.h"
#include "cli/formats/ranks_file.h"
#include "cli/formats/weigh.h"
#include "render/array.h"

#define THREADS_MAX 16
#define FIRST_ROOM  64
#define NS_PER_S    1e9

struct job {
	struct input *out;
	struct diag_message *message;
	enum calltree_times times;
	struct ranks *ranks;
	char **paths; /* of files, sorted by name */
	uint32_t count, room;
	/* name of the job that the newest file belongs to */
	char *newest;
	atomic_uint next;
	/* protects the fields below, *out and *ranks */
	pthread_mutex_t lock;
	int error;
	unsigned damaged, others; /* files skipped */
	/* error of the damaged file whose name sorts first */
	struct diag_message damage;
	/* indices of the file of `damage`, and of the file that gave the title */
	uint32_t first_damaged, titled;
	bool *is_read; /* [file] */
};

/* ---- which files ----------------------------------------------------------------------------- */

bool job_is(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;

	return ranks_file_is_name(slash ? slash + 1 : path) ||
	       (!stat(path, &status) && S_ISDIR(status.st_mode));
}

static int add_path(struct job *job, const char *folder, const char *name)
{
	char *path = NULL;

	if (ARRAY_GROW(job->paths, job->count, job->room, FIRST_ROOM) ||
		asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		return diag_fail(job->message, -ENOMEM, "out of memory");
	job->paths[job->count++] = path;
	return 0;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int list_folder(struct job *job, const char *path, DIR *folder)
{
	const struct dirent *entry;
	int error = 0;

	while (!error && (entry = readdir(folder)))
		if (ranks_file_is_name(entry->d_name))
			error = add_path(job, path, entry->d_name);
	if (!error && !job->count) {
		error = diag_fail(job->message, -ENOENT, "no files of a job's nodes in '%s'", path);
		diag_fail_hint(job->message, "srun flamerun --job='%s' -- program", path);
	}
	if (!error)
		qsort(job->paths, job->count, sizeof(*job->paths), by_name);
	return error;
}

static int list_files(struct job *job, const char *path)
{
	DIR *folder = opendir(path);
	int error;

	if (!folder && errno == ENOTDIR)
		return add_path(job, "", path);
	if (!folder)
		return diag_fail(
			job->message, -errno, "cannot open '%s': %s", path, strerror(errno));
	error = list_folder(job, path, folder);
	closedir(folder);
	return error;
}

/* Read a node's file. Returns 0, or -errno with @message filled: -ENODATA if no rank wrote yet. */
static int read_file(struct ranks_file *file, const char *path, struct diag_message *message)
{
	FILE *in = fopen(path, "re");
	struct stat status;
	int error;

	if (!in)
		return diag_fail(message, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (!fstat(fileno(in), &status) && S_ISREG(status.st_mode) && !status.st_size)
		error = -ENODATA;
	else
		error = ranks_file_read(file, in, path, message);
	fclose(in);
	return error;
}

/* Set job->newest to the job of the newest readable file. Only files of this job are added. */
static int find_newest(struct job *job)
{
	struct timespec newest = {.tv_sec = -1};
	char name[sizeof(((struct ranks_file_counts *)0)->job)] = "";

	for (uint32_t i = 0; i < job->count; i++) {
		struct ranks_file_counts counts;
		FILE *in = fopen(job->paths[i], "re");
		struct stat status;

		if (in && !fstat(fileno(in), &status) && !ranks_file_count(&counts, fileno(in)) &&
			(status.st_mtim.tv_sec > newest.tv_sec ||
				(status.st_mtim.tv_sec == newest.tv_sec &&
					status.st_mtim.tv_nsec > newest.tv_nsec))) {
			newest = status.st_mtim;
			strcpy(name, counts.job);
		}
		if (in)
			fclose(in);
	}
	job->newest = strdup(name);
	return job->newest ? 0 : diag_fail(job->message, -ENOMEM, "out of memory");
}

/* ---- adding up ------------------------------------------------------------------------------- */

/* Add the stacks of @file to @tree. *@node_of receives [stack] -> node. Returns 0 or -errno. */
static int add_stacks(struct calltree *tree, const struct ranks_file *file, uint32_t **node_of)
{
	uint32_t *frames = calloc((size_t)file->frame_count + 1, sizeof(*frames));
	uint32_t *at = calloc(file->stack_count, sizeof(*at));
	int error = frames && at ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < file->frame_count; i++) {
		const struct ranks_file_frame *frame = &file->frames[i];

		frames[i] = calltree_frame_line(tree, file->texts[frame->name],
			file->texts[frame->module], frame->kind, file->texts[frame->file],
			frame->line);
	}
	for (uint32_t i = 1; !error && i < file->stack_count; i++)
		at[i] = calltree_child(tree, at[file->parents[i]], frames[file->frame_of[i]]);
	free(frames);
	if (!error)
		error = calltree_error(tree);
	if (error)
		free(at);
	else
		*node_of = at;
	return error;
}

static void add_head(struct job *job, const struct ranks_file *file, uint32_t index)
{
	struct input_facts *facts = &job->out->facts;
	const struct ranks_file_head *head = &file->head;

	/* If ranks run different programs, use the title of the first file. */
	if (!job->ranks->count || index < job->titled) {
		snprintf(facts->title, sizeof(facts->title), "%s", head->title);
		job->titled = index;
	}
	if (head->size > job->ranks->size)
		job->ranks->size = head->size;
	for (uint32_t i = 0; i < file->rank_count; i++) {
		const struct ranks_file_rank *rank = &file->ranks[i];

		if (rank->duration_ns > facts->duration_ns)
			facts->duration_ns = rank->duration_ns;
		if (rank->began_s && rank->began_s < INT64_MAX &&
			(!facts->created_s || (int64_t)rank->began_s < facts->created_s))
			facts->created_s = (int64_t)rank->began_s;
	}
}

/* Add one file's weights; job->lock is held. Returns 0, or -errno with the message filled. */
static int add_file(
	struct job *job, const struct ranks_file *file, struct weigh *weigh, uint32_t index)
{
	struct input_facts *facts = &job->out->facts;
	uint32_t node, *node_of = NULL;
	int error;

	if (file->head.period_ns && facts->period_ns && facts->period_ns != file->head.period_ns)
		return diag_fail(job->message, -EINVAL,
			"'%s' was sampled at another rate than others of the job",
			job->paths[index]);
	if (file->head.period_ns)
		job->ranks->period_ns = facts->period_ns = file->head.period_ns;
	add_head(job, file, index);
	error = add_stacks(job->out->tree, file, &node_of);
	for (uint32_t i = 0; !error && i < file->stack_count; i++)
		if (weigh->self[i])
			calltree_add(job->out->tree, node_of[i], weigh->self[i]);
	if (!error)
		error = ranks_node(job->ranks, file->head.node, &node);
	for (uint32_t i = 0; !error && i < file->rank_count; i++) {
		weigh->one[i].node = node;
		error = ranks_add(job->ranks, &weigh->one[i]);
	}
	for (uint32_t i = 0; !error && i < calltree_frames(weigh->names); i++)
		if (weigh->function[i].ranks)
			error = ranks_add_function(job->ranks, calltree_frame_at(weigh->names, i),
				&weigh->function[i]);
	free(node_of);
	job->is_read[index] = !error;
	return error ? diag_fail(job->message, error, "cannot add '%s': %s", job->paths[index],
			       strerror(-error))
		     : 0;
}

/* Skip an unreadable file. -ENOMEM fails the whole job, because the other files need memory too. */
static void leave_out(struct job *job, uint32_t index, int error, const struct diag_message *why)
{
	if (error == -ENODATA)
		return;
	if (error == -ENOMEM) {
		job->error = error;
		*job->message = *why;
	}
	if (!job->damaged++ || index < job->first_damaged) {
		job->first_damaged = index;
		job->damage = *why;
	}
}

static void read_one(struct job *job, uint32_t index)
{
	struct ranks_file file = {.texts = NULL};
	struct weigh weigh = {.file = NULL};
	struct diag_message message = {0};
	int error = read_file(&file, job->paths[index], &message);
	bool is_other = !error && strcmp(file.head.job, job->newest);

	if (!error && !is_other) {
		error = weigh_file(&weigh, &file, job->times);
		if (error)
			diag_fail(&message, error, "cannot read '%s': %s", job->paths[index],
				error == -EBADMSG ? "a rank is damaged" : strerror(-error));
	}
	pthread_mutex_lock(&job->lock);
	if (error)
		leave_out(job, index, error, &message);
	else if (is_other)
		job->others++;
	else if (!job->error)
		job->error = add_file(job, &file, &weigh, index);
	pthread_mutex_unlock(&job->lock);
	weigh_release(&weigh);
	ranks_file_release(&file);
}

static void *read_files(void *context)
{
	struct job *job = context;
	uint32_t index;

	while ((index = atomic_fetch_add(&job->next, 1)) < job->count)
		read_one(job, index);
	return NULL;
}

static void read_all(struct job *job)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MAX];
	int started = 0;

	while (started + 1 < processors && started < THREADS_MAX && started + 1 < (int)job->count &&
		!pthread_create(&threads[started], NULL, read_files, job))
		started++;
	read_files(job);
	while (started)
		pthread_join(threads[--started], NULL);
}

/* ---- ranks that stay apart ------------------------------------------------------------------- */

static int by_distance(const void *left, const void *right, void *context)
{
	const struct ranks_one *const *a = left, *const *b = right;
	double mean = *(const double *)context;
	double here = fabs((double)ranks_work(*a) - mean);
	double there = fabs((double)ranks_work(*b) - mean);

	if (here != there)
		return here < there ? 1 : -1;
	return *a < *b ? -1 : *a > *b;
}

/* Make the array [index in ranks->one] -> thread; UINT32_MAX: the rank shares a thread. */
static int choose_roots(const struct ranks *ranks, uint32_t **threads)
{
	const struct ranks_one **order = calloc((size_t)ranks->count + 1, sizeof(*order));
	uint32_t *thread = calloc((size_t)ranks->count + 1, sizeof(*thread));

	if (!order || !thread) {
		free(order);
		free(thread);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < ranks->count; i++) {
		order[i] = &ranks->one[i];
		thread[i] = ranks->count > JOB_ROOTS_MAX ? UINT32_MAX : i;
	}
	if (ranks->count > JOB_ROOTS_MAX) {
		double mean = ranks_range(ranks, ranks_work).mean;

		qsort_r(order, ranks->count, sizeof(*order), by_distance, &mean);
		for (uint32_t i = 0; i < JOB_ROOTS_MAX; i++)
			thread[order[i] - ranks->one] = i;
	}
	free(order);
	*threads = thread;
	return 0;
}

static void put_sample(struct calltree *tree, uint32_t node, uint32_t thread, uint64_t weight)
{
	const struct calltree_sample sample = {
		.node = node, .thread = thread, .kind = calltree_kind_at(tree, node)};

	calltree_sample_weight(tree, &sample, weight);
}

/* Name a thread "rank 17 (n2)" and its process "n2 (node)". */
static void name_thread(struct job *job, uint32_t at, uint32_t thread)
{
	const struct ranks *ranks = job->ranks;
	const char *node = ranks->nodes[ranks->one[at].node];
	char name[64 + 256], process[300];

	snprintf(name, sizeof(name), "rank %" PRIu32 " (%.250s)", ranks->one[at].number, node);
	snprintf(process, sizeof(process), "%.250s (node)", node);
	calltree_thread(job->out->tree, thread, name, process);
}

/* Returns the index of a rank in ranks->one (sorted by number), or UINT32_MAX if not found. */
static uint32_t find_rank(const struct ranks *ranks, uint32_t number, const char *node)
{
	size_t at = number ? ARRAY_UPTO(ranks->one, ranks->count, number, number - 1) : 0;

	for (; at < ranks->count && ranks->one[at].number == number; at++)
		if (!strcmp(ranks->nodes[ranks->one[at].node], node))
			return (uint32_t)at;
	return UINT32_MAX;
}

static int put_ranks(struct job *job, const struct ranks_file *file, const uint32_t *threads,
	uint64_t *unassigned)
{
	struct calltree *tree = job->out->tree;
	uint32_t *node_of = NULL;
	int error = add_stacks(tree, file, &node_of);

	for (uint32_t i = 0; !error && i < file->rank_count; i++) {
		struct ranks_file_walk walk = {.rank = &file->ranks[i]};
		uint32_t at = find_rank(job->ranks, file->ranks[i].number, file->head.node), stack;
		uint64_t weight;

		if (at == UINT32_MAX || threads[at] == UINT32_MAX)
			continue;
		name_thread(job, at, threads[at]);
		while (ranks_file_next(file, &walk, &stack, &weight) > 0) {
			uint64_t *left = &unassigned[node_of[stack]];

			/* Limit the weight: the file may have changed since the first reading. */
			if (weight > *left)
				weight = *left;
			*left -= weight;
			put_sample(tree, node_of[stack], threads[at], weight);
		}
		error = calltree_error(tree);
	}
	free(node_of);
	return error;
}

static bool has_root(const struct job *job, const struct ranks_file *file, const uint32_t *threads)
{
	for (uint32_t i = 0; i < file->rank_count; i++) {
		uint32_t at = find_rank(job->ranks, file->ranks[i].number, file->head.node);

		if (at != UINT32_MAX && threads[at] != UINT32_MAX)
			return true;
	}
	return false;
}

/* Put the weight of all ranks that have no thread of their own into one thread. */
static void put_others(struct job *job, const uint64_t *unassigned, uint32_t nodes)
{
	struct calltree *tree = job->out->tree;
	char name[64];

	if (job->ranks->count <= JOB_ROOTS_MAX)
		return;
	snprintf(name, sizeof(name), "%" PRIu32 " other ranks (of %" PRIu32 ")",
		job->ranks->count - JOB_ROOTS_MAX, job->ranks->count);
	calltree_thread(tree, JOB_ROOTS_MAX, name, "other ranks (of all nodes)");
	for (uint32_t i = 0; i < nodes; i++)
		put_sample(tree, i, JOB_ROOTS_MAX, unassigned[i]);
}

static int put_roots(struct job *job)
{
	struct calltree *tree = job->out->tree;
	uint32_t nodes = calltree_nodes(tree), *threads = NULL;
	uint64_t *unassigned = calloc(nodes, sizeof(*unassigned));
	int error = unassigned ? choose_roots(job->ranks, &threads) : -ENOMEM;

	for (uint32_t i = 0; !error && i < nodes; i++)
		unassigned[i] = calltree_node_at(tree, i)->self;
	for (uint32_t i = 0; !error && i < job->count; i++) {
		struct ranks_file file = {.texts = NULL};
		struct diag_message ignored = {0};

		if (!job->is_read[i] || read_file(&file, job->paths[i], &ignored))
			continue;
		if (has_root(job, &file, threads))
			error = put_ranks(job, &file, threads, unassigned);
		ranks_file_release(&file);
	}
	if (!error)
		put_others(job, unassigned, nodes);
	free(threads);
	free(unassigned);
	return error ? error : calltree_error(tree);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void write_subtitle(struct job *job)
{
	struct input_facts *facts = &job->out->facts;
	const struct ranks *ranks = job->ranks;
	double period_s = (double)facts->period_ns / NS_PER_S;
	uint64_t waits = calltree_waits(job->out->tree);
	uint64_t cpu = calltree_total(job->out->tree) - waits;

	snprintf(facts->subtitle, sizeof(facts->subtitle),
		"%" PRIu32 " rank%s on %" PRIu32 " node%s: %" PRIu64
		" samples, %.2f s of cpu, and %.2f s of waiting, in %.2f s",
		ranks->count, ranks->count == 1 ? "" : "s", ranks->node_count,
		ranks->node_count == 1 ? "" : "s", cpu, (double)cpu * period_s,
		(double)waits * period_s, (double)facts->duration_ns / NS_PER_S);
}

/* Write the lines about ranks as the picture's notes. */
static void write_notes(struct job *job)
{
	char *notes = job->out->facts.notes, line[RANKS_TEXT_BYTES];
	size_t room = sizeof(job->out->facts.notes), at = 0;

	for (unsigned i = 1; ranks_line(job->ranks, i, line); i++) {
		size_t bytes = strlen(line);

		if (at + bytes + 2 > room)
			break;
		at += (size_t)snprintf(notes + at, room - at, "%s%s", at ? "\n" : "", line);
	}
}

static int finish(struct job *job, const char *path)
{
	int error = job->error;

	if (error)
		return error;
	if (job->others)
		diag_info("%u file%s in '%s' %s of another job, and left out", job->others,
			job->others == 1 ? "" : "s", path, job->others == 1 ? "is" : "are");
	if (job->damaged && !job->ranks->count) {
		*job->message = job->damage;
		return -EBADMSG;
	}
	if (job->damaged)
		diag_info("%u file%s left out: %s", job->damaged,
			job->damaged == 1 ? " is" : "s are", job->damage.text);
	if (!job->ranks->count)
		return diag_fail(job->message, -ENODATA, "no rank in '%s' has begun", path);
	ranks_finish(job->ranks);
	error = put_roots(job);
	if (!error)
		error = calltree_finish(job->out->tree);
	if (error)
		return diag_fail(
			job->message, error, "cannot read '%s': %s", path, strerror(-error));
	write_subtitle(job);
	write_notes(job);
	return 0;
}

int job_read(struct input *out, const char *path, enum calltree_times times,
	struct diag_message *message)
{
	struct job job = {.out = out, .message = message, .times = times, .ranks = ranks_new()};
	int error;

	*out = (struct input){
		.path = path, .name = path, .tree = calltree_new(), .other = calltree_new()};
	out->facts.ranks = job.ranks;
	pthread_mutex_init(&job.lock, NULL);
	error = job.ranks && out->tree && out->other && !calltree_finish(out->other)
			? list_files(&job, path)
			: diag_fail(message, -ENOMEM, "out of memory");
	if (!error)
		error = find_newest(&job);
	if (!error) {
		strcpy(out->facts.type_name, "cpu");
		job.is_read = calloc(job.count, sizeof(*job.is_read));
		error = job.is_read ? 0 : diag_fail(message, -ENOMEM, "out of memory");
	}
	if (!error) {
		read_all(&job);
		error = finish(&job, path);
	}
	for (uint32_t i = 0; i < job.count; i++)
		free(job.paths[i]);
	free(job.paths);
	free(job.newest);
	free(job.is_read);
	pthread_mutex_destroy(&job.lock);
	return error;
}
