/* SPDX-License-Identifier: MIT */
#include "libprof/trampoline/executable.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arch/stub.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u /* linux 6.3: the sysctl vm.memfd_noexec wants it said */
#endif

static int replace(uintptr_t start, size_t bytes, int protection)
{
	void *memory = mmap((void *)start, bytes, protection,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return memory == MAP_FAILED ? -errno : 0;
}

/* Other errors than that of memory all say that it is not to be. */
static int refusal(int error)
{
	return error == ENOMEM ? -ENOMEM : -EACCES;
}

static int protect(uintptr_t start, size_t bytes)
{
	int extra = ARCH_STUB_PROT;

	if (extra && !mprotect((void *)start, bytes, PROT_READ | PROT_EXEC | extra))
		return 0;
	return mprotect((void *)start, bytes, PROT_READ | PROT_EXEC) ? refusal(errno) : 0;
}

static int open_memfd(size_t bytes)
{
	struct rlimit limit;

	/* A file that would pass the limit on its size is a SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < bytes) {
		errno = EFBIG;
		return -1;
	}

	int fd = memfd_create("flameprof-stubs", MFD_CLOEXEC | MFD_EXEC);

	return fd < 0 && errno == EINVAL ? memfd_create("flameprof-stubs", MFD_CLOEXEC) : fd;
}

static int make_of_file(uintptr_t start, size_t bytes,
	void (*write)(void *context, uint8_t *room), void *context)
{
	void *room = MAP_FAILED;
	int fd = open_memfd(bytes);
	int error = 0;

	if (fd < 0)
		return refusal(errno);
	/* All its blocks now: one that is missing later would be a SIGBUS. */
	error = posix_fallocate(fd, 0, (off_t)bytes);
	if (error) {
		error = error == ENOSPC ? -ENOMEM : refusal(error);
		goto out;
	}
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (room == MAP_FAILED) {
		error = refusal(errno);
		goto out;
	}
	write(context, room);
	if (mmap((void *)start, bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) ==
		MAP_FAILED)
		error = refusal(errno);
out:
	if (room != MAP_FAILED)
		munmap(room, bytes);
	close(fd);
	return error;
}

int executable_make(uintptr_t start, size_t bytes,
	void (*write)(void *context, uint8_t *room), void *context, int *of_file)
{
	int error = replace(start, bytes, PROT_READ | PROT_WRITE);

	if (error)
		return refusal(-error);
	write(context, (uint8_t *)start);
	error = protect(start, bytes);
	*of_file = 0;
	if (error == -EACCES) {
		error = make_of_file(start, bytes, write, context);
		*of_file = !error;
	}
	if (!error)
		__builtin___clear_cache((char *)start, (char *)start + bytes);
	return error;
}

void executable_drop(uintptr_t start, size_t bytes)
{
	if (replace(start, bytes, PROT_NONE))
		madvise((void *)start, bytes, MADV_DONTNEED);
}
