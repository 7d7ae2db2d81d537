/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the handler asks here for what is in no file. */
#include <errno.h>
#include <stddef.h>

#include "libprof/sampler/control.h"
#include "libprof/sampler/sampler.h"
#include "libprof/trampoline/lasting.h"
#include "libprof/trampoline/region.h"
#include "libprof/wire.h"

_Static_assert(sizeof(struct wire_code) + FLAMEPROF_NAME_BYTES + 8 <= WIRE_CONTROL_BYTES / 2,
	"a record with the longest name fits the control ring");

/*
 * Append the name to this image's control ring. When the ring is full the next sample tries again.
 * A name that changes while it is copied is that of another stub by now, and the stub that was
 * found is gone: the record stands for an address that no frame has then.
 */
static void announce(const struct region_stub *stub, uint64_t image)
{
	uint32_t name_bytes = lasting_text_bytes(stub->name);
	uint32_t room = ((uint32_t)sizeof(struct wire_code) + name_bytes + 7) & ~7u;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);
	struct wire_code *record =
		(struct wire_code *)control_reserve(sampler.slot, data, room);

	if (!record)
		return;
	record->space = stub->space;
	record->bytes = stub->bytes;
	record->start = stub->start;
	record->flags = stub->hides_target ? WIRE_CODE_HIDES_TARGET : 0;
	record->name_bytes = lasting_copy(stub->name, record->name, name_bytes);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&stub->slot->space, __ATOMIC_RELAXED) == stub->space)
		__atomic_store_n(&stub->slot->published, image, __ATOMIC_RELEASE);
	else
		record->space = region_space_new(stub->bytes);
	control_commit(&record->control, room, WIRE_CONTROL_CODE);
}

int region_resolve(uintptr_t pc, int announce_name, struct unwind_module *out)
{
	struct region_stub stub;
	int error = region_find_stub(pc, &stub);

	if (error)
		return error;
	*out = (struct unwind_module){
		.start = stub.start,
		.end = stub.start + stub.bytes,
		.bias = stub.start - stub.space,
		.eh_frame_hdr = stub.eh_frame_hdr,
		.number = WIRE_MODULE_CODE,
		.cfi_start = stub.cfi_start,
		.cfi_end = stub.cfi_end,
		.row_bias = stub.start - stub.row_space,
	};
	if (announce_name && sampler.arena &&
		__atomic_load_n(&stub.slot->published, __ATOMIC_ACQUIRE) != sampler.image)
		announce(&stub, sampler.image);
	return 0;
}
