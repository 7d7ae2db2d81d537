/* SPDX-License-Identifier: MIT */
/*
 * versions [ROUNDS [PERCENT]]: a fixed amount of work, so that two versions of the program can be
 * compared. A round is ten times 100 units.
 * Of 100 units of the old version, read_input has 30 (parse 20, scan 10), plan 25 (order 15, choose
 * 5, and 5 of its own), tenth 10, write_output 20 (format 12, pack 8), and small_a to small_e have
 * 1 to 5. In the new version, tenth is PERCENT percent slower.
 */
#include "tests/targets/spin.h"

/*
 * Do @units of work on average. The random length keeps a sampler from running in step with the
 * work.
 */
__attribute__((always_inline)) static inline void work(unsigned units)
{
	spin(spin_random(units / 2, units + (units + 1) / 2));
	KEEP_FRAME();
}

#define LEAF(name, units)       \
	BOX static void name(void) \
	{                          \
		work(units);       \
	}

LEAF(parse, 20)
LEAF(scan, 10)
LEAF(order, 15)
LEAF(choose, 5)
LEAF(format, 12)
LEAF(pack, 8)
LEAF(small_a, 1)
LEAF(small_b, 2)
LEAF(small_c, 3)
LEAF(small_d, 4)
LEAF(small_e, 5)

BOX static void read_input(void)
{
	parse();
	scan();
	KEEP_FRAME();
}

BOX static void plan(void)
{
	order();
	choose();
	work(5);
}

/* Units of work are whole numbers, so keep the fraction for the next call. */
BOX static void tenth(unsigned percent)
{
	static unsigned hundredths;

	hundredths += spin_random(5, 15) * percent;
	spin(hundredths / 100);
	hundredths %= 100;
	KEEP_FRAME();
}

BOX static void write_output(void)
{
	format();
	pack();
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	unsigned rounds = argument(argc, argv, 1, 80), percent = argument(argc, argv, 2, 0);

	for (unsigned i = 0; i < 10 * rounds; i++) {
		read_input();
		plan();
		tenth(100 + percent);
		write_output();
		small_a();
		small_b();
		small_c();
		small_d();
		small_e();
	}
	return 0;
}
