/* SPDX-License-Identifier: MIT */
/*
 * Demangling by libiberty, behind a gate: which names are tried at all, how long a result may get,
 * and what is cut off the name before.
 */
#include "cli/symbols/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/*
 * Suffixes of copies and pieces the compiler makes of one function. Those that come without a
 * number are marked: where a number is due, "main.part" is somebody's own name.
 */
static const struct {
	const char *text;
	int bare;
} clone_suffixes[] = {
	{".constprop", 0},
	{".isra", 0},
	{".part", 0},
	{".cold", 1},
	{".llvm", 0},
	{".lto_priv", 0},
	{".localalias", 1},
};

/* Where the demangler's output goes; full: unwound out of the demangler. */
struct output {
	char text[DEMANGLE_MAX_BYTES + 1];
	size_t bytes;
	jmp_buf full;
};

/*
 * A name of 300 bytes can demangle to terabytes by referring to its own parts. libiberty's printer
 * cannot be asked to stop, and with the callback it holds no heap memory worth freeing (its state
 * is on the stack), so leaving by longjmp is the way out.
 */
static void collect_output(const char *text, size_t bytes, void *opaque)
{
	struct output *output = opaque;

	if (bytes > DEMANGLE_MAX_BYTES - output->bytes)
		longjmp(output->full, 1);
	memcpy(output->text + output->bytes, text, bytes);
	output->bytes += bytes;
}

/* Returns nonzero when @mangled demangled into @output whole. */
static int run_demangler(const char *mangled, struct output *output)
{
	const int options = DMGL_ANSI;

	output->bytes = 0;
	if (setjmp(output->full))
		return 0;
	if (rust_demangle_callback(mangled, options | DMGL_RUST, collect_output, output))
		return output->bytes != 0;
	output->bytes = 0;
	return cplus_demangle_v3_callback(mangled, options | DMGL_GNU_V3, collect_output, output) &&
	       output->bytes;
}

#define D_MAX_BYTES	 1024u
#define D_MAX_REFERENCES 24u

/*
 * The D demangler has no callback to leave by. Text can only double with two back references
 * ("Q..."), so counting the letter bounds what comes out. Returns owned, or NULL.
 */
static char *demangle_d(const char *mangled)
{
	unsigned references = 0;
	const char *at = mangled;

	for (; *at && references <= D_MAX_REFERENCES; at++)
		references += *at == 'Q';
	if (*at || (size_t)(at - mangled) > D_MAX_BYTES)
		return NULL;

	char *text = dlang_demangle(mangled, DMGL_ANSI | DMGL_DLANG);

	if (text && strlen(text) > DEMANGLE_MAX_BYTES) {
		free(text);
		text = NULL;
	}
	return text;
}

/* The length of @name without the last suffix of a compiler-made copy, or @bytes unchanged. */
static size_t cut_one_suffix(const char *name, size_t bytes)
{
	size_t end = bytes;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == bytes || !end || name[end - 1] != '.')
		end = bytes;
	else
		end--;
	for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(*clone_suffixes); i++) {
		const char *suffix = clone_suffixes[i].text;
		size_t length = strlen(suffix);

		if (end == bytes && !clone_suffixes[i].bare)
			continue;
		if (end > length && !memcmp(name + end - length, suffix, length))
			return end - length;
	}
	return bytes;
}

/* Length of the part of @name that names the function in the source. */
static size_t plain_length(const char *name)
{
	const char *version = name[0] ? strchr(name + 1, '@') : NULL;
	size_t bytes = version ? (size_t)(version - name) : strlen(name);

	for (size_t cut; (cut = cut_one_suffix(name, bytes)) != bytes;)
		bytes = cut;
	return bytes;
}

static int is_d(const char *name)
{
	return !strncmp(name, "_D", 2) &&
	       (isdigit((unsigned char)name[2]) || !strcmp(name, "_Dmain"));
}

static int is_cxx_or_rust(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "_GLOBAL_", 8);
}

char *demangle_name(const char *mangled)
{
	char *plain = strndup(mangled, plain_length(mangled));

	if (!plain)
		return NULL;

	/* Only what is certainly mangled: C functions may be called "i", which is also a type. */
	const char *name =
		plain[0] == '_' && plain[1] == '_' && plain[2] == 'Z' ? plain + 1 : plain;
	char *shown = NULL;

	if (is_d(name)) {
		shown = demangle_d(name);
	} else if (is_cxx_or_rust(name)) {
		struct output output;

		if (run_demangler(name, &output)) {
			shown = strndup(output.text, output.bytes);
			if (!shown) {
				free(plain);
				return NULL;
			}
		}
	}
	if (!shown)
		return plain;
	free(plain);
	return shown;
}
