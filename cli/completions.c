/* SPDX-License-Identifier: MIT */
/*
 * What the completion scripts share: the walk over the table, and which shell has which script.
 */
#include "cli/completions.h"

#include <errno.h>
#include <string.h>

#include "cli/completions_shell.h"

const char *const *completions_shells(void)
{
	static const char *const shells[] = {"bash", "zsh", "fish", NULL};

	return shells;
}

void completions_each(completions_each_fn *each, FILE *out)
{
	for (size_t i = 0; i < options_row_count; i++) {
		if (options_rows[i].long_name)
			each(&options_rows[i], out);
		else if (options_rows[i].listing == OPTIONS_NOWHERE)
			return;
	}
}

void completions_choices(const struct options_row *row, const char *between, FILE *out)
{
	for (const char *const *name = row->names(); *name; name++)
		fprintf(out, "%s%s", name == row->names() ? "" : between, *name);
}

void completions_text(const struct options_row *row, FILE *out)
{
	size_t bytes = strcspn(row->text, "\n");

	if (bytes && row->text[bytes - 1] == ':')
		bytes--;
	for (size_t i = 0; i < bytes; i++)
		if (!strchr("'[]", row->text[i]))
			fputc(row->text[i], out);
}

void completions_letter_with_value(const struct options_row *row, FILE *out)
{
	if (row->argument && row->short_name)
		fputc(row->short_name, out);
}

void completions_letter_of_switch(const struct options_row *row, FILE *out)
{
	if (!row->argument && row->short_name)
		fputc(row->short_name, out);
}

int completions_write(const char *shell, FILE *out)
{
	if (!strcmp(shell, "bash"))
		completions_bash(out);
	else if (!strcmp(shell, "zsh"))
		completions_zsh(out);
	else
		completions_fish(out);
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
