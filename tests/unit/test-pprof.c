/* SPDX-License-Identifier: MIT */
/* Compare every field of a written pprof file with the profile. */
#include "tests/unit/pb-fixture.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "libprof/pprof/protobuf.h"

/* ---- messages as text ------------------------------------------------------------------ */

#define TEXTS_MAX 100

/* The file that was read last, and its string table. */
static struct protobuf whole;
static char texts[TEXTS_MAX][64];
static unsigned text_count;

static void load(const char *path)
{
	static uint8_t bytes[16 * MIB];
	FILE *in = fopen(path, "r");
	struct protobuf_field field;
	struct protobuf file;
	int more;

	whole = (struct protobuf){bytes, bytes + fread(bytes, 1, sizeof(bytes), in)};
	fclose(in);
	text_count = 0;
	file = whole;
	while ((more = protobuf_next(&file, &field)) > 0)
		if (field.number == PROFILE_STRING && text_count < TEXTS_MAX)
			snprintf(texts[text_count++], sizeof(texts[0]), "%.*s",
				(int)protobuf_left(&field.bytes), (const char *)field.bytes.at);
	assert_int_equal(more, 0);
}

/*
 * Print "number=value " in hexadecimal. If @are_texts contains the field's number, print
 * "number='text' " instead.
 */
static int print_field(char *at, const char *are_texts, const struct protobuf_field *field)
{
	if (!strchr(are_texts, '0' + (int)field->number))
		return sprintf(at, "%u=%lx ", field->number, field->value);
	assert_true(field->value < text_count);
	return sprintf(at, "%u='%s' ", field->number, texts[field->value]);
}

/* Print the fields as "number=value ...". Lists and nested messages are in brackets. */
static void describe_message(char *at, uint32_t kind, struct protobuf message)
{
	/* The digits are the numbers of the fields whose values are indices of texts. */
	const char *are_texts = kind == PROFILE_MAPPING ? "56" : kind == PROFILE_FUNCTION ? "234"
		: kind == PROFILE_LOCATION ? "" : "12";
	struct protobuf_field field, inner;

	while (protobuf_next(&message, &field) > 0) {
		if (field.type == PROTOBUF_VARINT) {
			at += print_field(at, are_texts, &field);
			continue;
		}
		at += sprintf(at, "%u=[", field.number);
		if (kind == PROFILE_SAMPLE && field.number <= SAMPLE_VALUE)
			for (uint64_t value; protobuf_number(&field, &value) > 0;)
				at += sprintf(at, "%lx ", value);
		else
			while (protobuf_next(&field.bytes, &inner) > 0)
				at += print_field(at, are_texts, &inner);
		at += sprintf(at, "] ");
	}
}

/*
 * Return the text of the message number @wanted among those of kind @kind, owned by the caller;
 * NULL if there is none.
 */
static char *message_text(uint32_t kind, unsigned wanted)
{
	struct protobuf file = whole;
	struct protobuf_field field;
	char *text = NULL;

	while (!text && protobuf_next(&file, &field) > 0)
		if (field.number == kind && !wanted--) {
			text = calloc(1, 65536);
			describe_message(text, kind, field.bytes);
		}
	return text;
}

static void assert_message(uint32_t kind, unsigned n, const char *expected)
{
	char *text = message_text(kind, n);

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

/* Write the profile to OUT and load that file. */
static void write_pb(const struct flameprof_profile *p)
{
	assert_int_equal(profile_write_pb(p, OUT), 0);
	load(OUT);
}

static int has_text(const char *text)
{
	for (unsigned i = 0; i < text_count; i++)
		if (!strcmp(texts[i], text))
			return 1;
	return 0;
}

/* ---- fields ---------------------------------------------------------------------------- */

static void every_field_is_what_the_profile_says(void **state)
{
	struct flameprof_profile *p = small_profile();

	(void)state;
	write_pb(p);
	assert_string_equal(texts[0], "");
	/* Each text once. */
	for (unsigned i = 0; i < text_count; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(texts[i], texts[k]);
	/* Sample types. */
	assert_message(1, 0, "1='samples' 2='count' ");
	assert_message(1, 1, "1='cpu' 2='nanoseconds' ");
	assert_message(1, 2, NULL);
	/* Mappings: one for the program, one for each segment, and one for generated code. */
	assert_message(3, 0, "1=1 2=400000 3=500000 5='/bin/main' ");
	assert_message(3, 1, "1=2 2=8000 3=9000 4=1000 5='/lib/a.so' 6='dead000f' ");
	assert_message(3, 2, "1=3 2=a000 3=b000 4=5000 5='/lib/a.so' 6='dead000f' ");
	assert_message(3, 3, "1=4 2=10000 3=11000 5='[vdso]' ");
	assert_message(3, 4, "1=5 2=66000 3=66010 5='[generated code]' 7=1 ");
	assert_message(3, 5, NULL);
	/*
	 * Functions: the function whose name was reported, and two that stand for missing stacks.
	 */
	assert_message(5, 0, "1=1 2='Method; <one>' ");
	assert_message(5, 1, "1=2 2='[unsampled]' ");
	assert_message(5, 2, "1=3 2='[no stack]' ");
	assert_message(5, 3, NULL);
	/* Locations, in the order in which they appear from the root. */
	assert_message(4, 0, "1=1 2=1 3=400010 ");
	assert_message(4, 1, "1=2 2=2 3=8800 ");
	assert_message(4, 2, "1=3 2=3 3=a000 ");
	assert_message(4, 3, "1=4 2=5 3=66004 4=[1=1 ] ");
	assert_message(4, 4, "1=5 2=4 3=10010 ");
	assert_message(4, 5, "1=6 3=1234 ");
	assert_message(4, 6, "1=7 3=9800 "); /* between the segments: in no mapping */
	assert_message(4, 7, "1=8 4=[1=2 ] ");
	assert_message(4, 8, "1=9 4=[1=3 ] ");
	assert_message(4, 9, NULL);
	/* Samples leaf first; 5 ms each. */
#define OF(name) " 3=[1='thread_id' 3=a ] 3=[1='thread' 2='" name "' ] "
	assert_message(2, 0, "1=[2 1 ] 2=[2 e4e1c0 ]" OF("worker"));
	assert_message(2, 1, "1=[4 3 1 ] 2=[1 4c4b40 ]" OF("worker"));
	assert_message(2, 2, "1=[7 6 5 ] 2=[1 4c4b40 ]" OF("worker"));
	assert_message(2, 3, "1=[8 ] 2=[1 17d7840 ]" OF("worker"));
	assert_message(2, 4, "1=[9 ] 2=[1 4c4b40 ]" OF("worker"));
	assert_message(2, 5, NULL);
	assert_message(11, 0, "1='cpu' 2='nanoseconds' ");
	assert_true(has_text("title: a title"));
	assert_true(has_text("mark: 1.500 10 phase two"));
	flameprof_profile_free(p);
}

static void handlers_left_alone_have_a_name(void **state)
{
	struct flameprof_profile *p = small_profile();
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 3, FRAMES(WIRE_FRAME_SIGNAL_HANDLER));
	batch_store(&maker, p);
	write_pb(p);
	assert_message(5, 1, "1=2 2='[signal handler]' ");
	assert_message(4, 7, "1=8 4=[1=2 ] ");
	assert_message(2, 5, "1=[8 ] 2=[1 e4e1c0 ]" OF("worker"));
	flameprof_profile_free(p);
}

/*
 * Times of waits are written as separate sample values and add nothing to the CPU time. The leaf of
 * a wait is a function without a mapping.
 */
static void elapsed_time_has_waits_beside_it(void **state)
{
	const uint64_t on_pipe[] = {WIRE_FRAME_WAIT(SYS_read, 3), 0x1234};
	const uint64_t no_cpu[] = {WIRE_FRAME_WAIT(WIRE_WAIT_NO_CPU, 0)};
	struct wire_sample wait = {
		.thread = 1, .weight = 2, .frames = 2, .kind = WIRE_KIND_WAIT, .time_ns = 1};
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct flameprof_frame frames[2];
	struct flameprof_stack stack;
	struct store_result result = {0};
	struct batch_maker maker;

	(void)state;
	p->clock = FLAMEPROF_CLOCK_ELAPSED;
	p->account.limit_bytes = MIB;
	batch_begin(&maker, 10, "main");
	batch_add(&maker, 1, 1, FRAMES(0x1234));
	batch_store(&maker, p);
	store_add_wait(p, 1, &wait, on_pipe, &result);
	wait.frames = 1;
	store_add_wait(p, 1, &wait, no_cpu, &result);
	assert_int_equal(result.wait_weight, 4);
	assert_int_equal(result.unseen_weight, 0);
	assert_int_equal(p->weight, 5);
	assert_int_equal(flameprof_profile_stack(p, 1, &stack), 0);
	assert_true(stack.is_wait && stack.frames == 2);
	assert_int_equal(flameprof_profile_frames(p, 1, frames, 2), 2);
	assert_string_equal(frames[0].name, "[read: pipe]");
	assert_true(!frames[0].address && frames[0].module == FLAMEPROF_NONE);
	write_pb(p);
	assert_message(1, 1, "1='cpu' 2='nanoseconds' ");
	assert_message(1, 2, "1='wait' 2='nanoseconds' ");
	assert_message(1, 3, "1='runnable' 2='nanoseconds' ");
	assert_message(5, 1, "1=2 2='[read: pipe]' ");
	assert_message(4, 1, "1=2 4=[1=2 ] ");
	assert_message(3, 0, NULL);
	flameprof_profile_free(p);
}

/*
 * CPU time that virtual machines report is a separate sample value. Functions of virtual machines
 * have files and lines.
 */
static void machines_have_time_and_files(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	const struct names_code fib = {.space = 100, .bytes = 1, .line = 12};
	const struct names_code chunk = {.space = 101, .bytes = 1, .line = 1};
	const struct names_code builtin = {.space = 102, .bytes = 1};
	struct batch_maker maker;

	(void)state;
	p->account.limit_bytes = MIB;
	batch_begin(&maker, 10, "main");
	batch_add(&maker, 1, 1, FRAMES(0x1234));
	batch_add(&maker, 1, 2, FRAMES(WIRE_FRAME(WIRE_MODULE_CODE, 102),
		WIRE_FRAME(WIRE_MODULE_CODE, 100), WIRE_FRAME(WIRE_MODULE_CODE, 101)))->kind =
		WIRE_KIND_VM;
	batch_store(&maker, p);
	assert_int_equal(names_add_function(&p->names, &p->account, &fib, "fib", "a.lua"), 0);
	assert_int_equal(names_add_function(&p->names, &p->account, &chunk, "chunk", "a.lua"), 0);
	assert_int_equal(names_add_function(&p->names, &p->account, &builtin, "rep", ""), 0);
	write_pb(p);
	assert_message(1, 2, "1='vm' 2='nanoseconds' ");
	assert_message(3, 0, "1=1 5='[vm]' 7=1 ");
	assert_message(3, 1, NULL);
	assert_message(5, 0, "1=1 2='fib' 4='a.lua' 5=c ");
	assert_message(5, 1, "1=2 2='chunk' 4='a.lua' 5=1 ");
	assert_message(5, 2, "1=3 2='rep' ");
	assert_message(4, 1, "1=2 2=1 4=[1=2 2=1 ] ");
	assert_message(4, 2, "1=3 2=1 4=[1=1 2=c ] ");
	assert_message(4, 3, "1=4 2=1 4=[1=3 ] ");
	assert_message(2, 0, "1=[1 ] 2=[1 4c4b40 0 ]" OF("main"));
	assert_message(2, 1, "1=[4 3 2 ] 2=[0 0 989680 ]" OF("main"));
	p->clock = FLAMEPROF_CLOCK_VM;
	write_pb(p);
	assert_message(1, 2, NULL);
	flameprof_profile_free(p);
}

/*
 * If a stub hides its target, only the target's frame is left out, not the frames of other callees.
 */
static void hidden_targets_have_no_frame(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	const uint64_t main_frame = WIRE_FRAME(WIRE_MODULE_NONE, 4096);
	const uint64_t eval = WIRE_FRAME(WIRE_MODULE_NONE, 8192);
	const uint64_t callee = WIRE_FRAME(WIRE_MODULE_NONE, 12288);
	struct names_code code = {
		.space = 100, .bytes = 16, .start = 65536, .flags = WIRE_CODE_HIDES_TARGET};
	struct batch_maker maker;

	(void)state;
	assert_int_equal(names_add_code(&p->names, &p->account, &code, "stub"), 0);
	batch_begin(&maker, 10, "worker");
	batch_add(
		&maker, 1, 1, FRAMES(callee, eval, WIRE_FRAME(WIRE_MODULE_CODE, 104), main_frame));
	batch_add(&maker, 1, 2, FRAMES(eval, WIRE_FRAME(WIRE_MODULE_CODE, 104), eval, main_frame));
	batch_store(&maker, p);
	write_pb(p);
	assert_message(2, 0, "1=[4 2 1 ] 2=[1 4c4b40 ]" OF("worker"));
	assert_message(2, 1, "1=[2 3 1 ] 2=[1 989680 ]" OF("worker"));
	flameprof_profile_free(p);
}

static void names_are_valid_utf8(void **state)
{
	static const struct {
		const char *raw, *written;
	} names[] = {
		{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5",
			"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5"},
		{"\xff|\xc3|\xc0\x80|\xe0\x80\x80", "?|?|??|???"},
		{"\xed\xa0\x80|\xf5\x80\x80\x80|\xf0\x80\x80\x80", "???|????|????"},
		{"\xf4\x90\x80\x80|\xe2\x82", "????|??"},
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct flameprof_profile *p = aggregate_profile(MIB);
		struct names_code code = {.space = 100, .bytes = 16};

		assert_int_equal(names_add_code(&p->names, &p->account, &code, names[i].raw), 0);
		write_pb(p);
		assert_true(has_text(names[i].written));
		flameprof_profile_free(p);
	}
}

static void an_empty_profile_is_a_profile(void **state)
{
	struct flameprof_profile *p = aggregate_profile(1);

	(void)state;
	write_pb(p);
	assert_message(1, 1, "1='cpu' 2='nanoseconds' ");
	assert_message(2, 0, NULL);
	flameprof_profile_free(p);
}

static void the_deepest_stack_fits(void **state)
{
	struct flameprof_profile *p = aggregate_profile(4 * MIB);
	uint64_t *frames = calloc(WIRE_MAX_DEPTH, 8);
	struct batch_maker maker;

	(void)state;
	for (unsigned i = 0; i < WIRE_MAX_DEPTH; i++)
		frames[i] = i;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, frames, WIRE_MAX_DEPTH);
	batch_store(&maker, p);
	write_pb(p);
	char *text = message_text(2, 0);
	assert_non_null(text);
	assert_has(text, "1=[1000 fff ffe ");
	assert_has(text, " 3 2 1 ] 2=");
	free(text);
	free(frames);
	flameprof_profile_free(p);
}

static void failures_leave_no_file(void **state)
{
	struct flameprof_profile *p = small_profile();
	unsigned failed = 0;

	(void)state;
	unlink(OUT);
	for (uint32_t n = 1; n <= 20; n++) {
		size_t before = pages_mapped_bytes;
		int error;

		pages_fail_in = n;
		error = profile_write_pb(p, OUT);
		pages_fail_in = 0;
		assert_int_equal(pages_mapped_bytes, before);
		if (error) {
			assert_int_equal(error, -ENOMEM);
			assert_int_equal(access(OUT, F_OK), -1);
			failed++;
		} else {
			unlink(OUT);
		}
	}
	/*
	 * Eight allocations can fail: those for the tables of modules, nodes and texts, and for a
	 * buffer.
	 */
	assert_int_equal(failed, 8);
	assert_int_equal(profile_write_pb(p, "/dev/full"), -ENOSPC);
	assert_int_equal(profile_write_pb(p, "/nonexistent/a.pb"), -ENOENT);
	flameprof_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_what_the_profile_says),
		cmocka_unit_test(handlers_left_alone_have_a_name),
		cmocka_unit_test(elapsed_time_has_waits_beside_it),
		cmocka_unit_test(machines_have_time_and_files),
		cmocka_unit_test(hidden_targets_have_no_frame),
		cmocka_unit_test(names_are_valid_utf8),
		cmocka_unit_test(an_empty_profile_is_a_profile),
		cmocka_unit_test(the_deepest_stack_fits),
		cmocka_unit_test(failures_leave_no_file),
	};

	return cmocka_run_group_tests(tests, own_folder_enter, leave);
}
