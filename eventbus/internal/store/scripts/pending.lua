-- Lists delayed events in the order in which they are due.
-- KEYS 1 delayed set
-- ARGV 1 score and 2 first bytes of the last member of the page before, or '' and '',
--      3 most events, 4 most bytes of each
-- Returns for each: score, length of the member, its first bytes.
-- include rank
local from = 0
if ARGV[1] ~= '' then from = rank(KEYS[1], ARGV[1], ARGV[2], true) end
local out, room = {}, 1048576
for i = from, from + tonumber(ARGV[3]) - 1, 10 do
  -- few at a time: they are read whole
  local found = redis.call('ZRANGE', KEYS[1], i, math.min(i + 9, from + tonumber(ARGV[3]) - 1), 'WITHSCORES')
  for m = 1, #found, 2 do
    out[#out + 1] = found[m + 1]
    out[#out + 1] = #found[m]
    out[#out + 1] = string.sub(found[m], 1, tonumber(ARGV[4]))
    room = room - #found[m]
  end
  if #found == 0 or room <= 0 then break end
end
return out
