/* SPDX-License-Identifier: MIT */
/*
 * Read headers, segments and the dynamic section of a file that is not loaded, by raw system calls
 * and with memory on the stack. The first bytes of the file are read at once, because they usually
 * contain everything that is needed.
 */
#include "libprof/preload/elf_program.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "arch/syscall.h"

#define PROGRAM_HEADERS_BYTES_MAX 65536 /* the kernel's limit */
#define DYNAMIC_ENTRIES_MAX	  4096
#define FIRST_BYTES		  1024
#define ENTRIES_AT_ONCE		  32
#define LOADER_TAIL_BYTES	  32

/*
 * This library's own ELF header. A program can load the library only if class, byte order and
 * machine are the same.
 */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct file {
	int descriptor;
	ElfW(Ehdr) header;
	ElfW(Phdr) segment; /* the segment read last */
	/*
	 * The beginning of the file, which usually contains the program headers and the loader's
	 * name.
	 */
	char first[FIRST_BYTES];
	size_t first_bytes;
};

/* Facts from the dynamic section. */
struct dynamic {
	int is_whole, has_soname, is_pie, has_needed;
	/* Offset of the first DT_NEEDED name in the string table. */
	uint64_t needed;
	uint64_t soname;
	/* Virtual address of the string table, without load bias. */
	uint64_t strings;
};

static void read_first(struct file *file, int descriptor)
{
	long bytes = arch_syscall4(SYS_pread64, descriptor, file->first, FIRST_BYTES, 0);

	file->descriptor = descriptor;
	file->first_bytes = bytes > 0 ? (size_t)bytes : 0;
}

static int read_at(const struct file *file, void *out, size_t bytes, uint64_t offset)
{
	if (offset <= file->first_bytes && bytes <= file->first_bytes - offset) {
		memcpy(out, file->first + offset, bytes);
		return 0;
	}
	if (offset > INT64_MAX - bytes ||
		arch_syscall4(SYS_pread64, file->descriptor, out, bytes, offset) != (long)bytes)
		return -ENOEXEC;
	return 0;
}

/* Returns program header number @i, valid until the next call, or NULL if it cannot be read. */
static const ElfW(Phdr) *segment_at(struct file *file, unsigned i)
{
	const ElfW(Ehdr) *header = &file->header;

	if (header->e_phoff > INT64_MAX - PROGRAM_HEADERS_BYTES_MAX ||
		read_at(file, &file->segment, sizeof(file->segment),
			header->e_phoff + i * sizeof(file->segment)))
		return NULL;
	return &file->segment;
}

/*
 * Read the dynamic section as far as it is readable. An unreadable part is no error, because the
 * kernel starts a program without reading this section.
 */
static void read_dynamic(const struct file *file, const ElfW(Phdr) *segment, struct dynamic *out)
{
	uint64_t count = segment->p_filesz / sizeof(ElfW(Dyn)), offset = segment->p_offset;
	ElfW(Dyn) entries[ENTRIES_AT_ONCE];

	for (uint64_t i = 0; i < count && i < DYNAMIC_ENTRIES_MAX; i++) {
		const ElfW(Dyn) *entry = &entries[i % ENTRIES_AT_ONCE];
		uint64_t rest = count - i < ENTRIES_AT_ONCE ? count - i : ENTRIES_AT_ONCE;

		if (entry == entries && (offset > INT64_MAX / 2 ||
						read_at(file, entries,
							rest * sizeof(*entries),
							offset + i * sizeof(*entries))))
			return;
		switch (entry->d_tag) {
		case DT_NULL:
			out->is_whole = 1;
			return;
		case DT_NEEDED:
			out->needed = out->has_needed ? out->needed : entry->d_un.d_val;
			out->has_needed = 1;
			break;
		case DT_STRTAB:
			out->strings = entry->d_un.d_ptr;
			break;
		case DT_SONAME:
			out->soname = entry->d_un.d_val;
			out->has_soname = 1;
			break;
		case DT_FLAGS_1:
			out->is_pie = !!(entry->d_un.d_val & DF_1_PIE);
			break;
		}
	}
}

/*
 * Read the string at @offset of the string table into @out. The string may be cut off; it is "" if
 * it cannot be read.
 */
static void read_string(
	struct file *file, const struct dynamic *dynamic, uint64_t offset, char *out, size_t bytes)
{
	out[0] = '\0';
	for (unsigned i = 0; i < file->header.e_phnum; i++) {
		const ElfW(Phdr) *segment = segment_at(file, i);
		uint64_t into = segment ? dynamic->strings - segment->p_vaddr : 0;
		long have;

		if (!segment)
			return;
		if (segment->p_type != PT_LOAD || into >= segment->p_filesz)
			continue;
		if (offset > UINT32_MAX || segment->p_offset > INT64_MAX / 2 ||
			into > INT64_MAX / 4)
			return;
		/*
		 * Fewer bytes than asked for are no error, because the strings may be at the file's
		 * end.
		 */
		have = arch_syscall4(SYS_pread64, file->descriptor, out, bytes - 1,
			segment->p_offset + into + offset);
		out[have > 0 ? have : 0] = '\0';
		return;
	}
}

/*
 * Returns 1 if the loader belongs to another C library than glibc. Such a program would not start
 * with this library, which needs glibc.
 */
static int is_others(const char *loader)
{
	static const char others[][12] = {"ld-musl", "ld-uClibc", "linker"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(loader, others[i], strlen(others[i])))
			return 1;
	return 0;
}

static int read_loader(const struct file *file, const ElfW(Phdr) *segment, struct elf_program *out)
{
	char tail[LOADER_TAIL_BYTES];
	uint64_t bytes = segment->p_filesz;
	size_t kept = bytes < sizeof(tail) ? bytes : sizeof(tail), base = 0;

	if (bytes < 2 || bytes > PATH_MAX || segment->p_offset > INT64_MAX / 2 ||
		read_at(file, tail, kept, segment->p_offset + bytes - kept) ||
		tail[kept - 1])
		return -ENOEXEC;
	for (size_t i = 0; i < kept; i++)
		if (tail[i] == '/')
			base = i + 1;
	out->loader_offset = segment->p_offset;
	out->loader_bytes = bytes;
	out->kind = is_others(tail + base) ? ELF_PROGRAM_OTHER_LIBC : ELF_PROGRAM_DYNAMIC;
	return 0;
}

static int read_segments(struct file *file, struct elf_program *out, struct dynamic *dynamic)
{
	for (unsigned i = 0; i < file->header.e_phnum; i++) {
		const ElfW(Phdr) *segment = segment_at(file, i);
		int error = segment ? 0 : -ENOEXEC;

		if (!error && segment->p_type == PT_INTERP && !out->loader_bytes)
			error = read_loader(file, segment, out);
		else if (!error && segment->p_type == PT_DYNAMIC)
			read_dynamic(file, segment, dynamic);
		if (error)
			return error;
	}
	return 0;
}

/*
 * Returns the kind of @file, which has no PT_INTERP. A loader is a shared object that needs no
 * other library and is not marked as a (static) position-independent executable. glibc's loader has
 * the DT_SONAME ld-linux*; musl's has no DT_SONAME in most distributions.
 */
static enum elf_program_kind kind_without_loader(struct file *file, const struct dynamic *dynamic)
{
	static const char glibc[] = "ld-linux";
	char name[sizeof(glibc)] = "";

	if (file->header.e_type != ET_DYN || !dynamic->is_whole || dynamic->is_pie ||
		dynamic->has_needed)
		return ELF_PROGRAM_STATIC;
	if (dynamic->has_soname)
		read_string(file, dynamic, dynamic->soname, name, sizeof(name));
	return strcmp(name, glibc) ? ELF_PROGRAM_OTHER_LIBC : ELF_PROGRAM_LOADER;
}

/*
 * Prefixes of the names of AddressSanitizer's runtimes, gcc's and clang's. AddressSanitizer itself
 * recognises its runtime by these names.
 */
static const char runtimes[][20] = {"libasan.so", "libclang_rt.asan"};

int elf_program_read(int descriptor, struct elf_program *out)
{
	struct file file;
	struct dynamic dynamic = {0};
	const ElfW(Ehdr) *header = &file.header, *ours = &__ehdr_start;

	*out = (struct elf_program){.kind = ELF_PROGRAM_OTHER_CPU};
	read_first(&file, descriptor);
	/*
	 * Read the header fields that 32-bit and 64-bit files have in common, because a 32-bit file
	 * may consist of nothing but its header of 52 bytes.
	 */
	if (read_at(&file, &file.header, offsetof(ElfW(Ehdr), e_version), 0) ||
		memcmp(header->e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	out->word_class = header->e_ident[EI_CLASS];
	out->byte_order = header->e_ident[EI_DATA];
	out->machine = header->e_machine;
	if (out->word_class != ours->e_ident[EI_CLASS] ||
		out->byte_order != ours->e_ident[EI_DATA] || out->machine != ours->e_machine)
		return 0;
	if (read_at(&file, &file.header, sizeof(file.header), 0) ||
		(header->e_type != ET_EXEC && header->e_type != ET_DYN) ||
		header->e_phentsize != sizeof(ElfW(Phdr)) || !header->e_phnum ||
		header->e_phnum * sizeof(ElfW(Phdr)) > PROGRAM_HEADERS_BYTES_MAX ||
		read_segments(&file, out, &dynamic))
		return -ENOEXEC;
	if (!out->loader_bytes)
		out->kind = kind_without_loader(&file, &dynamic);
	else if (out->kind == ELF_PROGRAM_DYNAMIC && !dynamic.has_needed)
		out->kind = ELF_PROGRAM_NO_LIBC;
	if (dynamic.has_needed)
		read_string(
			&file, &dynamic, dynamic.needed, out->sanitizer, sizeof(out->sanitizer));
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (!strncmp(out->sanitizer, runtimes[i], strlen(runtimes[i])))
			return 0;
	out->sanitizer[0] = '\0';
	return 0;
}

/*
 * AddressSanitizer checks the order of libraries unless the option verify_asan_link_order is off.
 * The last value in @options counts. Source: asan_linux.cpp.
 */
int elf_program_allows_any_order(const char *options)
{
	static const char flag[] = "verify_asan_link_order=";
	const char *at = options ? strstr(options, flag) : NULL;
	int takes = 0;

	for (; at; at = strstr(at, flag)) {
		at += strlen(flag);
		takes = *at == '0' || *at == 'n' || *at == 'f';
	}
	return takes;
}

int elf_program_preloads_sanitizer(const char *list, const char *library)
{
	static const char separators[] = " :";
	const char *entry = list ? list + strspn(list, separators) : "";
	size_t bytes = strcspn(entry, separators), base = 0;

	while (library && *entry && strlen(library) == bytes && !memcmp(entry, library, bytes)) {
		entry += bytes + strspn(entry + bytes, separators);
		bytes = strcspn(entry, separators);
	}
	for (size_t i = 0; i < bytes; i++)
		if (entry[i] == '/')
			base = i + 1;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (!strncmp(entry + base, runtimes[i], strlen(runtimes[i])))
			return 1;
	return 0;
}
