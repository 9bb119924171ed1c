-- Lists delayed events in the order in which they are due.
-- KEYS 1 delayed set
-- ARGV 1 score and 2 first bytes of the last member of the page before, or '' and '',
--      3 most events, 4 most bytes of each, 5 '1' to begin behind all that begin with
--      the bytes, '0' with the first that does not come before them
-- Returns 1 where more follow, else 0, then for each: score, length of the member,
-- its first bytes. The list ends early where the members are large.
-- include rank
local from = 0
if ARGV[1] ~= '' then from = rank(KEYS[1], ARGV[1], ARGV[2], ARGV[5] == '1') end
local out, at, left, room, step = {0}, from, tonumber(ARGV[3]), 1048576, 1
while left > 0 and room > 0 do
  local found = redis.call('ZRANGE', KEYS[1], at, at + math.min(step, left) - 1, 'WITHSCORES') -- they are read whole
  if #found == 0 then break end
  local size = 0
  for m = 1, #found, 2 do
    out[#out + 1], out[#out + 2], out[#out + 3] = found[m + 1], #found[m], string.sub(found[m], 1, tonumber(ARGV[4]))
    size = size + #found[m]
  end
  local n = #found / 2
  at, left, room = at + n, left - n, room - size
  step = math.max(1, math.min(32, 4 * step, math.floor(262144 * n / (size + 1))))
end
if redis.call('ZCARD', KEYS[1]) > at then out[1] = 1 end
return out
