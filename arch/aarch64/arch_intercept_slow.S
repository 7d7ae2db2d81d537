/* SPDX-License-Identifier: MIT */
/*
 * Implements arch_intercept_slow(). In the vector and SVE variants of AAPCS64 a call preserves more
 * registers than in the base variant, so all of these are saved.
 *
 *	x29 + 176  q0-q31
 *	x29 + 168  fpsr
 *	x29 + 160  x18
 *	x29 + 16   x0-x17
 *	x29        x29, x30
 *	sp         z0-z31, p0-p15, if the CPU has SVE
 */
	.arch	armv8.2-a+sve

#define FRAME_BYTES 688

	.text
	.globl	arch_intercept_slow
	.hidden	arch_intercept_slow
	.type	arch_intercept_slow, %function
	.p2align 4
arch_intercept_slow:
	.cfi_startproc
	hint	#34 /* bti c */
	sub	sp, sp, #FRAME_BYTES
	.cfi_def_cfa_offset FRAME_BYTES
	stp	x29, x30, [sp]
	.cfi_offset x29, -FRAME_BYTES
	.cfi_offset x30, -FRAME_BYTES+8
	mov	x29, sp
	.cfi_def_cfa_register x29
	stp	x0, x1, [x29, #16]
	stp	x2, x3, [x29, #32]
	stp	x4, x5, [x29, #48]
	stp	x6, x7, [x29, #64]
	stp	x8, x9, [x29, #80]
	stp	x10, x11, [x29, #96]
	stp	x12, x13, [x29, #112]
	stp	x14, x15, [x29, #128]
	stp	x16, x17, [x29, #144]
	mrs	x9, fpsr
	stp	x18, x9, [x29, #160]
	stp	q0, q1, [x29, #176]
	stp	q2, q3, [x29, #208]
	stp	q4, q5, [x29, #240]
	stp	q6, q7, [x29, #272]
	stp	q8, q9, [x29, #304]
	stp	q10, q11, [x29, #336]
	stp	q12, q13, [x29, #368]
	stp	q14, q15, [x29, #400]
	stp	q16, q17, [x29, #432]
	stp	q18, q19, [x29, #464]
	stp	q20, q21, [x29, #496]
	stp	q22, q23, [x29, #528]
	stp	q24, q25, [x29, #560]
	stp	q26, q27, [x29, #592]
	stp	q28, q29, [x29, #624]
	stp	q30, q31, [x29, #656]
	adrp	x9, arch_intercept_save_sve
	ldr	w9, [x9, :lo12:arch_intercept_save_sve]
	cbz	w9, 1f
	addvl	sp, sp, #-32
	addpl	x10, sp, #-16
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	str	z\n, [sp, #\n, mul vl]
	.endr
	mov	sp, x10
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	str	p\n, [sp, #\n, mul vl]
	.endr
1:	adrp	x9, arch_intercept_call
	ldr	x9, [x9, :lo12:arch_intercept_call]
	blr	x9
	adrp	x9, arch_intercept_save_sve
	ldr	w9, [x9, :lo12:arch_intercept_save_sve]
	cbz	w9, 2f
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	ldr	p\n, [sp, #\n, mul vl]
	.endr
	addpl	x10, sp, #16
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	ldr	z\n, [x10, #\n, mul vl]
	.endr
	b	3f
2:
	ldp	q0, q1, [x29, #176]
	ldp	q2, q3, [x29, #208]
	ldp	q4, q5, [x29, #240]
	ldp	q6, q7, [x29, #272]
	ldp	q8, q9, [x29, #304]
	ldp	q10, q11, [x29, #336]
	ldp	q12, q13, [x29, #368]
	ldp	q14, q15, [x29, #400]
	ldp	q16, q17, [x29, #432]
	ldp	q18, q19, [x29, #464]
	ldp	q20, q21, [x29, #496]
	ldp	q22, q23, [x29, #528]
	ldp	q24, q25, [x29, #560]
	ldp	q26, q27, [x29, #592]
	ldp	q28, q29, [x29, #624]
	ldp	q30, q31, [x29, #656]
3:	mov	sp, x29
	ldp	x18, x9, [x29, #160]
	msr	fpsr, x9
	ldp	x0, x1, [x29, #16]
	ldp	x2, x3, [x29, #32]
	ldp	x4, x5, [x29, #48]
	ldp	x6, x7, [x29, #64]
	ldp	x8, x9, [x29, #80]
	ldp	x10, x11, [x29, #96]
	ldp	x12, x13, [x29, #112]
	ldp	x14, x15, [x29, #128]
	ldp	x16, x17, [x29, #144]
	ldp	x29, x30, [sp]
	.cfi_def_cfa sp, FRAME_BYTES
	.cfi_restore x29
	.cfi_restore x30
	add	sp, sp, #FRAME_BYTES
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	arch_intercept_slow, . - arch_intercept_slow

#ifdef __ARM_FEATURE_BTI_DEFAULT
	/*
	 * Mark this object as usable with BTI, under which indirect calls must land on a bti
	 * instruction: the linker marks the library only if all its objects are marked.
	 */
	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5	/* size of the name, size of the data, NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000, 4	/* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
	.word	1, 0		/* BTI */
#endif

	.section .note.GNU-stack, "", %progbits
