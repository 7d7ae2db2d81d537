// SPDX-License-Identifier: MIT
// Two coroutines of boost.context take turns: one in heavy(), one in light(), below 51 frames of deep().
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <cstdio>
#define CALLED [[gnu::noinline]]
using boost::context::fiber;
static uint64_t sum, size;

CALLED void spin(uint64_t n) { for (uint64_t i = 0; i < n; i++) sum = sum * 6364136223846793005u + i; }
CALLED void heavy(fiber &main) { spin(2 * size); main = std::move(main).resume(); }
CALLED void light(fiber &main) { spin(size); main = std::move(main).resume(); }
CALLED void deep(int d, fiber &main, bool me) { d ? deep(d - 1, main, me) : (me ? heavy : light)(main); sum ^= 1; }
static fiber make(bool me) { return fiber([me](fiber &&main) { for (;;) deep(50, main, me); return std::move(main); }); }
int main()
{
	fiber both[] = {make(false), make(true)};
	for (int i = 0; i < 600; i++) {
		size = 700000 + i / 2 % 97 * 7000;
		both[i % 2] = std::move(both[i % 2]).resume();
	}
	printf("%llu\n", (unsigned long long)sum);
}
