/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, in and out. Input may be anything: long lines, any bytes, weights with decimals.
 * What a line cannot say (module, kind) is guessed from the brackets this program writes.
 */
#include "cli/formats/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/folded_doubt.h"
#include "cli/formats/lines.h"
#include "render/preorder.h"

/* A line above this would make the tree refuse the sum; it is the line that is wrong. */
#define WEIGHT_MAX (UINT64_C(1) << 52)

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "12", "12.5", ".5": rounded to the nearest. Returns 0, or -EINVAL for anything else. */
static int parse_weight(const char *text, const char *end, uint64_t *weight)
{
	uint64_t value = 0;
	const char *digits = text;

	for (; text < end && is_digit(*text); text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > WEIGHT_MAX)
			return -EINVAL;
	}
	if (text < end && *text == '.') {
		digits++;
		text++;
		if (text < end && is_digit(*text) && *text >= '5')
			value++;
		while (text < end && is_digit(*text))
			text++;
	}
	if (text != end || text == digits)
		return -EINVAL;
	*weight = value;
	return 0;
}

/* "[module+0x12]" is unnamed code, any other "[...]" is ours, "_[j]" marks compiled code. */
static enum calltree_frame_kind guess_kind(const char *name, char *module, size_t module_bytes)
{
	size_t length = strlen(name);

	module[0] = '\0';
	if (length > 4 && !strcmp(name + length - 4, "_[j]"))
		return CALLTREE_JIT;
	if (length > 4 && !strcmp(name + length - 4, "_[i]"))
		return CALLTREE_INLINE;
	if (length < 2 || name[0] != '[' || name[length - 1] != ']')
		return CALLTREE_NATIVE;
	const char *plus = strstr(name, "+0x");

	if (!plus)
		return CALLTREE_SYNTHETIC;
	if ((size_t)(plus - name) <= module_bytes) {
		memcpy(module, name + 1, (size_t)(plus - name) - 1);
		module[plus - name - 1] = '\0';
	}
	return CALLTREE_UNNAMED;
}

/* @stack is cut into frames in place. Returns 0, or -EINVAL when it names none. */
static int add_stack(struct calltree *tree, char *stack, char *end, uint64_t weight)
{
	uint32_t node = CALLTREE_ROOT;
	int found = 0;
	char module[256];

	while (stack < end) {
		char *stop = memchr(stack, ';', (size_t)(end - stack));

		if (!stop)
			stop = end;
		*stop = '\0';
		if (stop > stack) {
			enum calltree_frame_kind kind = guess_kind(stack, module, sizeof(module));

			found = 1;
			if (weight)
				node = calltree_child(
					tree, node, calltree_frame(tree, stack, module, kind));
		}
		stack = stop + 1;
	}
	if (!found)
		return -EINVAL;
	calltree_add(tree, node, weight);
	return 0;
}

/* @line has @length bytes and a NUL behind them. Returns 1, 0 for an empty line, or -EINVAL. */
static int read_line(struct calltree *tree, char *line, size_t length)
{
	char *end = line + length;
	uint64_t weight;

	if (memchr(line, '\0', length))
		return -EINVAL;
	while (end > line && is_blank(end[-1]))
		end--;
	if (end == line)
		return 0;
	char *number = end;

	while (number > line && !is_blank(number[-1]))
		number--;
	if (number == line || parse_weight(number, end, &weight))
		return -EINVAL;
	char *stop = number;

	while (stop > line && is_blank(stop[-1]))
		stop--;
	return add_stack(tree, line, stop, weight) ? -EINVAL : 1;
}

struct reading {
	struct calltree *tree;
	const char *name;
	struct diag_message *message;
	uint64_t number; /* of the line */
	uint64_t stacks;
	struct folded_bad bad;
};

/* Returns 0, or -ENODATA with the message filled. */
static int take_line(struct reading *reading, char *line, size_t length)
{
	struct folded_bad *bad = &reading->bad;
	int error = 0, found;

	if (++reading->number <= FOLDED_DOUBT_LINES)
		error = folded_doubt_line(
			line, length, reading->number, reading->name, reading->message);
	if (error)
		return error;
	found = read_line(reading->tree, line, length);
	if (found > 0)
		reading->stacks++;
	else if (found < 0 && !bad->count++)
		bad->first = reading->number;
	if (reading->stacks || bad->count < FOLDED_DOUBT_LINES)
		return 0;
	return folded_doubt_all(bad->count, bad->first, reading->name, reading->message);
}

static int fail(const struct reading *reading, int error)
{
	if (error == -EFBIG)
		return diag_fail(reading->message, error,
			"%s:%" PRIu64 ": a line of more than %u MiB", reading->name,
			reading->number + 1, LINES_BYTES_MAX >> 20);
	return diag_fail(
		reading->message, error, "cannot read '%s': %s", reading->name, strerror(-error));
}

int folded_read(struct calltree *tree, FILE *in, const char *name, struct folded_bad *bad,
	struct diag_message *message)
{
	struct reading reading = {.tree = tree, .name = name, .message = message};
	struct lines lines = {.in = in};
	size_t length;
	char *line;
	int error = 0, more = 1;

	while (!error && !calltree_error(tree) && (more = lines_next(&lines, &line, &length)) > 0)
		error = take_line(&reading, line, length);
	lines_release(&lines);
	if (error)
		return error;
	if (more < 0 || calltree_error(tree))
		return fail(&reading, more < 0 ? more : calltree_error(tree));
	if (reading.bad.count && !reading.stacks)
		return folded_doubt_all(reading.bad.count, reading.bad.first, name, message);
	*bad = reading.bad;
	return 0;
}

static void write_name(const char *name, FILE *out)
{
	if (!*name)
		fputs("[empty]", out);
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		putc(c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : c, out);
	}
}

/* Outermost first: @path holds the frames from the root's child down. */
static void write_stack(const struct calltree *tree, const uint32_t *path, uint32_t depth,
	uint64_t weight, FILE *out)
{
	if (!depth)
		fputs("[all]", out);
	for (uint32_t i = 0; i < depth; i++) {
		if (i)
			putc(';', out);
		write_name(calltree_frame_at(tree, path[i])->name, out);
	}
	fprintf(out, " %llu\n", (unsigned long long)weight);
}

int folded_write(const struct calltree *tree, FILE *out)
{
	struct preorder preorder;
	int error = preorder_init(&preorder, tree);

	if (error)
		return error;
	uint32_t *path = calloc((size_t)preorder.height[0] + 1, sizeof(*path));

	if (!path) {
		error = -ENOMEM;
		goto out;
	}
	errno = 0;
	for (uint32_t at = 0; at < preorder.nodes && !ferror(out); at++) {
		const struct calltree_node *node = calltree_node_at(tree, preorder.order[at]);

		if (at)
			path[preorder.depth[at] - 1] = node->frame;
		if (node->self)
			write_stack(tree, path, preorder.depth[at], node->self, out);
	}
	if (ferror(out))
		error = errno ? -errno : -EIO;
out:
	free(path);
	preorder_release(&preorder);
	return error;
}
