/* SPDX-License-Identifier: MIT */
/*
 * flamerun push: put files of stacks into a store, or, with --symbols, the names of functions.
 *
 *   flamerun push clickhouse://host/database FILE... --label service=api
 *   flamerun push clickhouse://host/database --symbols PROGRAM...
 */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/formats/input.h"
#include "cli/formats/whole.h"
#include "cli/picture_settings.h"
#include "cli/run/signals.h"
#include "cli/store/output.h"
#include "cli/store/symbols_push.h"

struct words {
	const char *address;
	const char **paths;
	int count;
};

static int refuse_words(struct diag_message *message, const char *what)
{
	diag_fail(message, -EINVAL, "push wants %s", what);
	diag_fail_hint(
		message, "flamerun push clickhouse://host/database run.pb.gz --label service=api");
	return -EINVAL;
}

static int parse_words(struct words *words, struct options *options, int argc, char **argv,
	int index, struct diag_message *message)
{
	for (;;) {
		int error = 0;

		if (!options->ended_by_dashes)
			error = options_parse(options, argc, argv, &index, message);
		if (error || options->action != OPTIONS_RUN)
			return error;
		if (index == argc)
			break;
		if (!words->address)
			words->address = argv[index++];
		else
			words->paths[words->count++] = argv[index++];
	}
	if (!words->address || !store_address_is(words->address))
		return refuse_words(message, "the address of a store");
	if (!words->count)
		return refuse_words(message, "files behind the store's address");
	return options_check_command(options, "push", false, false, false, message);
}

/*
 * Read the whole file, because the store identifies a profile by the file's bytes. *@changed_s is
 * the time of its last modification, in seconds.
 */
static int read_bytes(
	const char *path, struct bytes *bytes, int64_t *changed_s, struct diag_message *message)
{
	FILE *in = fopen(path, "re");
	struct stat status;
	int error;

	if (!in)
		return diag_fail(message, -errno, "cannot open '%s': %s", path, strerror(errno));
	error = fstat(fileno(in), &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
	if (error)
		diag_fail(message, error, "cannot push '%s': it is no file", path);
	*changed_s = error ? 0 : status.st_mtime;
	if (!error)
		error = whole_read(in, path, bytes, message);
	fclose(in);
	return error;
}

static int push_file(struct store_push *push, const struct options *options, const char *path,
	struct diag_message *message)
{
	struct input input = {.path = NULL};
	struct bytes bytes = {0};
	struct store_profile profile = {.spooled = NULL};
	const struct input_facts *facts = &input.facts;
	struct picture_options picture = {.title = NULL};
	const struct input_request request = picture_input(options);
	int64_t changed_s = 0;
	int error = read_bytes(path, &bytes, &changed_s, message);

	if (!error)
		error = input_read(&input, path, &request, message);
	if (!error) {
		picture.title = facts->title[0] ? facts->title : NULL;
		picture.count_name = facts->count_name[0] ? facts->count_name : NULL;
		picture.type_name = facts->type_name[0] ? facts->type_name : NULL;
		picture.period_ns = facts->period_ns;
		picture.duration_ns = facts->duration_ns;
		picture.created_s = facts->created_s;
		error = store_output_make(&profile, input.tree, &picture, &options->label,
			changed_s > 0 ? changed_s : 1, &bytes, message);
	}
	if (!error)
		error = store_push_add(push, &profile, message);
	store_profile_release(&profile);
	bytes_release(&bytes);
	input_release(&input);
	return error;
}

static int push_symbols(struct store_push *push, const char *path, struct diag_message *message)
{
	size_t count;
	int error = symbols_push(push, path, &count, message);

	if (!error && count)
		diag_info("pushed the names of %zu functions of '%s'", count, path);
	else if (!error)
		diag_info("the names of '%s' are there", path);
	return error;
}

static int push_all(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message)
{
	const struct words *words = context;
	struct store_push *push = NULL;
	struct store_pushed pushed = {0};
	int error = store_labels_check(&options->label, message);

	(void)ending;
	if (!error)
		error = store_push_new(&push, words->address, message);
	for (int i = 0; !error && i < words->count; i++)
		error = options->symbols ? push_symbols(push, words->paths[i], message)
					 : push_file(push, options, words->paths[i], message);
	if (!error && !options->symbols)
		error = store_push_end(push, &pushed, message);
	if (!error && !options->symbols)
		store_output_report(push, &pushed);
	store_push_free(push);
	return error;
}

struct ending command_push(struct options *options, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	struct words words = {.paths = calloc((size_t)argc + 1, sizeof(*words.paths))};
	struct ending ending;
	int error = words.paths ? parse_words(&words, options, argc, argv, index, &message)
				: diag_fail(&message, -ENOMEM, "out of memory");

	ending = command_finish(options, error, push_all, &words, &message);
	free(words.paths);
	return ending;
}
