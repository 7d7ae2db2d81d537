/* SPDX-License-Identifier: MIT */
/*
 * A spelling server that can be profiled while it runs: it links libflameprof, but none of its code
 * starts a profile. Each line sent to its Unix socket is a word; the answer is the nearest word
 * that the server knows.
 *
 * 	cc -O2 server.c $(pkg-config --cflags --libs flameprof) -lpthread -o server
 * 	FLAMERUN_SNAPSHOT=duration=5:output=/tmp/spelling-%t.svg ./server /tmp/spelling &
 * 	kill -USR2 $!		# draws the next five seconds
 *
 * The marks show in the profile when a connection began.
 */
#define _GNU_SOURCE

#include <flameprof.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORKERS	   3
#define WORDS	   20000
#define WORD_BYTES 16
/* Prevent inlining, so that each function has a box of its own in the picture. */
#define BOX	   __attribute__((noinline))

struct word {
	char text[WORD_BYTES];
	uint32_t bytes;
	uint32_t letters; /* bit set of the letters that occur in the word */
};

static struct word dictionary[WORDS];

BOX static uint32_t letters_of(const char *text)
{
	uint32_t set = 0;

	for (; *text; text++)
		set |= 1u << (*text & 31);
	return set;
}

/* Make a dictionary of words from syllables; the words are the same in every run. */
BOX static void make_dictionary(void)
{
	static const char *const syllable[] = {
		"ba", "con", "de", "fi", "gra", "lo", "men", "nu", "per", "ros", "sta", "ty"};
	const size_t syllables = sizeof(syllable) / sizeof(*syllable);

	for (size_t i = 0; i < WORDS; i++) {
		struct word *word = &dictionary[i];

		for (size_t rest = i + syllables; rest; rest /= syllables)
			strcat(word->text, syllable[rest % syllables]);
		word->bytes = (uint32_t)strlen(word->text);
		word->letters = letters_of(word->text);
	}
}

/* Returns Levenshtein's distance between two words, computed one row at a time. */
BOX static unsigned edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	unsigned row[WORD_BYTES];

	for (size_t j = 0; j <= b_bytes; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_bytes; i++) {
		unsigned diagonal = row[0]++;

		for (size_t j = 1; j <= b_bytes; j++) {
			unsigned change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (++row[j] > row[j - 1] + 1)
				row[j] = row[j - 1] + 1;
			if (row[j] > change)
				row[j] = change;
		}
	}
	return row[b_bytes];
}

/*
 * Can @word be nearer than @best edits? Each letter that only one of the words has needs an edit,
 * and one edit accounts for at most two such letters.
 */
BOX static int may_be_nearer(const struct word *word, uint32_t letters, unsigned best)
{
	return (unsigned)__builtin_popcount(word->letters ^ letters) < 2 * best;
}

BOX static const struct word *correct(const char *text)
{
	const struct word *nearest = dictionary;
	size_t bytes = strlen(text);
	uint32_t letters = letters_of(text);
	unsigned best = WORD_BYTES;

	for (size_t i = 0; i < WORDS && best; i++) {
		unsigned distance;

		if (!may_be_nearer(&dictionary[i], letters, best))
			continue;
		distance = edit_distance(text, bytes, dictionary[i].text, dictionary[i].bytes);
		if (distance < best) {
			best = distance;
			nearest = &dictionary[i];
		}
	}
	return nearest;
}

BOX static void serve(FILE *in, int out)
{
	char line[WORD_BYTES];

	flameprof_mark("connection");
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		dprintf(out, "%s\n", correct(line)->text);
	}
}

static void *work(void *argument)
{
	const int *listener = argument;

	for (;;) {
		int connection = accept4(*listener, NULL, NULL, SOCK_CLOEXEC);
		FILE *in = connection >= 0 ? fdopen(connection, "r") : NULL;

		if (in) {
			serve(in, connection);
			fclose(in);
		}
	}
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	unlink(path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
		listen(listener, SOMAXCONN))
		return -1;
	return listener;
}

int main(int argc, char **argv)
{
	int listener = argc == 2 ? listen_at(argv[1]) : (errno = EINVAL, -1);

	if (listener < 0) {
		fprintf(stderr, "usage: server SOCKET (%s)\n", strerror(errno));
		return 1;
	}
	make_dictionary();
	for (unsigned i = 0; i < WORKERS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, &listener))
			return 1;
		pthread_setname_np(thread, "speller");
	}
	for (;;)
		pause();
}
