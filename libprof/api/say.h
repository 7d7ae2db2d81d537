/* SPDX-License-Identifier: MIT */
/*
 * The library's only words, for who set FLAMERUN_SNAPSHOT: "flameprof: <text>" on stderr.
 */
#ifndef LIBPROF_API_SAY_H
#define LIBPROF_API_SAY_H

/*
 * Remember what stderr is. A program that closes it may be given the same number for a socket or a
 * database: then nothing is said. Context: before the program's own code runs.
 */
void say_init(void);

/*
 * One line, by one write(2); control bytes become '?'. errno is kept.
 * Context: any thread, not a handler. May wait for the reader of a full pipe.
 */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
