/* SPDX-License-Identifier: MIT */
/*
 * Completion by fish: a 'complete' for each option, while there is no program yet.
 */
#include "cli/completions_shell.h"

static void fish_option(const struct options_row *row, FILE *out)
{
	fputs("complete -c flamerun -n 'not __flamerun_program'", out);
	if (row->short_name)
		fprintf(out, " -s %c", row->short_name);
	fprintf(out, " -l %s", row->long_name);
	if (row->completion == OPTIONS_COMPLETE_FILE) {
		fputs(" -r -F", out);
	} else if (row->completion == OPTIONS_COMPLETE_NAMES) {
		fputs(" -x -a '", out);
		completions_choices(row, " ", out);
		fputc('\'', out);
	} else if (row->argument) {
		fputs(" -x", out);
	}
	fputs(" -d '", out);
	completions_text(row, out);
	fputs("'\n", out);
	if (row->kind == OPTIONS_KIND_SWITCH)
		fprintf(out,
			"complete -c flamerun -n 'not __flamerun_program' -l no-%s "
			"-d 'undo --%s'\n",
			row->long_name, row->long_name);
}

static void fish_with_value(const struct options_row *row, FILE *out)
{
	if (row->argument)
		fprintf(out, " --%s", row->long_name);
}

/* Where among the words are we? */
static void fish_walk(FILE *out)
{
	fputs("# SPDX-License-Identifier: MIT\n"
	      "# fish completion for flamerun. Written by: flamerun --completions fish\n"
	      "\n"
	      "# Is the program already among the words? Leaves it and its arguments in\n"
	      "# __flamerun_words.\n"
	      "function __flamerun_program\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tset -g __flamerun_words\n"
	      "\tset -l i 2\n"
	      "\twhile test $i -le (count $words)\n"
	      "\t\tset -l word $words[$i]\n"
	      "\t\tset i (math $i + 1)\n"
	      "\t\tif test \"$word\" = --\n"
	      "\t\t\tset -g __flamerun_words $words[$i..]\n"
	      "\t\t\treturn 0\n"
	      "\t\telse if contains -- \"$word\"",
		out);
	completions_each(fish_with_value, out);
	fputs("; or string match -qr -- '^-[", out);
	completions_each(completions_letter_of_switch, out);
	fputs("]*[", out);
	completions_each(completions_letter_with_value, out);
	fputs("]$' \"$word\"\n"
	      "\t\t\tset i (math $i + 1)\n"
	      "\t\telse if string match -qr -- '^[-@]' \"$word\"; or test \"$word\" = render\n"
	      "\t\t\ttest \"$word\" = render; and return 1\n"
	      "\t\telse\n"
	      "\t\t\tset -g __flamerun_words $word $words[$i..]\n"
	      "\t\t\treturn 0\n"
	      "\t\tend\n"
	      "\tend\n"
	      "\treturn 1\n"
	      "end\n"
	      "\n",
		out);
}

void completions_fish(FILE *out)
{
	fish_walk(out);
	fputs("function __flamerun_presets\n"
	      "\t" COMPLETIONS_PRESETS "\n"
	      "end\n"
	      "\n"
	      "function __flamerun_complete_program\n"
	      "\tset -l line (string escape -- $__flamerun_words)\n"
	      "\tcomplete -C (string join ' ' -- $line (commandline -ct))\n"
	      "end\n"
	      "\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a render -d 'draw folded stacks'\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a '(__flamerun_presets)' "
	      "-d preset\n"
	      "complete -c flamerun -n 'not __flamerun_program; and not contains render "
	      "(commandline -opc)' -a '(__fish_complete_command)'\n"
	      "complete -c flamerun -n __flamerun_program -x -a '(__flamerun_complete_program)'\n",
		out);
	completions_each(fish_option, out);
}
