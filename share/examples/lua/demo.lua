-- SPDX-License-Identifier: MIT
-- A script with varied work, for pictures and measurements. It parses formulas and compiles them
-- into closures. A coroutine finds sales in a tree; the closures are evaluated for each sale. The
-- results are sorted and written as a report.
--
--	flamerun -o demo.svg -- build/flamelua share/examples/lua/demo.lua [rounds]

local random_state = 42
local function random(n)
  random_state = (random_state * 1103515245 + 12345) % 2147483648
  return random_state // 65536 % n + 1
end

-- Parse formulas of numbers, names, + - * /, parentheses, max(a, b).

local function tokenize(text)
  local tokens = {}
  for space, number, name, symbol in text:gmatch("(%s*)(%d*)(%a*)(%p?)") do
    if number ~= "" then tokens[#tokens + 1] = {kind = "number", value = tonumber(number)} end
    if name ~= "" then tokens[#tokens + 1] = {kind = "name", value = name} end
    if symbol ~= "" then tokens[#tokens + 1] = {kind = symbol} end
  end
  return tokens
end

local Parser = {}
Parser.__index = Parser

function Parser:accept(kind)
  local token = self.tokens[self.at]
  if token and token.kind == kind then
    self.at = self.at + 1
    return token
  end
end

function Parser:expect(kind)
  return self:accept(kind) or error("expected " .. kind .. " at " .. self.at, 0)
end

function Parser:atom()
  local token = self:accept("number")
  if token then return {"number", token.value} end
  token = self:accept("name")
  if token then
    if not self:accept("(") then return {"name", token.value} end
    local call = {"call", token.value}
    repeat call[#call + 1] = self:sum() until not self:accept(",")
    self:expect(")")
    return call
  end
  self:expect("(")
  local inner = self:sum()
  self:expect(")")
  return inner
end

function Parser:product()
  local left = self:atom()
  while true do
    if self:accept("*") then left = {"*", left, self:atom()}
    elseif self:accept("/") then left = {"/", left, self:atom()}
    else return left end
  end
end

function Parser:sum()
  local left = self:product()
  while true do
    if self:accept("+") then left = {"+", left, self:product()}
    elseif self:accept("-") then left = {"-", left, self:product()}
    else return left end
  end
end

local function parse(text)
  return setmetatable({tokens = tokenize(text), at = 1}, Parser):sum()
end

-- Compile a closure for each node.

local operators = {
  ["+"] = function(a, b) return function(row) return a(row) + b(row) end end,
  ["-"] = function(a, b) return function(row) return a(row) - b(row) end end,
  ["*"] = function(a, b) return function(row) return a(row) * b(row) end end,
  ["/"] = function(a, b) return function(row) return a(row) / b(row) end end,
}

local function compile(node)
  local kind = node[1]
  if kind == "number" then local value = node[2] return function() return value end end
  if kind == "name" then local name = node[2] return function(row) return row[name] end end
  if kind == "call" then
    local f, a, b = math[node[2]], compile(node[3]), compile(node[4])
    return function(row) return f(a(row), b(row)) end
  end
  return operators[kind](compile(node[2]), compile(node[3]))
end

-- Make sales, and put them into a tree sorted by day and shop.

local function make_sales(days)
  local tree = {}
  for day = 1, days do
    tree[day] = {}
    for shop = 1, 5 do
      local rows = {}
      for i = 1, 20 do rows[i] = {price = random(500), count = random(9), cost = random(100)} end
      tree[day][shop] = rows
    end
  end
  return tree
end

local function walk(node)
  if node.price then coroutine.yield(node) return end
  for i = 1, #node do walk(node[i]) end
end

local function each_sale(tree)
  return coroutine.wrap(function() walk(tree) end)
end

local formulas = {
  "price * count - cost",
  "(price - cost / 2) * count + max(price, 100) * (count - 1)",
  "price * count * 100 / (cost + 1) - max(cost * 2, count * 10)",
}

local function evaluate(tree, formula)
  local value, results = compile(parse(formula)), {}
  for sale in each_sale(tree) do
    results[#results + 1] = {sale = sale, value = value(sale)}
  end
  return results
end

local function by_value(a, b)
  if a.value ~= b.value then return a.value > b.value end
  return a.sale.price < b.sale.price
end

local function report(results, lines)
  for i = 1, math.min(#results, 400) do
    local r = results[i]
    lines[#lines + 1] = string.format("%4d  %9.2f  %s", i, r.value, ("*"):rep(r.sale.count))
  end
  return table.concat(lines, "\n")
end

local function words_of(text)
  local count = {}
  for word in text:gmatch("%S+") do count[word] = (count[word] or 0) + 1 end
  return count
end

local function try_wrong_formulas()
  local refused = 0
  for _, wrong in ipairs({"price +", "(price", "* 2", "max(1", ")"}) do
    if not pcall(parse, wrong) then refused = refused + 1 end
  end
  return refused
end

local rounds, size, refused = tonumber(arg and arg[1]) or 40, 0, 0
for round = 1, rounds do
  local tree = make_sales(20)
  for _, formula in ipairs(formulas) do
    local results = evaluate(tree, formula)
    table.sort(results, by_value)
    local text = report(results, {})
    size = size + #text
    words_of(text)
  end
  refused = refused + try_wrong_formulas()
end
print(rounds .. " rounds", size .. " bytes", refused .. " refused")
