/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * V8 as node 18 to 24 has it, without pointer compression. Interpreted, baseline and optimised code
 * all keep a frame pointer, and in front of it what they run:
 *
 *	fp + 8    return address
 *	fp        the caller's frame pointer
 *	fp - 8    context; in frames of V8's own a small integer, which says of what kind
 *	fp - 16   JSFunction ─▶ SharedFunctionInfo ─▶ ScopeInfo: name, where in the source
 *	                                           └▶ Script: source, name
 *
 * A builtin has such a frame, too, but no script. Offsets and types are what V8 publishes for
 * debuggers (v8dbg_*, tools/gen-postmortem-metadata.py); of a ScopeInfo only where its own fields
 * end (objects/scope-info.tq). Symbols are named after their fields' types, which change.
 *
 * Objects move, so functions are known by what they are: script, position, name. While they are
 * being moved an old copy says where the new one is, and is followed there. Nothing is believed
 * that is not of the type that it has to be.
 */
#include <errno.h>
#include <string.h>

#include "arch/v8.h"
#include "libprof/runtime/runtime.h"

/* Fields of struct runtime.offsets. */
struct v8_offsets {
	uint32_t shared;			 /* of JSFunction */
	uint32_t scope, script;			 /* of SharedFunctionInfo */
	uint32_t source, script_name, line_ends; /* of Script; its number lies behind the last */
	uint32_t first_local;			 /* of ScopeInfo, in words behind its map */
	uint32_t function_type, function_types;	 /* the first, and how many there are */
	uint32_t shared_type, script_type, scope_type, array_type;
};
_Static_assert(sizeof(struct v8_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

#define WORD		  sizeof(uintptr_t)
#define FRAME_CONTEXT	  (1 * WORD) /* below the frame pointer */
#define FRAME_FUNCTION	  (2 * WORD)
#define HEAP_OBJECT	  1u /* in a pointer's two lowest bits */
#define HEAP_OBJECT_MASK  3u
#define TYPE_OF_MAP	  12u
#define STRING_TYPES	  0x80u
#define STRING_KIND	  7u /* bits of a string's type */
#define STRING_SEQUENTIAL 0u
#define STRING_CONS	  1u
#define STRING_EXTERNAL	  2u
#define STRING_SLICED	  3u
#define STRING_THIN	  5u
#define STRING_ONE_BYTE	  8u
#define STRING_UNCACHED	  16u
#define STRING_HASH	  8u /* with the length behind it */
#define STRING_LENGTH	  12u
#define STRING_CHARACTERS 16u
#define STRING_DATA	  24u /* of an external one, behind its resource */
#define STRING_FIRST	  16u /* of a cons; what a thin or sliced one stands for */
#define STRING_SECOND	  24u
#define STRING_OFFSET	  24u /* of a sliced one */
#define STRINGS_DEEP	  16u
#define ARRAY_LENGTH	  8u
#define ARRAY_DATA	  16u
#define INLINE_LOCALS	  75u /* kScopeInfoMaxInlinedLocalNamesSize */
#define LOCALS_MAX	  65536u
#define SCOPE_FLAGS	  8u
#define SCOPE_LOCALS	  24u
#define SCOPE_POSITION	  32u /* where it comes before the locals */
#define SCOPE_KIND	  15u /* bits of its flags */
#define SCOPE_MODULE	  5u
#define SCOPE_SAVED_CLASS (1u << 10)
#define SCOPE_NAME	  (3u << 12)
#define SCOPE_INFERRED	  (1u << 14)

static const struct v8_offsets *offsets_of(const struct runtime *runtime)
{
	return (const struct v8_offsets *)runtime->offsets;
}

/* ---- finding it ------------------------------------------------------------------------------ */

#define NAMES_MAX 4u

/* What a field is called, by version, and where it goes; or, without a place, what it has to be. */
struct published {
	int place; /* in v8_offsets, < 0: none */
	int32_t expected;
	const char *names[NAMES_MAX];
};

#define AT(field) (int)(offsetof(struct v8_offsets, field) / sizeof(uint32_t))

static const struct published published[] = {
	{AT(shared), 0, {"class_JSFunction__shared__SharedFunctionInfo"}},
	{AT(scope), 0,
		{"class_SharedFunctionInfo__name_or_scope_info__Object",
			"class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
			"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"}},
	{AT(script), 0,
		{"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
			"class_SharedFunctionInfo__script__Tagged_HeapObject_",
			"class_SharedFunctionInfo__raw_script__Tagged_Object_"}},
	{AT(source), 0, {"class_Script__source__Object"}},
	{AT(script_name), 0, {"class_Script__name__Object"}},
	{AT(line_ends), 0, {"class_Script__line_ends__Object"}},
	{AT(first_local), 0, {"scopeinfo_idx_first_vars"}},
	{AT(function_type), 0, {"type_JSFunction__JS_FUNCTION_TYPE"}},
	{AT(shared_type), 0, {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}},
	{AT(script_type), 0, {"type_Script__SCRIPT_TYPE"}},
	{AT(scope_type), 0, {"type_ScopeInfo__SCOPE_INFO_TYPE"}},
	{AT(array_type), 0, {"type_FixedArray__FIXED_ARRAY_TYPE"}},
	{-1, -(int)FRAME_CONTEXT, {"off_fp_context_or_frame_type"}},
	{-1, -(int)FRAME_FUNCTION, {"off_fp_function"}},
	{-1, WORD, {"TaggedSize"}},
	{-1, HEAP_OBJECT, {"HeapObjectTag"}},
	{-1, 31, {"SmiShiftSize"}},
	{-1, TYPE_OF_MAP, {"class_Map__instance_type__uint16_t"}},
	{-1, 2, {"scopeinfo_idx_ncontextlocals"}},
	{-1, STRING_LENGTH, {"class_String__length__int32_t"}},
	{-1, STRING_CHARACTERS, {"class_SeqOneByteString__chars__char"}},
	{-1, STRING_CHARACTERS, {"class_SeqTwoByteString__chars__char"}},
	{-1, STRING_CHARACTERS, {"class_ExternalString__resource__Object"}},
	{-1, STRING_KIND, {"StringRepresentationMask"}},
	{-1, STRING_ONE_BYTE, {"OneByteStringTag"}},
};

#define PREFIX		  "v8dbg_"
#define NAME_BYTES	  96u
#define OFFSET_MAX	  512u
#define JS_FUNCTION_TYPES 16u /* where it does not say which is the last */

static int load_published(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const char *name, int32_t *value)
{
	char whole[NAME_BYTES] = PREFIX;
	size_t bytes = strlen(name) + 1;
	uintptr_t at;

	if (bytes > sizeof(whole) - strlen(PREFIX))
		return -ENOENT;
	memcpy(whole + strlen(PREFIX), name, bytes);
	at = runtime_symbol(symbols, reader, whole, NULL);
	return at ? runtime_load(reader, at, value, sizeof(*value)) : -ENOENT;
}

static int load_any(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const struct published *field, int32_t *value)
{
	int error = -ENOENT;

	for (unsigned i = 0; error && i < NAMES_MAX && field->names[i]; i++)
		error = load_published(reader, symbols, field->names[i], value);
	return error;
}

static int find_v8(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	struct v8_offsets *at = (struct v8_offsets *)out->offsets;
	int32_t value, last;

	for (unsigned i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		if (load_any(reader, symbols, &published[i], &value))
			return -ENOENT;
		if (published[i].place < 0 && value != published[i].expected)
			return -ENOENT;
		if (published[i].place >= 0)
			out->offsets[published[i].place] = (uint32_t)value;
	}
	if (at->shared > OFFSET_MAX || at->scope > OFFSET_MAX || at->script > OFFSET_MAX ||
		at->source > OFFSET_MAX || at->script_name > OFFSET_MAX ||
		at->line_ends > OFFSET_MAX || (at->first_local != 3 && at->first_local != 5))
		return -ENOENT;
	at->function_types = JS_FUNCTION_TYPES;
	if (!load_published(reader, symbols, "LastJSFunctionType", &last))
		at->function_types = (uint32_t)last - at->function_type + 1;
	return 0;
}

/* ---- objects --------------------------------------------------------------------------------- */

static int is_object(uintptr_t word)
{
	return (word & HEAP_OBJECT_MASK) == HEAP_OBJECT;
}

/* A small integer that is not negative. */
static int is_number(uintptr_t word)
{
	return !(uint32_t)word && !(word >> 63);
}

static uint32_t number_of(uintptr_t word)
{
	return (uint32_t)(word >> 32);
}

/*
 * The type of the object that @word points at; *at becomes its address. Where a moved one was lies
 * the new one's address, without the mark of an object.
 */
static int load_type(struct runtime_reader *reader, uintptr_t word, uintptr_t *at, uint32_t *type)
{
	uintptr_t map;
	uint16_t value;

	if (!is_object(word))
		return -EBADMSG;
	*at = word - HEAP_OBJECT;
	if (runtime_load_word(reader, *at, &map))
		return -EFAULT;
	if (!(map & HEAP_OBJECT_MASK)) {
		*at = map;
		if (runtime_load_word(reader, *at, &map))
			return -EFAULT;
	}
	if (!is_object(map))
		return -EBADMSG;
	if (runtime_load(reader, map - HEAP_OBJECT + TYPE_OF_MAP, &value, sizeof(value)))
		return -EFAULT;
	*type = value;
	return 0;
}

/* The address of the object at @field, which has to be of @type. */
static int load_object(struct runtime_reader *reader, uintptr_t field, uint32_t type, uintptr_t *at)
{
	uintptr_t word;
	uint32_t found;
	int error = runtime_load_word(reader, field, &word);

	if (!error)
		error = load_type(reader, word, at, &found);
	return error ? error : found == type ? 0 : -EBADMSG;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Characters that lie together. */
struct piece {
	uintptr_t at;
	uint32_t length, bytes; /* of one: 1 or 2 */
};

/* Is @word a string with something in it? Returns 1, 0 or -errno. */
static int has_text(struct runtime_reader *reader, uintptr_t word)
{
	uint32_t type, length;
	uintptr_t at;
	int error;

	if (is_number(word))
		return 0;
	error = load_type(reader, word, &at, &type);
	if (error || type >= STRING_TYPES)
		return error;
	if (runtime_load(reader, at + STRING_LENGTH, &length, sizeof(length)))
		return -EFAULT;
	return length != 0;
}

static int load_halves(
	struct runtime_reader *reader, uintptr_t cons, uintptr_t *first, uintptr_t *second)
{
	return runtime_load_word(reader, cons + STRING_FIRST, first) ||
			       runtime_load_word(reader, cons + STRING_SECOND, second)
		       ? -EFAULT
		       : 0;
}

/*
 * @word's characters. Returns 0, or 1: they are those of *first, then those of *second; else
 * -errno.
 */
static int find_piece(struct runtime_reader *reader, uintptr_t word, struct piece *out,
	uintptr_t *first, uintptr_t *second)
{
	uintptr_t at, offset = 0;
	uint32_t type, length, whole = UINT32_MAX;
	int error;

	for (unsigned n = 0; n < STRINGS_DEEP; n++) {
		error = load_type(reader, word, &at, &type);
		if (error || type >= STRING_TYPES)
			return error ? error : -EBADMSG;
		if (runtime_load(reader, at + STRING_LENGTH, &length, sizeof(length)))
			return -EFAULT;
		if (whole == UINT32_MAX)
			whole = length;
		switch (type & STRING_KIND) {
		case STRING_CONS:
			error = load_halves(reader, at, first, second);
			if (error)
				return error;
			/* V8 makes it flat by putting all of it into the first. */
			error = has_text(reader, *second);
			if (error)
				return error < 0 || n ? -EBADMSG : 1;
			break;
		case STRING_SLICED:
			if (runtime_load_word(reader, at + STRING_OFFSET, &offset) ||
				!is_number(offset))
				return -EBADMSG;
			offset = number_of(offset);
			break;
		case STRING_THIN:
			break;
		case STRING_EXTERNAL:
		case STRING_SEQUENTIAL:
			if (offset > length || whole > length - offset)
				return -EBADMSG;
			out->bytes = type & STRING_ONE_BYTE ? 1 : 2;
			out->length = whole;
			if ((type & STRING_KIND) == STRING_SEQUENTIAL)
				out->at = at + STRING_CHARACTERS;
			else if (type & STRING_UNCACHED ||
				 runtime_load_word(reader, at + STRING_DATA, &out->at))
				return -EBADMSG;
			out->at += offset * out->bytes;
			return 0;
		default:
			return -EBADMSG;
		}
		if (runtime_load_word(reader, at + STRING_FIRST, &word))
			return -EFAULT;
	}
	return -EBADMSG;
}

/* Its character @i, of UTF-16; 0 where it can't be read. */
static uint32_t load_character(struct runtime_reader *reader, const struct piece *piece, uint32_t i)
{
	uint16_t character = 0;

	if (i >= piece->length || runtime_load(reader, piece->at + (uintptr_t)i * piece->bytes,
					  &character, piece->bytes))
		return 0;
	return character;
}

static uint32_t add_piece(struct runtime_reader *reader, const struct piece *piece, uint32_t from,
	char *out, uint32_t room)
{
	uint32_t used = 0;

	/* A character takes up to four bytes; only what may not fit is cut. */
	for (uint32_t i = from; i < piece->length && used + 4 < room; i++) {
		uint32_t character = load_character(reader, piece, i);
		uint32_t next =
			(character & 0xfc00) == 0xd800 ? load_character(reader, piece, i + 1) : 0;

		if ((next & 0xfc00) == 0xdc00) {
			character = 0x10000 + ((character & 0x3ff) << 10 | (next & 0x3ff));
			i++;
		}
		used += runtime_encode(character, out + used);
	}
	return used;
}

#define ANONYMOUS "(anonymous)"

static uint32_t text_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end)
{
	uintptr_t rest[STRINGS_DEEP] = {address}, first, second;
	unsigned count = address != 0;
	uint32_t used = 0;
	struct piece piece;

	(void)runtime;
	if (!address) {
		used = sizeof(ANONYMOUS) - 1;
		memcpy(out, keep_end ? "<anonymous>" : ANONYMOUS, sizeof(ANONYMOUS));
	}
	for (unsigned n = 0; count && n < 2 * STRINGS_DEEP; n++) {
		int found = find_piece(reader, rest[--count], &piece, &first, &second);
		uint32_t from = 0;

		if (found < 0)
			break;
		if (found && count + 2 > STRINGS_DEEP)
			break;
		if (found) {
			rest[count++] = second;
			rest[count++] = first;
			continue;
		}
		if (keep_end && piece.length > room / 4)
			from = piece.length - room / 4;
		used += add_piece(reader, &piece, from, out + used, room - used);
	}
	out[used] = '\0';
	return used + 1;
}

/* ---- lines ----------------------------------------------------------------------------------- */

#define BLOCK	       16384u /* characters whose ends of lines are counted once */
#define BLOCKS_AT_ONCE 8u
#define CHUNK	       RUNTIME_WINDOW_BYTES

/* Does a line end with the character before @next? */
static int ends_line(uint32_t character, uint32_t next)
{
	return character == '\n' || (character == '\r' && next != '\n') || character == 0x2028 ||
	       character == 0x2029;
}

/* Ends of lines in [from, to) of @piece. Returns how many, or -errno. */
static int64_t count_ends(
	struct runtime_reader *reader, const struct piece *piece, uint32_t from, uint32_t to)
{
	uint8_t bytes[CHUNK];
	int64_t ends = 0;

	while (from < to) {
		uint32_t count = to - from < CHUNK / 2 ? to - from : CHUNK / 2;
		uint32_t returns = 0;

		if (runtime_load(reader, piece->at + (uintptr_t)from * piece->bytes, bytes,
			    (size_t)count * piece->bytes))
			return -EFAULT;
		for (uint32_t i = 0; piece->bytes == 1 && i < count; i++) {
			ends += bytes[i] == '\n';
			returns |= bytes[i] == '\r';
		}
		if (returns)
			for (uint32_t i = 0; i < count; i++)
				ends += bytes[i] == '\r' &&
					load_character(reader, piece, from + i + 1) != '\n';
		for (uint32_t i = 0; piece->bytes == 2 && i < count; i++) {
			uint16_t character;

			memcpy(&character, bytes + 2 * (size_t)i, sizeof(character));
			ends += ends_line(character,
				character == '\r' ? load_character(reader, piece, from + i + 1)
						  : 0);
		}
		from += count;
	}
	return ends;
}

/*
 * Ends of lines before @position of the source with hash @source. What is counted is kept; where
 * that was much the answer is left to the next time.
 */
static int64_t count_before(struct runtime_reader *reader, const struct piece *piece,
	uint64_t source, uint32_t position)
{
	int64_t ends = 0, more;
	unsigned counted = 0;
	uint32_t known;

	for (uint32_t at = 0; at < position; at += BLOCK) {
		uint64_t key = runtime_mix(source, at / BLOCK);

		if (position - at < BLOCK) {
			more = count_ends(reader, piece, at, position);
		} else if (runtime_kept(reader, key, &known)) {
			more = known;
		} else if (counted++ == BLOCKS_AT_ONCE) {
			return -EAGAIN;
		} else {
			more = count_ends(reader, piece, at, at + BLOCK);
			if (more >= 0)
				runtime_keep(reader, key, (uint32_t)more);
		}
		if (more < 0)
			return more;
		ends += more;
	}
	return ends;
}

/* As count_before(), where V8 has noted the ends. */
static int64_t search_ends(struct runtime_reader *reader, uintptr_t array, uint32_t position)
{
	uintptr_t length, low = 0, high, word;

	if (runtime_load_word(reader, array + ARRAY_LENGTH, &length) || !is_number(length))
		return -EBADMSG;
	high = number_of(length);
	while (low < high) {
		uintptr_t middle = (low + high) / 2;

		if (runtime_load_word(reader, array + ARRAY_DATA + middle * WORD, &word) ||
			!is_number(word))
			return -EBADMSG;
		if (number_of(word) < position)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* What a ScopeInfo says of its function. */
struct scope {
	uintptr_t name; /* 0: none */
	uint32_t start, end;
};

/* Where in @scope the first word behind its locals is. Returns 0 or -errno. */
static int find_behind_locals(const struct v8_offsets *at, struct runtime_reader *reader,
	uintptr_t scope, uint32_t *flags, uintptr_t *behind)
{
	uintptr_t head[3], locals; /* flags, parameters, locals */

	if (runtime_load(reader, scope + SCOPE_FLAGS, head, sizeof(head)))
		return -EFAULT;
	if (!is_number(head[2]) || number_of(head[2]) > LOCALS_MAX)
		return -EBADMSG;
	locals = number_of(head[2]);
	*flags = at->first_local == 3 ? number_of(head[0]) : (uint32_t)head[0];
	*behind = scope + WORD + at->first_local * WORD;
	if ((*flags & SCOPE_KIND) == SCOPE_MODULE && at->first_local == 5)
		*behind += WORD;
	*behind += ((locals < INLINE_LOCALS ? locals : 1) + locals) * WORD;
	return 0;
}

static int read_scope(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t scope,
	struct scope *out)
{
	uintptr_t words[6], behind, position[2]; /* class variable, name and where, inferred name */
	uint32_t flags;
	unsigned n = 0;
	int error = find_behind_locals(at, reader, scope, &flags, &behind);

	if (error)
		return error;
	if (runtime_load(reader, behind, words, sizeof(words)))
		return -EFAULT;
	out->name = 0;
	n += (flags & SCOPE_SAVED_CLASS) != 0;
	if (flags & SCOPE_NAME) {
		error = has_text(reader, words[n]);
		out->name = error > 0 ? words[n] : 0;
		n += 2;
	}
	if (error >= 0 && !out->name && flags & SCOPE_INFERRED) {
		error = has_text(reader, words[n]);
		out->name = error > 0 ? words[n] : 0;
	}
	n += (flags & SCOPE_INFERRED) != 0;
	if (error < 0)
		return error;
	if (runtime_load(reader, at->first_local == 3 ? behind + n * WORD : scope + SCOPE_POSITION,
		    position, sizeof(position)))
		return -EFAULT;
	if (!is_number(position[0]) || !is_number(position[1]) || position[0] > position[1])
		return -EBADMSG;
	out->start = number_of(position[0]);
	out->end = number_of(position[1]);
	return 0;
}

/* Of what a text says. */
static uint64_t hash_text(struct runtime_reader *reader, uint64_t hash, uintptr_t word)
{
	char text[RUNTIME_FILE_BYTES];
	uintptr_t first, second;
	struct piece piece;
	uint32_t bytes;
	uint64_t part;

	if (word && !find_piece(reader, word, &piece, &first, &second) &&
		piece.length <= sizeof(text) / piece.bytes &&
		!runtime_load(reader, piece.at, text, (size_t)piece.length * piece.bytes))
		bytes = piece.length * piece.bytes;
	else
		bytes = text_of_v8(NULL, reader, word, text, sizeof(text), 1);
	for (uint32_t i = 0; i < bytes; i += 8) {
		part = 0;
		memcpy(&part, text + i, bytes - i < 8 ? bytes - i : 8);
		hash = runtime_mix(hash, part);
	}
	return hash;
}

/* What is looked at of a Script. */
struct script {
	uintptr_t source, name; /* as words */
	uint64_t hash;
};
_Static_assert(sizeof(struct script) == sizeof(((struct runtime_reader *)0)->noted), "noted");

static int read_script(const struct v8_offsets *at, struct runtime_reader *reader, uintptr_t script,
	struct script *out)
{
	uintptr_t number;
	uint32_t type;
	uintptr_t unused;

	if (reader->noted_at == script) {
		memcpy(out, reader->noted, sizeof(*out));
		return 0;
	}
	if (runtime_load_word(reader, script + at->source, &out->source) ||
		runtime_load_word(reader, script + at->script_name, &out->name) ||
		runtime_load_word(reader, script + at->line_ends + WORD, &number))
		return -EFAULT;
	if (!is_object(out->name) || load_type(reader, out->name, &unused, &type) ||
		type >= STRING_TYPES)
		out->name = 0;
	out->hash = hash_text(reader, number, out->name);
	reader->noted_at = script;
	memcpy(reader->noted, out, sizeof(*out));
	return 0;
}

/*
 * The function that @tagged points at. Returns 1; 0: it is none, or of no script; or -errno.
 */
static int read_function(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t tagged, struct runtime_frame *out)
{
	const struct v8_offsets *at = offsets_of(runtime);
	uintptr_t function, shared, script, scope, word, name[1] = {0};
	struct script from;
	struct scope is;
	uint32_t type;
	int error;

	if (load_type(reader, tagged, &function, &type) ||
		type - at->function_type >= at->function_types)
		return 0;
	error = load_object(reader, function + at->shared, at->shared_type, &shared);
	if (error)
		return error;
	if (runtime_load_word(reader, shared + at->script, &word))
		return -EFAULT;
	error = load_type(reader, word, &script, &type);
	if (error || type != at->script_type)
		return error;
	error = load_object(reader, shared + at->scope, at->scope_type, &scope);
	if (!error)
		error = read_scope(at, reader, scope, &is);
	if (!error)
		error = read_script(at, reader, script, &from);
	if (!error && is.name &&
		runtime_load_word(reader, is.name - HEAP_OBJECT + STRING_HASH, name))
		error = -EFAULT;
	if (error)
		return error;
	*out = (struct runtime_frame){
		.function = function,
		.identity = runtime_mix(
			runtime_mix(from.hash, (uint64_t)is.start << 32 | is.end), name[0]),
		.start = is.start,
		.position = -1,
		.lines = script,
		.name = is.name,
		.file = from.name,
	};
	return 1;
}

static int frame_of_v8(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t fp,
	struct runtime_frame *out)
{
	uintptr_t slots[2]; /* function, context */

	if (runtime_load(reader, fp - FRAME_FUNCTION, slots, sizeof(slots)) || !is_object(slots[1]))
		return 0;
	return read_function(runtime, reader, slots[0], out);
}

static int edge_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	const struct arch_registers *registers, struct runtime_frame *out)
{
	struct arch_code code = {.at = ARCH_V8_BEFORE, .end = ARCH_CODE_BYTES};
	uintptr_t function = 0, address = 0;

	if (runtime_load(reader, registers->r[ARCH_DWARF_PC] - ARCH_V8_BEFORE, code.bytes,
		    sizeof(code.bytes)) ||
		!arch_v8_at_edge(&code, registers, &function, &address) ||
		(!function && runtime_load_word(reader, address, &function)))
		return 0;
	return read_function(runtime, reader, function, out);
}

/* The line of @position in the source of @frame's script. */
static uint32_t find_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame, uint32_t position)
{
	const struct v8_offsets *at = offsets_of(runtime);
	uintptr_t array, first, second;
	struct script script;
	struct piece source;
	int64_t ends;
	int32_t offset;

	if (read_script(at, reader, frame->lines, &script) ||
		runtime_load(
			reader, frame->lines + at->script_name + WORD + 4, &offset, sizeof(offset)))
		return 0;
	if (!load_object(reader, frame->lines + at->line_ends, at->array_type, &array)) {
		ends = search_ends(reader, array, position);
	} else {
		if (find_piece(reader, script.source, &source, &first, &second) ||
			position > source.length)
			return 0;
		ends = count_before(reader, &source, script.hash, position);
	}
	return ends < 0 || ends + offset < 0 ? 0 : (uint32_t)(ends + offset + 1);
}

static uint32_t first_line_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	return find_line(runtime, reader, frame, frame->start);
}

static uint32_t line_of_v8(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	(void)runtime, (void)reader, (void)frame;
	return 0;
}

const struct runtime_kind runtime_v8 = {
	.name = "node",
	.find = find_v8,
	.frame = frame_of_v8,
	.edge = edge_of_v8,
	.first_line = first_line_of_v8,
	.line = line_of_v8,
	.text = text_of_v8,
};
