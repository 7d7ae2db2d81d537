/* SPDX-License-Identifier: MIT */
/*
 * Options to picture options; regular expressions to trees without what they match.
 */
#include "cli/picture_settings.h"

#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/label.h"
#include "render/transform.h"

#define NOTHING_LEFT "no stacks are left by --root and --hide"

/* Reproducible builds: https://reproducible-builds.org/specs/source-date-epoch/ */
static int64_t created_s(int64_t otherwise)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	char *end;
	long long seconds;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return otherwise;
	errno = 0;
	seconds = strtoll(text, &end, 10);
	return errno || *end ? otherwise : seconds;
}

void picture_settings(const struct options *options, struct picture_options *picture)
{
	if (options->title)
		picture->title = options->title;
	if (options->subtitle)
		picture->subtitle = options->subtitle;
	if (options->notes)
		picture->notes = options->notes;
	if (options->count_name)
		picture->count_name = options->count_name;
	picture->palette = options->palette;
	picture->font = options->font;
	picture->font_size = options->font_size;
	picture->frame_height = options->frame_height;
	picture->min_width = options->min_width;
	picture->width = options->width;
	picture->direction = options->direction;
	picture->is_reversed = options->reverse != 0;
	if (options->ground)
		picture->ground = strcmp(options->ground, "dark") ? PICTURE_LIGHT : PICTURE_DARK;
	picture->created_s = created_s(picture->created_s);
}

/* Expressions of which one is enough. */
struct expressions {
	regex_t regex[OPTIONS_LIST_MAX];
	bool of_module[OPTIONS_LIST_MAX]; /* too */
	unsigned count;
};

/*
 * Functions without names are called "[libz.so.1+0x1234]". What is written to match those is to
 * match the others of the module, which have names once its debug symbols are installed.
 */
static bool is_of_module(const char *expression)
{
	return !strncmp(expression + (*expression == '^'), "\\[", strlen("\\["));
}

static int frame_matches(const struct calltree_frame *frame, void *context)
{
	const struct expressions *expressions = context;
	char module[NAME_MAX + 3] = "";

	if (*frame->module)
		snprintf(module, sizeof(module), "[%s]", frame->module);
	for (unsigned i = 0; i < expressions->count; i++) {
		const regex_t *regex = &expressions->regex[i];

		if (!regexec(regex, frame->name, 0, NULL, 0) ||
			(expressions->of_module[i] && !regexec(regex, module, 0, NULL, 0)))
			return 1;
	}
	return 0;
}

static void expressions_release(struct expressions *expressions)
{
	while (expressions->count)
		regfree(&expressions->regex[--expressions->count]);
}

/* Returns 0, or -errno with @message filled and nothing to release. */
static int expressions_init(struct expressions *expressions, const char *name,
	const struct options_list *list, struct diag_message *message)
{
	char why[128];

	expressions->count = 0;
	for (unsigned i = 0; i < list->count; i++) {
		regex_t *regex = &expressions->regex[i];
		int error = regcomp(regex, list->item[i], REG_EXTENDED | REG_NOSUB);

		if (error) {
			regerror(error, regex, why, sizeof(why));
			expressions_release(expressions);
			return diag_fail(message, error == REG_ESPACE ? -ENOMEM : -EINVAL,
				"--%s '%s': %s", name, list->item[i], why);
		}
		expressions->of_module[i] = is_of_module(list->item[i]);
		expressions->count++;
	}
	return 0;
}

/* One transformation, its loss reported as @why. *@tree is replaced: NULL at first, then owned. */
static int apply_transform(const struct calltree *source, const struct transform_options *wanted,
	const char *of, const char *why, struct calltree **tree, struct diag_message *message)
{
	struct calltree *made;
	uint64_t left_out = 0;
	char count[32];
	int error = transform_tree(*tree ? *tree : source, wanted, &made, &left_out);

	if (error)
		return diag_fail(message, error, "cannot draw: %s", strerror(-error));
	calltree_free(*tree);
	*tree = made;
	count_text(count, sizeof(count), left_out);
	if (left_out)
		diag_info("%s sample%s%s%s left out: %s", count, left_out == 1 ? "" : "s",
			*of ? " of " : "", of, why);
	return 0;
}

/* In two steps, so that each can say what it left out. */
static int apply_root(const struct calltree *source, const struct options_list *list,
	const char *of, struct calltree **tree, struct diag_message *message)
{
	struct transform_options wanted = {.root = frame_matches};
	struct expressions expressions;
	int error = expressions_init(&expressions, "root", list, message);

	if (error)
		return error;
	wanted.root_context = &expressions;
	error = apply_transform(
		source, &wanted, of, "no frame of theirs matches --root", tree, message);
	expressions_release(&expressions);
	return error;
}

static int apply_shape(const struct calltree *source, const struct options *options, const char *of,
	struct calltree **tree, struct diag_message *message)
{
	struct transform_options wanted = {
		.by_thread = options->threads != 0, .reverse = options->reverse != 0};
	struct expressions expressions;
	int error = expressions_init(&expressions, "hide", &options->hide, message);

	if (error)
		return error;
	wanted.hide = expressions.count ? frame_matches : NULL;
	wanted.hide_context = &expressions;
	error = apply_transform(source, &wanted, of, "all their frames are hidden", tree, message);
	expressions_release(&expressions);
	return error;
}

int picture_settings_tree(const struct calltree *tree, const struct options *options,
	const char *of, struct calltree **shown, struct diag_message *message)
{
	struct calltree *made = NULL;
	int error = 0;

	if (options->root.count)
		error = apply_root(tree, &options->root, of, &made, message);
	if (!error && (options->hide.count || options->threads || options->reverse))
		error = apply_shape(tree, options, of, &made, message);
	if (error)
		calltree_free(made);
	else
		*shown = made;
	return error;
}

const char *picture_settings_empty(const struct options *options, const struct calltree *shown)
{
	bool is_disarmed = options->root.count || options->hide.count;

	return is_disarmed && !calltree_total(shown) ? NOTHING_LEFT : NULL;
}
