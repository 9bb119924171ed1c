-- Moves delayed events that are due into the queue.
-- KEYS 1 config, 2 queue, 3 bell, 4 delayed set, 5 index, 6 order list, 7 list of
--      members that cannot be read, 8 counts
-- ARGV 1 field of the group in config, 2 most members, 3 most bytes (the last may
--      go over), 4 'LPUSH' or 'RPUSH', 5 '1' to ring the bell
-- Returns {number moved, µs until the next is due (-1: none), number set aside}.
-- A disabled topic keeps what it has.
-- include numbers
-- include index
-- include tidy
local c = redis.call('HMGET', KEYS[1], 'enabled', ARGV[1])
if c[1] ~= '1' or not c[2] then return {0, -1, 0} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local left = math.min(redis.call('ZCOUNT', KEYS[4], '-inf', now), tonumber(ARGV[2]))
redis.call('LLEN', KEYS[2])
redis.call('LLEN', KEYS[3])
local indexed = redis.call('HLEN', KEYS[5]) > 0
local listed = redis.call('LLEN', KEYS[6]) > 0
redis.call('LLEN', KEYS[7])

-- The payload of a member, nil where it is neither of Redisson's two forms.
local lengths = {} -- as they stand in members
local function payload(m)
  for form = 1, 2 do -- 8, id (8 bytes), length, payload; or number (8 bytes), length, payload
    local head = form == 1 and 17 or 16
    if #m >= head and (form == 2 or string.byte(m, 1) == 8) then
      local n = #m - head
      lengths[n] = lengths[n] or length(n)
      if string.sub(m, head - 7, head) == lengths[n] then return string.sub(m, head + 1) end
    end
  end
end

-- Rids the next slots of the index of what was moved out: so many, or as many as
-- have 64 KiB. It goes slot by slot, and not event by event, which would cost more
-- than all the rest.
local function forget(slots, head)
  local next, seen, bytes = tonumber(redis.call('HGET', KEYS[1], 'shed') or 0), 0, 0
  while seen < slots and bytes < 65536 do
    local fields, kept, gone = {}, {}, {}
    for i = next + seen, next + math.min(seen + 20, slots) - 1 do fields[#fields + 1] = string.sub(six(i), 5) end
    seen = seen + #fields
    local found = redis.call('HMGET', KEYS[5], unpack(fields))
    for i = 1, #fields do
      local slot = found[i] and shed(found[i], head)
      if slot then bytes = bytes + #found[i] end
      if slot == '' then
        gone[#gone + 1] = fields[i]
      elseif slot and #slot < #found[i] then
        kept[#kept + 1], kept[#kept + 2] = fields[i], slot
      end
    end
    if #kept > 0 then redis.call('HSET', KEYS[5], unpack(kept)) end
    if #gone > 0 then redis.call('HDEL', KEYS[5], unpack(gone)) end
  end
  redis.call('HINCRBY', KEYS[1], 'shed', seen)
end

local moved, aside, room, step = 0, 0, tonumber(ARGV[3]), 4
-- A user may be refused any of the commands, and what was done before stays done. So
-- it is asked whether members can be removed, of none, and they are pushed first. (It
-- is a write, after which a server without memory lets the pushes pass.)
if left > 0 then redis.call('ZREMRANGEBYRANK', KEYS[4], 1, 0) end
while left > 0 and room > 0 do
  local n = math.min(step, left)
  if n > 1 then
    -- step goes by the sizes of those before: where larger ones come, go slowly
    local size = math.max(#redis.call('ZRANGE', KEYS[4], n - 1, n - 1)[1], #redis.call('ZRANGE', KEYS[4], math.floor(n / 2), math.floor(n / 2))[1])
    if size * n > 524288 then n = math.max(1, math.floor(262144 / size)) end
  end
  local members = redis.call('ZRANGE', KEYS[4], 0, n - 1)
  local entries, bad, places, size = {}, {}, {}, 0
  for i = 1, n do
    local entry = payload(members[i])
    if entry then
      entries[#entries + 1] = entry
    else
      bad[#bad + 1], places[#places + 1] = members[i], i - 1
    end
    size = size + #members[i]
  end
  if #bad > 0 then
    redis.call(ARGV[4], KEYS[7], unpack(bad))
    for i = #places, 1, -1 do redis.call('ZREMRANGEBYRANK', KEYS[4], places[i], places[i]) end
  end
  if #entries > 0 then
    redis.call(ARGV[4], KEYS[2], unpack(entries))
    redis.call('ZREMRANGEBYRANK', KEYS[4], 0, #entries - 1)
  end
  moved, aside, left, room = moved + #entries, aside + #bad, left - n, room - size
  step = math.max(1, math.min(32, 4 * step, math.floor(262144 * n / (size + 1))))
end

if moved > 0 and ARGV[5] == '1' and redis.call('LLEN', KEYS[3]) == 0 then redis.call('LPUSH', KEYS[3], '1') end
if aside > 0 then redis.pcall('HINCRBY', KEYS[8], 'unreadable', aside) end
local head = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2]
if not head then
  -- Others move events too, and know of neither: Redisson takes from the order list
  -- what it moves itself, and leaves what was moved here.
  if indexed then redis.call('UNLINK', KEYS[5]) end
  if listed then redis.call('UNLINK', KEYS[6]) end
  return {moved, -1, aside}
end
if listed then tidy(KEYS[6], KEYS[4], 2 * (moved + aside) + 10) end
if indexed and moved > 0 then forget(math.ceil(moved / 16), tonumber(head) or math.huge) end
-- a score beyond all times may be there: whoever has written it, it is never due
local wait = (tonumber(head) or math.huge) * 1000 - (t[1] * 1000000 + t[2])
return {moved, math.max(0, math.min(wait, 1e15)), aside}
