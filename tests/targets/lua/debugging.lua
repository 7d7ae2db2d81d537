-- SPDX-License-Identifier: MIT
-- The debug library: levels, names, locals, upvalues, hooks, tracebacks.
local function describe(level, what)
  local i = debug.getinfo(level + 1, what or "nSlutr")
  if not i then return "none" end
  local keys = {}
  for k, v in pairs(i) do keys[#keys + 1] = k .. "=" .. tostring(v) end
  table.sort(keys)
  return table.concat(keys, " ")
end
local function outer(a, b, ...)
  local c = a + b
  print(describe(1))
  print(describe(2))
  return (function() return (describe(2)) end)()
end
print(outer(1, 2, 3))
print(describe(1))
print(describe(20))
for _, f in ipairs({print, outer, string.rep, coroutine.wrap(function() end)}) do
  local i = debug.getinfo(f, "Su")
  print(i.what, i.short_src, i.linedefined, i.nups, i.nparams, i.isvararg)
end

local function locals(a, b, ...)
  local c <const>, d = 10, {}
  for i = 1, 2 do
    local e = i
    local n = 1
    while true do
      local name, value = debug.getlocal(1, n)
      if not name then break end
      io.write(name, "=", type(value), " ")
      n = n + 1
    end
    print()
  end
  print(debug.getlocal(1, -1), debug.getlocal(1, -2), debug.getlocal(1, -3))
  debug.setlocal(1, 1, "changed")
  return a
end
print(locals("first", "second", "third", "fourth"))
print(debug.getlocal(locals, 1), debug.getlocal(locals, 3))
local function level_up() local x = 1 local function set() debug.setlocal(2, 1, 99) end set() return x end
print(level_up())

local up1, up2 = 1, 2
local function f() return up1 end
local function g() return up2 end
print(debug.getupvalue(f, 1)) print(debug.setupvalue(f, 1, 5), up1)
print(debug.upvalueid(f, 1) == debug.upvalueid(g, 1))
debug.upvaluejoin(f, 1, g, 1) print(f())

-- Every kind of hook, in nested and tail calls, in coroutines.
local log = {}
local function hook(event, line)
  local i = debug.getinfo(2, "nS")
  log[#log + 1] = event .. (line and ":" .. line or "") .. "/" .. tostring(i.name)
end
local function leaf(x) return x * 2 end
local function branch(x)
  local y = leaf(x)
  return leaf(y)
end
for _, mask in ipairs({"c", "r", "l", "crl"}) do
  log = {}
  debug.sethook(hook, mask)
  branch(3)
  debug.sethook()
  print(mask, table.concat(log, " "))
end
log = {}
local count = 0
debug.sethook(function() count = count + 1 end, "", 100)
for i = 1, 10000 do local x = leaf(i) end
debug.sethook()
print(count)
print(debug.gethook())
local co = coroutine.create(function() local x = branch(1) coroutine.yield(x) return branch(2) end)
log = {}
debug.sethook(co, hook, "crl")
coroutine.resume(co) coroutine.resume(co)
print(table.concat(log, " "))

-- Set a hook while the callers of its caller already run.
log = {}
local function set_inside() debug.sethook(hook, "l") end
local function calls_it()
  set_inside()
  local x = 1
  return x
end
calls_it()
local after = 1
debug.sethook()
print(table.concat(log, " "))

-- Hooks that fail, and all kinds of tracebacks.
print(pcall(function() debug.sethook(function() debug.sethook() error("from hook") end, "l")
  local x = 1
end))
local function trace(n) if n == 0 then return (debug.traceback("message", 1)) end return (trace(n - 1)) end
print(trace(3))
print(trace(40))
local sleeping = coroutine.create(function() local function inner() coroutine.yield() end inner() end)
coroutine.resume(sleeping)
print(debug.traceback(sleeping)) print(debug.traceback(sleeping, "m", 1)) print(debug.traceback(sleeping, nil, 1))
print(debug.getinfo(sleeping, 1, "l").currentline, debug.getinfo(sleeping, 5))
table.sort({2, 1}, function(a, b) print((debug.traceback("in sort"))) return a < b end)
local t = setmetatable({}, {__index = function(t, k) return (debug.traceback("in index")) end, __add = function() return describe(1, "nS") end})
print(t.x) print(t + 1)
for x in (function() print(describe(1, "nS")) end) do end
setmetatable({}, {__gc = function() print((describe(1, "n"):gsub("table: 0x%x+", ""))) end})
collectgarbage()
print(xpcall(function() local x = nil + 1 end, debug.traceback))
print(debug.getregistry() ~= nil, debug.getmetatable("").__index == string, debug.getuservalue(io.stdout))
