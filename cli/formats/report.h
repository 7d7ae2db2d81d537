/* SPDX-License-Identifier: MIT */
/*
 * Profiles as tables: functions, modules, threads, waits, the hottest path, and what is uncertain.
 * `flamerun top` prints them; run.json and run.md contain them. The forms are described in
 * flamerun-formats(5).
 *
 * Files written by a run list functions as they were sampled, without the regrouping and reversal
 * that options request for the picture.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_REPORT_H
#define CLI_FORMATS_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "cli/profile/picture_names.h"
#include "cli/profile/wait_sites.h"
#include "render/calltree.h"
#include "render/palette.h"
#include "render/picture.h"
#include "render/ranking.h"
#include "render/transform.h"

/* Version of run.json. */
#define REPORT_JSON_VERSION 1

/* Maximum size of run.md, which a language model reads together with other files. */
#define REPORT_MARKDOWN_BYTES 4096u

/* Settings of `flamerun top` for a report; all zero: the defaults. */
struct report_request {
	uint32_t limit; /* rows per table; 0: the format's default */
	/* functions whose callers and callees are listed */
	struct transform_matcher of;
};

struct report_thread {
	const char *process, *name; /* "": unknown */
	uint64_t weight;
};

struct report {
	const struct picture_options *picture;
	const struct report_request *request; /* NULL: for a file of a run */
	const struct calltree *merged;	      /* coarse tree of all stacks */
	/* the part of @merged that the picture shows; shares are relative to its weight */
	const struct calltree *drawn;
	/* ranking of @drawn or, with a request, of the tree in the shape that options ask for */
	struct ranking ranking;
	struct ranking_rows functions; /* by self */
	struct ranking_rows path;
	struct ranking module_ranking;
	struct ranking_rows modules;   /* by self */
	struct report_thread *threads; /* by weight */
	uint32_t thread_count;
	struct special_weights special;
	uint64_t wait_kinds[PALETTE_WAITS]; /* by report_wait_kind() */
	struct wait_site *waits;
	size_t wait_count;
	uint64_t idle; /* weight of waits of idle threads */
	/* owned trees that the fields above point into */
	struct calltree *made[5];
};

/*
 * Make a report of @tree as @picture shows it. All arguments are borrowed until report_release();
 * @request may be NULL. Returns 0, or -errno with nothing to release.
 */
int report_init(struct report *report, const struct calltree *tree,
	const struct picture_options *picture, const struct report_request *request);
void report_release(struct report *report);

/* Returns the name of @kind, an index in wait_kinds[]; also "ready" and "unknown". */
const char *report_wait_kind(unsigned kind);
uint64_t report_waits(const struct report *report); /* of all kinds */

/*
 * List the thread nodes (or process nodes) of the tree if it was grouped by them, heaviest first.
 * Returns 0 with *@nodes from malloc and *@count, or -ENOMEM.
 */
int report_groups(const struct report *report, uint32_t **nodes, uint32_t *count);

/*
 * List the functions that match request->of, by total, up to the limit. Returns 0 with *@rows owned
 * by the caller, or -ENOMEM.
 */
int report_found(const struct report *report, struct ranking_rows *rows);

/* Write @report. Returns 0, -errno of @out, or -ENOMEM. */
int report_put_json(const struct report *report, FILE *out);
int report_put_csv(const struct report *report, FILE *out);
int report_put_text(const struct report *report, unsigned columns, FILE *out);

/* Functions for struct format. */
int report_write_json(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int report_write_markdown(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
