/* SPDX-License-Identifier: MIT */
/*
 * Build call-frame information by hand for tests: an .eh_frame_hdr and an .eh_frame in one buffer,
 * which serves as the module. The module's code begins IMAGE_CODE bytes after the header and need
 * not exist.
 *
 *	+0	.eh_frame_hdr: version, three encodings, pointer, count, table
 *	+1024	.eh_frame: CIEs and FDEs, in the order they are added
 */
#ifndef TESTS_UNIT_CFI_IMAGE_H
#define TESTS_UNIT_CFI_IMAGE_H

#include <stdint.h>
#include <string.h>

#include "libprof/unwind/cfi.h"

#define IMAGE_CODE  0x4000u
#define IMAGE_FRAME 1024u
#define IMAGE_FDES  8u

struct image {
	uint8_t bytes[8192];
	uint32_t used;
	uint32_t fdes;
	uint32_t fde_at[IMAGE_FDES];
	uint32_t code_at[IMAGE_FDES];
} __attribute__((aligned(16)));

struct image_cie {
	unsigned version;
	const char *augmentation;
	const uint8_t *augmentation_data;
	unsigned augmentation_bytes;
	/* pointer encoding of the FDEs; written only if augmentation_data contains its value */
	uint8_t encoding;
	unsigned code_align;
	int data_align;
	unsigned ra_reg;
	const uint8_t *program;
	unsigned program_bytes;
};

static inline void image_put(struct image *image, const void *bytes, size_t count)
{
	if (count)
		memcpy(image->bytes + image->used, bytes, count);
	image->used += (uint32_t)count;
}

static inline void image_u8(struct image *image, unsigned value)
{
	image->bytes[image->used++] = (uint8_t)value;
}

static inline void image_number(struct image *image, uint64_t value, unsigned bytes)
{
	image_put(image, &value, bytes); /* both CPUs are little-endian */
}

static inline void image_init(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->used = IMAGE_FRAME;
}

static inline uintptr_t image_address(const struct image *image, uint32_t offset)
{
	return (uintptr_t)image->bytes + offset;
}

/* End the record that began at @record: pad it with nops and store its length. */
static inline void image_close(struct image *image, uint32_t record)
{
	while (image->used % 8)
		image_u8(image, 0);

	uint32_t length = image->used - record - 4;

	memcpy(image->bytes + record, &length, 4);
}

/*
 * Add a CIE. Returns its offset, for image_fde(). The alignments must each fit one byte of LEB128.
 */
static inline uint32_t image_cie(struct image *image, const struct image_cie *cie)
{
	uint32_t record = image->used;

	image_number(image, 0, 4);
	image_number(image, 0, 4);
	image_u8(image, cie->version);
	image_put(image, cie->augmentation, strlen(cie->augmentation) + 1);
	if (cie->version == 4)
		image_number(image, 8, 2);
	image_u8(image, cie->code_align);
	image_u8(image, (unsigned)cie->data_align & 0x7f);
	image_u8(image, cie->ra_reg);
	if (cie->augmentation[0] == 'z')
		image_u8(image, cie->augmentation_bytes);
	image_put(image, cie->augmentation_data, cie->augmentation_bytes);
	image_put(image, cie->program, cie->program_bytes);
	image_close(image, record);
	return record;
}

static inline void image_pointer(struct image *image, unsigned encoding, uintptr_t address)
{
	static const uint8_t widths[16] = {
		[0] = 8, [2] = 2, [3] = 4, [4] = 8, [10] = 2, [11] = 4, [12] = 8};

	if ((encoding & 0x70) == CFI_PTR_ALIGNED) {
		while (image_address(image, image->used) % 8)
			image_u8(image, 0);
	}
	if ((encoding & 0x70) == CFI_PTR_PCREL)
		address -= image_address(image, image->used);
	else if ((encoding & 0x70) == CFI_PTR_DATAREL)
		address -= image_address(image, 0);
	image_number(image, address, widths[encoding & 15]);
}

/*
 * Add an FDE for the code at IMAGE_CODE + [@begin, @begin + @bytes). Call this in order of address.
 */
static inline void image_fde(struct image *image, uint32_t cie, const struct image_cie *described,
	uint32_t begin, uint32_t bytes, const uint8_t *program, unsigned program_bytes)
{
	uint32_t record = image->used;

	image_number(image, 0, 4);
	image_number(image, image->used - cie, 4);
	image_pointer(
		image, described->encoding, image_address(image, IMAGE_CODE + begin));
	image_pointer(image, described->encoding & 15, bytes);
	if (described->augmentation[0] == 'z')
		image_u8(image, 0);
	image_put(image, program, program_bytes);
	image_close(image, record);
	image->fde_at[image->fdes] = record;
	image->code_at[image->fdes++] = IMAGE_CODE + begin;
}

/* Write the header and its search table. Returns the module. */
static inline struct unwind_module image_finish(struct image *image, unsigned table_encoding)
{
	uint32_t used = image->used;

	image->used = 0;
	image_u8(image, 1);
	image_u8(image, CFI_PTR_PCREL | CFI_PTR_SDATA4);
	image_u8(image, CFI_PTR_UDATA4);
	image_u8(image, table_encoding);
	image_pointer(image, CFI_PTR_PCREL | CFI_PTR_SDATA4, image_address(image, IMAGE_FRAME));
	image_number(image, image->fdes, 4);
	for (uint32_t i = 0; i < image->fdes; i++) {
		image_pointer(image, table_encoding, image_address(image, image->code_at[i]));
		image_pointer(image, table_encoding, image_address(image, image->fde_at[i]));
	}
	image->used = used;
	return (struct unwind_module){
		.start = image_address(image, 0),
		.end = image_address(image, used),
		.eh_frame_hdr = image_address(image, 0),
		.number = 1,
	};
}

static inline uintptr_t image_pc(const struct image *image, uint32_t offset)
{
	return image_address(image, IMAGE_CODE + offset);
}

#endif
