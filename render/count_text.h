/* SPDX-License-Identifier: MIT */
/* Large numbers as people read them. */
#ifndef RENDER_COUNT_TEXT_H
#define RENDER_COUNT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* 1234567 as "1,234,567" into @text, cut to @bytes with its zero. */
void count_text(char *text, size_t bytes, uint64_t count);

#endif
