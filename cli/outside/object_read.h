/* SPDX-License-Identifier: MIT */
/*
 * Filling in an object from where its bytes are.
 */
#ifndef CLI_OUTSIDE_OBJECT_READ_H
#define CLI_OUTSIDE_OBJECT_READ_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/outside/object.h"

struct object_source {
	int descriptor; /* of the file, borrowed; or -1: */
	pid_t pid;
	uintptr_t base; /* where the file's first byte is mapped */
	uintptr_t bias; /* filled in once the headers are known */
};

/*
 * Fill the segments, the build-id and the call-frame information of @object (zeroed) from @source.
 * Returns 0; -ENOEXEC when it is no ELF file of ours; -EBADMSG when it is broken; -EFAULT; or
 * -ENOMEM. What is filled in then is to be freed all the same.
 */
int object_read(struct object *object, struct object_source *source);

#endif
