-- SPDX-License-Identifier: MIT
-- Tail calls: endless ones, of all kinds of functions, and how debugging shows them.
local function down(n, acc) if n == 0 then return acc end return down(n - 1, acc + n) end
print(down(10000000, 0))

local even, odd
function even(n) if n == 0 then return "even" end return odd(n - 1) end
function odd(n) if n == 0 then return "odd" end return even(n - 1) end
print(even(1000000), odd(1000000))

local function spread(n, ...) if n == 0 then return ... end return spread(n - 1, n, ...) end
print(select("#", spread(200)), (spread(200)))
local function vararg(...) local a, b = ... return spread(3, a, b, ...) end
print(vararg("x", "y", "z"))
print((vararg("x")))

-- Tail calls of C functions, of objects, of methods, of functions that fail.
local function c_tail(...) return string.format("%s-%s", ...) end
print(c_tail(1, 2))
local object = setmetatable({}, {__call = function(self, a, b) return a, b, self end})
local function object_tail(...) return object(...) end
print(select("#", object_tail(1, 2)), (object_tail(1, 2)))
local chained = setmetatable({}, {__call = object})
print(select("#", (function(...) return chained(...) end)(1)))
local class = {value = 7}
function class:get(n) if n == 0 then return self.value end return self:get(n - 1) end
print(class:get(1000))
print(pcall(function() return (nil)() end))
print(pcall(function() return error("level one") end))
print(pcall(function() return error("level two", 2) end))
local function blame() error("blames its caller", 2) end
local function innocent() return blame() end
print(pcall(innocent))
print(pcall(function() local x = innocent() return x end))
local function erring(n) if n == 0 then error("deep") end return erring(n - 1) end
print(pcall(erring, 1000))
print(pcall(pcall, error, "c in c"))
local function pcall_tail(f, ...) return pcall(f, ...) end
print(pcall_tail(down, 10, 0))

-- With a variable to close, a call is no tail call.
local function closing()
  local c <close> = setmetatable({}, {__close = function() print("closed") end})
  return down(10, 0)
end
print(closing())
local function captured(n)
  local x = n
  local function get() return x end
  if n == 0 then return get() end
  return captured(n - 1)
end
print(captured(100))

-- Levels and tracebacks.
local function trace() return debug.traceback("here") end
local function trace2() return trace() end
local function trace3() local s = trace2() return s end
print(trace3())
local function info()
  local out = {}
  local level = 1
  while true do
    local i = debug.getinfo(level, "nSlt")
    if not i then break end
    out[#out + 1] = string.format("%s %s %d %s", tostring(i.name), i.what, i.currentline, tostring(i.istailcall))
    level = level + 1
  end
  return table.concat(out, "; ")
end
local function info2() return (info()) end
local function info3() return info2() end
print(info3())

-- A tail call keeps nothing of the caller alive.
local weak = setmetatable({}, {__mode = "k"})
local function check() collectgarbage() return next(weak) == nil end
local function holder() local big = {} weak[big] = true return check() end
print(holder())
local function holder2() local big = {} weak[big] = true local r = check() return r, big ~= nil end
print(holder2())

-- Hooks.
local events = {}
local function noted() return 1 end
local function hooked() return noted() end
debug.sethook(function(e) events[#events + 1] = e end, "cr")
hooked()
debug.sethook()
print(table.concat(events, " "))
