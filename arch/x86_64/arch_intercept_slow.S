/* SPDX-License-Identifier: MIT */
/*
 * Implements arch_intercept_slow(). Sources: Intel SDM 1, chapter 13 (XSAVE); System V AMD64 ABI
 * 3.2.3.
 *
 *	rbp + 8        return address into the stub
 *	rbp            the stub's rbp
 *	rbp - 72       rax, rcx, rdx, rsi, rdi, r8-r11: results in all calling conventions
 *	rsp            vector and x87 registers, in the format of xsavec, xsave or fxsave; 64-byte
 *	               aligned
 *
 * After saving, empty the x87 stack, because the called function may use all of it; a result may be
 * in st(0) and st(1). MXCSR and the x87 control word keep the program's values.
 */
#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR endbr64
#endif

#define GENERAL_BYTES 72
#define HEADER_AT     512 /* header of an xsave area; it must be zero before xsave */

	.text
	.globl	arch_intercept_slow
	.hidden	arch_intercept_slow
	.type	arch_intercept_slow, @function
	.p2align 4
arch_intercept_slow:
	.cfi_startproc
	_CET_ENDBR
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	cld
	movl	arch_intercept_save_bytes(%rip), %eax
	subq	%rax, %rsp
	andq	$-64, %rsp
	movl	arch_intercept_save_way(%rip), %ecx
	testl	%ecx, %ecx
	jz	.Lfxsave
	xorl	%edx, %edx
	movq	%rdx, HEADER_AT(%rsp)
	movq	%rdx, HEADER_AT+8(%rsp)
	movq	%rdx, HEADER_AT+16(%rsp)
	movq	%rdx, HEADER_AT+24(%rsp)
	movq	%rdx, HEADER_AT+32(%rsp)
	movq	%rdx, HEADER_AT+40(%rsp)
	movq	%rdx, HEADER_AT+48(%rsp)
	movq	%rdx, HEADER_AT+56(%rsp)
	movl	arch_intercept_save_mask(%rip), %eax
	cmpl	$1, %ecx
	je	.Lxsave
	xsavec64 (%rsp)
	jmp	.Lsaved
.Lxsave:
	xsave64	(%rsp)
	jmp	.Lsaved
.Lfxsave:
	fxsave64 (%rsp)
.Lsaved:
	/* Clear a pending x87 exception, which emms would raise; fxrstor or xrstor restores it. */
	fnclex
	emms
	call	*arch_intercept_call(%rip)
	cmpl	$0, arch_intercept_save_way(%rip)
	je	.Lfxrstor
	movl	arch_intercept_save_mask(%rip), %eax
	xorl	%edx, %edx
	xrstor64 (%rsp)
	jmp	.Lrestored
.Lfxrstor:
	fxrstor64 (%rsp)
.Lrestored:
	leaq	-GENERAL_BYTES(%rbp), %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	arch_intercept_slow, . - arch_intercept_slow

	.section .note.GNU-stack, "", @progbits
