/* SPDX-License-Identifier: MIT */
/*
 * What is asked of a file of stacks, and what it says about itself, for a picture of them.
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
 * Where the stacks of several files come together. A reader that can adds them there straight away,
 * and nothing to the tree of the file's own, which would be copied.
 */
struct input_sum {
	/*
	 * Called once the facts but the subtitle are known, of a file that is not empty: sets what
	 * follows. Returns 0, or -errno with @message filled.
	 */
	int (*begin)(struct input_sum *sum, struct diag_message *message);
	struct calltree *tree;
	struct texts *threads; /* of the tree: name, then process */
	uint32_t root;	       /* stacks stand on this node */
	uint64_t factor;       /* of weights of stacks, but not of samples */
};

/* All zero is what is usual. */
struct input_request {
	const char *sample_type;      /* which values; NULL: the file's default */
	enum demangle_style demangle; /* of what it has by the names of linkers, or by address */
	bool fetches; /* debuginfod servers are asked for symbols of addresses that are not here */
	struct input_sum *sum; /* NULL: the file is read for itself */
};

/* All zero is a file that says nothing. */
struct input_facts {
	char title[256]; /* "" when it has none */
	char subtitle[512];
	char filters[256];   /* what was left out; "": nothing that it knows of */
	char notes[1024];    /* "" when there is nothing to note */
	char empty[128];     /* what it shows where it has no stacks; "": nothing special */
	char count_name[64]; /* what one unit of weight is called */
	char time_name[64];  /* which time it is; "" when it is none */
	char other_name[8];  /* type of time of another kind, each stack having one; "": none */
	uint64_t period_ns;  /* time of one unit of weight; 0: it is no time */
	uint64_t duration_ns;
	int64_t created_s;	    /* since the epoch; 0: unknown */
	struct picture_mark *marks; /* owned, texts and all */
	uint32_t mark_count;
	struct spread *spread; /* over the runs that it has; owned; NULL: not known */
	struct ranks *ranks;   /* of a job; owned; NULL: it is none */
	/* How it was drawn, where it is a picture. */
	bool has_view;
	char palette[32];
	enum picture_direction direction;
	enum calltree_times times;
	bool is_reversed;
	bool by_process, by_thread;
	bool has_idle; /* threads that only wait were folded */
};

/* Also of facts whose reading failed, and of facts that are all zero. */
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
