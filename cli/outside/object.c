/* SPDX-License-Identifier: MIT */
/* Read mapped ELF files. A file that was read before is recognized by inode, path and ctime. */
#include "cli/outside/object.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/outside/cfi_table.h"
#include "cli/symbols/elf_file.h"
#include "libprof/unwind/dwarf.h"
#include "render/array.h"

/* ---- a target's memory ----------------------------------------------------------------------- */


#define NO_PAGE 1u /* not the address of any page */

void memory_begin(struct memory *memory, pid_t pid)
{
	memory->pid = pid;
	memory->stack = NULL;
	for (unsigned slot = 0; slot < MEMORY_SLOTS; slot++)
		memory->held[slot] = NO_PAGE;
}

void memory_begin_copied(struct memory *memory, pid_t pid, const char *stack, uintptr_t start,
	size_t bytes)
{
	memory_begin(memory, pid);
	memory->stack = stack;
	memory->stack_start = start;
	memory->stack_bytes = bytes;
}

/*
 * This many bytes from the start of a copied stack on count as that stack. They are read only from
 * the copy, because the process runs again. 8 MiB is the usual limit of a stack.
 */
#define STACK_REACH ((uintptr_t)8 << 20)

static unsigned slot_of(uintptr_t page)
{
	return page / MEMORY_PAGE % MEMORY_SLOTS;
}

static void read_pages(struct memory *memory, uintptr_t page)
{
	struct iovec local[MEMORY_STRETCH];
	struct iovec remote = {.iov_base = (void *)page};
	ssize_t got;

	for (unsigned i = 0; i < MEMORY_STRETCH; i++) {
		unsigned slot = slot_of(page + i * MEMORY_PAGE);

		memory->held[slot] = NO_PAGE;
		local[i] = (struct iovec){.iov_base = memory->page[slot], .iov_len = MEMORY_PAGE};
	}
	/* At the end of the address space, read one page: the end of more would overflow. */
	remote.iov_len = page > UINTPTR_MAX - MEMORY_STRETCH * MEMORY_PAGE
				 ? MEMORY_PAGE
				 : MEMORY_STRETCH * MEMORY_PAGE;
	got = process_vm_readv(memory->pid, local, MEMORY_STRETCH, &remote, 1, 0);
	for (unsigned i = 0; got >= (ssize_t)(i + 1) * (ssize_t)MEMORY_PAGE; i++)
		memory->held[slot_of(page + i * MEMORY_PAGE)] = page + i * MEMORY_PAGE;
}

static const char *page_at(struct memory *memory, uintptr_t page)
{
	unsigned slot = slot_of(page);

	if (memory->held[slot] != page)
		read_pages(memory, page);
	return memory->held[slot] == page ? memory->page[slot] : NULL;
}

int memory_word(struct memory *memory, uintptr_t address, uintptr_t *value)
{
	char bytes[sizeof(*value)];
	uintptr_t above = address - memory->stack_start;
	uintptr_t page = address & ~(uintptr_t)(MEMORY_PAGE - 1);
	size_t offset = address - page;
	size_t first = MEMORY_PAGE - offset;
	const char *from;

	if (memory->stack && above < STACK_REACH) {
		if (memory->stack_bytes < sizeof(*value) ||
			above > memory->stack_bytes - sizeof(*value))
			return -EFAULT;
		memcpy(value, memory->stack + above, sizeof(*value));
		return 0;
	}
	from = page_at(memory, page);
	if (!from)
		return -EFAULT;
	if (first >= sizeof(*value)) {
		memcpy(value, from + offset, sizeof(*value));
		return 0;
	}
	memcpy(bytes, from + offset, first);
	from = page_at(memory, page + MEMORY_PAGE);
	if (!from)
		return -EFAULT;
	memcpy(bytes + first, from, sizeof(*value) - first);
	memcpy(value, bytes, sizeof(*value));
	return 0;
}

int memory_copy(pid_t pid, uintptr_t address, void *out, size_t bytes)
{
	while (bytes) {
		struct iovec local = {.iov_base = out, .iov_len = bytes};
		struct iovec remote = {.iov_base = (void *)address, .iov_len = bytes};
		ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

		if (got <= 0)
			return -EFAULT;
		out = (char *)out + got;
		address += (size_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}

struct object_source {
	/* Descriptor of the file, borrowed. If -1, read the memory of `pid`. */
	int descriptor;
	pid_t pid;
	uintptr_t base; /* where the file starts */
	uintptr_t bias; /* set by read_segments() */
};

#define HEADERS_MAX	512u
#define NOTES_BYTES_MAX 65536u
#define CFI_BYTES_MAX	(256u << 20)
#define NOTE_BUILD_ID	3u /* NT_GNU_BUILD_ID */

/* ---- file or memory -------------------------------------------------------------------------- */

static int read_file(int descriptor, void *out, uint64_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t got;

		if (offset > INT64_MAX)
			return -EBADMSG;
		got = pread(descriptor, out, bytes, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EBADMSG;
		out = (char *)out + got;
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return 0;
}

static int read_headers(
	const struct object_source *source, void *out, uint64_t bytes, uint64_t offset)
{
	if (source->descriptor >= 0)
		return read_file(source->descriptor, out, bytes, offset);
	return memory_copy(source->pid, source->base + offset, out, bytes);
}

/* Read @bytes bytes at ELF virtual address @vaddr. They must lie in one segment of @object. */
static int read_vaddr(const struct object *object, const struct object_source *source, void *out,
	uint64_t bytes, uint64_t vaddr)
{
	for (unsigned i = 0; i < object->load_count; i++) {
		const struct object_load *load = &object->loads[i];

		if (vaddr < load->vaddr || vaddr - load->vaddr > load->bytes ||
			bytes > load->bytes - (vaddr - load->vaddr))
			continue;
		if (source->descriptor >= 0)
			return read_file(source->descriptor, out, bytes,
				load->offset + (vaddr - load->vaddr));
		return memory_copy(source->pid, source->bias + vaddr, out, bytes);
	}
	return -EBADMSG;
}

static void find_build_id(struct object *object, const char *notes, uint64_t bytes)
{
	uint64_t at = 0;

	while (bytes - at >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		uint64_t name, description;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		description = name + ((note.n_namesz + 3ULL) & ~3ULL);
		if (description > bytes || note.n_descsz > bytes - description)
			return;
		if (note.n_type == NOTE_BUILD_ID && note.n_namesz == 4 &&
			!memcmp(notes + name, "GNU", 4) && note.n_descsz <= WIRE_BUILD_ID_MAX) {
			memcpy(object->build_id, notes + description, note.n_descsz);
			object->build_id_bytes = note.n_descsz;
			return;
		}
		at = description + ((note.n_descsz + 3ULL) & ~3ULL);
		if (at > bytes)
			return;
	}
}

static void read_notes(
	struct object *object, const struct object_source *source, const ElfW(Phdr) * segment)
{
	char *notes;

	if (object->build_id_bytes || segment->p_filesz > NOTES_BYTES_MAX)
		return;
	notes = malloc(segment->p_filesz + 1);
	if (notes && !read_vaddr(object, source, notes, segment->p_filesz, segment->p_vaddr))
		find_build_id(object, notes, segment->p_filesz);
	free(notes);
}

/*
 * Copy from the first byte of .eh_frame_hdr and .eh_frame to the end of their segment, because only
 * the section headers, which are not mapped, say where .eh_frame ends.
 */
static void read_cfi(
	struct object *object, const struct object_source *source, const ElfW(Phdr) * segment)
{
	uint64_t header = segment->p_vaddr, frames;
	struct {
		uint8_t version, frame_encoding, count_encoding, table_encoding;
		int32_t frame_offset;
	} head;
	const struct object_load *load = object->loads;

	if (read_vaddr(object, source, &head, sizeof(head), header) || head.version != 1)
		return;
	while (header < load->vaddr || header - load->vaddr >= load->bytes)
		load++;
	frames = header + 4 + (uint64_t)(int64_t)head.frame_offset;
	if (head.frame_encoding != (CFI_PTR_PCREL | CFI_PTR_SDATA4) || frames < load->vaddr)
		frames = load->vaddr;
	object->cfi_start = frames < header ? frames : header;
	object->cfi_end = load->vaddr + load->bytes;
	if (object->cfi_end - object->cfi_start > CFI_BYTES_MAX)
		return;
	object->cfi = malloc(object->cfi_end - object->cfi_start);
	if (!object->cfi)
		return;
	if (!read_vaddr(object, source, object->cfi, object->cfi_end - object->cfi_start,
		    object->cfi_start)) {
		object->header = header;
		return;
	}
	free(object->cfi);
	object->cfi = NULL;
}

static int add_load(struct object *object, const ElfW(Phdr) * segment)
{
	struct object_load load = {segment->p_vaddr, segment->p_offset, segment->p_filesz};

	if (object->load_count == OBJECT_LOADS_MAX || load.vaddr > UINT64_MAX - load.bytes ||
		load.offset > INT64_MAX || load.bytes > INT64_MAX)
		return -EBADMSG;
	object->loads[object->load_count++] = load;
	return 0;
}

static int read_segments(struct object *object, struct object_source *source,
	const ElfW(Phdr) * segments, unsigned count)
{
	int error = 0;

	for (unsigned i = 0; i < count && !error; i++)
		if (segments[i].p_type == PT_LOAD)
			error = add_load(object, &segments[i]);
	if (error || !object->load_count)
		return -EBADMSG;
	source->bias = source->base - (object->loads[0].vaddr - object->loads[0].offset);
	for (unsigned i = 0; i < count; i++) {
		if (segments[i].p_type == PT_DYNAMIC)
			object->dynamic = segments[i].p_vaddr;
		if (segments[i].p_type == PT_NOTE)
			read_notes(object, source, &segments[i]);
		if (segments[i].p_type == PT_GNU_EH_FRAME && !object->cfi)
			read_cfi(object, source, &segments[i]);
	}
	return 0;
}

static void make_cfi_table(
	struct object *object, const char *frames, uint64_t bytes, uint64_t vaddr)
{
	uint64_t all;

	if (cfi_table_make(frames, bytes, vaddr, &object->cfi, &all, &object->header))
		return;
	object->cfi_start = vaddr;
	object->cfi_end = vaddr + all;
}

/* Returns a virtual address above all segments of @object, within 32-bit offsets of code. */
static uint64_t free_vaddr(const struct object *object)
{
	const struct object_load *last = &object->loads[object->load_count - 1];

	return ((last->vaddr + last->bytes) | 0xfffffff) + 1;
}

/* Read .eh_frame of a static program by its section header, or make it from Go's pclntab. */
static void read_sections(struct object *object, int descriptor)
{
	struct elf_file file;
	GElf_Shdr header;
	Elf_Scn *section;
	const Elf_Data *data;
	uint64_t bytes, vaddr = free_vaddr(object);
	char *frames;
	int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return;
	if (elf_file_init(&file, own)) {
		close(own);
		return;
	}
	section = elf_file_section(&file, ".eh_frame", &header);
	data = section && header.sh_flags & SHF_ALLOC ? elf_file_data(section, &header) : NULL;
	if (data && data->d_buf && header.sh_addr < INT64_MAX && data->d_size < CFI_BYTES_MAX) {
		make_cfi_table(object, data->d_buf, data->d_size, header.sh_addr);
	} else if (!go_cfi_make(&file, vaddr, &frames, &bytes)) {
		make_cfi_table(object, frames, bytes, vaddr);
		free(frames);
	}
	elf_file_close(&file);
}

/* flamerun's own ELF header. Only objects of its class, byte order and machine are read. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/*
 * Fill in @object (zeroed) from @source. Returns 0; -ENOEXEC if it is no ELF file for this CPU;
 * -EBADMSG if it is damaged; -EFAULT if it cannot be read; or -ENOMEM. The caller frees @object in
 * each case.
 */
static int read_object(struct object *object, struct object_source *source)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) * segments;
	int error = read_headers(source, &header, sizeof(header), 0);

	if (error)
		return error;
	if (memcmp(header.e_ident, __ehdr_start.e_ident, EI_VERSION) ||
		header.e_machine != __ehdr_start.e_machine ||
		header.e_phentsize != sizeof(*segments) || header.e_phnum > HEADERS_MAX)
		return -ENOEXEC;
	segments = malloc((header.e_phnum + 1) * sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	error = read_headers(source, segments, header.e_phnum * sizeof(*segments), header.e_phoff);
	if (!error)
		error = read_segments(object, source, segments, header.e_phnum);
	free(segments);
	if (!error && !object->header && source->descriptor >= 0)
		read_sections(object, source->descriptor);
	return error;
}

/* ---- finding objects ------------------------------------------------------------------------- */

static void object_free(struct object *object)
{
	if (!object)
		return;
	free(object->path);
	free(object->cfi);
	free(object);
}

/* Open the file of @mapping. Returns a descriptor, or -1 if its path is now another file's. */
static int open_mapped(pid_t pid, const struct mapping *mapping, struct stat *status)
{
	int fd = mapping->path[0] == '/' ? regular_open(mapping->path, (uint32_t)pid, 0) : -1;

	if (fd < 0)
		return -1;
	if (!fstat(fd, status) && status->st_ino == mapping->inode &&
		major(status->st_dev) == mapping->major && minor(status->st_dev) == mapping->minor)
		return fd;
	close(fd);
	return -1;
}

static bool is_same(
	const struct object *object, const struct mapping *mapping, const struct timespec *changed)
{
	return object->inode == mapping->inode && object->major == mapping->major &&
	       object->minor == mapping->minor && !strcmp(object->path, mapping->path) &&
	       object->changed.tv_sec == changed->tv_sec &&
	       object->changed.tv_nsec == changed->tv_nsec;
}

static int add_object(struct objects *objects, struct object *object)
{
	if (objects->count == WIRE_MODULE_MAX)
		return -E2BIG;
	if (ARRAY_GROW(objects->list, objects->count, objects->room, 64))
		return -ENOMEM;
	objects->list[objects->count++] = object;
	object->number = objects->count;
	return 0;
}

static struct object *new_object(
	pid_t pid, const struct mapping *mapping, const struct mapping *first, int descriptor)
{
	struct object_source source = {.descriptor = descriptor, .pid = pid};
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->path = strdup(mapping->path);
	object->inode = mapping->inode;
	object->major = mapping->major;
	object->minor = mapping->minor;
	if (descriptor < 0 && !first)
		goto fail;
	source.base = first ? first->start : 0;
	if (object->path && !read_object(object, &source))
		return object;
fail:
	object_free(object);
	return NULL;
}

const struct object *objects_find(struct objects *objects, pid_t pid, const struct mapping *mapping,
	const struct mapping *first)
{
	struct stat status = {0};
	struct object *object = NULL;
	int fd = open_mapped(pid, mapping, &status);

	for (unsigned i = 0; i < objects->count && !object; i++)
		if (is_same(objects->list[i], mapping, &status.st_ctim))
			object = objects->list[i];
	if (object)
		goto out;
	object = new_object(pid, mapping, first, fd);
	if (!object)
		goto out;
	object->changed = status.st_ctim;
	if (add_object(objects, object)) {
		object_free(object);
		object = NULL;
	}
out:
	if (fd >= 0)
		close(fd);
	return object;
}

void objects_release(struct objects *objects)
{
	for (unsigned i = 0; i < objects->count; i++)
		object_free(objects->list[i]);
	free(objects->list);
	*objects = (struct objects){0};
}

int object_bias(const struct object *object, const struct mapping *mapping, uintptr_t *bias)
{
	for (unsigned i = 0; i < object->load_count; i++) {
		const struct object_load *load = &object->loads[i];
		uint64_t floor = load->offset & ~(uint64_t)(MEMORY_PAGE - 1);

		if (mapping->offset < floor || mapping->offset >= load->offset + load->bytes)
			continue;
		/*
		 * If the next segment begins in the mapping's first page, the mapping belongs to
		 * that segment.
		 */
		if (i + 1 < object->load_count &&
			(object->loads[i + 1].offset & ~(uint64_t)(MEMORY_PAGE - 1)) ==
				mapping->offset)
			continue;
		*bias = mapping->start - (mapping->offset - load->offset + load->vaddr);
		return 0;
	}
	return -ENOENT;
}
