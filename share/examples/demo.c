/* SPDX-License-Identifier: MIT */
/* The threads of the print shop: two paint the cover, one prints the book. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "share/examples/demo.h"

#define PAINTERS 2
#define WORDS    9000000

struct painter {
	pthread_t thread;
	unsigned first;
	uint64_t checksum;
};

static void *paint(void *argument)
{
	struct painter *painter = argument;

	painter->checksum = cover_paint(painter->first, PAINTERS);
	return NULL;
}

static void *print(void *argument)
{
	struct book *book = argument;
	int error = book_print(book, WORDS);

	return error ? strerror(-error) : NULL;
}

int main(void)
{
	struct painter painters[PAINTERS];
	struct book book = {0};
	uint64_t checksum = 0;
	pthread_t printer;
	void *failure;

	for (unsigned i = 0; i < PAINTERS; i++) {
		painters[i].first = i;
		if (pthread_create(&painters[i].thread, NULL, paint, &painters[i]) != 0)
			return 1;
		pthread_setname_np(painters[i].thread, "painter");
	}
	if (pthread_create(&printer, NULL, print, &book) != 0)
		return 1;
	pthread_setname_np(printer, "printer");

	for (unsigned i = 0; i < PAINTERS; i++) {
		pthread_join(painters[i].thread, NULL);
		checksum += painters[i].checksum;
	}
	pthread_join(printer, &failure);
	if (failure) {
		fprintf(stderr, "demo: %s\n", (char *)failure);
		return 1;
	}
	printf("a book of %zu bytes: %zu different words, one of them %u times; %zu bytes "
	       "compressed\n",
		book.bytes, book.different_words, book.most_frequent, book.compressed_bytes);
	printf("its cover: %llx\n", (unsigned long long)checksum);
	book_free(&book);
	return 0;
}
