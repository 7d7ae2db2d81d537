/* SPDX-License-Identifier: MIT */
/* flamelua's own options, which come before those of lua5.4. */
#ifndef FLAMELUA_OPTIONS_H
#define FLAMELUA_OPTIONS_H

struct flamelua_options {
	int no_stubs;
	int no_intercepts;
	int help;
};

/*
 * Read the options of ours that @argv begins with.
 *
 * @argv  after the call *@argv begins at the last of ours, which becomes the program's name: what
 *        follows is for Lua
 *
 * Returns how many were taken, or -1 after a complaint on stderr.
 */
int options_parse(char ***argv, struct flamelua_options *out);

#endif
