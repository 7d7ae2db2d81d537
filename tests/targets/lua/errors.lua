-- SPDX-License-Identifier: MIT
-- Errors as values, levels, handlers, closing variables; at the end an error that is not caught.
print(pcall(error)) print(pcall(error, nil)) print(pcall(error, 42)) print(pcall(error, "s", 0))
print(select("#", pcall(error)))
local function level(n) error("level " .. n, n) end
local function calls(n) level(n) end
for n = 0, 4 do print(pcall(calls, n)) end
print(xpcall(function() error({1, 2, 3}) end, function(e) return #e end))
print(xpcall(function(...) return select("#", ...), ... end, print, 1, nil, 3))
local e = setmetatable({}, {__tostring = function() return "own text" end})
local ok, got = pcall(error, e) print(ok, got == e, tostring(got))
print(pcall(function() assert(false) end)) print(pcall(assert, nil, "said")) print(pcall(assert, false, {}) == false)
print(pcall(function() assert(1 == 1, "fine") return "after" end))
local function nested(n) if n == 0 then error("innermost", 0) end local ok, m = pcall(nested, n - 1) error(m .. n, 0) end
print(pcall(nested, 9))
local trail = {}
local function closer(name, fails)
  return setmetatable({}, {__close = function(_, e) trail[#trail + 1] = name .. ":" .. tostring(e) if fails then error(name .. " failed", 0) end end})
end
print(pcall(function()
  local a <close> = closer("a")
  local b <close> = closer("b", true)
  local c <close> = closer("c")
  error("original", 0)
end))
print(table.concat(trail, " "))
print(pcall(function() local x <close> = 42 end))
for x in (function() return nil end), nil, nil, closer("loop") do end
print(trail[#trail])
local function many(n) for i = 1, n do pcall(error, i) pcall(function() local x = {} .. "" end) end return n end
print(many(20000))
local co = coroutine.wrap(function() pcall(error, 1) local ok, m = pcall(coroutine.yield, "y") error("after yield " .. tostring(m), 0) end)
print(co(), pcall(co, "resumed"))
io.stdout:flush()
local function third() local t = {} return t.missing.field end
local function second() local r = third() return r end
function first() second() end
first()
