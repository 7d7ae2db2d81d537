/* SPDX-License-Identifier: MIT */
/*
 * Put a call tree of a run or a file into a store.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_OUTPUT_H
#define CLI_STORE_OUTPUT_H

#include "cli/diag.h"
#include "cli/options.h"
#include "cli/store/push.h"
#include "render/calltree.h"
#include "render/picture.h"

/* Check @labels, each "NAME=VALUE". Returns 0, or -EINVAL with @message filled. */
int store_labels_check(const struct options_list *labels, struct diag_message *message);

/*
 * Make @profile from @tree (finished) and @picture, both borrowed, with @labels. Defaults: the
 * service is the base name of the title's first word, the host is this one, the start is
 * @picture's, else @start_s. @bytes is the file it was read from, which identifies the profile;
 * NULL: it is new. Returns 0, or -errno with @message filled. The caller must release @profile in
 * both cases.
 */
int store_output_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels, int64_t start_s,
	const struct bytes *bytes, struct diag_message *message);

/* Make and push the profile of a run, and report the result. Returns as store_push_add() does. */
int store_output_write(struct store_push *push, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels,
	struct diag_message *message);

/* Report in one line what was pushed. */
void store_output_report(const struct store_push *push, const struct store_pushed *pushed);

#endif
