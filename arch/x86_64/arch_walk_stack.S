/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: instructions only. */
/*
 * arch_call_on_stack(top, function, argument): see arch/walk_stack.h.
 *
 *	old stack                 new stack
 *	rbp + 8   return address  top - 8   return address into this function while function() runs
 *	rbp       caller's rbp
 *
 * The CFA is computed from rbp, so unwinders step from the new stack to the old one.
 */
#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR endbr64
#endif

	.text
	.globl	arch_call_on_stack
	.hidden	arch_call_on_stack
	.type	arch_call_on_stack, @function
	.p2align 4
arch_call_on_stack:
	.cfi_startproc
	_CET_ENDBR
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rsp
	movq	%rdx, %rdi
	call	*%rsi
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	arch_call_on_stack, . - arch_call_on_stack

	.section .note.GNU-stack, "", @progbits
