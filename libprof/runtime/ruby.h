/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * What the reader of Ruby's stacks and that of its code share: structures of 3.1, from its sources
 * (vm_core.h, method.h).
 */
#ifndef LIBPROF_RUNTIME_RUBY_H
#define LIBPROF_RUNTIME_RUBY_H

#include "libprof/runtime/runtime.h"

#define RUBY_WORD sizeof(uintptr_t)

/* rb_control_frame_t. */
struct ruby_frame {
	uintptr_t instruction, top, code, object, environment, block, base, jit_return;
};

/* From its environment: two words before the address, and that one. */
struct ruby_environment {
	uintptr_t method, outer, flags;
};
_Static_assert(sizeof(struct ruby_frame) == 64, "as Ruby 3.1 has it");
#define RUBY_KIND   0x7fff0001u /* of environment.flags */
#define RUBY_KIND_C 0x55550001u

/* rb_iseq_t's body, of which these are looked at. */
#define RUBY_CODE_BODY 16u
struct ruby_body {
	uint32_t kind, instructions_count;
	uintptr_t instructions, unused[6];
	uintptr_t path, base_label, label, first_line, unused2[3];
	uintptr_t lines, positions, lines_count, index;
};
_Static_assert(offsetof(struct ruby_body, path) == 64 && offsetof(struct ruby_body, lines) == 120,
	"as Ruby 3.1 has it");

/* rb_method_entry_t and its definition. */
struct ruby_method {
	uintptr_t flags, class, definition, called, owner;
};
#define RUBY_DEFINITION_KIND  15u
#define RUBY_DEFINITION_BLOCK 4u /* define_method */
#define RUBY_DEFINITION_NAME  32u

/* Objects that only the interpreter knows: their flags. */
#define RUBY_INTERNAL	   0xf01fu
#define RUBY_INTERNAL_CODE 0x701au

/* In a frame's name: it is that of the control frame there. */
#define RUBY_OF_FRAME 1u

/* Not one of the values that are none's address, as nil is. */
static inline int ruby_is_object(uintptr_t address)
{
	return address >= 4096 && address % RUBY_WORD == 0;
}

/* The control frame at @at and its environment. Returns 0 or -EFAULT. */
int ruby_load_frame(struct runtime_reader *reader, uintptr_t at, struct ruby_frame *frame,
	struct ruby_environment *environment);

/* The method that the frame belongs to. Returns 1 and it, or 0: it is none's. */
int ruby_find_method(struct runtime_reader *reader, const struct ruby_environment *environment,
	struct ruby_method *out);

/* As runtime_kind.line and runtime_kind.text. */
uint32_t ruby_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t ruby_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
