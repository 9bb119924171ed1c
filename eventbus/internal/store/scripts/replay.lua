-- Moves failures back to the queue, each only if it is still the failure that was
-- read: whoever removes it from its set moves it, and one that has failed anew
-- since then was moved by somebody else.
-- KEYS 1 config, 2 retry, 3 dead, 4 failures, 5 returns, 6 bell, 7 counts
-- ARGV 1 field of the group in config, then of each: id, time of the failure as
--      its record begins, new entry
-- Returns {status, ids moved…}: status 1, or 0 when there is no such topic or group.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0} end
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('LLEN', KEYS[5])
redis.call('LLEN', KEYS[6])
local out = {1}
for i = 2, #ARGV, 3 do
  local id, begins = ARGV[i], ARGV[i + 1] .. '{'
  local meta = redis.call('HGET', KEYS[4], id)
  if meta and string.sub(meta, 1, #begins) == begins
    and redis.call('ZREM', KEYS[3], id) + redis.call('ZREM', KEYS[2], id) > 0 then
    redis.call('HDEL', KEYS[4], id, id .. '|e')
    redis.call('LPUSH', KEYS[5], ARGV[i + 2])
    out[#out + 1] = id
  end
end
if #out > 1 then
  if redis.call('LLEN', KEYS[6]) == 0 then redis.call('LPUSH', KEYS[6], '1') end
  redis.pcall('HINCRBY', KEYS[7], 'replayed', #out - 1)
end
return out
