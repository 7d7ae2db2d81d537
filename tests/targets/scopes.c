/* SPDX-License-Identifier: MIT */
/*
 * scopes WAY [MS]: leave the block of a profiling scope in the way WAY. The scope's picture is
 * WAY.folded. All of its stacks are below inside(), which runs in the scope for MS of CPU time, and
 * none below outside(), which runs for a third of that before and after the scope. The program
 * prints "name value" for each of the scope's results.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flameprof_scope.h"
#include "tests/targets/spin.h"

static unsigned ms = 100;
static char picture[64];
static jmp_buf far_away;
static const struct flameprof_options fast = {.rate = 997};

static void burn(unsigned for_ms)
{
	spin_until(cpu_ns() + for_ms * 1000000ULL);
}

BOX static void inside(void)
{
	burn(ms);
	KEEP_FRAME();
}

/* A nop makes the code differ from inside(), because the compiler would merge equal functions. */
BOX static void outside(void)
{
	burn(ms / 3);
	__asm__ volatile("nop");
}

static void say(const char *name, long value)
{
	printf("%s %ld\n", name, value);
	fflush(stdout);
}

static void say_last(void)
{
	struct flameprof_scope_report last;
	int error = flameprof_scope_last(&last);

	say("last", error);
	if (error)
		return;
	say("error", last.error);
	say("left", (long)last.left);
	say("weight", (long)last.weight);
	say("elapsed_us", (long)(last.elapsed_ns / 1000));
}

#define SCOPE() FLAMEPROF_SCOPE_AS(scope, picture, .rate = fast.rate, .title = "ways out")

BOX static int returns(void)
{
	SCOPE();
	inside();
	errno = ENOTTY;
	return flameprof_scope_status(&scope);
}

BOX static void breaks(void)
{
	for (;;) {
		SCOPE();
		inside();
		break;
	}
	say_last();
	outside();
}

BOX static void continues(void)
{
	for (int i = 0; i < 2; i++) {
		SCOPE();
		inside();
		if (!i)
			continue;
	}
}

BOX static void goes_to(void)
{
	{
		SCOPE();
		inside();
		goto out;
	}
out:
	outside();
}

BOX static void ends_early(void)
{
	SCOPE();
	inside();
	say("end", flameprof_scope_end(&scope));
	outside();
	say("again", flameprof_scope_end(&scope));
}

BOX static void nests(void)
{
	SCOPE();
	{
		FLAMEPROF_SCOPE_AS(inner, "inner.folded");
		say("inner", flameprof_scope_status(&inner));
		inside();
	}
	say("outer", flameprof_scope_status(&scope));
	say("start", flameprof_start(NULL));
}

static void *holds(void *argument)
{
	SCOPE();
	(void)argument;
	inside();
	pthread_exit(NULL);
}

static void *begins_too(void *argument)
{
	SCOPE();
	*(int *)argument = flameprof_scope_status(&scope);
	return NULL;
}

static void runs(void *(*start)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, argument) || pthread_join(thread, NULL))
		abort();
}

BOX static void is_joined_by_a_thread(void)
{
	int other = 1;
	SCOPE();
	runs(begins_too, &other);
	say("other", other);
	inside();
}

static void *waits_for_cancelling(void *argument)
{
	SCOPE();
	inside();
	pthread_barrier_wait(argument);
	pause();
	return NULL;
}

static void is_cancelled(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, waits_for_cancelling, &barrier))
		abort();
	pthread_barrier_wait(&barrier);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

BOX static void exits(void)
{
	SCOPE();
	inside();
	exit(7);
}

static void *exits_there(void *argument)
{
	(void)argument;
	exit(7);
}

BOX static void is_exited_by_a_thread(void)
{
	SCOPE();
	inside();
	runs(exits_there, NULL);
}

static int has_worked;

static void *ends_there(void *argument)
{
	SCOPE();
	inside();
	__atomic_store_n(&has_worked, 1, __ATOMIC_RELEASE);
	return argument;
}

/*
 * Exit while the other thread writes the picture: its scope has stopped, but the picture is not
 * complete.
 */
static void is_exited_while_drawing(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, ends_there, NULL))
		abort();
	/* Do not wait for the status "running", which may be over before this thread gets a CPU. */
	while (!__atomic_load_n(&has_worked, __ATOMIC_ACQUIRE))
		usleep(3000);
	while (flameprof_status() != FLAMEPROF_STOPPED)
		usleep(300);
	say("early", access(picture, F_OK) != 0);
	exit(7);
}

BOX static void exits_at_once(void)
{
	SCOPE();
	inside();
	_exit(7);
}

BOX static void jumps(void)
{
	SCOPE();
	inside();
	longjmp(far_away, 1);
}

static void is_jumped_over(void)
{
	if (!setjmp(far_away))
		jumps();
}

static void *is_jumped_over_there(void *argument)
{
	(void)argument;
	is_jumped_over();
	return NULL;
}

/* longjmp() leaves the scope, and then the same scope begins again. */
BOX static void jumps_back(void)
{
	volatile int turns = 0;
	jmp_buf back;

	setjmp(back);
	if (turns < 2) {
		SCOPE();
		inside();
		if (!turns++)
			longjmp(back, 1);
		say_last();
	}
}

/*
 * A start in a callee does not end the scope of its caller, wherever the two scopes are on the
 * stack.
 */
BOX static void calls_deeper(void)
{
	SCOPE();
	inside();
	say("deeper", flameprof_start(NULL));
	say("scope", flameprof_scope_status(&scope));
}

BOX static void is_forked(void)
{
	SCOPE();
	pid_t child = fork();

	if (!child) {
		say("child", flameprof_scope_status(&scope));
		say("child_end", flameprof_scope_end(&scope));
		FLAMEPROF_SCOPE_AS(own, "child.folded", .rate = fast.rate);
		inside();
		exit(flameprof_scope_end(&own) ? 1 : 0);
	}
	waitpid(child, NULL, 0);
	inside();
}

BOX static void is_stopped_by_the_program(void)
{
	SCOPE();
	inside();
	say("stop", flameprof_stop(NULL, -1));
	say("end", flameprof_scope_end(&scope));
}

BOX static void changes_folder(void)
{
	SCOPE();
	inside();
	if (chdir("/"))
		abort();
}

static void leave(const char *way)
{
	if (!strcmp(way, "return")) {
		say("status", returns());
		say("errno", errno == ENOTTY);
	} else if (!strcmp(way, "jump-start")) {
		is_jumped_over();
		say("start", flameprof_start(&fast));
		outside();
		say("stop", flameprof_stop(NULL, -1));
	} else if (!strcmp(way, "jump-scope")) {
		is_jumped_over();
		FLAMEPROF_SCOPE_AS(next, "next.folded");
		say("next", flameprof_scope_status(&next));
	} else if (!strcmp(way, "jump-stop")) {
		is_jumped_over();
		say("stop", flameprof_stop(NULL, -1));
	} else if (!strcmp(way, "jump-flush")) {
		struct flameprof_profile *profile = NULL;

		is_jumped_over();
		say("flush", flameprof_flush(&profile, -1));
	} else if (!strcmp(way, "jump-exit")) {
		is_jumped_over();
		exit(7);
	} else if (!strcmp(way, "jump-thread")) {
		runs(is_jumped_over_there, NULL);
	} else if (!strcmp(way, "thread")) {
		runs(holds, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*leave)(void);
	} ways[] = {
		{"break", breaks}, {"continue", continues}, {"goto", goes_to}, {"end", ends_early},
		{"nested", nests}, {"concurrent", is_joined_by_a_thread}, {"cancel", is_cancelled},
		{"exit", exits}, {"exit-thread", is_exited_by_a_thread},
		{"exit-drawing", is_exited_while_drawing}, {"_exit", exits_at_once},
		{"jump-back", jumps_back}, {"deeper", calls_deeper}, {"fork", is_forked},
		{"stopped", is_stopped_by_the_program}, {"folder", changes_folder},
	};
	const char *way = argc > 1 ? argv[1] : "return";

	ms = argument(argc, argv, 2, ms);
	snprintf(picture, sizeof(picture), "%s.folded", way);
	outside();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(way, ways[i].name))
			ways[i].leave();
	leave(way);
	outside();
	say_last();
	return 0;
}
