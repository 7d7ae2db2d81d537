/* SPDX-License-Identifier: MIT */
/* Read any bytes as a jitdump. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/symbols/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct jitdump *dump;
	static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 1, 1ULL << 63, 0x7fffffffffffULL};
	bool is_shared;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (jitdump_read(&dump, fd))
		return 0;
	for (uint64_t address = 0; address < 4096; address++) {
		const char *name = jitdump_lookup(dump, address, address, &is_shared);

		if (name && (!name[0] || strlen(name) > JITDUMP_MAX_NAME_BYTES))
			abort();
	}
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++)
		jitdump_lookup(dump, far[i], JITDUMP_LAST, &is_shared);
	jitdump_free(dump);
	return 0;
}
