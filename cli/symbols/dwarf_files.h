/* SPDX-License-Identifier: MIT */
/*
 * The other files that DWARF is in: .dwo files that a compiler wrote beside the objects, the .dwp
 * that they were put into, and what dwz took out of several debug files into one.
 *
 * Context: any thread.
 */
#ifndef CLI_SYMBOLS_DWARF_FILES_H
#define CLI_SYMBOLS_DWARF_FILES_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/*
 * Open the file called @name by a compiler that ran in @folder ("": not known), for the program
 * @file; as process @pid sees it, else as we do. Beside the program it is looked for, too.
 * Returns 0 and @split, to be closed by the caller, or -errno. It may be any file of that name.
 */
int dwarf_files_open_split(struct elf_file *split, const struct elf_file *file, const char *folder,
	const char *name, uint32_t pid);

/*
 * Open the .dwp of @file, beside it: of program.debug also program.dwp.
 * Returns 0 and @package, to be closed by the caller, or -errno.
 */
int dwarf_files_open_package(struct elf_file *package, const struct elf_file *file);

/*
 * Open what dwz took out of @file, by its name or its build-id, which it has, here or fetched.
 * Returns 0 and @alternate, to be closed by the caller; -ENOENT when nothing was taken out; -ESTALE
 * when the file is not to be had.
 */
int dwarf_files_open_alternate(
	struct elf_file *alternate, const struct elf_file *file, uint32_t pid);

/*
 * Is that file missed that has a build-id? Returns the length of @id, which a server may have it
 * by; 0: it is there, or there is none.
 */
size_t dwarf_files_missed(const struct elf_file *file, uint32_t pid, uint8_t id[ELF_FILE_ID_MAX]);

#endif
