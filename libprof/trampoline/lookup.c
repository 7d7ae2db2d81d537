/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: flameprof_lookup() is for handlers, too. */
#include "libprof/flameprof_stub.h"
#include "libprof/trampoline/elsewhere.h"
#include "libprof/trampoline/region.h"

int flameprof_lookup(uintptr_t pc, struct flameprof_code_info *out)
{
	struct region_stub stub;
	int error;

	if (elsewhere.flameprof_lookup)
		return elsewhere.flameprof_lookup(pc, out);
	error = region_find_stub(pc, &stub);
	if (error)
		return error;
	*out = (struct flameprof_code_info){
		.start = stub.start,
		.bytes = stub.bytes,
		.kind = stub.kind,
		.payload = stub.payload,
		.name = stub.name,
	};
	return 0;
}
