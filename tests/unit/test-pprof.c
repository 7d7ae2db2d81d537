/* SPDX-License-Identifier: MIT */
/* The .pb, field by field against what the profile says. */
#include "tests/unit/pb-fixture.h"

#include <errno.h>
#include <sys/stat.h>

/* ---- a reader of ten lines ------------------------------------------------------------- */

struct reader {
	const uint8_t *at, *end;
};

static uint64_t read_varint(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(r->at < r->end && shift < 64);
		value |= (uint64_t)(*r->at & 0x7f) << shift;
		if (!(*r->at++ & 0x80))
			return value;
	}
}

/* The next field's number, its value or its bytes; 0 at the end. */
static uint32_t read_field(struct reader *r, uint64_t *value, struct reader *bytes)
{
	uint64_t tag;

	if (r->at == r->end)
		return 0;
	tag = read_varint(r);
	*value = read_varint(r);
	*bytes = (struct reader){NULL, NULL};
	if ((tag & 7) == 2) {
		assert_true(*value <= (uint64_t)(r->end - r->at));
		*bytes = (struct reader){r->at, r->at + *value};
		r->at += *value;
	} else {
		assert_int_equal(tag & 7, 0);
	}
	return (uint32_t)(tag >> 3);
}

/* All texts, owned, in the order of their numbers; NULL behind them. */
static void decode(const char *path, char **texts)
{
	static uint8_t bytes[16 * MIB];
	FILE *in = fopen(path, "r");
	size_t n = fread(bytes, 1, sizeof(bytes), in);
	struct reader file = {bytes, bytes + n}, message;
	uint64_t value;
	unsigned count = 0;

	fclose(in);
	for (uint32_t field; (field = read_field(&file, &value, &message));)
		if (field == 6)
			texts[count++] = strndup((const char *)message.at, value);
	texts[count] = NULL;
}

/* Message @wanted of kind @field as "number=value ...", bytes in brackets; NULL: none. */
static char *message_text(const char *path, uint32_t field_wanted, unsigned wanted)
{
	static uint8_t bytes[16 * MIB];
	char *text = calloc(1, 65536), *at = text;
	FILE *in = fopen(path, "r");
	struct reader file = {bytes, bytes + fread(bytes, 1, sizeof(bytes), in)}, message, inner,
		      item;
	uint64_t value;

	fclose(in);
	for (uint32_t field; (field = read_field(&file, &value, &message));) {
		if (field != field_wanted || wanted--)
			continue;
		for (; (field = read_field(&message, &value, &inner));) {
			if (!inner.at) {
				at += sprintf(at, "%u=%lx ", field, value);
				continue;
			}
			at += sprintf(at, "%u=[", field);
			if (field_wanted == 2 && field <= 2)
				while (inner.at < inner.end)
					at += sprintf(at, "%lx ", read_varint(&inner));
			else
				for (uint32_t f; (f = read_field(&inner, &value, &item));)
					at += sprintf(at, "%u=%lx ", f, value);
			at += sprintf(at, "] ");
		}
		return text;
	}
	free(text);
	return NULL;
}

static void assert_message(uint32_t field, unsigned n, const char *expected)
{
	char *text = message_text(OUT, field, n);

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- fields ---------------------------------------------------------------------------- */

static void assert_texts(const char *const *expected)
{
	char *texts[100];

	decode(OUT, texts);
	for (unsigned i = 0; expected[i] || texts[i]; i++) {
		assert_true(expected[i] && texts[i]);
		assert_string_equal(texts[i], expected[i]);
		free(texts[i]);
	}
}

/* What comes first in every profile. */
#define FIRST_TEXTS                                                                                \
	"", "samples", "count", "cpu", "nanoseconds", "thread_id", "thread", "[generated code]",   \
		"[unsampled]", "[no stack]", "vm", "[vm]", "title: a title", "dropped: 0"

static void every_field_is_what_the_profile_says(void **state)
{
	struct flameprof_profile *p = small_profile();

	(void)state;
	assert_int_equal(profile_write_pb(p, OUT), 0);
	assert_texts((const char *[]){FIRST_TEXTS, "/lib/a.so", "dead000f", "/bin/main", "",
		"[vdso]", "", "worker", "worker", "Method; <one>", "mark: 1.500 10 phase two", NULL});
	/* Sample types. */
	assert_message(1, 0, "1=1 2=2 ");
	assert_message(1, 1, "1=3 2=4 ");
	assert_message(1, 2, NULL);
	/* Mappings: the program first, one for each segment, one for generated code. */
	assert_message(3, 0, "1=1 2=400000 3=500000 5=10 6=11 ");
	assert_message(3, 1, "1=2 2=8000 3=9000 4=1000 5=e 6=f ");
	assert_message(3, 2, "1=3 2=a000 3=b000 4=5000 5=e 6=f ");
	assert_message(3, 3, "1=4 2=10000 3=11000 5=12 6=13 ");
	assert_message(3, 4, "1=5 2=66000 3=66010 5=7 7=1 ");
	assert_message(3, 5, NULL);
	/* Functions: the announced one, and what stands for no stack. */
	assert_message(5, 0, "1=1 2=16 ");
	assert_message(5, 1, "1=2 2=8 ");
	assert_message(5, 2, "1=3 2=9 ");
	assert_message(5, 3, NULL);
	/* Locations in order of appearance from the root. */
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
	assert_message(2, 0, "1=[2 1 ] 2=[2 e4e1c0 ] 3=[1=5 3=a ] 3=[1=6 2=14 ] ");
	assert_message(2, 1, "1=[4 3 1 ] 2=[1 4c4b40 ] 3=[1=5 3=a ] 3=[1=6 2=14 ] ");
	assert_message(2, 2, "1=[7 6 5 ] 2=[1 4c4b40 ] 3=[1=5 3=a ] 3=[1=6 2=14 ] ");
	assert_message(2, 3, "1=[8 ] 2=[1 17d7840 ] 3=[1=5 3=a ] 3=[1=6 2=15 ] ");
	assert_message(2, 4, "1=[9 ] 2=[1 4c4b40 ] 3=[1=5 3=a ] 3=[1=6 2=15 ] ");
	assert_message(2, 5, NULL);
	assert_message(11, 0, "1=3 2=4 ");
	flameprof_profile_free(p);
}

static void elapsed_time_is_called_wall(void **state)
{
	struct flameprof_profile *p = small_profile();
	char *texts[100];

	(void)state;
	p->clock = FLAMEPROF_CLOCK_ELAPSED;
	assert_int_equal(profile_write_pb(p, OUT), 0);
	decode(OUT, texts);
	assert_string_equal(texts[3], "wall");
	for (unsigned i = 0; texts[i]; i++)
		free(texts[i]);
	flameprof_profile_free(p);
}

/* Their time is a value of its own, their functions have files and lines, each file once. */
static void machines_have_time_and_files(void **state)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	const struct names_code fib = {.space = 100, .bytes = 1, .line = 12};
	const struct names_code chunk = {.space = 101, .bytes = 1, .line = 1};
	const struct names_code builtin = {.space = 102, .bytes = 1};
	struct batch_maker maker;

	(void)state;
	p->account.limit_bytes = MIB;
	batch_begin(&maker, 10, "vm");
	batch_add(&maker, 1, 1, FRAMES(0x1234));
	batch_add(&maker, 1, 2, FRAMES(WIRE_FRAME(WIRE_MODULE_CODE, 102),
		WIRE_FRAME(WIRE_MODULE_CODE, 100), WIRE_FRAME(WIRE_MODULE_CODE, 101)))->kind =
		WIRE_KIND_VM;
	batch_store(&maker, p);
	assert_int_equal(names_add_function(&p->names, &p->account, &fib, "fib", "a.lua"), 0);
	assert_int_equal(names_add_function(&p->names, &p->account, &chunk, "chunk", "a.lua"), 0);
	assert_int_equal(names_add_function(&p->names, &p->account, &builtin, "rep", ""), 0);
	assert_int_equal(profile_write_pb(p, OUT), 0);
	assert_texts((const char *[]){FIRST_TEXTS, "vm", "fib", "chunk", "rep", "a.lua", NULL});
	assert_message(1, 2, "1=a 2=4 ");
	assert_message(3, 0, "1=1 5=b 7=1 ");
	assert_message(3, 1, NULL);
	assert_message(5, 0, "1=1 2=f 4=12 ");
	assert_message(5, 1, "1=2 2=10 4=12 ");
	assert_message(5, 2, "1=3 2=11 ");
	assert_message(4, 1, "1=2 2=1 4=[1=2 2=1 ] ");
	assert_message(4, 2, "1=3 2=1 4=[1=1 2=c ] ");
	assert_message(4, 3, "1=4 2=1 4=[1=3 ] ");
	assert_message(2, 0, "1=[1 ] 2=[1 4c4b40 0 ] 3=[1=5 3=a ] 3=[1=6 2=e ] ");
	assert_message(2, 1, "1=[4 3 2 ] 2=[1 0 989680 ] 3=[1=5 3=a ] 3=[1=6 2=e ] ");
	p->clock = FLAMEPROF_CLOCK_VM;
	assert_int_equal(profile_write_pb(p, OUT), 0);
	assert_message(1, 2, NULL);
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
		char *texts[100];

		assert_int_equal(names_add_code(&p->names, &p->account, &code, names[i].raw), 0);
		assert_int_equal(profile_write_pb(p, OUT), 0);
		decode(OUT, texts);
		assert_string_equal(texts[14], names[i].written);
		for (unsigned t = 0; texts[t]; t++)
			free(texts[t]);
		flameprof_profile_free(p);
	}
}

static void an_empty_profile_is_a_profile(void **state)
{
	struct flameprof_profile *p = aggregate_profile(1);

	(void)state;
	assert_int_equal(profile_write_pb(p, OUT), 0);
	assert_message(1, 1, "1=3 2=4 ");
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
	assert_int_equal(profile_write_pb(p, OUT), 0);
	char *text = message_text(OUT, 2, 0);
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
			assert_in_range(n, 1, 4);
		} else {
			assert_in_range(n, 5, 20);
			unlink(OUT);
		}
	}
	assert_int_equal(profile_write_pb(p, "/dev/full"), -ENOSPC);
	assert_int_equal(profile_write_pb(p, "/nonexistent/a.pb"), -ENOENT);
	flameprof_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_what_the_profile_says),
		cmocka_unit_test(elapsed_time_is_called_wall),
		cmocka_unit_test(machines_have_time_and_files),
		cmocka_unit_test(names_are_valid_utf8),
		cmocka_unit_test(an_empty_profile_is_a_profile),
		cmocka_unit_test(the_deepest_stack_fits),
		cmocka_unit_test(failures_leave_no_file),
	};

	return cmocka_run_group_tests(tests, own_folder_enter, leave);
}
