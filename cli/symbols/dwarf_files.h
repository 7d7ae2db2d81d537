/* SPDX-License-Identifier: MIT */
/*
 * Open the other files that contain a program's DWARF: .dwo files, which compilers write beside
 * object files; the .dwp file into which they are merged; and the file into which dwz moves the
 * DWARF that several debug files share (the alternate file).
 */
#ifndef CLI_SYMBOLS_DWARF_FILES_H
#define CLI_SYMBOLS_DWARF_FILES_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/*
 * Open the .dwo file @name of program @file. @folder is the compiler's working directory, "" if
 * unknown. Tries the root of process @pid (0: none), then flamerun's own root, then the folder of
 * @file. Returns 0 and @split, which the caller closes, or -errno. The caller must check that it is
 * the right file, because only its name was compared.
 */
int dwarf_files_open_split(struct elf_file *split, const struct elf_file *file, const char *folder,
	const char *name, uint32_t pid);

/*
 * Open the .dwp of @file, in the same folder: FILE.dwp, or for program.debug also program.dwp.
 * Returns 0 and @package, which the caller closes, or -errno.
 */
int dwarf_files_open_package(struct elf_file *package, const struct elf_file *file);

/*
 * Open the alternate file that @file refers to, by its name or its build-id: in the root of process
 * @pid (0: none), in flamerun's own root, or in debuginfod's cache. Its build-id is checked.
 * Returns 0 and @alternate, which the caller closes; -ENOENT if @file refers to none; or -ESTALE if
 * it was not found.
 */
int dwarf_files_open_alternate(
	struct elf_file *alternate, const struct elf_file *file, uint32_t pid);

/*
 * Find out whether the alternate file of @file is missing. Returns 0 if it was found or @file
 * refers to none. If it is missing, copies its build-id to @id, for a download, and returns the
 * length of the build-id.
 */
size_t dwarf_files_missed(const struct elf_file *file, uint32_t pid, uint8_t id[ELF_FILE_ID_MAX]);

#endif
