/* SPDX-License-Identifier: MIT */
/*
 * Classify frames, define the palettes and compute colours.
 *
 * Folded stacks from other profilers mark frames by suffixes: _[k] kernel, _[j] compiled at run
 * time, _[i] inlined.
 */
#include "render/palette.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/fnv.h"
#include "render/picture.h"

/* The heaviest modules share every third hue, so their hues are far apart; others get the rest. */
#define MODULE_ROUNDS 3u

/* ---- classes of frames ----------------------------------------------------------------------- */

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

/* Does @name contain @ending (".js")? If a word continues after it (".json"), it does not count. */
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

/* Returns the class for a suffix such as "_[k]", or PALETTE_CLASSES if @name has none. */
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

/* Returns the class of a function that does not belong to the palette's language. */
static enum palette_class by_native_name(const char *name)
{
	return strstr(name, "::") ? PALETTE_CXX : (enum palette_class)CALLTREE_NATIVE;
}

static enum palette_class palette_by_kind(const struct calltree_frame *frame)
{
	return (enum palette_class)frame->kind;
}

static enum palette_class palette_by_module(const struct calltree_frame *frame)
{
	if (is_function(frame) || frame->kind == CALLTREE_UNNAMED)
		return frame->module[0] ? PALETTE_MODULE : (enum palette_class)CALLTREE_NATIVE;
	return (enum palette_class)frame->kind;
}

const struct palette_wait palette_waits[PALETTE_WAITS] = {
	{"lock", "lock", PALETTE_LOCK},
	{"io", "input, output", PALETTE_IO},
	{"sleep", "sleep", PALETTE_SLEEP},
	{"child", "child process", PALETTE_CHILD},
	{"disk", "disk, page fault", PALETTE_DISK},
	{"cpu", "ready, no CPU free", PALETTE_READY},
	{"", "not known", (enum palette_class)CALLTREE_WAIT},
};

unsigned palette_wait_kind(const struct calltree_frame *frame)
{
	unsigned i = 0;

	while (i < PALETTE_WAITS - 1 && strcmp(palette_waits[i].module, frame->module))
		i++;
	return i;
}

_Static_assert(PALETTE_GONE - PALETTE_INSIGNIFICANT == PICTURE_GONE - PICTURE_INSIGNIFICANT,
	"verdicts and their classes have one order");

/* Returns the class of @frame. Waits have the same classes and colours in every palette. */
enum palette_class palette_class_of(
	const struct palette *palette, const struct calltree_frame *frame)
{
	const struct picture_verdicts *verdicts = palette->verdicts;
	enum picture_verdict verdict =
		verdicts ? verdicts->judge(frame, verdicts->context) : PICTURE_INSIGNIFICANT;

	if (frame->kind == CALLTREE_WAIT && verdict == PICTURE_INSIGNIFICANT)
		return palette_waits[palette_wait_kind(frame)].class;
	return verdicts ? (enum palette_class)(PALETTE_INSIGNIFICANT + (int)verdict)
			: palette->scheme->classify(frame);
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
	/* com/example/Main.run and com.example.Main.run are Java: C has no such names. */
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
	/* Prefixes of the names of perl's own C functions. */
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

/* ---- the palettes ---------------------------------------------------------------------------- */

/*
 * The numbers in the palettes are OKLCH, in which equal steps look equal: text in one colour has
 * the same contrast on all shades of a family.
 */

/* clang-format off: the numbers stand in columns. */

/* Lightness of boxes on a dark background: as light as possible under light text. */
#define DARK {0.44, 0.51}

/*
 * Each kind of wait has one shade, equal in every palette, so that a legend can show it. Functions
 * seldom have these hues, and the lightnesses differ for readers without red or green cones.
 */
#define WAIT(hue, chroma, light, dark) \
	{1, 1, {hue, hue}, {chroma, chroma}, {light, light}, {dark, dark}, 0}
#define WAITS \
	[PALETTE_LOCK]  = WAIT(355, 0.061, 0.695, 0.398), \
	[PALETTE_SLEEP] = WAIT(290, 0.021, 0.922, 0.300), \
	[PALETTE_IO]    = WAIT(254, 0.095, 0.814, 0.505), \
	[PALETTE_CHILD] = WAIT(148, 0.071, 0.800, 0.526), \
	[PALETTE_DISK]  = WAIT(275, 0.130, 0.692, 0.369), \
	[PALETTE_READY] = WAIT( 95, 0.130, 0.907, 0.448), \
	[CALLTREE_WAIT] = WAIT(300, 0.015, 0.830, 0.450)

/* Greys for frames without a name and for merged boxes; every palette has them. */
#define GREYS \
	[CALLTREE_UNNAMED]   = {1, 4, { 60,  60}, {0.012, 0.012}, {0.80, 0.86}, {0.42, 0.48}, 0}, \
	[CALLTREE_SYNTHETIC] = {1, 4, {255, 255}, {0.028, 0.028}, {0.80, 0.86}, {0.42, 0.48}, 0}, \
	[CALLTREE_KERNEL]    = {1, 3, { 20,  20}, {0.060, 0.060}, {0.78, 0.84}, {0.42, 0.48}, 0}, \
	[CALLTREE_IDLE]      = {1, 1, {255, 255}, {0.020, 0.020}, {0.88, 0.88}, {0.40, 0.40}, 0}, \
	WAITS, \
	[PALETTE_ROOT]       = {1, 1, {260, 260}, {0.008, 0.008}, {0.90, 0.90}, {0.36, 0.36}, 0}, \
	[PALETTE_MERGED]     = {1, 1, { 80,  80}, {0.014, 0.014}, {0.85, 0.85}, {0.38, 0.38}, 0}

/* Colours of frames that are not functions: greys, and blue greys for processes and threads. */
#define NO_FUNCTIONS \
	GREYS, \
	[CALLTREE_PROCESS]   = {2, 2, {250, 275}, {0.055, 0.055}, {0.80, 0.84}, {0.43, 0.47}, 0}, \
	[CALLTREE_THREAD]    = {2, 2, {205, 225}, {0.050, 0.050}, {0.82, 0.86}, {0.43, 0.47}, 0}

/* A palette with one range of hues for all functions; inlined functions are paler. */
#define RANGE(hue_from, hue_to, chroma, light_from, light_to) { \
	NO_FUNCTIONS, \
	[CALLTREE_NATIVE] = {8, 4, {hue_from, hue_to}, {chroma, chroma}, \
			     {light_from, light_to}, DARK, 0}, \
	[CALLTREE_JIT]    = {8, 4, {hue_from, hue_to}, {chroma, chroma}, \
			     {light_from, light_to}, DARK, 0}, \
	[CALLTREE_INLINE] = {6, 1, {hue_from, hue_to}, {(chroma) * 0.62, (chroma) * 0.62}, \
			     {(light_to) + 0.04, (light_to) + 0.04}, {0.43, 0.43}, 0}, \
}

/*
 * A palette for one language, with the colours that other flame-graph tools use: green for
 * functions of the language, aqua for its engine, yellow for C++, orange for the kernel, red for
 * everything else.
 */
#define LANGUAGE { \
	NO_FUNCTIONS, \
	[CALLTREE_NATIVE] = {4, 4, { 18,  36}, {0.115, 0.115}, {0.745, 0.81}, DARK, 0}, \
	[PALETTE_GUEST]   = {4, 4, {132, 152}, {0.125, 0.125}, {0.79,  0.86}, DARK, 0}, \
	[PALETTE_BUILTIN] = {3, 4, {192, 212}, {0.085, 0.085}, {0.80,  0.86}, DARK, 0}, \
	[PALETTE_CXX]     = {3, 4, { 92, 104}, {0.125, 0.125}, {0.85,  0.90}, DARK, 0}, \
	[PALETTE_KERNEL]  = {3, 4, { 56,  68}, {0.130, 0.130}, {0.78,  0.83}, DARK, 0}, \
}

/* The first palette is the default. */
static const struct palette_scheme palette_schemes[] = {
	{"hot", palette_by_kind, {
		NO_FUNCTIONS,
		[CALLTREE_NATIVE] = {8, 4, { 34,  84}, {0.112, 0.112}, {0.765, 0.835},
				     {0.45, 0.52}, 0.05},
		[CALLTREE_JIT]    = {6, 4, {130, 172}, {0.095, 0.095}, {0.79, 0.86},
				     {0.45, 0.52}, 0},
		[CALLTREE_INLINE] = {8, 2, { 40,  84}, {0.072, 0.072}, {0.845, 0.88},
				     {0.42, 0.47}, 0.03},
	}},
	{"mem",    palette_by_kind, RANGE(138, 184, 0.105, 0.775, 0.845)},
	{"io",     palette_by_kind, RANGE(258, 292, 0.090, 0.735, 0.805)},
	{"aqua",   palette_by_kind, RANGE(188, 222, 0.085, 0.780, 0.850)},
	{"java",   palette_java, LANGUAGE},
	{"js",     palette_js, LANGUAGE},
	{"perl",   palette_perl, LANGUAGE},
	{"red",    palette_by_kind, RANGE( 18,  34, 0.125, 0.725, 0.800)},
	{"green",  palette_by_kind, RANGE(126, 150, 0.135, 0.780, 0.850)},
	{"blue",   palette_by_kind, RANGE(232, 258, 0.095, 0.740, 0.820)},
	{"yellow", palette_by_kind, RANGE( 90, 108, 0.135, 0.845, 0.905)},
	{"purple", palette_by_kind, RANGE(306, 330, 0.105, 0.745, 0.815)},
	{"orange", palette_by_kind, RANGE( 52,  72, 0.130, 0.770, 0.840)},
	{"by-module", palette_by_module, {
		NO_FUNCTIONS,
		[CALLTREE_NATIVE] = { 1, 4, {80,  80}, {0.035, 0.035}, {0.84,  0.89}, DARK, 0},
		[PALETTE_MODULE]  = {18, 3, {30, 370}, {0.095, 0.095}, {0.785, 0.85}, DARK, 0},
	}},
	/*
	 * Blue through grey to yellow with rising lightness, which readers without red or green
	 * cones can distinguish, after the colour map cividis (Nuñez, Anderton, Renslow 2018).
	 */
	{"cividis", palette_by_kind, {
		NO_FUNCTIONS,
		[CALLTREE_NATIVE] = {10, 3, {88, 88}, {-0.085, 0.125}, {0.715, 0.755},
				     {0.42, 0.46}, 0.12},
		[CALLTREE_JIT]    = { 6, 3, {88, 88}, {-0.085, 0.125}, {0.715, 0.755},
				     {0.42, 0.46}, 0.12},
		[CALLTREE_INLINE] = { 4, 3, {88, 88}, {-0.045, 0.070}, {0.80, 0.83},
				     {0.40, 0.43}, 0.06},
	}},
	/*
	 * One hue per kind of code, of the eight of Okabe and Ito (2002), which differ in
	 * lightness.
	 */
	{"okabe-ito", palette_by_kind, {
		GREYS,
		[CALLTREE_NATIVE]  = {6, 4, { 62, 100}, {0.135, 0.135}, {0.77, 0.81}, DARK, 0.08},
		[CALLTREE_JIT]     = {2, 4, {162, 170}, {0.115, 0.115}, {0.68, 0.72},
				      {0.38, 0.42}, 0},
		[CALLTREE_INLINE]  = {2, 4, {345, 352}, {0.095, 0.095}, {0.72, 0.76},
				      {0.45, 0.49}, 0},
		[CALLTREE_THREAD]  = {1, 4, {232, 232}, {0.095, 0.095}, {0.74, 0.80},
				      {0.43, 0.48}, 0},
		[CALLTREE_PROCESS] = {1, 4, {248, 248}, {0.110, 0.110}, {0.68, 0.72},
				      {0.40, 0.44}, 0},
	}},
};

/* A family with a single shade. */
#define VERDICT(hue, chroma, light, dark) \
	{1, 1, {hue, hue}, {chroma, chroma}, {light, light}, {dark, dark}, 0}
#define NO_VERDICT {1, 3, {260, 260}, {0.004, 0.004}, {0.84, 0.885}, {0.36, 0.41}, 0}

/*
 * Palettes for comparisons. Functions that changed stand out, functions that changed only because
 * their callers or callees did are pale, and functions without a significant change are grey. "hot"
 * uses red and blue; "okabe-ito" uses orange and blue of different lightness.
 */
static const struct palette_scheme verdict_schemes[] = {
	{"hot", palette_by_kind, {
		GREYS,
		[PALETTE_INSIGNIFICANT]    = NO_VERDICT,
		[PALETTE_SLOWER]           = VERDICT( 27, 0.150, 0.710, 0.500),
		[PALETTE_SLOWER_BY_OTHERS] = VERDICT( 27, 0.055, 0.860, 0.430),
		[PALETTE_FASTER]           = VERDICT(252, 0.120, 0.730, 0.490),
		[PALETTE_FASTER_BY_OTHERS] = VERDICT(252, 0.045, 0.870, 0.420),
		[PALETTE_NEW]              = VERDICT(345, 0.140, 0.740, 0.480),
		[PALETTE_GONE]             = VERDICT(195, 0.090, 0.790, 0.460),
	}},
	{"okabe-ito", palette_by_kind, {
		GREYS,
		[PALETTE_INSIGNIFICANT]    = NO_VERDICT,
		[PALETTE_SLOWER]           = VERDICT( 62, 0.140, 0.770, 0.520),
		[PALETTE_SLOWER_BY_OTHERS] = VERDICT( 72, 0.065, 0.880, 0.440),
		[PALETTE_FASTER]           = VERDICT(250, 0.110, 0.760, 0.500),
		[PALETTE_FASTER_BY_OTHERS] = VERDICT(250, 0.050, 0.880, 0.420),
		[PALETTE_NEW]              = VERDICT(100, 0.150, 0.900, 0.540),
		[PALETTE_GONE]             = VERDICT(265, 0.130, 0.690, 0.400),
	}},
};

/* clang-format on */

/* ---- places and colours ---------------------------------------------------------------------- */

static unsigned family_size(const struct palette_family *family)
{
	return family->hues * family->levels;
}

unsigned palette_first_index(const struct palette *palette, enum palette_class class)
{
	unsigned first = 0;

	for (unsigned i = 0; i < (unsigned)class; i++)
		first += family_size(&palette->scheme->families[i]);
	return first;
}

unsigned palette_size(const struct palette *palette)
{
	return palette_first_index(palette, PALETTE_CLASSES);
}

unsigned palette_root(const struct palette *palette)
{
	return palette_first_index(palette, PALETTE_ROOT);
}

unsigned palette_merged(const struct palette *palette)
{
	return palette_first_index(palette, PALETTE_MERGED);
}

const char *palette_name(const struct palette *palette)
{
	return palette->scheme->name;
}

unsigned palette_index(const struct palette *palette, uint32_t frame)
{
	return palette->indices[frame];
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = fnv_text(FNV_BEGIN, text, SIZE_MAX);

	/* Mix the hash, because its low bits depend mostly on the name's last letters. */
	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 32;
}

struct module {
	const char *name;
	uint64_t weight;
	unsigned hue;
};

static int compare_names(const void *left, const void *right)
{
	const struct module *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int compare_weights(const void *left, const void *right)
{
	const struct module *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Merge entries of equal names and add up their weights. Returns the number of entries left. */
static uint32_t merge_modules(struct module *modules, uint32_t count)
{
	uint32_t kept = 0;

	qsort(modules, count, sizeof(*modules), compare_names);
	for (uint32_t i = 0; i < count; i++) {
		if (kept && !strcmp(modules[kept - 1].name, modules[i].name))
			modules[kept - 1].weight += modules[i].weight;
		else
			modules[kept++] = modules[i];
	}
	return kept;
}

/*
 * Choose a hue for each module, beginning with the heaviest: the first unused hue after the one
 * that the hash of its name selects. By the hash alone, two of five modules would often get the
 * same colour.
 */
static void choose_hues(struct module *modules, uint32_t count, unsigned hues)
{
	unsigned per_round = hues / MODULE_ROUNDS;
	uint64_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned hue = (unsigned)(hash_text(modules[i].name) % per_round);
		unsigned round = i / per_round;

		/* There are more modules than hues: make all hues free again. */
		if (i >= hues)
			used = 0;
		round %= MODULE_ROUNDS;
		while (used & UINT64_C(1) << (hue * MODULE_ROUNDS + round))
			hue = (hue + 1) % per_round;
		modules[i].hue = hue * MODULE_ROUNDS + round;
		used |= UINT64_C(1) << modules[i].hue;
	}
}

static int place_modules(struct palette *palette, const struct calltree *tree)
{
	const struct palette_family *family = &palette->scheme->families[PALETTE_MODULE];
	uint32_t frames = calltree_frames(tree), count = 0;
	uint64_t *weights = calloc((size_t)frames + 1, sizeof(*weights));
	struct module *modules = calloc((size_t)frames + 1, sizeof(*modules));
	int error = -ENOMEM;

	if (!weights || !modules)
		goto out;
	for (uint32_t i = 1; i < calltree_nodes(tree); i++)
		weights[calltree_node_at(tree, i)->frame] += calltree_node_at(tree, i)->self;
	for (uint32_t i = 0; i < frames; i++)
		if (palette->scheme->classify(calltree_frame_at(tree, i)) == PALETTE_MODULE)
			modules[count++] =
				(struct module){calltree_frame_at(tree, i)->module, weights[i], 0};
	count = merge_modules(modules, count);
	qsort(modules, count, sizeof(*modules), compare_weights);
	choose_hues(modules, count, family->hues);
	qsort(modules, count, sizeof(*modules), compare_names);
	for (uint32_t i = 0; i < frames; i++) {
		const struct calltree_frame *frame = calltree_frame_at(tree, i);
		struct module wanted = {frame->module, 0, 0};

		if (palette->scheme->classify(frame) != PALETTE_MODULE)
			continue;
		const struct module *module =
			bsearch(&wanted, modules, count, sizeof(*modules), compare_names);

		palette->indices[i] = (uint8_t)(palette_first_index(palette, PALETTE_MODULE) +
						module->hue * family->levels +
						hash_text(frame->name) % family->levels);
	}
	error = 0;
out:
	free(weights);
	free(modules);
	return error;
}

static const struct palette_scheme *find_scheme(const char *name)
{
	if (!name)
		return &palette_schemes[0];
	for (size_t i = 0; i < COUNT(palette_schemes); i++)
		if (!strcmp(palette_schemes[i].name, name))
			return &palette_schemes[i];
	return NULL;
}

/* Returns the palette for comparisons that is most similar to @scheme. */
static const struct palette_scheme *find_verdict_scheme(const struct palette_scheme *scheme)
{
	bool is_for_all = !strcmp(scheme->name, "okabe-ito") || !strcmp(scheme->name, "cividis");

	return &verdict_schemes[is_for_all];
}

int palette_init(struct palette *palette, const char *name, const struct calltree *tree)
{
	return palette_init_verdicts(palette, name, tree, NULL);
}

int palette_init_verdicts(struct palette *palette, const char *name, const struct calltree *tree,
	const struct picture_verdicts *verdicts)
{
	uint32_t frames = calltree_frames(tree);
	int has_modules = 0, error = 0;

	*palette = (struct palette){.scheme = find_scheme(name), .verdicts = verdicts};
	if (!palette->scheme)
		return -EINVAL;
	if (verdicts)
		palette->scheme = find_verdict_scheme(palette->scheme);
	palette->indices = calloc((size_t)frames + 1, 1);
	if (!palette->indices)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		const struct calltree_frame *frame = calltree_frame_at(tree, i);
		enum palette_class class = palette_class_of(palette, frame);
		unsigned shades = family_size(&palette->scheme->families[class]);

		has_modules |= class == PALETTE_MODULE;
		palette->indices[i] = (uint8_t)(palette_first_index(palette, class) +
						hash_text(frame->name) % shades);
	}
	if (has_modules)
		error = place_modules(palette, tree);
	if (error)
		palette_release(palette);
	return error;
}

void palette_release(struct palette *palette)
{
	free(palette->indices);
	palette->indices = NULL;
}

const char *const *palette_names(void)
{
	static const char *names[COUNT(palette_schemes) + 1];

	for (size_t i = 0; i < COUNT(palette_schemes); i++)
		names[i] = palette_schemes[i].name;
	return names;
}

static uint8_t encode_srgb(double linear)
{
	double value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;

	return value <= 0 ? 0 : value >= 1 ? 255 : (uint8_t)(value * 255 + 0.5);
}

/* OKLab to sRGB: Björn Ottosson, "A perceptual color space for image processing" (2020). */
static struct palette_color from_oklch(double lightness, double chroma, double hue)
{
	double a = chroma * cos(hue * M_PI / 180), b = chroma * sin(hue * M_PI / 180);
	double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
	double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
	double s = lightness - 0.0894841775 * a - 1.2914855480 * b;

	l = l * l * l;
	m = m * m * m;
	s = s * s * s;
	return (struct palette_color){
		encode_srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
		encode_srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
		encode_srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s),
	};
}

static double interpolate(struct palette_range range, unsigned step, unsigned steps)
{
	return steps > 1 ? range.from + (range.to - range.from) * step / (steps - 1) : range.from;
}

struct palette_color palette_at(const struct palette *palette, unsigned index, int dark)
{
	const struct palette_family *family = palette->scheme->families;

	while (index >= family_size(family))
		index -= family_size(family++);
	unsigned hue = index / family->levels, level = index % family->levels;
	double chroma = interpolate(family->chroma, hue, family->hues);
	struct palette_range lift = {0, dark ? family->lift / 4 : family->lift};

	return from_oklch(interpolate(dark ? family->dark : family->light, level, family->levels) +
				  interpolate(lift, hue, family->hues),
		dark ? chroma * 0.78 : chroma, interpolate(family->hue, hue, family->hues));
}
