/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Structures that the parts of the Ruby reader share: ruby.c reads stacks, ruby_code.c code, and
 * ruby_find.c finds Ruby. Each has the first fields of a structure of Ruby (vm_core.h, method.h),
 * which are the same in all supported releases. ruby.layout checks them.
 */
#ifndef LIBPROF_RUNTIME_RUBY_H
#define LIBPROF_RUNTIME_RUBY_H

#include "libprof/runtime/runtime.h"

#define RUBY_WORD sizeof(uintptr_t)

/* Offsets in bytes that differ between releases. ruby_layouts.inc has the values. */
struct ruby_layout {
	/* 100 times the major number, plus the minor number: 301 for 3.1. */
	uint32_t version;
	uint32_t vm_objspace;
	uint32_t ractor_threads;
	/* The thread that holds the ractor's lock. */
	uint32_t ractor_owner;
	uint32_t ractor_node;
	/* The pointer to the structure with self and tid; 0: both are in rb_thread_t. */
	uint32_t thread_native;
	uint32_t thread_self, thread_tid;
	uint32_t thread_context;
	uint32_t context_stack;
	uint32_t frame_bytes;
	uint32_t first_line_bytes; /* 8: a Fixnum, 4: an int */
	uint32_t body_lines;
	/* Offset of a short string's bytes. The length is before them or in the flags. */
	uint32_t string_bytes;
	/* Offsets in a class; 0: the class has a hidden variable instead. */
	uint32_t class_name, class_attached;
};

/* One layout for each release. runtime.offsets[0] is the index of the process's release. */
extern const struct ruby_layout ruby_layouts[];

static inline const struct ruby_layout *ruby_layout(const struct runtime *runtime)
{
	return &ruby_layouts[runtime->offsets[0]];
}

/* Indices in runtime.objects. */
#define RUBY_VM	  0 /* of the pointer to the vm */
/* Addresses of flags that an unsupported JIT compiler sets while it is on; 0: no such flag. */
#define RUBY_JIT  1
#define RUBY_JITS 2u

/* rb_control_frame_t. */
struct ruby_frame {
	uintptr_t instruction, top, code, object, environment, block;
	uintptr_t base, jit_return; /* 3.1 only, otherwise 0 */
};

/* Three words at a control frame's environment. ruby_frame.environment points to the third word. */
struct ruby_environment {
	uintptr_t method, outer, flags;
};
#define RUBY_KIND   0x7fff0001u /* of environment.flags */
#define RUBY_KIND_C 0x55550001u

/* The body of rb_iseq_t (a code object), and struct iseq_insn_info in it at layout.body_lines. */
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

/* rb_method_entry_t (a method), and fields of its definition. */
struct ruby_method {
	uintptr_t flags, class, definition, called, owner;
};
#define RUBY_DEFINITION_KIND  15u
#define RUBY_DEFINITION_BLOCK 4u /* define_method */
#define RUBY_DEFINITION_NAME  32u

/* Mask for the flags of internal objects, and the masked flags of a code object. */
#define RUBY_INTERNAL	   0xf01fu
#define RUBY_INTERNAL_CODE 0x701au

/* Bit in runtime_frame.name. If it is set, the other bits are the address of a control frame. */
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

/* Find the method of a control frame with @environment. Returns 1, or 0 if there is none. */
int ruby_find_method(struct runtime_reader *reader, const struct ruby_environment *environment,
	struct ruby_method *out);

/* Implement runtime_kind.line and runtime_kind.text. */
uint32_t ruby_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t ruby_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
