/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* A tracee stops for a signal while a PTRACE_INTERRUPT is pending. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/outside/target.h"
#include "cli/outside/tracer.h"

#define TURN_US  1000
#define PATIENCE 30000 /* turns */

static void handle_stops_until_answered(struct tracer *tracer, const struct tracee *tracee)
{
	for (unsigned i = 0; i < PATIENCE && tracee->is_asked; i++) {
		tracer_handle_stops(tracer);
		usleep(TURN_US);
	}
	assert_false(tracee->is_asked);
}

/*
 * The kernel drops a PTRACE_INTERRUPT if the thread first stops for another reason. So any stop
 * counts as the answer to the request, and the next sample makes a new request.
 */
static void a_stop_for_a_signal_answers(void **state)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	struct tracee *tracee;
	pid_t child;

	(void)state;
	/*
	 * SIGURG is ignored by default but still reported to tracers. Set its action before the
	 * fork, because setting it in the child would discard a pending signal.
	 */
	signal(SIGURG, SIG_DFL);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (ptrace(PTRACE_SEIZE, child, NULL, NULL)) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		free(tracer);
		skip();
	}
	tracer->targets = target_new(child);
	assert_non_null(tracer->targets);
	tracer->targets->is_waiting = true;
	tracee = tracees_add(&tracer->tracees, child, tracer->targets);
	assert_non_null(tracee);
	tracee->is_asked = true;
	kill(child, SIGURG);
	handle_stops_until_answered(tracer, tracee);
	kill(child, SIGKILL);
	for (unsigned i = 0; i < PATIENCE && tracer->targets; i++) {
		tracer_handle_stops(tracer);
		usleep(TURN_US);
	}
	assert_null(tracer->targets); /* the child's end was handled */
	free(tracer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_for_a_signal_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
