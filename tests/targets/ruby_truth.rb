# SPDX-License-Identifier: MIT
#
# ruby_truth MS [THREADS]: for MS, call work() below methods, blocks, procs, C functions that call
# blocks, fibers, enumerators, threads, loaded files, eval, and exceptions. Prints "stack
# F:LINE;F;..." for each stack in which work() was called, outermost function first, as Ruby reports
# it: work() and functions written in C have no line.
require 'tempfile'

GC.stress = false
WRITTEN_IN_C = %w[each map times sort_by loop each_with_index upto new call send public_send instance_eval
                  instance_exec class_eval eval load require inject each_slice each_entry next gsub
                  first lazy << min_by take step fetch sort each_pair catch throw transform_values raise
                  initialize select cycle with_index join value resume block_call yield].to_h { |n| [n, true] }
$stacks = {}
$end = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f / 1000

# Return the label of @location, with its line unless it is a C function. Ruby gives a C function
# the path and line of its nearest caller that is not written in C, or none.
def line_of(location, outer)
  return location.label unless location.path
  is_c = WRITTEN_IN_C[location.label] && outer && outer.path == location.path &&
         outer.lineno == location.lineno
  is_c ? location.label : "#{location.label}:#{location.lineno}"
end

def work(n)
  locations = caller_locations(1)
  names = ['work']
  locations.each_with_index { |location, i| names << line_of(location, locations[i + 1]) }
  $stacks[names.reverse.join(';')] = true
  x = 0
  i = 0
  while i < n
    x = (x * 31 + i) % 1000003
    i += 1
  end
  x
end

class Shape
  SIDES = [3, 4, 5, 6, 7, 8].freeze

  def area = work(20000)
  def self.scale = work(20000)
  def each_side = SIDES.each { |side| work(4000 + side) }
  def sorted = SIDES.sort_by { |side| work(1000) - side }
  define_method(:made) { work(10000) }
  def method_missing(name, *) = name == :nothing ? work(20000) : super
  def respond_to_missing?(*) = true
  def <=>(other) = work(3000) - object_id + other.object_id
  def yields
    yield
  ensure
    work(2000)
  end
end

module Named
  module Deep
    def self.inner = yield
  end

  def included_one = work(10000)
end
Shape.include Named

def deep(depth) = depth.zero? ? work(30000) : deep(depth - 1)
def deep_blocks(depth) = depth.zero? ? work(20000) : [1].each { deep_blocks(depth - 1) }
def fails
  work(10000)
  raise 'x'
end

def caught
  fails
rescue RuntimeError
  work(10000)
ensure
  work(5000)
end

def many_objects
  work(2000)
  kept = []
  3000.times { |i| kept << "object #{i}" << [i] }
  work(2000)
end

def in_fiber
  fiber = Fiber.new do |x|
    work(5000)
    x = Fiber.yield(x)
    deep(5)
    work(5000 + x)
  end
  fiber.resume(1)
  work(2000)
  fiber.resume(2)
end

def numbers = Enumerator.new { |y| 3.times { |i| y << work(4000 + i) } }

def of_enumerators
  enumerator = numbers
  enumerator.next
  work(1000)
  enumerator.next
  lazy = (1..Float::INFINITY).lazy.map { |i| work(1000 + i) }
  lazy.first(3)
  numbers.with_index { |_, i| work(1000 + i) }
end

def by_names(shape)
  shape.send(:area)
  shape.public_send(:nothing)
  shape.method(:area).call
  [shape].map(&:made)
  shape.instance_eval { work(3000) }
  proc { work(3000) }.call
  lambda { |n| work(n) }.(3000)
end

def evaluated
  eval('work(10000)')
  eval("def from_text\n  work(5000)\nend\nfrom_text")
end

$file = Tempfile.new(['loaded', '.rb'])
$file.write("def from_file\n  [1].each do\n    work(10000)\n  end\nend\nfrom_file\n")
$file.close

def all_of_it
  shape = Shape.new
  shape.area
  Shape.scale
  shape.each_side
  shape.sorted
  shape.made
  shape.nothing
  [shape, Shape.new].sort
  shape.yields { work(5000) }
  shape.included_one
  Named::Deep.inner { work(5000) }
  deep(60)
  deep_blocks(12)
  caught
  many_objects
  in_fiber
  of_enumerators
  by_names(shape)
  evaluated
  load $file.path
  'one two'.gsub(/o/) { work(2000).to_s }
  catch(:out) { 5.times { |i| work(1000) && i == 3 && throw(:out) } }
  { a: 1 }.transform_values { |v| work(2000 + v) }
end

def still_time? = Process.clock_gettime(Process::CLOCK_MONOTONIC) < $end

threads = Array.new(ARGV[1].to_i) { Thread.new { all_of_it while still_time? } }
all_of_it while still_time?
threads.each(&:join)
$stacks.each_key { |stack| puts "stack #{stack}" }
