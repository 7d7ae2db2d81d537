/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information as other tools want it: that of a region written anew, with pointers they
 * can follow and nothing but what unwinding needs.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_CFI_H
#define LIBPROF_TRAMPOLINE_PUBLISH_CFI_H

#include "libprof/trampoline/publish_bytes.h"
#include "libprof/trampoline/region.h"

struct cfi_fde;

/*
 * Append CIEs and FDEs of @region that say something of [@lo, @hi), without an end mark.
 * Personalities and language-specific data are left out.
 *
 * @address  0: first pcs become absolute addresses of eight bytes; else where the byte that is
 *           appended next will lie: they become distances of four
 *
 * Returns 0, -ENOENT when there are none, -ERANGE for a distance of more than four bytes, -EBADMSG
 * or -ENOTSUP for information that is not understood, -ENOMEM. Appended bytes are of no use after
 * an error.
 */
int publish_cfi_write(struct publish_bytes *out, const struct region *region, uintptr_t lo,
	uintptr_t hi, uintptr_t address);

/*
 * Call @visit for each FDE of @region, in the order of the section, until it returns other than 0.
 * Returns that, 0 at the end, -EBADMSG or -ENOTSUP. Context: any.
 */
int publish_cfi_each(const struct region *region,
	int (*visit)(void *context, const struct cfi_fde *fde), void *context);

#endif
