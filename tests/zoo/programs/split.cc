// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below main(); each turn ends by an exception.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#define CALLED [[gnu::noinline]]

template <typename T> struct Zoo {
	T sum = 0;
	CALLED void spin(T n)
	{
		for (T i = 0; i < n; i++)
			sum = sum * 6364136223846793005u + i;
	}
	CALLED void heavy(T n) { spin(2 * n); sum ^= 1; }
	CALLED void light(T n) { spin(n); sum ^= 2; }
	CALLED void deep(int d, T n)
	{
		d ? deep(d - 1, n) : (heavy(n), light(n), throw std::runtime_error("to main()"));
		sum ^= d;
	}
};
int main()
{
	Zoo<uint64_t> zoo;
	for (int i = 0; i < 400; i++)
		try { zoo.deep(50, 800000 + i % 97 * 8000); } catch (const std::exception &) { zoo.sum++; }
	printf("%llu\n", (unsigned long long)zoo.sum);
}
