# SPDX-License-Identifier: MIT
# heavy does twice light's work, 51 frames of deep below.
def spin(n)
  x = 1
  i = 0
  while i < n
    x = (x * 1103515245 + i) & 0x3fffffff
    i += 1
  end
  x
end
def heavy(n) = spin(2 * n) >> 1
def light(n) = spin(n) >> 2
def deep(d, n) = d > 0 ? deep(d - 1, n) + 1 : heavy(n) ^ light(n)
size = (ARGV[0] || 20_000).to_i
puts 500.times.sum { |i| deep(50, size + i % 97 * 200) }
