-- SPDX-License-Identifier: MIT
-- Deep and endless recursion: Lua's errors at the end of its stack and of C's.
local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end
for _, n in ipairs({10, 1000, 20000, 150000}) do print(n, depth(n)) end

local function endless(x) return 1 + endless(x) end
local ok, message = pcall(endless, 1)
print(ok, (message:gsub("\n.*", "")))

-- A call of this function takes many of the million slots of the stack, so the stack is full after
-- fewer calls.
local function sooner(x)
  local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, aa, ab, ac, ad, ae, af, ag
  return 1 + sooner(x)
end

-- Repeat it, with work after each time.
for i = 1, 2 do print(select(1, pcall(sooner, i)), depth(1000)) end

-- Inside a coroutine, with a handler, inside a metamethod, inside table.sort, inside gsub.
print(coroutine.wrap(function() local ok, m = pcall(sooner, 1) return ok, (m:gsub("\n.*", "")) end)())
print(xpcall(endless, function(m) return "handled: " .. m:match("[^:]*$") end, 1))
local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end})
local ok2, m2 = pcall(function() return t[1] end)
print(ok2, (m2:gsub("\n.*", "")))
local function sorting() table.sort({1, 2, 3}, function(a, b) sorting() return a < b end) end
local ok3, m3 = pcall(sorting)
print(ok3, m3)
local function matching(s) return (s:gsub(".", matching)) end
print(pcall(matching, "x"))
print(pcall(string.find, string.rep("a", 3000), string.rep("a?", 3000) .. "b"))
local nested = string.rep("(", 300) .. "1" .. string.rep(")", 300)
print(load("return " .. nested))
print(select("#", load("return " .. string.rep("(", 100) .. "1" .. string.rep(")", 100))()))

-- A handler that fails, and one that never ends.
print(xpcall(endless, function() error("again") end, 1))
print(xpcall(error, function(m) return sooner(m) end, "first"))

-- Recurse as deep as possible, then far down again with a C function as callee.
local deepest = 0
local function measure() deepest = deepest + 1 return measure() + 1 end
pcall(measure)
print(deepest > 100000, deepest)
local function deep_format(n) if n == 0 then return string.format("%d %s", 1, "two") end return (deep_format(n - 1)) end
print(deep_format(100000))

-- Errors that are thrown deep and caught far above, with variables that are closed between.
local closes = 0
local function with_close(n)
  local c <close> = setmetatable({}, {__close = function() closes = closes + 1 end})
  if n == 0 then error("bottom", 0) end
  with_close(n - 1)
end
print(pcall(with_close, 150), closes)
