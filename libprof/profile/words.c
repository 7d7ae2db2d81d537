/* SPDX-License-Identifier: MIT */
/*
 * What programs say of themselves, into a profile: modules, names of code, marks. They may say
 * anything, as often as they like.
 */
#include <errno.h>
#include <string.h>

#include "libprof/profile/tables.h"

int profile_add_module(struct flameprof_profile *p, uint32_t image,
	const struct names_module *module, const char *path)
{
	struct names_module added = *module;
	int error;

	added.image = image;
	error = names_add_module(&p->names, &p->account, &added, path);
	return error == -EINVAL ? error : profile_fail(p, error);
}

/* The names of @image's code, to add to; NULL without memory. */
static struct names *words_of(struct flameprof_profile *p, uint32_t image)
{
	struct pages *words = image ? &profile_image_at(p, image)->words : NULL;

	if (!words)
		return &p->names;
	return pages_reserve(&p->account, words, sizeof(struct names)) ? NULL : words->at;
}

/* Count the @bytes of words that were added with @error. Returns that. */
static int count_words(struct flameprof_profile *p, size_t bytes, int error)
{
	if (!error)
		p->words_bytes += bytes;
	return error == -ENOMEM ? profile_fail(p, error) : error;
}

int profile_add_code(struct flameprof_profile *p, uint32_t image, const struct names_code *code,
	const char *name, const char *file)
{
	size_t bytes = sizeof(*code) + strlen(name) + strlen(file) + 2;
	struct names *words;

	if (!name[0] || !code->bytes)
		return 0;
	if (bytes > p->words_max - p->words_bytes)
		return -ENOSPC;
	words = words_of(p, image);
	return count_words(p, bytes,
		words ? names_add_function(words, &p->account, code, name, file) : -ENOMEM);
}

int profile_add_mark(
	struct flameprof_profile *p, uint64_t time_ns, uint32_t tid, const char *name)
{
	size_t bytes = sizeof(struct profile_mark) + strlen(name) + 1;
	uint32_t offset;
	int error;

	if (p->mark_count >= p->marks_max || bytes > p->words_max - p->words_bytes)
		return -ENOSPC;
	error = pages_reserve(&p->account, &p->marks,
		((size_t)p->mark_count + 1) * sizeof(struct profile_mark));
	if (!error)
		error = names_add_string(&p->names, &p->account, name, &offset);
	if (!error)
		*profile_mark_at(p, p->mark_count++) = (struct profile_mark){time_ns, tid, offset};
	return count_words(p, bytes, error);
}
