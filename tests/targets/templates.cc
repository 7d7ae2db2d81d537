/* SPDX-License-Identifier: MIT */
/*
 * templates MS: use MS of CPU time in each of churn<int>, churn<long> and shapes::Box<int>::fill, a
 * const member function with a parameter.
 */
#include "tests/targets/spin.h"

/* Forbid clones of the function, because their names would have other parameters. */
#define WHOLE __attribute__((noinline, noclone))

template <typename T> WHOLE void churn(T units)
{
	spin(static_cast<unsigned>(units));
	KEEP_FRAME();
}

namespace shapes
{
template <typename T> struct Box {
	WHOLE void fill(const T &units) const
	{
		spin(static_cast<unsigned>(units));
		KEEP_FRAME();
	}
};
} // namespace shapes

int main(int argc, char **argv)
{
	uint64_t ns = argument(argc, argv, 1, 600) * 1000000ULL, begin = cpu_ns();
	const shapes::Box<int> box;

	while (cpu_ns() - begin < ns)
		churn<int>(320);
	while (cpu_ns() - begin < 2 * ns)
		churn<long>(320);
	while (cpu_ns() - begin < 3 * ns)
		box.fill(320);
	return 0;
}
