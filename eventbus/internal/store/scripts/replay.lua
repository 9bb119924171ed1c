-- Moves failures back to the queue, each only if it is still a failure: whoever
-- removes it from its set moves it.
-- KEYS 1 config, 2 retry, 3 dead, 4 failures, 5 returns, 6 bell, 7 counts
-- ARGV 1 field of the group in config, then id and new entry of each
-- Returns {status, ids moved…}: status 1, or 0 when there is no such topic or group.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0} end
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('LLEN', KEYS[5])
redis.call('LLEN', KEYS[6])
local out = {1}
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  if redis.call('ZREM', KEYS[3], id) + redis.call('ZREM', KEYS[2], id) > 0 then
    redis.call('HDEL', KEYS[4], id, id .. '|e')
    redis.call('LPUSH', KEYS[5], ARGV[i + 1])
    out[#out + 1] = id
  end
end
if #out > 1 then
  if redis.call('LLEN', KEYS[6]) == 0 then redis.call('LPUSH', KEYS[6], '1') end
  redis.pcall('HINCRBY', KEYS[7], 'replayed', #out - 1)
end
return out
