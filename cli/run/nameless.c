/* SPDX-License-Identifier: MIT */
/*
 * Files need their symbols, runtimes that make code must be asked to write down its names.
 */
#include "cli/run/nameless.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile/base_name.h"
#include "cli/run/distribution.h"

#define RELEASE "/etc/os-release"
#define RELEASE_OF_VENDOR "/usr/lib/os-release" /* where an administrator has removed the other */

struct weighed {
	const char *module; /* "" for code of no file */
	uint64_t self;
};

/* How a runtime is told to write perf maps, by the beginning of the name of its module. */
static const struct {
	const char *module, *remedy;
} runtimes[] = {
	{"node", "node --perf-basic-prof names what it compiles"},
	{"libnode.so", "node --perf-basic-prof names what it compiles"},
	{"libjvm.so", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
		      "-XX:+PreserveFramePointer names what it compiles"},
	{"libcoreclr.so", "DOTNET_PerfMapEnabled=1 in the environment names what it compiles"},
	{"beam.smp", "erl +JPperf true names what it compiles"},
};

/*
 * Which module has most of the samples that end in unnamed code? @of has a place for each frame of
 * the tree; modules are few, so they are looked through.
 */
static struct weighed heaviest(const struct calltree *tree, struct weighed *of)
{
	struct weighed worst = {0};
	uint32_t count = 0;

	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);
		uint32_t at = 0;

		if (!node->self || frame->kind != CALLTREE_UNNAMED)
			continue;
		while (at < count && strcmp(of[at].module, frame->module))
			at++;
		if (at == count)
			of[count++] = (struct weighed){.module = frame->module};
		of[at].self += node->self;
		if (of[at].self > worst.self)
			worst = of[at];
	}
	return worst;
}

static const char *runtime_remedy(const struct calltree *tree)
{
	for (uint32_t i = 0; i < calltree_frames(tree); i++) {
		const char *module = calltree_frame_at(tree, i)->module;

		for (size_t k = 0; k < sizeof(runtimes) / sizeof(runtimes[0]); k++) {
			size_t bytes = strlen(runtimes[k].module);

			/* "libjvm.so", "libnode.so.108", but not "nodejs-helper" */
			if (!strncmp(module, runtimes[k].module, bytes) &&
				(!module[bytes] || module[bytes] == '.'))
				return runtimes[k].remedy;
		}
	}
	return "a runtime that writes /tmp/perf-PID.map names what it compiles";
}

/* The path of the file that pictures call @module; NULL: it is none that is here. */
static const char *path_of(const struct names *names, const char *module)
{
	for (uint32_t i = 0; i < names->module_count; i++) {
		const char *path = names_string(names, names_module(names, i)->path);

		if (!strcmp(base_name(path), module) && path[0] == '/' && !access(path, F_OK))
			return path;
	}
	return NULL;
}

static void file_remedy(struct nameless *out, const char *module, const char *path)
{
	const char *release = access(RELEASE, R_OK) ? RELEASE_OF_VENDOR : RELEASE;
	const char *servers = getenv("DEBUGINFOD_URLS");
	char command[sizeof(out->remedy) - 32];

	if (!path || !distribution_has(path)) {
		snprintf(out->remedy, sizeof(out->remedy),
			"a build of %.200s that keeps its symbols would name them", module);
		return;
	}
	distribution_symbols_command(
		command, sizeof(command), release, path, servers && *servers);
	snprintf(out->remedy, sizeof(out->remedy), "for their names: %s", command);
}

void nameless_find(struct nameless *out, const struct calltree *tree, const struct names *names)
{
	struct weighed *of = calloc((size_t)calltree_frames(tree) + 1, sizeof(*of));
	struct weighed worst = {0};

	*out = (struct nameless){0};
	if (of)
		worst = heaviest(tree, of);
	if (worst.self && worst.module[0]) {
		snprintf(out->where, sizeof(out->where), "%.200s", worst.module);
		file_remedy(out, worst.module, path_of(names, worst.module));
	} else if (worst.self) {
		snprintf(out->where, sizeof(out->where), "code made while the program ran");
		snprintf(out->remedy, sizeof(out->remedy), "%s", runtime_remedy(tree));
	}
	free(of);
}
