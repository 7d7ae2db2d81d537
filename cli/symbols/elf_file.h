/* SPDX-License-Identifier: MIT */
/*
 * Open an untrusted ELF file and read its tables. Only regular files are opened. Nothing is mapped,
 * so that a file that is truncated meanwhile gives an error, not SIGBUS. Sizes are checked before
 * libelf uses them. Only 64-bit little-endian files are accepted. MiniDebugInfo and the vDSO are
 * not files, but can be opened like files.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_ELF_FILE_H
#define CLI_SYMBOLS_ELF_FILE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* Sections of more bytes are not read. A file with more sections is refused. */
#define ELF_FILE_SECTION_MAX  (1u << 30)
#define ELF_FILE_SECTIONS_MAX (1u << 20)

struct elf_file {
	Elf *elf;
	int fd; /* -1 if the file is in memory */
	/* owned; NULL if the file is read through @fd */
	char *memory;
};

/*
 * Initialise @file from descriptor @fd; on success @file owns @fd. Returns 0 (then the caller calls
 * elf_file_close()); -ENOEXEC if it is not a 64-bit little-endian ELF file; or -errno.
 */
int elf_file_init(struct elf_file *file, int fd);

/*
 * Initialise @file from the @bytes bytes at @memory (from malloc); on success @file owns them.
 * Returns as elf_file_init().
 */
int elf_file_init_memory(struct elf_file *file, char *memory, size_t bytes);

/* Open the ELF file @path with regular_open(). Returns as elf_file_init(). */
int elf_file_open(struct elf_file *file, const char *path, uint32_t pid);

void elf_file_close(struct elf_file *file);

/* Return the number of program headers; 0 if they cannot be read. */
size_t elf_file_headers(const struct elf_file *file);

/*
 * Find the build-id of @file. Returns its length and sets *@id, which is valid until
 * elf_file_close(). Returns 0 if there is no build-id.
 */
size_t elf_file_build_id(const struct elf_file *file, const uint8_t **id);

/* Return whether @file has the build-id @id. */
int elf_file_has_build_id(const struct elf_file *file, const uint8_t *id, size_t bytes);

/* The root of separate debug files, the longest build-id in bytes, and sizes of buffers. */
#define ELF_FILE_DEBUG_ROOT "/usr/lib/debug"
#define ELF_FILE_ID_MAX	    64
#define ELF_FILE_ID_TEXT    (2 * ELF_FILE_ID_MAX + 1)
#define ELF_FILE_ID_PATH    (sizeof(ELF_FILE_DEBUG_ROOT) + ELF_FILE_ID_TEXT + 32)

/* Write build-id @id in hexadecimal. Returns 0, or -ENOENT if it is NULL, empty or too long. */
int elf_file_id_text(const uint8_t *id, size_t bytes, char text[ELF_FILE_ID_TEXT]);

/* Write the path of the debug file with build-id @id. Returns 0, or -ENOENT if @id is invalid. */
int elf_file_id_path(const uint8_t *id, size_t bytes, char path[ELF_FILE_ID_PATH]);

/* Write the path of @file with symbolic links resolved; "" if it is unknown. */
void elf_file_path(const struct elf_file *file, char *path, size_t size);

/* Return the first section with this @name and set *@header; NULL if there is none. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header);

/*
 * Return the contents of @section, owned by its struct elf_file. Returns NULL if the section is
 * empty, compressed, larger than ELF_FILE_SECTION_MAX, or unreadable.
 */
Elf_Data *elf_file_data(Elf_Scn *section, const GElf_Shdr *header);


/* Flag of regular_open(): fail with -ELOOP if the last part of the path is a symbolic link. */
#define REGULAR_NO_LINK 1u

/*
 * Open @path for reading if it is a regular file. Never blocks, and does not open a FIFO or device.
 * If @pid is not 0, @path is resolved as in process @pid: absolute paths and absolute symbolic
 * links relative to the root of that process, relative paths in its working directory. Returns an
 * owned descriptor, -EINVAL if it is not a regular file, or -errno.
 */
int regular_open(const char *path, uint32_t pid, unsigned flags);

/*
 * Open a file that process @pid wrote about itself: in the root of that process or, if this fails,
 * in flamerun's own root. The file must not be a symbolic link, must be owned by the user of the
 * process or of flamerun, and must have been written at @not_before_s (seconds since the epoch, 0:
 * any age) or later. Returns an owned descriptor; -ENOENT; -EPERM if the file is not trusted; or
 * -errno.
 */
int regular_open_own(const char *path, uint32_t pid, int64_t not_before_s);

#define MINIDEBUG_MAX_BYTES (256u << 20)

/*
 * Unpack the MiniDebugInfo of @file: a small ELF file with the symbols that .dynsym lacks,
 * compressed with xz in section .gnu_debugdata. Fedora has it in all binaries.
 * Returns 0 and @mini, which the caller closes; -ENOENT if there is none; -EBADMSG if it is broken
 * or larger than MINIDEBUG_MAX_BYTES; or -ENOMEM.
 */
int minidebug_open(struct elf_file *mini, const struct elf_file *file);

/*
 * Open a copy of flamerun's own vDSO. Returns 0 and @file, which the caller closes; -ENOENT if
 * there is no vDSO; -ENOEXEC; or -ENOMEM. Context: any thread.
 */
int vdso_open(struct elf_file *file);

#endif
