/* SPDX-License-Identifier: MIT */
/*
 * The choice between two.
 */
#include "cli/run/source.h"

#include "cli/outside/outside.h"
#include "cli/run/gather.h"

int source_descriptor(const struct source *source)
{
	return source->gather ? gather_descriptor(source->gather)
			      : outside_descriptor(source->outside);
}

int source_step(const struct source *source)
{
	return source->gather ? gather_step(source->gather) : outside_step(source->outside);
}

unsigned source_live(const struct source *source)
{
	return source->gather ? gather_live(source->gather) : outside_live(source->outside);
}

bool source_connected(const struct source *source)
{
	return source->gather ? gather_connected(source->gather) != 0
			      : outside_connected(source->outside);
}

int source_finish(const struct source *source, int timeout_ms, const struct rusage *usage)
{
	return source->gather ? gather_finish(source->gather, timeout_ms, usage)
			      : outside_finish(source->outside);
}

struct profile *source_profile(const struct source *source)
{
	return source->gather ? gather_profile(source->gather) : outside_profile(source->outside);
}

void source_release(struct source *source)
{
	gather_free(source->gather);
	outside_free(source->outside);
	*source = (struct source){0};
}
