/* SPDX-License-Identifier: MIT */
/*
 * The request to a reader of stacks (struct input_request), and the metadata that it finds in the
 * file (struct input_facts). Pictures and reports show the metadata.
 */
#ifndef CLI_FORMATS_FACTS_H
#define CLI_FORMATS_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/diag.h"
#include "cli/formats/ranks.h"
#include "cli/symbols/demangle.h"
#include "libprof/pprof/writer.h"
#include "render/picture.h"
#include "render/spread.h"

/*
 * The sum of several files, as a destination. A reader that supports sums adds its stacks directly
 * to the sum and leaves the file's own tree empty, which saves copying that tree.
 */
struct input_sum {
	/*
	 * The reader calls this once, for a file that is not empty, when all facts but the subtitle
	 * are known. It must set the fields below. Returns 0, or -errno with @message filled.
	 */
	int (*begin)(struct input_sum *sum, struct diag_message *message);
	struct calltree *tree;
	/* [thread of @tree] -> its name and process, interned */
	struct texts *threads;
	/* node of @tree that is the parent of the stacks */
	uint32_t root;
	/* factor for weights of stacks; merge.c multiplies the weights of samples later */
	uint64_t factor;
};

/* All zero: the defaults. */
struct input_request {
	/* name of the values to read, such as "cpu"; NULL: the file's default */
	const char *sample_type;
	/* how to demangle linker names in the file and in symbols */
	enum demangle_style demangle;
	/* ask debuginfod servers for symbols that this machine does not have */
	bool fetches;
	struct input_sum *sum; /* NULL: read the file by itself */
	/* read the values of facts.unread, too, into input.kept */
	bool keeps_types;
};

/* Values of a pprof profile, such as inuse_space in bytes. */
struct input_type {
	char name[64], unit[64];
};
/* Further types of a profile are ignored. */
#define INPUT_TYPES_MAX 8u

/* Facts of a file. All zero means that the file has none. */
struct input_facts {
	char title[256]; /* "" if there is none */
	char subtitle[512];
	/* filters that were applied to the stacks; "": none */
	char filters[256];
	char notes[1024]; /* "" if there are none */
	/* text to show instead of a picture without stacks; "": a default text */
	char empty[128];
	char count_name[64]; /* name of one unit of weight */
	/* what the weights measure, such as "cpu" or "inuse_space"; "": unknown */
	char type_name[64];
	/* the file's other values, which were not read */
	struct input_type unread[INPUT_TYPES_MAX];
	unsigned unread_count;
	/* kind of time of the stacks in input.other; "": there are none */
	char other_name[8];
	/* nanoseconds per unit of weight; 0: weights are counts */
	uint64_t period_ns;
	uint64_t duration_ns;
	int64_t created_s;	    /* since the epoch; 0: unknown */
	struct picture_mark *marks; /* owned, with their texts */
	uint32_t mark_count;
	/* how functions vary over the runs in the file; owned; NULL: unknown */
	struct spread *spread;
	/* the ranks of a parallel job; owned; NULL: not a job */
	struct ranks *ranks;
	/* Settings of the view, if the file is a picture of flamerun. */
	bool has_view;
	char palette[32];
	enum picture_direction direction;
	enum calltree_times times;
	bool is_reversed;
	bool by_process, by_thread;
	/* the picture has frames of idle threads, which it folds */
	bool has_idle;
};

/* Returns the name of one unit of weight; files that say nothing count samples. */
static inline const char *input_count_name(const struct input_facts *facts)
{
	return facts->count_name[0] ? facts->count_name : "samples";
}

/* Free what @facts own. Valid after a failed read, and for all-zero facts. */
static inline void input_facts_release(struct input_facts *facts)
{
	for (uint32_t i = 0; i < facts->mark_count; i++)
		free((char *)(uintptr_t)facts->marks[i].text);
	free(facts->marks);
	spread_free(facts->spread);
	ranks_free(facts->ranks);
	facts->spread = NULL;
	facts->ranks = NULL;
	facts->marks = NULL;
	facts->mark_count = 0;
}

#endif
