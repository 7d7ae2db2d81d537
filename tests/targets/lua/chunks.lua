-- SPDX-License-Identifier: MIT
-- Code as data: load, dump, environments, functions that come and go, garbage.
local f = load("local a, b = ... return a + b, _ENV")
print((f(1, 2)))
print(load("x = 5 return x", "=name", "t", {})())
print(x, load("return x", "chunk", "t", {x = "mine"})())
print(load(function() return nil end))
local pieces, i = {"return ", "1 ", "+ 2"}, 0
print(load(function() i = i + 1 return pieces[i] end)())
print(pcall(load, function() error("in reader") end))
print(load(function() error("in reader") end))
print(load("return", "=(a rather long name of a chunk that does not fit into sixty bytes of a message)")) 
print(load("error('x')", "@file.lua")) print(pcall(load("error('x')", "@file.lua")))
print(pcall(load("error('y')", "a string that is\nshown as its first line")))
local function original(n) if n < 2 then return n end return n * 2 end
local copy = load(string.dump(original)) print(copy(21))
local stripped = load(string.dump(original, true)) print(stripped(21), debug.getinfo(stripped, "S").short_src)
print(pcall(load(string.dump(function() error("stripped") end, true))))
print(load(string.dump(original), "x", "t")) print(load("return 1", "x", "b"))
print(pcall(string.dump, print))
print(load("\27Lua garbage"))

-- Thousands of functions that are called once and dropped.
local sum = 0
for n = 1, 20000 do sum = sum + load("local function inner(x) return x + " .. n .. " end return inner(1)")() end
print(sum)
local keep = {}
for n = 1, 3000 do keep[n] = load("return function() return " .. n .. " end")() end
for n = 1, 3000, 2 do keep[n] = nil end
collectgarbage()
for n = 1, 3000, 2 do keep[n] = load("return function() return -" .. n .. " end")() end
sum = 0
for n = 1, 3000 do sum = sum + keep[n]() end
print(sum)

-- Finalizers, weak tables, both collectors, resurrection, errors during collection.
local order = {}
for n = 1, 3 do setmetatable({}, {__gc = function() order[#order + 1] = n end}) end
collectgarbage()
print(table.concat(order, " "))
local saved
do local o = setmetatable({name = "back"}, {__gc = function(o) saved = o end}) end
collectgarbage() print(saved and saved.name)
for _, mode in ipairs({"incremental", "generational", "incremental"}) do
  collectgarbage(mode)
  local weak = setmetatable({}, {__mode = "v"})
  for n = 1, 2000 do weak[n] = function() return n end weak[n]() end
  collectgarbage()
  local alive = 0
  for _ in pairs(weak) do alive = alive + 1 end
  print(mode, alive)
end
local depth = 0
local function churn(n) local t = {} for k = 1, 20 do t[k] = {k, function() return k end} end if n > 0 then return churn(n - 1) end return #t end
print(churn(2000))
for n = 1, 200 do coroutine.wrap(function() churn(2) coroutine.yield() end)() end
collectgarbage("step") collectgarbage()
setmetatable({}, {__gc = function() error("while collecting") end})
collectgarbage()
warn("@on")
setmetatable({}, {__gc = function() error("while collecting, with warnings") end})
collectgarbage()
print(collectgarbage("count") > 0, collectgarbage("isrunning"))
