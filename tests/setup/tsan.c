/* SPDX-License-Identifier: MIT */
/*
 * Replace mremap() in builds with ThreadSanitizer, which does not intercept mremap(). A mapping
 * that moves may get the address of an earlier mapping, and ThreadSanitizer would report races with
 * accesses to the earlier one. ThreadSanitizer does intercept mmap() and munmap().
 */
#include <string.h>
#include <sys/mman.h>

void *mremap(void *at, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *moved = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* ignored, because the library only uses MREMAP_MAYMOVE */
	(void)flags;
	if (moved == MAP_FAILED)
		return moved;
	memcpy(moved, at, old_bytes < bytes ? old_bytes : bytes);
	munmap(at, old_bytes);
	return moved;
}
