/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Test the positions of the parts of a picture, for various options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/scene.h"

struct drawn {
	struct calltree *tree;
	struct preorder preorder;
	struct style style;
	struct scene scene;
};

/* Compose a picture of _start -> main -> work (weight 90) and idle (10), or of an empty tree. */
static void draw(
	struct drawn *drawn, const struct picture_options *options, int is_empty, const char *note)
{
	static const char *const names[] = {"_start", "main", "work"};
	uint32_t node = CALLTREE_ROOT;

	drawn->tree = calltree_new();
	for (unsigned i = 0; i < 3 && !is_empty; i++) {
		node = calltree_child(drawn->tree, node,
			calltree_frame(drawn->tree, names[i], "", CALLTREE_NATIVE));
		calltree_add(drawn->tree, node, i == 2 ? 90 : i == 0 ? 10 : 0);
	}
	assert_int_equal(calltree_finish(drawn->tree), 0);
	assert_int_equal(preorder_init(&drawn->preorder, drawn->tree), 0);
	assert_int_equal(style_init(&drawn->style, options, drawn->tree), 0);
	assert_int_equal(
		scene_init(&drawn->scene, drawn->tree, &drawn->preorder, &drawn->style, note), 0);
}

static void release(struct drawn *drawn)
{
	scene_release(&drawn->scene);
	style_release(&drawn->style);
	preorder_release(&drawn->preorder);
	calltree_free(drawn->tree);
}

static const struct scene_text *find(const struct scene *scene, const char *start)
{
	for (uint32_t i = 0; i < scene->text_count; i++)
		if (!strncmp(scene->texts[i].text, start, strlen(start)))
			return &scene->texts[i];
	fail_msg("no text '%s'", start);
	return NULL;
}

static void check_inside(const struct scene *scene)
{
	for (uint32_t i = 0; i < scene->box_count; i++) {
		const struct scene_box *box = &scene->boxes[i];

		assert_true(box->x >= 0 && box->x + box->width <= scene->width_px);
		assert_true(box->y > 0 && box->y + box->height < scene->height_px);
	}
	for (uint32_t i = 0; i < scene->text_count; i++) {
		const struct scene_text *text = &scene->texts[i];

		assert_true(text->y > 0 && text->y < scene->height_px);
		assert_true(
			text->x + label_width_px(text->text, &scene->fonts[text->role].measure) <=
			scene->width_px);
	}
}

static void test_directions_are_mirrored(void **state)
{
	struct drawn flame, icicle;

	(void)state;
	draw(&flame, &(struct picture_options){0}, 0, NULL);
	draw(&icicle, &(struct picture_options){.direction = PICTURE_ICICLE}, 0, NULL);
	assert_true(find(&flame.scene, "all")->y > find(&flame.scene, "work")->y);
	assert_true(find(&icicle.scene, "all")->y < find(&icicle.scene, "work")->y);
	assert_true(flame.scene.height_px == icicle.scene.height_px);
	for (uint32_t i = 0; i < flame.scene.box_count; i++) {
		assert_true(flame.scene.boxes[i].x == icicle.scene.boxes[i].x);
		assert_true(flame.scene.boxes[i].width == icicle.scene.boxes[i].width);
		assert_true(flame.scene.boxes[i].y - flame.scene.boxes[3].y ==
			    icicle.scene.boxes[0].y - icicle.scene.boxes[i].y + 3 * 18);
	}
	check_inside(&icicle.scene);
	release(&flame);
	release(&icicle);
}

static void test_sizes_are_kept(void **state)
{
	struct drawn drawn;

	(void)state;
	draw(&drawn, &(struct picture_options){.width = 500, .frame_height = 30, .font_size = 20},
		0, NULL);
	assert_true(drawn.scene.width_px == 500);
	assert_true(drawn.scene.boxes[0].height == 29);
	assert_true(drawn.scene.boxes[0].y - drawn.scene.boxes[1].y == 30);
	check_inside(&drawn.scene);
	release(&drawn);
}

/*
 * Boxes of inlined functions have dashed borders if they are wide enough. Other boxes never have
 * them.
 */
static void test_inlined_boxes_are_marked(void **state)
{
	struct drawn drawn = {.tree = calltree_new()};
	const uint64_t weights[] = {500, 490, 4, 6};
	unsigned marked = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		char name[] = {(char)('a' + i), '\0'};

		calltree_add(drawn.tree,
			calltree_child(drawn.tree, CALLTREE_ROOT,
				calltree_frame(drawn.tree, name, "",
					i ? CALLTREE_INLINE : CALLTREE_NATIVE)),
			weights[i]);
	}
	assert_int_equal(calltree_finish(drawn.tree), 0);
	assert_int_equal(preorder_init(&drawn.preorder, drawn.tree), 0);
	assert_int_equal(style_init(&drawn.style,
		&(struct picture_options){.width = 1048}, drawn.tree), 0);
	assert_int_equal(
		scene_init(&drawn.scene, drawn.tree, &drawn.preorder, &drawn.style, ""), 0);
	/*
	 * Boxes: the root, a with 500 px, b with 490, c with 4, d with 6; and legend boxes of two
	 * classes.
	 */
	assert_int_equal(drawn.scene.box_count, 5 + 2 * 3);
	for (uint32_t i = 0; i < drawn.scene.box_count; i++) {
		const struct scene_box *box = &drawn.scene.boxes[i];

		marked += box->is_inlined;
		assert_int_equal(box->is_inlined, box->width > 480 && box->width < 495);
	}
	assert_int_equal(marked, 1);
	release(&drawn);
}

/* A printed picture has no tooltips, so a legend must explain the colours if there are several. */
static void test_colors_are_explained_where_there_are_several(void **state)
{
	struct drawn drawn;
	const struct picture_options options = {.width = 400};
	uint32_t boxes;

	(void)state;
	draw(&drawn, &options, 0, NULL);
	boxes = drawn.scene.box_count;
	assert_int_equal(boxes, 4);
	calltree_add(drawn.tree,
		calltree_child(drawn.tree, CALLTREE_ROOT,
			calltree_frame(drawn.tree, "[a.so+0x1]", "", CALLTREE_UNNAMED)),
		10);
	scene_release(&drawn.scene);
	preorder_release(&drawn.preorder);
	style_release(&drawn.style);
	assert_int_equal(calltree_finish(drawn.tree), 0);
	assert_int_equal(preorder_init(&drawn.preorder, drawn.tree), 0);
	assert_int_equal(style_init(&drawn.style, &options, drawn.tree), 0);
	assert_int_equal(
		scene_init(&drawn.scene, drawn.tree, &drawn.preorder, &drawn.style, NULL), 0);
	find(&drawn.scene, "function, whatever the hue");
	find(&drawn.scene, "no symbol");
	assert_int_equal(drawn.scene.box_count, 5 + 3 + 1);
	check_inside(&drawn.scene);
	release(&drawn);
}

static void test_the_root_says_what_is_counted(void **state)
{
	struct drawn drawn;

	(void)state;
	draw(&drawn, &(struct picture_options){.period_ns = 50000000}, 0, NULL);
	assert_string_equal(find(&drawn.scene, "all")->text, "all: 100 samples, 5.00 s");
	release(&drawn);
	draw(&drawn, &(struct picture_options){.count_name = "cache misses", .is_reversed = 1}, 0,
		NULL);
	assert_string_equal(find(&drawn.scene, "all")->text,
		"all: 100 cache misses, by the function they ended in");
	release(&drawn);
}

static void test_notes_stand_below_on_as_many_lines_as_they_need(void **state)
{
	struct drawn with, without;
	char notes[2000] = "first\n\nlast ";

	(void)state;
	while (strlen(notes) < 400)
		strcat(notes, "word ");
	draw(&without, &(struct picture_options){0}, 0, "open it");
	draw(&with, &(struct picture_options){.notes = notes, .width = 600}, 0, "open it");
	assert_true(find(&with.scene, "first")->y > find(&with.scene, "all")->y);
	assert_true(find(&with.scene, "last")->y == find(&with.scene, "first")->y + 34);
	assert_true(find(&with.scene, "word")->y > find(&with.scene, "last")->y);
	assert_true(find(&with.scene, "open it")->y > find(&with.scene, "word")->y);
	assert_true(with.scene.height_px >= without.scene.height_px + 4 * 17);
	check_inside(&with.scene);
	/* All words are there. */
	unsigned words = 0;

	for (uint32_t i = 0; i < with.scene.text_count; i++)
		for (const char *at = with.scene.texts[i].text; (at = strstr(at, "word")); at++)
			words++;
	assert_int_equal(words, (strlen(notes) - 12) / 5);
	release(&with);
	release(&without);
}

static void test_hostile_notes_end(void **state)
{
	static char notes[100000];
	struct drawn drawn;

	(void)state;
	memset(notes, '\n', sizeof(notes) - 1);
	draw(&drawn, &(struct picture_options){.notes = notes}, 0, NULL);
	assert_true(drawn.scene.height_px < 3000);
	release(&drawn);
	/* The notes have a word wider than the picture and a byte that is not UTF-8. */
	memset(notes, 'W', sizeof(notes) - 1);
	notes[5] = '\xff';
	draw(&drawn, &(struct picture_options){.notes = notes, .width = 240, .font_size = 40}, 1,
		NULL);
	check_inside(&drawn.scene);
	assert_true(drawn.scene.height_px < 20000);
	release(&drawn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directions_are_mirrored),
		cmocka_unit_test(test_sizes_are_kept),
		cmocka_unit_test(test_inlined_boxes_are_marked),
		cmocka_unit_test(test_the_root_says_what_is_counted),
		cmocka_unit_test(test_colors_are_explained_where_there_are_several),
		cmocka_unit_test(test_notes_stand_below_on_as_many_lines_as_they_need),
		cmocka_unit_test(test_hostile_notes_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
