-- The index of delayed events by their ids; see delayed.go. A slot of it is a row
-- of records of 18 bytes: 6 of the event's key, 6 of the order, 6 of the due time.
local RECORD, KEY, ORDER, DUE = 18, 1, 7, 13
-- where the record begins whose 6 bytes at the given place are these; nil for none
local function record(slot, place, bytes)
  local at = 0
  repeat
    at = string.find(slot, bytes, at + 1, true)
    if at and (at - place) % RECORD == 0 then return at - place + 1 end
  until not at
end
local function without(slot, at)
  return string.sub(slot, 1, at - 1) .. string.sub(slot, at + RECORD)
end
-- the slot without the records of what was due before the head: it was moved out
local function shed(slot, head)
  for r = #slot - RECORD + 1, 1, -RECORD do
    if number(string.sub(slot, r + DUE - 1, r + RECORD - 1)) < head then slot = without(slot, r) end
  end
  return slot
end
local function store(index, field, slot)
  if slot == '' then redis.call('HDEL', index, field) else redis.call('HSET', index, field, slot) end
end
