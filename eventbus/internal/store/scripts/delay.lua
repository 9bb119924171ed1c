-- Puts events into the delayed set of every group of a topic, or into its queue
-- where they are due already: all of them or none.
-- KEYS 1 config, then for each group: queue, bell, counts, delayed set, index, order list
-- ARGV 1 revision under which the sender has read the groups
--      2 '1' to ring the bells
--      3 '1' to keep the order lists
--      4 most ms that an event may be delayed
--      5 form of the members: 8, or 7 for one that older Redissons read too
--      then for each group: channel
--      then for each event: when it is due ('' now, '+' and ms from now, '@' and
--      epoch ms), key (8 bytes), entry
-- Returns {status, which, number}: 1 sent (number: channels that this user may not
-- publish on, which: the last such group), 0 no topic, -1 being deleted, -2 settings
-- have changed, -3 disabled, -4 full (which: number of the group, number: how many
-- wait), -5 too far off (which: number of the event, number: epoch ms now), -6 as -4
-- for the delayed set.
-- include numbers
-- include index
local c = redis.call('HMGET', KEYS[1], 'rev', 'enabled', 'max_waiting', 'deleting')
if not c[1] then return {0} end
if c[4] then return {-1} end
if c[2] ~= '1' then return {-3} end
if c[1] ~= ARGV[1] then return {-2} end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local groups = (#KEYS - 1) / 6
local first, form = 6 + groups, tonumber(ARGV[5])
local due, soonest, later, direct = {}, math.huge, {}, {}
for i = first, #ARGV, 3 do
  local at = tonumber(string.sub(ARGV[i], 2)) or 0
  local from = now
  -- a millisecond that has begun is rounded up, so that nothing comes early
  if string.sub(ARGV[i], 1, 1) == '+' then
    from = t[1] * 1000 + math.ceil(t[2] / 1000)
    at = from + at
  end
  if at - from > tonumber(ARGV[4]) then return {-5, (i - first) / 3 + 1, now} end
  if at > now then
    due[i] = at
    soonest = math.min(soonest, at)
    later[#later + 1] = i
  else
    direct[#direct + 1] = ARGV[i + 2]
  end
end

local most = tonumber(c[3] or 0)
local heads = {}
for g = 2, #KEYS, 6 do
  local waiting = redis.call('LLEN', KEYS[g])
  if most > 0 and #direct > 0 and waiting + #direct > most then return {-4, (g + 4) / 6, waiting} end
  local pending = redis.call('ZCARD', KEYS[g + 3])
  if most > 0 and #later > 0 and pending + #later > most then return {-6, (g + 4) / 6, pending} end
  -- all keys are read before the first of them is written
  redis.call('LLEN', KEYS[g + 1])
  redis.call('HLEN', KEYS[g + 4])
  redis.call('LLEN', KEYS[g + 5])
  heads[g] = tonumber(redis.call('ZRANGE', KEYS[g + 3], 0, 0, 'WITHSCORES')[2]) or math.huge
end

local order, members, fields = 0, {}, {}
local function member(e, number)
  local i = later[e]
  return char(form) .. string.sub(six(number), 9 - form) .. fields[e] .. length(#ARGV[i + 2]) .. ARGV[i + 2]
end

-- Puts the delayed events from one to another into the group whose keys begin at g.
local function put(g, from, to)
  local set, index, scored, slots = KEYS[g + 3], KEYS[g + 4], {}, {}
  local there = redis.call('ZMSCORE', set, unpack(members, from, to))
  local known = redis.call('HMGET', index, unpack(fields, from, to))
  for e = from, to do
    local i, field, m, n = later[e], fields[e], members[e], order + e
    local taken = there[e - from + 1]
    while taken do -- the counter was lost: that member would only be given another time
      n = redis.call('HINCRBY', KEYS[1], 'delayed', 1)
      m = member(e, n)
      taken = redis.call('ZSCORE', set, m)
      if ARGV[3] == '1' then redis.call('RPUSH', KEYS[g + 5], m) end
    end
    scored[#scored + 1], scored[#scored + 2] = due[i], m
    local slot = slots[field] or known[e - from + 1] or ''
    if #slot > 0 and #slot % (16 * RECORD) == 0 then slot = shed(slot, math.min(heads[g], soonest)) end
    if #slot < MOST * RECORD then slot = slot .. string.sub(ARGV[i + 1], 3, 8) .. six(n) .. six(due[i]) end
    slots[field] = slot
  end
  redis.call('ZADD', set, unpack(scored))
  local indexed = {}
  for field, slot in pairs(slots) do
    indexed[#indexed + 1], indexed[#indexed + 2] = field, slot
  end
  redis.call('HSET', index, unpack(indexed))
end

if #later > 0 then
  for e, i in ipairs(later) do fields[e] = string.sub(ARGV[i + 1], 1, 2) end
  -- A user may be refused any of the commands, and what was done before stays done:
  -- so they are tried first where they change nothing, or nothing that matters.
  for g = 2, #KEYS, 6 do
    redis.call('ZMSCORE', KEYS[g + 3], '')
    redis.call('ZADD', KEYS[g + 3], 'XX', 'GT', '-inf', '')
    redis.call('HSET', KEYS[g + 4], fields[1], redis.call('HMGET', KEYS[g + 4], fields[1])[1] or '')
  end
  order = redis.call('HINCRBY', KEYS[1], 'delayed', #later) - #later
  for e = 1, #later do members[e] = member(e, order + e) end
  for g = 2, #KEYS, 6 do
    if ARGV[3] == '1' then
      for e = 1, #later, 200 do redis.call('RPUSH', KEYS[g + 5], unpack(members, e, math.min(e + 199, #later))) end
    end
  end
end
local out = {1, 0, 0}
for g = 2, #KEYS, 6 do
  if soonest < heads[g] then
    local told = redis.pcall('PUBLISH', ARGV[5 + (g + 4) / 6], string.format('%.0f', soonest))
    if type(told) == 'table' then out = {1, (g + 4) / 6, out[3] + 1} end
  end
  for e = 1, #direct, 500 do redis.call('LPUSH', KEYS[g], unpack(direct, e, math.min(e + 499, #direct))) end
  for e = 1, #later, 200 do put(g, e, math.min(e + 199, #later)) end
  if #direct > 0 and ARGV[2] == '1' and redis.call('LLEN', KEYS[g + 1]) == 0 then
    redis.call('LPUSH', KEYS[g + 1], '1')
  end
  redis.pcall('HINCRBY', KEYS[g + 2], 'sent', #later + #direct)
end
return out
