/* SPDX-License-Identifier: MIT */
/*
 * From the tables of render/palette_schemes.c to colours, and from frames to places among them.
 */
#include "render/palette.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/fnv.h"
#include "render/palette_scheme.h"
#include "render/picture.h"

#define SCHEMES_MAX 32u

/* Hues for modules are given out in rounds, each of hues as far apart as can be. */
#define MODULE_ROUNDS 3u

static unsigned family_size(const struct palette_family *family)
{
	return family->hues * family->levels;
}

static unsigned first_place(const struct palette *palette, enum palette_class class)
{
	unsigned first = 0;

	for (unsigned i = 0; i < (unsigned)class; i++)
		first += family_size(&palette->scheme->families[i]);
	return first;
}

unsigned palette_size(const struct palette *palette)
{
	return first_place(palette, PALETTE_CLASSES);
}

unsigned palette_root(const struct palette *palette)
{
	return first_place(palette, PALETTE_ROOT);
}

unsigned palette_merged(const struct palette *palette)
{
	return first_place(palette, PALETTE_MERGED);
}

const char *palette_name(const struct palette *palette)
{
	return palette->scheme->name;
}

unsigned palette_place(const struct palette *palette, uint32_t frame)
{
	return palette->places[frame];
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = fnv_text(FNV_BEGIN, text);

	/* The low bits of this hash alone would tie the shade to the last letters. */
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

/* One entry for each name: weights of equal names are added up. Returns how many are left. */
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

/* The heaviest choose first, each the hue its name asks for if nobody has it. */
static void choose_hues(struct module *modules, uint32_t count, unsigned hues)
{
	unsigned per_round = hues / MODULE_ROUNDS;
	uint64_t taken = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned wish = (unsigned)(hash_text(modules[i].name) % per_round);
		unsigned round = i / per_round;

		/* More modules than hues: sharing begins. */
		if (i >= hues)
			taken = 0;
		round %= MODULE_ROUNDS;
		while (taken & UINT64_C(1) << (wish * MODULE_ROUNDS + round))
			wish = (wish + 1) % per_round;
		modules[i].hue = wish * MODULE_ROUNDS + round;
		taken |= UINT64_C(1) << modules[i].hue;
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

		palette->places[i] = (uint8_t)(first_place(palette, PALETTE_MODULE) +
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
	const struct palette_scheme *scheme = palette_schemes;

	while (name && scheme->name && strcmp(scheme->name, name))
		scheme++;
	return scheme->name ? scheme : NULL;
}

int palette_init(struct palette *palette, const char *name, const struct calltree *tree)
{
	uint32_t frames = calltree_frames(tree);
	int has_modules = 0, error = 0;

	*palette = (struct palette){.scheme = find_scheme(name)};
	if (!palette->scheme)
		return -EINVAL;
	palette->places = calloc((size_t)frames + 1, 1);
	if (!palette->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		const struct calltree_frame *frame = calltree_frame_at(tree, i);
		enum palette_class class = palette->scheme->classify(frame);
		unsigned shades = family_size(&palette->scheme->families[class]);

		has_modules |= class == PALETTE_MODULE;
		palette->places[i] =
			(uint8_t)(first_place(palette, class) + hash_text(frame->name) % shades);
	}
	if (has_modules)
		error = place_modules(palette, tree);
	if (error)
		palette_release(palette);
	return error;
}

void palette_release(struct palette *palette)
{
	free(palette->places);
	palette->places = NULL;
}

const char *const *palette_names(void)
{
	static const char *names[SCHEMES_MAX + 1];

	for (unsigned i = 0; i < SCHEMES_MAX && palette_schemes[i].name; i++)
		names[i] = palette_schemes[i].name;
	return names;
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

static double between(struct palette_range range, unsigned step, unsigned steps)
{
	return steps > 1 ? range.from + (range.to - range.from) * step / (steps - 1) : range.from;
}

struct palette_color palette_at(const struct palette *palette, unsigned place, int dark)
{
	const struct palette_family *family = palette->scheme->families;

	while (place >= family_size(family))
		place -= family_size(family++);
	unsigned hue = place / family->levels, level = place % family->levels;
	double chroma = between(family->chroma, hue, family->hues);
	struct palette_range lift = {0, dark ? family->lift / 4 : family->lift};

	return from_oklch(between(dark ? family->dark : family->light, level, family->levels) +
				  between(lift, hue, family->hues),
		dark ? chroma * 0.78 : chroma, between(family->hue, hue, family->hues));
}
