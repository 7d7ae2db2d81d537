/* SPDX-License-Identifier: MIT */
/*
 * flamerun's end of the tracing process: starting it, commands, records into the profile.
 */
#include "cli/outside/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/outside/intake.h"
#include "cli/outside/tracer.h"
#include "cli/profile/profile.h"

#define PIPE_BYTES (1 << 20) /* as much as an unprivileged process may ask for */
#define READ_BYTES 65536u

struct outside {
	pid_t tracer;
	int commands, records;
	bool has_ended; /* the records have */
	char *partial;	/* of a record that has not arrived whole */
	size_t partial_bytes, partial_room;
	struct outside_intake intake;
};

uint32_t outside_rate_hz(const struct options *options)
{
	const struct options_row *row = options_find("rate", strlen("rate"));

	return options_origin(options, row)->rank == OPTIONS_BUILT_IN ? OUTSIDE_RATE_HZ
								      : options->rate_hz;
}

/* In the child: only the descriptors it needs, no signal that was meant for flamerun. */
static void become_tracer(const struct outside_config *config, int commands, int records)
{
	const struct tracer_config tracer = {.rate_hz = config->rate_hz,
		.wall = config->wall,
		.follow = config->follow,
		.commands = commands,
		.records = records};
	int status;

	fcntl(records, F_SETFL, O_NONBLOCK);
	status = tracer_main(&tracer);
	_exit(status);
}

static int start_tracer(struct outside *outside, const struct outside_config *config)
{
	int commands[2], records[2], error = 0;
	pid_t parent = getpid();
	sigset_t all, mask;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, commands))
		return -errno;
	if (pipe2(records, O_CLOEXEC)) {
		error = -errno;
		goto out;
	}
	fcntl(records[1], F_SETPIPE_SZ, PIPE_BYTES);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	outside->tracer = fork();
	if (!outside->tracer) {
		/* SIGKILL, which lets the targets go, also when flamerun is killed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* With its own copy of our ends it would never see that we have gone. */
		close(commands[0]);
		close(records[0]);
		if (getppid() == parent)
			become_tracer(config, commands[1], records[1]);
		_exit(EXIT_FAILURE);
	}
	if (outside->tracer < 0)
		error = -errno;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(records[1]);
	outside->records = records[0];
	fcntl(records[0], F_SETFL, O_NONBLOCK);
out:
	close(commands[1]);
	outside->commands = commands[0];
	return error;
}

int outside_open(
	struct outside **out, const struct outside_config *config, struct diag_message *message)
{
	struct outside *outside = calloc(1, sizeof(*outside));
	int error = -ENOMEM;

	if (!outside)
		return diag_fail(message, -ENOMEM, "out of memory");
	outside->commands = outside->records = -1;
	outside->tracer = -1;
	outside->intake.profile = profile_new(config->rate_hz);
	if (outside->intake.profile)
		error = start_tracer(outside, config);
	if (error) {
		outside_free(outside);
		return diag_fail(message, error, "cannot start sampling: %s", strerror(-error));
	}
	*out = outside;
	return 0;
}

static void end_tracer(struct outside *outside)
{
	if (outside->tracer <= 0)
		return;
	kill(outside->tracer, SIGKILL);
	while (waitpid(outside->tracer, NULL, 0) < 0 && errno == EINTR)
		;
	outside->tracer = -1;
}

void outside_free(struct outside *outside)
{
	if (!outside)
		return;
	end_tracer(outside);
	if (outside->commands >= 0)
		close(outside->commands);
	if (outside->records >= 0)
		close(outside->records);
	outside_intake_release(&outside->intake);
	profile_free(outside->intake.profile);
	free(outside->partial);
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

int outside_descriptor(const struct outside *outside)
{
	return outside->has_ended ? -1 : outside->records;
}

/* Hand on the whole records at the front of what has arrived. */
static void take_records(struct outside *outside)
{
	size_t at = 0;

	while (outside->partial_bytes - at >= sizeof(struct record)) {
		struct record record;

		memcpy(&record, outside->partial + at, sizeof(record));
		if (record.bytes > outside->partial_bytes - at)
			break;
		outside_intake_take(&outside->intake, outside->partial + at);
		at += record.bytes;
	}
	memmove(outside->partial, outside->partial + at, outside->partial_bytes - at);
	outside->partial_bytes -= at;
}

int outside_step(struct outside *outside)
{
	while (!outside->has_ended) {
		ssize_t got;

		if (outside->partial_room - outside->partial_bytes < READ_BYTES) {
			size_t room = outside->partial_room + 2 * READ_BYTES;
			char *more = realloc(outside->partial, room);

			if (!more)
				return -ENOMEM;
			outside->partial = more;
			outside->partial_room = room;
		}
		got = read(outside->records, outside->partial + outside->partial_bytes, READ_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break; /* nothing more in it */
		outside->has_ended = got == 0;
		outside->partial_bytes += (size_t)got;
		take_records(outside);
	}
	return profile_error(outside->intake.profile);
}

unsigned outside_live(const struct outside *outside)
{
	return outside->has_ended ? 0 : outside->intake.live;
}

bool outside_connected(const struct outside *outside)
{
	return outside->intake.images_met != 0;
}

int outside_finish(struct outside *outside)
{
	const struct command command = {.kind = COMMAND_FINISH};
	int error = 0;

	send(outside->commands, &command, sizeof(command), MSG_NOSIGNAL);
	while (!outside->has_ended && !error) {
		struct pollfd records = {.fd = outside->records, .events = POLLIN};

		poll(&records, 1, -1);
		error = outside_step(outside);
	}
	outside_intake_finish(&outside->intake);
	end_tracer(outside);
	return error ? error : profile_error(outside->intake.profile);
}

struct profile *outside_profile(struct outside *outside)
{
	return outside->intake.profile;
}

void outside_cost(const struct outside *outside, struct outside_cost *cost)
{
	cost->stops = outside->intake.totals.stops;
	cost->held_ns = outside->intake.totals.held_ns;
	cost->fallbacks = outside->intake.totals.fallbacks;
}
