-- Cancels the delayed events of one id in every group in which they are pending.
-- KEYS for each group: delayed set, index, order list
-- ARGV 1 key of the event (8 bytes)
-- Returns for each group how many were cancelled.
-- include numbers
-- include index
-- include rank
-- include tidy
local field, key = string.sub(ARGV[1], 1, 2), string.sub(ARGV[1], 3, 8)
for g = 1, #KEYS, 3 do
  redis.call('ZCARD', KEYS[g])
  redis.call('HLEN', KEYS[g + 1])
  redis.call('LLEN', KEYS[g + 2])
end
local out = {}
for g = 1, #KEYS, 3 do
  local cancelled = 0
  local slot = redis.call('HGET', KEYS[g + 1], field)
  local at = slot and record(slot, KEY, key)
  while at do
    local order = string.sub(slot, at + ORDER - 1, at + ORDER + 4)
    local due = string.format('%.0f', number(string.sub(slot, at + DUE - 1, at + RECORD - 1)))
    slot = without(slot, at)
    for form = 8, 7, -1 do
      local head = string.char(form) .. string.sub(order, 9 - form) .. field
      local place = rank(KEYS[g], due, head)
      local member = redis.call('ZRANGE', KEYS[g], place, place, 'WITHSCORES')
      if member[1] and string.sub(member[1], 1, #head) == head and tonumber(member[2]) == tonumber(due) then
        redis.call('ZREM', KEYS[g], member[1])
        cancelled = cancelled + 1
        break
      end
    end
    store(KEYS[g + 1], field, slot)
    at = record(slot, KEY, key)
  end
  if cancelled > 0 then
    tidy(KEYS[g + 2], KEYS[g], 100)
    if redis.call('ZCARD', KEYS[g]) == 0 then redis.call('UNLINK', KEYS[g + 1]) end
  end
  out[#out + 1] = cancelled
end
return out
