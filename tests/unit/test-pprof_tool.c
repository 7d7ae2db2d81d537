/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * The pprof tool reads a written file and finds this program's functions by its own computation of
 * addresses.
 */
#include "tests/unit/pb-fixture.h"

#include <link.h>

#include "libprof/aggregator/store.h"

/* Run pprof without a network, a browser or a home folder. */
#define PPROF "PPROF_TMPDIR=. HOME=. PPROF_BINARY_PATH=/nonexistent go tool pprof -symbolize=local "

/* Return the standard output and error of @command, owned by the caller. */
static char *run(const char *command)
{
	char *text = calloc(1, MIB);
	FILE *out = popen(command, "r");

	assert_non_null(out);
	assert_true(fread(text, 1, MIB - 1, out) < MIB - 1);
	pclose(out);
	return text;
}

static int have_pprof(void)
{
	return system("command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1") == 0;
}

/*
 * Check that the sample with the values @values has the stack @leaf, @root. pprof of Go 1.24 and
 * later renumbers locations.
 */
static void assert_stack(const char *text, const char *values, const char *leaf, const char *root)
{
	const char *sample = strstr(text, values);
	unsigned first, second;
	char line[64];

	assert_has(text, values);
	assert_int_equal(sscanf(sample + strlen(values), "%u %u\n", &first, &second), 2);
	snprintf(line, sizeof(line), "\n%6u: %s M=", first, leaf);
	assert_has(text, line);
	snprintf(line, sizeof(line), "\n%6u: %s M=", second, root);
	assert_has(text, line);
}

static void pprof_reads_what_was_written(void **state)
{
	struct flameprof_profile *p;
	char *text;

	(void)state;
	if (!have_pprof())
		skip();
	p = small_profile();
	p->dropped_weight = 12;
	assert_int_equal(profile_write_pb(p, OUT), 0);
	text = run(PPROF "-raw " OUT " 2>&1");
	assert_has(text, "Comment: title: a title");
	assert_has(text, "Comment: dropped: 12");
	assert_has(text, "Comment: mark: 1.500 10 phase two");
	assert_has(text, "PeriodType: cpu nanoseconds");
	assert_has(text, "Period: 5000000");
	assert_has(text, "Duration: 1");
	assert_has(text, "samples/count cpu/nanoseconds");
	assert_stack(text, "2   15000000: ", "0x8800", "0x400010");
	assert_has(text, "thread:[worker]");
	assert_has(text, "thread_id:[10]");
	assert_has(text, "0x66000/0x66010/0x0 [generated code]  [FN]");
	assert_has(text, "0x8000/0x9000/0x1000 /lib/a.so dead000f");
	free(text);
	text = run(PPROF "-top " OUT " 2>&1");
	assert_has(text, "Method; <one>");
	assert_has(text, "[unsampled]");
	free(text);
	flameprof_profile_free(p);
}

int a_function_to_be_found(int x);
__attribute__((noinline)) int a_function_to_be_found(int x)
{
	return x * 3 + 1;
}

/* Fill in the module that contains the address in module->start, as the sampler does. */
static int fill_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct names_module *module = context;
	uint64_t address = module->start, low = UINT64_MAX, high = 0;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *s = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + s->p_vaddr;

		if (s->p_type != PT_LOAD)
			continue;
		low = at < low ? at : low;
		high = at + s->p_memsz > high ? at + s->p_memsz : high;
	}
	if (address < low || address >= high)
		return 0;
	module->start = low;
	module->end = high;
	module->bias = info->dlpi_addr;
	segments_read(module);
	return 1;
}

static void pprof_finds_functions_by_the_mappings(void **state)
{
	struct flameprof_profile *p;
	struct names_module own = {.number = 1, .flags = WIRE_MODULE_MAIN};
	uint64_t address = (uintptr_t)a_function_to_be_found + 3;
	struct batch_maker maker;
	char path[4096] = "";
	char *text;

	(void)state;
	/* Under qemu-user a process cannot read its own memory by process_vm_readv(2). */
	if (!have_pprof() || getenv("TEST_EMULATED"))
		skip();
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	p = aggregate_profile(MIB);
	own.start = address;
	assert_int_equal(dl_iterate_phdr(fill_module, &own), 1);
	assert_int_equal(own.segments, 1);
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, FRAMES(WIRE_FRAME(1, address - own.bias)));
	batch_store(&maker, p);
	assert_int_equal(names_add_module(&p->names, &p->account, &own, path), 0);
	assert_int_equal(profile_write_pb(p, OUT), 0);
	text = run(PPROF "-top " OUT " 2>&1");
	assert_has(text, "a_function_to_be_found");
	free(text);
	assert_int_equal(a_function_to_be_found(1), 4);
	flameprof_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pprof_reads_what_was_written),
		cmocka_unit_test(pprof_finds_functions_by_the_mappings),
	};

	return cmocka_run_group_tests(tests, own_folder_enter, leave);
}
