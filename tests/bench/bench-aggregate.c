/* SPDX-License-Identifier: MIT */
/*
 * Measure the cost of a sample from its ring to the profile, on one core, compared with a hash
 * table of whole stacks as gperftools has it. Also measure the memory of ten million distinct
 * nodes. The stacks are recorded from a compiler. Prints medians and ratios; asserts nothing.
 *
 *	build/bench/bench-aggregate [build/libflameprof.so.1]
 */
#include <limits.h>
#include <time.h>

#include "libprof/aggregator/store.h"
#include "libprof/profile/profile.h"
#include "libprof/profile/lookup.h"
#include "libprof/sampler/ring.h"
#include "tests/bench/recording.h"

#define ROUNDS	 9
/* times that a round replays the recording without new stacks */
#define REPLAYS	 5
#define IMAGE	 7ULL
#define RING	 0
#define GIB	 (1ULL << 30)
#define CEILING	 (256u << 20)
#define MILLIONS 10

enum method { STORE_COLD, STORE_STEADY, PEER_COLD, PEER_STEADY, METHODS };

static double ns[METHODS][ROUNDS];
static void *arena;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(enum method method)
{
	qsort(ns[method], ROUNDS, sizeof(double), by_value);
	return ns[method][ROUNDS / 2];
}

/* ---- compared with: a hash table of whole stacks ------------------------------------- */

struct whole {
	struct whole *next;
	uint64_t hash, weight, samples;
	uint32_t number, thread, frames;
	uint64_t frame[];
};

struct peer {
	struct whole **buckets;
	uint32_t bits, count;
	struct flameprof_sample *samples;
	size_t sample_count, sample_room, bytes;
};

static void peer_grow(struct peer *peer)
{
	uint32_t bits = peer->bits ? peer->bits + 1 : 10;
	struct whole **buckets = calloc(1u << bits, sizeof(*buckets));

	for (uint32_t i = 0; peer->bits && i < 1u << peer->bits; i++) {
		for (struct whole *w = peer->buckets[i], *next; w; w = next) {
			next = w->next;
			w->next = buckets[w->hash >> (64 - bits)];
			buckets[w->hash >> (64 - bits)] = w;
		}
	}
	free(peer->buckets);
	peer->buckets = buckets;
	peer->bits = bits;
}

static void peer_add(
	struct peer *peer, const struct wire_sample *sample, const uint64_t *frames)
{
	uint64_t hash = sample->thread;
	struct whole *w;

	for (uint32_t i = 0; i < sample->frames; i++)
		hash = (hash ^ frames[i]) * 0x9e3779b97f4a7c15ULL;
	if (peer->count >= 1u << peer->bits >> 1 || !peer->bits)
		peer_grow(peer);
	for (w = peer->buckets[hash >> (64 - peer->bits)]; w; w = w->next)
		if (w->hash == hash && w->thread == sample->thread && w->frames == sample->frames &&
			!memcmp(w->frame, frames, 8 * w->frames))
			break;
	if (!w) {
		w = malloc(sizeof(*w) + 8 * sample->frames);
		*w = (struct whole){.next = peer->buckets[hash >> (64 - peer->bits)],
			.hash = hash,
			.number = peer->count++,
			.thread = sample->thread,
			.frames = sample->frames};
		memcpy(w->frame, frames, 8 * w->frames);
		peer->buckets[hash >> (64 - peer->bits)] = w;
		peer->bytes += sizeof(*w) + 8 * w->frames + 16;
	}
	w->weight += sample->weight;
	w->samples++;
	if (peer->sample_count == peer->sample_room) {
		peer->sample_room = peer->sample_room ? 2 * peer->sample_room : 1024;
		peer->samples = realloc(peer->samples, peer->sample_room * sizeof(*peer->samples));
	}
	peer->samples[peer->sample_count++] =
		(struct flameprof_sample){sample->time_ns, w->number, sample->weight};
}

static void peer_free(struct peer *peer)
{
	for (uint32_t i = 0; peer->bits && i < 1u << peer->bits; i++)
		for (struct whole *w = peer->buckets[i], *next; w; w = next) {
			next = w->next;
			free(w);
		}
	free(peer->buckets);
	free(peer->samples);
	*peer = (struct peer){0};
}

/* ---- replaying ------------------------------------------------------------------------- */

/*
 * Write samples into the ring as the sampling handler does. Returns the index of the first sample
 * that did not fit.
 */
static size_t fill_ring(const struct recording *recording, size_t from)
{
	struct sampler_thread *thread = &sampler_threads[RING];
	uint32_t room;

	thread->ring = wire_ring(arena, RING);
	thread->image = IMAGE;
	for (; from < recording->count; from++) {
		const struct recorded *r = recording->samples[from];
		uint32_t bytes = (uint32_t)sizeof(struct wire_sample) + 8 * r->frames;
		struct wire_sample *sample = ring_begin(thread, bytes, &room);

		if (!sample)
			break;
		*sample = (struct wire_sample){.bytes = bytes, .thread = 1, .time_ns = r->time_ns,
			.weight = 1, .frames = (uint16_t)r->frames};
		memcpy(sample + 1, r->frame, 8 * r->frames);
		ring_commit(thread, bytes);
	}
	return from;
}

typedef void consume_fn(void *context, struct wire_drain *drain);

static void consume_store(void *profile, struct wire_drain *drain)
{
	struct store_result result = {0};

	store_drain(profile, drain, IMAGE, UINT64_MAX, &result);
	if (result.full_samples || result.damaged_samples)
		abort();
}

static void consume_peer(void *peer, struct wire_drain *drain)
{
	static uint64_t frames[WIRE_MAX_DEPTH];
	struct wire_drain_pass pass;
	struct wire_sample sample;

	if (!wire_drain_begin(drain, RING, &pass))
		abort();
	while (wire_drain_next(drain, &pass, &sample) == WIRE_DRAIN_RECORD) {
		wire_copy(frames, wire_drain_frames(drain, &pass), 8 * sample.frames);
		peer_add(peer, &sample, frames);
		wire_drain_skip(drain, &pass, sample.bytes);
	}
	wire_drain_end(drain, &pass);
}

/*
 * Pass the recording through the ring @passes times. The time of filling the ring is not measured.
 * Returns ns of all samples.
 */
static double replay(
	const struct recording *recording, unsigned passes, consume_fn *consume, void *context)
{
	static struct wire_drain drain;
	double spent_ns = 0;

	drain = (struct wire_drain){.arena = arena, .blocks = WIRE_BLOCKS_MIN};
	for (unsigned pass = 0; pass < passes; pass++) {
		for (size_t at = 0; at < recording->count;) {
			double before;

			at = fill_ring(recording, at);
			before = now_ns();
			consume(context, &drain);
			spent_ns += now_ns() - before;
		}
	}
	return spent_ns;
}

static struct flameprof_profile *new_profile(size_t limit_bytes)
{
	struct profile_config config = {.period_ns = 1, .limit_bytes = limit_bytes};

	return profile_new(&config);
}

static void measure(const struct recording *recording, unsigned round, size_t *bytes)
{
	double samples = (double)recording->count;
	struct flameprof_profile *profile = new_profile(4 * GIB);
	struct peer peer = {0};

	ns[STORE_COLD][round] = replay(recording, 1, consume_store, profile) / samples;
	ns[PEER_COLD][round] = replay(recording, 1, consume_peer, &peer) / samples;
	bytes[0] = store_bytes(profile);
	bytes[1] = peer.bytes + (sizeof(void *) << peer.bits) +
		peer.sample_room * sizeof(*peer.samples);
	ns[STORE_STEADY][round] =
		replay(recording, REPLAYS, consume_store, profile) / samples / REPLAYS;
	ns[PEER_STEADY][round] =
		replay(recording, REPLAYS, consume_peer, &peer) / samples / REPLAYS;
	flameprof_profile_free(profile);
	peer_free(&peer);
}

static void report(const struct recording *recording, const size_t *bytes)
{
	double samples = (double)recording->count;
	double steady = median(STORE_STEADY);

	printf("%zu samples of a compiler, %.1f frames each\n", recording->count,
		(double)recording->frames / samples);
	printf("                             store      whole stacks   ratio\n");
	printf("ns per sample, first pass    %-10.0f %-14.0f %.2f\n", median(STORE_COLD),
		median(PEER_COLD), median(PEER_COLD) / median(STORE_COLD));
	printf("ns per sample, later passes  %-10.0f %-14.0f %.2f\n", steady, median(PEER_STEADY),
		median(PEER_STEADY) / steady);
	printf("bytes per sample             %-10.0f %-14.0f %.2f\n", (double)bytes[0] / samples,
		(double)bytes[1] / samples, (double)bytes[1] / (double)bytes[0]);
	printf("ring to profile: %.2f million samples per second and core; at first sight %.2f\n",
		1e3 / steady, 1e3 / median(STORE_COLD));
}

/*
 * Add stacks of 60 frames, each with 20 new leaf frames, until the profile has @millions million
 * nodes.
 */
static void fill_up(unsigned millions)
{
	struct flameprof_profile *profile = new_profile(CEILING);
	const struct wire_sample sample = {.thread = 1, .weight = 1, .frames = 60};
	uint64_t frames[60], next = 1;
	size_t samples = 0;
	int is_full = 0;
	double start = now_ns();

	profile_begin_run(profile, IMAGE);
	while (next < millions * 1000000ULL && !is_full) {
		for (unsigned i = 0; i < 20; i++)
			frames[i] = next++ * 0x9e3779b97f4a7c15ULL >> 17;
		for (unsigned i = 20; i < 60; i++)
			frames[i] = i;
		is_full = profile_add(profile, 0, &sample, frames) != 0;
		samples += !is_full;
	}
	printf("%.2f million distinct nodes below %zu samples: %zu bytes now, %.1f per node; "
	       "ceiling %u; %.0f ns per sample%s\n",
		(double)(next - 1) / 1e6, samples, store_bytes(profile),
		(double)store_bytes(profile) / (double)next, CEILING,
		(now_ns() - start) / (double)samples, is_full ? "; FULL" : "");
	flameprof_profile_free(profile);
}

int main(int argc, char **argv)
{
	const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
	char library[PATH_MAX], absolute[PATH_MAX];
	struct recording recording = {0};
	size_t bytes[2];

	snprintf(library, sizeof(library), "%s/libflameprof.so.1", build);
	if (!realpath(argc > 1 ? argv[1] : library, absolute) ||
		recording_make(&recording, absolute)) {
		printf("no stacks: needs g++ and %s\n", library);
		return 0;
	}
	arena = calloc(1, wire_arena_bytes(WIRE_BLOCKS_MIN));
	sampler.arena = arena;
	sampler.blocks = WIRE_BLOCKS_MIN;
	sampler.ring_bytes = WIRE_BLOCK_BYTES; /* one batch at a time */
	wire_ring(arena, RING)->owner = IMAGE << 2 | WIRE_RING_OWNED;
	((struct wire_arena *)arena)->rings_high = RING + 1;
	for (unsigned round = 0; round < ROUNDS; round++)
		measure(&recording, round, bytes);
	report(&recording, bytes);
	fill_up(MILLIONS);
	return 0;
}
