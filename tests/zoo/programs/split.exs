# SPDX-License-Identifier: MIT
# heavy does twice light's work, 51 frames of deep below, in two processes at once.
defmodule Zoo do
  import Bitwise
  def spin(0, x), do: x
  def spin(n, x), do: spin(n - 1, (x * 1103515245 + n) &&& 0x3FFFFF)
  def heavy(n), do: spin(2 * n, 1) >>> 1
  def light(n), do: spin(n, 1) >>> 2
  def deep(0, n), do: bxor(heavy(n), light(n))
  def deep(d, n), do: deep(d - 1, n) + 1
  def turns(), do: Enum.sum(for i <- 1..250, do: deep(50, 210_000 + rem(i, 97) * 2100))
end
tasks = for _ <- 1..2, do: Task.async(&Zoo.turns/0)
IO.inspect(Task.await_many(tasks, :infinity))
