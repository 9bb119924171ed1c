-- The index of delayed events by their ids; see delayed.go. A slot of it is a row
-- of records of 18 bytes: 6 of the event's key, 6 of the order, 6 of the due time.
-- It has at most MOST records, so that an id that thousands bear costs no more.
local RECORD, DUE, MOST = 18, 13, 1000
-- the slot without the records of what was due before the head: it was moved out
local function shed(slot, head)
  local kept
  for r = 1, #slot, RECORD do
    local a, b, c, d, e, f = string.byte(slot, r + DUE - 1, r + RECORD - 1)
    if ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f >= head then
      if kept then kept[#kept + 1] = string.sub(slot, r, r + RECORD - 1) end
    elseif not kept then
      kept = {string.sub(slot, 1, r - 1)}
    end
  end
  return kept and table.concat(kept) or slot
end
local function store(index, field, slot)
  if slot == '' then redis.call('HDEL', index, field) else redis.call('HSET', index, field, slot) end
end
