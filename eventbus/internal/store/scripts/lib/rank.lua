-- Of the members with this score, the rank of the first that does not come before
-- the given bytes, or, with after, that comes behind all that begin with them.
-- Members of one score lie in the order of their bytes; Lua's < would compare them
-- by the server's locale.
local function rank(set, score, bytes, after)
  local low = redis.call('ZCOUNT', set, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', set, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = redis.call('ZRANGE', set, middle, middle)[1]
    local before = after
    for i = 1, #bytes do
      local a, b = string.byte(member, i) or -1, string.byte(bytes, i)
      if a ~= b then
        before = a < b
        break
      end
    end
    if before then low = middle + 1 else high = middle end
  end
  return low
end
