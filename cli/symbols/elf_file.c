/* SPDX-License-Identifier: MIT */
/*
 * Open a path first with O_PATH, which has no effect on the file. If it is a regular file, open it
 * for reading through this descriptor, so that the file cannot be exchanged in between.
 *
 * A few kilobytes of xz data in .gnu_debugdata can unpack to any size, so memory has two limits:
 * one for the decoder and one for the result. The vDSO has no file: its symbols are read from the
 * vDSO in flamerun's own address space, which is the same as the target's if the build-ids are
 * equal.
 */
#include "cli/symbols/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files with untrusted names -------------------------------------------------------------- */

static int open_below(const char *folder, const char *path, int open_flags, uint64_t resolve)
{
	struct open_how how = {.flags = (uint64_t)open_flags, .resolve = resolve};
	int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return -errno;

	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));

	/*
	 * Without openat2() (forbidden by seccomp, or a kernel before 5.6), symbolic links can lead
	 * out of the root. This is tolerable, because the build-id is checked.
	 */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		while (*path == '/')
			path++;
		fd = openat(at, path, open_flags);
	}
	if (fd < 0)
		fd = -errno;
	close(at);
	return fd;
}

static int open_name(const char *path, uint32_t pid, unsigned flags)
{
	const int open_flags = O_PATH | O_CLOEXEC | (flags & REGULAR_NO_LINK ? O_NOFOLLOW : 0);
	char folder[64];

	if (!pid) {
		int fd = open(path, open_flags);

		return fd < 0 ? -errno : fd;
	}
	snprintf(folder, sizeof(folder), "/proc/%u/%s", pid, path[0] == '/' ? "root" : "cwd");
	return open_below(folder, path, open_flags, path[0] == '/' ? RESOLVE_IN_ROOT : 0);
}

int regular_open(const char *path, uint32_t pid, unsigned flags)
{
	char link[64];
	struct stat status;
	int result;
	int name = open_name(path, pid, flags);

	if (name < 0)
		return name;
	if (fstat(name, &status)) {
		result = -errno;
		goto out;
	}
	if (!S_ISREG(status.st_mode)) {
		result = S_ISLNK(status.st_mode) ? -ELOOP : -EINVAL;
		goto out;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", name);
	result = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (result < 0)
		result = -errno;
out:
	close(name);
	return result;
}

/*
 * Is the file with @status owned by the user of process @pid or of flamerun, and not older than
 * @not_before_s?
 */
static bool is_own(const struct stat *status, uint32_t pid, int64_t not_before_s)
{
	char process[32];
	struct stat owner;

	if (not_before_s && status->st_mtime < not_before_s)
		return false;
	if (status->st_uid == geteuid())
		return true;
	snprintf(process, sizeof(process), "/proc/%u", pid);
	return !stat(process, &owner) && owner.st_uid == status->st_uid;
}

static int open_own(const char *path, uint32_t root, uint32_t pid, int64_t not_before_s)
{
	int fd = regular_open(path, root, REGULAR_NO_LINK);
	struct stat status;
	int error = 0;

	if (fd == -EINVAL || fd == -ELOOP || fd == -EACCES)
		return -EPERM;
	if (fd < 0)
		return fd == -ENOTDIR || fd == -ESRCH ? -ENOENT : fd;
	if (fstat(fd, &status))
		error = -errno;
	else if (!is_own(&status, pid, not_before_s))
		error = -EPERM;
	if (!error)
		return fd;
	close(fd);
	return error;
}

int regular_open_own(const char *path, uint32_t pid, int64_t not_before_s)
{
	int fd = open_own(path, pid, pid, not_before_s);

	/* The process may have ended, or its root may be inaccessible: try flamerun's own root. */
	return fd < 0 && pid ? open_own(path, 0, pid, not_before_s) : fd;
}

/* ---- ELF ------------------------------------------------------------------------------------- */

/* Note sections and segments with more bytes are skipped. */
#define NOTES_MAX (1u << 20)

/* Check the headers before libelf, which allocates as many sections as section 0 claims. */
static int are_headers_sane(const Elf64_Ehdr *header, const Elf64_Shdr *first, uint64_t file_bytes)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
		header->e_ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	if (!header->e_shoff)
		return header->e_phnum != PN_XNUM;
	if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > file_bytes)
		return 0;
	return header->e_shnum || first->sh_size <= ELF_FILE_SECTIONS_MAX;
}

static int check_file(int fd)
{
	Elf64_Ehdr header;
	Elf64_Shdr first = {0};
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return -ENOEXEC;
	if (header.e_shoff && header.e_shoff < (uint64_t)status.st_size &&
		pread(fd, &first, sizeof(first), (off_t)header.e_shoff) != sizeof(first))
		return -ENOEXEC;
	return are_headers_sane(&header, &first, (uint64_t)status.st_size) ? 0 : -ENOEXEC;
}

static int finish_init(struct elf_file *file, Elf *elf, int fd, char *memory)
{
	if (!elf)
		return -ENOEXEC;
	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64) {
		elf_end(elf);
		return -ENOEXEC;
	}
	*file = (struct elf_file){.elf = elf, .fd = fd, .memory = memory};
	return 0;
}

int elf_file_init(struct elf_file *file, int fd)
{
	int error = check_file(fd);

	if (error)
		return error;
	elf_version(EV_CURRENT);
	return finish_init(file, elf_begin(fd, ELF_C_READ, NULL), fd, NULL);
}

int elf_file_init_memory(struct elf_file *file, char *memory, size_t bytes)
{
	Elf64_Ehdr header;
	Elf64_Shdr first = {0};

	if (bytes < sizeof(header))
		return -ENOEXEC;
	memcpy(&header, memory, sizeof(header));
	if (header.e_shoff && header.e_shoff <= bytes && bytes - header.e_shoff >= sizeof(first))
		memcpy(&first, memory + header.e_shoff, sizeof(first));
	if (!are_headers_sane(&header, &first, bytes))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	return finish_init(file, elf_memory(memory, bytes), -1, memory);
}

int elf_file_open(struct elf_file *file, const char *path, uint32_t pid)
{
	int fd = regular_open(path, pid, 0);

	if (fd < 0)
		return fd;

	int error = elf_file_init(file, fd);

	if (error)
		close(fd);
	return error;
}

void elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->memory);
	*file = (struct elf_file){.fd = -1};
}

/* Find a build-id among the notes in @data. Returns its length, or 0 if there is none. */
static size_t find_build_id(Elf_Data *data, const uint8_t **id)
{
	GElf_Nhdr note;
	size_t name, text;

	for (size_t at = 0, next; (next = gelf_getnote(data, at, &note, &name, &text)) > 0;
		at = next) {
		const char *bytes = data->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
			!memcmp(bytes + name, "GNU", sizeof("GNU")) && note.n_descsz) {
			*id = (const uint8_t *)bytes + text;
			return note.n_descsz;
		}
	}
	return 0;
}

size_t elf_file_headers(const struct elf_file *file)
{
	size_t headers = 0;

	return elf_getphdrnum(file->elf, &headers) || headers >= PN_XNUM ? 0 : headers;
}

size_t elf_file_build_id(const struct elf_file *file, const uint8_t **id)
{
	Elf_Scn *section = NULL;
	size_t headers;
	size_t bytes = 0;

	/* Try sections first, because in a separate debug file the segments have no contents. */
	while (!bytes && (section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE ||
			header.sh_size > NOTES_MAX)
			continue;
		data = elf_file_data(section, &header);
		if (data)
			bytes = find_build_id(data, id);
	}
	headers = bytes ? 0 : elf_file_headers(file);
	for (size_t i = 0; !bytes && i < headers; i++) {
		GElf_Phdr header;
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_NOTE ||
			header.p_filesz > NOTES_MAX)
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)header.p_offset, header.p_filesz,
			header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data)
			bytes = find_build_id(data, id);
	}
	return bytes;
}

int elf_file_has_build_id(const struct elf_file *file, const uint8_t *id, size_t bytes)
{
	const uint8_t *own = id;

	return elf_file_build_id(file, &own) == bytes && !memcmp(own, id, bytes);
}

int elf_file_id_text(const uint8_t *id, size_t bytes, char text[ELF_FILE_ID_TEXT])
{
	if (!id || !bytes || bytes > ELF_FILE_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return 0;
}

/* The first byte of the build-id is the folder's name, the other bytes are the file's name. */
int elf_file_id_path(const uint8_t *id, size_t bytes, char path[ELF_FILE_ID_PATH])
{
	char text[ELF_FILE_ID_TEXT];

	if (bytes < 2 || elf_file_id_text(id, bytes, text))
		return -ENOENT;
	snprintf(path, ELF_FILE_ID_PATH, ELF_FILE_DEBUG_ROOT "/.build-id/%.2s/%s.debug", text,
		text + 2);
	return 0;
}

void elf_file_path(const struct elf_file *file, char *path, size_t size)
{
	char link[64];
	ssize_t bytes;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	bytes = file->fd < 0 ? -1 : readlink(link, path, size - 1);
	path[bytes > 0 ? bytes : 0] = '\0';
}

Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(file->elf, &strings))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *own = gelf_getshdr(section, header)
					  ? elf_strptr(file->elf, strings, header->sh_name)
					  : NULL;

		if (own && !strcmp(own, name))
			return section;
	}
	return NULL;
}

Elf_Data *elf_file_data(Elf_Scn *section, const GElf_Shdr *header)
{
	if (header->sh_type == SHT_NOBITS || !header->sh_size ||
		header->sh_size > ELF_FILE_SECTION_MAX || (header->sh_flags & SHF_COMPRESSED))
		return NULL;

	Elf_Data *data = elf_getdata(section, NULL);

	return data && data->d_buf && data->d_size ? data : NULL;
}

/* ---- compressed symbols ---------------------------------------------------------------------- */

#define DECODER_MAX_BYTES (128u << 20)
#define FIRST_BYTES	  (256u << 10)

/* Decode all input of @stream into *@memory. Returns 0, -EBADMSG or -ENOMEM. */
static int decode_xz(lzma_stream *stream, char **memory, size_t *bytes)
{
	size_t room = 0;
	lzma_ret state = LZMA_OK;

	while (state == LZMA_OK) {
		if (!stream->avail_out) {
			size_t more = room ? room * 2 : FIRST_BYTES;
			char *longer = more > MINIDEBUG_MAX_BYTES ? NULL : realloc(*memory, more);

			if (!longer)
				return more > MINIDEBUG_MAX_BYTES ? -EBADMSG : -ENOMEM;
			*memory = longer;
			stream->next_out = (uint8_t *)longer + room;
			stream->avail_out = more - room;
			room = more;
		}
		state = lzma_code(stream, LZMA_FINISH);
	}
	*bytes = room - stream->avail_out;
	if (state == LZMA_STREAM_END)
		return 0;
	return state == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int minidebug_open(struct elf_file *mini, const struct elf_file *file)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, ".gnu_debugdata", &header);
	Elf_Data *packed = section ? elf_file_data(section, &header) : NULL;
	lzma_stream stream = LZMA_STREAM_INIT;
	char *memory = NULL;
	size_t bytes = 0;
	int error;

	if (!packed)
		return -ENOENT;
	if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	error = decode_xz(&stream, &memory, &bytes);
	lzma_end(&stream);
	if (!error && elf_file_init_memory(mini, memory, bytes))
		error = -EBADMSG;
	if (error)
		free(memory);
	return error;
}

/* ---- our own vDSO ---------------------------------------------------------------------------- */

/* Return the end of flamerun's own mapping that begins at @start, or 0 if it is unknown. */
static unsigned long mapping_end(unsigned long start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long end = 0;

	while (maps && !end && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start)
			end = to;
	}
	if (maps)
		fclose(maps);
	return end;
}

int vdso_open(struct elf_file *file)
{
	unsigned long start = getauxval(AT_SYSINFO_EHDR);
	unsigned long end = start ? mapping_end(start) : 0;

	if (end <= start)
		return -ENOENT;

	char *copy = malloc(end - start);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, (const void *)start, end - start);

	int error = elf_file_init_memory(file, copy, end - start);

	if (error)
		free(copy);
	return error;
}
