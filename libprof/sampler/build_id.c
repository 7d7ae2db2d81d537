/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
#include "libprof/sampler/build_id.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>

/* Look through one PT_NOTE segment for NT_GNU_BUILD_ID. */
static const uint8_t *in_notes(uintptr_t at, uintptr_t end, uint32_t *bytes)
{
	while (end - at >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		uint64_t name = ((uint64_t)note->n_namesz + 3) & ~3ULL;
		uint64_t desc = ((uint64_t)note->n_descsz + 3) & ~3ULL;

		at += sizeof(*note);
		if (name + desc > end - at)
			return NULL;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			*(const uint32_t *)at == 0x00554e47 /* "GNU" */ && note->n_descsz >= 8) {
			*bytes = note->n_descsz;
			return (const uint8_t *)(at + name);
		}
		at += name + desc;
	}
	return NULL;
}

const uint8_t *build_id_find(const struct unwind_module *module, uint32_t *bytes)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->start;
	const ElfW(Phdr) *segments;

	if (!unwind_module_covers(module, module->start, sizeof(*header)) ||
		*(const uint32_t *)header != 0x464c457f /* "\177ELF" */ ||
		header->e_phentsize != sizeof(*segments) ||
		header->e_phoff > WIRE_PAGE ||
		header->e_phoff + (uint64_t)header->e_phnum * sizeof(*segments) > WIRE_PAGE)
		return NULL;
	segments = (const ElfW(Phdr) *)(module->start + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		uintptr_t at = module->bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_NOTE || at % 4 ||
			!unwind_module_covers(module, at, segments[i].p_memsz))
			continue;
		const uint8_t *id = in_notes(at, at + segments[i].p_memsz, bytes);
		if (id)
			return id;
	}
	return NULL;
}
