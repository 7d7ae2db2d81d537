/* SPDX-License-Identifier: MIT */
/*
 * Lock and write the file of a node. The lock is on the file itself (flock(2)), so the kernel
 * releases it when the process that holds it dies. Writers replace the file by a rename, so after
 * locking, check that the path still leads to the locked file.
 */
#include "cli/run/commit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/outputs.h"

#define LOCK_STEP_MS 2
#define LOCK_MOST_MS 30000
#define NS_PER_MS    1000000

struct commit {
	const char *folder, *title;
	const struct job_rank *job_rank;
	struct ranks_file_rank rank;
	bool has_begun; /* recorded in the file */
	bool is_alone;	/* writes a file of its own */
	bool was_last;	/* last rank of its file to end */
	int drawing;	/* locked descriptor of the folder, or -1 */
	char path[PATH_MAX];
};

/* ---- the lock -------------------------------------------------------------------------------- */

static bool is_same_file(int descriptor, const char *path)
{
	struct stat have, now;

	return !fstat(descriptor, &have) && !lstat(path, &now) && have.st_ino == now.st_ino &&
	       have.st_dev == now.st_dev;
}

/* Open and lock @path. Returns a descriptor, or -errno. Closing the descriptor unlocks the file. */
static int lock_file(const char *path)
{
	const struct timespec step = {.tv_nsec = LOCK_STEP_MS * NS_PER_MS};

	for (unsigned waited_ms = 0; waited_ms < LOCK_MOST_MS; waited_ms += LOCK_STEP_MS) {
		int descriptor =
			open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);

		if (descriptor < 0)
			return -errno;
		if (!flock(descriptor, LOCK_EX | LOCK_NB)) {
			if (is_same_file(descriptor, path))
				return descriptor;
		} else if (errno != EWOULDBLOCK && errno != EINTR) {
			int error = -errno;

			close(descriptor);
			return error;
		}
		close(descriptor);
		nanosleep(&step, NULL);
	}
	return -EDEADLK;
}

static int name_file(struct commit *commit, struct diag_message *message)
{
	char rank[32] = "";
	int bytes;

	if (commit->is_alone)
		snprintf(rank, sizeof(rank), ".rank-%u", commit->rank.number);
	bytes = snprintf(commit->path, sizeof(commit->path), "%s/%s%s" RANKS_FILE_ENDING,
		commit->folder, commit->job_rank->node, rank);
	return bytes < (int)sizeof(commit->path)
		       ? 0
		       : diag_fail(message, -ENAMETOOLONG, "cannot write '%.64s...': %s",
				 commit->folder, strerror(ENAMETOOLONG));
}

/* ---- reading the file ------------------------------------------------------------------------ */

/*
 * Add @file's frames and stacks to the empty @tree, where they must get the same numbers as in
 * @file. Returns 0, or -EBADMSG if one occurs twice.
 */
static int rebuild_tree(struct calltree *tree, const struct ranks_file *file)
{
	for (uint32_t i = 0; i < file->frame_count; i++) {
		const struct ranks_file_frame *frame = &file->frames[i];

		if (calltree_frame_line(tree, file->texts[frame->name], file->texts[frame->module],
			    frame->kind, file->texts[frame->file], frame->line) != i)
			return -EBADMSG;
	}
	for (uint32_t i = 1; i < file->stack_count; i++)
		if (calltree_child(tree, file->parents[i], file->frame_of[i]) != i)
			return -EBADMSG;
	return calltree_error(tree);
}

/*
 * Is @file from an earlier job? It is if it has another job name or, because not all launchers name
 * jobs, if it says that this rank has ended although the rank has committed nothing yet. If @file
 * is from this job, drop its ranks whose number is not below the job's size.
 */
static bool is_earlier(const struct commit *commit, struct ranks_file *file)
{
	const struct job_rank *job_rank = commit->job_rank;
	uint32_t kept = 0;

	if (strcmp(file->head.job, job_rank->job))
		return true;
	for (uint32_t i = 0; i < file->rank_count; i++) {
		const struct ranks_file_rank *rank = &file->ranks[i];

		if (!commit->has_begun && rank->number == job_rank->rank &&
			rank->state == RANK_ENDED)
			return true;
		if (!job_rank->size || rank->number < job_rank->size)
			file->ranks[kept++] = *rank;
	}
	file->rank_count = kept;
	return false;
}

/* Read the node's file into @file, which stays empty if no file exists or it is another job's. */
static int read_others(
	const struct commit *commit, struct ranks_file *file, struct diag_message *message)
{
	FILE *in = fopen(commit->path, "re");
	struct stat status;
	int error = 0;

	if (!in)
		return errno == ENOENT ? 0
				       : diag_fail(message, -errno, "cannot open '%s': %s",
						 commit->path, strerror(errno));
	if (!fstat(fileno(in), &status) && status.st_size)
		error = ranks_file_read(file, in, commit->path, message);
	fclose(in);
	if (!error && file->head.job && is_earlier(commit, file))
		ranks_file_release(file);
	return error;
}

/* ---- this rank's part ------------------------------------------------------------------------ */

/*
 * Add @from's stacks to @to. Returns 0 and sets *@weights (owned) to the weight that was added to
 * each node of @to; or returns -errno.
 */
static int add_stacks(struct calltree *to, const struct calltree *from, uint64_t **weights)
{
	uint32_t nodes = calltree_nodes(from), frames = calltree_frames(from);
	uint32_t *place = calloc((size_t)nodes, sizeof(*place));
	uint32_t *frame_of = calloc((size_t)frames + 1, sizeof(*frame_of));
	int error = place && frame_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < frames; i++) {
		const struct calltree_frame *frame = calltree_frame_at(from, i);

		frame_of[i] = calltree_frame_line(
			to, frame->name, frame->module, frame->kind, frame->file, frame->line);
	}
	for (uint32_t i = 1; !error && i < nodes; i++) {
		const struct calltree_node *node = calltree_node_at(from, i);

		place[i] = calltree_child(to, place[node->parent], frame_of[node->frame]);
	}
	if (!error)
		error = calltree_error(to);
	*weights = error ? NULL : calloc((size_t)calltree_nodes(to), sizeof(**weights));
	if (!error && !*weights)
		error = -ENOMEM;
	for (uint32_t i = 0; !error && i < nodes; i++)
		(*weights)[place[i]] += calltree_node_at(from, i)->self;
	free(place);
	free(frame_of);
	return error;
}

struct content {
	const struct ranks_file_head *head;
	const struct calltree *tree;
	const struct ranks_file *kept;
	const struct ranks_file_rank *rank;
	const uint64_t *weights;
};

/* Write the content to the disk before the rename, because the node may lose power afterwards. */
static int write_content(void *context, FILE *out)
{
	const struct content *content = context;
	int error = ranks_file_write(
		out, content->head, content->tree, content->kept, content->rank, content->weights);

	if (!error && (fflush(out) || (content->rank->duration_ns && fdatasync(fileno(out)))))
		error = -errno;
	return error;
}

static int write_file(
	const struct commit *commit, struct content *content, struct diag_message *message)
{
	const char *path = commit->path;
	struct outputs *outputs = NULL;
	int error = outputs_open(&outputs, &path, 1, message);

	if (!error)
		error = outputs_write(outputs, 0, write_content, content, message);
	outputs_free(outputs);
	return error;
}

static bool all_ended(const struct commit *commit, const struct ranks_file *others)
{
	bool is = commit->rank.state == RANK_ENDED;

	for (uint32_t i = 0; is && i < others->rank_count; i++)
		is = others->ranks[i].state == RANK_ENDED ||
		     others->ranks[i].number == commit->rank.number;
	return is;
}

/* Rewrite the file: replace this rank's part, copy the other parts. The caller has the lock. */
static int put_locked(struct commit *commit, const struct calltree *tree, uint64_t period_ns,
	struct diag_message *message)
{
	struct ranks_file others = {.texts = NULL};
	struct ranks_file_head head = {commit->job_rank->job, commit->job_rank->node, commit->title,
		period_ns, commit->job_rank->size};
	struct calltree *all = calltree_new();
	uint64_t *weights = NULL;
	struct content content = {&head, all, &others, &commit->rank, NULL};
	int error = all ? 0 : diag_fail(message, -ENOMEM, "out of memory");

	if (!error)
		error = read_others(commit, &others, message);
	if (!error && others.head.period_ns && period_ns && others.head.period_ns != period_ns)
		error = diag_fail(message, -EINVAL, "the ranks in '%s' are sampled at another rate",
			commit->path);
	if (!error && !period_ns)
		head.period_ns = others.head.period_ns;
	if (!error) {
		error = rebuild_tree(all, &others);
		if (!error)
			error = add_stacks(all, tree, &weights);
		if (error)
			diag_fail(message, error, "cannot add to '%s': %s", commit->path,
				strerror(-error));
	}
	content.weights = weights;
	if (!error)
		error = write_file(commit, &content, message);
	if (!error)
		commit->was_last = all_ended(commit, &others);
	free(weights);
	calltree_free(all);
	ranks_file_release(&others);
	return error;
}

static int put_tree(struct commit *commit, const struct calltree *tree, uint64_t period_ns,
	struct diag_message *message)
{
	int lock = commit->is_alone ? -1 : lock_file(commit->path), error;

	if (lock < 0 && !commit->is_alone)
		return diag_fail(
			message, lock, "cannot lock '%s': %s", commit->path, strerror(-lock));
	error = put_locked(commit, tree, period_ns, message);
	if (lock >= 0)
		close(lock);
	return error;
}

/*
 * Write the first commit. If the node's file cannot be locked or its content is not usable, change
 * to a file of this rank's own. Only the first commit can do so, because otherwise stacks would be
 * in two files and count twice.
 */
static int put_first(struct commit *commit, struct diag_message *message)
{
	struct calltree *nothing = calltree_new();
	int error = nothing && !calltree_finish(nothing)
			    ? put_tree(commit, nothing, 0, message)
			    : diag_fail(message, -ENOMEM, "out of memory");

	if (error == -ENOLCK || error == -ENOTSUP || error == -ENOSYS || error == -EDEADLK ||
		error == -EBADMSG || error == -E2BIG) {
		commit->is_alone = true;
		error = name_file(commit, message);
		if (!error)
			error = put_tree(commit, nothing, 0, message);
	}
	calltree_free(nothing);
	return error;
}

/* ---- begin and end --------------------------------------------------------------------------- */

int commit_open(struct commit **out, const char *folder, const struct job_rank *job_rank,
	const char *title, struct diag_message *message)
{
	struct commit *commit = calloc(1, sizeof(*commit));
	int error = commit ? 0 : diag_fail(message, -ENOMEM, "out of memory");

	if (!error) {
		*commit = (struct commit){.folder = folder,
			.title = title,
			.job_rank = job_rank,
			.rank = {.number = job_rank->rank, .began_s = (uint64_t)time(NULL)},
			.drawing = -1};
		error = name_file(commit, message);
	}
	if (!error && mkdir(folder, 0777) && errno != EEXIST)
		error = diag_fail(message, -errno, "cannot make the folder '%s': %s", folder,
			strerror(errno));
	if (!error)
		error = put_first(commit, message);
	if (error) {
		commit_free(commit);
		return error;
	}
	commit->has_begun = true;
	*out = commit;
	return 0;
}

void commit_free(struct commit *commit)
{
	if (commit && commit->drawing >= 0)
		close(commit->drawing);
	free(commit);
}

void commit_set_end(struct commit *commit, int wait_status)
{
	commit->rank.status = WIFEXITED(wait_status) ? (uint32_t)WEXITSTATUS(wait_status) : 0;
	commit->rank.signal = WIFSIGNALED(wait_status) ? (uint32_t)WTERMSIG(wait_status) : 0;
}

int commit_put(struct commit *commit, const struct calltree *tree, uint64_t period_ns,
	uint64_t duration_ns, bool is_end, struct diag_message *message)
{
	commit->rank.state = is_end ? RANK_ENDED : RANK_BEGAN;
	commit->rank.duration_ns = duration_ns;
	return put_tree(commit, tree, period_ns, message);
}

/* ---- the last rank --------------------------------------------------------------------------- */

static uint64_t count_ended(const struct commit *commit)
{
	DIR *folder = opendir(commit->folder);
	const struct dirent *entry;
	uint64_t ended = 0;

	while (folder && (entry = readdir(folder))) {
		struct ranks_file_counts counts;
		int descriptor;

		if (!ranks_file_is_name(entry->d_name))
			continue;
		descriptor =
			openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (descriptor < 0)
			continue;
		if (!ranks_file_count(&counts, descriptor) &&
			!strcmp(counts.job, commit->job_rank->job))
			ended += counts.ended;
		close(descriptor);
	}
	if (folder)
		closedir(folder);
	return ended;
}

/* Several ranks may see that all have ended. Only one can lock the folder, and is the last one. */
bool commit_is_last(struct commit *commit)
{
	if (!commit->was_last || !commit->job_rank->size ||
		count_ended(commit) < commit->job_rank->size)
		return false;
	commit->drawing = open(commit->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return commit->drawing >= 0 && !flock(commit->drawing, LOCK_EX | LOCK_NB);
}
