/* SPDX-License-Identifier: MIT */
/*
 * Find the FDE for a pc in sections made by hand: search tables, pointer encodings, augmentations.
 * Malformed data must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/cfi-image.h"

static struct image image;
static const uint8_t relative[] = {CFI_PTR_PCREL | CFI_PTR_SDATA4};

static struct image_cie plain_cie(void)
{
	return (struct image_cie){
		.version = 1,
		.augmentation = "zR",
		.augmentation_data = relative,
		.augmentation_bytes = 1,
		.encoding = relative[0],
		.code_align = 1,
		.data_align = -8,
		.ra_reg = 16,
	};
}

/* Make one FDE for [0x100, 0x180) with @cie. */
static struct unwind_module one_fde(const struct image_cie *cie)
{
	image_init(&image);
	image_fde(&image, image_cie(&image, cie), cie, 0x100, 0x80, NULL, 0);
	return image_finish(&image, CFI_PTR_DATAREL | CFI_PTR_SDATA4);
}

static void check_one_fde(const struct unwind_module *module)
{
	struct cfi_fde fde;

	assert_int_equal(cfi_find_fde(module, image_pc(&image, 0xff), &fde), -ENOENT);
	assert_int_equal(cfi_find_fde(module, image_pc(&image, 0x180), &fde), -ENOENT);
	assert_int_equal(cfi_find_fde(module, image_pc(&image, 0x17f), &fde), 0);
	assert_int_equal(cfi_find_fde(module, image_pc(&image, 0x100), &fde), 0);
	assert_int_equal(fde.begin, image_pc(&image, 0x100));
	assert_int_equal(fde.end, image_pc(&image, 0x180));
	assert_int_equal(fde.record, image_address(&image, image.fde_at[0]));
}

/*
 * Put @count functions of 0x40 bytes at every second 0x40 bytes. Each function must be found, and
 * nothing in the gaps between them.
 */
static void check_table(unsigned count, unsigned encoding)
{
	struct image_cie cie = plain_cie();
	struct cfi_fde fde;

	image_init(&image);

	uint32_t at = image_cie(&image, &cie);

	for (unsigned i = 0; i < count; i++)
		image_fde(&image, at, &cie, i * 0x80, 0x40, NULL, 0);

	struct unwind_module module = image_finish(&image, encoding);

	assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0) - 1, &fde), -ENOENT);
	for (unsigned i = 0; i < count; i++) {
		uintptr_t begin = image_pc(&image, i * 0x80);

		for (unsigned offset = 0; offset < 0x40; offset += 0x3f) {
			assert_int_equal(cfi_find_fde(&module, begin + offset, &fde), 0);
			assert_int_equal(fde.record, image_address(&image, image.fde_at[i]));
		}
		assert_int_equal(cfi_find_fde(&module, begin + 0x40, &fde), -ENOENT);
		assert_int_equal(cfi_find_fde(&module, begin + 0x7f, &fde), -ENOENT);
	}
	assert_int_equal(cfi_find_fde(&module, UINTPTR_MAX, &fde), -ENOENT);
	assert_int_equal(cfi_find_fde(&module, 0, &fde), -ENOENT);
}

static void test_table_is_searched_and_ends_are_checked(void **state)
{
	(void)state;
	for (unsigned count = 0; count <= IMAGE_FDES; count++) {
		check_table(count, CFI_PTR_DATAREL | CFI_PTR_SDATA4);
		check_table(count, CFI_PTR_DATAREL | CFI_PTR_SDATA8);
	}
}

static void test_table_encodings(void **state)
{
	static const uint8_t encodings[] = {
		CFI_PTR_DATAREL | CFI_PTR_SDATA4, CFI_PTR_DATAREL | CFI_PTR_UDATA4,
		CFI_PTR_DATAREL | CFI_PTR_SDATA2, CFI_PTR_DATAREL | CFI_PTR_UDATA2,
		CFI_PTR_DATAREL | CFI_PTR_SDATA8, CFI_PTR_PCREL | CFI_PTR_SDATA4,
		CFI_PTR_PCREL | CFI_PTR_UDATA8, CFI_PTR_ABSOLUTE, CFI_PTR_UDATA8};
	struct image_cie cie = plain_cie();

	(void)state;
	one_fde(&cie);
	for (unsigned i = 0; i < sizeof(encodings); i++) {
		struct unwind_module module = image_finish(&image, encodings[i]);

		check_one_fde(&module);
	}
}

static void test_tables_that_cannot_be_searched(void **state)
{
	struct image_cie cie = plain_cie();
	struct unwind_module module = one_fde(&cie);
	struct cfi_fde fde;
	uintptr_t pc = image_pc(&image, 0x100);

	(void)state;
	image.bytes[3] = CFI_PTR_ULEB128;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOTSUP);
	image.bytes[3] = CFI_PTR_OMIT;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOENT);
	image.bytes[3] = CFI_PTR_INDIRECT | CFI_PTR_DATAREL | CFI_PTR_SDATA4;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOTSUP);
	image.bytes[3] = 0x20 | CFI_PTR_SDATA4;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOTSUP);
	image_finish(&image, CFI_PTR_DATAREL | CFI_PTR_SDATA4);
	image.bytes[2] = CFI_PTR_OMIT;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOENT);
	image_finish(&image, CFI_PTR_DATAREL | CFI_PTR_SDATA4);
	image.bytes[0] = 2;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOTSUP);
	module.eh_frame_hdr = 0;
	assert_int_equal(cfi_find_fde(&module, pc, &fde), -ENOENT);
}

static void test_pointer_encodings_of_fdes(void **state)
{
	static const uint8_t encodings[] = {CFI_PTR_ABSOLUTE, CFI_PTR_UDATA8, CFI_PTR_SDATA8,
		CFI_PTR_PCREL | CFI_PTR_SDATA4, CFI_PTR_PCREL | CFI_PTR_SDATA8,
		CFI_PTR_PCREL | CFI_PTR_UDATA4, CFI_PTR_PCREL | CFI_PTR_SDATA2,
		CFI_PTR_DATAREL | CFI_PTR_UDATA4, CFI_PTR_ALIGNED};

	(void)state;
	for (unsigned i = 0; i < sizeof(encodings); i++) {
		struct image_cie cie = plain_cie();

		cie.augmentation_data = &encodings[i];
		cie.encoding = encodings[i];

		struct unwind_module module = one_fde(&cie);

		check_one_fde(&module);
	}
}

static void test_pointer_encodings_that_are_refused(void **state)
{
	static const uint8_t encodings[] = {0x20, 0x40, 0x9b, 0x0f};

	(void)state;
	for (unsigned i = 0; i < sizeof(encodings); i++) {
		struct image_cie cie = plain_cie();
		struct cfi_fde fde;

		cie.augmentation_data = &encodings[i];

		struct unwind_module module = one_fde(&cie);

		assert_int_equal(
			cfi_find_fde(&module, image_pc(&image, 0x100), &fde), -ENOTSUP);
	}
}

static void test_augmentations(void **state)
{
	static const uint8_t with_personality[] = {
		0x9b, 1, 2, 3, 4, 0x1b, CFI_PTR_PCREL | CFI_PTR_SDATA4};
	struct image_cie cie = plain_cie();
	struct unwind_module module;
	struct cfi_fde fde;

	(void)state;
	cie.augmentation = "zPLR";
	cie.augmentation_data = with_personality;
	cie.augmentation_bytes = sizeof(with_personality);
	module = one_fde(&cie);
	check_one_fde(&module);

	cie = plain_cie();
	cie.augmentation = "zRS";
	module = one_fde(&cie);
	check_one_fde(&module);
	assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0x100), &fde), 0);
	assert_true(fde.cie.signal);

	cie.augmentation = "zRBGX";
	module = one_fde(&cie);
	check_one_fde(&module);
	assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0x100), &fde), 0);
	assert_false(fde.cie.signal);

	cie = plain_cie();
	cie.augmentation = "";
	cie.augmentation_bytes = 0;
	cie.encoding = CFI_PTR_ABSOLUTE;
	module = one_fde(&cie);
	check_one_fde(&module);

	cie.augmentation = "eh";
	module = one_fde(&cie);
	assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0x100), &fde), -ENOTSUP);
}

static void test_versions(void **state)
{
	struct image_cie cie = plain_cie();
	struct cfi_fde fde;

	(void)state;
	for (cie.version = 0; cie.version < 6; cie.version++) {
		struct unwind_module module = one_fde(&cie);
		bool known = cie.version == 1 || cie.version == 3 || cie.version == 4;

		assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0x100), &fde),
			known ? 0 : -ENOTSUP);
		if (known)
			assert_int_equal(fde.cie.data_align, -8);
	}
}

static void test_numbers_of_the_cie(void **state)
{
	static const uint8_t program[] = {1, 2, 3, 4, 5};
	struct image_cie cie = plain_cie();
	struct cfi_fde fde;

	(void)state;
	cie.code_align = 4;
	cie.data_align = -4;
	cie.ra_reg = 30;
	cie.program = program;
	cie.program_bytes = sizeof(program);

	struct unwind_module module = one_fde(&cie);

	assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0x100), &fde), 0);
	assert_int_equal(fde.cie.code_align, 4);
	assert_int_equal(fde.cie.data_align, -4);
	assert_int_equal(fde.cie.ra_reg, 30);
	assert_memory_equal((const void *)fde.cie.program.at, program, sizeof(program));
}

static void test_lengths_of_64_bits(void **state)
{
	struct image_cie cie = plain_cie();
	uint32_t wide = 0xffffffff;
	struct cfi_fde fde;

	(void)state;
	image_init(&image);

	uint32_t at = image_cie(&image, &cie);
	uint32_t record = image.used;

	image_put(&image, &wide, 4);
	image_number(&image, 0, 8);
	image_number(&image, image.used - at, 8);
	image_pointer(&image, cie.encoding, image_pc(&image, 0x100));
	image_number(&image, 0x80, 4);
	image_u8(&image, 0);
	while (image.used % 8)
		image_u8(&image, 0);

	uint64_t length = image.used - record - 12;

	memcpy(image.bytes + record + 4, &length, 8);
	image.fde_at[image.fdes] = record;
	image.code_at[image.fdes++] = IMAGE_CODE + 0x100;

	struct unwind_module module = image_finish(&image, CFI_PTR_DATAREL | CFI_PTR_SDATA4);

	check_one_fde(&module);
	length = UINT64_MAX;
	memcpy(image.bytes + record + 4, &length, 8);
	assert_int_equal(cfi_find_fde(&module, image_pc(&image, 0x100), &fde), -EBADMSG);
}

static void expect_refused(const struct unwind_module *module)
{
	struct cfi_fde fde;

	assert_int_equal(cfi_find_fde(module, image_pc(&image, 0x100), &fde), -EBADMSG);
}

static void test_contradictions_are_refused(void **state)
{
	struct image_cie cie = plain_cie();
	struct unwind_module module;
	uint32_t value;

	(void)state;
	module = one_fde(&cie); /* more entries than fit */
	value = 0xfffffff0;
	memcpy(image.bytes + 8, &value, 4);
	expect_refused(&module);

	module = one_fde(&cie); /* an FDE outside the module */
	value = 0x7fffffff;
	memcpy(image.bytes + 16, &value, 4);
	expect_refused(&module);

	module = one_fde(&cie); /* a table that points at the CIE */
	value = IMAGE_FRAME;
	memcpy(image.bytes + 16, &value, 4);
	expect_refused(&module);

	/* An FDE that is longer than the module is refused. */
	module = one_fde(&cie);
	value = 0x7000;
	memcpy(image.bytes + image.fde_at[0], &value, 4);
	expect_refused(&module);

	module = one_fde(&cie); /* a terminator instead of an FDE */
	value = 0;
	memcpy(image.bytes + image.fde_at[0], &value, 4);
	expect_refused(&module);

	module = one_fde(&cie); /* a CIE before the module */
	value = 0x10000;
	memcpy(image.bytes + image.fde_at[0] + 4, &value, 4);
	expect_refused(&module);

	module = one_fde(&cie); /* a CIE that is the FDE itself */
	value = 4;
	memcpy(image.bytes + image.fde_at[0] + 4, &value, 4);
	expect_refused(&module);

	module = one_fde(&cie); /* a header outside the module */
	module.eh_frame_hdr = module.end;
	expect_refused(&module);
}

/*
 * If the module is cut at any byte, nothing behind the cut is read. Only a sanitizer detects such a
 * read.
 */
static void test_every_truncation_is_survived(void **state)
{
	struct image_cie cie = plain_cie();
	struct unwind_module module = one_fde(&cie);
	uint32_t used = image.used;

	(void)state;
	for (uint32_t end = 0; end < used; end++) {
		uint8_t *copy = test_malloc(end + 1);
		struct cfi_fde fde;

		memcpy(copy, image.bytes, end);

		struct unwind_module cut = {.start = (uintptr_t)copy,
			.end = (uintptr_t)copy + end,
			.eh_frame_hdr = (uintptr_t)copy};

		assert_int_not_equal(
			cfi_find_fde(&cut, (uintptr_t)copy + IMAGE_CODE + 0x100, &fde), 0);
		test_free(copy);
	}
	assert_int_equal(module.end, image_address(&image, used));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_is_searched_and_ends_are_checked),
		cmocka_unit_test(test_table_encodings),
		cmocka_unit_test(test_tables_that_cannot_be_searched),
		cmocka_unit_test(test_pointer_encodings_of_fdes),
		cmocka_unit_test(test_pointer_encodings_that_are_refused),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_numbers_of_the_cie),
		cmocka_unit_test(test_lengths_of_64_bits),
		cmocka_unit_test(test_contradictions_are_refused),
		cmocka_unit_test(test_every_truncation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
