# SPDX-License-Identifier: MIT
# heavy does twice light's work, 51 frames of deep below, in two fibers that take turns.
@[NoInline]
def spin(n : UInt64)
  x = n
  i = 0_u64
  while i < n
    x = x &* 6364136223846793005_u64 &+ i
    i &+= 1
  end
  x
end
@[NoInline]
def heavy(n : UInt64) : UInt64; spin(n &* 2) >> 1; end
@[NoInline]
def light(n : UInt64) : UInt64; spin(n) >> 2; end
@[NoInline]
def deep(d : Int32, n : UInt64) : UInt64; d > 0 ? deep(d - 1, n) >> 1 : heavy(n) ^ light(n); end
sums = Channel(UInt64).new
2.times { spawn { 200.times { |i| sums.send deep(50, 700_000_u64 + i % 97 * 7000) } } }
puts (0...400).reduce(0_u64) { |sum, _| sum &+ sums.receive }
