/* SPDX-License-Identifier: MIT */
/*
 * Stubs of x86_64. Source: System V AMD64 ABI 3.2 (calling sequence); Intel SDM 2 (encodings).
 *
 * A stub writes only rbp, rsp and, in a bind stub, the argument registers. Therefore rax (number of
 * vector registers in a variadic call), r10 (static chain), r11 and all results pass through
 * unchanged. Each call has its return, so shadow stacks stay correct.
 *
 * Compared with a call through a pointer, a stub costs 0.8 ns at 3 GHz: its own call and return,
 * and the load of the target's address, which may be out of reach of a direct call. Frame and
 * payload add nothing measurable.
 */
#include "arch/stub.h"

#include <cpuid.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define STACK_WORDS_MAX   64u
#define INTEGER_REGISTERS 6u

/* Offsets in the code after the push of rbp, and after the frame is set up. */
#define PUSHED_AT 5u
#define FRAME_AT  8u

const uint8_t arch_stub_cie[ARCH_STUB_CIE_BYTES] = {
	1, 'z', 'R', 0, /* version, augmentation */
	/* code alignment 1 byte, data alignment -8, return address in column 16 */
	1, 0x78, 16,
	1, 0x1b,	  /* pointers: pcrel | sdata4 */
	0x0c, 7, 8,	  /* DW_CFA_def_cfa: rsp + 8 */
	0x90, 1,	  /* DW_CFA_offset: return address at CFA - 8 */
	0,		  /* DW_CFA_nop */
};

static void put(struct arch_stub_template *out, const void *bytes, uint32_t count)
{
	memcpy(out->code + out->code_bytes, bytes, count);
	out->code_bytes += count;
}

#define PUT(out, ...)                                                                              \
	do {                                                                                       \
		const uint8_t put_[] = {__VA_ARGS__};                                              \
		put(out, put_, sizeof(put_));                                                      \
	} while (0)

/*
 * Set up the frame and push the payload:
 *
 *	f3 0f 1e fa		endbr64
 *	55			push	%rbp
 *	48 89 e5		mov	%rsp,%rbp
 *	ff 35 <payload>		push	payload(%rip)
 *	48 83 ec 08		sub	$8,%rsp		(if an even number of words follows)
 */
static void put_prologue(struct arch_stub_template *out, unsigned stack_words)
{
	PUT(out, 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5);
	out->payload_at = out->code_bytes;
	PUT(out, 0xff, 0x35, 0, 0, 0, 0);
	if (stack_words % 2 == 0)
		PUT(out, 0x48, 0x83, 0xec, 0x08);
}

/*
 * Copy the caller's stack words, the last one first:
 *	ff 75 <offset8>		push	offset(%rbp)
 *	ff b5 <offset32>	push	offset(%rbp)
 */
static void put_stack_words(struct arch_stub_template *out, unsigned words)
{
	while (words-- > 0) {
		uint32_t offset = 16 + 8 * words;

		if (offset < 128)
			PUT(out, 0xff, 0x75, (uint8_t)offset);
		else
			PUT(out, 0xff, 0xb5, (uint8_t)offset, (uint8_t)(offset >> 8), 0, 0);
	}
}

/*
 * Move each integer argument to the next register, beginning with the last:
 *	41 51		push	%r9		(if there are more arguments than registers)
 *	4d 89 c1	mov	%r8,%r9
 *	49 89 c8	mov	%rcx,%r8
 *	48 89 d1	mov	%rdx,%rcx
 *	48 89 f2	mov	%rsi,%rdx
 *	48 89 fe	mov	%rdi,%rsi	(if rdi is not the pointer to the result)
 * and pass the payload as the first argument:
 *	48 8b 7d f8	mov	-8(%rbp),%rdi
 *	48 8b 75 f8	mov	-8(%rbp),%rsi	(if rdi is the pointer to the result)
 */
static void put_bind(struct arch_stub_template *out, const struct arch_stub_shape *shape, int spill)
{
	static const uint8_t moves[INTEGER_REGISTERS - 1][3] = {
		{0x48, 0x89, 0xfe}, {0x48, 0x89, 0xf2}, {0x48, 0x89, 0xd1},
		{0x49, 0x89, 0xc8}, {0x4d, 0x89, 0xc1}};
	unsigned first = shape->memory_result ? 1 : 0;
	unsigned last = INTEGER_REGISTERS - 1;

	if (spill)
		PUT(out, 0x41, 0x51);
	if (shape->integer_arguments && first + shape->integer_arguments - 1 < last)
		last = first + shape->integer_arguments - 1;
	for (unsigned to = last; to > first; to--)
		put(out, moves[to - 1], sizeof(moves[0]));
	PUT(out, 0x48, 0x8b, first ? 0x75 : 0x7d, 0xf8);
}

/*
 *	ff 15 <target>		call	*target(%rip)
 */
static void put_call(struct arch_stub_template *out)
{
	out->target_at = out->code_bytes;
	PUT(out, 0xff, 0x15, 0, 0, 0, 0);
}

/*
 * Call the original function, then arch_intercept_slow() if the thread's tick counter is not 0:
 *
 *	ff 55 f8		call	*-8(%rbp)		(the payload: the original)
 *	64 83 3c 25 <ticks> 00	cmpl	$0,%fs:ticks
 *	74 06			je	1f
 *	ff 15 <target>		call	*target(%rip)		(arch_intercept_slow())
 *				1:
 */
static void put_intercept(struct arch_stub_template *out, int32_t ticks)
{
	PUT(out, 0xff, 0x55, 0xf8, 0x64, 0x83, 0x3c, 0x25);
	put(out, &ticks, sizeof(ticks));
	PUT(out, 0, 0x74, 0x06);
	put_call(out);
}

/*
 *	c9			leave
 *	c3			ret
 */
static void put_epilogue(struct arch_stub_template *out)
{
	out->leave_at = out->code_bytes;
	PUT(out, 0xc9, 0xc3);
}

/*
 * Write the call-frame instructions. After these instructions the CFA is:
 *
 *	endbr64, push	CFA = rsp + 16, rbp at CFA - 16
 *	mov		CFA = rbp + 16
 *	leave		CFA = rsp + 8, rbp restored
 */
static void put_cfi(struct arch_stub_template *out)
{
	uint32_t body = out->leave_at + 1 - FRAME_AT;
	const uint8_t program[] = {
		0x40 | PUSHED_AT, 0x0e, 16, 0x86, 2,	   /* advance, def_cfa_offset, offset rbp */
		0x40 | (FRAME_AT - PUSHED_AT), 0x0d, 6,	   /* advance, def_cfa_register rbp */
		0x03, (uint8_t)body, (uint8_t)(body >> 8), /* advance_loc2 */
		0x0c, 7, 8, 0xc6,			   /* def_cfa rsp + 8, restore rbp */
	};

	memcpy(out->cfi, program, sizeof(program));
	out->cfi_bytes = sizeof(program);
}

int arch_stub_prepare(const struct arch_stub_shape *shape, struct arch_stub_template *out)
{
	unsigned integers = shape->integer_arguments + (shape->memory_result ? 1u : 0u);
	int spill = shape->bind && integers > INTEGER_REGISTERS;

	if (shape->stack_words > STACK_WORDS_MAX ||
		(shape->bind && shape->integer_arguments > 1024) || (spill && !shape->stack_words))
		return -EINVAL;
	if (shape->intercept && shape->ticks_at != (int32_t)shape->ticks_at)
		return -ENOTSUP;
	memset(out, 0, sizeof(*out));
	put_prologue(out, shape->stack_words);
	put_stack_words(out, spill ? shape->stack_words - 1 : shape->stack_words);
	if (shape->bind)
		put_bind(out, shape, spill);
	if (shape->intercept)
		put_intercept(out, (int32_t)shape->ticks_at);
	else
		put_call(out);
	put_epilogue(out);
	put_cfi(out);
	return 0;
}

/*
 * Fill in the distance in the last 4 bytes of the 6-byte instruction at offset @at. It counts from
 * the end of the instruction, whereas @distance counts from the stub's start.
 */
static void write_distance(uint8_t *code, uint32_t at, int32_t distance)
{
	distance -= (int32_t)at + 6;
	memcpy(code + at + 2, &distance, sizeof(distance));
}

void arch_stub_write(
	const struct arch_stub_template *stub, uint8_t *code, int32_t payload, int32_t target)
{
	memcpy(code, stub->code, stub->code_bytes);
	write_distance(code, stub->payload_at, payload);
	write_distance(code, stub->target_at, target);
}

#define LE2(value) (uint8_t)(value), (uint8_t)((value) >> 8)
#define LE4(value) LE2(value), LE2((value) >> 16)
#define LE8(value) LE4((value) & 0xffffffff), LE4((value) >> 32)

/* (pc - address of the first stub) % stride: breg16 0; addr start; minus; const2u stride; mod */
#define OFFSET_IN_STUB 0x80, 0, 0x03, LE8(start), 0x1c, 0x0a, LE2(stride), 0x1d

unsigned arch_stub_brief_cfi(const struct arch_stub_template *stub, uintptr_t start,
	uint32_t stride, uint8_t *room)
{
	uint32_t leave = stub->leave_at;
	const uint8_t cfa[] = {
		OFFSET_IN_STUB,
		0x12, 0x38, 0x2a, 0x28, LE2(10), /* dup; lit8; ge; bra: frame is set up */
		0x35, 0x2a, 0x33, 0x24,		/* lit5; ge; lit3; shl: 8 after the push of rbp */
		0x77, 8, 0x22, 0x2f, LE2(14),	/* breg7 8; plus; skip to the end */
		0x0a, LE2(leave), 0x2b,		/* const2u leave; gt */
		0x28, LE2(5),			/* bra: after leave */
		0x76, 16, 0x2f, LE2(2),		/* breg6 16; skip to the end */
		0x77, 8,			/* breg7 8 */
	};
	const uint8_t rbp[] = {
		OFFSET_IN_STUB,			 /* pushed above the CFA */
		0x12, 0x35, 0x2d, 0x28, LE2(13), /* dup; lit5; lt; bra: not pushed yet */
		0x0a, LE2(leave), 0x2b,		 /* const2u leave; gt */
		0x28, LE2(6),			 /* bra: after leave */
		0x40, 0x1c, 0x06, 0x2f, LE2(2),	 /* lit16; minus; deref; skip to the end */
		0x76, 0,			 /* breg6 0 */
	};
	unsigned at = 0;

	_Static_assert(5 + sizeof(cfa) + sizeof(rbp) <= ARCH_STUB_BRIEF_MAX, "it fits");
	room[at++] = 0x0f; /* DW_CFA_def_cfa_expression */
	room[at++] = sizeof(cfa);
	memcpy(room + at, cfa, sizeof(cfa));
	at += sizeof(cfa);
	room[at++] = 0x16; /* DW_CFA_val_expression of rbp */
	room[at++] = 6;
	room[at++] = sizeof(rbp);
	memcpy(room + at, rbp, sizeof(rbp));
	return at + (unsigned)sizeof(rbp);
}

/* ---- the slow half of an intercept ----------------------------------------------------------- */
/*
 * How arch_intercept_slow() saves vector registers: by which instruction, which states of the CPU,
 * and in how many bytes. Sources: Intel SDM 1, 13.2 and 13.4.3; SDM 2, CPUID leaf 0dh.
 */

#define ECX_OSXSAVE	 (1u << 27)
#define EAX_XSAVEC	 (1u << 1)
#define ECX_ALIGNED	 (1u << 1)
#define FXSAVE_BYTES	 512u
#define HEADER_BYTES	 64u

/*
 * Save x87, SSE, AVX and three states of AVX-512, as the dynamic linker of the C library does. AMX
 * tiles, which would need 8 KiB, hold no results, and callers must save them.
 */
#define STATES		 0xe7u
#define STATES_LAST	 7u

/* Variables that arch_intercept_slow() reads. Write them atomically. */
extern void (*arch_intercept_call)(void);
void (*arch_intercept_call)(void);
extern uint32_t arch_intercept_save_way, arch_intercept_save_mask, arch_intercept_save_bytes;
uint32_t arch_intercept_save_way; /* 0 fxsave, 1 xsave, 2 xsavec */
uint32_t arch_intercept_save_mask;
uint32_t arch_intercept_save_bytes = FXSAVE_BYTES;

static uint32_t enabled_states(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low & STATES;
}

/*
 * Return the size of the save area in bytes. If @compact, the states are adjacent; otherwise they
 * are at fixed offsets.
 */
static uint32_t area_bytes(uint32_t states, int compact)
{
	uint32_t bytes = FXSAVE_BYTES + HEADER_BYTES;

	for (uint32_t state = 2; state <= STATES_LAST; state++) {
		uint32_t size, offset, flags, unused;

		if (!(states & 1u << state))
			continue;
		__cpuid_count(0xd, state, size, offset, flags, unused);
		if (!compact)
			bytes = offset + size > bytes ? offset + size : bytes;
		else if (flags & ECX_ALIGNED)
			bytes = ((bytes + 63) & ~63u) + size;
		else
			bytes += size;
	}
	return bytes;
}

void arch_intercept_prepare(void (*take)(void))
{
	uint32_t eax, ebx, ecx, edx;
	uint32_t way = 0, mask = 0, bytes = FXSAVE_BYTES;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & ECX_OSXSAVE &&
		__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx)) {
		way = eax & EAX_XSAVEC ? 2 : 1;
		mask = enabled_states();
		bytes = area_bytes(mask, way == 2);
	}
	__atomic_store_n(&arch_intercept_call, take, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_mask, mask, __ATOMIC_RELAXED);
	__atomic_store_n(&arch_intercept_save_way, way, __ATOMIC_RELAXED);
}
