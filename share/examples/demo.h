/* SPDX-License-Identifier: MIT */
/*
 * A small print shop as a program to profile: threads trace the rays of a book's cover while
 * another thread writes the book, counts and sorts its words, and compresses it.
 */
#ifndef DEMO_H
#define DEMO_H

#include <stddef.h>
#include <stdint.h>

/* Prevent inlining, so that each function has a box of its own in the picture. */
#define BOX __attribute__((noinline))

/* Returns the next number of xorshift64, so book and cover are the same in every run. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Trace rows @first, @first + @step, ... of the cover. Returns a checksum of their pixels. */
uint64_t cover_paint(unsigned first, unsigned step);

struct book {
	char *text; /* owned */
	size_t bytes;
	size_t different_words;
	/* occurrences of the most frequent word */
	unsigned most_frequent;
	size_t compressed_bytes;
};

/*
 * Write a book of @words words; count, sort and compress it. Returns 0 or -ENOMEM; call book_free()
 * in both cases.
 */
int book_print(struct book *book, size_t words);
void book_free(struct book *book);

#endif
