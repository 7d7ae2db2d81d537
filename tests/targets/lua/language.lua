-- SPDX-License-Identifier: MIT
-- The language at large: loops, goto, closures, metamethods, modules, strings.
for i = 1, 3 do
  for j = 1, 3 do
    if j == 2 then goto continue end
    io.write(i, ":", j, " ")
    ::continue::
  end
end
print()
do local i = 1 ::top:: if i <= 3 then io.write(i, " ") i = i + 1 goto top end print() end

local functions = {}
for i = 1, 3 do functions[i] = function(d) i = i + d return i end end
print(functions[1](10), functions[2](20), functions[1](1), functions[3](0))
local function counter() local n = 0 return function() n = n + 1 return n end, function() return n end end
local inc, get = counter()
inc() inc()
print(get(), inc(), get())

print(7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, 2^10, 10 / 2, 3 | 4, 5 ~ 1, ~0, 1 << 62, "10" + 5, 10 .. 20)
print(math.maxinteger + 1 == math.mininteger, math.type(1), math.type(1.0), 1 == 1.0, 0x7fp3, 1e308 * 10)
print(select("#"), select("#", nil, nil), select(-1, 1, 2, 3), (select(2, "a", "b", "c")))
print(table.unpack({1, 2, nil, 4}, 1, 4))
print(#"\u{48}\x49\z
       \74", "\65\066", [[
long]], [==[with ]] inside]==])
print(pcall(load, "x = = 1"), load("x = = 1"))
print(load("goto nowhere"))
print(load("local x <const> = 1; x = 2"))
print(string.format("%5.2f|%-5s|%05d|%x|%q|%a|%c|%i|%g|%s", 3.14159, "ab", 42, 255, "a\n\0b", 1.0, 65, 7, 1e20, setmetatable({}, {__tostring = function() return "object" end})))
print(("hello world"):gsub("o", {o = "0"}), ("abc"):gsub("%w", "%0%0"), ("abc"):gsub("", "-"))
print(("key = value"):match("^(%w+)%s*=%s*(%w+)$"), ("x"):rep(3, ","), ("abc"):byte(1, -1))
for w, n in ("one two three"):gmatch("(%w)(%w+)") do io.write(w, "/", n, " ") end
print()
print(("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):find("%((%a+)%)"), ("  trim  "):match("^%s*(.-)%s*$"))
print(string.pack("<i4z", 100, "hi"):byte(1, -1))
print(utf8.char(228, 8364, 0x10FFFF), utf8.len("äö"), #utf8.char(8364))
for p, c in utf8.codes("aä€") do io.write(p, "=", c, " ") end
print()

-- Objects.
local Account = {} Account.__index = Account
function Account.new(b) return setmetatable({balance = b}, Account) end
function Account:deposit(v) self.balance = self.balance + v return self end
Account.__eq = function(a, b) return a.balance == b.balance end
Account.__lt = function(a, b) return a.balance < b.balance end
Account.__le = function(a, b) return a.balance <= b.balance end
Account.__len = function(a) return a.balance end
Account.__call = function(a, x) return a.balance * x end
Account.__concat = function(a, b) return (type(a) == "table" and a.balance or a) .. "&" .. (type(b) == "table" and b.balance or b) end
Account.__tostring = function(a) return "Account " .. a.balance end
Account.__name = "Account"
local a, b = Account.new(10), Account.new(20)
print(a < b, a <= b, a == b, #a, a(3), a .. b, a .. "x", "x" .. b, tostring(a:deposit(10)), a == b)
local Special = setmetatable({}, {__index = Account}) Special.__index = Special
function Special:withdraw(v) return self:deposit(-v) end
print(setmetatable({balance = 5}, Special):withdraw(3).balance)
local log = {}
local proxy = setmetatable({}, {__index = function(t, k) log[#log + 1] = "get " .. k return k .. "!" end,
  __newindex = function(t, k, v) log[#log + 1] = "set " .. k rawset(t, k, v) end})
proxy.a = proxy.b
print(proxy.a, rawget(proxy, "b"), table.concat(log, ","))
print(pcall(function() return {} + 1 end))
print(pcall(function() return #5 end))
print(pcall(function() local t = nil; t.x = 1 end))
print(pcall(function() undefinedglobal.x() end))
print(pcall(function() return 1 < "2" end))
print(pcall(function() return {} .. "x" end))
print(pcall(function() return 2^53 | 0.5 end))
print(pcall(string.rep))
print(pcall(string.rep, "x", -1))
print(pcall(setmetatable, 1, {}))
print(pcall(ipairs))
print(select(2, pcall(("x").bad)))

-- Tables.
local t = {5, 2, 8, 1, 9, 3}
table.sort(t) print(table.concat(t, " "))
table.sort(t, function(x, y) return x > y end) print(table.concat(t, " "))
print(pcall(table.sort, {3, 1, 2, 5, 4, 7, 6, 9, 8, 10}, function() return true end))
table.insert(t, 1, 0) table.insert(t, 11) print(table.remove(t), table.remove(t, 1), #t)
print(table.concat(table.move({1, 2, 3}, 1, 3, 2), " "), table.pack(1, nil, 3).n)
for i, v in ipairs(setmetatable({}, {__index = function(_, i) if i < 4 then return i * i end end})) do io.write(i, "=", v, " ") end
print()
for k, v in pairs(setmetatable({}, {__pairs = function() return function(_, k) if not k then return 1, 2 end end, {}, nil end})) do print(k, v) end
print(next({}), type(next), rawequal(t, t), rawlen({1, 2}))
print(select(1, pairs({})) == next, ipairs == ipairs, string.rep == ("").rep)

-- Modules.
package.preload.mod = function(name, extra) return {name = name, extra = extra} end
print(require("mod").name, select(2, require("mod")), package.loaded.mod == require("mod"))
print(pcall(require, "no.such.module.anywhere") == false)
print(os.time({year = 2001, month = 9, day = 9, hour = 12}) ~= nil, os.date("!%Y-%m-%d", 0), type(os.clock()))
print(io.open("/nonexistent/file"))
print(io.type(io.stdout), io.type(42), tostring(io.stdout):match("^file"))
local file = io.tmpfile() file:write("a\nb\n1 0x10 3.5") file:seek("set")
print(file:read("l", "L", "n", "n", "n", "a"))
file:close() print(pcall(file.read, file)) print(tostring(file))
local pipe = io.popen("echo out; exit 3") print(pipe:read("a"), pipe:close())
print(os.execute("exit 4")) print(os.getenv("NO_SUCH_VARIABLE_HERE"))
