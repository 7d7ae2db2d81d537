/* SPDX-License-Identifier: MIT */
/*
 * The vDSO has no file: its symbols are read from the copy in our own address space, which is the
 * target's when the build-ids agree.
 */
#ifndef CLI_SYMBOLS_VDSO_H
#define CLI_SYMBOLS_VDSO_H

#include "cli/symbols/elfimage.h"

/*
 * Returns 0 and an image of a copy of our vDSO, to be closed by the caller; -ENOENT when we have
 * none; -ENOEXEC; or -ENOMEM.
 * Context: any thread.
 */
int vdso_open(struct elfimage *image);

#endif
