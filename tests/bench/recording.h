/* SPDX-License-Identifier: MIT */
/*
 * Record real stacks for replay: a compiler compiles a source full of templates under our sampler,
 * and the stack of every sample is kept, in order of time.
 */
#ifndef TESTS_BENCH_RECORDING_H
#define TESTS_BENCH_RECORDING_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/profile/profile.h"
#include "cli/run/gather.h"
#include "libprof/wire.h"

/* Rate of the clock that only tests use. It gives several samples per timer tick of the kernel. */
#define RECORDING_HZ 2000

struct recorded {
	uint64_t time_ns;
	uint32_t frames;
	uint64_t frame[]; /* leaf first */
};

struct recording {
	struct recorded **samples;
	size_t count;
	uint64_t frames; /* of all samples */
};

static const char recording_source[] =
	"#include <algorithm>\n#include <functional>\n#include <iostream>\n#include <map>\n"
	"#include <random>\n#include <regex>\n#include <string>\n#include <variant>\n#include "
	"<vector>\n"
	"template<int N> struct tree { std::map<int, tree<N - 1>> a; std::vector<tree<N - 1>> b;\n"
	"	std::variant<int, std::string, tree<N - 1> *> c;\n"
	"	int sum() const { int s = N; for (auto &x : b) s += x.sum(); for (auto &x : a) s "
	"+= x.second.sum();\n"
	"		return s; } };\n"
	"template<> struct tree<0> { int sum() const { return 1; } };\n"
	"int f(const std::string &s) { std::regex r(\"(a|b)*c+[^d]{2,5}\"); std::smatch m;\n"
	"	std::vector<int> v(99); std::mt19937 g; std::shuffle(v.begin(), v.end(), g);\n"
	"	std::stable_sort(v.begin(), v.end(), std::greater<>()); tree<60> t;\n"
	"	return std::regex_search(s, m, r) + v[5] + t.sum(); }\n";

static void recording_child(const struct gather *gather, const char *library)
{
	int ends[2];

	if (pipe(ends) || write(ends[1], recording_source, sizeof(recording_source) - 1) < 0)
		_exit(1);
	dup2(ends[0], STDIN_FILENO);
	close(ends[1]);
	putenv((char *)gather_environment(gather));
	setenv("LD_PRELOAD", library, 1);
	execlp("g++", "g++", "-std=c++17", "-O2", "-x", "c++", "-S", "-o", "/dev/null", "-", NULL);
	_exit(127);
}

static void recording_take(struct recording *recording, struct flameprof_profile *profile)
{
	recording->count = profile->sample_count;
	recording->samples = calloc(recording->count, sizeof(recording->samples[0]));
	for (size_t i = 0; i < recording->count; i++) {
		const struct flameprof_sample *sample = profile_sample_at(profile, i);
		const struct profile_stack *stack = profile_stack_at(profile, sample->stack);
		struct recorded *r = malloc(sizeof(*r) + 8 * WIRE_MAX_DEPTH);

		r->time_ns = sample->time_ns;
		r->frames = 0;
		for (uint32_t node = stack->node; r->frames < stack->frames;
			node = profile_node_at(profile, node)->parent)
			r->frame[r->frames++] =
				profile_node_frame(profile_node_at(profile, node));
		recording->frames += r->frames;
		recording->samples[i] = realloc(r, sizeof(*r) + 8 * r->frames);
	}
}

/*
 * Record the stacks. Returns 0, or -1 if the compiler or the library is missing or there were no
 * samples.
 */
static int recording_make(struct recording *recording, const char *library)
{
	const struct gather_config config = {
		.rate_hz = RECORDING_HZ, .test_clock_hz = RECORDING_HZ, .signal = SIGVTALRM};
	struct diag_message message = {0};
	struct gather *gather;
	int status;
	pid_t child;

	if (access(library, R_OK) || gather_open(&gather, &config, &message))
		return -1;
	child = fork();
	if (!child)
		recording_child(gather, library);
	while (waitpid(child, &status, WNOHANG) == 0) {
		gather_read(gather);
		usleep(10000);
	}
	gather_finish(gather, NULL);
	recording_take(recording, gather_profile(gather));
	gather_free(gather);
	return recording->count ? 0 : -1;
}

#endif
