-- Numbers as bytes. struct.pack would do it, but not every server has it.
local function big(n, width) -- big-endian, whose order is that of the numbers
  local out = {}
  for i = width, 1, -1 do
    out[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(out)
end
local function number(bytes)
  local n = 0
  for i = 1, #bytes do n = n * 256 + string.byte(bytes, i) end
  return n
end
