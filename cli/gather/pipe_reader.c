/* SPDX-License-Identifier: MIT */
/* is_valid_record() checks each record, then one function per type copies it into the profile. */
#include "cli/gather/pipe_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/gather/channel.h"
#include "cli/symbols/held_files.h"
#include "cli/symbols/jitdump.h"
#include "cli/symbols/symbols.h"
#include "libprof/wire_drain.h"
#include "render/array.h"

#define NS_PER_S   1000000000ULL
#define READ_BYTES (1u << 16)
/* Size of a pipe in bytes: the largest that an unprivileged process may request. */
#define PIPE_BYTES (1 << 20)

/* Bytes that were read from one pipe. A read(2) may end in the middle of a record. */
struct stream {
	int pipe_read, pipe_write;
	/* A record had a wrong length, so the start of the next record is unknown. */
	bool is_damaged;
	size_t count;
	/* One incomplete record, and room for the next read. */
	char bytes[RECORD_BYTES_MAX + READ_BYTES];
};

struct pipe_reader {
	struct flameprof_profile *profile;
	struct held_files *held;
	int poll; /* epoll(7) descriptor of both pipes */
	struct pipe_reader_state state;
	struct stream streams[RECORD_SOURCES];
};

static int open_pipe(struct pipe_reader *pipe_reader, struct stream *stream)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	stream->pipe_read = channel_above_stdio(ends[0]);
	stream->pipe_write = channel_above_stdio(ends[1]);
	if (stream->pipe_read < 0 || stream->pipe_write < 0)
		return -EMFILE;
	fcntl(stream->pipe_read, F_SETPIPE_SZ, PIPE_BYTES);
	return epoll_ctl(pipe_reader->poll, EPOLL_CTL_ADD, stream->pipe_read, &event) ? -errno : 0;
}

static int open_pipes(struct pipe_reader *pipe_reader)
{
	int error = 0;

	pipe_reader->poll = channel_above_stdio(epoll_create1(EPOLL_CLOEXEC));
	if (pipe_reader->poll < 0)
		return -errno;
	for (int i = 0; !error && i < RECORD_SOURCES; i++)
		error = open_pipe(pipe_reader, &pipe_reader->streams[i]);
	return error;
}

int pipe_reader_open(struct pipe_reader **out, uint32_t rate_hz)
{
	struct pipe_reader *pipe_reader = calloc(1, sizeof(*pipe_reader));
	int error = -ENOMEM;

	if (!pipe_reader)
		return -ENOMEM;
	pipe_reader->poll = -1;
	for (int i = 0; i < RECORD_SOURCES; i++)
		pipe_reader->streams[i].pipe_read = pipe_reader->streams[i].pipe_write = -1;
	pipe_reader->profile =
		profile_new(&(struct profile_config){.period_ns = NS_PER_S / rate_hz});
	pipe_reader->held = held_files_new();
	if (pipe_reader->profile)
		error = open_pipes(pipe_reader);
	if (error)
		pipe_reader_free(pipe_reader);
	else
		*out = pipe_reader;
	return error;
}

void pipe_reader_free(struct pipe_reader *pipe_reader)
{
	if (!pipe_reader)
		return;
	for (int i = 0; i < RECORD_SOURCES; i++) {
		if (pipe_reader->streams[i].pipe_read >= 0)
			close(pipe_reader->streams[i].pipe_read);
		if (pipe_reader->streams[i].pipe_write >= 0)
			close(pipe_reader->streams[i].pipe_write);
	}
	if (pipe_reader->poll >= 0)
		close(pipe_reader->poll);
	profile_free(pipe_reader->profile);
	held_files_free(pipe_reader->held);
	free(pipe_reader->state.lives);
	free(pipe_reader);
}

int pipe_reader_writer(const struct pipe_reader *pipe_reader, enum record_source source)
{
	return pipe_reader->streams[source].pipe_write;
}

int pipe_reader_descriptor(const struct pipe_reader *pipe_reader)
{
	return pipe_reader->poll;
}

const struct pipe_reader_state *pipe_reader_state(const struct pipe_reader *pipe_reader)
{
	return &pipe_reader->state;
}

const struct held_files *pipe_reader_held(const struct pipe_reader *pipe_reader)
{
	return pipe_reader->held;
}

struct flameprof_profile *pipe_reader_profile(const struct pipe_reader *pipe_reader)
{
	return pipe_reader->profile;
}

void pipe_reader_wait(const struct pipe_reader *pipe_reader, int timeout_ms)
{
	struct pollfd pipes = {.fd = pipe_reader->poll, .events = POLLIN};

	poll(&pipes, 1, timeout_ms);
}

static struct wire_counters *counts_of(struct pipe_reader *pipe_reader)
{
	return &profile_totals(pipe_reader->profile)->counts;
}

/* ---- records --------------------------------------------------------------------------------- */

static struct profile_image *image_of(struct pipe_reader *pipe_reader, uint64_t id, uint32_t *index)
{
	uint32_t at = profile_image(pipe_reader->profile, id);

	if (profile_error(pipe_reader->profile))
		return NULL;
	if (index)
		*index = at;
	return profile_image_at(pipe_reader->profile, at);
}

/* Copy the path of the program from the parent to a forked child, which runs the same program. */
static void inherit_name(struct pipe_reader *pipe_reader, const struct record_image *record)
{
	char exe[WIRE_EXE_BYTES];
	const struct profile_image *parent = image_of(pipe_reader, record->parent, NULL);
	struct profile_image *image;

	if (!parent)
		return;
	memcpy(exe, parent->exe, sizeof(exe));
	image = image_of(pipe_reader, record->id, NULL);
	if (image)
		memcpy(image->exe, exe, sizeof(exe));
}

static void read_image_record(struct pipe_reader *pipe_reader, struct record_image *record)
{
	struct profile_image *image = image_of(pipe_reader, record->id, NULL);

	if (!image)
		return;
	record->exe[sizeof(record->exe) - 1] = '\0';
	record->comm[sizeof(record->comm) - 1] = '\0';
	image->parent = record->parent;
	image->pid = record->pid;
	image->ppid = record->ppid;
	image->start_ns = record->start_ns;
	image->from_outside = record->id >= RECORD_TRACER_IMAGES;
	memcpy(image->exe, record->exe, sizeof(image->exe));
	memcpy(image->comm, record->comm, sizeof(image->comm));
	if (!image->exe[0] && record->parent)
		inherit_name(pipe_reader, record);
	pipe_reader->state.live++;
	pipe_reader->state.images_seen++;
}

/* Open the module's file now, while most processes run and /proc leads to it. Naming needs it. */
static void hold_file(
	struct pipe_reader *pipe_reader, uint32_t image, const struct record_module *record)
{
	const struct profile_image *process = profile_image_at(pipe_reader->profile, image);
	uint64_t seen_ns = record->flags & WIRE_MODULE_MAIN ? process->start_ns : record->time_ns;

	if (!pipe_reader->held || record->path[0] != '/')
		return;
	if (record->flags & WIRE_MODULE_MAPPED && jitdump_is_named(record->path)) {
		held_files_add_dump(pipe_reader->held, image, record->path);
		return;
	}
	held_files_add(pipe_reader->held, image,
		&(struct symbols_module){
			.path = record->path,
			.build_id = record->build_id_bytes ? record->build_id : NULL,
			.build_id_bytes = record->build_id_bytes,
			.pid = process->ended ? 0 : process->pid,
			.start = record->start,
			.seen_ns = (int64_t)seen_ns + clock_epoch_ns(),
			.is_vdso = (record->flags & WIRE_MODULE_VDSO) != 0,
		});
}

static void read_module_record(struct pipe_reader *pipe_reader, const struct record_module *record)
{
	struct names_module module = {
		.number = record->number,
		.build_id_bytes = record->build_id_bytes,
		.flags = record->flags,
		.start = record->start,
		.end = record->end,
		.time_ns = record->time_ns,
		.segments = 1,
		.segment = {{record->start, record->end, record->file_offset}},
	};
	uint32_t image;

	if (record->build_id_bytes > WIRE_BUILD_ID_MAX ||
		!image_of(pipe_reader, record->image, &image))
		return;
	memcpy(module.build_id, record->build_id, sizeof(module.build_id));
	profile_add_module(pipe_reader->profile, image, &module, record->path);
	hold_file(pipe_reader, image, record);
}

/* If a limit of the profile refused a record, count it as if its control ring had been full. */
static void count_control_loss(struct pipe_reader *pipe_reader, int error)
{
	if (error)
		counts_of(pipe_reader)->control_dropped++;
}

static void read_code_record(struct pipe_reader *pipe_reader, const struct record_code *record)
{
	const struct names_code code = {
		.space = record->space,
		.bytes = record->bytes,
		.start = record->start,
		.flags = record->flags,
	};
	uint32_t image;

	if (image_of(pipe_reader, record->image, &image))
		count_control_loss(pipe_reader,
			profile_add_code(pipe_reader->profile, image, &code, record->name, ""));
}

static void read_function_record(
	struct pipe_reader *pipe_reader, const struct record_function *record)
{
	const struct names_code code = {.space = record->space,
		.bytes = wire_function_bytes(record->flags),
		.line = record->line,
		.flags = record->flags};
	const char *file = record->name + strlen(record->name) + 1;
	uint32_t image;

	if (file < (const char *)record + record->record.bytes &&
		image_of(pipe_reader, record->image, &image))
		count_control_loss(pipe_reader,
			profile_add_code(pipe_reader->profile, image, &code, record->name, file));
}

static void read_mark_record(struct pipe_reader *pipe_reader, const struct record_mark *record)
{
	count_control_loss(pipe_reader,
		profile_add_mark(pipe_reader->profile, record->time_ns, record->tid, record->name));
}

static void read_thread_record(struct pipe_reader *pipe_reader, const struct record_thread *record)
{
	uint32_t image;

	if (image_of(pipe_reader, record->image, &image))
		profile_name_thread(
			pipe_reader->profile, image, record->number, record->tid, record->comm);
}

/* Convert @record back to the struct wire_sample that the collector read from the ring. */
static struct wire_sample sample_of(const struct record_sample *record)
{
	const uint32_t beyond_head = sizeof(*record) - sizeof(struct wire_sample);

	return (struct wire_sample){
		.bytes = record->record.bytes - beyond_head,
		.thread = record->thread,
		.time_ns = record->time_ns,
		.weight = record->weight,
		.frames = record->frames > UINT16_MAX ? UINT16_MAX : (uint16_t)record->frames,
		.kind = record->kind,
		.end = record->end,
	};
}

static void read_sample_record(struct pipe_reader *pipe_reader, const struct record_sample *record)
{
	static const uint64_t unsampled[] = {WIRE_FRAME_UNSAMPLED};
	struct wire_sample sample = sample_of(record);
	const uint64_t *frames = record->frame;
	const struct profile_image *image;
	uint32_t index, pid;

	image = image_of(pipe_reader, record->image, &index);
	if (!image)
		return;
	pid = image->pid;
	/*
	 * Without a thread, record the sample for the main thread, with the one frame [unsampled].
	 */
	if (!record->thread) {
		sample.thread = image->pid;
		sample.frames = 1;
		frames = unsampled;
	}
	profile_add(pipe_reader->profile, index, &sample, frames);
	for (uint32_t i = 0; pipe_reader->held && i < sample.frames; i++) {
		if (WIRE_FRAME_MODULE(frames[i]) != WIRE_MODULE_NONE)
			continue;
		held_files_open(pipe_reader->held, index, pid);
		break;
	}
}

static void read_image_end_record(
	struct pipe_reader *pipe_reader, const struct record_image_end *record)
{
	struct profile_totals *totals = profile_totals(pipe_reader->profile);
	struct profile_image *image = image_of(pipe_reader, record->image, NULL);

	if (!image)
		return;
	image->start_cpu_ns = record->start_cpu_ns;
	image->end_cpu_ns = record->cpu_ns;
	image->threads_ns = record->threads_ns;
	image->children_ns = record->children_ns;
	image->children_kib = record->children_kib;
	image->after_leave = record->after_leave;
	image->unrecorded = record->counts.dropped + record->counts.torn + record->counts.paused;
	image->live_threads = record->live_threads;
	image->end_is_reported = record->end_is_reported != 0;
	image->left_paused = record->left_paused != 0;
	image->went_on = record->quit != 0;
	image->ended = record->has_ended != 0;
	image->still_runs = record->still_runs != 0;
	image->left_by_exec = record->left_by_exec != 0;
	image->unsampled = record->unsampled != RECORD_SAMPLED;
	image->is_refused = record->unsampled == RECORD_REFUSED;
	image->signal = record->signal;
	image->is_displaced = record->is_displaced != 0;
	image->short_threads = record->short_threads;
	memcpy(image->unsampled_ns, record->unsampled_ns, sizeof(image->unsampled_ns));
	wire_counters_add(&totals->counts, &record->counts);
	totals->unknown_runtimes |= record->unknown_runtimes;
	if (record->timer_error) {
		totals->timer_error = record->timer_error;
		totals->signals_max = record->signals_max;
	}
	if (record->quit && record->quit < WIRE_QUIT_CAUSES)
		totals->counts.quit[record->quit]++;
	if (pipe_reader->state.live)
		pipe_reader->state.live--;
}

static void read_totals_record(struct pipe_reader *pipe_reader, const struct record_totals *record)
{
	struct profile_totals *totals = profile_totals(pipe_reader->profile);

	wire_counters_add(&totals->counts, &record->counts);
	totals->unknown_runtimes |= record->unknown_runtimes;
}

static void read_refusal_record(
	struct pipe_reader *pipe_reader, const struct record_refusal *record)
{
	for (int i = 0; i < PIPE_READER_REFUSALS; i++) {
		struct pipe_reader_refusal *refusal = &pipe_reader->state.refusals[i];

		if (refusal->programs)
			continue;
		refusal->programs = record->programs;
		refusal->by_stops = record->by_stops;
		snprintf(refusal->text, sizeof(refusal->text), "%s", record->text);
		return;
	}
}

static void read_life_record(struct pipe_reader *pipe_reader, const struct record_life *record)
{
	struct pipe_reader_state *state = &pipe_reader->state;

	if (state->life_count >= PIPE_READER_LIVES_MAX ||
		ARRAY_GROW(state->lives, state->life_count, state->life_room, 64))
		return;
	state->lives[state->life_count] = *record;
	state->lives[state->life_count++].comm[sizeof(record->comm) - 1] = '\0';
}

/* Returns the least size of a record of @type, or 0 if unknown. *@text is set if a text follows. */
static size_t min_record_bytes(uint32_t type, int *text)
{
	*text = type == RECORD_MODULE || type == RECORD_CODE || type == RECORD_FUNCTION ||
		type == RECORD_MARK || type == RECORD_REFUSAL;
	switch (type) {
	case RECORD_IMAGE:
		return sizeof(struct record_image);
	case RECORD_MODULE:
		return offsetof(struct record_module, path);
	case RECORD_CODE:
		return offsetof(struct record_code, name);
	case RECORD_FUNCTION:
		return offsetof(struct record_function, name);
	case RECORD_MARK:
		return offsetof(struct record_mark, name);
	case RECORD_THREAD:
		return sizeof(struct record_thread);
	case RECORD_SAMPLE:
		return sizeof(struct record_sample);
	case RECORD_IMAGE_END:
		return sizeof(struct record_image_end);
	case RECORD_TOTALS:
		return sizeof(struct record_totals);
	case RECORD_REFUSAL:
		return offsetof(struct record_refusal, text);
	case RECORD_LIFE:
		return sizeof(struct record_life);
	case RECORD_WAITS:
		return sizeof(struct record_waits);
	case RECORD_ROUND:
		return sizeof(struct record_round);
	case RECORD_END:
		return sizeof(struct record);
	default:
		return 0;
	}
}

/* Is @record of a known type, long enough, with terminated text and all of its frames? */
static int is_valid_record(const struct record *record)
{
	struct wire_sample sample;
	int has_text;
	size_t least = min_record_bytes(record->type, &has_text);

	if (!least || record->bytes < least)
		return 0;
	if (has_text)
		return record->bytes > least && !((const char *)record)[record->bytes - 1];
	if (record->type != RECORD_SAMPLE)
		return 1;
	sample = sample_of((const struct record_sample *)record);
	return wire_sample_is_whole(&sample, sample.bytes);
}

static void read_record(
	struct pipe_reader *pipe_reader, enum record_source source, struct record *record)
{
	if (!is_valid_record(record)) {
		counts_of(pipe_reader)->malformed++;
		return;
	}
	/* Without memory, still read RECORD_ROUND and RECORD_END: flamerun waits for these. */
	if (profile_error(pipe_reader->profile) && record->type < RECORD_ROUND)
		return;
	switch (record->type) {
	case RECORD_IMAGE:
		return read_image_record(pipe_reader, (struct record_image *)record);
	case RECORD_MODULE:
		return read_module_record(pipe_reader, (const struct record_module *)record);
	case RECORD_CODE:
		return read_code_record(pipe_reader, (const struct record_code *)record);
	case RECORD_FUNCTION:
		return read_function_record(pipe_reader, (const struct record_function *)record);
	case RECORD_MARK:
		return read_mark_record(pipe_reader, (const struct record_mark *)record);
	case RECORD_THREAD:
		return read_thread_record(pipe_reader, (const struct record_thread *)record);
	case RECORD_SAMPLE:
		return read_sample_record(pipe_reader, (const struct record_sample *)record);
	case RECORD_IMAGE_END:
		return read_image_end_record(pipe_reader, (const struct record_image_end *)record);
	case RECORD_TOTALS:
		return read_totals_record(pipe_reader, (const struct record_totals *)record);
	case RECORD_REFUSAL:
		return read_refusal_record(pipe_reader, (const struct record_refusal *)record);
	case RECORD_LIFE:
		return read_life_record(pipe_reader, (const struct record_life *)record);
	case RECORD_WAITS:
		pipe_reader->state.waits[source] = *(const struct record_waits *)record;
		pipe_reader->state.waits[source]
			.refusal[sizeof(((struct record_waits *)0)->refusal) - 1] = '\0';
		break;
	case RECORD_ROUND:
		pipe_reader->state.round = ((const struct record_round *)record)->number;
		break;
	case RECORD_END:
		pipe_reader->state.has_ended[source] = true;
		break;
	}
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Stop reading records of @source, because it is not known where the next record starts. */
static void end_damaged(struct pipe_reader *pipe_reader, enum record_source source)
{
	counts_of(pipe_reader)->damaged_streams++;
	pipe_reader->streams[source].is_damaged = true;
	if (source == RECORD_COLLECTOR)
		pipe_reader->state.round = UINT64_MAX;
}

/* Read the complete records of a stream, and move the remaining bytes to its front. */
static void read_records(struct pipe_reader *pipe_reader, enum record_source source)
{
	struct stream *stream = &pipe_reader->streams[source];
	size_t at = 0;

	while (!stream->is_damaged && stream->count - at >= sizeof(struct record)) {
		struct record *record = (struct record *)(stream->bytes + at);

		if (record->bytes < sizeof(*record) || record->bytes % 8 ||
			record->bytes > RECORD_BYTES_MAX) {
			end_damaged(pipe_reader, source);
			break;
		}
		if (record->bytes > stream->count - at)
			break;
		read_record(pipe_reader, source, record);
		at += record->bytes;
	}
	/* Discard a damaged stream's bytes, because its writer waits until they are read. */
	if (stream->is_damaged)
		at = stream->count;
	memmove(stream->bytes, stream->bytes + at, stream->count - at);
	stream->count -= at;
}

static void read_stream(struct pipe_reader *pipe_reader, enum record_source source)
{
	struct stream *stream = &pipe_reader->streams[source];

	for (;;) {
		/* READ_BYTES fit, because the bytes left from before are less than one record. */
		ssize_t got = read(stream->pipe_read, stream->bytes + stream->count, READ_BYTES);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		stream->count += (size_t)got;
		read_records(pipe_reader, source);
	}
}

int pipe_reader_read(struct pipe_reader *pipe_reader)
{
	for (enum record_source source = 0; source < RECORD_SOURCES; source++)
		read_stream(pipe_reader, source);
	return profile_error(pipe_reader->profile);
}
