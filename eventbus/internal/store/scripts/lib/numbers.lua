-- Numbers as bytes. struct.pack would do it, but not every server has it.
local floor, char = math.floor, string.char
local function six(n) -- big-endian, whose order is that of the numbers
  local high, low = floor(n / 16777216), n % 16777216
  return char(floor(high / 65536) % 256, floor(high / 256) % 256, high % 256, floor(low / 65536), floor(low / 256) % 256, low % 256)
end
local function length(n) -- 8 bytes, little-endian
  return string.reverse(six(n)) .. '\0\0'
end
local function number(bytes)
  local n = 0
  for i = 1, #bytes do n = n * 256 + string.byte(bytes, i) end
  return n
end
