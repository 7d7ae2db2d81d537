/* SPDX-License-Identifier: MIT */
/*
 * threads [MILLISECONDS]: four threads work, each in its own function, while the main thread waits.
 * worker_0 to worker_3 have a quarter of the time each; main has almost none.
 */
#include <pthread.h>

#include "tests/targets/spin.h"

#define WORKERS 4

struct worker {
	pthread_t thread;
	void (*work)(unsigned units);
	uint64_t limit_ns, ns;
};

#define WORKER(n) BOX static void worker_##n(unsigned units) { spin(units); }
WORKER(0)
WORKER(1)
WORKER(2)
WORKER(3)

static void *run(void *argument_)
{
	struct worker *worker = argument_;
	uint64_t start = cpu_ns();

	while (worker->ns < worker->limit_ns) {
		worker->work(320);
		worker->ns = cpu_ns() - start;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[WORKERS] = {
		{.work = worker_0}, {.work = worker_1}, {.work = worker_2}, {.work = worker_3}};
	uint64_t limit_ns = argument(argc, argv, 1, 4000) * 1000000ULL / WORKERS;
	char name[16];

	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].limit_ns = limit_ns;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		snprintf(name, sizeof(name), "worker_%u", i);
		tell(name, workers[i].ns);
	}
	return 0;
}
