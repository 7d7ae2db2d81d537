/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Structures that perl.c, which reads stacks, and perl_names.c, which reads names, share. They are
 * the same in Perl 5.36, 5.40 and 5.42; perl.layout checks this.
 */
#ifndef LIBPROF_RUNTIME_PERL_H
#define LIBPROF_RUNTIME_PERL_H

#include "libprof/runtime/runtime.h"

/* Struct sv: the head of every value. */
struct perl_value {
	uintptr_t body;
	uint32_t references, flags;
	uintptr_t content;
};

/* struct xpvcv: the body of a function. */
struct perl_code {
	uint64_t before[4];
	uintptr_t package, start, root, name, file;
	uint64_t behind[2];
	uint32_t outside, flags;
	int32_t depth;
};
_Static_assert(offsetof(struct perl_code, name) == 56 && offsetof(struct perl_code, depth) == 96,
	"as Perl has them");
#define CODE_NATIVE  8u
#define CODE_NAMED   0x8000u /* a text, not a glob */
#define CODE_LEXICAL 0x10000u

#define GLOB_NAME      32u /* of a glob's body */
#define GLOB_PACKAGE   40u
#define GLOB_EFFECTIVE 56u /* of a glob's content */
#define PACKAGE_NAME   32u
/* Offset of the number of a package's names. The first of them is the package's own name. */
#define PACKAGE_NAMES  60u
#define PACKAGE_OOK    0x2000000u
#define TEXT_BYTES     4u
#define TEXT	       8u
#define TEXT_MAX       4096u

/* runtime_frame.name: a function's address + OF_CODE, a glob's + OF_GLOB, or another OF_…. */
#define OF_CODE	   1u
#define OF_GLOB	   2u
#define OF_MAIN	   8u
#define OF_EVAL	   16u
#define OF_REQUIRE 24u
#define OF_DO	   32u

/* Implements runtime_kind.text. With @keep_end, @address is that of a file's name. */
uint32_t perl_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end);

#endif
