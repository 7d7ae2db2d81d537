/* SPDX-License-Identifier: MIT */
/* Start and end the tracing process, and send it commands. */
#include "cli/outside/outside.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/outside/tracer.h"

struct outside {
	pid_t tracer;
	int commands;
};

/* Run the tracer in the forked child. */
static void become_tracer(const struct outside_config *config, int commands)
{
	const struct tracer_config tracer = {.rate_hz = config->rate_hz,
		.waits = config->waits,
		.wait_details = config->wait_details,
		.follow = config->follow,
		.arena = config->arena,
		.arena_descriptor = config->arena_descriptor,
		.commands = commands,
		.pipe = config->pipe};

	_exit(tracer_main(&tracer));
}

static int start_tracer(struct outside *outside, const struct outside_config *config)
{
	int commands[2], error = 0;
	sigset_t all, mask;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, commands))
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	outside->tracer = fork();
	if (!outside->tracer) {
		/*
		 * Give the tracer a process group of its own, so that a signal to flamerun's group
		 * does not kill it: the tracer could be in the middle of a system call that a
		 * target executes for it. The tracer ends when flamerun's end of the socket is
		 * closed, which also happens when flamerun is killed.
		 */
		close(commands[0]);
		setpgid(0, 0);
		become_tracer(config, commands[1]);
	}
	if (outside->tracer < 0)
		error = -errno;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(commands[1]);
	outside->commands = commands[0];
	return error;
}

int outside_open(
	struct outside **out, const struct outside_config *config, struct diag_message *message)
{
	struct outside *outside = calloc(1, sizeof(*outside));
	int error;

	if (!outside)
		return diag_fail(message, -ENOMEM, "out of memory");
	outside->commands = -1;
	outside->tracer = -1;
	error = start_tracer(outside, config);
	if (error) {
		outside_free(outside);
		return diag_fail(message, error, "cannot start sampling: %s", strerror(-error));
	}
	*out = outside;
	return 0;
}

/* End the tracer by closing its command socket, and wait for it. */
static void end_tracer(struct outside *outside)
{
	if (outside->commands >= 0)
		close(outside->commands);
	while (outside->tracer > 0 && waitpid(outside->tracer, NULL, 0) < 0 && errno == EINTR)
		;
}

void outside_free(struct outside *outside)
{
	if (!outside)
		return;
	end_tracer(outside);
	free(outside);
}

pid_t outside_tracer(const struct outside *outside)
{
	return outside->tracer;
}

int outside_attach(
	struct outside *outside, pid_t pid, bool from_exec, struct diag_message *message)
{
	const struct command command = {
		.kind = from_exec ? COMMAND_AWAIT : COMMAND_ATTACH, .pid = pid};
	struct command_answer answer;
	ssize_t got;

	if (send(outside->commands, &command, sizeof(command), MSG_NOSIGNAL) < 0)
		return diag_fail(message, -errno, "cannot sample: %s", strerror(errno));
	do {
		got = recv(outside->commands, &answer, sizeof(answer), 0);
	} while (got < 0 && errno == EINTR);
	if (got != sizeof(answer))
		return diag_fail(message, -ESRCH, "cannot sample: the sampling has ended");
	if (answer.error && message)
		*message = answer.message;
	return (int)answer.error;
}

bool outside_is_alive(const struct outside *outside)
{
	siginfo_t info = {0};

	return outside->tracer > 0 &&
	       !waitid(P_PID, (id_t)outside->tracer, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

void outside_finish(struct outside *outside)
{
	const struct command command = {.kind = COMMAND_FINISH};

	send(outside->commands, &command, sizeof(command), MSG_NOSIGNAL);
}
