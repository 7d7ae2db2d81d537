/* SPDX-License-Identifier: MIT */
/*
 * Completion by bash: a function that walks the words up to the cursor.
 */
#include "cli/completions_shell.h"

static void bash_long(const struct options_row *row, FILE *out)
{
	fprintf(out, " --%s", row->long_name);
}

static void bash_negated(const struct options_row *row, FILE *out)
{
	if (row->kind == OPTIONS_KIND_SWITCH)
		fprintf(out, " --no-%s", row->long_name);
}

static void bash_with_value(const struct options_row *row, FILE *out)
{
	if (row->argument)
		fprintf(out, "--%s|", row->long_name);
}

/* "-o", and behind at most one letter that takes no value: behind more nobody looks for help. */
static void bash_letters(FILE *out)
{
	fputs("-[", out);
	completions_each(completions_letter_with_value, out);
	fputs("]|-[", out);
	completions_each(completions_letter_of_switch, out);
	fputs("][", out);
	completions_each(completions_letter_with_value, out);
	fputs("]", out);
}

static void bash_value(const struct options_row *row, FILE *out)
{
	if (!row->argument || row->completion == OPTIONS_COMPLETE_NONE)
		return;
	fprintf(out, "\t--%s", row->long_name);
	if (row->short_name)
		fprintf(out, "|-%c", row->short_name);
	if (row->completion == OPTIONS_COMPLETE_FILE) {
		fputs(") __flamerun_files \"$2\" ;;\n", out);
		return;
	}
	fputs(") COMPREPLY=($(compgen -W '", out);
	completions_choices(row, " ", out);
	fputs("' -- \"$2\")) ;;\n", out);
}

static void bash_helpers(FILE *out)
{
	fputs("# SPDX-License-Identifier: MIT\n"
	      "# bash completion for flamerun. Written by: flamerun --completions bash\n"
	      "\n"
	      "__flamerun_files()\n{\n"
	      "\tcompopt -o filenames 2>/dev/null\n"
	      "\tmapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n}\n"
	      "\n"
	      "__flamerun_presets()\n{\n"
	      "\t" COMPLETIONS_PRESETS "\n}\n"
	      "\n"
	      "# The value $2 of option $1.\n"
	      "__flamerun_value()\n{\n\tcase $1 in\n",
		out);
	completions_each(bash_value, out);
	fputs("\tesac\n}\n"
	      "\n"
	      "# The program at word $1 and its arguments, as for sudo.\n"
	      "__flamerun_program()\n{\n"
	      "\tif declare -F _command_offset >/dev/null; then\n"
	      "\t\t_command_offset \"$1\"\n"
	      "\telif [ \"$COMP_CWORD\" -eq \"$1\" ]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -c -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
	      "\telse\n\t\t__flamerun_files \"${COMP_WORDS[COMP_CWORD]}\"\n\tfi\n}\n"
	      "\n",
		out);
}

/* Where among the words are we? */
static void bash_walk(FILE *out)
{
	fputs("_flamerun()\n{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} pending='' rendering='' i word\n"
	      "\tCOMPREPLY=()\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tword=${COMP_WORDS[i]}\n"
	      "\t\t# \"--rate=99\" comes as three words.\n"
	      "\t\tif [[ $word == '=' ]]; then\n\t\t\tcontinue\n"
	      "\t\telif [[ $pending ]]; then\n\t\t\tpending=''\n\t\t\tcontinue\n\t\tfi\n"
	      "\t\tcase $word in\n"
	      "\t\t--) [[ $rendering ]] || { __flamerun_program $((i + 1)); return; } ;;\n"
	      "\t\t",
		out);
	completions_each(bash_with_value, out);
	bash_letters(out);
	fputs(") pending=$word ;;\n", out);
	fputs("\t\t-*) ;;\n"
	      "\t\t@) ((i++)) ;; # \"@name\" comes as two\n"
	      "\t\t@*) ;;\n"
	      "\t\trender) rendering=1 ;;\n"
	      "\t\t*) [[ $rendering ]] || { __flamerun_program \"$i\"; return; } ;;\n"
	      "\t\tesac\n"
	      "\tdone\n",
		out);
}

void completions_bash(FILE *out)
{
	bash_helpers(out);
	bash_walk(out);
	fputs("\t[[ $current == '=' ]] && current=''\n"
	      "\tif [[ $pending ]]; then\n"
	      "\t\t[[ $pending == --* ]] || pending=-${pending: -1}\n"
	      "\t\t__flamerun_value \"$pending\" \"$current\"\n"
	      "\telif [[ $current == --no-* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '--no-config",
		out);
	completions_each(bash_negated, out);
	fputs("' -- \"$current\"))\n"
	      "\telif [[ $current == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
		out);
	completions_each(bash_long, out);
	fputs("' -- \"$current\"))\n"
	      "\telif [[ $rendering ]]; then\n"
	      "\t\t__flamerun_files \"$current\"\n"
	      "\telif [[ $current == @* || ${COMP_WORDS[COMP_CWORD - 1]} == @ ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$(__flamerun_presets)\" -- \"@${current#@}\"))\n"
	      "\telse\n"
	      "\t\t__flamerun_program \"$COMP_CWORD\"\n"
	      "\t\t[[ render == \"$current\"* ]] && COMPREPLY+=(render)\n"
	      "\tfi\n}\n"
	      "complete -F _flamerun flamerun\n",
		out);
}
