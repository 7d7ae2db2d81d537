-- SPDX-License-Identifier: MIT
-- Yields from everywhere: nested calls, metamethods, protected calls, closing variables, iterators.
local yield = coroutine.yield

local function show(...)
  print(table.concat({...}, " "))
end

-- Yields through three Lua functions, with results in both directions.
local function leaf(x) return yield(x + 1) + 1 end
local function mid(x) local r = leaf(x * 2) return r * 2 end
local function top(...)
  local sum = 0
  for i, x in ipairs({...}) do sum = sum + mid(x) end
  return sum, "end"
end
local co = coroutine.create(top)
local status, value = coroutine.resume(co, 1, 2, 3)
while coroutine.status(co) ~= "dead" do
  show(tostring(status), value)
  status, value, extra = coroutine.resume(co, value)
end
show(tostring(status), value, extra, coroutine.status(co))

-- Metamethods that yield.
local mt = {}
for _, name in ipairs({"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__idiv", "__band",
                       "__bor", "__bxor", "__shl", "__shr", "__concat"}) do
  mt[name] = function(a, b) return yield(name) end
end
mt.__unm = function(a) return yield("__unm") end
mt.__bnot = function(a) return yield("__bnot") end
mt.__len = function(a) return yield("__len") end
mt.__eq = function(a, b) return yield("__eq") end
mt.__lt = function(a, b) return yield("__lt") end
mt.__le = function(a, b) return yield("__le") end
mt.__index = function(t, k) return yield("__index " .. k) end
mt.__newindex = function(t, k, v) yield("__newindex " .. k) end
mt.__call = function(self, ...) return yield("__call", ...) end
mt.__close = function(t, e) yield("__close " .. tostring(e)) end
local function object() return setmetatable({}, mt) end

local function all_operators()
  local a, b = object(), object()
  local out = {a + b, a - b, a * b, a / b, a % b, a ^ b, a // b, a & b, a | b, a ~ b, a << b, a >> b,
               a .. b, "x" .. a, 1 .. "y" .. a .. "z", -a, ~a, #a, a == b, a ~= b, a < b, a <= b,
               a > b, a >= b, a.name, a(1, 2)}
  a.field = 3
  do local c <close> = object() end
  if a < b then out[#out + 1] = "then" else out[#out + 1] = "else" end
  return #out
end
local steps, arg = 0, nil
local run = coroutine.wrap(all_operators)
repeat
  local what = run(arg)
  steps = steps + 1
  arg = tostring(what):find("__[le]") and steps % 2 == 0 or "7"
  show(steps, tostring(what))
until type(what) == "number"

-- Yields across pcall, xpcall and error, and in table.sort, which refuses.
local function failing(x)
  local got = yield("before " .. x)
  error({code = got})
end
local guarded = coroutine.wrap(function()
  local ok, e = pcall(function() local ok2, e2 = pcall(failing, "inner") yield(e2.code) error(e2) end)
  show(tostring(ok), type(e), e.code)
  local ok3, e3 = xpcall(failing, function(e) return "handled " .. e.code end, "outer")
  show(tostring(ok3), e3)
  local ok4, e4 = pcall(table.sort, {3, 2, 1}, function(a, b) yield() end)
  show(tostring(ok4), e4)
  return "over"
end)
for i = 1, 5 do show(i, tostring(guarded(i))) if i == 3 then break end end
print(pcall(guarded))

-- Iterators and recursion.
local function permutations(a, n)
  if n == 0 then yield(a) else
    for i = 1, n do
      a[n], a[i] = a[i], a[n]
      permutations(a, n - 1)
      a[n], a[i] = a[i], a[n]
    end
  end
end
for p in coroutine.wrap(function() permutations({1, 2, 3, 4}, 4) end) do show(table.unpack(p)) end

-- Tail calls and variable arguments inside of coroutines.
local function count(n, ...) if n == 0 then return select("#", ...), ... end return count(n - 1, n, ...) end
local tails = coroutine.wrap(function(...)
  local function step(n, ...) if n == 0 then return yield(...) end return step(n - 1, ...) end
  return step(50, step(10, ...))
end)
show(tails("a", "b"))
show(tails("c", "d", "e"))
show(tails("f"))
show(select("#", count(20)))

-- A coroutine that is closed from outside.
local closed = {}
local suspended = coroutine.create(function()
  local a <close> = setmetatable({}, {__close = function(_, e) closed[#closed + 1] = tostring(e) end})
  local b <close> = setmetatable({}, {__close = function(_, e) error("in close", 0) end})
  yield(1)
end)
print(coroutine.resume(suspended))
print(coroutine.close(suspended))
print(coroutine.status(suspended), table.concat(closed, ","))
print(coroutine.resume(suspended))

-- Errors, and what is known of a dead coroutine.
local dead = coroutine.create(function() local x = nil; return x.y end)
print(coroutine.resume(dead))
print((debug.traceback(dead)))
print(coroutine.isyieldable(), coroutine.running())
print(pcall(coroutine.wrap(function() error("wrapped") end)))
print(select(2, pcall(yield)))

-- Coroutines that resume coroutines, 150 deep.
local function nest(n) if n == 0 then return 0 end return 1 + coroutine.wrap(nest)(n - 1) end
print(nest(150))
print(pcall(nest, 300))

-- Many coroutines that are dropped half-way.
for i = 1, 20000 do
  local c = coroutine.wrap(function(a) local b = yield(a) return b end)
  c(i)
end
collectgarbage()
print("left")
