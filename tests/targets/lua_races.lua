-- SPDX-License-Identifier: MIT
-- Drop, reuse and free calls of all kinds as often as possible for arg[1] seconds of CPU time,
-- while ticks arrive: by errors, yields, closing variables and garbage collection.
local function closer() return setmetatable({}, {__close = pcall}) end
local function deep(n) if n == 0 then error("x") end local r = deep(n - 1) return r end
local function body(n)
  local c <close> = setmetatable({}, {__close = function() pcall(error, "c") end})
  if n > 0 then pcall(body, n - 1) end
  coroutine.yield(n)
  deep(n % 7)
end
local stop, rounds = os.clock() + tonumber(arg[1]), 0
while os.clock() < stop do
  rounds = rounds + 1
  local t = {}
  for i = 1, 20 do t[i] = coroutine.create(body) coroutine.resume(t[i], i % 5) end
  for i = 1, 20, 2 do coroutine.resume(t[i]) end
  for i = 1, 20, 3 do coroutine.close(t[i]) end
  for i = 1, 10 do pcall(deep, i * 10) xpcall(pcall, print, deep, 3) end
  for i = 1, 10 do
    coroutine.wrap(function()
      pcall(pcall, pcall, pcall, deep, 4)
      pcall(function() local c <close> = closer() deep(2) end)
    end)()
  end
  local s = 0 for i = 1, 2000 do s = s + i end
  if rounds % 50 == 0 then collectgarbage() end
  if rounds % 7 == 0 then load("local function f() return 1 end return f()")() end
  table.sort({3, 2, 1, 5, 4}, function(a, b) return a < b end)
end
print(rounds)
