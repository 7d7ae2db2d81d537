/* SPDX-License-Identifier: MIT */
/*
 * stubs [MILLISECONDS [DEPTH [LIVES]]]: an interpreter with 100 methods, linked with libflameprof.
 * Each method has a bind stub whose target is evaluate(), which burns the method's time and calls
 * the next method.
 * Every stack is main, then stub and evaluate in turns, up to DEPTH times each, then burn. The time
 * of burn belongs to the method of the innermost stub. The program prints this time for each heavy
 * method, and the sum of all others as "light". If LIVES is more than 1, all stubs are freed and
 * made again that many times, at other addresses and with other names: method-N becomes
 * method-N+100.
 */
#include "libprof/flameprof_stub.h"
#include "tests/targets/spin.h"

#define METHODS 100u
#define HEAVY	3u

struct method {
	char name[32];
	unsigned units;
	uint64_t spent; /* in units of spin() */
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

/* Return the index of a random method. Three of four calls go to a heavy method. */
static unsigned choose(void)
{
	return spin_random(0, 3) ? spin_random(0, HEAVY - 1) : spin_random(HEAVY, METHODS - 1);
}

/* Run @method. A bind stub passes its payload as this first argument. */
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
		/*
		 * Reverse the order each time, so that every method's stub gets the address of
		 * another method's.
		 */
		unsigned at = life % 2 ? METHODS - 1 - i : i;
		struct method *method = &methods[at];

		snprintf(method->name, sizeof(method->name), "method-%u", at + 100 * life);
		method->units = at < HEAVY ? 4 * (at + 1) : 1 + at % 3;
		method->spent = 0;
		stubs[at] = (stub_function *)flameprof_stub_new(
			arena, method->name, (uintptr_t)method);
	}
}

/* Print each method's share of @took_ns, computed from the work that it did, and free the stubs. */
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
		/* Read the clock once for many turns, so that reading it takes almost no time. */
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
