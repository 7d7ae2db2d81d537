/* SPDX-License-Identifier: MIT */
/* Parse the command line up to the first word that is not an option of flamelua itself. */
#include "share/examples/lua/options.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: flamelua [option...] [lua option...] [script [argument...]]\n"
	"Run Lua scripts as lua5.4 does, with every Lua function on the C stack by its name.\n"
	"  --no-stubs       call Lua functions as plain Lua does\n"
	"  --no-intercepts  leave Lua's builtins as they are\n"
	"  --vm-profile FILE  sample the Lua stack at safe points, into .svg .folded .pb ...\n"
	"  --vm-stacks=beside|above  the same stacks into the picture of flamerun\n"
	"  --help           this text\n"
	"Lua's own: -e STAT  -l MODULE  -v  -E  -W  --  -\n";

/* Parse an option without a value. Returns 0, or -1 if @word is no such option. */
static int take_switch(const char *word, struct flamelua_options *out)
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

/*
 * If the word at *@words is @option, return the option's value, otherwise NULL. The value follows
 * '=' in the same word. Without '=', the value is the next word, and *@words is moved to that word.
 */
static const char *value_of(const char *option, char ***words)
{
	const char *word = (*words)[0];
	size_t bytes = strlen(option);

	if (strncmp(word, option, bytes))
		return NULL;
	if (word[bytes] == '=')
		return word + bytes + 1;
	if (word[bytes] || !(*words)[1])
		return NULL;
	(*words)++;
	return (*words)[0];
}

/* Parse one option. Returns 0, or -1 if flamelua has no such option or the value is wrong. */
static int take(char ***words, struct flamelua_options *out)
{
	const char *value;

	if (!take_switch((*words)[0], out))
		return 0;
	value = value_of("--vm-profile", words);
	if (value) {
		out->vm_profile = value;
		return value[0] ? 0 : -1;
	}
	value = value_of("--vm-stacks", words);
	if (!value || (strcmp(value, "beside") && strcmp(value, "above")))
		return -1;
	out->vm_stacks = 1;
	out->vm_place = strcmp(value, "above") ? FLAMEPROF_VM_BESIDE : FLAMEPROF_VM_ABOVE;
	return 0;
}

int options_parse(char ***argv, struct flamelua_options *out)
{
	char **last = *argv, *program = last[0];

	*out = (struct flamelua_options){0};
	while (last[1] && !strncmp(last[1], "--", 2) && last[1][2]) {
		const char *word = *++last;

		if (take(&last, out)) {
			fprintf(stderr, "%s: cannot use option '%s'\n%s", program, word, help);
			return -1;
		}
	}
	if (out->no_stubs && (out->vm_profile || out->vm_stacks)) {
		fprintf(stderr, "%s: safe points are at the stubs of calls\n", program);
		return -1;
	}
	if (out->help)
		fputs(help, stdout);
	last[0] = program;
	*argv = last;
	return 0;
}
