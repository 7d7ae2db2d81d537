/* SPDX-License-Identifier: MIT */
/*
 * The CFA of odd_outer's frame is in r11, a register that the ABI lets a callee change. odd_inner
 * changes r11, and its call-frame information describes where r11 is saved. An unwinder that
 * follows only callee-saved registers fails here.
 *
 *	odd_outer: r11 = CFA, also during the call of odd_inner
 */
#ifdef __x86_64__
	.text
	.globl odd_outer
	.type odd_outer, @function
odd_outer:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	lea 16(%rsp), %r11
	.cfi_def_cfa r11, 0
	sub $64, %rsp
	call odd_inner
	lea -16(%r11), %rsp
	.cfi_def_cfa rsp, 16
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size odd_outer, . - odd_outer

	.globl odd_inner
	.type odd_inner, @function
odd_inner:
	.cfi_startproc
	push %r11
	.cfi_def_cfa_offset 16
	.cfi_offset r11, -16
	xor %r11d, %r11d
	call odd_work
	pop %r11
	.cfi_def_cfa_offset 8
	.cfi_restore r11
	ret
	.cfi_endproc
	.size odd_inner, . - odd_inner
#endif
	.section .note.GNU-stack, "", @progbits
