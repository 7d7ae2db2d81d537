/* SPDX-License-Identifier: MIT */
/*
 * What ThreadSanitizer does not know of, in terms that it knows. Linked into what is checked by it.
 *
 * A mapping that moved lies where something else was before: the kernel's call says so to nobody,
 * and what threads did there is taken for a race with what is done now.
 */
#include <string.h>
#include <sys/mman.h>

void *mremap(void *at, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *moved = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)flags; /* the library's are MREMAP_MAYMOVE */
	if (moved == MAP_FAILED)
		return moved;
	memcpy(moved, at, old_bytes < bytes ? old_bytes : bytes);
	munmap(at, old_bytes);
	return moved;
}
