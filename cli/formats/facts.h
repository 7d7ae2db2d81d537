/* SPDX-License-Identifier: MIT */
/*
 * The request for and the facts of a file of stacks. A reader of a format fills struct input_facts
 * with the metadata that the file has; pictures and reports show them.
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
 * The sum of several files. A reader that supports this adds its stacks directly to the sum and
 * leaves the file's own tree empty, which saves copying that tree.
 */
struct input_sum {
	/*
	 * The reader calls this once, for a file that is not empty, when all facts but the subtitle
	 * are known. It sets the fields below. Returns 0, or -errno with @message filled.
	 */
	int (*begin)(struct input_sum *sum, struct diag_message *message);
	struct calltree *tree;
	struct texts *threads; /* thread numbers of @tree: name, then process */
	uint32_t root;	       /* node under which the stacks are added */
	uint64_t factor;       /* multiply weights of stacks by this, but not those of samples */
};

/* All zero: the defaults. */
struct input_request {
	const char *sample_type;      /* values to read; NULL: the file's default */
	enum demangle_style demangle; /* for linker names and for addresses that are named here */
	bool fetches; /* ask debuginfod servers for symbols that this machine does not have */
	struct input_sum *sum; /* NULL: read the file by itself */
};

/* Facts of a file. All zero means that the file has none. */
struct input_facts {
	char title[256]; /* "" if there is none */
	char subtitle[512];
	char filters[256];   /* filters that were applied to the stacks; "": none */
	char notes[1024];    /* "" if there are none */
	char empty[128];     /* text to show if there are no stacks; "": a default */
	char count_name[64]; /* name of one unit of weight */
	char time_name[64];  /* which time the weights are; "" if they are counts */
	char other_name[8];  /* type of a second kind of time, which other stacks have; "": none */
	uint64_t period_ns;  /* time of one unit of weight; 0: weights are counts */
	uint64_t duration_ns;
	int64_t created_s;	    /* since the epoch; 0: unknown */
	struct picture_mark *marks; /* owned, with their texts */
	uint32_t mark_count;
	struct spread *spread; /* over the runs in the file; owned; NULL: unknown */
	struct ranks *ranks;   /* of a parallel job; owned; NULL: not a job */
	/* The view of a picture that was read. */
	bool has_view;
	char palette[32];
	enum picture_direction direction;
	enum calltree_times times;
	bool is_reversed;
	bool by_process, by_thread;
	bool has_idle; /* the picture has folded idle threads */
};

/* Free what @facts own; after a failed read, too, and for all-zero facts. */
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
