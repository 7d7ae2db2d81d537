/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Structures shared by the readers of Ruby's stacks (ruby.c) and code (ruby_code.c) and by
 * ruby_find.c: leading fields that are the same in all releases of struct ruby_layout, from Ruby's
 * sources (vm_core.h, method.h). ruby.layout checks them.
 */
#ifndef LIBPROF_RUNTIME_RUBY_H
#define LIBPROF_RUNTIME_RUBY_H

#include "libprof/runtime/runtime.h"

#define RUBY_WORD sizeof(uintptr_t)

/* Offsets that differ between releases, in bytes; from ruby_layouts.inc. */
struct ruby_layout {
	/* 100 times the major number, plus the minor number */
	uint32_t version;
	uint32_t vm_objspace;
	uint32_t ractor_threads;
	/* the thread that holds the ractor's lock */
	uint32_t ractor_owner;
	uint32_t ractor_node;
	/* of the pointer to that with self and tid; 0: in rb_thread_t */
	uint32_t thread_native;
	uint32_t thread_self, thread_tid;
	uint32_t thread_context;
	uint32_t context_stack;
	uint32_t frame_bytes;
	uint32_t first_line_bytes; /* 8: a Fixnum, 4: an int */
	uint32_t body_lines;
	/* of a short string; its length is before them or in the flags */
	uint32_t string_bytes;
	uint32_t class_name, class_attached; /* 0: they are hidden variables */
};

/* runtime.offsets[0] is the index of the process's release. */
extern const struct ruby_layout ruby_layouts[];

static inline const struct ruby_layout *ruby_layout(const struct runtime *runtime)
{
	return &ruby_layouts[runtime->offsets[0]];
}

/* Indices in runtime.objects. */
#define RUBY_VM	  0 /* address of the pointer to the vm */
/* addresses of flags that say that an unsupported compiler is on; 0: none */
#define RUBY_JIT  1
#define RUBY_JITS 2u

/* rb_control_frame_t. */
struct ruby_frame {
	uintptr_t instruction, top, code, object, environment, block;
	uintptr_t base, jit_return; /* 3.1 only; 0 in other releases */
};

/* Three words at the frame's environment; frame.environment points to the third. */
struct ruby_environment {
	uintptr_t method, outer, flags;
};
#define RUBY_KIND   0x7fff0001u /* of environment.flags */
#define RUBY_KIND_C 0x55550001u

/* Fields of rb_iseq_t's body, and struct iseq_insn_info at layout.body_lines. */
#define RUBY_CODE_BODY 16u
struct ruby_body {
	uint32_t kind, instructions_count;
	uintptr_t instructions, unused[6];
	uintptr_t path, base_label, label, first_line;
};
struct ruby_lines {
	uintptr_t lines, positions, count, index;
};
_Static_assert(offsetof(struct ruby_body, path) == 64, "as Ruby has it");

/* rb_method_entry_t and its definition. */
struct ruby_method {
	uintptr_t flags, class, definition, called, owner;
};
#define RUBY_DEFINITION_KIND  15u
#define RUBY_DEFINITION_BLOCK 4u /* define_method */
#define RUBY_DEFINITION_NAME  32u

/* Flags of internal objects, and those of a code object. */
#define RUBY_INTERNAL	   0xf01fu
#define RUBY_INTERNAL_CODE 0x701au

/* Bit in runtime_frame.name: the rest is the address of a control frame. */
#define RUBY_OF_FRAME 1u

/* Is @address an object's address, and not an immediate value such as nil? */
static inline int ruby_is_object(uintptr_t address)
{
	return address >= 4096 && address % RUBY_WORD == 0;
}

/* Implements runtime_kind.find. */
int ruby_find(struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* Read the control frame at @at and its environment. Returns 0 or -EFAULT. */
int ruby_load_frame(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t at,
	struct ruby_frame *frame, struct ruby_environment *environment);

/* Find the method that the frame belongs to. Returns 1, or 0 if it belongs to none. */
int ruby_find_method(struct runtime_reader *reader, const struct ruby_environment *environment,
	struct ruby_method *out);

/* Implement runtime_kind.line and runtime_kind.text. */
uint32_t ruby_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t ruby_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
