/* SPDX-License-Identifier: MIT */
/* Make the book: write random words, count them in a hash table, sort them, compress the text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/examples/demo.h"

#define LETTERS_MAX  10
#define TABLE_SLOTS  (1u << 20)
#define WINDOW_BYTES 32768
#define MATCH_MIN    4
#define MATCH_MAX    255
#define CHAIN_MAX    64

struct word {
	const char *letters; /* borrowed from book.text */
	size_t length;
	unsigned count;
};

/* Write a random word. Short words are more likely, so some are frequent, as in a language. */
BOX static size_t write_word(char *out, uint64_t *seed)
{
	unsigned digits = next_random(seed) % 19;
	uint64_t number = next_random(seed) >> (45 + digits);
	size_t n = 0;

	do {
		out[n++] = "etaoinshrdlucmfw"[number & 15];
		number >>= 4;
	} while (number && n < LETTERS_MAX);
	out[n++] = ' ';
	return n;
}

BOX static void write_book(struct book *book, size_t words)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL;

	for (size_t i = 0; i < words; i++)
		book->bytes += write_word(book->text + book->bytes, &seed);
}

BOX static uint32_t hash(const char *letters, size_t length)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)letters[i]) * 16777619u;
	return h;
}

BOX static int same_letters(const char *a, const char *b, size_t length)
{
	size_t n = 0;

	while (n < length && a[n] == b[n])
		n++;
	return n == length;
}

/*
 * Count a word. Ignore new words when three quarters of the table are used, so that the search
 * below always finds a free entry.
 */
BOX static void count_word(struct word *table, size_t *used, const char *letters, size_t length)
{
	uint32_t i = hash(letters, length) % TABLE_SLOTS;

	while (table[i].letters) {
		if (table[i].length == length && same_letters(table[i].letters, letters, length)) {
			table[i].count++;
			return;
		}
		i = (i + 1) % TABLE_SLOTS;
	}
	if (*used < TABLE_SLOTS / 4 * 3) {
		table[i] = (struct word){letters, length, 1};
		++*used;
	}
}

BOX static size_t count_words(struct word *table, const struct book *book)
{
	const char *word = book->text;
	const char *end = book->text + book->bytes;
	size_t used = 0;

	while (word < end) {
		const char *space = memchr(word, ' ', (size_t)(end - word));
		count_word(table, &used, word, (size_t)(space - word));
		word = space + 1;
	}
	return used;
}

BOX static int by_count(const void *a, const void *b)
{
	const struct word *left = a;
	const struct word *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	int order = memcmp(left->letters, right->letters,
		left->length < right->length ? left->length : right->length);
	return order ? order : (left->length > right->length) - (left->length < right->length);
}

/* Sort the words by frequency. Returns the number of occurrences of the most frequent one. */
BOX static unsigned sort_words(struct word *table, size_t used)
{
	size_t kept = 0;

	for (size_t i = 0; i < TABLE_SLOTS; i++) {
		if (table[i].letters)
			table[kept++] = table[i];
	}
	qsort(table, used, sizeof(*table), by_count);
	return table[0].count;
}

BOX static size_t match_length(const char *a, const char *b, size_t limit)
{
	size_t n = 0;

	while (n < limit && a[n] == b[n])
		n++;
	return n;
}

struct window {
	/* [hash of four bytes] -> last position with this hash; -1: none */
	int32_t newest[1 << 15];
	/* [position] -> the position before it with the same hash */
	int32_t older[WINDOW_BYTES];
};

BOX static size_t longest_match(const struct window *window, const struct book *book, size_t at,
	uint32_t h)
{
	size_t limit = book->bytes - at < MATCH_MAX ? book->bytes - at : MATCH_MAX;
	int32_t candidate = window->newest[h];
	size_t best = 0;

	for (int tries = 0; tries < CHAIN_MAX && candidate >= 0; tries++) {
		if (at - (size_t)candidate >= WINDOW_BYTES)
			break;
		size_t n = match_length(book->text + candidate, book->text + at, limit);
		best = n > best ? n : best;
		candidate = window->older[candidate % WINDOW_BYTES];
	}
	return best;
}

/* Compute the size of the compressed book: a literal takes 9 bits, a match 24. */
BOX static void compress_book(struct book *book, struct window *window)
{
	size_t bits = 0;

	memset(window, 0xff, sizeof(*window));
	for (size_t at = 0; at + MATCH_MIN < book->bytes;) {
		uint32_t h = hash(book->text + at, MATCH_MIN) >> 17;
		size_t match = longest_match(window, book, at, h);
		window->older[at % WINDOW_BYTES] = window->newest[h];
		window->newest[h] = (int32_t)at;
		bits += match >= MATCH_MIN ? 24 : 9;
		at += match >= MATCH_MIN ? match : 1;
	}
	book->compressed_bytes = bits / 8;
}

int book_print(struct book *book, size_t words)
{
	struct word *table = calloc(TABLE_SLOTS, sizeof(*table));
	struct window *window = malloc(sizeof(*window));
	int error = -ENOMEM;

	book->text = malloc(words * (LETTERS_MAX + 1));
	if (!table || !window || !book->text)
		goto out;
	write_book(book, words);
	book->different_words = count_words(table, book);
	book->most_frequent = sort_words(table, book->different_words);
	compress_book(book, window);
	error = 0;
out:
	free(window);
	free(table);
	return error;
}

void book_free(struct book *book)
{
	free(book->text);
	book->text = NULL;
}
