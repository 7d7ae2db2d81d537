/* SPDX-License-Identifier: MIT */
/*
 * Parse the lines of perf script. Names of threads and functions may contain blanks, colons and
 * brackets, so lines are split at parts that names cannot contain.
 *
 * Which event has most samples is known only at the end, so each event has a tree until then.
 */
#include "cli/formats/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/picture_names.h"
#include "libprof/pprof/writer.h"

#define EVENT_BYTES 64
/* Longest function name and path; longer ones are cut. */
#define PERF_NAME_BYTES 4096u

/* On x86_64 and aarch64, all these bits are set in kernel addresses. */
#define KERNEL_ADDRESS UINT64_C(0xffff000000000000)

/* A part of a line. */
struct piece {
	const char *at, *end;
};

struct header {
	struct piece comm, event;
	uint64_t pid, tid;
	uint64_t time_ns;
	uint64_t period;
	bool has_period;
	/* text after the event: the function, if perf recorded no stacks */
	struct piece after;
};

struct event {
	char name[EVENT_BYTES];
	struct calltree *tree;
	uint64_t samples;
	uint64_t weight;
};

/* One function of a stack. */
struct frame {
	struct piece name, file;
	bool is_inlined, is_kernel;
};

struct perf_reader {
	const char *name;
	const char *wanted; /* name of the event; NULL: any */
	struct diag_message *message;
	struct event events[PERF_EVENTS_MAX];
	unsigned event_count;
	struct texts threads; /* interns thread names */
	/* event of the current sample; NULL: no sample, or not the wanted event */
	struct event *event;
	uint32_t thread;
	uint64_t period, time_ns;
	char *stack; /* its lines, each with a NUL */
	size_t stack_bytes, stack_room;
	uint32_t depth;
	uint64_t first_ns, last_ns;
	bool has_times, has_periods;
	uint64_t number, bad, first_bad; /* numbers of lines */
};

/* ---- pieces of lines ------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

static const char *skip_word(const char *at, const char *end)
{
	while (at < end && !is_blank(*at))
		at++;
	return at;
}

static const char *trim(const char *begin, const char *end)
{
	while (end > begin && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	return end;
}

/* Parse digits in base 10 or 16. Returns the end of the number, @at if there are no digits. */
static const char *parse_number(const char *at, const char *end, unsigned base, uint64_t *number)
{
	for (*number = 0; at < end; at++) {
		unsigned digit = (unsigned)(is_digit(*at) ? *at - '0' : (*at | 0x20) - 'a' + 10);

		if (digit >= base || (!is_digit(*at) && digit < 10))
			break;
		if (*number > (UINT64_MAX - digit) / base)
			break;
		*number = *number * base + digit;
	}
	return at;
}

/* Parse "12.345678:" with six or nine decimals. */
static bool parse_time(struct piece word, uint64_t *time_ns)
{
	uint64_t seconds, unit = 100000000;
	const char *at = parse_number(word.at, word.end, 10, &seconds);

	if (at == word.at || at == word.end || *at != '.' || seconds > UINT32_MAX)
		return false;
	*time_ns = seconds * 1000000000;
	for (at++; at < word.end && is_digit(*at); at++, unit /= 10)
		*time_ns += unit * (unsigned)(*at - '0');
	return at + 1 == word.end && *at == ':';
}

/* Parse "12" (tid) or "12/34" (pid/tid). Without a pid, the thread is its own process. */
static bool parse_thread(struct piece word, struct header *header)
{
	const char *at = parse_number(word.at, word.end, 10, &header->pid);

	header->tid = header->pid;
	if (at == word.at)
		return false;
	if (at == word.end)
		return true;
	if (*at++ != '/' || at == word.end)
		return false;
	return parse_number(at, word.end, 10, &header->tid) == word.end;
}

/* Parse an optional period and the event with its colon. Returns false for anything else. */
static bool parse_event(const char *at, const char *end, struct header *header)
{
	const char *word = skip_blanks(at, end), *stop = skip_word(word, end);
	uint64_t period;

	if (parse_number(word, stop, 10, &period) == stop && stop > word) {
		header->has_period = true;
		header->period = period;
		word = skip_blanks(stop, end);
		stop = skip_word(word, end);
	}
	header->after = (struct piece){stop, end};
	header->event = (struct piece){word, stop > word ? stop - 1 : word};
	return stop == word || stop[-1] == ':';
}

/*
 * Parse the first line of a sample. The time is the first word that looks like a time and follows a
 * thread number, or a thread number and a CPU number. The words before these are the thread's name.
 */
static bool parse_header(const char *line, const char *end, struct header *header)
{
	struct piece before, last;

	line = skip_blanks(line, end);
	before = last = (struct piece){line, line};
	*header = (struct header){.period = 1};
	if (line == end || *line == '#')
		return false;
	for (const char *at = line; at < end;) {
		struct piece word = {skip_blanks(at, end), NULL};
		struct piece thread = last.at < last.end && *last.at == '[' ? before : last;

		word.end = at = skip_word(word.at, end);
		if (thread.at > line && parse_time(word, &header->time_ns) &&
			parse_thread(thread, header)) {
			header->comm = (struct piece){line, trim(line, thread.at)};
			return parse_event(at, end, header);
		}
		before = last;
		last = word;
	}
	return false;
}

/* Returns the last occurrence of @text in @piece, or NULL. */
static const char *find_last(struct piece piece, const char *text)
{
	size_t bytes = strlen(text), room = (size_t)(piece.end - piece.at);

	for (size_t at = room < bytes ? 0 : room - bytes + 1; at-- > 0;)
		if (!memcmp(piece.at + at, text, bytes))
			return piece.at + at;
	return NULL;
}

/*
 * Returns the blank before the bracket that a bracket at the end of @piece would close, or NULL.
 * The text between them may contain pairs of brackets.
 */
static const char *find_open(struct piece piece)
{
	int depth = 1;

	for (const char *at = piece.end; depth && at-- > piece.at + 1;) {
		depth += (*at == ')') - (*at == '(');
		if (!depth && is_blank(at[-1]))
			return at - 1;
	}
	return NULL;
}

static bool is_text(struct piece piece, const char *text)
{
	return (size_t)(piece.end - piece.at) == strlen(text) &&
	       !memcmp(piece.at, text, strlen(text));
}

/* Parse "  7f00 name+0x12 (file)", "  7f00 name (inlined)", "  7f00 [unknown] ([unknown])". */
static bool parse_frame(const char *line, const char *end, struct frame *frame)
{
	static const char deleted[] = " (deleted)";
	const char *at = skip_blanks(line, end), *behind, *open, *plus;
	uint64_t address, offset;

	end = trim(at, end);
	behind = parse_number(at, end, 16, &address);
	if (at == line || behind == at || behind == end || !is_blank(*behind) || end[-1] != ')')
		return false;
	frame->name.at = skip_blanks(behind, end);
	frame->file = (struct piece){frame->name.at, end - 1};
	if (frame->file.end - frame->file.at > (ptrdiff_t)strlen(deleted) &&
		!memcmp(frame->file.end - strlen(deleted), deleted, strlen(deleted)))
		frame->file.end -= strlen(deleted);
	/*
	 * The file may be "/a/Program Files (x86)/b.exe", or have a single bracket. The name may be
	 * empty, so search from the blank before it.
	 */
	open = find_open((struct piece){frame->name.at - 1, frame->file.end});
	if (!open)
		open = find_last((struct piece){frame->name.at - 1, frame->file.end}, " (");
	if (!open)
		return false;
	frame->file.at = open + 2;
	frame->name.end = open < frame->name.at ? frame->name.at : open;
	plus = find_last(frame->name, "+0x");
	if (plus && plus > frame->name.at &&
		parse_number(plus + 3, frame->name.end, 16, &offset) == frame->name.end)
		frame->name.end = plus;
	frame->is_inlined = is_text(frame->file, "inlined");
	frame->is_kernel = address >= KERNEL_ADDRESS;
	return true;
}

bool perf_script_is(const char *text, size_t bytes)
{
	const char *end = text + bytes;
	struct header header;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			stop = end;
		if (*text != '#' && trim(text, stop) > text)
			return parse_header(text, stop, &header);
		text = stop + 1;
	}
	return false;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Copy @piece with a NUL, cut to @room. */
static void copy_piece(struct piece piece, char *out, size_t room)
{
	size_t bytes = (size_t)(piece.end - piece.at);

	if (bytes >= room)
		bytes = room - 1;
	memcpy(out, piece.at, bytes);
	out[bytes] = '\0';
}

/* The module of a function. */
struct module {
	char path[PERF_NAME_BYTES];
	/* points to the file name in @path, without folders; "": none */
	const char *name;
	bool is_generated;
};

static void find_module(struct piece file, struct module *module)
{
	size_t bytes;

	copy_piece(file, module->path, sizeof(module->path));
	module->name = base_name(module->path);
	bytes = strlen(module->name);
	module->is_generated = !strncmp(module->name, "perf-", 5) && bytes > 9 &&
			       !strcmp(module->name + bytes - 4, ".map");
	if (module->is_generated || !strcmp(module->name, "[unknown]") ||
		!strcmp(module->name, "anon"))
		module->name = "";
}

/* Inlined functions have no module in the text: @module is that of the function around them. */
static uint32_t add_frame(
	struct calltree *tree, const struct frame *frame, const struct module *module)
{
	bool is_known = frame->name.end > frame->name.at && !is_text(frame->name, "[unknown]");
	char name[PERF_NAME_BYTES] = "[unknown code]";
	enum calltree_frame_kind kind = !is_known	     ? CALLTREE_UNNAMED
					: frame->is_inlined  ? CALLTREE_INLINE
					: frame->is_kernel   ? CALLTREE_KERNEL
					: module->is_generated ? CALLTREE_JIT
							     : CALLTREE_NATIVE;

	if (is_known)
		copy_piece(frame->name, name, sizeof(name));
	return calltree_frame(
		tree, name, frame->is_kernel ? KERNEL_MODULE : module->name, kind);
}

/* Add the frames of a stack, from its last line on: perf prints the innermost frame first. */
static uint32_t add_stack(struct perf_reader *reader, struct calltree *tree)
{
	struct module module;
	uint32_t node = CALLTREE_ROOT;
	size_t end = reader->stack_bytes;

	module.name = "";
	module.is_generated = false;
	while (end) {
		const char *before = memrchr(reader->stack, '\0', end - 1);
		size_t begin = before ? (size_t)(before + 1 - reader->stack) : 0;
		struct frame frame;

		if (parse_frame(reader->stack + begin, reader->stack + end - 1, &frame)) {
			if (!frame.is_inlined)
				find_module(frame.file, &module);
			node = calltree_child(tree, node, add_frame(tree, &frame, &module));
		}
		end = begin;
	}
	if (node == CALLTREE_ROOT)
		node = calltree_child(tree, node,
			calltree_frame(tree, "[unknown code]", "", CALLTREE_UNNAMED));
	return node;
}

/* Add the sample read so far. */
static void end_sample(struct perf_reader *reader)
{
	struct event *event = reader->event;
	struct calltree_sample sample = {.time_ns = reader->time_ns, .thread = reader->thread};

	if (!event)
		return;
	sample.node = add_stack(reader, event->tree);
	calltree_add(event->tree, sample.node, reader->period);
	event->samples++;
	if (__builtin_add_overflow(event->weight, reader->period, &event->weight))
		event->weight = UINT64_MAX;
	calltree_sample_weight(event->tree, &sample, reader->period);
	reader->event = NULL;
}

static int add_stack_line(struct perf_reader *reader, const char *line, size_t bytes)
{
	if (reader->depth == PERF_DEPTH_MAX)
		return 0;
	if (reader->stack_bytes + bytes + 1 > reader->stack_room) {
		size_t room = 2 * (reader->stack_bytes + bytes + 1);
		char *grown = realloc(reader->stack, room);

		if (!grown)
			return -ENOMEM;
		reader->stack = grown;
		reader->stack_room = room;
	}
	memcpy(reader->stack + reader->stack_bytes, line, bytes);
	reader->stack_bytes += bytes;
	reader->stack[reader->stack_bytes++] = '\0';
	reader->depth++;
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Copy the name without modifiers: "cycles" of "cycles:ppp", but all of "sched:sched_switch". */
static void event_name(struct piece event, char out[EVENT_BYTES])
{
	const char *colon = find_last(event, ":");

	if (colon && colon + 1 + strspn(colon + 1, "ukhHGpPSDIWe") >= event.end)
		event.end = colon;
	copy_piece(event, out, EVENT_BYTES);
	if (!*out)
		strcpy(out, "samples");
}

/* Find or add the event called @piece. Returns 0 with *@event (NULL if unwanted), or -errno. */
static int find_event(struct perf_reader *reader, struct piece piece, struct event **event)
{
	char name[EVENT_BYTES];
	struct event *next = &reader->events[reader->event_count];

	event_name(piece, name);
	*event = NULL;
	for (unsigned i = 0; i < reader->event_count; i++)
		if (!strcmp(reader->events[i].name, name))
			*event = &reader->events[i];
	if (!*event) {
		if (reader->event_count == PERF_EVENTS_MAX)
			return -E2BIG;
		next->tree = calltree_new();
		if (!next->tree)
			return -ENOMEM;
		strcpy(next->name, name);
		reader->event_count++;
		*event = next;
	}
	if (reader->wanted && strcmp(name, reader->wanted))
		*event = NULL;
	return 0;
}

static int find_thread(struct perf_reader *reader, const struct header *header)
{
	char name[128], process[128];
	int bytes = (int)(header->comm.end - header->comm.at);
	int error;

	if (bytes > 64)
		bytes = 64;
	snprintf(name, sizeof(name), "%.*s (%" PRIu64 "/%" PRIu64 ")", bytes, header->comm.at,
		header->pid, header->tid);
	snprintf(process, sizeof(process), "%.*s (%" PRIu64 ")", bytes, header->comm.at,
		header->pid);
	error = texts_add(&reader->threads, name, "", 0, &reader->thread);
	if (!error && !calltree_thread_at(reader->event->tree, reader->thread))
		calltree_thread(reader->event->tree, reader->thread, name, process);
	return error;
}

static int begin_sample(struct perf_reader *reader, const struct header *header)
{
	int error = find_event(reader, header->event, &reader->event);

	reader->stack_bytes = 0;
	reader->depth = 0;
	if (!reader->has_times || header->time_ns < reader->first_ns)
		reader->first_ns = header->time_ns;
	if (!reader->has_times || header->time_ns > reader->last_ns)
		reader->last_ns = header->time_ns;
	reader->has_times = true;
	if (error || !reader->event)
		return error;
	reader->has_periods |= header->has_period;
	reader->period = header->period;
	/* The first sample is the earliest, because perf prints samples sorted by time. */
	reader->time_ns = header->time_ns - reader->first_ns;
	error = find_thread(reader, header);
	if (!error && header->after.end > header->after.at)
		error = add_stack_line(
			reader, header->after.at, (size_t)(header->after.end - header->after.at));
	return error;
}

static int read_line(struct perf_reader *reader, const char *line, size_t bytes)
{
	const char *end = trim(line, line + bytes);
	struct header header;
	struct frame frame;

	reader->number++;
	if (end == line) {
		end_sample(reader);
		return 0;
	}
	if (*line == '#')
		return 0;
	/* Try a header first: if perf recorded no stacks, it begins with blanks, like a frame. */
	if (parse_header(line, end, &header)) {
		end_sample(reader);
		return begin_sample(reader, &header);
	}
	if (is_blank(*line) && parse_frame(line, end, &frame))
		return reader->event ? add_stack_line(reader, line, (size_t)(end - line)) : 0;
	if (!reader->bad++)
		reader->first_bad = reader->number;
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_time(const char *event)
{
	return !strcmp(event, "cpu-clock") || !strcmp(event, "task-clock");
}

static void find_facts(const struct perf_reader *reader, const struct event *event,
	struct input_facts *facts)
{
	size_t room = sizeof(facts->subtitle);
	size_t at = (size_t)snprintf(facts->subtitle, room, "%" PRIu64 " samples of %s",
		event->samples, event->name);

	facts->duration_ns = reader->last_ns - reader->first_ns;
	snprintf(facts->count_name, sizeof(facts->count_name), "%s",
		reader->has_periods ? event->name : "samples");
	if (is_time(event->name) && reader->has_periods) {
		facts->period_ns = 1;
		snprintf(facts->count_name, sizeof(facts->count_name), "nanoseconds");
		snprintf(facts->type_name, sizeof(facts->type_name), "cpu");
		at += (size_t)snprintf(facts->subtitle + at, room - at, ", %.2f s",
			(double)event->weight / 1e9);
	}
	snprintf(facts->subtitle + at, room - at, " in %.2f s", (double)facts->duration_ns / 1e9);
}

/* Returns the event with most samples (the first of equal ones), or NULL if there is none. */
static struct event *choose_event(struct perf_reader *reader)
{
	struct event *most = NULL;

	for (unsigned i = 0; i < reader->event_count; i++)
		if (!most || reader->events[i].samples > most->samples)
			most = &reader->events[i];
	return most;
}

static void list_events(const struct perf_reader *reader, const struct event *but, char out[512])
{
	size_t at = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < reader->event_count && at < 512; i++)
		if (&reader->events[i] != but)
			at += (size_t)snprintf(out + at, 512 - at, "%s%s", at ? ", " : "",
				reader->events[i].name);
}

static int choose(struct perf_reader *reader, struct calltree **tree, struct input_facts *facts)
{
	struct event *chosen = choose_event(reader);
	struct calltree *empty = *tree;
	char names[512];

	if (reader->wanted && (!chosen || !chosen->samples)) {
		list_events(reader, NULL, names);
		diag_fail(reader->message, -EINVAL, "'%s' has no sample type '%s'", reader->name,
			reader->wanted);
		diag_fail_hint(reader->message, "it has %s", names);
		return -EINVAL;
	}
	if (reader->bad)
		diag_info("'%s': %" PRIu64 " line%s not perf script's and left out, the first is "
			  "line %" PRIu64, reader->name, reader->bad,
			reader->bad == 1 ? " is" : "s are", reader->first_bad);
	if (!chosen)
		return 0;
	list_events(reader, chosen, names);
	if (names[0] && !reader->wanted)
		diag_info("'%s' has other events as well, --sample-type draws one: %s",
			reader->name, names);
	find_facts(reader, chosen, facts);
	*tree = chosen->tree;
	chosen->tree = empty;
	return 0;
}

static int fail_read(const struct perf_reader *reader, int error)
{
	if (error == -E2BIG && reader->event_count == PERF_EVENTS_MAX)
		return diag_fail(reader->message, error, "cannot read '%s': more than %u events",
			reader->name, PERF_EVENTS_MAX);
	return diag_fail(reader->message, error, "cannot read '%s': %s", reader->name,
		strerror(-error));
}

int perf_script_read(struct calltree **tree, struct lines *lines, const char *name,
	const char *event, struct input_facts *facts, struct diag_message *message)
{
	struct perf_reader reader = {.name = name, .wanted = event, .message = message};
	size_t bytes;
	char *line;
	int error = 0, more = 1;

	while (!error && (more = lines_next(lines, &line, &bytes)) > 0)
		error = read_line(&reader, line, bytes);
	if (!error)
		error = more;
	end_sample(&reader);
	error = error ? fail_read(&reader, error) : choose(&reader, tree, facts);
	for (unsigned i = 0; i < reader.event_count; i++)
		calltree_free(reader.events[i].tree);
	texts_release(&reader.threads);
	free(reader.stack);
	return error;
}
