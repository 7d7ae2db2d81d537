/* SPDX-License-Identifier: MIT */
/*
 * Write call-frame instructions for Go's functions. Go's tables say for each pc how many bytes of
 * stack its function has allocated. Selected by include path: arch/<cpu>/arch_go.h defines all
 * names below.
 *
 * ARCH_GO_RA           DWARF number of the return address column
 * ARCH_GO_RULES_MAX    maximum number of bytes that arch_go_rules() writes
 * arch_go_rules(uint8_t *out, uint64_t bytes) -> unsigned
 *                      Write to @out the instructions for code whose function has allocated @bytes
 *                      of stack since its entry. The data alignment is -8. Returns their size in
 *                      bytes.
 */
#ifndef ARCH_GO_H
#define ARCH_GO_H

#include <stdint.h>

#include <arch_go.h>

#if !defined(ARCH_GO_RA) || !defined(ARCH_GO_RULES_MAX)
#error "arch_go.h lacks a primitive"
#endif

#endif
