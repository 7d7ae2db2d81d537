/* SPDX-License-Identifier: MIT */
/*
 * libgcc and LLVM's libunwind walk through stubs: from their targets and at every instruction of a
 * stub. Regions are removed while other threads unwind. Also the host's own code, which the host
 * may have registered itself.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include "arch/registers.h"
#include "libprof/trampoline/region.h"
#include "tests/unit/chain-walk.h"
#include "tests/unit/trap-flag.h"

/*
 * Functions of LLVM's libunwind. Its _Unwind_Backtrace() cannot be used: it would call libgcc's
 * functions, which were loaded first, with LLVM's context.
 */
#define LLVM_REG_IP -1
static struct {
	int (*getcontext)(void *context);
	int (*init_local)(void *cursor, void *context);
	int (*step)(void *cursor);
	int (*get_reg)(void *cursor, int reg, uintptr_t *value);
	int (*set_reg)(void *cursor, int reg, uintptr_t value);
} llvm;

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *argument)
{
	int is_exact = 0;
	uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);

	look(argument, pc, is_exact);
	return _URC_NO_REASON;
}

/*
 * Walk from here. In a signal handler, libgcc walks through the handler's frame, so it needs no
 * @ucontext.
 */
static void walk_libgcc(struct seen *seen, const void *ucontext)
{
	(void)ucontext;
	_Unwind_Backtrace(on_frame, seen);
}

/*
 * LLVM 14's unwinder treats every pc as a return address, even an interrupted pc, and uses the
 * unwind row of the byte before it. So begin one byte behind the interrupted pc.
 */
static void walk_llvm(struct seen *seen, const void *ucontext)
{
	/* Larger than LLVM's types on any CPU. */
	uintptr_t context[256], cursor[256], pc;

	llvm.getcontext(context);
	llvm.init_local(cursor, context);
	if (ucontext) {
		struct arch_registers registers;

		arch_registers_from_ucontext(&registers, ucontext);
		for (int reg = 0; reg < ARCH_DWARF_PC; reg++)
			llvm.set_reg(cursor, reg, registers.r[reg]);
		llvm.set_reg(cursor, LLVM_REG_IP, registers.r[ARCH_DWARF_PC] + 1);
	}
	do {
		llvm.get_reg(cursor, LLVM_REG_IP, &pc);
		look(seen, pc, 0);
	} while (llvm.step(cursor) > 0);
}

static void (*const walkers[])(struct seen *, const void *) = {walk_libgcc, walk_llvm};
static unsigned walkers_there = 1;
static void (*walker)(struct seen *, const void *);

static int walk(void)
{
	last = (struct seen){.next = CHAIN - 1};
	walker(&last, NULL);
	return 0;
}

static void find_llvm(void)
{
	void *handle = dlopen("libunwind.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		print_message("no libunwind.so.1: LLVM's is left out\n");
		return;
	}
	*(void **)&llvm.getcontext = dlsym(handle, "unw_getcontext");
	*(void **)&llvm.init_local = dlsym(handle, "unw_init_local");
	*(void **)&llvm.step = dlsym(handle, "unw_step");
	*(void **)&llvm.get_reg = dlsym(handle, "unw_get_reg");
	*(void **)&llvm.set_reg = dlsym(handle, "unw_set_reg");
	assert_true(llvm.getcontext && llvm.init_local && llvm.step && llvm.get_reg &&
		    llvm.set_reg);
	walkers_there = 2;
}

static void test_from_targets(void **state)
{
	(void)state;
	find_llvm();
	chain_make();
	call_chain(learn_frames);
	/* Stubs are registered with unwinders that are loaded, without a request. */
	for (unsigned i = 0; i < walkers_there; i++) {
		walker = walkers[i];
		call_chain(walk);
		assert_true(is_complete(&last));
	}
}

/* Walk from the functions that intercept stubs call, and from the tick check. */
static void test_from_intercepts(void **state)
{
	chain_function *before[CHAIN];

	(void)state;
	memcpy(before, chain_stub, sizeof(before));
	chain_make_intercepts();
	for (int checked = 0; checked < 2; checked++) {
		chain_in_check = checked ? learn_frames : NULL;
		call_chain(learn_frames);
		for (unsigned i = 0; i < walkers_there; i++) {
			walker = walkers[i];
			last = (struct seen){0};
			call_chain(walk);
			assert_true(is_complete(&last));
		}
	}
	chain_in_check = NULL;
	memcpy(chain_stub, before, sizeof(before));
	call_chain(learn_frames);
}

static int leaf_backtrace(void)
{
	void *pcs[64];
	int count = backtrace(pcs, 64);

	last = (struct seen){.next = CHAIN - 1};
	for (int i = 0; i < count; i++)
		look(&last, (uintptr_t)pcs[i], 0);
	return 0;
}

static void test_backtrace(void **state)
{
	(void)state;
	call_chain(leaf_backtrace);
	assert_true(is_complete(&last));
}

#define TURNS 300

static int turning;

/* In a loop: walk the stack, outside the chain of stubs and inside it. */
static void *walk_on(void *argument)
{
	unsigned *incomplete = argument;

	while (__atomic_load_n(&turning, __ATOMIC_RELAXED)) {
		struct seen seen = {.next = -1};

		walkers[0](&seen, NULL);
		*incomplete += seen.wrong;
	}
	return NULL;
}

/*
 * Add and remove arenas while two threads unwind. No unwinder may abort, and all walks must be
 * complete.
 */
static void test_ends_while_others_unwind(void **state)
{
	unsigned incomplete = 0;
	pthread_t thread;

	(void)state;
	turning = 1;
	assert_int_equal(pthread_create(&thread, NULL, walk_on, &incomplete), 0);
	for (unsigned i = 0; i < TURNS; i++) {
		chain_drop();
		chain_make();
		for (unsigned k = 0; k < walkers_there; k++) {
			walker = walkers[k];
			call_chain(walk);
			assert_true(is_complete(&last));
		}
	}
	__atomic_store_n(&turning, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(incomplete, 0);
}

/* libgcc's search for the FDE of @pc: it shows whether the host's code is registered. */
extern const void *_Unwind_Find_FDE(const void *pc, void *bases);

struct section {
	uint8_t bytes[64];
} __attribute__((aligned(8)));

/* Write a CIE, and an FDE for the @bytes bytes at @start, with absolute pointers. */
static void write_section(struct section *section, const void *start, size_t bytes)
{
	static const uint8_t cie[] = {12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0, 0, 0};
	static const uint8_t fde[] = {20, 0, 0, 0, 20, 0, 0, 0};
	uint64_t range[] = {(uintptr_t)start, bytes};

	memset(section, 0, sizeof(*section));
	memcpy(section->bytes, cie, sizeof(cie));
	memcpy(section->bytes + 16, fde, sizeof(fde));
	memcpy(section->bytes + 24, range, sizeof(range));
}

static int is_known(const void *pc)
{
	void *bases[3];

	return _Unwind_Find_FDE(pc, bases) != NULL;
}

/* The host may have registered its code with libgcc already, or may do so later. */
static void test_code_of_the_host_on_request(void **state)
{
	static uint8_t code[128];
	struct section section;

	(void)state;
	assert_int_equal(flameprof_published(), FLAMEPROF_PUBLISH_UNWINDERS);
	write_section(&section, code, sizeof(code));
	assert_int_equal(flameprof_code_add(code, sizeof(code), "mine", section.bytes), 0);
	assert_false(is_known(code + 5));
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_UNWINDERS), 0);
	assert_true(is_known(code + 5));
	assert_int_equal(flameprof_code_remove(code), 0);
}

extern void __register_frame(const void *), __deregister_frame(const void *);

static void test_code_of_the_host(void **state)
{
	static uint8_t code[128];
	struct section section;

	(void)state;
	write_section(&section, code, sizeof(code));
	assert_int_equal(flameprof_code_add(code, sizeof(code), "mine", section.bytes), 0);
	assert_true(is_known(code + 5));
	assert_int_equal(flameprof_code_remove(code), 0);
	assert_false(is_known(code + 5));

	/*
	 * The host has registered its code with libgcc. If the library registered it again, libgcc
	 * would abort when it is removed.
	 */
	__register_frame(section.bytes);
	assert_true(is_known(code + 5));
	assert_int_equal(flameprof_code_add(code, sizeof(code), "mine", section.bytes), 0);
	assert_int_equal(flameprof_code_remove(code), 0);
	assert_true(is_known(code + 5));
	__deregister_frame(section.bytes);
	assert_false(is_known(code + 5));
}

/* FDEs for code outside the range that the host announced must not be registered. */
static void test_frames_of_others(void **state)
{
	static uint8_t code[256];
	struct section section;

	(void)state;
	write_section(&section, code, sizeof(code));
	if (!flameprof_code_add(code, 64, "lies", section.bytes)) {
		assert_false(is_known(code + 5));
		assert_int_equal(flameprof_code_remove(code), 0);
	}
	assert_false(is_known(code + 200));
}

/* only on x86 can user code set the trap flag */
#if defined(REG_EFL)

static volatile unsigned steps, steps_complete, distinct_pcs;
static uintptr_t stub_start, stub_end;
static uint8_t pc_seen[256];

/* Handle the trap at each instruction of the innermost stub: walk through this handler's frame. */
static void on_step(int number, siginfo_t *info, void *argument)
{
	const ucontext_t *context = argument;
	uintptr_t pc = context->uc_mcontext.gregs[REG_RIP];
	struct seen seen = {.next = CHAIN - 1};

	(void)number;
	(void)info;
	if (pc < stub_start || pc >= stub_end)
		return;
	distinct_pcs += !pc_seen[pc - stub_start]++;
	steps++;
	walker(&seen, context);
	steps_complete += is_complete(&seen);
}

static int leaf_nothing(void)
{
	return 0;
}

static void test_from_every_instruction(void **state)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
	const struct region *region = region_find((uintptr_t)chain_stub[CHAIN - 1]);

	(void)state;
	stub_start = (uintptr_t)chain_stub[CHAIN - 1];
	stub_end = stub_start + region->code_bytes;
	sigaction(SIGTRAP, &action, &before);
	for (unsigned i = 0; i < walkers_there; i++) {
		walker = walkers[i];
		steps = steps_complete = distinct_pcs = 0;
		memset(pc_seen, 0, sizeof(pc_seen));
		trap_flag_set();
		call_chain(leaf_nothing);
		trap_flag_clear();
		/* instructions: endbr, push, mov, push, sub, call, leave, ret */
		assert_int_equal(distinct_pcs, 8);
		assert_int_equal(steps, 8);
		/*
		 * LLVM's unwinder cannot begin behind the last instruction, because no code is
		 * there.
		 */
		assert_int_equal(steps_complete, walker == walk_llvm ? steps - 1 : steps);
	}
	sigaction(SIGTRAP, &before, NULL);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_targets),
		cmocka_unit_test(test_code_of_the_host_on_request),
		cmocka_unit_test(test_from_intercepts),
		cmocka_unit_test(test_backtrace),
		cmocka_unit_test(test_code_of_the_host),
		cmocka_unit_test(test_frames_of_others),
#if defined(REG_EFL)
		cmocka_unit_test(test_from_every_instruction),
#endif
		cmocka_unit_test(test_ends_while_others_unwind),
	};

	return cmocka_run_group_tests_name("publish_unwinders", tests, NULL, NULL);
}
