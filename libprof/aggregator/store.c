/* SPDX-License-Identifier: MIT */
/* Add samples to profiles; keep the catalogue of names; read the segments of modules. */
#include "libprof/aggregator/store.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/profile/names.h"
#include "libprof/profile/profile.h"
#include "libprof/sampler/confined.h"
#include "libprof/waits/wait_leaf.h"
#include "libprof/wire_control.h"

void store_begin(struct flameprof_profile *p, uint64_t start_ns, int64_t start_wall_s)
{
	p->start_ns = start_ns;
	p->start_wall_s = start_wall_s;
}

void store_end(struct flameprof_profile *p, uint64_t end_ns)
{
	p->end_ns = end_ns;
}

size_t store_bytes(const struct flameprof_profile *p)
{
	return p->account.used_bytes;
}

static void count_sample(struct store_result *result, const struct wire_sample *sample, int is_full)
{
	if (is_full) {
		result->full_samples++;
		result->full_weight += sample->weight;
		result->full_bytes += sample->bytes;
		return;
	}
	result->samples++;
	result->weight += sample->weight;
	result->vm_samples += sample->kind == WIRE_KIND_VM;
	result->vm_weight += sample->kind == WIRE_KIND_VM ? sample->weight : 0;
	result->wait_weight += sample->kind == WIRE_KIND_WAIT ? sample->weight : 0;
	result->ends[sample->end] += sample->weight;
}

/* Add the samples of one ring. @frames has room for WIRE_MAX_DEPTH. */
static void drain_ring(struct flameprof_profile *p, struct wire_drain *drain,
	struct wire_drain_pass *pass, uint64_t until_ns, uint64_t *frames,
	struct store_result *result)
{
	const struct wire_ring *ring = wire_ring(drain->arena, pass->index);
	int has_begun = 0;
	uint64_t named = UINT64_MAX; /* thread that was named last */
	uint64_t before = 0;
	struct wire_sample sample;
	enum wire_drain_step step;

	while ((step = wire_drain_next(drain, pass, &sample)) == WIRE_DRAIN_RECORD &&
		sample.time_ns <= until_ns) {
		wire_copy(frames, wire_drain_frames(drain, pass), 8 * sample.frames);
		wire_drain_skip(drain, pass, sample.bytes);
		before = pass->taken;
		if (!sample.weight)
			continue;
		has_begun = has_begun || !profile_begin_run(p, pass->owner >> 2);
		if (!has_begun || profile_add(p, 0, &sample, frames)) {
			count_sample(result, &sample, 1);
			continue;
		}
		count_sample(result, &sample, 0);
		if (named != sample.thread) {
			char comm[WIRE_COMM_BYTES];

			memcpy(comm, ring->comm, sizeof(comm));
			comm[sizeof(comm) - 1] = '\0';
			profile_name_thread(p, 0, sample.thread, ring->tid, comm);
		}
		named = sample.thread;
	}
	if (step == WIRE_DRAIN_DAMAGED) {
		result->damaged_samples++;
		result->damaged_bytes += pass->taken - before;
	}
	wire_drain_end(drain, pass);
}

void store_drain(struct flameprof_profile *p, struct wire_drain *drain, uint64_t image,
	uint64_t until_ns, struct store_result *result)
{
	/* Static, because it is too large for a stack. Only one thread reads the rings. */
	static uint64_t frames[WIRE_MAX_DEPTH];
	uint32_t high = wire_rings_high(drain->arena);

	for (uint32_t i = 0; i < high; i++) {
		struct wire_drain_pass pass;

		if (wire_drain_begin(drain, i, &pass) && pass.owner >> 2 == image)
			drain_ring(p, drain, &pass, until_ns, frames, result);
	}
}

void store_add_wait(struct flameprof_profile *p, uint64_t image, const struct wire_sample *sample,
	const uint64_t *frames, struct store_result *result)
{
	const struct names_code leaf = {.space = WIRE_FRAME_ADDRESS(frames[0]), .bytes = 1};
	char name[WAIT_LEAF_BYTES];
	int error = profile_begin_run(p, image);

	if (!error && !names_find_code(&p->names, leaf.space)) {
		wait_leaf_name(frames[0], name);
		error = profile_add_code(p, 0, &leaf, name, "");
	}
	if (!error)
		error = profile_add(p, 0, sample, frames);
	count_sample(result, sample, error != 0);
	if (!error && WIRE_WAIT_CALL(frames[0]) == WIRE_WAIT_UNKNOWN)
		result->unseen_weight += sample->weight;
}

/* ---- where a module's code was mapped from --------------------------------------------------- */
/*
 * The functions below read the program headers of a mapped module, which may be unmapped at any
 * moment.
 */

#define HEADERS_MAX 64

/*
 * Read the bytes from /proc/self/mem. This works also in containers whose seccomp filter refuses
 * process_vm_readv(2).
 */
static int read_by_file(uint64_t address, void *to, size_t bytes)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;

	ssize_t n = pread(fd, to, bytes, (off_t)address);

	close(fd);
	return n == (ssize_t)bytes;
}

int store_read_memory(uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {to, bytes};
	struct iovec remote = {(void *)(uintptr_t)address, bytes};
	long n = -EPERM;

	if (confined_may(CONFINED_MEMORY))
		n = arch_syscall6(
			SYS_process_vm_readv, getpid(), (long)&local, 1, (long)&remote, 1, 0);
	return n == (long)bytes || read_by_file(address, to, bytes);
}

static int is_elf_header(const ElfW(Ehdr) * header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_phentsize == sizeof(ElfW(Phdr)) && header->e_phnum <= HEADERS_MAX;
}

static void add_segment(struct names_module *module, const ElfW(Phdr) * segment)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = module->bias + segment->p_vaddr;

	if (first < module->start || first >= module->end || !segment->p_filesz ||
		segment->p_filesz > module->end - first ||
		segment->p_vaddr % page != segment->p_offset % page)
		return;
	module->segment[module->segments++] = (struct names_segment){
		.start = first & -page,
		.end = (first + segment->p_filesz + page - 1) & -page,
		.file_offset = segment->p_offset & -page,
	};
}

void segments_read(struct names_module *module)
{
	ElfW(Phdr) segments[HEADERS_MAX];
	ElfW(Ehdr) header;

	module->segments = 0;
	if (!store_read_memory(module->start, &header, sizeof(header)) || !is_elf_header(&header) ||
		!store_read_memory(module->start + header.e_phoff, segments,
			header.e_phnum * sizeof(segments[0])))
		return;
	for (unsigned i = 0; i < header.e_phnum && module->segments < NAMES_SEGMENTS; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			add_segment(module, &segments[i]);
}

/* ---- the catalogue --------------------------------------------------------------------------- */
/* These functions read names from control records into the catalogue and copy them to profiles. */

/* Limit of the catalogue's memory, enough for some 500,000 pieces of generated code. */
#define CATALOGUE_BYTES_MAX (64u << 20)

struct store_catalogue {
	struct pages_account account;
	struct names names;
	uint64_t lost;
	/* Marks among `lost` since store_catalogue_read_lost_marks() was last called. */
	uint64_t lost_marks;
	struct wire_control_record record; /* too large for any stack */
};

struct store_catalogue *store_catalogue_new(void)
{
	struct store_catalogue *catalogue = pages_new(sizeof(*catalogue));

	if (catalogue)
		catalogue->account.limit_bytes = CATALOGUE_BYTES_MAX;
	return catalogue;
}

void store_catalogue_free(struct store_catalogue *catalogue)
{
	if (!catalogue)
		return;
	names_release(&catalogue->names, &catalogue->account);
	pages_free(catalogue, sizeof(*catalogue));
}

uint64_t store_catalogue_lost(const struct store_catalogue *catalogue)
{
	return catalogue->lost;
}

uint64_t store_catalogue_read_lost_marks(struct store_catalogue *catalogue)
{
	uint64_t lost = catalogue->lost_marks;

	catalogue->lost_marks = 0;
	return lost;
}

static int add_module_record(struct store_catalogue *catalogue, const struct wire_module *record)
{
	struct names_module module = {
		.number = record->number,
		.flags = record->flags,
		.start = record->start,
		.end = record->end,
		.bias = record->bias,
		.time_ns = record->time_ns,
		.build_id_bytes = record->build_id_bytes,
	};

	if (module.start >= module.end)
		return -EINVAL;
	memcpy(module.build_id, record->build_id, sizeof(module.build_id));
	segments_read(&module);
	return names_add_module(&catalogue->names, &catalogue->account, &module, record->path);
}

static int add_code_record(struct store_catalogue *catalogue, const struct wire_code *record)
{
	struct names_code code = {
		.space = record->space,
		.bytes = record->bytes,
		.start = record->start,
		.flags = record->flags,
	};

	return names_add_code(&catalogue->names, &catalogue->account, &code, record->name);
}

static int add_function_record(
	struct store_catalogue *catalogue, const struct wire_function *record)
{
	const struct names_code code = {.space = record->space,
		.bytes = wire_function_bytes(record->flags),
		.line = record->line,
		.flags = record->flags};

	return names_add_function(&catalogue->names, &catalogue->account, &code, record->name,
		record->name + record->name_bytes);
}

static int add_mark_record(struct flameprof_profile *profile, const struct wire_mark *record)
{
	return profile ? profile_add_mark(profile, record->time_ns, record->tid, record->name)
		       : -ENOSPC;
}

static int add_record(struct store_catalogue *catalogue, struct flameprof_profile *profile)
{
	const struct wire_control_record *record = &catalogue->record;

	switch (record->type) {
	case WIRE_CONTROL_MODULE:
		return add_module_record(catalogue, &record->module);
	case WIRE_CONTROL_CODE:
		return add_code_record(catalogue, &record->code);
	case WIRE_CONTROL_FUNCTION:
		return add_function_record(catalogue, &record->function);
	case WIRE_CONTROL_MARK:
		return add_mark_record(profile, &record->mark);
	default:
		return -EINVAL;
	}
}

unsigned store_read_control(struct store_catalogue *catalogue, void *arena, uint32_t slot_index,
	struct flameprof_profile *profile)
{
	struct wire_slot *slot = wire_slot(arena, slot_index);
	char *ring = wire_control_data(arena, slot_index);
	unsigned records_read = 0;

	/*
	 * Read at most as many bytes as the ring has, because writers may be as fast as this loop.
	 */
	for (uint32_t bytes = 0; bytes < WIRE_CONTROL_BYTES; bytes += catalogue->record.bytes) {
		enum wire_control_step step = wire_control_read(slot, ring, &catalogue->record);

		if (step == WIRE_CONTROL_EMPTY || step == WIRE_CONTROL_DAMAGED)
			break;
		if (step == WIRE_CONTROL_TAKEN) {
			int is_lost = add_record(catalogue, profile) != 0;

			records_read++;
			catalogue->lost += is_lost;
			catalogue->lost_marks +=
				is_lost && catalogue->record.type == WIRE_CONTROL_MARK;
		}
	}
	return records_read;
}

static int resolve_module(struct flameprof_profile *p, const struct names *names, uint32_t number)
{
	uint32_t known = names_find_module(names, 0, number);
	const struct names_module *module = known ? names_module(names, known - 1) : NULL;

	if (!module || names_find_module(&p->names, 0, number))
		return 0;
	return names_add_module(&p->names, &p->account, module, names_string(names, module->path));
}

static int resolve_code(struct flameprof_profile *p, const struct names *names, uint64_t space)
{
	uint32_t known = names_find_code(names, space);
	const struct names_code *code = known ? names_code(names, known - 1) : NULL;

	if (!code || names_find_code(&p->names, space))
		return 0;
	return names_add_function(&p->names, &p->account, code, names_string(names, code->name),
		names_file(names, code->file));
}

int store_resolve(struct flameprof_profile *p, const struct store_catalogue *catalogue)
{
	p->account.limit_bytes = p->limit_bytes;
	for (uint32_t i = 1; i <= p->node_count; i++) {
		uint64_t frame = profile_node_frame(profile_node_at(p, i));
		uint32_t number = WIRE_FRAME_MODULE(frame);
		int error;

		if (number == WIRE_MODULE_CODE)
			error = resolve_code(p, &catalogue->names, WIRE_FRAME_ADDRESS(frame));
		else
			error = resolve_module(p, &catalogue->names, number);
		if (error)
			return error;
	}
	return 0;
}
