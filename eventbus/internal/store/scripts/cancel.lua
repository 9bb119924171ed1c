-- Cancels the delayed events of one id in every group in which they are pending.
-- KEYS for each group: delayed set, index, order list, counts
-- ARGV 1 key of the event (8 bytes)
--      2 most records to look at in each group
-- Returns 1 where there are more, else 0, then for each group how many were cancelled.
-- include numbers
-- include index
-- include rank
-- include tidy
local field, key = string.sub(ARGV[1], 1, 2), string.sub(ARGV[1], 3, 8)
for g = 1, #KEYS, 4 do
  redis.call('ZCARD', KEYS[g])
  redis.call('HLEN', KEYS[g + 1])
  redis.call('LLEN', KEYS[g + 2])
end

-- Removes the event that a record tells, if it is pending.
local function cancel(set, one)
  local due = string.format('%.0f', number(string.sub(one, DUE)))
  for form = 8, 7, -1 do
    local head = char(form) .. string.sub(one, 15 - form, 12) .. field -- the counter, of 6 or 5 bytes
    local place = rank(set, due, head)
    local member = redis.call('ZRANGE', set, place, place, 'WITHSCORES')
    if member[1] and string.sub(member[1], 1, #head) == head and tonumber(member[2]) == tonumber(due) then
      redis.call('ZREMRANGEBYRANK', set, place, place)
      return 1
    end
  end
  return 0
end

local out = {0}
for g = 1, #KEYS, 4 do
  local slot = redis.call('HGET', KEYS[g + 1], field) or ''
  local kept, looks, cancelled = {}, 0, 0
  for at = 1, #slot, RECORD do
    local one = string.sub(slot, at, at + RECORD - 1)
    if string.sub(one, 1, 6) ~= key then
      kept[#kept + 1] = one
    elseif looks == tonumber(ARGV[2]) then
      kept[#kept + 1], out[1] = one, 1
    else
      looks = looks + 1
      cancelled = cancelled + cancel(KEYS[g], one)
    end
  end
  if looks > 0 then store(KEYS[g + 1], field, table.concat(kept)) end
  if cancelled > 0 then
    tidy(KEYS[g + 2], KEYS[g], 100)
    if redis.call('ZCARD', KEYS[g]) == 0 then redis.call('UNLINK', KEYS[g + 1]) end
    redis.pcall('HINCRBY', KEYS[g + 3], 'cancelled', cancelled)
  end
  out[#out + 1] = cancelled
end
return out
