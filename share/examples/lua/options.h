/* SPDX-License-Identifier: MIT */
/* flamelua's own options, which come before those of lua5.4. */
#ifndef FLAMELUA_OPTIONS_H
#define FLAMELUA_OPTIONS_H

#include <flameprof_vm.h>

struct flamelua_options {
	int no_stubs;
	int no_intercepts;
	int help;
	const char *vm_profile; /* a file; NULL: none. Borrowed from argv */
	int vm_stacks;
	enum flameprof_vm_place vm_place;
};

/*
 * Read the options of ours that @argv begins with.
 *
 * @argv  after the call *@argv begins at the last of ours, which becomes the program's name: what
 *        follows is for Lua
 *
 * Returns 0, or -1 after a complaint on stderr.
 */
int options_parse(char ***argv, struct flamelua_options *out);

#endif
