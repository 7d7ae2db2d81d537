/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Write trees as pprof profiles, with and without gzip, and read them again. */
#include "tests/unit/pprof-fixture.h"

#include <errno.h>
#include <zlib.h>

#include "cli/formats/whole.h"
#include "libprof/pprof/protobuf.h"

static struct calltree *grow(void)
{
	struct calltree *tree = calltree_new();
	/* The program is not the first module. */
	uint32_t other = calltree_frame(tree, "f;\n\"x\"", "lib.so", CALLTREE_NATIVE);
	uint32_t main_frame = calltree_frame(tree, "main", "prog", CALLTREE_NATIVE);
	uint32_t none = calltree_frame(tree, "[unsampled]", "", CALLTREE_SYNTHETIC);
	uint32_t node = calltree_child(tree, CALLTREE_ROOT, main_frame);
	uint32_t below = calltree_child(tree, node, other);

	calltree_add(tree, node, 5);
	calltree_add(tree, below, 7);
	calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, none), 1);
	calltree_thread(tree, 0, "one (1/1)", "prog (1)");
	calltree_thread(tree, 1, "two (1/2)", "");
	/* Of the node's weight 7, three are samples of thread 1 and two are samples of thread 0. */
	calltree_sample(tree, &(struct calltree_sample){.node = below, .weight = 3, .thread = 1});
	calltree_sample(tree, &(struct calltree_sample){.node = below, .weight = 1, .thread = 0});
	calltree_sample(tree, &(struct calltree_sample){.node = below, .weight = 1, .thread = 0});
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

/* The profile written, decompressed. */
static void *loaded;
static size_t loaded_bytes;

static struct calltree *read_back(const char *type)
{
	return read_bytes(loaded, loaded_bytes, type, 0);
}

static void write_owned(
	struct calltree *tree, const struct picture_options *options, bool is_packed)
{
	char *written = NULL;
	size_t bytes;
	FILE *out = open_memstream(&written, &bytes);

	assert_int_equal((is_packed ? pprof_write_gz : pprof_write)(tree, options, out), 0);
	fclose(out);
	assert_int_equal(!memcmp(written, "\x1f\x8b", 2), is_packed);
	free(loaded);
	assert_int_equal(load(written, bytes, &loaded, &loaded_bytes), 0);
	free(written);
	calltree_free(tree);
}

static void write_tree(const struct picture_options *options, bool is_packed)
{
	write_owned(grow(), options, is_packed);
}

static void check_threads(const struct calltree *tree)
{
	assert_int_equal(calltree_samples(tree), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);

		assert_string_equal(
			calltree_thread_at(tree, sample->thread), i ? "two (1/2)" : "one (1/1)");
		if (i)
			assert_null(calltree_process_at(tree, sample->thread));
		else
			assert_string_equal(calltree_process_at(tree, sample->thread), "prog (1)");
		assert_int_equal(sample->weight, i ? 3 : 2);
	}
}

static void test_there_and_back(void **state)
{
	const struct picture_mark marks[] = {{1500000, 3, "a"}, {2000000, 4, "b c"}};
	const struct picture_options options = {.title = "./prog x",
		.period_ns = 5000,
		.duration_ns = 1000000,
		.created_s = 1234,
		.marks = marks,
		.mark_count = 2};

	(void)state;
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		struct calltree *tree;

		write_tree(&options, is_packed);
		assert_true(pprof_is_profile(loaded, loaded_bytes));
		tree = read_back(NULL);
		check_tree(tree, "[unsampled] 1\nmain 5\nmain;f: \"x\" 7\n");
		assert_string_equal(frame_called(tree, "f;\n\"x\"")->module, "lib.so");
		assert_int_equal(frame_called(tree, "[unsampled]")->kind, CALLTREE_SYNTHETIC);
		check_threads(tree);
		calltree_free(tree);
		assert_string_equal(facts.title, "./prog x");
		assert_int_equal(facts.period_ns, 5000);
		assert_int_equal(facts.duration_ns, 1000000);
		assert_int_equal(facts.created_s, 1234);
		assert_int_equal(facts.mark_count, 2);
		assert_int_equal(facts.marks[1].time_ns, 2000000);
		assert_int_equal(facts.marks[1].tid, 4);
		assert_string_equal(facts.marks[1].text, "b c");
	}
}

/*
 * A thread whose process execs another program counts as two threads, even if their names are
 * equal.
 */
static void test_a_thread_of_two_processes_is_two(void **state)
{
	static const char *const processes[] = {"sh (1)", "cat (1)"};
	struct calltree *tree = grow(), *back;

	(void)state;
	calltree_thread(tree, 0, "cat (1/1)", processes[0]);
	calltree_thread(tree, 1, "cat (1/1)", processes[1]);
	write_owned(tree, &(struct picture_options){0}, false);
	back = read_back(NULL);
	assert_int_equal(calltree_samples(back), 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(calltree_process_at(back, calltree_sample_at(back, i)->thread),
			processes[i]);
	calltree_free(back);
}

/* ---- lines and what is inlined --------------------------------------------------------------- */

static uint32_t at_line(struct calltree *tree, uint32_t parent, const char *name,
	enum calltree_frame_kind kind, const char *file, uint32_t line)
{
	return calltree_child(
		tree, parent, calltree_frame_line(tree, name, "prog", kind, file, line));
}

/* Print each stack from its root as "name@file:line", with '>' before inlined frames. */
static void spell(const struct calltree *tree, char *text)
{
	struct preorder order;

	assert_int_equal(preorder_init(&order, tree), 0);
	*text = '\0';
	for (uint32_t i = 1; i < order.nodes; i++) {
		const struct calltree_node *node = calltree_node_at(tree, order.order[i]);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);

		text += sprintf(text, "%u%s%s@%s:%u=%u ", order.depth[i],
			frame->kind == CALLTREE_INLINE ? ">" : "", frame->name, frame->file,
			frame->line, (unsigned)node->self);
		assert_string_equal(frame->module, "prog");
	}
	preorder_release(&order);
}

/*
 * Make a tree in which main is at two lines. At line 20 `outer` is inlined into main, and into it
 * `inner`, at two lines, one of which calls `f`.
 */
static struct calltree *grow_chains(void)
{
	struct calltree *tree = calltree_new();
	uint32_t here = at_line(tree, CALLTREE_ROOT, "main", CALLTREE_NATIVE, "src/a.c", 10);
	uint32_t there = at_line(tree, CALLTREE_ROOT, "main", CALLTREE_NATIVE, "src/a.c", 20);
	uint32_t outer = at_line(tree, there, "outer", CALLTREE_INLINE, "b.h", 5);
	uint32_t inner = at_line(tree, outer, "inner", CALLTREE_INLINE, "b.h", 7);
	uint32_t other = at_line(tree, outer, "inner", CALLTREE_INLINE, "b.h", 8);

	calltree_add(tree, here, 1);
	calltree_add(tree, inner, 20);
	calltree_add(tree, outer, 300);
	calltree_add(tree, at_line(tree, other, "f", CALLTREE_NATIVE, "", 0), 4000);
	/*
	 * "outer" is inlined into "main" once more, under another caller. "lost" is inlined but has
	 * no caller.
	 */
	there = at_line(tree, here, "main", CALLTREE_NATIVE, "src/a.c", 20);
	calltree_add(tree, at_line(tree, there, "outer", CALLTREE_INLINE, "b.h", 5), 50000);
	calltree_add(tree, at_line(tree, CALLTREE_ROOT, "lost", CALLTREE_INLINE, "c.c", 1), 7);
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

/* ---- addresses
 * ----------------------------------------------------------------------------------- */

static uint32_t at_offset(struct calltree *tree, uint32_t parent, const char *name,
	const struct calltree_mapping *mapping, uint64_t offset)
{
	return calltree_child(tree, parent,
		calltree_intern(tree, &(struct calltree_frame){.name = name,
					      .module = strrchr(mapping->path, '/') + 1,
					      .kind = CALLTREE_NATIVE,
					      .file = "a.c",
					      .line = 3,
					      .start_line = 2,
					      .mapping = mapping,
					      .offset = offset}));
}

/* Read fields 1 to 7 of the message number @wanted among those in field @kind of the profile. */
static void read_fields(uint32_t kind, unsigned wanted, uint64_t numbers[8])
{
	struct protobuf in = {loaded, (const uint8_t *)loaded + loaded_bytes};
	struct protobuf_field field;

	memset(numbers, 0, 8 * sizeof(*numbers));
	while (protobuf_next(&in, &field) > 0) {
		struct protobuf_field inner;

		if (field.number != kind || wanted--)
			continue;
		while (protobuf_next(&field.bytes, &inner) > 0)
			if (inner.number < 8)
				numbers[inner.number] = inner.value;
		return;
	}
	fail_msg("no message %u in field %u", wanted, kind);
}

/*
 * Two libraries have the same addresses in their files. In the profile the second one is moved, and
 * its frame with it. All of it comes back, except for the addresses of the moved mapping.
 */
static void test_addresses(void **state)
{
	static const struct calltree_mapping program = {
		"/bin/prog", "aabbccddeeff0011", 0x1000, 0x401000, 0x403000};
	static const struct calltree_mapping libraries[] = {
		{"/lib/one.so", "1100ffeeddccbbaa", 0x2000, 0x402000, 0x405000},
		{"/lib/two.so", "", 0x1000, 0x1000, 0x2000}};
	struct calltree *tree = calltree_new(), *back;
	uint64_t numbers[8];
	uint32_t node = at_offset(tree, CALLTREE_ROOT, "main", &program, 0x1234);

	(void)state;
	calltree_add(tree, at_offset(tree, node, "f", &libraries[0], 0x2345), 3);
	calltree_add(tree, at_offset(tree, node, "g", &libraries[1], 0x1fff), 4);
	assert_int_equal(calltree_finish(tree), 0);
	write_owned(tree, &(struct picture_options){0}, true);
	read_fields(PROFILE_MAPPING, 0, numbers);
	assert_int_equal(numbers[MAPPING_START], 0x401000);
	assert_int_equal(numbers[MAPPING_LIMIT], 0x403000);
	assert_int_equal(numbers[MAPPING_OFFSET], 0x1000);
	read_fields(PROFILE_MAPPING, 1, numbers);
	assert_int_equal(numbers[MAPPING_START], 0x403000);
	assert_int_equal(numbers[MAPPING_LIMIT], 0x406000);
	read_fields(PROFILE_MAPPING, 2, numbers);
	assert_int_equal(numbers[MAPPING_START], 0x1000);
	for (unsigned i = 0; i < 3; i++) {
		read_fields(PROFILE_LOCATION, i, numbers);
		assert_int_equal(
			numbers[LOCATION_ADDRESS], numbers[LOCATION_MAPPING] == 1   ? 0x401234
						   : numbers[LOCATION_MAPPING] == 2 ? 0x403345
										    : 0x1fff);
	}
	read_fields(PROFILE_FUNCTION, 0, numbers);
	assert_int_equal(numbers[FUNCTION_START_LINE], 2);
	back = read_back(NULL);
	assert_int_equal(frame_called(back, "f")->offset, 0x2345);
	assert_string_equal(frame_called(back, "f")->mapping->path, "/lib/one.so");
	assert_string_equal(frame_called(back, "f")->mapping->build_id, "1100ffeeddccbbaa");
	assert_int_equal(frame_called(back, "g")->offset, 0x1fff);
	assert_int_equal(frame_called(back, "g")->start_line, 2);
	assert_string_equal(frame_called(back, "main")->module, "prog");
	calltree_free(back);
}

static unsigned count_fields(uint32_t wanted)
{
	struct protobuf in = {loaded, (const uint8_t *)loaded + loaded_bytes};
	struct protobuf_field field;
	unsigned count = 0;

	while (protobuf_next(&in, &field) > 0)
		count += field.number == wanted;
	return count;
}

static void test_lines_and_chains(void **state)
{
	static const char wanted[] =
		"1lost@c.c:1=7 "
		"1main@src/a.c:10=1 2main@src/a.c:20=0 3>outer@b.h:5=50000 "
		"1main@src/a.c:20=0 2>outer@b.h:5=300 3>inner@b.h:7=20 3>inner@b.h:8=0 4f@:0=4000 ";
	struct calltree *tree;
	char text[1024];

	(void)state;
	write_owned(grow_chains(), &(struct picture_options){0}, true);
	/*
	 * Expected locations: main at 10; outer in main at 20; inner at 7 in these; inner at 8 in
	 * these; f; lost.
	 */
	assert_int_equal(count_fields(PROFILE_LOCATION), 6);
	/* Expected functions: main, outer, inner, f and lost, each once for all its lines. */
	assert_int_equal(count_fields(PROFILE_FUNCTION), 5);
	tree = read_back(NULL);
	spell(tree, text);
	assert_string_equal(text, wanted);
	/* Write what was read once more. */
	write_owned(tree, &(struct picture_options){0}, false);
	assert_int_equal(count_fields(PROFILE_LOCATION), 6);
	tree = read_back(NULL);
	spell(tree, text);
	assert_string_equal(text, wanted);
	calltree_free(tree);
}

/* pprof shows the first mapping as "File:", so it must be the program. */
static void test_the_program_comes_first(void **state)
{
	(void)state;
	write_tree(&(struct picture_options){0}, false);
	calltree_free(read_back(NULL));
	assert_string_equal(facts.title, "prog: samples");
}

static void test_counts_and_times(void **state)
{
	(void)state;
	write_tree(&(struct picture_options){.count_name = "misses"}, false);
	calltree_free(read_back("misses/count"));
	assert_string_equal(facts.count_name, "misses");
	assert_int_equal(facts.period_ns, 0);
	write_tree(&(struct picture_options){.count_name = "bytes"}, false);
	calltree_free(read_back("bytes/bytes"));
	write_tree(&(struct picture_options){.count_name = "nanoseconds", .period_ns = 1}, false);
	calltree_free(read_back(NULL));
	assert_int_equal(facts.period_ns, 1);
}

/*
 * Read the tree of the profile's other kind of time, which has the same period, and compare it with
 * @wanted.
 */
static void check_other(const char *wanted)
{
	const struct input_request request = {0};
	struct calltree *other = calltree_new();

	assert_int_equal(pprof_read_type(other, loaded, loaded_bytes, "x.pb", facts.other_name,
				 &request, &facts, &message),
		0);
	assert_int_equal(calltree_finish(other), 0);
	check_tree(other, wanted);
	calltree_free(other);
}

static void check_types(const char *type, const char *wanted)
{
	struct calltree *tree = read_back(type);

	check_tree(tree, wanted);
	calltree_free(tree);
}

/*
 * CPU time and virtual machines' time are never added into one value, whichever of them the picture
 * shows.
 */
static void test_two_times_are_never_one(void **state)
{
	static const char native[] = "[unsampled] 1\nmain 5\nmain;f: \"x\" 7\n";
	static const char told[] = "[vm];rep 20\n";

	(void)state;
	for (int vm_is_shown = 0; vm_is_shown < 2; vm_is_shown++) {
		struct calltree *machine = calltree_new(), *clock = grow();
		uint32_t root = calltree_frame(machine, "[vm]", "[vm]", CALLTREE_SYNTHETIC);
		uint32_t rep = calltree_frame(machine, "rep", "[vm]", CALLTREE_JIT);
		struct picture_options options = {.period_ns = 5000,
			.type_name = vm_is_shown ? "vm" : "wall",
			.other = vm_is_shown ? clock : machine,
			.other_name = vm_is_shown ? "wall" : "vm"};

		calltree_add(machine,
			calltree_child(machine, calltree_child(machine, CALLTREE_ROOT, root), rep),
			20);
		assert_int_equal(calltree_finish(machine), 0);
		write_owned(vm_is_shown ? machine : clock, &options, false);
		calltree_free(vm_is_shown ? clock : machine);
		check_types(NULL, vm_is_shown ? told : native);
		assert_string_equal(facts.other_name, vm_is_shown ? "wall" : "vm");
		check_types("samples/count", native);
		assert_string_equal(facts.type_name, "wall");
		check_types("vm/nanoseconds", told);
		assert_int_equal(facts.period_ns, 5000);
		assert_string_equal(facts.other_name, "wall");
		check_other(native);
		check_types("wall/nanoseconds", native);
		check_other(told);
	}
}

/*
 * Make a tree with the weights: running 5, waiting for a lock 9, waiting for an unknown cause 1,
 * ready to run 2.
 */
static struct calltree *grow_waits(void)
{
	static const struct {
		const char *name, *module;
		enum calltree_frame_kind kind;
		uint32_t weight;
	} leaves[] = {
		{"work", "prog", CALLTREE_NATIVE, 5},
		{"[futex]", "lock", CALLTREE_WAIT, 9},
		{"[waiting]", "", CALLTREE_WAIT, 1},
		{"[no CPU]", "cpu", CALLTREE_WAIT, 2},
	};
	struct calltree *tree = calltree_new();
	uint32_t main = calltree_child(
		tree, CALLTREE_ROOT, calltree_frame(tree, "main", "prog", CALLTREE_NATIVE));

	calltree_thread(tree, 0, "worker (1/2)", "prog (1)");
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		uint32_t node = calltree_child(tree, main,
			calltree_frame(tree, leaves[i].name, leaves[i].module, leaves[i].kind));

		calltree_add(tree, node, leaves[i].weight);
		calltree_sample(
			tree, &(struct calltree_sample){.node = node, .weight = leaves[i].weight});
	}
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static uint64_t weight_of_kind(const struct calltree *tree, const char *module)
{
	uint64_t weight = 0;

	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);

		if (frame->kind == CALLTREE_WAIT && !strcmp(frame->module, module))
			weight += node->self;
	}
	return weight;
}

/*
 * Waits that are written and read again are equal. With a period they are written as numbers of
 * periods, otherwise as times.
 */
static void test_waits_come_back(void **state)
{
	static const char all[] =
		"main;[futex] 9\nmain;[no CPU] 2\nmain;[waiting] 1\nmain;work 5\n";

	(void)state;
	for (uint64_t period_ns = 1; period_ns < 10000; period_ns += 5000) {
		static const char *const taken[] = {NULL, "cpu", "wait/nanoseconds"};
		struct picture_options options = {.period_ns = period_ns, .type_name = "cpu"};

		write_owned(grow_waits(), &options, false);
		for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
			struct calltree *tree = read_back(taken[i]);

			check_tree(tree, all);
			assert_int_equal(calltree_waits(tree), 12);
			assert_int_equal(weight_of_kind(tree, "lock"), 9);
			assert_int_equal(weight_of_kind(tree, ""), 1);
			assert_int_equal(weight_of_kind(tree, "cpu"), 2);
			assert_string_equal(facts.type_name, "cpu");
			assert_int_equal(facts.period_ns, period_ns);
			assert_int_equal(calltree_samples(tree), 4);
			assert_string_equal(calltree_thread_at(tree, 0), "worker (1/2)");
			for (size_t s = 0; s < 4; s++)
				assert_int_equal(calltree_sample_at(tree, s)->kind,
					calltree_sample_at(tree, s)->weight == 5
						? CALLTREE_ON_CPU
						: CALLTREE_WAITING);
			calltree_free(tree);
		}
		/* Each of these sample types can be read alone. */
		check_types("runnable", "main;[no CPU] 2\n");
		if (period_ns > 1)
			check_types("samples", "main;work 5\n");
	}
}

/*
 * Another profiler may write a wait stack without a leaf that names the wait. It must not become
 * CPU time.
 */
static void test_a_wait_without_a_leaf_gets_one(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t main = calltree_child(
		tree, CALLTREE_ROOT, calltree_frame(tree, "main", "prog", CALLTREE_NATIVE));

	(void)state;
	calltree_add(tree, main, 3);
	calltree_add(tree,
		calltree_child(tree, main, calltree_frame(tree, "read", "", CALLTREE_WAIT)), 4);
	calltree_add(tree,
		calltree_child(tree, CALLTREE_ROOT, calltree_frame(tree, "[x]", "", CALLTREE_WAIT)),
		2);
	assert_int_equal(calltree_finish(tree), 0);
	write_owned(tree, &(struct picture_options){.period_ns = 5000}, false);
	check_types(NULL, "[x] 2\nmain 3\nmain;read;[waiting] 4\n");
}

static void test_a_full_disk_is_an_error(void **state)
{
	struct calltree *tree = grow();
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(pprof_write(tree, &(struct picture_options){0}, full), -ENOSPC);
	clearerr(full);
	assert_int_equal(pprof_write_gz(tree, &(struct picture_options){0}, full), -ENOSPC);
	fclose(full);
	calltree_free(tree);
}

/* ---- gzip ------------------------------------------------------------------------------------ */

/*
 * Compress @bytes zeros (at most 1 MiB) with gzip. Returns the size and sets *@out, allocated by
 * malloc().
 */
static size_t zip_zeroes(size_t bytes, uint8_t **out)
{
	static uint8_t zeroes[1 << 20];
	const size_t room = 65536;
	z_stream stream = {.next_in = zeroes, .avail_in = (uInt)bytes, .avail_out = (uInt)room};

	stream.next_out = *out = malloc(room);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return room - stream.avail_out;
}

static void test_gzip(void **state)
{
	uint8_t *packed;
	size_t bytes = zip_zeroes(100000, &packed), count;
	void *unpacked;

	(void)state;
	assert_int_equal(load(packed, bytes, &unpacked, &count), 0);
	assert_int_equal(count, 100000);
	free(unpacked);
	assert_int_equal(load(packed, bytes - 9, &unpacked, &count), -EBADMSG);
	assert_non_null(strstr(message.text, "data ends at byte"));
	packed[bytes - 6] ^= 0xff; /* in the checksum */
	assert_int_equal(load(packed, bytes, &unpacked, &count), -EBADMSG);
	assert_non_null(strstr(message.text, "is damaged at byte"));
	free(packed);
}

/* Several gzip streams in one file count as one text, and the size of this text is limited. */
static void test_a_bomb_is_refused(void **state)
{
	const unsigned times = WHOLE_BYTES_MAX / (1 << 20);
	uint8_t *packed;
	size_t bytes = zip_zeroes(1 << 20, &packed), count;
	uint8_t *bomb = malloc(bytes * (times + 1));
	void *unpacked;

	(void)state;
	for (unsigned i = 0; i <= times; i++)
		memcpy(bomb + i * bytes, packed, bytes);
	assert_int_equal(load(bomb, bytes * 3, &unpacked, &count), 0);
	assert_int_equal(count, 3 << 20);
	free(unpacked);
	assert_int_equal(load(bomb, bytes * (times + 1), &unpacked, &count), -EFBIG);
	assert_non_null(strstr(message.text, "more than 512 MiB"));
	free(bomb);
	free(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_there_and_back, tear_down),
		cmocka_unit_test_teardown(test_a_thread_of_two_processes_is_two, tear_down),
		cmocka_unit_test_teardown(test_addresses, tear_down),
		cmocka_unit_test_teardown(test_lines_and_chains, tear_down),
		cmocka_unit_test_teardown(test_the_program_comes_first, tear_down),
		cmocka_unit_test_teardown(test_counts_and_times, tear_down),
		cmocka_unit_test_teardown(test_two_times_are_never_one, tear_down),
		cmocka_unit_test_teardown(test_waits_come_back, tear_down),
		cmocka_unit_test_teardown(test_a_wait_without_a_leaf_gets_one, tear_down),
		cmocka_unit_test_teardown(test_a_full_disk_is_an_error, tear_down),
		cmocka_unit_test_teardown(test_gzip, tear_down),
		cmocka_unit_test_teardown(test_a_bomb_is_refused, tear_down),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(loaded);
	return failed;
}
