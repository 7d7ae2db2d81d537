/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read methods, lines, files, and names with their classes from Ruby's control frames and
 * functions. A class has its name in a field or, in Ruby 3.1, in a hidden variable. The names of
 * functions written in C are in the table of all symbols.
 */
#include "libprof/runtime/ruby.h"

#include <errno.h>

/* Objects' flags. */
#define TYPE	     0x1fu
#define TYPE_CLASS   2u
#define TYPE_MODULE  3u
#define TYPE_STRING  5u
#define TYPE_ARRAY   7u
#define IS_SINGLETON (1u << 12)
/* of a string */
#define NOT_EMBEDDED (1u << 13)
#define IS_EMBEDDED  (1u << 13) /* of an array */

#define INTERNAL_METHOD 0x601au
/* The type of the result of the last regular expression match. This object points to the method. */
#define INTERNAL_MATCH	0x201au
/* Flag of an environment: it has no outer environment. */
#define IS_LOCAL	2u
#define OUTER_MAX	64u

/* ---- control frames -------------------------------------------------------------------------- */

int ruby_load_frame(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t at,
	struct ruby_frame *frame, struct ruby_environment *environment)
{
	const uint32_t bytes = ruby_layout(runtime)->frame_bytes;

	/* Releases without this field have shorter frames, so the load does not write it. */
	frame->jit_return = 0;
	return at % RUBY_WORD || runtime_load(reader, at, frame, bytes) ||
			       !ruby_is_object(frame->environment) ||
			       runtime_load(reader, frame->environment - 2 * RUBY_WORD, environment,
				       sizeof(*environment))
		       ? -EFAULT
		       : 0;
}

static int load_method(struct runtime_reader *reader, uintptr_t at, struct ruby_method *out)
{
	return ruby_is_object(at) && !runtime_load(reader, at, out, sizeof(*out)) &&
	       (out->flags & RUBY_INTERNAL) == INTERNAL_METHOD;
}

/* The method is the first one found, from the frame's own environment outward. */
int ruby_find_method(struct runtime_reader *reader, const struct ruby_environment *environment,
	struct ruby_method *out)
{
	struct ruby_environment at = *environment;
	uintptr_t outer;

	out->flags = 0;
	for (unsigned n = 0; n < OUTER_MAX; n++) {
		if (load_method(reader, at.method, out))
			return 1;
		if (at.flags & IS_LOCAL)
			break;
		outer = at.outer & ~(uintptr_t)3;
		if (!ruby_is_object(outer) ||
			runtime_load(reader, outer - 2 * RUBY_WORD, &at, sizeof(at)))
			return 0;
	}
	return ruby_is_object(at.method) && (out->flags & RUBY_INTERNAL) == INTERNAL_MATCH &&
	       load_method(reader, out->class, out);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/*
 * The table of lines has a bit vector (iseq.c), which gives the number of lines that begin at or
 * before an instruction. For the first 54 instructions, a word has 9 such numbers of 7 bits. The
 * others are in blocks of 512 instructions, with one bit for each instruction at which a line
 * begins.
 */
#define COUNTED	    54u
#define COUNTS	    9u
#define BLOCK	    512u
#define BLOCK_BYTES 80u
#define BLOCK_BITS  16u
#define LINE_BYTES  12u
#define LINES_MAX   (1u << 24)

static uint32_t count_lines(struct runtime_reader *reader, uintptr_t index, uint32_t position)
{
	uint32_t block, bit, before;
	uint64_t word, counts;

	if (position < COUNTED) {
		if (runtime_load(reader, index + position / COUNTS * 8, &word, 8))
			return 0;
		return (uint32_t)(word >> position % COUNTS * 7) & 0x7f;
	}
	block = (position - COUNTED) / BLOCK;
	bit = (position - COUNTED) % BLOCK;
	index += COUNTED / COUNTS * 8 + (uintptr_t)block * BLOCK_BYTES;
	if (runtime_load(reader, index, &before, 4) ||
		runtime_load(reader, index + 8, &counts, 8) ||
		runtime_load(reader, index + BLOCK_BITS + bit / 64 * 8, &word, 8))
		return 0;
	if (bit / 64)
		before += (uint32_t)(counts >> (bit / 64 - 1) * 9) & 0x1ff;
	for (word <<= 63 - bit % 64; word; word &= word - 1)
		before++;
	return before;
}

uint32_t ruby_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	struct ruby_lines lines;
	uint32_t count = 1, line;

	(void)runtime;
	if (frame->position < 0 || runtime_load(reader, frame->lines, &lines, sizeof(lines)))
		return 0;
	lines.count &= UINT32_MAX;
	if (lines.count > 1)
		count = count_lines(reader, lines.index, (uint32_t)frame->position);
	if (!count || count > lines.count || count > LINES_MAX ||
		runtime_load(reader, lines.lines + (count - 1) * (uintptr_t)LINE_BYTES, &line, 4))
		return 0;
	return line;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* An output buffer of @room bytes, of which @used are in use. */
struct ruby_text {
	const struct runtime *runtime;
	struct runtime_reader *reader;
	char *out;
	uint32_t used, room;
};

static void put_text(struct ruby_text *text, const char *from)
{
	text->used += runtime_put_text(text->out + text->used, text->room - text->used, from);
}

/* Set @bytes to the address of the bytes of the string @address. Returns their number, or 0. */
static uintptr_t find_bytes(const struct ruby_text *text, uintptr_t address, uintptr_t *bytes)
{
	const uint32_t embedded = ruby_layout(text->runtime)->string_bytes;
	struct runtime_reader *reader = text->reader;
	uintptr_t content[4]; /* flags, class, length, bytes */

	if (!ruby_is_object(address) || runtime_load(reader, address, content, sizeof(content)) ||
		(content[0] & TYPE) != TYPE_STRING)
		return 0;
	if (content[0] & NOT_EMBEDDED) {
		*bytes = content[3];
		return content[2];
	}
	*bytes = address + embedded;
	return embedded > 2 * RUBY_WORD ? content[2] : content[0] >> 14 & 0x1f;
}

static void put_string(struct ruby_text *text, uintptr_t string, uintptr_t first)
{
	uintptr_t bytes, length = find_bytes(text, string, &bytes);
	struct runtime_bytes from = {.reader = text->reader};
	int byte;

	if (first >= length)
		return;
	from.at = bytes + first;
	from.end = bytes + length;
	while (text->used < text->room && (byte = runtime_byte(&from)) > 0)
		text->out[text->used++] = (char)byte;
}

static uintptr_t element(struct runtime_reader *reader, uintptr_t address, uintptr_t index)
{
	uintptr_t flags, found;

	if (!ruby_is_object(address) || runtime_load_word(reader, address, &flags) ||
		(flags & TYPE) != TYPE_ARRAY)
		return 0;
	if (flags & IS_EMBEDDED)
		found = address + 2 * RUBY_WORD;
	else if (runtime_load_word(reader, address + 4 * RUBY_WORD, &found))
		return 0;
	return runtime_load_word(reader, found + index * RUBY_WORD, &found) ? 0 : found;
}

/*
 * Returns the name of the symbol @id. Names are in an array of arrays of 512 pairs, indexed by the
 * id's number: for an operator the id, otherwise the id without the four bits of its kind
 * (symbol.c).
 */
static uintptr_t name_of(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t id)
{
	uintptr_t number = id > 169 ? id >> 4 : id, names;
	uint32_t last;

	if (!runtime->code_type || runtime_load(reader, runtime->code_type, &last, sizeof(last)) ||
		number > last ||
		runtime_load_word(reader, runtime->code_type + 2 * RUBY_WORD, &names))
		return 0;
	return element(reader, element(reader, names, number / 512), number % 512 * 2);
}

/*
 * Returns the value of the class's only hidden variable with a value of @type or @type2: the name
 * of the class or, in a singleton class, the object to which the singleton class belongs.
 */
#define VARIABLES_MAX 256u
#define ID_KIND	      0xeu /* 0: hidden or local variable */
static uintptr_t find_hidden(
	struct runtime_reader *reader, uintptr_t class, uint32_t type, uint32_t type2)
{
	uintptr_t extension, table, content[7], flags;
	struct {
		uintptr_t hash, key, value;
	} entry;

	if (runtime_load_word(reader, class + 3 * RUBY_WORD, &extension) ||
		runtime_load_word(reader, extension + RUBY_WORD, &table) ||
		runtime_load(reader, table, content, sizeof(content)))
		return 0;
	/* The words of `content` are: bits, type, count, bins, first, end, entries (st.h). */
	for (uintptr_t i = content[4]; i < content[5] && i < VARIABLES_MAX; i++) {
		if (runtime_load(reader, content[6] + i * sizeof(entry), &entry, sizeof(entry)))
			return 0;
		if (!entry.key || entry.key & ID_KIND || !ruby_is_object(entry.value) ||
			runtime_load_word(reader, entry.value, &flags))
			continue;
		if ((flags & TYPE) == type || (flags & TYPE) == type2)
			return entry.value;
	}
	return 0;
}

/* Returns the name of the class at @class, or 0. */
static uintptr_t find_name(const struct ruby_text *text, uintptr_t class)
{
	const uint32_t offset = ruby_layout(text->runtime)->class_name;
	uintptr_t name;

	if (!offset)
		return find_hidden(text->reader, class, TYPE_STRING, TYPE_STRING);
	return runtime_load_word(text->reader, class + offset, &name) ? 0 : name;
}

/* Returns the class or module whose singleton class is @class, or 0. */
static uintptr_t find_attached(const struct ruby_text *text, uintptr_t class)
{
	const uint32_t offset = ruby_layout(text->runtime)->class_attached;
	uintptr_t attached, flags;

	if (!offset)
		return find_hidden(text->reader, class, TYPE_CLASS, TYPE_MODULE);
	if (runtime_load_word(text->reader, class + offset, &attached) ||
		!ruby_is_object(attached) || runtime_load_word(text->reader, attached, &flags))
		return 0;
	flags &= TYPE;
	return flags == TYPE_CLASS || flags == TYPE_MODULE ? attached : 0;
}

/* Append "Class#", or "Class." for a singleton class; nothing if @class has no name. */
static void put_class(struct ruby_text *text, uintptr_t class)
{
	const char *joint = "#";
	uintptr_t flags, name;

	if (!ruby_is_object(class) || runtime_load_word(text->reader, class, &flags))
		return;
	if ((flags & TYPE) == TYPE_CLASS && flags & IS_SINGLETON) {
		class = find_attached(text, class);
		joint = ".";
	}
	name = class ? find_name(text, class) : 0;
	if (!name)
		return;
	put_string(text, name, 0);
	put_text(text, joint);
}

/*
 * Append "block in Class#method". This is Ruby's label "block in method" with the class inserted.
 */
static void put_label(struct ruby_text *text, uintptr_t label, uintptr_t base, uintptr_t owner)
{
	uintptr_t bytes, all = find_bytes(text, label, &bytes);
	uintptr_t length = find_bytes(text, base, &bytes);
	uint32_t room = text->room;

	if (!owner || all < length) {
		put_string(text, label, 0);
		return;
	}
	if (all - length < room)
		text->room = (uint32_t)(all - length);
	put_string(text, label, 0);
	text->room = room;
	put_class(text, owner);
	put_string(text, label, all - length);
}

static void put_name(struct ruby_text *text, uintptr_t at)
{
	struct runtime_reader *reader = text->reader;
	struct ruby_environment environment;
	struct ruby_method method;
	struct ruby_frame frame;
	uintptr_t body, kind, name, labels[2], owner = 0;

	if (ruby_load_frame(text->runtime, reader, at, &frame, &environment))
		return;
	if (ruby_find_method(reader, &environment, &method) &&
		!runtime_load_word(reader, method.definition, &kind)) {
		kind &= RUBY_DEFINITION_KIND;
		owner = kind == RUBY_DEFINITION_BLOCK ? 0 : method.owner;
	}
	if ((environment.flags & RUBY_KIND) == RUBY_KIND_C && owner &&
		!runtime_load_word(reader, method.definition + RUBY_DEFINITION_NAME, &name)) {
		put_class(text, owner);
		put_string(text, name_of(text->runtime, reader, name), 0);
	} else if (!runtime_load_word(reader, frame.code + RUBY_CODE_BODY, &body) &&
		   !runtime_load(reader, body + offsetof(struct ruby_body, base_label), labels,
			   sizeof(labels))) {
		put_label(text, labels[1], labels[0], owner);
	}
}

#define EVALS_MAX 16u /* nested evals, at most */

/* Returns the offset of the file name in a path, of which the last @room bytes are searched. */
static uintptr_t find_base(
	struct runtime_reader *reader, uintptr_t path, uintptr_t length, uintptr_t room)
{
	uintptr_t skipped = length > room ? length - room : 0, base = skipped;
	struct runtime_bytes bytes = {.reader = reader, .at = path + skipped, .end = path + length};
	int byte;

	for (uintptr_t at = skipped + 1; (byte = runtime_byte(&bytes)) > 0; at++)
		if (byte == '/')
			base = at;
	return base;
}

/*
 * Append a path. A file has one path, or an array of this path and the real path. Code that Ruby
 * 3.3 evaluates from a string has the path "(eval at PATH:LINE)", in which PATH may have this form
 * again. Omit the folders in PATH, so that the end of the text fits.
 */
static void put_path(struct ruby_text *text, uintptr_t address)
{
	static const char eval[] = "(eval at ";
	uintptr_t path = element(text->reader, address, 0), bytes = 0, length, first = 0, base;
	char start[sizeof(eval) - 1];

	if (!path)
		path = address;
	length = find_bytes(text, path, &bytes);
	while (length - first > sizeof(start) && first < EVALS_MAX * sizeof(start) &&
		!runtime_load(text->reader, bytes + first, start, sizeof(start)) &&
		!memcmp(start, eval, sizeof(start))) {
		put_text(text, eval);
		first += sizeof(start);
	}
	if (first) {
		base = find_base(text->reader, bytes, length, text->room - text->used);
		first = base > first ? base : first;
	} else if (length > text->room) {
		first = length - text->room;
	}
	put_string(text, path, first);
}

uint32_t ruby_text(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address,
	char *out, uint32_t room, int keep_end)
{
	struct ruby_text text = {runtime, reader, out, 0, room - 1};

	(void)keep_end;
	if (address & RUBY_OF_FRAME)
		put_name(&text, address - RUBY_OF_FRAME);
	else
		put_path(&text, address);
	out[text.used] = '\0';
	return text.used + 1;
}
