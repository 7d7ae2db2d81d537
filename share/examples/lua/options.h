/* SPDX-License-Identifier: MIT */
/* Parse flamelua's own options, which come before those of lua5.4. */
#ifndef FLAMELUA_OPTIONS_H
#define FLAMELUA_OPTIONS_H

#include <flameprof_vm.h>

struct flamelua_options {
	int no_stubs;
	int no_intercepts;
	int help;
	/* file name, borrowed from argv; NULL: none */
	const char *vm_profile;
	int vm_stacks;
	enum flameprof_vm_place vm_place;
};

/*
 * Parse flamelua's options at the start of @argv.
 *
 * @argv  after the call, *@argv begins at the last word of flamelua's options, which is replaced
 *        by the program's name; the words after it are for Lua
 *
 * Returns 0, or -1 after an error message on stderr.
 */
int options_parse(char ***argv, struct flamelua_options *out);

#endif
