# SPDX-License-Identifier: MIT
# heavy() does twice light()'s work, 51 frames of deep() below.
import sys


def spin(n):
    x = 1
    for i in range(n):
        x = (x * 1103515245 + i) & 0x3fffffff
    return x


def heavy(n):
    return spin(2 * n) >> 1


def light(n):
    return spin(n) >> 2


def deep(d, n):
    return deep(d - 1, n) + 1 if d else heavy(n) ^ light(n)


n = int(sys.argv[1]) if len(sys.argv) > 1 else 7000
print(sum(deep(50, n + i % 97 * (n // 100)) for i in range(500)))
