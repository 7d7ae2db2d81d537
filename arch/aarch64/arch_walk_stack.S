/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: instructions only. */
/*
 * arch_call_on_stack(top, function, argument): see arch/walk_stack.h.
 *
 *	old stack                       new stack
 *	x29 + 8   return address        top   sp at the entry of function()
 *	x29       caller's frame record
 *
 * The CFA is computed from x29, so unwinders step from the new stack to the old one.
 */
	.text
	.globl	arch_call_on_stack
	.hidden	arch_call_on_stack
	.type	arch_call_on_stack, %function
	.p2align 4
arch_call_on_stack:
	.cfi_startproc
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	sp, x0
	mov	x0, x2
	blr	x1
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	arch_call_on_stack, . - arch_call_on_stack

#ifdef __ARM_FEATURE_BTI_DEFAULT
	/* Mark this object as usable with BTI; see arch_intercept_slow.S. */
	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4
	.word	1, 0
#endif

	.section .note.GNU-stack, "", %progbits
