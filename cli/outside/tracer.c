/* SPDX-License-Identifier: MIT */
/*
 * The loop of the tracing process: commands, ticks, stops. It runs in a thread, whose end lets go
 * of all tracees at once; what was recorded is written after that, when waiting harms nobody.
 */
#include "cli/outside/tracer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/gather/procfs.h"
#include "cli/outside/attach.h"
#include "cli/outside/look.h"
#include "cli/outside/sample.h"
#include "cli/outside/stops.h"
#include "cli/outside/strangers.h"
#include "cli/own_stack.h"

#define NS_PER_S 1000000000ULL

#define LOOKS_PER_PERIOD 4
#define LOOK_NS_MIN	 100000ULL

uint64_t tracer_random(struct tracer *tracer, uint64_t limit)
{
	/* xorshift64 */
	tracer->random ^= tracer->random << 13;
	tracer->random ^= tracer->random >> 7;
	tracer->random ^= tracer->random << 17;
	return tracer->random % limit;
}

struct target *tracer_find_target(const struct tracer *tracer, pid_t pid)
{
	struct target *target = tracer->targets;

	while (target && target->pid != pid)
		target = target->next;
	return target;
}

void tracer_remove_target(struct tracer *tracer, struct target *target)
{
	struct target **at = &tracer->targets;

	while (*at != target)
		at = &(*at)->next;
	*at = target->next;
	strangers_ended(tracer, target->pid);
	target_free(target);
}

/* Returns false when flamerun has closed its end. */
static bool obey(struct tracer *tracer)
{
	struct command command;
	struct command_answer answer = {0};
	ssize_t got = recv(tracer->config.commands, &command, sizeof(command), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got != sizeof(command))
		return false;
	if (command.kind == COMMAND_FINISH) {
		tracer->is_finished = true;
		return true;
	}
	answer.error = attach_process(tracer, command.pid,
		command.kind == COMMAND_AWAIT ? ATTACH_EXEC : ATTACH_NOW,
		procfs_cpu_ns((uint32_t)command.pid), &answer.message);
	send(tracer->config.commands, &answer, sizeof(answer), MSG_NOSIGNAL);
	return true;
}

/* What is left to say when the sampling is over. */
static void conclude(struct tracer *tracer)
{
	struct tracee *tracee = NULL;
	struct record end;

	while ((tracee = tracees_next(&tracer->tracees, tracee)))
		sample_last(tracer, tracee);
	for (struct target *target = tracer->targets; target; target = target->next) {
		if (target->is_waiting)
			continue;
		sample_settle(tracer, target);
		target_end(target, &tracer->shared, false, false);
	}
	if (tracer->strangers)
		strangers_conclude(tracer);
	outbox_put(&tracer->shared.outbox, RECORD_TOTALS, &tracer->totals, sizeof(tracer->totals),
		NULL, 0);
	outbox_put(&tracer->shared.outbox, RECORD_END, &end, sizeof(end), NULL, 0);
}

/*
 * Looks are more frequent than samples: a thread that runs now and then is to be found running.
 * They come at random, half to one and a half times as far apart as on average.
 */
static uint64_t next_tick(struct tracer *tracer, uint64_t now_ns)
{
	unsigned places = tracer->place.wanted ? tracer->place.wanted : 1;
	uint64_t mean_ns = tracer->period_ns / LOOKS_PER_PERIOD / places;

	if (mean_ns < LOOK_NS_MIN)
		mean_ns = LOOK_NS_MIN;

	return now_ns + mean_ns / 2 + tracer_random(tracer, mean_ns);
}

/* Sleep until @tick_ns, a stop or a command. */
static void rest(struct tracer *tracer, struct pollfd files[2], uint64_t tick_ns)
{
	struct procfs_clock clock;
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = tick_ns > now_ns ? tick_ns - now_ns : 0;
	struct timespec patience = {
		.tv_sec = (time_t)(left_ns / NS_PER_S), .tv_nsec = (long)(left_ns % NS_PER_S)};
	struct signalfd_siginfo info;

	place_go(&tracer->place);
	ppoll(files, 2, &patience, NULL);
	tracer->on_ns = tracer->woken_ns = clock_now_ns();
	if (!procfs_clock_read(tracer->own_clock, &clock)) {
		/* What the kernel says now is how it was when we went off the CPU. */
		tracer->ran_ns = clock.cpu_ns - tracer->own.cpu_ns;
		tracer->woken_ns -= clock.waited_ns - tracer->own.waited_ns;
		tracer->own = clock;
	}
	while (read(files[0].fd, &info, sizeof(info)) > 0)
		;
}

/* Whatever is to be done now. Returns when there will be more. */
static uint64_t look(struct tracer *tracer, uint64_t *tick_ns, uint64_t *strangers_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (tracer->strangers && now_ns >= *strangers_ns)
		*strangers_ns = strangers_look(tracer, now_ns);
	/* Nobody makes way for us while there is nobody to sample. */
	if (tracer->targets && !tracer->is_placed) {
		place_init(&tracer->place);
		tracer->is_placed = true;
	}
	if (now_ns >= *tick_ns) {
		look_round(tracer);
		*tick_ns = next_tick(tracer, now_ns);
	}
	if (!tracer->strangers)
		return *tick_ns;
	return tracer->targets && *tick_ns < *strangers_ns ? *tick_ns : *strangers_ns;
}

static void *trace(void *argument)
{
	struct tracer *tracer = argument;
	uint64_t tick_ns = next_tick(tracer, clock_now_ns()), strangers_ns = 0, next_ns = 0;
	bool had_targets = false;
	sigset_t children;
	struct pollfd files[2];

	tracer->own_clock = procfs_open(getpid(), gettid(), "schedstat");
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	files[0] = (struct pollfd){
		.fd = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC), .events = POLLIN};
	files[1] = (struct pollfd){.fd = tracer->config.commands, .events = POLLIN};
	/* Ends when it is told to, when nobody listens any more, and when nothing is left. */
	while (!tracer->is_finished &&
		!(had_targets && !tracer->targets && !tracer->strangers)) {
		rest(tracer, files, next_ns);
		stops_take(tracer);
		if (files[1].revents && !obey(tracer))
			break;
		had_targets |= tracer->targets != NULL;
		next_ns = look(tracer, &tick_ns, &strangers_ns);
		if (!tracer->asked) {
			sample_upkeep(tracer);
			if (outbox_flush(&tracer->shared.outbox) < 0)
				break;
		}
	}
	conclude(tracer);
	return NULL;
}

/* Every thread costs a descriptor. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int tracer_main(const struct tracer_config *config)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	pthread_t thread;

	if (!tracer)
		return EXIT_FAILURE;
	raise_limit();
	tracer->config = *config;
	tracer->period_ns = NS_PER_S / config->rate_hz;
	tracer->random = clock_now_ns() * 0x9e3779b97f4a7c15ULL | 1;
	tracer->shared.outbox.descriptor = config->pipe;
	tracer->shared.outbox.source = RECORD_TRACER;
	tracer->shared.outbox.key = config->key;
	tracer->shared.images = RECORD_TRACER_IMAGES;
	place_anywhere(&tracer->place);
	if (config->arena)
		tracer->strangers = strangers_new(config->arena, config->arena_descriptor);
	if (own_stack_thread(&thread, trace, tracer))
		return EXIT_FAILURE;
	pthread_join(thread, NULL);
	outbox_finish(&tracer->shared.outbox);
	tracees_release(&tracer->tracees);
	while (tracer->targets) {
		struct target *target = tracer->targets;

		tracer->targets = target->next;
		target_free(target);
	}
	strangers_free(tracer->strangers);
	objects_release(&tracer->shared.objects);
	outbox_release(&tracer->shared.outbox);
	free(tracer);
	return EXIT_SUCCESS;
}
