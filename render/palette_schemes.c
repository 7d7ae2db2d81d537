/* SPDX-License-Identifier: MIT */
/*
 * The palettes. Numbers are OKLCH, where equal steps look equal: all shades of a family carry the
 * same text colour with the same contrast.
 */
#include <stddef.h>

#include "render/palette_scheme.h"

/* clang-format off: the numbers are read in columns. */

/* As light as text on them allows. */
#define DARK {0.44, 0.51}

/* The same in every palette: greys for what has no name and for merged boxes ... */
#define GREYS \
	[CALLTREE_UNNAMED]   = {1, 4, { 60,  60}, {0.012, 0.012}, {0.80, 0.86}, {0.42, 0.48}, 0}, \
	[CALLTREE_SYNTHETIC] = {1, 4, {255, 255}, {0.028, 0.028}, {0.80, 0.86}, {0.42, 0.48}, 0}, \
	[PALETTE_ROOT]       = {1, 1, {260, 260}, {0.008, 0.008}, {0.90, 0.90}, {0.36, 0.36}, 0}, \
	[PALETTE_MERGED]     = {1, 1, { 80,  80}, {0.014, 0.014}, {0.85, 0.85}, {0.38, 0.38}, 0}

/* ... and blue greys for processes and threads. */
#define NO_FUNCTIONS \
	GREYS, \
	[CALLTREE_PROCESS]   = {2, 2, {250, 275}, {0.055, 0.055}, {0.80, 0.84}, {0.43, 0.47}, 0}, \
	[CALLTREE_THREAD]    = {2, 2, {205, 225}, {0.050, 0.050}, {0.82, 0.86}, {0.43, 0.47}, 0}

/* All functions of one range of hues, inlined ones paler. */
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
 * What users of such palettes know: green is the language's, aqua its engine's, yellow C++, orange
 * the kernel's, red the rest.
 */
#define LANGUAGE { \
	NO_FUNCTIONS, \
	[CALLTREE_NATIVE] = {4, 4, { 18,  36}, {0.115, 0.115}, {0.745, 0.81}, DARK, 0}, \
	[PALETTE_GUEST]   = {4, 4, {132, 152}, {0.125, 0.125}, {0.79,  0.86}, DARK, 0}, \
	[PALETTE_BUILTIN] = {3, 4, {192, 212}, {0.085, 0.085}, {0.80,  0.86}, DARK, 0}, \
	[PALETTE_CXX]     = {3, 4, { 92, 104}, {0.125, 0.125}, {0.85,  0.90}, DARK, 0}, \
	[PALETTE_KERNEL]  = {3, 4, { 56,  68}, {0.130, 0.130}, {0.78,  0.83}, DARK, 0}, \
}

const struct palette_scheme palette_schemes[] = {
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
	 * Blue through grey to yellow, rising in lightness: the axis that is left to eyes without
	 * red or green cones, after the colour map cividis (Nuñez, Anderton, Renslow 2018).
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
	 * A hue for each kind of code, from the set of eight by Okabe and Ito (2002): orange to
	 * yellow, bluish green, reddish purple for inlined code, sky blue and blue for threads and
	 * processes; kept apart by lightness too.
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
	{NULL, NULL, {{0}}},
};
