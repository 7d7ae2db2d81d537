/* SPDX-License-Identifier: MIT */
/*
 * One line that says what takes so long, on a terminal only, and gone when it is done. Work that
 * takes less than a second is not worth a word.
 *
 * Context: one thread, one piece of work at a time; nothing else is printed in between.
 */
#ifndef CLI_RUN_PROGRESS_H
#define CLI_RUN_PROGRESS_H

/*
 * Work begins: show "flamerun: <what> ..." in a second, if messages of this kind are wanted, stderr
 * is a terminal, and we are in its foreground. Never fails: without it the work is only silent.
 */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Work is done: take the line back. Always after progress_begin(). */
void progress_end(void);

#endif
