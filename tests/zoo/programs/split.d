// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below main(); each turn makes garbage.
import std.stdio;
pragma(inline, false):
ulong spin(ulong n) { ulong x = n; foreach (i; 0 .. n) x = x * 6364136223846793005UL + i; return x; }
ulong heavy(ulong n) { return spin(2 * n) >> 1; }
ulong light(ulong n) { return spin(n) >> 2; }
ulong deep(int d, ulong n) { return d ? deep(d - 1, n) >> 1 : heavy(n) ^ light(n); }
void main()
{
    ulong[] sums;
    foreach (i; 0 .. 1600)
        sums = sums ~ deep(50, 700000 + i % 97 * 7000);
    ulong sum;
    foreach (s; sums)
        sum += s;
    writeln(sum);
}
