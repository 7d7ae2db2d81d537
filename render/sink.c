/* SPDX-License-Identifier: MIT */
/*
 * cairo knows "write error" only; what the stream said is kept beside.
 */
#include "render/sink.h"

#include <errno.h>

cairo_status_t sink_write(void *closure, const unsigned char *bytes, unsigned int length)
{
	struct sink *sink = closure;

	errno = 0;
	if (fwrite(bytes, 1, length, sink->out) == length)
		return CAIRO_STATUS_SUCCESS;
	if (!sink->error)
		sink->error = errno ? -errno : -EIO;
	return CAIRO_STATUS_WRITE_ERROR;
}
