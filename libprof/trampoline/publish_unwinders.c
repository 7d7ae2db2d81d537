/* SPDX-License-Identifier: MIT */
/*
 * The unwinders for exceptions and backtrace(3): libgcc and LLVM libunwind. Both may be loaded, and
 * another one may be linked into the program. Each gets the call-frame information of a whole
 * region at once. libgcc sorts all its entries at its next search. So one search is made after each
 * registration; otherwise the first exception would wait for the sorting. On x86_64 a region has
 * one FDE, whose expressions compute the position in a stub from the pc. On aarch64 expressions
 * cannot do this, so each stub has an FDE.
 *
 * A library that got call-frame information stays loaded. If the host asks for unwinders, libgcc is
 * loaded, as glibc would do at the first backtrace(). Otherwise only loaded libraries get
 * information. The libraries are searched before publish.c's lock is taken, because a constructor
 * that makes stubs may hold the loader's lock.
 *
 * Source: libgcc's unwind-dw2-fde.c, LLVM's libunwind.cpp.
 */
#include "libprof/trampoline/publish.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "libprof/trampoline/publish_cfi.h"
#include "libprof/unwind/cfi.h"

/* Kinds of unwinders. At most one library of each kind is used. */
enum kind { LIBGCC, LINKED, LLVM, KINDS };

/*
 * Functions of libgcc, and of an unwinder that is linked into the program. They need a section that
 * ends with four zero bytes, and memory for libgcc's struct object. __register_frame() is not used,
 * because it would allocate this memory without checking for failure.
 */
static void (*register_frame[2])(const void *section, void *object);
static void *(*deregister_frame[2])(const void *section);
static const void *(*find_fde)(const void *pc, void *bases); /* libgcc's */

/* LLVM's functions for a section, and for one FDE. Old versions have only the latter. */
static void (*llvm_add_section)(uintptr_t);
static void (*llvm_remove_section)(uintptr_t);
static void (*llvm_add_fde)(uintptr_t);
static void (*llvm_remove_fde)(uintptr_t);

/* Atomic. Bit k: the functions of kind k were found. Bits are never cleared. */
static unsigned seen;
/* The kinds that add_region() uses. Protected by publish.c's lock. */
static unsigned in_use;

struct state {
	unsigned registered;
	/* libgcc's struct object has 7 words for ever, because programs contain it. */
	uintptr_t object[2][8];
	/* The copy for LLVM: see llvm_copy(). */
	struct publish_bytes llvm_section;
};

/*
 * Find the functions of a program that is statically linked with libgcc and exports them, unless
 * they are the functions of the shared libgcc or of LLVM libunwind.
 */
static void find_linked(void)
{
	void *add = dlsym(RTLD_DEFAULT, "__register_frame_info");
	void *remove = dlsym(RTLD_DEFAULT, "__deregister_frame_info");
	Dl_info add_in, remove_in, llvm_in;
	void *llvm = dlsym(RTLD_DEFAULT, "__unw_add_dynamic_fde");

	if (!add || !remove || !dladdr(add, &add_in) || !dladdr(remove, &remove_in))
		return;
	if (add_in.dli_fbase != remove_in.dli_fbase || add == (void *)register_frame[LIBGCC])
		return;
	if (llvm && dladdr(llvm, &llvm_in) && llvm_in.dli_fbase == add_in.dli_fbase)
		return;
	register_frame[LINKED] = (void (*)(const void *, void *))add;
	deregister_frame[LINKED] = (void *(*)(const void *))remove;
	__atomic_or_fetch(&seen, 1u << LINKED, __ATOMIC_RELEASE);
}

/* Load libgcc if @may_load: glibc loads it only at the first backtrace(), which is too late. */
static void find_libgcc(int may_load)
{
	void *handle = publish_loaded("libgcc_s.so.1");

	if (!handle && may_load)
		handle = publish_load("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!handle)
		return;
	register_frame[LIBGCC] =
		(void (*)(const void *, void *))dlsym(handle, "__register_frame_info");
	deregister_frame[LIBGCC] =
		(void *(*)(const void *))dlsym(handle, "__deregister_frame_info");
	find_fde = (const void *(*)(const void *, void *))dlsym(handle, "_Unwind_Find_FDE");
	if (register_frame[LIBGCC] && deregister_frame[LIBGCC])
		__atomic_or_fetch(&seen, 1u << LIBGCC, __ATOMIC_RELEASE);
}

static void find_llvm(void)
{
	void *handle = publish_loaded("libunwind.so.1");

	if (!handle)
		handle = RTLD_DEFAULT;
	llvm_add_fde = (void (*)(uintptr_t))dlsym(handle, "__unw_add_dynamic_fde");
	llvm_remove_fde = (void (*)(uintptr_t))dlsym(handle, "__unw_remove_dynamic_fde");
	llvm_add_section =
		(void (*)(uintptr_t))dlsym(handle, "__unw_add_dynamic_eh_frame_section");
	llvm_remove_section =
		(void (*)(uintptr_t))dlsym(handle, "__unw_remove_dynamic_eh_frame_section");
	if (llvm_add_fde && llvm_remove_fde)
		__atomic_or_fetch(&seen, 1u << LLVM, __ATOMIC_RELEASE);
}

static void find_all(int may_load)
{
	unsigned known = __atomic_load_n(&seen, __ATOMIC_ACQUIRE);

	if (!(known & 1u << LIBGCC))
		find_libgcc(may_load);
	if (!(known & 1u << LINKED))
		find_linked();
	if (!(known & 1u << LLVM))
		find_llvm();
}

static void prepare(void)
{
	find_all(1);
}

static int count_loads(struct dl_phdr_info *info, size_t bytes, void *count)
{
	(void)bytes;
	*(unsigned long long *)count = info->dlpi_adds;
	return 1;
}

int publish_unwinders_are_loaded(void)
{
	/* Atomic: the number of libraries that had been loaded at the last search. */
	static unsigned long long last_loads;
	unsigned long long loads = 0;

	/* Search again only if libraries were loaded since, because programs make many arenas. */
	dl_iterate_phdr(count_loads, &loads);
	if (loads != __atomic_load_n(&last_loads, __ATOMIC_RELAXED)) {
		find_all(0);
		__atomic_store_n(&last_loads, loads, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&seen, __ATOMIC_ACQUIRE) != 0;
}

static int start(void)
{
	unsigned before = in_use;

	in_use = __atomic_load_n(&seen, __ATOMIC_ACQUIRE);
	if (!in_use)
		return -ENOENT;
	return before != in_use ? PUBLISH_AFRESH : 0;
}

static int is_inside(void *context, const struct cfi_fde *fde)
{
	const struct region *region = context;

	return fde->begin < region->start || fde->end > region->start + region->bytes ||
			fde->end <= fde->begin
		? -EINVAL : 0;
}

/*
 * Since version 13, libgcc keeps ranges in a tree. It aborts if a range to remove is missing
 * because it overlapped another one. Regions do not overlap, but the host's own call-frame
 * information may be wrong, or the host may have registered it.
 */
static int is_valid_for_libgcc(const struct region *region)
{
	void *bases[3];

	if (region->kind != FLAMEPROF_CODE_HOST)
		return 1;
	if (publish_cfi_each(region, is_inside, (void *)(uintptr_t)region))
		return 0;
	return !find_fde || !find_fde((const void *)region->start, bases);
}

/*
 * Up to version 17, LLVM's unwinder does not stop at the four zero bytes at the end of a section.
 * All versions stop at a CIE of an unknown version, so the copy ends with such a CIE.
 */
static int llvm_copy(struct publish_bytes *section, const struct region *region)
{
	static const uint8_t end[12] = {8, 0, 0, 0, 0, 0, 0, 0, 0xff};
	int error = publish_cfi_write(
		section, region, region->start, region->start + region->bytes, 0);

	publish_bytes_put(section, end, sizeof(end));
	return error ? error : section->error;
}

static int llvm_call_fde(void *context, const struct cfi_fde *fde)
{
	void (*call)(uintptr_t) = *(void (**)(uintptr_t))context;

	call(fde->record);
	return 0;
}

/*
 * The host's call-frame information may have exception handlers, which a copy would lack. So it is
 * registered in place, FDE by FDE.
 */
static int llvm_uses_section(const struct region *region)
{
	return llvm_add_section && llvm_remove_section && region->kind != FLAMEPROF_CODE_HOST;
}

static int register_llvm(const struct region *region, struct state *known)
{
	if (!llvm_uses_section(region))
		return publish_cfi_each(region, llvm_call_fde, &llvm_add_fde);

	int error = llvm_copy(&known->llvm_section, region);

	if (!error)
		llvm_add_section((uintptr_t)known->llvm_section.data);
	return error;
}

static void deregister_llvm(const struct region *region, struct state *known)
{
	if (llvm_uses_section(region))
		llvm_remove_section((uintptr_t)known->llvm_section.data);
	else
		publish_cfi_each(region, llvm_call_fde, &llvm_remove_fde);
}

/*
 * Use the brief section (one FDE for all stubs), if any: before version 13, libgcc sorts all FDEs
 * at its next search.
 */
static const void *section_for_libgcc(const struct region *region)
{
	return region->brief_frame ? region->brief_frame : region->eh_frame;
}

/*
 * libgcc since version 13 and LLVM's unwinder allocate nodes and tables without checking for
 * failure. So one larger block is allocated first and freed, to make failures of their smaller
 * allocations unlikely. The memory may still be gone when libgcc or LLVM allocates, because another
 * thread has taken it.
 */
#define UNWINDERS_BYTES (32u << 10)

static int has_memory_for_unwinders(void)
{
	void *volatile block = malloc(UNWINDERS_BYTES);

	free(block);
	return block != NULL;
}

static int add_region(const struct region *region, void **state)
{
	struct state *known = *state;
	void *bases[3];

	/*
	 * Skip code that has only frame pointers, because it cannot be described to these
	 * unwinders.
	 */
	if (!region->eh_frame)
		return 0;
	if (!has_memory_for_unwinders())
		return -ENOMEM;
	if (!known)
		known = *state = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (unsigned kind = LIBGCC; kind <= LINKED; kind++) {
		if (!(in_use & ~known->registered & 1u << kind) || !is_valid_for_libgcc(region))
			continue;
		register_frame[kind](section_for_libgcc(region), known->object[kind]);
		known->registered |= 1u << kind;
		/* Make libgcc sort now. Otherwise the first exception would wait for it. */
		if (kind == LIBGCC && find_fde)
			find_fde((const void *)region->start, bases);
	}
	if ((in_use & ~known->registered & 1u << LLVM) && !register_llvm(region, known))
		known->registered |= 1u << LLVM;
	return 0;
}

static void remove_region(const struct region *region, void *state)
{
	struct state *known = state;

	if (!known)
		return;
	for (unsigned kind = LIBGCC; kind <= LINKED; kind++) {
		if (known->registered & 1u << kind)
			deregister_frame[kind](section_for_libgcc(region));
	}
	if (known->registered & 1u << LLVM)
		deregister_llvm(region, known);
	free(known->llvm_section.data);
	free(known);
}

const struct publisher publisher_unwinders = {
	.flag = FLAMEPROF_PUBLISH_UNWINDERS,
	.prepare = prepare,
	.start = start,
	.add_region = add_region,
	.remove_region = remove_region,
};
