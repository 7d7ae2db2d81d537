/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The module table: append-only entries in hash chains, each published by one compare-and-swap. Two
 * threads that find a module at the same time may number it twice, which only wastes a number.
 *
 * An address range does not identify a module: after dlclose() another module may be loaded there.
 * So each time a walk enters a module, the entry's identity (dynamic section, build-id or name) is
 * compared with the mapped memory, by two or three loads.
 *
 * A frame is one 64-bit word {module number, address - load bias}. The handler knows the module of
 * each frame that it unwinds, so it writes this word at once. Readers need no history of mappings,
 * and dlclose() is not interposed.
 */
#include "libprof/sampler/modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/fnv.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/language.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/text.h"
#include "libprof/unwind/memory.h"

/* ---- build-ids ------------------------------------------------------------------------------- */

static inline int load(modules_read_fn *read, uintptr_t address, void *to, size_t bytes)
{
	if (read)
		return read(address, to, bytes);
	memcpy(to, (const void *)address, bytes);
	return 1;
}

/* Search one PT_NOTE segment for NT_GNU_BUILD_ID. Returns the build-id's address, or NULL. */
static const uint8_t *find_in_notes(
	uintptr_t at, uintptr_t end, modules_read_fn *read, uint32_t *bytes)
{
	struct {
		ElfW(Nhdr) head;
		uint32_t name;
	} note;

	while (end - at >= sizeof(note) && load(read, at, &note, sizeof(note))) {
		uint64_t name = ((uint64_t)note.head.n_namesz + 3) & ~3ULL;
		uint64_t desc = ((uint64_t)note.head.n_descsz + 3) & ~3ULL;

		at += sizeof(note.head);
		if (name + desc > end - at)
			return NULL;
		if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == 4 &&
			note.name == 0x00554e47 /* "GNU" */ && note.head.n_descsz >= 8) {
			*bytes = note.head.n_descsz;
			return (const uint8_t *)(at + name);
		}
		at += name + desc;
	}
	return NULL;
}

/*
 * Read segment @index of the module's program headers. Returns 1, or 0 if there is no such segment
 * or no ELF header at the module's start.
 */
static int load_segment(const struct unwind_module *module, modules_read_fn *read, unsigned index,
	ElfW(Phdr) *segment)
{
	ElfW(Ehdr) header;

	return unwind_module_covers(module, module->start, sizeof(header)) &&
	       load(read, module->start, &header, sizeof(header)) &&
	       !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_phentsize == sizeof(*segment) && header.e_phoff <= WIRE_PAGE &&
	       header.e_phoff + (uint64_t)header.e_phnum * sizeof(*segment) <= WIRE_PAGE &&
	       index < header.e_phnum &&
	       load(read, module->start + header.e_phoff + index * sizeof(*segment), segment,
		       sizeof(*segment));
}

const uint8_t *build_id_find(
	const struct unwind_module *module, modules_read_fn *read, uint32_t *bytes)
{
	ElfW(Phdr) segment;

	for (unsigned i = 0; load_segment(module, read, i, &segment); i++) {
		uintptr_t at = module->bias + segment.p_vaddr;

		if (segment.p_type != PT_NOTE || at % 4 ||
			!unwind_module_covers(module, at, segment.p_memsz))
			continue;
		const uint8_t *id = find_in_notes(at, at + segment.p_memsz, read, bytes);
		if (id)
			return id;
	}
	return NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Limit of the table. Further modules get the number WIRE_MODULE_OVER. */
#define MODULES_MAX     4096u
#define MODULES_BUCKETS 256u
#define PATH_MAX_BYTES  4096u
#define BUILD_ID_COMPARED 8u /* bytes; no build-id is shorter */

modules_code_fn *modules_code;

struct module_entry {
	struct unwind_module module;
	const void *dynamic;       /* link_map.l_ld */
	const uint8_t *build_id;   /* in memory; NULL: none */
	uint8_t build_id_was[WIRE_BUILD_ID_MAX]; /* contents when it was found */
	uint32_t build_id_bytes;
	uint64_t name_hash;        /* compared if there is no build-id */
	/* Index + 1 of the next entry in the hash chain; 0: none. */
	uint32_t next;
	/* Atomic: the image whose control ring contains the module's record. */
	uint64_t published;
};

static struct module_entry entries[MODULES_MAX];
static uint32_t entry_count; /* atomic */
/* Atomic. For each hash bucket: index + 1 of its newest entry; 0: none. */
static uint32_t buckets[MODULES_BUCKETS];

/* Addresses of the program itself, from its lowest to its highest segment. */
static AT_START struct {
	uintptr_t start;
	uintptr_t end;
	/* End of the pages of the program's first segment. */
	uintptr_t mapped_end;
} program;

static char program_path[PATH_MAX_BYTES];
/* Atomic: 1 when program_path is complete. Concurrent writers write the same path. */
static uint32_t have_path;

static uint64_t hash_name(const char *name)
{
	return fnv_text(FNV_BEGIN, name ? name : "", 512);
}

static uint32_t *bucket_of(uintptr_t start)
{
	return &buckets[(start >> 12) * 0x9e3779b1u >> 24 & (MODULES_BUCKETS - 1)];
}

/*
 * Write the absolute path of @name to @out, or "" if @name is empty. Returns the number of bytes,
 * NUL included.
 */
static uint32_t absolute_path(const char *name, char *out, uint32_t size)
{
	long n = 0;

	if (name[0] && name[0] != '/' && confined_may(CONFINED_PATHS)) {
		n = arch_syscall2(SYS_getcwd, out, size);
		n = n > 0 ? n - 1 : 0;
		if (n > 0 && n + 1 < (long)size)
			out[n++] = '/';
	}
	for (; *name && n + 1 < (long)size; name++)
		out[n++] = *name;
	out[n] = '\0';
	return (uint32_t)n + 1;
}

/*
 * Write @entry's record to this image's control ring. A path that is longer than the record's room
 * is cut.
 */
static void write_module_record(struct module_entry *entry, const struct link_map *map)
{
	const char *name = map && map->l_name ? map->l_name : "";
	const char *path = name[0] ? name : program_path;
	int is_vdso = hash_name(name) == hash_name("linux-vdso.so.1");
	uint32_t room = sizeof(struct wire_module) + 512;
	struct wire_module *record;
	char *data = wire_control_data(sampler.arena, sampler.slot_index);

	if (!name[0] && !__atomic_load_n(&have_path, __ATOMIC_ACQUIRE) && !confined_is_reported())
		modules_read_program_path();
	for (const char *c = path; *c && room < PATH_MAX_BYTES; c++)
		room++;
	room = (room + 7) & ~7u;
	record = (struct wire_module *)control_reserve(sampler.slot, data, room);
	if (!record)
		return;
	record->number = entry->module.number;
	record->start = entry->module.start;
	record->end = entry->module.end;
	record->bias = entry->module.bias;
	record->time_ns = clock_monotonic_ns();
	record->flags = (is_vdso ? WIRE_MODULE_VDSO : 0) | (name[0] ? 0 : WIRE_MODULE_MAIN);
	if (unwind_module_covers(&entry->module, (uintptr_t)modules_find, 1))
		record->flags |= WIRE_MODULE_SELF;
	record->build_id_bytes = entry->build_id_bytes;
	memcpy(record->build_id, entry->build_id_was, sizeof(record->build_id));
	record->path_bytes = absolute_path(path, record->path, room - sizeof(*record));
	control_commit(&record->control, room, WIRE_CONTROL_MODULE);
	__atomic_store_n(&entry->published, sampler.image, __ATOMIC_RELEASE);
}

static int same_module(const struct module_entry *entry, const struct unwind_module *module,
	const struct link_map *map, modules_read_fn *read)
{
	uint8_t now[BUILD_ID_COMPARED];

	if (entry->module.start != module->start || entry->module.end != module->end ||
		entry->module.bias != module->bias || entry->dynamic != (map ? map->l_ld : NULL))
		return 0;
	if (entry->build_id)
		return load(read, (uintptr_t)entry->build_id, now, sizeof(now)) &&
		       !memcmp(now, entry->build_id_was, sizeof(now));
	return entry->name_hash == hash_name(map ? map->l_name : NULL);
}

static struct module_entry *add_entry(const struct unwind_module *module,
	const struct link_map *map, modules_read_fn *read)
{
	uint32_t index = __atomic_load_n(&entry_count, __ATOMIC_RELAXED);
	uint32_t *bucket = bucket_of(module->start);
	struct module_entry *entry;
	uint32_t bytes = 0, head;
	uint8_t was[WIRE_BUILD_ID_MAX] = {0};
	const uint8_t *build_id = build_id_find(module, read, &bytes);
	const struct runtime_module mapped = {.dynamic = (uintptr_t)(map ? map->l_ld : NULL),
		.bias = module->bias,
		.eh_frame_hdr = module->eh_frame_hdr};

	if (bytes > sizeof(was))
		bytes = sizeof(was);
	if (build_id && !load(read, (uintptr_t)build_id, was, bytes))
		return NULL;
	do {
		if (index >= MODULES_MAX)
			return NULL;
	} while (!__atomic_compare_exchange_n(&entry_count, &index, index + 1, 0, __ATOMIC_RELAXED,
		__ATOMIC_RELAXED));
	entry = &entries[index];
	entry->module = *module;
	entry->module.number = index + 1;
	entry->module.runtime = language_find_runtime(
		&mapped, confined_may(CONFINED_MEMORY) ? (int)sampler.pid : 0);
	entry->dynamic = map ? map->l_ld : NULL;
	entry->build_id = build_id;
	entry->build_id_bytes = bytes;
	memcpy(entry->build_id_was, was, sizeof(was));
	entry->name_hash = hash_name(map ? map->l_name : NULL);
	head = __atomic_load_n(bucket, __ATOMIC_RELAXED);
	do {
		entry->next = head;
	} while (!__atomic_compare_exchange_n(bucket, &head, index + 1, 0, __ATOMIC_RELEASE,
		__ATOMIC_RELAXED));
	return entry;
}

/*
 * Returns the program's load bias. @segments are its program headers in memory. Static programs
 * have no PT_PHDR segment; linkers place the table after the ELF header.
 */
static uintptr_t program_bias(const ElfW(Phdr) *segments, unsigned long count)
{
	uintptr_t header = (uintptr_t)segments - sizeof(ElfW(Ehdr));

	for (unsigned long i = 0; i < count; i++)
		if (segments[i].p_type == PT_PHDR)
			return (uintptr_t)segments - segments[i].p_vaddr;
	for (unsigned long i = 0; i < count; i++)
		if (segments[i].p_type == PT_LOAD && !segments[i].p_offset)
			return header - segments[i].p_vaddr;
	return 0;
}

/*
 * Returns 1 if the program has a DT_NEEDED entry. The entries are valid, because the dynamic linker
 * has read them.
 */
int modules_program_needs_any(void)
{
	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = segments ? getauxval(AT_PHNUM) : 0, i = 0;
	const ElfW(Dyn) *entry;

	while (i < count && segments[i].p_type != PT_DYNAMIC)
		i++;
	if (i == count)
		return 1;
	entry = (const void *)(program_bias(segments, count) + segments[i].p_vaddr);
	while (entry->d_tag != DT_NULL && entry->d_tag != DT_NEEDED)
		entry++;
	return entry->d_tag == DT_NEEDED;
}

static int read_link_to_program(const char *link)
{
	return arch_syscall4(SYS_readlinkat, AT_FDCWD, link, program_path, PATH_MAX_BYTES - 1) > 0;
}

/*
 * Find the file from which the program is mapped, by the link of its first mapping. That is not the
 * executed file if another program has mapped it, such as "ld.so ./program" or proot's loader. If
 * the mapping's link cannot be read, as under qemu, use the executed file: /proc/self/exe, for
 * which qemu returns the guest's file; or /proc/thread-self/exe, because the process's link is
 * empty after the main thread has ended.
 */
void modules_read_program_path(void)
{
	char link[TEXT_MAPPING_PATH_BYTES];

	if (__atomic_load_n(&have_path, __ATOMIC_ACQUIRE) || !confined_may(CONFINED_PATHS))
		return;
	text_mapping_path(link, program.start, program.mapped_end);
	if (read_link_to_program(link) || read_link_to_program("/proc/self/exe") ||
		read_link_to_program("/proc/thread-self/exe"))
		__atomic_store_n(&have_path, 1, __ATOMIC_RELEASE);
}

void modules_find_program(void)
{
	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uintptr_t page = getauxval(AT_PAGESZ), bias;

	if (!segments)
		return;
	bias = program_bias(segments, count);
	program.start = UINTPTR_MAX;
	for (unsigned long i = 0; i < count; i++) {
		uintptr_t at = bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_LOAD)
			continue;
		if (at < program.start) {
			program.start = at;
			program.mapped_end = (at + segments[i].p_filesz + page - 1) & -page;
		}
		if (at + segments[i].p_memsz > program.end)
			program.end = at + segments[i].p_memsz;
	}
}

void modules_init(void)
{
	modules_find_program();
	modules_read_program_path();
}

/*
 * If @pc is in the program, extend @module to the whole program. If a program's segments have gaps,
 * the dynamic linker returns only one segment, but call-frame information and notes are in other
 * segments than the code.
 */
static void widen_to_program(uintptr_t pc, struct unwind_module *module)
{
	if (pc < program.start || pc >= program.end)
		return;
	module->start = program.start;
	module->end = program.end;
}

static int find_code(uintptr_t pc, int error, struct unwind_module *out)
{
	modules_code_fn *find = __atomic_load_n(&modules_code, __ATOMIC_ACQUIRE);

	return find ? find(pc, 1, out) : error;
}

/*
 * Set the number of @out, the module that contains @pc. Add the module to the table if it is new.
 */
static inline void number_module(uintptr_t pc, const struct link_map *map, modules_read_fn *read,
	struct unwind_module *out)
{
	struct module_entry *entry = NULL;
	uint32_t at;

	widen_to_program(pc, out);
	at = __atomic_load_n(bucket_of(out->start), __ATOMIC_ACQUIRE);
	for (; at; at = entries[at - 1].next) {
		if (same_module(&entries[at - 1], out, map, read)) {
			entry = &entries[at - 1];
			break;
		}
	}
	if (!entry)
		entry = add_entry(out, map, read);
	if (!entry) {
		out->number = WIRE_MODULE_OVER;
		return;
	}
	if (__atomic_load_n(&entry->published, __ATOMIC_ACQUIRE) != sampler.image)
		write_module_record(entry, map);
	out->number = entry->module.number;
	out->runtime = entry->module.runtime;
}

int modules_find(uintptr_t pc, struct unwind_module *out)
{
	const struct link_map *map;
	int error = unwind_find_object(pc, out, &map);

	if (error)
		return find_code(pc, error, out);
	number_module(pc, map, NULL, out);
	return 0;
}

int modules_may_be_code(uintptr_t pc)
{
	struct unwind_module module;
	ElfW(Phdr) segment;
	unsigned i;

	if (unwind_find_object(pc, &module, NULL))
		return 1;
	widen_to_program(pc, &module);
	for (i = 0; load_segment(&module, NULL, i, &segment); i++)
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
			pc - module.bias - segment.p_vaddr < segment.p_memsz)
			return 1;
	return !i; /* segments unreadable: assume code */
}

/*
 * Read the NUL-terminated text at @address into @out (PATH_MAX_BYTES), truncated if necessary.
 * Returns 1, or 0 if it cannot be read.
 */
static int read_text(modules_read_fn *read, uintptr_t address, char *out)
{
	uint32_t n = 0, bytes;

	while (n < PATH_MAX_BYTES) {
		bytes = WIRE_PAGE - (uint32_t)(address + n) % WIRE_PAGE;
		if (bytes > PATH_MAX_BYTES - n)
			bytes = PATH_MAX_BYTES - n;
		if (!read(address + n, out + n, bytes))
			return 0;
		for (uint32_t end = n + bytes; n < end; n++)
			if (!out[n])
				return 1;
	}
	out[n - 1] = '\0';
	return 1;
}

int modules_find_unheld(uintptr_t pc, modules_read_fn *read, struct unwind_module *out)
{
	const struct link_map *map;
	char name[PATH_MAX_BYTES];
	struct link_map copy;
	int error = unwind_find_mapped(pc, out, &map);

	if (error)
		return find_code(pc, error, out);
	if (map && (!read((uintptr_t)map, &copy, sizeof(copy)) ||
			   !read_text(read, (uintptr_t)copy.l_name, name)))
		return -ENOENT;
	copy.l_name = name;
	out->bias = map ? copy.l_addr : 0;
	number_module(pc, map ? &copy : NULL, read, out);
	return 0;
}
