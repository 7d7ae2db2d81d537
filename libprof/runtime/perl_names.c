/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Names of Perl's functions, as caller() reports them: the package and name of the glob for which a
 * function was made, or the function's own name. A text is an entry of the interpreter's table of
 * names, or a C string.
 */
#include "libprof/runtime/perl.h"

/* Copy the C string at @address, or its last @room bytes. Returns the number of bytes. */
static uint32_t copy_path(
	struct runtime_reader *reader, uintptr_t address, char *out, uint32_t room)
{
	struct runtime_bytes bytes = {.reader = reader, .at = address, .end = address + TEXT_MAX};
	uint32_t length = 0;

	if (!address)
		return 0;
	while (length < TEXT_MAX && runtime_byte(&bytes) > 0)
		length++;
	return runtime_load_text(reader, address, length, out, room, 1);
}

/* Copy an entry of the table of names: UTF-8 if the flag after its NUL is set, else Latin-1. */
static uint32_t copy_text(
	struct runtime_reader *reader, uintptr_t address, char *out, uint32_t room)
{
	uint32_t used = 0, length;
	uint8_t flags, byte;

	if (!address || runtime_load(reader, address + TEXT_BYTES, &length, sizeof(length)) ||
		length > TEXT_MAX || runtime_load(reader, address + TEXT + length + 1, &flags, 1))
		return 0;
	for (uint32_t i = 0; i < length && used + 4 <= room; i++) {
		if (runtime_load(reader, address + TEXT + i, &byte, 1) || !byte)
			break;
		if (flags & 1)
			out[used++] = (char)byte;
		else
			used += runtime_encode(byte, out + used);
	}
	return used;
}

static uint32_t copy_package(
	struct runtime_reader *reader, uintptr_t package, char *out, uint32_t room)
{
	struct perl_value value;
	uintptr_t name = 0;
	uint32_t used = 0, names;

	if (package && !runtime_load(reader, package, &value, sizeof(value)) &&
		value.flags & PACKAGE_OOK &&
		!runtime_load_word(reader, value.body + PACKAGE_NAME, &name) &&
		!runtime_load(reader, value.body + PACKAGE_NAMES, &names, sizeof(names)) && names)
		runtime_load_word(reader, name, &name);
	if (name)
		used = copy_text(reader, name, out, room);
	if (!used)
		used = runtime_put_text(out, room, "__ANON__");
	return used + runtime_put_text(out + used, room - used, "::");
}

/* Write "Package::name" of @glob, or of the glob for which @glob was made. */
static uint32_t copy_glob(struct runtime_reader *reader, uintptr_t glob, char *out, uint32_t room)
{
	uintptr_t effective, package, name;
	struct perl_value value;
	uint32_t used;

	if (runtime_load(reader, glob, &value, sizeof(value)))
		return runtime_put_text(out, room, "(unknown)");
	if (!runtime_load_word(reader, value.content + GLOB_EFFECTIVE, &effective) && effective)
		runtime_load(reader, effective, &value, sizeof(value));
	if (runtime_load_word(reader, value.body + GLOB_PACKAGE, &package) ||
		runtime_load_word(reader, value.body + GLOB_NAME, &name))
		return runtime_put_text(out, room, "(unknown)");
	used = copy_package(reader, package, out, room / 2);
	return used + copy_text(reader, name, out + used, room - used);
}

/* Write the name that caller() reports for @function. */
static uint32_t copy_function(
	struct runtime_reader *reader, uintptr_t function, char *out, uint32_t room)
{
	struct perl_value value;
	struct perl_code code;
	uint32_t used = 0;

	if (runtime_load(reader, function, &value, sizeof(value)) ||
		runtime_load(reader, value.body, &code, sizeof(code)))
		return runtime_put_text(out, room, "(unknown)");
	if (!(code.flags & CODE_NAMED))
		return copy_glob(reader, code.name, out, room);
	if (!(code.flags & CODE_LEXICAL))
		used = copy_package(reader, code.package, out, room / 2);
	return used + copy_text(reader, code.name, out + used, room - used);
}

static uint32_t copy_name(struct runtime_reader *reader, uintptr_t name, char *out, uint32_t room)
{
	switch (name) {
	case OF_MAIN:
		return runtime_put_text(out, room, "(main)");
	case OF_EVAL:
		return runtime_put_text(out, room, "(eval)");
	case OF_REQUIRE:
		return runtime_put_text(out, room, "(require)");
	case OF_DO:
		return runtime_put_text(out, room, "(do)");
	}
	return name & OF_CODE ? copy_function(reader, name - OF_CODE, out, room)
			      : copy_glob(reader, name - OF_GLOB, out, room);
}

uint32_t perl_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end)
{
	uint32_t used = keep_end ? copy_path(reader, address, out, room - 1)
				 : copy_name(reader, address, out, room - 1);

	(void)runtime;
	out[used] = '\0';
	return used + 1;
}
