/* SPDX-License-Identifier: MIT */
/*
 * Create the arena. It is sealed against shrinking before any other process sees it: otherwise a
 * program could truncate it, and flamerun's next read would kill flamerun by SIGBUS.
 */
#include "cli/gather/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libprof/procfs.h"

#define DESCRIPTOR_FLOOR 3
/*
 * An arena with fewer blocks is useless. If RLIMIT_AS leaves room only for fewer, none is created.
 */
#define CHANNEL_BLOCKS_MIN 64

int channel_above_stdio(int fd)
{
	int moved;

	if (fd < 0 || fd >= DESCRIPTOR_FLOOR)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
	close(fd);
	return moved;
}

uint32_t channel_blocks(uint32_t rate_hz)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t blocks = wire_pool_blocks(cpus > 0 ? (uint32_t)cpus : 1, rate_hz);
	struct rlimit limit;
	uint64_t share;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return blocks;
	share = limit.rlim_cur / WIRE_ARENA_SHARE;
	if (share < wire_arena_bytes(CHANNEL_BLOCKS_MIN))
		return 0;
	while (wire_arena_bytes(blocks) > share)
		blocks--;
	return blocks;
}

static int make_arena(struct channel *channel)
{
	size_t bytes = wire_arena_bytes(channel->blocks);
	int fd = channel_above_stdio(memfd_create("flamerun", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0)
		return -errno;
	channel->arena_descriptor = fd;
	if (ftruncate(fd, (off_t)bytes) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	channel->arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (channel->arena == MAP_FAILED) {
		channel->arena = NULL;
		return -errno;
	}
	return 0;
}

static int fill_header(struct channel *channel, const struct channel_config *config)
{
	struct wire_arena *arena = channel->arena;

	if (getrandom(&arena->cookie, sizeof(arena->cookie), 0) != sizeof(arena->cookie))
		return -EIO;
	arena->cookie &= ~WIRE_COOKIE_BITS;
	arena->cookie |= config->test_clock_hz ? WIRE_COOKIE_ELAPSED : 0;
	arena->cookie |= config->has_events ? WIRE_COOKIE_EVENTS : 0;
	arena->cookie |= config->has_kernel ? WIRE_COOKIE_KERNEL : 0;
	arena->rate_hz = config->rate_hz;
	arena->clock_hz = config->test_clock_hz;
	arena->signal = (uint32_t)config->signal;
	arena->blocks = channel->blocks;
	arena->filters = procfs_filters((uint32_t)getpid());
	arena->version = WIRE_VERSION;
	arena->magic = WIRE_MAGIC;
	/* Programs find the arena by this path in /proc, so they inherit no descriptor. */
	snprintf(channel->environment, sizeof(channel->environment), WIRE_ENV "=%d:%d:%llx",
		(int)getpid(), channel->arena_descriptor, (unsigned long long)arena->cookie);
	return 0;
}

int channel_init(struct channel *channel, const struct channel_config *config,
	struct diag_message *message)
{
	int error;

	*channel = (struct channel){
		.arena_descriptor = -1,
		.blocks = channel_blocks(
			config->test_clock_hz ? config->test_clock_hz : config->rate_hz),
	};
	error = make_arena(channel);
	if (!error)
		error = fill_header(channel, config);
	if (error) {
		diag_fail(message, error, "cannot set up the channel to the program: %s",
			strerror(-error));
		if (error == -EFBIG)
			diag_fail_hint(message,
				"the shell's limit on the size of files must be at least %u MiB: "
				"ulimit -f unlimited",
				(unsigned)(wire_arena_bytes(channel->blocks) >> 20) + 1);
		channel_release(channel);
	}
	return error;
}

void channel_release(struct channel *channel)
{
	if (channel->arena)
		munmap(channel->arena, wire_arena_bytes(channel->blocks));
	if (channel->arena_descriptor >= 0)
		close(channel->arena_descriptor);
	*channel = (struct channel){.arena_descriptor = -1};
}
