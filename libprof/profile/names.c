/* SPDX-License-Identifier: MIT */
/* Find and add entries in the tables of struct names: modules, code, files and strings. */
#include "libprof/profile/names.h"

#include <errno.h>
#include <string.h>

#include "libprof/fnv.h"

void names_release(struct names *names, struct pages_account *account)
{
	pages_release(account, &names->modules);
	pages_release(account, &names->module_lookup.slots);
	pages_release(account, &names->codes);
	pages_release(account, &names->files);
	pages_release(account, &names->file_lookup.slots);
	pages_release(account, &names->strings);
}

int names_add_string(
	struct names *names, struct pages_account *account, const char *text, uint32_t *offset)
{
	size_t bytes = strlen(text) + 1;
	size_t at = names->string_bytes ? names->string_bytes : 1;
	int error;

	if (bytes == 1) {
		*offset = 0;
		return 0;
	}
	if (at + bytes > UINT32_MAX)
		return -ENOSPC;
	error = pages_reserve(account, &names->strings, at + bytes);
	if (error)
		return error;
	memcpy((char *)names->strings.at + at, text, bytes);
	names->string_bytes = (uint32_t)(at + bytes);
	*offset = (uint32_t)at;
	return 0;
}

static uint32_t module_key_hash(uint32_t image, uint32_t number)
{
	return lookup_hash((uint64_t)image << 32 | number);
}

static uint32_t hash_module(const void *owner, uint32_t number)
{
	const struct names_module *module = names_module(owner, number - 1);

	return module_key_hash(module->image, module->number);
}

static uint32_t find_module(const struct names *names, uint32_t image, uint32_t number,
	struct lookup_probe *probe)
{
	uint32_t found;

	*probe = lookup_begin(&names->module_lookup, module_key_hash(image, number));
	while ((found = lookup_next(&names->module_lookup, probe))) {
		const struct names_module *module = names_module(names, found - 1);

		if (module->number == number && module->image == image)
			break;
	}
	return found;
}

uint32_t names_find_module(const struct names *names, uint32_t image, uint32_t number)
{
	struct lookup_probe probe;

	return find_module(names, image, number, &probe);
}

int names_add_module(struct names *names, struct pages_account *account,
	const struct names_module *module, const char *path)
{
	size_t count = names->module_count;
	struct lookup_probe probe;
	uint32_t path_offset;
	int error;

	if (!module->number || module->number > WIRE_MODULE_MAX ||
		module->build_id_bytes > WIRE_BUILD_ID_MAX || module->segments > NAMES_SEGMENTS)
		return -EINVAL;
	if (names_find_module(names, module->image, module->number))
		return 0;
	error = lookup_reserve(&names->module_lookup, account, 1, hash_module, names);
	if (!error)
		error = pages_reserve(
			account, &names->modules, (count + 1) * sizeof(struct names_module));
	if (!error)
		error = names_add_string(names, account, path, &path_offset);
	if (error)
		return error;
	find_module(names, module->image, module->number, &probe);
	*names_module(names, names->module_count) = *module;
	names_module(names, names->module_count)->path = path_offset;
	lookup_put(&names->module_lookup, &probe, ++names->module_count);
	return 0;
}

void names_truncate_modules(struct names *names, uint32_t count)
{
	names->module_count = count;
	lookup_rebuild(&names->module_lookup, count, hash_module, names);
}

/* Returns the number of ranges that begin at or below @space. */
static uint32_t codes_up_to(const struct names *names, uint64_t space)
{
	uint32_t low = 0, high = names->code_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (names_code(names, middle)->space <= space)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t names_find_code(const struct names *names, uint64_t space)
{
	uint32_t index = codes_up_to(names, space);
	const struct names_code *code = index ? names_code(names, index - 1) : NULL;

	return code && space - code->space < code->bytes ? index : 0;
}

int names_add_code(struct names *names, struct pages_account *account,
	const struct names_code *code, const char *name)
{
	uint32_t at = codes_up_to(names, code->space);
	uint32_t name_offset;
	int error;

	if (!code->bytes || code->space + code->bytes < code->space)
		return -EINVAL;
	if (at && names_code(names, at - 1)->space == code->space)
		return 0;
	if (names_find_code(names, code->space) ||
		(at < names->code_count &&
			names_code(names, at)->space - code->space < code->bytes))
		return -EINVAL;
	error = pages_reserve(
		account, &names->codes, ((size_t)names->code_count + 1) * sizeof(*code));
	if (!error)
		error = names_add_string(names, account, name, &name_offset);
	if (error)
		return error;
	/* Most added ranges have the highest `space` so far, so few entries have to move. */
	memmove(names_code(names, at + 1), names_code(names, at),
		(names->code_count - at) * sizeof(*code));
	*names_code(names, at) = *code;
	names_code(names, at)->name = name_offset;
	names->code_count++;
	return 0;
}

static uint32_t hash_text(const char *text)
{
	return lookup_hash(fnv_text(FNV_BEGIN, text, SIZE_MAX));
}

static uint32_t hash_file(const void *names, uint32_t number)
{
	return hash_text(names_file(names, number));
}

/* Find or add @file and store its number in @number; 0 for "". Returns as names_add_string(). */
static int add_file(
	struct names *names, struct pages_account *account, const char *file, uint32_t *number)
{
	size_t bytes = ((size_t)names->file_count + 1) * sizeof(uint32_t);
	struct lookup_probe probe;
	uint32_t offset, found;
	int error;

	*number = 0;
	if (!*file)
		return 0;
	error = lookup_reserve(&names->file_lookup, account, 1, hash_file, names);
	if (!error)
		error = pages_reserve(account, &names->files, bytes);
	if (error)
		return error;
	probe = lookup_begin(&names->file_lookup, hash_text(file));
	while ((found = lookup_next(&names->file_lookup, &probe)))
		if (!strcmp(names_file(names, found), file))
			break;
	if (!found) {
		error = names_add_string(names, account, file, &offset);
		if (error)
			return error;
		((uint32_t *)names->files.at)[names->file_count] = offset;
		found = ++names->file_count;
		lookup_put(&names->file_lookup, &probe, found);
	}
	*number = found;
	return 0;
}

int names_add_function(struct names *names, struct pages_account *account,
	const struct names_code *code, const char *name, const char *file)
{
	struct names_code numbered = *code;
	int error = add_file(names, account, file, &numbered.file);

	return error ? error : names_add_code(names, account, &numbered, name);
}
