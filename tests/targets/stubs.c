/* SPDX-License-Identifier: MIT */
/*
 * stubs [MILLISECONDS [DEPTH [LIVES]]]: an interpreter. Each of its 100 methods has a call stub,
 * and all of them are run by evaluate(), which burns what the method takes and calls the next one.
 * Linked with libflameprof. Truth: every stack is main, then stub and evaluate in turn, up to DEPTH
 * times each, then burn. The time of burn below the innermost stub is that method's own; it is said
 * of each heavy method, and of all others together as "light". With LIVES above 1 all stubs are
 * freed and made anew that many times, in other places, and the methods change names: method-N
 * becomes method-N+100.
 */
#include "libprof/flameprof_stub.h"
#include "tests/targets/spin.h"

#define METHODS 100u
#define HEAVY	3u

struct method {
	char name[32];
	unsigned units;
	uint64_t spent; /* units */
};

typedef void stub_function(unsigned depth);

static struct method methods[METHODS];
static stub_function *stubs[METHODS];
static struct flameprof_arena *arena;
static uint64_t spent;

BOX static void burn(struct method *method)
{
	spin(method->units);
	method->spent += method->units;
	spent += method->units;
	KEEP_FRAME();
}

/* Three of four calls go to a heavy method. */
static unsigned choose(void)
{
	return spin_random(0, 3) ? spin_random(0, HEAVY - 1) : spin_random(HEAVY, METHODS - 1);
}

/* Bound: the method is the payload. */
BOX static void evaluate(struct method *method, unsigned depth)
{
	burn(method);
	if (depth > 1)
		stubs[choose()](depth - 1);
	KEEP_FRAME();
}

static void make_stubs(unsigned life)
{
	for (unsigned i = 0; i < METHODS; i++) {
		/* The other way round each time, so that every method gets another's place. */
		unsigned at = life % 2 ? METHODS - 1 - i : i;
		struct method *method = &methods[at];

		snprintf(method->name, sizeof(method->name), "method-%u", at + 100 * life);
		method->units = at < HEAVY ? 4 * (at + 1) : 1 + at % 3;
		method->spent = 0;
		stubs[at] = (stub_function *)flameprof_stub_new(
			arena, method->name, (uintptr_t)method);
	}
}

/* What the life took is shared as its work was. */
static void tell_and_free(uint64_t took_ns)
{
	double unit_ns = (double)took_ns / (double)spent;
	uint64_t light = 0;

	for (unsigned i = 0; i < METHODS; i++) {
		if (i < HEAVY)
			tell(methods[i].name, (uint64_t)((double)methods[i].spent * unit_ns));
		else
			light += methods[i].spent;
		flameprof_stub_free(arena, (flameprof_function *)stubs[i]);
	}
	tell("light", (uint64_t)((double)light * unit_ns));
	spent = 0;
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 1000) * 1000000ULL;
	unsigned depth = argument(argc, argv, 2, 30);
	unsigned lives = argument(argc, argv, 3, 1);
	struct flameprof_signature signature = {.integer_arguments = 2};

	if (flameprof_arena_new(&arena, FLAMEPROF_STUB_BIND, (flameprof_function *)evaluate,
		    &signature))
		return 1;
	for (unsigned life = 0; life < lives; life++) {
		uint64_t begin_ns, took_ns;

		make_stubs(life);
		begin_ns = cpu_ns();
		/* As in split.c: the clock is read once for many turns. */
		do {
			for (uint64_t until = spent + 400; spent < until;)
				stubs[choose()](depth);
			took_ns = cpu_ns() - begin_ns;
		} while (took_ns < limit_ns / lives);
		tell_and_free(took_ns);
	}
	flameprof_arena_free(arena);
	return 0;
}
