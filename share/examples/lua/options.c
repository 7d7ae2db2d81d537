/* SPDX-License-Identifier: MIT */
/* The command line up to the first word that is not ours. */
#include "share/examples/lua/options.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: flamelua [option...] [lua option...] [script [argument...]]\n"
	"Run Lua scripts as lua5.4 does, with every Lua function on the C stack by its name.\n"
	"  --no-stubs       call Lua functions as plain Lua does\n"
	"  --no-intercepts  leave Lua's builtins as they are\n"
	"  --help           this text\n"
	"Lua's own: -e STAT  -l MODULE  -v  -E  -W  --  -\n";

static int take(const char *word, struct flamelua_options *out)
{
	if (!strcmp(word, "--no-stubs"))
		out->no_stubs = 1;
	else if (!strcmp(word, "--no-intercepts"))
		out->no_intercepts = 1;
	else if (!strcmp(word, "--help"))
		out->help = 1;
	else
		return -1;
	return 0;
}

int options_parse(char ***argv, struct flamelua_options *out)
{
	char **word = *argv;
	int taken = 0;

	*out = (struct flamelua_options){0};
	while (word[1] && !strncmp(word[1], "--", 2) && word[1][2]) {
		if (take(word[1], out)) {
			fprintf(stderr, "%s: unrecognized option '%s'\n", (*argv)[0], word[1]);
			return -1;
		}
		word++;
		taken++;
	}
	if (out->help)
		fputs(help, stdout);
	word[0] = (*argv)[0];
	*argv = word;
	return taken;
}
