/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Write protocol buffers, read them again, and compare them with bytes of the format's
 * documentation.
 */
#include "libprof/pprof/protobuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The output, and its number of pieces. */
struct collected {
	uint8_t *bytes;
	size_t count;
	unsigned pieces;
};

static int collect(void *context, const void *bytes, size_t count)
{
	struct collected *all = context;

	all->bytes = realloc(all->bytes, all->count + count);
	memcpy(all->bytes + all->count, bytes, count);
	all->count += count;
	all->pieces++;
	return 0;
}

static void bytes_are_as_described(void **state)
{
	struct protobuf_out out = {.error = 0};
	size_t outer, inner;

	(void)state;
	protobuf_put_number(&out, 1, 150);
	protobuf_put_number(&out, 2, 0); /* left out */
	protobuf_put_bytes(&out, 2, "testing", 7);
	outer = protobuf_begin(&out, 3);
	inner = protobuf_begin(&out, 4);
	protobuf_put_varint(&out, 3);
	protobuf_put_varint(&out, 270);
	protobuf_put_varint(&out, 86942);
	protobuf_end(&out, inner);
	protobuf_end(&out, outer);
	assert_int_equal(out.used, 22);
	assert_memory_equal(out.buffer.at,
		"\x08\x96\x01\x12\x07testing\x1a\x08\x22\x06\x03\x8e\x02\x9e\xa7\x05", 22);
	assert_int_equal(protobuf_finish(&out), 0);
	assert_int_equal(pages_mapped_bytes, 0);
}

/*
 * If a message's length needs one more byte, its contents are moved. The output is written only
 * between messages.
 */
static void messages_of_every_length(void **state)
{
	static const size_t counts[] = {0, 1, 123, 124, 125, 126, 127, 128, 16380, 16383, 16384,
		16385, 70000, 2097151, 2097152, 5};
	static char text[2097153];
	struct collected all = {.count = 0};
	struct protobuf_out out = {.sink = collect, .context = &all};
	struct protobuf_field outer, inner, part;
	struct protobuf in;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t begun = protobuf_begin(&out, 1), nested = protobuf_begin(&out, 2);

		protobuf_put_bytes(&out, 3, text, counts[i]);
		protobuf_end(&out, nested);
		protobuf_put_number(&out, 4, UINT64_MAX);
		protobuf_end(&out, begun);
	}
	assert_int_equal(protobuf_finish(&out), 0);
	assert_true(all.pieces > 2);
	in = (struct protobuf){all.bytes, all.bytes + all.count};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		assert_int_equal(protobuf_next(&in, &outer), 1);
		assert_int_equal(protobuf_next(&outer.bytes, &inner), 1);
		assert_int_equal(inner.number, 2);
		assert_int_equal(protobuf_next(&inner.bytes, &part), 1);
		assert_int_equal(protobuf_left(&part.bytes), counts[i]);
		assert_memory_equal(part.bytes.at, text, counts[i]);
		assert_int_equal(protobuf_next(&inner.bytes, &part), 0);
		assert_int_equal(protobuf_next(&outer.bytes, &inner), 1);
		assert_true(inner.number == 4 && inner.value == UINT64_MAX);
		assert_int_equal(protobuf_next(&outer.bytes, &inner), 0);
	}
	assert_int_equal(protobuf_next(&in, &outer), 0);
	free(all.bytes);
}

static void what_is_no_field_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
	} bad[] = {
		{"\x00\x01", 2},			     /* number 0 */
		{"\x0b", 1},				     /* a group */
		{"\x08", 1},				     /* no value */
		{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 11}, /* 65 bits */
		{"\x12\x03xy", 4},			     /* too short */
		{"\x09\x01\x02\x03\x04\x05\x06\x07", 8},     /* of fixed length, too short */
		{"\x80\x80\x80\x80\x10\x01", 6},	     /* number 2^29 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const uint8_t *bytes = (const uint8_t *)bad[i].bytes;
		struct protobuf in = {bytes, bytes + bad[i].count};
		struct protobuf_field field;

		assert_int_equal(protobuf_next(&in, &field), -EBADMSG);
		assert_ptr_equal(in.at, bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_as_described),
		cmocka_unit_test(messages_of_every_length),
		cmocka_unit_test(what_is_no_field_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
