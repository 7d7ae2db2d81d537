-- SPDX-License-Identifier: MIT
-- heavy() does twice light()'s work, 51 frames of deep() below, in a coroutine.
local function spin(n) local x = 1 for i = 1, n do x = (x * 16807 + i) % 2147483647 end return x end
local function heavy(n) local x = spin(2 * n) return x % 1000 end
local function light(n) local x = spin(n) return x % 100 end
local function deep(d, n) if d > 0 then local x = deep(d - 1, n) return x + 1 end return heavy(n) + light(n) end
local size, turns = tonumber(arg[1]), 0
local turn = coroutine.wrap(function() while true do turns = turns + 1 coroutine.yield(deep(50, size + turns % 97 * 100)) end end)
local sum = 0
for i = 1, 400 do sum = sum + turn() end
print(sum)
