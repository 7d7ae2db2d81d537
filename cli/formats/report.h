/* SPDX-License-Identifier: MIT */
/*
 * Profiles in words and numbers instead of a picture: tables of functions, modules, threads and
 * waits, the hottest path, and what is uncertain. `flamerun top` prints them, and run.json and
 * run.md are them; flamerun(1) has the form of each.
 *
 * As a file of a run they tell of functions as they were sampled, without the roots and turns that
 * options give a picture.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_REPORT_H
#define CLI_FORMATS_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "cli/profile/picture_names.h"
#include "cli/profile/wait_places.h"
#include "render/calltree.h"
#include "render/palette.h"
#include "render/picture.h"
#include "render/ranking.h"
#include "render/transform.h"

/* The version of run.json's form. */
#define REPORT_JSON_VERSION 1

/* A file that a language model reads with other things is no longer than this. */
#define REPORT_MARKDOWN_BYTES 4096u

/* What is asked for beyond what a file has. All zero: nothing. */
struct report_request {
	uint32_t limit;		     /* rows of each table; 0: as many as the format usually has */
	struct transform_matcher of; /* functions whose callers and callees are told */
};

struct report_thread {
	const char *process, *name; /* "": not known */
	uint64_t weight;
};

struct report {
	const struct picture_options *picture;
	const struct report_request *request; /* NULL: a file's */
	const struct calltree *merged;	      /* functions whole, whatever they did */
	const struct calltree *drawn; /* of these what the picture shows: its weight is the whole */
	struct ranking ranking; /* of that; for a request of what it was made to be shown as */
	struct ranking_rows functions; /* by self */
	struct ranking_rows path;
	struct ranking module_ranking;
	struct ranking_rows modules;   /* by self */
	struct report_thread *threads; /* by weight */
	uint32_t thread_count;
	struct special_weights special;
	uint64_t wait_kinds[PALETTE_WAITS]; /* see report_wait_kind() */
	struct wait_place *waits;
	size_t wait_count;
	uint64_t idle;		  /* of the waits, that of threads that do nothing else */
	struct calltree *made[5]; /* owned; what the above points into */
};

/*
 * Make a report of @tree as @picture (borrowed, both) shows it. @request (borrowed) may be NULL.
 * Returns 0, or -errno with nothing to release.
 */
int report_init(struct report *report, const struct calltree *tree,
	const struct picture_options *picture, const struct report_request *request);
void report_release(struct report *report);

/* What kind number @kind of waits is called; "ready" and "unknown" among them. */
const char *report_wait_kind(unsigned kind);
uint64_t report_waits(const struct report *report); /* of all kinds */

/*
 * The nodes of the shown tree that stand for threads, or else processes, where it was grouped by
 * them, heaviest first, in an array from malloc. Returns 0 and *@count, or -ENOMEM.
 */
int report_groups(const struct report *report, uint32_t **nodes, uint32_t *count);

/* Likewise the functions that were asked for by ->of, by total; as many as the limit allows. */
int report_found(const struct report *report, struct ranking_rows *rows);

/* Write @report. Returns 0, or -errno of @out, or -ENOMEM. */
int report_put_json(const struct report *report, FILE *out);
int report_put_csv(const struct report *report, FILE *out);
int report_put_text(const struct report *report, unsigned columns, FILE *out);

/* As struct format has it. */
int report_write_json(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int report_write_markdown(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
