/* SPDX-License-Identifier: MIT */
/*
 * Demangle names by libiberty. This file decides which names to demangle, bounds the size of the
 * results, and cuts off suffixes first. It demangles names of Fortran, OCaml, Haskell, Crystal and
 * Nim itself, because libiberty does not know them.
 */
#include "cli/symbols/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Suffixes that compilers append to the names of copies and parts of a function. `bare`: the suffix
 * may lack a number. The others must have one, because "main.part" may be a name from the source.
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

/* The demangler's output. If @text is full, the demangler is left by longjmp() to @full. */
struct output {
	char text[DEMANGLE_MAX_BYTES + 1];
	size_t bytes;
	jmp_buf full;
};

/*
 * Collect the demangler's output. A name of 300 bytes can demangle to terabytes by referring to its
 * own parts, and libiberty's printer cannot be stopped. So leave it by longjmp(), which leaks
 * nothing, because the printer has no heap memory.
 */
static void collect_output(const char *text, size_t bytes, void *opaque)
{
	struct output *output = opaque;

	if (bytes > DEMANGLE_MAX_BYTES - output->bytes)
		longjmp(output->full, 1);
	/* For an empty identifier @text may be NULL, which memcpy() must not get. */
	if (!bytes)
		return;
	memcpy(output->text + output->bytes, text, bytes);
	output->bytes += bytes;
}

/* Demangle @mangled into @output. Returns nonzero on success. */
static int run_demangler(const char *mangled, bool is_full, struct output *output)
{
	const int options = is_full ? DMGL_ANSI | DMGL_PARAMS : DMGL_ANSI;

	output->bytes = 0;
	if (setjmp(output->full))
		return 0;
	/* With DMGL_VERBOSE, the hash at the end of Rust names is kept. */
	if (rust_demangle_callback(mangled, options | DMGL_RUST | (is_full ? DMGL_VERBOSE : 0),
		    collect_output, output))
		return output->bytes != 0;
	output->bytes = 0;
	return cplus_demangle_v3_callback(mangled, options | DMGL_GNU_V3, collect_output, output) &&
	       output->bytes;
}

#define D_MAX_BYTES	 1024u
#define D_MAX_REFERENCES 24u

/*
 * Demangle a name of D. The demangler of D has no callback by which it could be stopped, so limit
 * its output in advance: only back references ("Q...") repeat text, and two references at most
 * double the text. Returns an owned string or NULL.
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

/* Return the length of @name without its last compiler-made suffix, or @bytes if it has none. */
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

/* Return the length of @name without any compiler-made suffixes. */
static size_t cut_suffixes(const char *name, size_t bytes)
{
	for (size_t cut; (cut = cut_one_suffix(name, bytes)) != bytes;)
		bytes = cut;
	return bytes;
}

/*
 * Return the length of @name without symbol version and suffixes. Names of Crystal, which begin
 * with "*", may contain "@" and have no version.
 */
static size_t plain_length(const char *name)
{
	const char *version = name[0] && name[0] != '*' ? strchr(name + 1, '@') : NULL;

	return cut_suffixes(name, version ? (size_t)(version - name) : strlen(name));
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

/*
 * Demangle gfortran's "__module_MOD_procedure", in which both names are in lower case. Returns 0,
 * -ENOENT if @name is not such a name, or -ENOMEM.
 */
static int demangle_fortran(const char *name, char **shown)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.", between[] = "_MOD_";
	size_t module;

	if (strncmp(name, "__", 2) || !islower((unsigned char)name[2]))
		return -ENOENT;
	name += 2;
	module = strspn(name, letters);
	if (name[module] != 'M' || strncmp(name + --module, between, sizeof(between) - 1))
		return -ENOENT;
	if (!name[module + sizeof(between) - 1])
		return -ENOENT;
	if (asprintf(shown, "%.*s::%s", (int)module, name, name + module + sizeof(between) - 1) < 0)
		return -ENOMEM;
	return 0;
}

/* ---- names that libiberty does not know ------------------------------------------------------ */

/* A name that is being composed. */
struct parts {
	char text[DEMANGLE_MAX_BYTES + 1];
	size_t bytes;
	bool is_cut; /* some text did not fit */
};

static void add_part(struct parts *parts, const char *text, size_t bytes)
{
	if (bytes > DEMANGLE_MAX_BYTES - parts->bytes) {
		parts->is_cut = true;
		return;
	}
	memcpy(parts->text + parts->bytes, text, bytes);
	parts->bytes += bytes;
}

/* Returns 0 with the text in *@shown (owned), -ENOENT if it is empty or did not fit, or -ENOMEM. */
static int finish_parts(const struct parts *parts, char **shown)
{
	if (!parts->bytes || parts->is_cut)
		return -ENOENT;
	*shown = strndup(parts->text, parts->bytes);
	return *shown ? 0 : -ENOMEM;
}

/* Append a piece of an OCaml name, in which "$2b" encodes "+". */
static void add_ocaml(struct parts *parts, const char *piece, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char digits[3] = {0}, *end = digits, c = piece[i];

		if (c == '$' && bytes - i > 2) {
			memcpy(digits, piece + i + 1, 2);
			c = (char)strtoul(digits, &end, 16);
		}
		if (end == digits + 2 && isprint((unsigned char)c))
			i += 2;
		else
			c = piece[i];
		add_part(parts, &c, 1);
	}
}

/* Return the length of @name without @mark and a number at its end. */
static size_t cut_number(const char *name, char mark)
{
	size_t bytes = strlen(name), end = bytes;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	return end > 1 && end < bytes && name[end - 1] == mark ? end - 1 : bytes;
}

/*
 * Demangle OCaml's "camlStdlib__List.map_281" to Stdlib.List.map: the compilation unit, the
 * function, and a number that distinguishes functions with equal names. Before OCaml 5.2 the "." is
 * "__". Anonymous functions are all called "fun" and keep their number. Returns 0, -ENOENT if @name
 * is not such a name, or -ENOMEM.
 */
static int demangle_ocaml(const char *name, bool is_full, char **shown)
{
	struct parts parts;
	const char *end;

	if (strncmp(name, "caml", 4) || !isupper((unsigned char)name[4]))
		return -ENOENT;
	parts.bytes = parts.is_cut = 0;
	name += 4;
	while (isupper((unsigned char)*name)) {
		for (end = name; *end && *end != '.' && strncmp(end, "__", 2);)
			end++;
		if (!*end)
			return -ENOENT;
		add_part(&parts, name, (size_t)(end - name));
		add_part(&parts, ".", 1);
		name = end + (*end == '.' ? 1 : 2);
	}
	if (!*name)
		return -ENOENT;
	add_ocaml(&parts, name,
		is_full || !strncmp(name, "fun_", 4) ? strlen(name) : cut_number(name, '_'));
	return finish_parts(&parts, shown);
}

/* Pairs: the character that GHC writes after "z" or "Z", and the character that it encodes. */
static const char haskell_small[] = "a&b|c^d$e=g>h#i.l<m-n!p+q'r\\s/t*u_v%zz";
static const char haskell_large[] = "L(R)M[N]C:ZZ";

/* Append a piece of a name of GHC, decoding its z-encoding. Returns 0 or -ENOENT. */
static int add_haskell(struct parts *parts, const char *piece, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		const char *code = piece[i] == 'z' ? haskell_small : haskell_large;

		if (piece[i] != 'z' && piece[i] != 'Z') {
			add_part(parts, &piece[i], 1);
			continue;
		}
		if (++i == bytes)
			return -ENOENT;
		while (*code && *code != piece[i])
			code += 2;
		if (!*code)
			return -ENOENT;
		add_part(parts, code + 1, 1);
	}
	return 0;
}

/* Return the length of GHC's @name without an ending such as "_info"; 0 if it has none. */
static size_t cut_haskell_ending(const char *name)
{
	static const char *const endings[] = {"_con_info", "_info", "_slow"};
	size_t bytes = strlen(name), length;

	for (unsigned i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		length = strlen(endings[i]);
		if (bytes > length && !strcmp(name + bytes - length, endings[i]))
			return bytes - length;
	}
	return 0;
}

/* Does @piece contain a z-encoded "." of a module's name or "-" of a package's version? */
static bool has_haskell_mark(const char *piece, const char *end)
{
	for (; end - piece > 2; piece++)
		if ((!memcmp(piece, "zi", 2) && isupper((unsigned char)piece[2])) ||
			(!memcmp(piece, "zm", 2) && isdigit((unsigned char)piece[2])))
			return true;
	return false;
}

/*
 * Demangle GHC's "base_GHCziBase_map_info" to GHC.Base.map of the package base: package, module and
 * function, all z-encoded. Modules of the program itself have no package. Names of C functions can
 * look like this, so demangle only names with a clear mark: a module or package
 * (has_haskell_mark()), the "$" of a function that GHC made, or the module Main. Returns 0, -ENOENT
 * if @name is not such a name, or -ENOMEM.
 */
static int demangle_haskell(const char *name, bool is_full, char **shown)
{
	const char *module = name, *end = name + cut_haskell_ending(name), *function;
	struct parts parts;
	int error = 0;

	parts.bytes = parts.is_cut = 0;
	if (islower((unsigned char)*module)) {
		module = memchr(name, '_', (size_t)(end - name));
		if (!module)
			return -ENOENT;
		if (is_full) {
			error = add_haskell(&parts, name, (size_t)(module - name));
			add_part(&parts, ":", 1);
		}
		module++;
	}
	if (module >= end || !isupper((unsigned char)*module))
		return -ENOENT;
	function = memchr(module, '_', (size_t)(end - module));
	if (!function || ++function == end || memchr(function, '_', (size_t)(end - function)))
		return -ENOENT;
	if (!has_haskell_mark(name, function) && strncmp(function, "zd", 2) &&
		strncmp(name, "Main_", 5))
		return -ENOENT;
	if (!error)
		error = add_haskell(&parts, module, (size_t)(function - 1 - module));
	add_part(&parts, ".", 1);
	if (!error)
		error = add_haskell(&parts, function, (size_t)(end - function));
	return error ? error : finish_parts(&parts, shown);
}

/*
 * Demangle Crystal's "*Array(Int32)@Array(T)#push<Int32>:Array(Int32)": a method with the type that
 * declares it and the types of its arguments; the type of its result follows the ":". Returns 0,
 * -ENOENT if @name is not such a name, or -ENOMEM.
 */
static int demangle_crystal(const char *name, bool is_full, char **shown)
{
	const char *end = name + 1;
	int depth = 0;

	if (*name != '*' || (!isalpha((unsigned char)*end) && *end != '_'))
		return -ENOENT;
	while (*end && (depth || *end != ':' || end[1] == ':')) {
		depth += (*end == '(') - (*end == ')');
		end += 1 + !strncmp(end, "::", 2);
	}
	*shown = strndup(name + 1, is_full ? strlen(name + 1) : (size_t)(end - name - 1));
	return *shown ? 0 : -ENOMEM;
}

/*
 * Demangle gnat's "split__heavy.4" to split.heavy by libiberty, whose buffer has 7 bytes more than
 * the name and is not checked. The letters "SO" become 'Output, "DF" becomes .Finalize, and
 * "___elabb" at the end becomes 'Elab_Body, which adds 5, 7 and 2 bytes. So refuse names with more
 * than one of the letters S and D. Returns 0, -ENOENT if @name cannot be demangled, or -ENOMEM.
 */
static int demangle_ada(const char *name, char **shown)
{
	const char *letter = strpbrk(name, "SD");
	char *plain;

	if (strlen(name) > DEMANGLE_MAX_BYTES || (letter && strpbrk(letter + 1, "SD")))
		return -ENOENT;
	/* libiberty does not cut off the number of a nested subprogram after all kinds of names. */
	plain = strndup(name, cut_number(name, '.'));
	*shown = plain ? ada_demangle(plain, DMGL_GNAT) : NULL;
	free(plain);
	if (!*shown)
		return -ENOMEM;
	if (**shown != '<') /* "<name>": not demangled */
		return 0;
	free(*shown);
	*shown = NULL;
	return -ENOENT;
}

/*
 * Append the path of a Nim module, which ends before @end: "Z" stands for "/", "O" for ".", and a
 * number for the ASCII character with this code. Returns false if the path is not encoded like
 * this.
 */
static bool add_nim_module(struct parts *parts, const char *module, const char *end)
{
	while (module < end) {
		char code[4] = {0}, c = *module++;
		int number;

		if (isdigit((unsigned char)c)) {
			/* A character code has two digits from 45 to 99, three from 100 on. */
			memcpy(code, module - 1, c < '4' ? 3 : 2);
			module += strlen(code) - 1;
			number = atoi(code);
			if (strspn(code, "0123456789") != strlen(code) || number < '-' ||
				number > '~')
				return false;
			c = (char)number;
		} else if (c == 'Z' || c == 'O') {
			c = c == 'Z' ? '/' : '.';
		} else if (!islower((unsigned char)c)) {
			return false;
		}
		add_part(parts, &c, 1);
	}
	return parts->bytes != 0;
}

/*
 * Demangle Nim's "heavy__stdZmath_12" to std/math.heavy: the procedure, the module, and a number
 * that distinguishes procedures of one name ("_u12" since Nim 2). Anonymous procedures keep the
 * number. Operators stay as Nim encodes them ("star_"), because a setter "star=" looks like "*=".
 * Returns 0, -ENOENT if @name is not such a name, or -ENOMEM.
 */
static int demangle_nim(const char *name, bool is_full, char **shown)
{
	const char *number = strrchr(name, '_');
	const char *module, *digits;
	struct parts parts;

	if (!number)
		return -ENOENT;
	module = memrchr(name, '_', (size_t)(number - name));
	digits = number[1] == 'u' ? number + 2 : number + 1;
	parts.bytes = parts.is_cut = 0;
	if (!module || module - name < 2 || module[-1] != '_' || !isalpha((unsigned char)*name) ||
		!*digits || digits[strspn(digits, "0123456789")] ||
		!add_nim_module(&parts, module + 1, number))
		return -ENOENT;
	add_part(&parts, ".", 1);
	add_part(&parts, name, (size_t)(module - 1 - name));
	if (is_full || !strncmp(name, "colonanonymous_", 15))
		add_part(&parts, number, strlen(number));
	return finish_parts(&parts, shown);
}

/* Demangle @plain, which has no suffix. Returns 0, -ENOENT if it is not mangled, or -ENOMEM. */
static int demangle_plain(
	const char *plain, enum demangle_language language, bool is_full, char **shown)
{
	/*
	 * Require a mangling prefix: without it, a C function "i" would be shown as the type "int".
	 */
	const char *name =
		plain[0] == '_' && plain[1] == '_' && plain[2] == 'Z' ? plain + 1 : plain;
	struct output output;
	int error;

	if (is_d(name)) {
		*shown = demangle_d(name);
		return *shown ? 0 : -ENOENT;
	}
	if (!is_cxx_or_rust(name)) {
		error = demangle_fortran(plain, shown);
		if (error == -ENOENT && language == DEMANGLE_ADA)
			error = demangle_ada(plain, shown);
		if (error == -ENOENT && language == DEMANGLE_NIM)
			error = demangle_nim(plain, is_full, shown);
		if (error == -ENOENT)
			error = demangle_ocaml(plain, is_full, shown);
		if (error == -ENOENT)
			error = demangle_haskell(plain, is_full, shown);
		if (error == -ENOENT)
			error = demangle_crystal(plain, is_full, shown);
		return error;
	}
	if (!run_demangler(name, is_full, &output))
		return -ENOENT;
	*shown = strndup(output.text, output.bytes);
	return *shown ? 0 : -ENOMEM;
}

#define CLONE " [clone "

/*
 * Append the cut-off @suffix to @shown in the way of c++filt: " [clone .suffix]". Takes ownership
 * of @shown. Returns an owned string, or NULL if out of memory.
 */
static char *add_clone(char *shown, const char *suffix, size_t bytes)
{
	char *longer = NULL;

	if (!bytes)
		return shown;
	if (asprintf(&longer, "%s" CLONE "%.*s]", shown, (int)bytes, suffix) < 0)
		longer = NULL;
	free(shown);
	return longer;
}

char *demangle_name(const char *mangled, enum demangle_language language, enum demangle_style style)
{
	size_t bytes = plain_length(mangled);
	bool is_full = style == DEMANGLE_FULL;
	char *plain, *shown = NULL;
	int error;

	if (style == DEMANGLE_NONE)
		return strdup(mangled);
	plain = strndup(mangled, bytes);
	if (!plain)
		return NULL;
	error = demangle_plain(plain, language, is_full, &shown);
	if (error == -ENOENT)
		shown = is_full ? strdup(mangled) : strdup(plain);
	free(plain);
	if (error || !is_full)
		return shown;
	return add_clone(shown, mangled + bytes, strcspn(mangled + bytes, "@"));
}

/* ---- styles and copies ----------------------------------------------------------------------- */

static const char *const styles[] = {
	[DEMANGLE_SHORT] = "short", [DEMANGLE_FULL] = "full", [DEMANGLE_NONE] = "none", NULL};

const char *const *demangle_styles(void)
{
	return styles;
}

enum demangle_style demangle_style_of(const char *name)
{
	for (int i = 0; styles[i]; i++)
		if (!strcmp(name, styles[i]))
			return (enum demangle_style)i;
	return DEMANGLE_SHORT;
}

#define HASH_BYTES 16

/* Return the length of @name without Rust's "::h0123456789abcdef", or @bytes if it has none. */
static size_t cut_hash(const char *name, size_t bytes)
{
	const char *hash = name + bytes - HASH_BYTES;

	if (bytes < HASH_BYTES + 3 || memcmp(hash - 3, "::h", 3))
		return bytes;
	for (int i = 0; i < HASH_BYTES; i++)
		if (!isxdigit((unsigned char)hash[i]))
			return bytes;
	return bytes - HASH_BYTES - 3;
}

void demangle_drop_copies(char *name)
{
	char *clone = strstr(name, CLONE);
	size_t bytes;

	/* Cut " [clone ...]" only at the end; elsewhere it belongs to an enclosing function. */
	if (clone && clone[strlen(clone) - 1] == ']' && !strstr(clone, "]:"))
		*clone = '\0';
	/* Do not cut at "@": f@URL:LINE is a function of JavaScript, and f@plt is not f. */
	bytes = cut_suffixes(name, strlen(name));
	name[bytes] = '\0';
	name[cut_hash(name, bytes)] = '\0';
}
