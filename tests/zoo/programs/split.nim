# SPDX-License-Identifier: MIT
# heavy does twice light's work, 51 frames of deep below.
proc spin(n: uint64): uint64 {.noinline.} =
  result = n
  for i in 0'u64 ..< n: result = result * 6364136223846793005'u64 + i
proc heavy(n: uint64): uint64 {.noinline.} = spin(2 * n) shr 1
proc light(n: uint64): uint64 {.noinline.} = spin(n) shr 2
proc deep(d: int, n: uint64): uint64 {.noinline.} =
  if d > 0: deep(d - 1, n) shr 1 else: heavy(n) xor light(n)
var sum: uint64
for i in 0'u64 ..< 400: sum += deep(50, 700000 + i mod 97 * 7000)
echo sum
