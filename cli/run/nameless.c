/* SPDX-License-Identifier: MIT */
/*
 * Files need their debug symbols, runtimes that make code must be asked to write down its names.
 */
#include "cli/run/nameless.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void nameless_find(struct nameless *out, const struct calltree *tree)
{
	struct weighed *of = calloc((size_t)calltree_frames(tree) + 1, sizeof(*of));
	struct weighed worst = {0};

	*out = (struct nameless){0};
	if (of)
		worst = heaviest(tree, of);
	if (worst.self && worst.module[0]) {
		snprintf(out->where, sizeof(out->where), "%.200s", worst.module);
		snprintf(out->remedy, sizeof(out->remedy),
			"the debug symbols of %.200s would name them", worst.module);
	} else if (worst.self) {
		snprintf(out->where, sizeof(out->where), "code made while the program ran");
		snprintf(out->remedy, sizeof(out->remedy), "%s", runtime_remedy(tree));
	}
	free(of);
}
