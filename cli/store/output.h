/* SPDX-License-Identifier: MIT */
/*
 * A call tree that is made here goes into a store: of a run, or of a file.
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

/*
 * Are @labels, each "NAME=VALUE", known ones with values that can be? Returns 0, or -EINVAL with
 * @message filled.
 */
int store_labels_check(const struct options_list *labels, struct diag_message *message);

/*
 * Make @profile of @tree (finished), which @picture (both borrowed) tells of, with @labels and for
 * what they leave out: the service is what the title's first word is called, the host this one,
 * the start when the picture's time began, else @start_s. @bytes: the file it was read from, by
 * which it is known again; NULL: it was never seen before. Returns 0, or -errno with @message
 * filled. To be released in any case.
 */
int store_output_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels, int64_t start_s,
	const struct bytes *bytes, struct diag_message *message);

/* Make and push a run's. Returns as store_push_add() does. Says what became of it. */
int store_output_write(struct store_push *push, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels,
	struct diag_message *message);

/* Say what was pushed to where, in one line. */
void store_output_report(const struct store_push *push, const struct store_pushed *pushed);

#endif
