/* SPDX-License-Identifier: MIT */
/*
 * Read and write folded stacks. Input may be anything: long lines, any bytes, weights with
 * decimals. A line has no modules and kinds of frames; they are guessed from the brackets that
 * flamerun writes. The fraction of a weight is added to the next line, so that the sum is right.
 */
#include "cli/formats/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diag.h"
#include "cli/profile/picture_names.h"
#include "render/calltree.h"

/* ---- a stream, line by line ------------------------------------------------------------------ */

#define FIRST_BYTES 65536u

/* Make room for more bytes and a NUL. Returns 0, -EFBIG or -ENOMEM. */
static int make_room(struct lines *lines)
{
	size_t room = lines->room ? lines->room * 2 : FIRST_BYTES;
	char *text;

	if (lines->at)
		memmove(lines->text, lines->text + lines->at, lines->used - lines->at);
	lines->used -= lines->at;
	lines->at = 0;
	if (lines->room > lines->used + 1)
		return 0;
	if (lines->used >= LINES_BYTES_MAX)
		return -EFBIG;
	text = realloc(lines->text, room);
	if (!text)
		return -ENOMEM;
	lines->text = text;
	lines->room = room;
	return 0;
}

/* Read more of the stream. Returns the number of bytes read, 0 at the end, or -errno. */
static ssize_t read_more(struct lines *lines)
{
	size_t got;
	int error = make_room(lines);

	if (error)
		return error;
	errno = 0;
	got = fread(lines->text + lines->used, 1, lines->room - lines->used - 1, lines->in);
	if (!got && ferror(lines->in))
		return errno ? -errno : -EIO;
	lines->used += got;
	return (ssize_t)got;
}

int lines_peek(struct lines *lines, const char **text, size_t *bytes)
{
	ssize_t got = 1;

	while (got > 0 && lines->used < FIRST_BYTES / 2)
		got = read_more(lines);
	*text = lines->text;
	*bytes = lines->used;
	return got < 0 ? (int)got : 0;
}

int lines_next(struct lines *lines, char **line, size_t *bytes)
{
	size_t searched = 0;
	ssize_t got;

	for (;;) {
		size_t have = lines->used - lines->at;
		char *end = NULL;

		if (have > searched)
			end = memchr(lines->text + lines->at + searched, '\n', have - searched);
		if (!end) {
			searched = have;
			got = read_more(lines);
			if (got > 0)
				continue;
			if (got < 0 || !have)
				return (int)got;
			end = lines->text + lines->at + have;
		}
		*end = '\0';
		*line = lines->text + lines->at;
		*bytes = (size_t)(end - *line);
		lines->at += *bytes + (lines->at + *bytes < lines->used);
		return 1;
	}
}

void lines_release(struct lines *lines)
{
	free(lines->text);
	*lines = (struct lines){0};
}

/* ---- input without stacks -------------------------------------------------------------------- */

#define EXPECTED "\"outer;inner weight\""

/*
 * Refuse a file because @others of its @lines are not stacks; @number is the line number of the
 * first of them. Returns -ENODATA with @message filled.
 */
static int refuse_others(uint64_t others, uint64_t lines, uint64_t number, const char *name,
	struct diag_message *message)
{
	if (lines == 1)
		diag_fail(message, -ENODATA, "%s:%" PRIu64 ": not " EXPECTED, name, number);
	else
		diag_fail(message, -ENODATA,
			"%s:%" PRIu64 ": not " EXPECTED ", like %" PRIu64 " of %" PRIu64 " lines",
			name, number, others, lines);
	diag_fail_hint(message, "flamerun -o run.folded writes such lines; what perf script prints "
				"is read as well");
	return -ENODATA;
}

/* Refuse a file because its stacks have two counts. Returns -ENODATA with @message filled. */
static int refuse_two_counts(const char *name, struct diag_message *message)
{
	diag_fail(message, -ENODATA,
		"%s: two counts in every line, as difffolded.pl writes to compare two runs", name);
	diag_fail_hint(message, "flamerun diff FILE compares them");
	return -ENODATA;
}

/* Larger weights are refused: JavaScript, which adds them up, is exact up to 2^53 only. */
#define WEIGHT_MAX (UINT64_C(1) << 52)

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

#define BILLION 1000000000u

struct weight {
	uint64_t whole;
	uint64_t billionths;
};

/* Parse "12", "12.5" or ".5". Returns 0, -EINVAL, or -ERANGE if the weight is too large. */
static int parse_weight(const char *text, const char *end, struct weight *weight)
{
	const char *digits = text;

	*weight = (struct weight){0, 0};
	for (; text < end && is_digit(*text); text++)
		if (weight->whole <= WEIGHT_MAX)
			weight->whole = weight->whole * 10 + (uint64_t)(*text - '0');
	if (text < end && *text == '.') {
		digits++;
		text++;
		for (uint64_t unit = BILLION / 10; text < end && is_digit(*text);
			text++, unit /= 10)
			weight->billionths += unit * (uint64_t)(*text - '0');
	}
	if (text != end || text == digits)
		return -EINVAL;
	return weight->whole > WEIGHT_MAX ? -ERANGE : 0;
}

#define INLINE_SUFFIX "_[i]"
#define KERNEL_SUFFIX "_[k]"

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), bytes = strlen(suffix);

	return length > bytes && !strcmp(name + length - bytes, suffix);
}

/*
 * Guess kind and module of a frame. "_[j]" marks compiled code, "_[i]" an inlined function, "_[k]"
 * the kernel; "_[k]" is cut off. Only unnamed code ("[libc.so.6+0x12]"), replaced files and the
 * kernel show a module.
 */
static enum calltree_frame_kind guess_kind(char *name, char *module, size_t module_bytes)
{
	bool is_kernel = has_suffix(name, KERNEL_SUFFIX);
	size_t bytes = 0;
	const char *replaced = replaced_name_file(name, &bytes);
	const char *plus = strstr(name, "+0x");
	enum calltree_frame_kind kind;

	module[0] = '\0';
	if (has_suffix(name, "_[j]"))
		return CALLTREE_JIT;
	if (has_suffix(name, INLINE_SUFFIX))
		return CALLTREE_INLINE;
	kind = picture_names_kind(name, is_kernel ? KERNEL_MODULE : "", CALLTREE_NATIVE);
	if (is_kernel)
		name[strlen(name) - strlen(KERNEL_SUFFIX)] = '\0';
	if (kind == CALLTREE_KERNEL)
		snprintf(module, module_bytes, "%s", KERNEL_MODULE);
	else if (replaced)
		snprintf(module, module_bytes, "%.*s", (int)bytes, replaced);
	else if (kind == CALLTREE_UNNAMED && plus && (size_t)(plus - name) <= module_bytes)
		snprintf(module, module_bytes, "%.*s", (int)(plus - name) - 1, name + 1);
	return kind;
}

struct folded_reader {
	struct calltree *trees[FOLDED_VERSIONS]; /* one per count of a line */
	unsigned counts;
	const char *name;
	struct diag_message *message;
	uint64_t number;		      /* current line */
	uint64_t doubles;		      /* stacks with one count too many */
	uint64_t billionths[FOLDED_VERSIONS]; /* fractions not yet added */
	struct folded_bad bad;
};

/* Split and add the stack in [@stack, @end). Returns 0, or -EINVAL if it has no frame. */
static int add_stack(
	struct folded_reader *reader, char *stack, char *end, const struct weight *weights)
{
	uint32_t nodes[FOLDED_VERSIONS] = {CALLTREE_ROOT, CALLTREE_ROOT};
	int found = 0;
	char module[256] = "";

	while (stack < end) {
		char *stop = memchr(stack, ';', (size_t)(end - stack));

		if (!stop)
			stop = end;
		*stop = '\0';
		if (stop > stack) {
			enum calltree_frame_kind kind = guess_kind(stack, module, sizeof(module));

			found = 1;
			for (unsigned i = 0; i < reader->counts; i++)
				if (weights[i].whole)
					nodes[i] = calltree_child(reader->trees[i], nodes[i],
						calltree_frame(
							reader->trees[i], stack, module, kind));
		}
		stack = stop + 1;
	}
	if (!found)
		return -EINVAL;
	for (unsigned i = 0; i < reader->counts; i++)
		calltree_add(reader->trees[i], nodes[i], weights[i].whole);
	return 0;
}

/* Returns the start of the last word in [@line, @end). */
static char *find_last_word(char *line, char *end)
{
	while (end > line && !is_blank(end[-1]))
		end--;
	return end;
}

static char *trim_blanks(const char *line, char *end)
{
	while (end > line && is_blank(end[-1]))
		end--;
	return end;
}

/* Read a line of @length bytes. Returns 1, 0 if it is empty, -EINVAL (no stack) or -ERANGE. */
static int read_line(struct folded_reader *reader, char *line, size_t length)
{
	char *stop = trim_blanks(line, line + length), *number;
	struct weight weights[FOLDED_VERSIONS], ignored;
	int error;

	if (memchr(line, '\0', length))
		return -EINVAL;
	if (stop == line)
		return 0;
	for (unsigned i = reader->counts; i-- > 0;) {
		number = find_last_word(line, stop);
		error = number == line ? -EINVAL : parse_weight(number, stop, &weights[i]);
		if (error)
			return error;
		stop = trim_blanks(line, number);
	}
	number = find_last_word(line, stop);
	reader->doubles += number > line && !parse_weight(number, stop, &ignored);
	for (unsigned i = 0; i < reader->counts; i++) {
		reader->bad.has_fractions |= weights[i].billionths > 0;
		reader->billionths[i] += weights[i].billionths;
		weights[i].whole += reader->billionths[i] / BILLION;
		reader->billionths[i] %= BILLION;
	}
	return add_stack(reader, line, stop, weights) ? -EINVAL : 1;
}

/* Add a line, or count it as bad. Returns 0, or -errno with the message filled. */
static int add_line(struct folded_reader *reader, char *line, size_t length)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	struct folded_bad *bad = &reader->bad;
	int found;

	if (!reader->number && !strncmp(line, byte_order_mark, 3)) {
		line += 3;
		length -= 3;
	}
	reader->number++;
	if (reader->number <= FOLDED_DOUBT_LINES && memchr(line, '\0', length))
		return diag_fail(reader->message, -ENODATA,
			"%s:%" PRIu64 ": a NUL byte, where " EXPECTED " was expected", reader->name,
			reader->number);
	/* Comments, as austin writes them. */
	if (length > 1 && line[0] == '#' && line[1] == ' ')
		return 0;
	found = read_line(reader, line, length);
	if (found == -ERANGE)
		return diag_fail(reader->message, -ERANGE, "%s:%" PRIu64 ": a count above %" PRIu64,
			reader->name, reader->number, WEIGHT_MAX);
	if (found > 0)
		bad->stacks++;
	else if (found < 0 && !bad->count++)
		bad->first = reader->number;
	if (bad->stacks || bad->count < FOLDED_DOUBT_LINES)
		return 0;
	return refuse_others(bad->count, bad->count, bad->first, reader->name, reader->message);
}

static int fail_read(const struct folded_reader *reader, int error)
{
	if (error == -EFBIG)
		return diag_fail(reader->message, error,
			"%s:%" PRIu64 ": a line of more than %u MiB", reader->name,
			reader->number + 1, LINES_BYTES_MAX >> 20);
	return diag_fail(
		reader->message, error, "cannot read '%s': %s", reader->name, strerror(-error));
}

static int trees_error(const struct folded_reader *reader)
{
	int error = calltree_error(reader->trees[0]);

	return error || !reader->trees[1] ? error : calltree_error(reader->trees[1]);
}

int folded_read(struct calltree *tree, struct calltree *newer, struct lines *lines,
	const char *name, struct folded_bad *bad, struct diag_message *message)
{
	struct folded_reader reader = {.trees = {tree, newer},
		.counts = newer ? FOLDED_VERSIONS : 1,
		.name = name,
		.message = message};
	uint64_t lines_read;
	size_t length;
	char *line;
	int error = 0, more = 1;

	while (!error && !trees_error(&reader) && (more = lines_next(lines, &line, &length)) > 0)
		error = add_line(&reader, line, length);
	if (error)
		return error;
	if (more < 0 || trees_error(&reader))
		return fail_read(&reader, more < 0 ? more : trees_error(&reader));
	lines_read = reader.bad.stacks + reader.bad.count;
	if (reader.bad.count * FOLDED_OTHERS > lines_read)
		return refuse_others(
			reader.bad.count, lines_read, reader.bad.first, name, message);
	/*
	 * Two numbers in a line are refused only if all lines have them: names may end in a number.
	 */
	if (!newer && reader.doubles && reader.doubles == reader.bad.stacks)
		return refuse_two_counts(name, message);
	*bad = reader.bad;
	return 0;
}

/* Does the character end a frame or a line, or control a terminal? */
static bool is_unfit(char c)
{
	return c == ';' || (unsigned char)c < 0x20 || c == 0x7f;
}

/* Write @name with unfit characters replaced. Use fwrite(), because putc() locks per byte. */
static void write_name(const char *name, FILE *out)
{
	if (!*name)
		fputs("[empty]", out);
	while (*name) {
		size_t fit = 0;

		while (name[fit] && !is_unfit(name[fit]))
			fit++;
		fwrite(name, 1, fit, out);
		name += fit;
		if (*name)
			putc(*name++ == ';' ? ':' : ' ', out);
	}
}

/* Write a frame and the suffix of its kind, which a name from folded stacks may have already. */
static void write_frame(const struct calltree_frame *frame, bool inline_suffix, FILE *out)
{
	write_name(frame->name, out);
	if (inline_suffix && frame->kind == CALLTREE_INLINE &&
		!has_suffix(frame->name, INLINE_SUFFIX))
		fputs(INLINE_SUFFIX, out);
	if (frame->kind == CALLTREE_KERNEL && frame->name[0] != '[')
		fputs(KERNEL_SUFFIX, out);
}

/* Write the frames in @path, outermost first. @path[0] is the frame of a child of the root. */
static void write_stack(const struct calltree *tree, const uint32_t *path, uint32_t depth,
	bool inline_suffix, FILE *out)
{
	if (!depth)
		fputs("[all]", out);
	for (uint32_t i = 0; i < depth; i++) {
		if (i)
			putc(';', out);
		write_frame(calltree_frame_at(tree, path[i]), inline_suffix, out);
	}
}

/* Returns [node * FOLDED_VERSIONS + version] -> count, to be freed, or NULL if out of memory. */
static uint64_t *count_versions(const struct calltree *tree, const unsigned scale[FOLDED_VERSIONS])
{
	size_t count = (size_t)calltree_nodes(tree) * FOLDED_VERSIONS;
	uint64_t *counts = calloc(count, sizeof(*counts));

	for (size_t i = 0; counts && i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		bool is_new = !strcmp(calltree_process_at(tree, sample->thread), "new");

		counts[(size_t)sample->node * FOLDED_VERSIONS + is_new] += sample->weight;
	}
	for (size_t i = 0; counts && i < count; i++)
		counts[i] /= scale[i % FOLDED_VERSIONS];
	return counts;
}

int folded_write(const struct calltree *tree, const unsigned *scale, bool inline_suffix, FILE *out)
{
	struct preorder preorder;
	uint64_t *counts = NULL;
	int error = preorder_init(&preorder, tree);

	if (error)
		return error;
	uint32_t *path = calloc((size_t)preorder.height[0] + 1, sizeof(*path));

	if (scale)
		counts = count_versions(tree, scale);
	if (!path || (scale && !counts)) {
		error = -ENOMEM;
		goto out;
	}
	errno = 0;
	for (uint32_t at = 0; at < preorder.nodes && !ferror(out); at++) {
		const struct calltree_node *node = calltree_node_at(tree, preorder.order[at]);
		size_t first = (size_t)preorder.order[at] * FOLDED_VERSIONS;

		if (at)
			path[preorder.depth[at] - 1] = node->frame;
		if (!node->self)
			continue;
		write_stack(tree, path, preorder.depth[at], inline_suffix, out);
		if (counts)
			fprintf(out, " %" PRIu64 " %" PRIu64 "\n", counts[first],
				counts[first + 1]);
		else
			fprintf(out, " %" PRIu64 "\n", node->self);
	}
	if (ferror(out))
		error = errno ? -errno : -EIO;
out:
	free(counts);
	free(path);
	preorder_release(&preorder);
	return error;
}
