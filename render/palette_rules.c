/* SPDX-License-Identifier: MIT */
/*
 * Which class of colours a frame belongs to. Folded text from other profilers says with suffixes
 * where a frame ran: _[k] kernel, _[j] compiled at run time, _[i] inlined there.
 */
#include <string.h>

#include "render/palette_scheme.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int begins_with_any(const char *name, const char *const *starts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return 1;
	return 0;
}

static int is_word_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* @ending (".js") somewhere in @name and not the beginning of a longer word (".json"). */
static int has_ending(const char *name, const char *ending)
{
	for (const char *at = name; (at = strstr(at, ending)); at++)
		if (!is_word_character(at[strlen(ending)]))
			return 1;
	return 0;
}

static int is_function(const struct calltree_frame *frame)
{
	return frame->kind == CALLTREE_NATIVE || frame->kind == CALLTREE_JIT ||
	       frame->kind == CALLTREE_INLINE;
}

/* The class a suffix says, or PALETTE_CLASSES. */
static enum palette_class by_suffix(const char *name)
{
	size_t length = strlen(name);

	if (length < 4 || name[length - 4] != '_' || name[length - 3] != '[' ||
		name[length - 1] != ']')
		return PALETTE_CLASSES;
	switch (name[length - 2]) {
	case 'k':
		return PALETTE_KERNEL;
	case 'j':
		return PALETTE_GUEST;
	case 'i':
		return PALETTE_BUILTIN;
	default:
		return PALETTE_CLASSES;
	}
}

/* What is left of the functions when the language's own are known. */
static enum palette_class by_native_name(const char *name)
{
	return strstr(name, "::") ? PALETTE_CXX : (enum palette_class)CALLTREE_NATIVE;
}

enum palette_class palette_by_kind(const struct calltree_frame *frame)
{
	return (enum palette_class)frame->kind;
}

enum palette_class palette_by_module(const struct calltree_frame *frame)
{
	if (is_function(frame) || frame->kind == CALLTREE_UNNAMED)
		return frame->module[0] ? PALETTE_MODULE : (enum palette_class)CALLTREE_NATIVE;
	return (enum palette_class)frame->kind;
}

enum palette_class palette_java(const struct calltree_frame *frame)
{
	static const char *const packages[] = {"java", "javax", "jdk", "sun", "com", "org", "net",
		"io", "scala", "kotlin", "clojure", "groovy"};
	static const char *const made[] = {"Interpreter", "StubRoutines", "vtable ", "itable ",
		"I2C/C2I", "~", "Stub::", "MethodHandle", "call_stub"};
	const char *name = frame->name + (frame->name[0] == 'L');
	enum palette_class class = by_suffix(frame->name);

	if (!is_function(frame))
		return (enum palette_class)frame->kind;
	if (class != PALETTE_CLASSES)
		return class;
	if (frame->kind == CALLTREE_JIT)
		return begins_with_any(frame->name, made, COUNT(made)) ? PALETTE_BUILTIN
								       : PALETTE_GUEST;
	/* com/example/Main.run and com.example.Main.run; neither is how C names a function. */
	for (size_t i = 0; i < COUNT(packages); i++) {
		size_t length = strlen(packages[i]);

		if (!strncmp(name, packages[i], length) &&
			(name[length] == '/' || name[length] == '.'))
			return PALETTE_GUEST;
	}
	return by_native_name(frame->name);
}

enum palette_class palette_js(const struct calltree_frame *frame)
{
	static const char *const scripts[] = {
		"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
	static const char *const made[] = {
		"Builtin:", "Builtins_", "BytecodeHandler:", "Stub:", "RegExp:", "Handler:"};
	enum palette_class class = by_suffix(frame->name);

	if (!is_function(frame))
		return (enum palette_class)frame->kind;
	if (class != PALETTE_CLASSES)
		return class;
	if (begins_with_any(frame->name, made, COUNT(made)))
		return PALETTE_BUILTIN;
	if (frame->kind == CALLTREE_JIT || begins_with_any(frame->name, scripts, COUNT(scripts)) ||
		has_ending(frame->name, ".js") || has_ending(frame->name, ".mjs") ||
		has_ending(frame->name, ".cjs") || has_ending(frame->name, ".ts"))
		return PALETTE_GUEST;
	return by_native_name(frame->name);
}

enum palette_class palette_perl(const struct calltree_frame *frame)
{
	/* How perl's own source names what carries out a script. */
	static const char *const own[] = {"Perl", "perl_", "S_", "XS_"};
	enum palette_class class = by_suffix(frame->name);

	if (!is_function(frame))
		return (enum palette_class)frame->kind;
	if (class != PALETTE_CLASSES)
		return class;
	if (frame->kind == CALLTREE_JIT || begins_with_any(frame->name, own, COUNT(own)) ||
		strstr(frame->name, "Perl") || has_ending(frame->name, ".pl") ||
		has_ending(frame->name, ".pm"))
		return PALETTE_GUEST;
	return by_native_name(frame->name);
}
