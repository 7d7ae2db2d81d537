/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on the bytes it is given. */
/*
 * Decode function epilogues of x86_64: those of compilers; CPython's trampolines
 * (Python/asm_trampoline.S) from their first instruction on,
 *
 *	f3 0f 1e fa		endbr64			if the C compiler emits it
 *	48 83 ec 08		sub    $8,%rsp
 *	ff d1			call   *%rcx
 *	48 83 c4 08		add    $8,%rsp
 *	c3			ret
 *
 * and the JVM's safepoint check before a return:
 *
 *	49 3b a7 xx xx xx xx	cmp    x(%r15),%rsp	or 49 3b 67 xx
 *	0f 87 xx xx xx xx	ja     x
 *
 * `leave` and `mov %rbp,%rsp` are not decoded, because a step through the frame pointer finds the
 * same caller.
 * Source of the encodings: Intel SDM volume 2.
 */
#ifndef ARCH_X86_64_EPILOGUE_H
#define ARCH_X86_64_EPILOGUE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"

#define ARCH_CODE_BEFORE 1u

struct arch_scan {
	const struct arch_code *code;
	unsigned at;
	int64_t sp; /* offset from the stack pointer at the pc */
	/* offset on the stack from which the caller's fp was popped; -1: not popped */
	int64_t fp;
	bool others;
};

/* Are the next @count bytes equal to @wanted, whose lowest byte comes first? */
static inline bool arch_next_is(const struct arch_scan *out, uint32_t wanted, unsigned count)
{
	if (out->code->end - out->at < count)
		return false;
	for (unsigned i = 0; i < count; i++, wanted >>= 8)
		if (out->code->bytes[out->at + i] != (wanted & 0xff))
			return false;
	return true;
}

/* Return the signed number of @bytes (1 or 4) bytes, @offset bytes ahead; 0 if it is cut off. */
static inline int32_t arch_next_number(const struct arch_scan *out, unsigned offset, unsigned bytes)
{
	const uint8_t *from = out->code->bytes + out->at + offset;

	if (out->code->end - out->at < offset + bytes)
		return 0;
	if (bytes == 1)
		return (int8_t)from[0];
	return (int32_t)((uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
			 (uint32_t)from[3] << 24);
}

/* A pattern of one or two instructions: their first bytes, how many, and their total size. */
struct arch_skipped {
	uint32_t opcode;
	uint8_t opcode_bytes, bytes;
};

static inline bool arch_skip_one_of(
	struct arch_scan *out, const struct arch_skipped *known, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!arch_next_is(out, known[i].opcode, known[i].opcode_bytes) ||
			out->code->end - out->at < known[i].bytes)
			continue;
		out->at += known[i].bytes;
		return true;
	}
	return false;
}

/* Skip an instruction that changes neither stack pointer nor frame pointer. */
static inline bool arch_skip_plain(struct arch_scan *out)
{
	static const struct arch_skipped plain[] = {
		{0x77f8c5, 3, 3},   /* vzeroupper */
		{0x673b49, 3, 4},   /* cmp x(%r15),%rsp */
		{0xa73b49, 3, 7},   /* cmp x(%r15),%rsp, with a long x */
		{0x870f, 2, 6},	    /* ja */
		{0xfa1e0ff3, 4, 4}, /* endbr64 */
		/* cmp $x,%rcx: compares the number of arguments that V8 pops */
		{0xf98348, 3, 4},
		{0x037f, 2, 2},	    /* jg, over the ret that follows */
	};

	return arch_skip_one_of(out, plain, sizeof(plain) / sizeof(*plain));
}

/* Skip V8's check at a function's entry whether the function's code is still valid. */
static inline bool arch_skip_validity_check(struct arch_scan *out)
{
	static const struct arch_skipped check[] = {
		{0x598b48, 3, 4}, /* mov -x(%rcx),%rbx */
		{0x43f6, 2, 4},	  /* testb $x,x(%rbx) */
		{0x850f, 2, 6},	  /* jne */
		{0xe90574, 3, 7}, /* je over the next; jmp */
	};

	return arch_skip_one_of(out, check, sizeof(check) / sizeof(*check));
}

/* Skip `add $x,%rsp`. Also skip `sub $x,%rsp` if the pc may be at the function's begin. */
static inline bool arch_skip_adjustment(struct arch_scan *out)
{
	bool is_add = arch_next_is(out, 0xc48348, 3);
	bool is_long = arch_next_is(out, 0xc48148, 3);
	bool is_sub = out->code->exact && arch_next_is(out, 0xec8348, 3);
	int32_t bytes = arch_next_number(out, 3, is_long ? 4 : 1);

	if (!(is_add || is_long || is_sub) || bytes <= 0)
		return false;
	out->sp += is_sub ? -bytes : bytes;
	out->at += is_long ? 7 : 4;
	return true;
}

/* Skip a call through a register if the pc is before the call, not its return address. */
static inline bool arch_skip_call(struct arch_scan *out)
{
	unsigned rex = arch_next_is(out, 0x41, 1);
	const uint8_t *next = out->code->bytes + out->at + rex;

	if (!out->code->exact || out->code->end - out->at < rex + 2 || next[0] != 0xff ||
		(next[1] & 0xf8) != 0xd0)
		return false;
	out->at += rex + 2;
	return true;
}

static inline bool arch_skip_pop(struct arch_scan *out)
{
	unsigned rex = arch_next_is(out, 0x41, 1);
	uint8_t opcode;

	if (out->code->end - out->at < rex + 1)
		return false;
	opcode = out->code->bytes[out->at + rex];
	/* Reject a pop of rsp, and a pop of a word that was only pushed after the pc. */
	if ((opcode & 0xf8) != 0x58 || (!rex && opcode == 0x5c) || out->sp < 0)
		return false;
	if (!rex && opcode == 0x5d)
		out->fp = out->sp;
	else
		out->others = true;
	out->sp += 8;
	out->at += rex + 1;
	return true;
}

/*
 * Is the pc at a function's entry, before the function has changed rbp?
 *
 *	55		push   %rbp
 *	48 89 e5	mov    %rsp,%rbp	or 48 8b ec
 */
static inline bool arch_at_entry(struct arch_scan *out)
{
	bool pushed = !arch_next_is(out, 0x55, 1);

	if (pushed && (!out->at || out->code->bytes[out->at - 1] != 0x55))
		return false;
	out->at += !pushed;

	bool is_entry = arch_next_is(out, 0xe58948, 3) || arch_next_is(out, 0xec8b48, 3);

	out->at -= !pushed;
	if (!is_entry)
		return false;
	out->fp = pushed ? 0 : -1;
	out->sp = pushed ? 8 : 0;
	return true;
}

/*
 * Is the pc in the code to which the outermost function of a coroutine returns? Coroutines are
 * those of boost's make_fcontext() and of PHP's copy of it; the pc is the return address of this
 * call:
 *
 *	f3 0f 1e fa		endbr64			since PHP 8.4
 *	48 31 ff		xor    %rdi,%rdi	or 31 ff
 *	e8 xx xx xx xx		call   _exit
 *	f4			hlt			never executed
 */
static inline bool arch_is_outermost(const struct arch_code *code)
{
	struct arch_scan out = {.code = code, .at = code->at};

	if (code->exact)
		return false;
	if (arch_next_is(&out, 0xfa1e0ff3, 4))
		out.at += 4;
	out.at += arch_next_is(&out, 0x48, 1);
	if (!arch_next_is(&out, 0xff31, 2))
		return false;
	out.at += 2;
	if (!arch_next_is(&out, 0xe8, 1))
		return false;
	out.at += 5;
	return out.at < code->end && arch_next_is(&out, 0xf4, 1);
}

static inline int arch_find_epilogue(const struct arch_code *code, struct arch_epilogue *epilogue)
{
	struct arch_scan out = {.code = code, .at = code->at, .fp = -1};
	/* bytes of arguments that the return pops */
	uint32_t arguments = 0;

	while (arch_skip_plain(&out) || arch_skip_pop(&out) || arch_skip_adjustment(&out) ||
		arch_skip_call(&out))
		;
	if (arch_next_is(&out, 0xc3, 1) || arch_next_is(&out, 0xc3f3, 2)) {
		arguments = 0;
	} else if (arch_next_is(&out, 0xc2, 1) && code->end - out.at >= 3) {
		arguments = code->bytes[out.at + 1] | (uint32_t)code->bytes[out.at + 2] << 8;
	} else {
		out = (struct arch_scan){.code = code, .at = code->at, .fp = -1};
		if (!code->exact)
			return -ENOENT;
		while (arch_skip_plain(&out) || arch_skip_validity_check(&out))
			;
		if (!arch_at_entry(&out))
			return -ENOENT;
	}
	if (out.sp < 0 || out.sp > INT32_MAX)
		return -ENOENT;
	epilogue->ra = 8 + arguments;
	epilogue->cfa = (uint32_t)out.sp + epilogue->ra;
	epilogue->fp = out.fp < 0 ? 0 : epilogue->cfa - (uint32_t)out.fp;
	epilogue->others = out.others;
	return 0;
}

#endif
