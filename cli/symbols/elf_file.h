/* SPDX-License-Identifier: MIT */
/*
 * An ELF file opened for reading its tables, safely: nothing but regular files, nothing mapped (a
 * file cut short while it is read gives an error, not SIGBUS), every size capped before libelf sees
 * it. 64-bit little-endian only: what flamerun profiles. Two that are in no file of their own can
 * be had, too: MiniDebugInfo, and the vDSO.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_ELF_FILE_H
#define CLI_SYMBOLS_ELF_FILE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* Sections larger than this are not read. */
#define ELF_FILE_SECTION_MAX  (1u << 30)
#define ELF_FILE_SECTIONS_MAX (1u << 20)

struct elf_file {
	Elf *elf;
	int fd;	      /* -1 when the file is in memory */
	char *memory; /* owned; NULL when the file is behind fd */
};

/*
 * Make @file of the ELF file behind @fd; on success @file owns @fd.
 * Returns 0 and @file, to be given to elf_file_close(); -ENOEXEC when it is no 64-bit little-endian
 * ELF file; or -errno.
 */
int elf_file_init(struct elf_file *file, int fd);

/* The same of @bytes bytes at @memory (from malloc); on success @file owns them. */
int elf_file_init_memory(struct elf_file *file, char *memory, size_t bytes);

/* The same of the regular file @path as process @pid (0: we) sees it; see
 * regular_open(). */
int elf_file_open(struct elf_file *file, const char *path, uint32_t pid);

void elf_file_close(struct elf_file *file);

/* How many program headers @file has; 0 when that cannot be told. */
size_t elf_file_headers(const struct elf_file *file);

/*
 * The build-id of @file. Returns its length and a pointer in *@id that is valid until
 * elf_file_close(); 0 when there is none.
 */
size_t elf_file_build_id(const struct elf_file *file, const uint8_t **id);

/* Has @file exactly the build-id @id? */
int elf_file_has_build_id(const struct elf_file *file, const uint8_t *id, size_t bytes);

/* Separate debug files lie below it. Those that a build-id names have ids of so many bytes at most.
 */
#define ELF_FILE_DEBUG_ROOT "/usr/lib/debug"
#define ELF_FILE_ID_MAX	    64
#define ELF_FILE_ID_TEXT    (2 * ELF_FILE_ID_MAX + 1)
#define ELF_FILE_ID_PATH    (sizeof(ELF_FILE_DEBUG_ROOT) + ELF_FILE_ID_TEXT + 32)

/*
 * Write the build-id @id in hexadecimal.
 * Returns 0, or -ENOENT when it is none (NULL, no bytes) or too long for a name.
 */
int elf_file_id_text(const uint8_t *id, size_t bytes, char text[ELF_FILE_ID_TEXT]);

/* Write where the debug file of build-id @id lies. Returns 0, or -ENOENT when it has no such name.
 */
int elf_file_id_path(const uint8_t *id, size_t bytes, char path[ELF_FILE_ID_PATH]);

/* Write the path of @file, as it is without links; "" when that cannot be told. */
void elf_file_path(const struct elf_file *file, char *path, size_t size);

/* The first section called @name and its header, or NULL. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header);

/*
 * The contents of @section. NULL when it has none in the file, is larger than the cap, or cannot be
 * read. Owned by the struct elf_file that @section is of.
 */
Elf_Data *elf_file_data(Elf_Scn *section, const GElf_Shdr *header);

/* Opening files that somebody else named, without ever waiting or disturbing what is there. */

/* In @flags: the last part of the path must not be a symbolic link (-ELOOP). */
#define REGULAR_NO_LINK 1u

/*
 * Open @path for reading if it is a regular file; a FIFO or device is not even touched. With @pid,
 * as that process sees it: an absolute path below its root, absolute links included; a relative one
 * from its working directory. 0: as we see it.
 * Returns an owned descriptor, -EINVAL when it is something else, or -errno.
 */
int regular_open(const char *path, uint32_t pid, unsigned flags);

/*
 * The same of a file that process @pid wrote about itself: not a link, owned by the process's or
 * our own user, and not last written before @not_before_s (seconds since the epoch, 0: any age).
 * Below the process's root while that can be had, else below ours.
 * Returns an owned descriptor; -ENOENT; -EPERM when the file is not trusted; or -errno.
 */
int regular_open_own(const char *path, uint32_t pid, int64_t not_before_s);

/* No more than this is unpacked. */
#define MINIDEBUG_MAX_BYTES (256u << 20)

/*
 * MiniDebugInfo: a small ELF file with the symbols that .dynsym lacks, xz-compressed in the section
 * .gnu_debugdata. Fedora and its relatives ship every binary so.
 * Unpack the one embedded in @file. Returns 0 and @mini, to be closed by the caller; -ENOENT when
 * there is none, -EBADMSG when it is broken or too large; or -ENOMEM.
 */
int minidebug_open(struct elf_file *mini, const struct elf_file *file);

/*
 * Open a copy of our own vDSO. Returns 0 and @file, to be closed by the caller; -ENOENT when we
 * have none; -ENOEXEC; or -ENOMEM.
 * Context: any thread.
 */
int vdso_open(struct elf_file *file);

#endif
