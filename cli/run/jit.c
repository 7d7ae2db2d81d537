/* SPDX-License-Identifier: MIT */
/*
 * The words of --jit, what is said when they did nothing, and when there are none and should be.
 *
 * Python from 3.12 on names its functions itself when it is started with -X perf. That is said and
 * not done on its behalf: the program's environment stays its own.
 */
#include "cli/run/jit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/options.h"
#include "cli/profile/picture_names.h"
#include "cli/run/gather.h"
#include "libprof/profile/profile.h"
#include "libprof/wire.h"

/* So long after its first sample a CPython has what names it will have. */
#define PATIENCE_NS 1000000000u

uint32_t jit_mask(const char *list)
{
	static const uint32_t bits[] = {0, WIRE_JIT_PYTHON};
	const char *const *names = options_runtimes();
	uint32_t mask = 0;

	while (*list) {
		size_t bytes = strcspn(list, ",");

		for (size_t i = 0; names[i]; i++)
			if (strlen(names[i]) == bytes && !memcmp(names[i], list, bytes))
				mask |= bits[i];
		list += bytes + (list[bytes] == ',');
	}
	return mask;
}

/* Why processes got none that were asked to. Returns false when no process is known of. */
static bool report_refusal(const struct gather *gather)
{
	static const char *const why[] = {
		[WIRE_PYTHON_VERSION] =
			"the Python here is not 3.11; from 3.12 on it names functions itself, "
			"started as 'python3 -X perf' or with PYTHONPERFSUPPORT=1",
		[WIRE_PYTHON_NO_EXTENSION] =
			"libflameprof-python3.11.so is not beside libflameprof.so.1, or cannot be "
			"loaded: it is built where the headers of Python 3.11 are (python3-dev)",
		[WIRE_PYTHON_NO_STUBS] = "the program may not make executable memory, or runs "
					 "Python functions by other means already",
	};
	uint32_t refused[WIRE_PYTHON_REFUSALS];

	if (gather_python(gather, refused))
		return true;
	for (size_t i = 0; i < WIRE_PYTHON_REFUSALS; i++) {
		if (!refused[i])
			continue;
		diag_info("hint: --jit=python did nothing: %s", why[i]);
		return true;
	}
	return false;
}

/* ---- CPythons that were found ---------------------------------------------------------------- */

/* "python3.11", "libpython3.12.so.1.0" and those of debug and threaded builds, "python3.13t". */
static unsigned python_minor(const char *file)
{
	const char *at = strncmp(file, "lib", 3) ? file : file + 3;
	unsigned long minor;
	char *end;

	if (strncmp(at, "python3.", strlen("python3.")) || !isdigit((unsigned char)at[8]))
		return 0;
	minor = strtoul(at + 8, &end, 10);
	end += strspn(end, "dmtu");
	return minor <= 99 && (!*end || !strncmp(end, ".so", 3)) ? (unsigned)minor : 0;
}

static const struct profile_image *image_of(const struct jit_watch *watch, uint32_t image)
{
	return profile_image_at(gather_profile(watch->gather), image);
}

/* Is @image the program itself, or one of those that were to be sampled? */
static bool is_asked_for(const struct jit_watch *watch, uint32_t image)
{
	return !watch->program || image_of(watch, image)->pid == (uint32_t)watch->program;
}

/*
 * A Python that a build starts for a moment makes room for the next, the program itself for none.
 */
static void find_python(struct jit_watch *watch, uint64_t now_ns)
{
	const struct names *table = &gather_profile(watch->gather)->names;

	for (; watch->modules < table->module_count; watch->modules++) {
		const struct names_module *module = names_module(table, watch->modules);
		unsigned minor = python_minor(base_name(names_string(table, module->path)));

		if (!minor || (watch->minor && (is_asked_for(watch, watch->image) ||
						       !is_asked_for(watch, module->image))))
			continue;
		watch->minor = minor;
		watch->image = module->image;
		watch->since_ns = now_ns;
	}
	if (watch->minor && !is_asked_for(watch, watch->image) &&
		image_of(watch, watch->image)->ended)
		watch->minor = 0;
}

/* Is it one that writes down its names itself? */
static bool has_perf_map(const struct jit_watch *watch)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map",
		image_of(watch, watch->image)->pid);
	return !access(path, F_OK);
}

static bool is_jit_asked(const struct jit_watch *watch)
{
	return jit_mask(watch->options->jit) & WIRE_JIT_PYTHON;
}

/* One that was started without what would name its functions. */
static void report_python(struct jit_watch *watch)
{
	watch->is_done = true;
	if (has_perf_map(watch))
		return;
	if (watch->minor > 11)
		diag_info("hint: Python's functions have names when it is started as "
			  "'python3 -X perf' or with PYTHONPERFSUPPORT=1");
	else if (watch->minor < 11)
		diag_info(
			"hint: the functions of Python 3.%u have no names; those of 3.11 have with "
			"--jit=python, of later ones with 'python3 -X perf'",
			watch->minor);
	else if (watch->is_outside)
		diag_info(
			"hint: Python's functions have no names from outside; they have when it is "
			"started by 'flamerun --jit=python'");
	else if (!is_jit_asked(watch))
		diag_info("hint: Python's functions have names with --jit=python");
	else
		watch->is_done = report_refusal(watch->gather);
}

/* Who said --jit=none knows. */
static bool is_unwanted(const struct jit_watch *watch)
{
	return options_is_said(watch->options, "jit") && !is_jit_asked(watch);
}

void jit_check(struct jit_watch *watch, uint64_t now_ns)
{
	bool is_certain;

	if (watch->is_done || is_unwanted(watch))
		return;
	find_python(watch, now_ns);
	if (!watch->minor)
		return;
	/*
	 * That one has not come about its names otherwise: it is told before it shows its prompt.
	 */
	is_certain = watch->program && is_asked_for(watch, watch->image) && watch->minor <= 11 &&
		     !is_jit_asked(watch);
	if (is_certain || now_ns - watch->since_ns >= PATIENCE_NS)
		report_python(watch);
}

void jit_report(struct jit_watch *watch)
{
	uint32_t mask = jit_mask(watch->options->jit);

	if (!watch->is_done && mask && watch->is_outside) {
		diag_info("hint: --jit=%s did nothing: from outside nothing can be named",
			watch->options->jit);
		return;
	}
	if (!watch->is_done && !is_unwanted(watch)) {
		find_python(watch, watch->since_ns);
		if (watch->minor && is_asked_for(watch, watch->image))
			report_python(watch);
	}
	if (!watch->is_done && mask & WIRE_JIT_PYTHON && !report_refusal(watch->gather))
		diag_info(
			"hint: --jit=python did nothing: no process was a Python that lets others "
			"use its functions");
}
