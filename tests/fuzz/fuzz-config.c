/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as a settings file. The file must be read to its end or be refused with the number
 * of an existing line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct config_source source = {"f.ini", OPTIONS_USER_FILE, size % 2};
	struct diag_message message = {0};
	struct config config = {0};
	struct options options;
	unsigned line, lines = 1;
	FILE *in;
	int error;

	if (!size)
		return 0;
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	if (!in)
		abort();
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	options_init(&options);
	options.preset = "p";
	error = config_read(&config, &options, &source, in, &message);
	if (!error != !message.text[0])
		abort();
	if (error && (sscanf(message.text, "f.ini:%u:", &line) != 1 || !line || line > lines))
		abort();
	fclose(in);
	config_release(&config);
	return 0;
}
