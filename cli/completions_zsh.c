/* SPDX-License-Identifier: MIT */
/*
 * Completion by zsh: one specification for each option, for _arguments.
 */
#include "cli/completions_shell.h"

#include <stdbool.h>

static void zsh_option(const struct options_row *row, FILE *out)
{
	bool repeats = row->kind == OPTIONS_KIND_OUTPUT;

	fputs("\t\t", out);
	if (row->short_name && repeats)
		fprintf(out, "\\*{-%c+,--%s=}'[", row->short_name, row->long_name);
	else if (row->short_name)
		fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", row->short_name, row->long_name,
			row->short_name, row->argument ? "+" : "", row->long_name,
			row->argument ? "=" : "");
	else
		fprintf(out, "'--%s%s[", row->long_name, row->argument ? "=" : "");
	completions_text(row, out);
	fputc(']', out);
	if (row->argument)
		fprintf(out, ":%s:", row->argument);
	if (row->completion == OPTIONS_COMPLETE_FILE) {
		fputs("_files", out);
	} else if (row->completion == OPTIONS_COMPLETE_NAMES) {
		fputc('(', out);
		completions_choices(row, " ", out);
		fputc(')', out);
	} else if (row->argument) {
		fputc(' ', out);
	}
	fputs("'\n", out);
	if (row->kind == OPTIONS_KIND_SWITCH)
		fprintf(out, "\t\t'--no-%s[undo --%s]'\n", row->long_name, row->long_name);
}

void completions_zsh(FILE *out)
{
	fputs("#compdef flamerun\n"
	      "# SPDX-License-Identifier: MIT\n"
	      "# zsh completion for flamerun. Written by: flamerun --completions zsh\n"
	      "\n"
	      "_flamerun()\n{\n"
	      "\tlocal curcontext=\"$curcontext\" state line\n"
	      "\tlocal -a options\n"
	      "\toptions=(\n",
		out);
	completions_each(zsh_option, out);
	fputs("\t)\n"
	      "\t_arguments -s -S -A '-*' $options '*:: :->operands' && return\n"
	      "\t[[ $state == operands ]] || return 1\n"
	      "\tif [[ $words[1] == @* ]] && (( CURRENT > 1 )); then\n"
	      "\t\twords[1]=flamerun\n"
	      "\t\t_flamerun\n"
	      "\telif [[ $words[1] == render ]] && (( CURRENT > 1 )); then\n"
	      "\t\t_arguments -s -S $options '*:stacks:_files'\n"
	      "\telif [[ $words[1] == @* ]]; then\n"
	      "\t\tcompadd -- $(" COMPLETIONS_PRESETS ")\n"
	      "\telif (( CURRENT == 1 )); then\n"
	      "\t\t_alternative 'commands:command:(render)' 'programs:program:_command_names -e' "
	      "\\\n"
	      "\t\t\t'files:file:_files'\n"
	      "\telse\n"
	      "\t\t_normal\n"
	      "\tfi\n}\n"
	      "\n"
	      "_flamerun \"$@\"\n",
		out);
}
