// SPDX-License-Identifier: MIT
// Heavy() does twice Light()'s work, 51 frames of Deep() below Main().
using System;
using System.Runtime.CompilerServices;
class Zoo {
	const MethodImplOptions Called = MethodImplOptions.NoInlining;
	[MethodImpl(Called)] static ulong Spin(ulong n) { ulong x = n; for (ulong i = 0; i < n; i++) x = x * 6364136223846793005 + i; return x; }
	[MethodImpl(Called)] static ulong Heavy(ulong n) { return Spin(2 * n) >> 1; }
	[MethodImpl(Called)] static ulong Light(ulong n) { return Spin(n) >> 2; }
	[MethodImpl(Called)] static ulong Deep(int d, ulong n) { return d > 0 ? Deep(d - 1, n) >> 1 : Heavy(n) ^ Light(n); }
	static void Main() {
		ulong sum = 0;
		for (ulong i = 0; i < 400; i++) sum += Deep(50, 500000 + i % 97 * 5000);
		Console.WriteLine(sum);
	}
}
