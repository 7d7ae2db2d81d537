/* SPDX-License-Identifier: MIT */
/*
 * Measure how much each Python frame adds to a walk in a signal handler: at two stack depths (each
 * frame is of another function), with and without the interpreter's lock, and with warm and cold
 * CPU caches. Real samples find the caches cold. Prints medians; asserts nothing.
 *
 *	bench-runtime_walk [libpython3.11.so.1.0 ...]
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "libprof/runtime/runtime_walk.h"
#include "libprof/unwind/memory.h"

#define ROUNDS	    1001
#define COLD_ROUNDS 101
#define DEEP	    500
#define EVICTED	    (64u << 20)
#define TABLE	    65536u

static struct runtime runtime;
static struct {
	uintptr_t start, end;
} python_code;

struct walking {
	struct unwind_window window;
	struct runtime_walk runs;
	int names;
};

static int find(struct walking *walking, uintptr_t pc, struct unwind_module *out)
{
	int error = unwind_find_object(pc, out, NULL);

	out->number = (uint32_t)(out->bias >> 12) % WIRE_MODULE_MAX + 1;
	out->row_bias = out->bias;
	out->runtime = walking->names && pc >= python_code.start && pc < python_code.end;
	return error;
}

#define UNWIND_READ(context, address, value) \
	unwind_window_read(&((struct walking *)(context))->window, address, value)
#define UNWIND_FIND_MODULE(context, pc, out) find(context, pc, out)
#define UNWIND_RUN(context, of, frame, frames, room)                                               \
	runtime_walk_frames(&((struct walking *)(context))->runs, (of)->runtime ? &runtime : NULL, \
		frame, frames, room)
#include "libprof/unwind/unwind_core.h"

static struct runtime_cache cache;
static uint64_t functions[TABLE][3], frames[WIRE_MAX_DEPTH];
static double took_ns[2][ROUNDS];
static uintptr_t known;
static char *evicted;
static int depth;

static uint64_t word_of(struct runtime_walk *runs, struct runtime_frame *frame)
{
	uint64_t at = frame->identity;

	while (functions[at % TABLE][0] && functions[at % TABLE][0] != frame->identity)
		at++;
	functions[at % TABLE][0] = frame->identity;
	return wire_language_frame(
		WIRE_LANGUAGE_BIT, frame->first_line, runtime_walk_line(runs, frame));
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double walk(const ucontext_t *context, int names, unsigned *count)
{
	const struct unwind_bounds bounds = {
		(uintptr_t)context->uc_mcontext.gregs[REG_RSP], (uintptr_t)environ & ~4095UL};
	struct arch_registers registers;
	struct walking walking;
	double start_ns = now_ns();

	arch_registers_from_ucontext(&registers, context);
	walking.names = names;
	unwind_window_init(&walking.window, getpid());
	runtime_walk_init(&walking.runs, registers.r[ARCH_DWARF_PC], word_of, NULL);
	walking.runs.thread = (struct runtime_thread){.self = (uintptr_t)pthread_self()};
	walking.runs.known = known;
	walking.runs.generator = NULL;
	runtime_reader_init(&walking.runs.reader, getpid(), 1);
	walking.runs.reader.cache = &cache;
	struct unwind_result result =
		unwind_walk(&registers, &bounds, frames, WIRE_MAX_DEPTH, &walking);
	runtime_walk_end(&walking.runs, frames, &result);
	*count = result.frames;
	known = walking.runs.known;
	return now_ns() - start_ns;
}

static void evict(void)
{
	for (size_t i = 0; i < EVICTED; i += 64)
		evicted[i]++;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *how, const ucontext_t *context, unsigned rounds, int is_cold)
{
	unsigned count[2];

	for (unsigned i = 0; i < rounds; i++)
		for (int names = 0; names < 2; names++) {
			if (is_cold)
				evict();
			took_ns[names][i] = walk(context, names, &count[names]);
		}
	for (int names = 0; names < 2; names++)
		qsort(took_ns[names], rounds, sizeof(double), ascending);
	printf("  %-22s %4u native frames %6.0f ns, %4u of Python's more %6.0f ns, %5.1f each\n",
		how, count[0], took_ns[0][rounds / 2], count[1] - count[0],
		took_ns[1][rounds / 2] - took_ns[0][rounds / 2],
		count[1] > count[0]
			? (took_ns[1][rounds / 2] - took_ns[0][rounds / 2]) / (count[1] - count[0])
			: 0.0);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const char *how = number == SIGUSR1 ? "with the lock" : "without";
	char text[32];

	(void)info;
	snprintf(text, sizeof(text), "%s, warm", how);
	measure(text, context, ROUNDS, 0);
	snprintf(text, sizeof(text), "%s, cold", how);
	measure(text, context, COLD_ROUNDS, 1);
}

/*
 * Run Python functions: fN calls f(N-1), and f0 raises both signals. No two functions share a code
 * object.
 */
static void run_python(void *python)
{
	int (*run)(const char *, void *) =
		(int (*)(const char *, void *))dlsym(python, "PyRun_SimpleStringFlags");
	char text[1024];

	for (depth = DEEP / 10; depth <= DEEP; depth += DEEP - DEEP / 10) {
		snprintf(text, sizeof(text),
			"import os, signal\n"
			"space = {'os': os, 'signal': signal}\n"
			"text = 'def f0():\\n    os.kill(os.getpid(), signal.SIGUSR1)\\n'\\\n"
			"    '    signal.raise_signal(signal.SIGUSR2)\\n'\n"
			"for i in range(1, %d):\n"
			"    text += f'def f{i}():\\n    a = {i}\\n    return f{i - 1}()\\n'\n"
			"exec(compile(text, 'made.py', 'exec'), space)\n"
			"space['f%d']()\n",
			depth, depth - 1);
		run(text, NULL);
	}
}

static int bench(const char *name)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	void *python = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	const struct link_map *map;
	struct runtime_reader reader;
	struct unwind_module found;
	void *entry;

	if (!python || dlinfo(python, RTLD_DI_LINKMAP, &map)) {
		printf("no %s: nothing to measure\n", name);
		return 0;
	}
	entry = dlsym(python, "Py_InitializeEx");
	runtime_reader_init(&reader, getpid(), 1);
	if (!entry || unwind_find_object((uintptr_t)entry, &found, NULL) ||
		!runtime_find(&runtime, &reader,
			&(struct runtime_module){
				.dynamic = (uintptr_t)map->l_ld, .bias = map->l_addr}))
		return 1;
	python_code.start = found.start;
	python_code.end = found.end;
	printf("%s, a walk in a handler:\n", name);
	((void (*)(int))entry)(0);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	run_python(python);
	return 0;
}

int main(int count, char **names)
{
	int status = 0;

	evicted = calloc(1, EVICTED);
	for (int i = 1; (i < count || i == 1) && evicted; i++) {
		pid_t child = fork();

		if (!child) {
			status = bench(i < count ? names[i] : "libpython3.11.so.1.0");
			fflush(stdout);
			_exit(status);
		}
		waitpid(child, &status, 0);
	}
	return status || !evicted;
}
