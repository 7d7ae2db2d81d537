-- lua_truth.lua MS [deep|untold N]: for MS, call work() below functions, closures, and everything
-- that calls Lua functions: metamethods, string.gsub, table.sort, iterators, load, finalizers; in
-- coroutines, protected calls and after errors. Prints "stack FILE:FIRST:LINE;FILE:FIRST"
-- for each stack in which work() was called, outermost function first, as debug.getinfo() reports
-- it: the line at which a function begins, and its current line, which work() does not have; and
-- "name FILE:FIRST NAME" for each name by which a function is called. For Lua 5.1 to 5.5 and
-- LuaJIT.
local ms, how, depth = tonumber(arg[1]), arg[2], tonumber(arg[3])
local stacks, names, outer = {}, {}, setmetatable({}, {__mode = "k"})
local unpack, loadtext, main = table.unpack or unpack, loadstring or load, {}
local calls, rounds, finalizers = 0, 0, 0

-- Return this coroutine's functions from @level on, innermost first, followed by its resumer's.
local function tell_functions(level)
	local told, info = {}, debug.getinfo(level, "Sln")
	while info do
		if info.what == "Lua" or info.what == "main" then
			local key = info.source:match("[^/@=]*$") .. ":" .. math.max(info.linedefined, 1)
			told[#told + 1] = key .. ":" .. info.currentline
			if info.name then
				names[key .. " " .. info.name] = true
			end
		end
		level = level + 1
		info = debug.getinfo(level, "Sln")
	end
	for _, name in ipairs(outer[coroutine.running() or main] or {}) do
		told[#told + 1] = name
	end
	return told
end

local function note_stack()
	local told, reversed = tell_functions(3), {}
	told[1] = told[1]:match("^.*:%d+")
	for i = #told, 1, -1 do
		reversed[#reversed + 1] = told[i]
	end
	reversed[#reversed] = told[1]:match("^(.*):%d+$")
	stacks[table.concat(reversed, ";")] = true
end

function work(n)
	local x = 0
	-- Noting a stack takes long, and later stacks are the same, except for those of finalizers.
	calls = calls + 1
	if finalizers > 0 or rounds < 3 and (not how or how == "deep" and calls < 3) then
		note_stack()
	end
	for i = 1, n do
		x = (x * 31 + i) % 1000003
	end
	return x
end

local function resumes(co, ...) outer[co] = tell_functions(2) local _, value = assert(coroutine.resume(co, ...)) return value end

local function deep(left)
	if left > 0 then
		return deep(left - 1) + 1
	end
	return work(3000)
end

local function closures()
	local list, x = {}, 0
	for n = 1, 3 do
		list[n] = function() return work(2000) + n end
	end
	for _, closure in ipairs(list) do
		x = x + closure()
	end
	return x
end

local Number = {}
Number.__index = function(_, name) work(1000) return rawget(Number, name) end
Number.__newindex = function(t, name, value) work(1000) rawset(t, name, value) end
Number.__add = function(a, b) return work(1000) + #tostring(b) end
Number.__unm = function(a) return work(1000) end
Number.__concat = function(a, b) work(1000) return "x" end
Number.__eq = function(a, b) work(1000) return true end
Number.__lt = function(a, b) return work(1000) > 3 end
Number.__le = function(a, b) return work(1000) > 3 end
Number.__call = function(self, n) return work(n) + 1 end
Number.__tostring = function() work(1000) return "number" end
Number.__gc = function()
	finalizers = finalizers + 1
	work(300)
	finalizers = finalizers - 1
end
function Number:method(n)
	local x = work(n)
	return x
end

local function metamethods()
	local a, b = setmetatable({}, Number), setmetatable({}, Number)
	local x = a + 3
	x = -b + x
	local s = a .. "y"
	local same, less = a == b, a < b
	less = a <= b
	a.field = a.other
	x = x + a(1000)
	s = tostring(a)
	x = x + a:method(1000)
	return x, s, same, less
end

local function callbacks()
	local s = ("a b c"):gsub("%a", function(c) work(1000) return c end)
	local list = {3, 1, 2, 5, 4}
	table.sort(list, function(a, b) work(200) return a < b end)
	local x = 0
	for n in (function() local n = 0 return function() work(1000) n = n + 1 return n < 4 and n or nil end end)() do
		x = x + n
	end
	return s, list, x
end

local function loaded()
	local parts = {"return ", "work(1000)"}
	local n = 0
	local chunk = load(function() work(300) n = n + 1 return parts[n] end, "=chunk")
	local x = chunk()
	x = x + loadtext("local f = function(n)\nreturn work(n) + 1\nend\nreturn f(1000) + 1", "=text")()
	return x
end

local function fails(n)
	work(1000)
	if n > 0 then
		fails(n - 1)
	end
	error({why = "x"})
end

local function handles(message)
	work(1000)
	return message
end

local function caught()
	local _, why = pcall(fails, 3)
	work(1000)
	xpcall(function() fails(1) end, handles)
	pcall(pcall, fails, 1)
	pcall(function() local x = why.why.why.why end)
	work(1000)
end

local function protected(left)
	if left == 0 then
		return work(3000)
	end
	local _, x = pcall(protected, left - 1)
	return x
end

local function tails(n)
	if n == 0 then
		return work(1000)
	end
	return tails(n - 1)
end

local function several(...)
	local first = ...
	local x = work(first) + select("#", ...)
	return x
end

local function generates(n)
	for i = 1, n do
		work(500)
		coroutine.yield(i)
		work(500)
	end
	return n
end

local function coroutines()
	local co = coroutine.create(generates)
	local x = 0
	for i = 1, 4 do
		x = x + resumes(co, 3)
	end
	local inner = coroutine.create(function(n)
		local nested = coroutine.create(function(m) work(m) return generates(2) end)
		work(n)
		for i = 1, 2 do
			resumes(nested, n)
			coroutine.yield(i)
		end
		return resumes(nested)
	end)
	for i = 1, 3 do
		resumes(inner, 500)
	end
	return x
end

-- Functions called by pcall() can yield since 5.2.
local function yields_protected()
	local co = coroutine.create(function()
		local _, x = pcall(function()
			generates(2)
			local _, y = pcall(generates, 1)
			return work(500) + y
		end)
		return work(500) + x
	end)
	while coroutine.status(co) == "suspended" do
		resumes(co)
	end
end

local function collects()
	local list = {}
	for i = 1, 30 do
		list[i] = setmetatable({i}, Number)
	end
	list = nil
	collectgarbage()
	work(1000)
end

local function grows(n, ...)
	if n == 0 then
		return work(1000)
	end
	return grows(n - 1, n, ...) + 1
end

-- LuaJIT's FFI: C code that is called directly and calls a Lua function. Compiled code must not.
local has_ffi, ffi = pcall(require, "ffi")
if has_ffi then
	ffi.cdef("void qsort(void *base, size_t count, size_t size, int (*compare)(const int *, const int *));")
	local function compares(a, b)
		work(200)
		return a[0] - b[0]
	end
	local compare = ffi.cast("int (*)(const int *, const int *)", compares)
	local function sorts(list)
		ffi.C.qsort(list, 5, 4, compare)
		return list[0]
	end
	jit.off(sorts)
	function foreign()
		return work(sorts(ffi.new("int[5]", 3, 1, 2, 5, 4)) * 500)
	end
end

local function run_all()
	deep(60)
	closures()
	metamethods()
	callbacks()
	loaded()
	caught()
	protected(40)
	tails(5)
	several(1000, 2, 3)
	coroutines()
	if pcall(coroutine.wrap(function() assert(pcall(coroutine.yield)) end)) then
		yields_protected()
	end
	collects()
	grows(40)
	if foreign then
		foreign()
	end
end

local start = os.clock()
while os.clock() - start < ms / 1000 do
	if how then
		deep(depth)
		pcall(deep, math.floor(depth / 2))
	else
		-- Run for longer than a tick between two reads of the clock, as spin_until() in
		-- spin.h explains.
		for _ = 1, 5 do
			run_all()
			rounds = rounds + 1
		end
	end
end
for stack in pairs(stacks) do
	print("stack " .. stack)
end
for name in pairs(names) do
	print("name " .. name)
end
