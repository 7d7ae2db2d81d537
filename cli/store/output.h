/* SPDX-License-Identifier: MIT */
/* Put the call tree of a run or a file into a store. Context: one thread. */
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
 * service is the base name of the title's first word, the host is this machine, the start is
 * @picture's or else @start_s. @bytes: the content of the file from which the tree was read; it
 * identifies the profile. NULL: the profile is new. The caller must release @profile, after errors
 * as well. Returns 0, or -errno with @message filled.
 */
int store_output_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels, int64_t start_s,
	const struct bytes *bytes, struct diag_message *message);

/* Make and push the profile of a run. Report the result. Returns as store_push_add() does. */
int store_output_write(struct store_push *push, const struct calltree *tree,
	const struct picture_options *picture, const struct options_list *labels,
	struct diag_message *message);

/* Print one line about the profiles that were pushed. */
void store_output_report(const struct store_push *push, const struct store_pushed *pushed);

#endif
