/* SPDX-License-Identifier: MIT */
/*
 * For tests of the symbol readers: build shared libraries with the system's compiler in a temporary
 * folder.
 */
#ifndef TESTS_UNIT_ELF_FIXTURE_H
#define TESTS_UNIT_ELF_FIXTURE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char fixture_folder[64];

/* Run a shell command in the folder. Ends the test if the command fails. */
__attribute__((format(printf, 1, 2))) static void fixture_run(const char *format, ...)
{
	char command[2048];
	va_list args;
	int at = snprintf(command, sizeof(command), "cd %s && ", fixture_folder);

	va_start(args, format);
	vsnprintf(command + at, sizeof(command) - (size_t)at, format, args);
	va_end(args);
	if (system(command)) {
		fprintf(stderr, "failed: %s\n", command);
		abort();
	}
}

/* Returns the path of a file in the folder. The text stays valid during the next seven calls. */
static inline const char *fixture_path(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", fixture_folder, name);
	return path;
}

static inline void fixture_write(const char *name, const char *text)
{
	FILE *file = fopen(fixture_path(name), "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

/* Make the folder, and in it lib.so with a full symbol table of exported and hidden functions. */
static int fixture_setup(void **state)
{
	(void)state;
	strcpy(fixture_folder, "/tmp/flamerun-test-XXXXXX");
	if (!mkdtemp(fixture_folder))
		return -1;
	fixture_write("lib.c",
		"__attribute__((noinline)) static int hidden(int a) { return a * 3 + 1; }\n"
		"int exported(int a);\n"
		"int exported(int a) { return hidden(a) + 1; }\n"
		"extern int alias(int a) __attribute__((weak, alias(\"exported\")));\n"
		"__asm__(\".text\\n.globl sized\\n.type sized, %function\\nsized: .skip 16\\n\"\n"
		"	\"inside: .skip 16\\n.size sized, .-sized\\n.skip 32\\n\"\n"
		"	\".globl unsized\\nunsized: .skip 24\\n\"\n"
		"	\".globl after\\n.type after, %function\\nafter: .skip 8\\n.size after, "
		"8\\n\"\n"
		"	\".skip 64\\n.data\\n.globl datum\\n.type datum, %function\\n\"\n"
		"	\"datum: .skip 16\\n.size datum, 16\\n.text\\n\");\n");
	fixture_run("cc -O2 -fPIC -shared -Wl,--build-id=sha1 -o lib.so lib.c");
	return 0;
}

static int fixture_teardown(void **state)
{
	(void)state;
	fixture_run("rm -rf %s", fixture_folder);
	return 0;
}

/* Returns the address that nm prints for @name in @file of the folder; 0 if nm prints none. */
static inline uint64_t fixture_address(const char *file, const char *name)
{
	char command[512], line[256];
	unsigned long long address = 0;

	snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" { print $1 }'",
		fixture_path(file), name);

	FILE *pipe = popen(command, "r");

	if (pipe && fgets(line, sizeof(line), pipe))
		address = strtoull(line, NULL, 16);
	if (pipe)
		pclose(pipe);
	return address;
}

#endif
