/* SPDX-License-Identifier: MIT */
/*
 * Write completion scripts from the table of options. The script for bash is a function that goes
 * through the words up to the cursor. The script for zsh has a specification for _arguments for
 * each option. The script for fish has a 'complete' command for each option, and completes only
 * words before the program.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/options.h"

/*
 * A shell command that prints each preset of the usual settings files as "@NAME". sh executes it,
 * because bash, zsh and fish differ in how they test a variable. A relative XDG_CONFIG_HOME is
 * ignored, as flamerun itself does.
 */
#define LIST_PRESETS                                                                               \
	"sh -c 'case $XDG_CONFIG_HOME in /*) user=$XDG_CONFIG_HOME ;; *) user=~/.config ;; esac\n" \
	"\t\texec sed -n \"s/^[[:blank:]]*\\[preset  *\\([^]]*\\)\\].*/@\\1/p\" \\\n"              \
	"\t\t\t/etc/flamerun.ini \"$user/flamerun/flamerun.ini\" .flamerun.ini' 2>/dev/null"

/* First arguments that are commands of flamerun, not names of programs. */
#define COMMANDS     "render merge top diff push"
#define COMMANDS_ANY "render|merge|top|diff|push"

typedef void row_fn(const struct options_row *row, FILE *out);

static void for_each_row(row_fn *each, FILE *out)
{
	for (size_t i = 0; i < options_row_count; i++) {
		if (options_rows[i].long_name)
			each(&options_rows[i], out);
		else if (!options_rows[i].text)
			return;
	}
}

static void write_choices(const struct options_row *row, const char *between, FILE *out)
{
	for (const char *const *name = row->names(); *name; name++)
		fprintf(out, "%s%s", name == row->names() ? "" : between, *name);
}

/* Write the row's text as one line, without the quotes and brackets that shells would interpret. */
static void write_text(const struct options_row *row, FILE *out)
{
	for (const char *at = row->text; *at; at++)
		if (!strchr("'[]", *at))
			fputc(*at == '\n' ? ' ' : *at, out);
}

static void write_letter_with_value(const struct options_row *row, FILE *out)
{
	if (row->argument && row->short_name)
		fputc(row->short_name, out);
}

static void write_letter_of_switch(const struct options_row *row, FILE *out)
{
	if (!row->argument && row->short_name)
		fputc(row->short_name, out);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void write_bash_long(const struct options_row *row, FILE *out)
{
	fprintf(out, " --%s", row->long_name);
}

static void write_bash_negated(const struct options_row *row, FILE *out)
{
	if (row->kind == OPTIONS_KIND_SWITCH)
		fprintf(out, " --no-%s", row->long_name);
}

static void write_bash_with_value(const struct options_row *row, FILE *out)
{
	if (row->argument)
		fprintf(out, "--%s|", row->long_name);
}

/*
 * Write a bash pattern that matches "-o" and "-qo": an option with a value, after at most one
 * letter of an option without a value.
 */
static void write_bash_letters(FILE *out)
{
	fputs("-[", out);
	for_each_row(write_letter_with_value, out);
	fputs("]|-[", out);
	for_each_row(write_letter_of_switch, out);
	fputs("][", out);
	for_each_row(write_letter_with_value, out);
	fputs("]", out);
}

static void write_bash_value(const struct options_row *row, FILE *out)
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
	write_choices(row, " ", out);
	fputs("' -- \"$2\")) ;;\n", out);
}

static void write_bash_helpers(FILE *out)
{
	fputs("# SPDX-License-Identifier: MIT\n"
	      "# bash completion for flamerun. Written by: flamerun --completions bash\n"
	      "\n"
	      "__flamerun_files()\n{\n"
	      "\tcompopt -o filenames 2>/dev/null\n"
	      "\tmapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n}\n"
	      "\n"
	      "__flamerun_presets()\n{\n"
	      "\t" LIST_PRESETS "\n}\n"
	      "\n"
	      "# The value $2 of option $1.\n"
	      "__flamerun_value()\n{\n\tcase $1 in\n",
		out);
	for_each_row(write_bash_value, out);
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

/* Write the bash function that finds out how to complete the word at the cursor. */
static void write_bash_walk(FILE *out)
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
	for_each_row(write_bash_with_value, out);
	write_bash_letters(out);
	fputs(") pending=$word ;;\n", out);
	fputs("\t\t-*) ;;\n"
	      "\t\t@) ((i++)) ;; # \"@name\" comes as two\n"
	      "\t\t@*) ;;\n"
	      "\t\t" COMMANDS_ANY ") rendering=1 ;;\n"
	      "\t\t*) [[ $rendering ]] || { __flamerun_program \"$i\"; return; } ;;\n"
	      "\t\tesac\n"
	      "\tdone\n",
		out);
}

static void write_bash(FILE *out)
{
	write_bash_helpers(out);
	write_bash_walk(out);
	fputs("\t[[ $current == '=' ]] && current=''\n"
	      "\tif [[ $pending ]]; then\n"
	      "\t\t[[ $pending == --* ]] || pending=-${pending: -1}\n"
	      "\t\t__flamerun_value \"$pending\" \"$current\"\n"
	      "\telif [[ $current == --no-* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '--no-config",
		out);
	for_each_row(write_bash_negated, out);
	fputs("' -- \"$current\"))\n"
	      "\telif [[ $current == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
		out);
	for_each_row(write_bash_long, out);
	fputs("' -- \"$current\"))\n"
	      "\telif [[ $rendering ]]; then\n"
	      "\t\t__flamerun_files \"$current\"\n"
	      "\telif [[ $current == @* || ${COMP_WORDS[COMP_CWORD - 1]} == @ ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$(__flamerun_presets)\" -- \"@${current#@}\"))\n"
	      "\telse\n"
	      "\t\t__flamerun_program \"$COMP_CWORD\"\n"
	      "\t\tCOMPREPLY+=($(compgen -W '" COMMANDS "' -- \"$current\"))\n"
	      "\tfi\n}\n"
	      "complete -F _flamerun flamerun\n",
		out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void write_zsh_option(const struct options_row *row, FILE *out)
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
	write_text(row, out);
	fputc(']', out);
	if (row->argument)
		fprintf(out, ":%s:", row->argument);
	if (row->completion == OPTIONS_COMPLETE_FILE) {
		fputs("_files", out);
	} else if (row->completion == OPTIONS_COMPLETE_NAMES) {
		fputc('(', out);
		write_choices(row, " ", out);
		fputc(')', out);
	} else if (row->argument) {
		fputc(' ', out);
	}
	fputs("'\n", out);
	if (row->kind == OPTIONS_KIND_SWITCH)
		fprintf(out, "\t\t'--no-%s[undo --%s]'\n", row->long_name, row->long_name);
}

static void write_zsh(FILE *out)
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
	for_each_row(write_zsh_option, out);
	fputs("\t)\n"
	      "\t_arguments -s -S -A '-*' $options '*:: :->operands' && return\n"
	      "\t[[ $state == operands ]] || return 1\n"
	      "\tif [[ $words[1] == @* ]] && (( CURRENT > 1 )); then\n"
	      "\t\twords[1]=flamerun\n"
	      "\t\t_flamerun\n"
	      "\telif [[ $words[1] == (" COMMANDS_ANY ") ]] && (( CURRENT > 1 )); then\n"
	      "\t\t_arguments -s -S $options '*:stacks:_files'\n"
	      "\telif [[ $words[1] == @* ]]; then\n"
	      "\t\tcompadd -- $(" LIST_PRESETS ")\n"
	      "\telif (( CURRENT == 1 )); then\n"
	      "\t\t_alternative 'commands:command:(" COMMANDS ")' \\\n"
	      "\t\t\t'programs:program:_command_names -e' \\\n"
	      "\t\t\t'files:file:_files'\n"
	      "\telse\n"
	      "\t\t_normal\n"
	      "\tfi\n}\n"
	      "\n"
	      "_flamerun \"$@\"\n",
		out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void write_fish_option(const struct options_row *row, FILE *out)
{
	fputs("complete -c flamerun -n 'not __flamerun_program'", out);
	if (row->short_name)
		fprintf(out, " -s %c", row->short_name);
	fprintf(out, " -l %s", row->long_name);
	if (row->completion == OPTIONS_COMPLETE_FILE) {
		fputs(" -r -F", out);
	} else if (row->completion == OPTIONS_COMPLETE_NAMES) {
		fputs(" -x -a '", out);
		write_choices(row, " ", out);
		fputc('\'', out);
	} else if (row->argument) {
		fputs(" -x", out);
	}
	fputs(" -d '", out);
	write_text(row, out);
	fputs("'\n", out);
	if (row->kind == OPTIONS_KIND_SWITCH)
		fprintf(out,
			"complete -c flamerun -n 'not __flamerun_program' -l no-%s "
			"-d 'undo --%s'\n",
			row->long_name, row->long_name);
}

static void write_fish_with_value(const struct options_row *row, FILE *out)
{
	if (row->argument)
		fprintf(out, " --%s", row->long_name);
}

/* Write the fish function that finds out whether the program is before the cursor. */
static void write_fish_walk(FILE *out)
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
	for_each_row(write_fish_with_value, out);
	fputs("; or string match -qr -- '^-[", out);
	for_each_row(write_letter_of_switch, out);
	fputs("]*[", out);
	for_each_row(write_letter_with_value, out);
	fputs("]$' \"$word\"\n"
	      "\t\t\tset i (math $i + 1)\n"
	      "\t\telse if contains -- \"$word\" " COMMANDS "\n"
	      "\t\t\treturn 1\n"
	      "\t\telse if string match -qr -- '^[-@]' \"$word\"\n"
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

static void write_fish(FILE *out)
{
	write_fish_walk(out);
	fputs("function __flamerun_presets\n"
	      "\t" LIST_PRESETS "\n"
	      "end\n"
	      "\n"
	      "function __flamerun_complete_program\n"
	      "\tset -l line (string escape -- $__flamerun_words)\n"
	      "\tcomplete -C (string join ' ' -- $line (commandline -ct))\n"
	      "end\n"
	      "\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a render "
	      "-d 'draw folded stacks'\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a merge -d 'many files as one'\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a top -d 'tables of functions'\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a diff -d 'what changed'\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a push "
	      "-d 'store profiles in ClickHouse'\n"
	      "complete -c flamerun -n 'not __flamerun_program' -a '(__flamerun_presets)' "
	      "-d preset\n"
	      "complete -c flamerun -n 'not __flamerun_program; and not string match -qr "
	      "\"^(render|merge|top|diff|push)\\$\" -- (commandline -opc)' "
	      "-a '(__fish_complete_command)'\n"
	      "complete -c flamerun -n __flamerun_program -x -a '(__flamerun_complete_program)'\n",
		out);
	for_each_row(write_fish_option, out);
}

int completions_write(const char *shell, FILE *out)
{
	if (!strcmp(shell, "bash"))
		write_bash(out);
	else if (!strcmp(shell, "zsh"))
		write_zsh(out);
	else
		write_fish(out);
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
