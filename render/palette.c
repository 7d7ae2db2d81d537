/* SPDX-License-Identifier: MIT */
/*
 * The table is computed in OKLCH, where equal steps look equal: all shades of a family carry the
 * same text colour with the same contrast. Families: warm for native code, green for compiled at
 * run time, paler warm for inlined, grey for what has no name, blue greys for what is not a
 * function.
 */
#include "render/palette.h"

#include <math.h>

#include "render/picture.h"

/* A family's shades run through @hues hues and @levels lightnesses, in that order. */
struct family {
	unsigned first;
	unsigned hues, levels;
	double hue_from, hue_to; /* degrees */
	double chroma;
	double light_from, light_to; /* OKLCH lightness on a light background */
	double dark_from, dark_to;   /* and on a dark one */
	double lift; /* added up to the last hue on light: yellows as dark as reds look like mud */
};

enum {
	ROOT = CALLTREE_KINDS,
	MERGED,
	FAMILIES
};

#define SHADES(first, hues, levels) (first), (hues), (levels)
static const struct family families[FAMILIES] = {
	[CALLTREE_NATIVE] = {SHADES(0, 8, 4), 34, 84, 0.112, 0.765, 0.835, 0.45, 0.52, 0.05},
	[CALLTREE_JIT] = {SHADES(32, 6, 4), 130, 172, 0.095, 0.79, 0.86, 0.45, 0.52, 0},
	[CALLTREE_UNNAMED] = {SHADES(56, 1, 4), 60, 60, 0.012, 0.80, 0.86, 0.42, 0.48, 0},
	[CALLTREE_SYNTHETIC] = {SHADES(60, 1, 4), 255, 255, 0.028, 0.80, 0.86, 0.42, 0.48, 0},
	[CALLTREE_PROCESS] = {SHADES(64, 2, 2), 250, 275, 0.055, 0.80, 0.84, 0.43, 0.47, 0},
	[CALLTREE_THREAD] = {SHADES(68, 2, 2), 205, 225, 0.050, 0.82, 0.86, 0.43, 0.47, 0},
	[CALLTREE_INLINE] = {SHADES(72, 8, 2), 40, 84, 0.072, 0.845, 0.88, 0.42, 0.47, 0.03},
	[ROOT] = {SHADES(88, 1, 1), 260, 260, 0.008, 0.90, 0.90, 0.36, 0.36, 0},
	[MERGED] = {SHADES(89, 1, 1), 80, 80, 0.014, 0.85, 0.85, 0.38, 0.38, 0},
};
#undef SHADES

_Static_assert(90 <= PALETTE_MAX, "the last family ends within the table");

unsigned palette_size(void)
{
	return families[MERGED].first + 1;
}

unsigned palette_root(void)
{
	return families[ROOT].first;
}

unsigned palette_merged(void)
{
	return families[MERGED].first;
}

unsigned palette_place(const char *name, enum calltree_frame_kind kind)
{
	const struct family *family = &families[(unsigned)kind < CALLTREE_KINDS ? kind : 0];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	/* The low bits of this hash alone would tie the shade to the last letters. */
	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	hash ^= hash >> 32;
	return family->first + (unsigned)(hash % (family->hues * family->levels));
}

static uint8_t encode(double linear)
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
		encode(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
		encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
		encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s),
	};
}

static double between(double from, double to, unsigned step, unsigned steps)
{
	return steps > 1 ? from + (to - from) * step / (steps - 1) : from;
}

struct palette_color palette_at(unsigned place, int dark)
{
	const struct family *family = families;

	for (unsigned i = 1; i < FAMILIES; i++)
		if (place >= families[i].first && families[i].first > family->first)
			family = &families[i];
	unsigned shade = place - family->first;
	unsigned hue = shade / family->levels, level = shade % family->levels;

	double lightness =
		dark ? between(family->dark_from, family->dark_to, level, family->levels)
		     : between(family->light_from, family->light_to, level, family->levels);

	return from_oklch(
		lightness + between(0, dark ? family->lift / 4 : family->lift, hue, family->hues),
		dark ? family->chroma * 0.78 : family->chroma,
		between(family->hue_from, family->hue_to, hue, family->hues));
}

const char *const *palette_names(void)
{
	static const char *const names[] = {"hot", NULL};

	return names;
}
