/* SPDX-License-Identifier: MIT */
/*
 * Where Go's functions keep what their callers need, as call-frame instructions. Chosen by include
 * path: arch/<cpu>/arch_go.h supplies everything named below.
 *
 * ARCH_GO_RA           DWARF number of the return address's column
 * ARCH_GO_RULES_MAX    bytes that arch_go_rules() writes at most
 * arch_go_rules(uint8_t *out, uint64_t bytes) -> unsigned
 *                      instructions for code that has taken @bytes of stack since its function's
 *                      entry; how many bytes they have. Data alignment is -8.
 */
#ifndef ARCH_GO_H
#define ARCH_GO_H

#include <stdint.h>

#include <arch_go.h>

#if !defined(ARCH_GO_RA) || !defined(ARCH_GO_RULES_MAX)
#error "arch_go.h lacks a primitive"
#endif

#endif
