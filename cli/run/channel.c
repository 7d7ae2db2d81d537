/* SPDX-License-Identifier: MIT */
/*
 * The arena is sealed against shrinking before anybody else sees it: a target could otherwise
 * truncate it and have the reader killed by SIGBUS.
 */
#include "cli/run/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* As much as an unprivileged process may ask for; less is fine, helpers wait. */
#define PIPE_BYTES (1 << 20)

/* The lowest descriptors are the target's business. */
#define DESCRIPTOR_FLOOR 3

static int above_stdio(int fd)
{
	int moved;

	if (fd < 0 || fd >= DESCRIPTOR_FLOOR)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
	close(fd);
	return moved;
}

static int make_arena(struct channel *channel)
{
	int fd = above_stdio(memfd_create("flamerun", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0)
		return -errno;
	channel->arena_descriptor = fd;
	if (ftruncate(fd, WIRE_ARENA_BYTES) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	channel->arena = mmap(NULL, WIRE_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (channel->arena == MAP_FAILED) {
		channel->arena = NULL;
		return -errno;
	}
	return 0;
}

static int make_pipe(struct channel *channel)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	channel->pipe_read = above_stdio(ends[0]);
	channel->pipe_write = above_stdio(ends[1]);
	if (channel->pipe_read < 0 || channel->pipe_write < 0)
		return -errno;
	if (fcntl(channel->pipe_read, F_SETFL, O_NONBLOCK))
		return -errno;
	fcntl(channel->pipe_read, F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

static int fill_header(struct channel *channel, uint32_t rate_hz, uint32_t clock_hz)
{
	struct wire_arena *arena = channel->arena;
	struct stat status;

	if (fstat(channel->pipe_read, &status))
		return -errno;
	arena->pipe_device = status.st_dev;
	arena->pipe_inode = status.st_ino;
	if (getrandom(&arena->cookie, sizeof(arena->cookie), 0) != sizeof(arena->cookie))
		return -EIO;
	arena->rate_hz = rate_hz;
	arena->clock_hz = clock_hz;
	arena->version = WIRE_VERSION;
	arena->magic = WIRE_MAGIC;
	/* Targets reach both through our /proc entry: nothing of ours is in their table. */
	snprintf(channel->environment, sizeof(channel->environment), WIRE_ENV "=%d:%d:%d:%llx",
		(int)getpid(), channel->arena_descriptor, channel->pipe_read,
		(unsigned long long)arena->cookie);
	return 0;
}

int channel_init(
	struct channel *channel, uint32_t rate_hz, uint32_t clock_hz, struct diag_message *message)
{
	int error;

	*channel = (struct channel){.arena_descriptor = -1, .pipe_read = -1, .pipe_write = -1};
	error = make_arena(channel);
	if (!error)
		error = make_pipe(channel);
	if (!error)
		error = fill_header(channel, rate_hz, clock_hz);
	if (error) {
		channel_release(channel);
		diag_fail(message, error, "cannot set up the channel to the program: %s",
			strerror(-error));
		if (error == -EFBIG)
			diag_fail_hint(message,
				"the shell's limit on the size of files must be at least %u MiB: "
				"ulimit -f unlimited",
				(unsigned)(WIRE_ARENA_BYTES >> 20));
		return error;
	}
	return 0;
}

void channel_close_writer(struct channel *channel)
{
	if (channel->pipe_write >= 0)
		close(channel->pipe_write);
	channel->pipe_write = -1;
}

void channel_release(struct channel *channel)
{
	channel_close_writer(channel);
	if (channel->pipe_read >= 0)
		close(channel->pipe_read);
	if (channel->arena)
		munmap(channel->arena, WIRE_ARENA_BYTES);
	if (channel->arena_descriptor >= 0)
		close(channel->arena_descriptor);
	*channel = (struct channel){.arena_descriptor = -1, .pipe_read = -1, .pipe_write = -1};
}
