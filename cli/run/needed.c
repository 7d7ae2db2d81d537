/* SPDX-License-Identifier: MIT */
/*
 * DT_NEEDED: offsets into the string table, whose address the segments turn into a place in the
 * file. Layout: elf(5).
 */
#include "cli/run/needed.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define DYNAMIC_ENTRIES_MAX 4096

static bool read_whole(int descriptor, void *out, size_t bytes, uint64_t offset)
{
	return offset <= INT64_MAX - bytes &&
	       pread(descriptor, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool entry_at(const struct needed_file *file, uint64_t i, ElfW(Dyn) * entry)
{
	return i < DYNAMIC_ENTRIES_MAX && i < file->dynamic_bytes / sizeof(*entry) &&
	       read_whole(file->descriptor, entry, sizeof(*entry),
		       file->dynamic_offset + i * sizeof(*entry)) &&
	       entry->d_tag != DT_NULL;
}

/* Where in the file the byte at @address of the unmoved image lies. */
static bool place_of(const struct needed_file *file, uint64_t address, uint64_t *offset)
{
	for (unsigned i = 0; i < file->header->e_phnum; i++) {
		ElfW(Phdr) segment;

		if (!read_whole(file->descriptor, &segment, sizeof(segment),
			    file->header->e_phoff + i * sizeof(segment)))
			return false;
		if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
			address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = segment.p_offset + (address - segment.p_vaddr);
		return true;
	}
	return false;
}

static bool find_strings(const struct needed_file *file, uint64_t *offset)
{
	ElfW(Dyn) entry;

	for (uint64_t i = 0; entry_at(file, i, &entry); i++)
		if (entry.d_tag == DT_STRTAB)
			return place_of(file, entry.d_un.d_ptr, offset);
	return false;
}

static bool begins(const char *name, const char *const *starts)
{
	for (; *starts; starts++)
		if (!strncmp(name, *starts, strlen(*starts)))
			return true;
	return false;
}

bool needed_find(const struct needed_file *file, const char *const *starts, char name[NEEDED_BYTES])
{
	char found[NEEDED_BYTES];
	uint64_t strings;
	ElfW(Dyn) entry;

	if (!find_strings(file, &strings))
		return false;
	for (uint64_t i = 0; entry_at(file, i, &entry); i++) {
		ssize_t bytes;

		if (entry.d_tag != DT_NEEDED || entry.d_un.d_val > UINT32_MAX ||
			strings > INT64_MAX - UINT32_MAX)
			continue;
		bytes = pread(file->descriptor, found, sizeof(found) - 1,
			(off_t)(strings + entry.d_un.d_val));
		if (bytes <= 0)
			continue;
		found[bytes] = '\0';
		if (!begins(found, starts))
			continue;
		strcpy(name, found);
		return true;
	}
	return false;
}
