-- Ends entries in flight: done, failed, put back, each exactly once, since only
-- the call that removes the receipt goes on with the rest.
-- KEYS 1 config, 2 in flight, 3 failures, 4 retry, 5 dead, 6 returns, 7 bell, 8 counts
-- ARGV 1 field of the group in config
--      2 most failures in the dead set, 0 for no limit
--      3 number of receipts that are simply done, then these
--      then for each other entry: its receipt ('' where none was given out),
--      number of its parts (0: done), and for each part
--        'back', 'L' or 'R' (end of the list), entry
--        'retry', 'later' (put off without an attempt) or 'dead', failure id,
--        delay in ms (not for 'dead'), meta, entry
-- Returns {number of entries ended, number of failures dropped at the limit}.
local simple = tonumber(ARGV[3])
local ended, back, dead = 0, 0, 0
local totals = {done = 0, retry = 0, later = 0, dead = 0}
local c, now
if #ARGV > 3 + simple then
  -- all keys are read before the first of them is written
  c = redis.call('HEXISTS', KEYS[1], ARGV[1])
  redis.call('HLEN', KEYS[2])
  redis.call('HLEN', KEYS[3])
  redis.call('ZCARD', KEYS[4])
  redis.call('ZCARD', KEYS[5])
  redis.call('LLEN', KEYS[6])
  redis.call('LLEN', KEYS[7])
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
for i = 4, 3 + simple, 1000 do
  ended = ended + redis.call('HDEL', KEYS[2], unpack(ARGV, i, math.min(i + 999, 3 + simple)))
end
totals.done = ended

local at = 4 + simple
while at <= #ARGV do
  local receipt, parts = ARGV[at], tonumber(ARGV[at + 1])
  local mine
  if receipt == '' then
    mine = c == 1 -- a topic or group deleted meanwhile is not brought back
  else
    mine = redis.call('HDEL', KEYS[2], receipt) == 1
  end
  if mine then
    ended = ended + 1
    if parts == 0 then totals.done = totals.done + 1 end
  end
  at = at + 2
  for _ = 1, parts do
    local kind = ARGV[at]
    if kind == 'back' then
      if mine then
        redis.call(ARGV[at + 1] == 'L' and 'LPUSH' or 'RPUSH', KEYS[6], ARGV[at + 2])
        back = back + 1
      end
      at = at + 3
    else
      if mine then
        local id = ARGV[at + 1]
        while redis.call('HEXISTS', KEYS[3], id) == 1 do id = id .. '+' end
        redis.call('HSET', KEYS[3], id, string.format('%.0f', now) .. ARGV[at + 3], id .. '|e', ARGV[at + 4])
        totals[kind] = totals[kind] + 1
        if kind == 'dead' then
          redis.call('ZADD', KEYS[5], now, id)
          dead = dead + 1
        else
          redis.call('ZADD', KEYS[4], now + tonumber(ARGV[at + 2]), id)
        end
      end
      at = at + 5
    end
  end
end

local dropped, limit = 0, tonumber(ARGV[2])
if dead > 0 and limit > 0 then
  local over = math.min(redis.call('ZCARD', KEYS[5]) - limit, dead + 100)
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', KEYS[5], over)
    for i = 1, #oldest, 2 do
      redis.call('HDEL', KEYS[3], oldest[i], oldest[i] .. '|e')
      dropped = dropped + 1
    end
  end
end
if back > 0 and redis.call('LLEN', KEYS[7]) == 0 then
  redis.call('LPUSH', KEYS[7], '1')
end
for name, n in pairs(totals) do
  if n > 0 then redis.pcall('HINCRBY', KEYS[8], name, n) end
end
if dropped > 0 then redis.pcall('HINCRBY', KEYS[8], 'dropped', dropped) end
return {ended, dropped}
