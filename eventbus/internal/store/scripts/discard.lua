-- Removes failures for good, record and index together.
-- KEYS 1 retry, 2 dead, 3 failures, 4 counts
-- ARGV ids
-- Returns the number removed.
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
local removed = 0
for i = 1, #ARGV do
  if redis.call('ZREM', KEYS[1], ARGV[i]) + redis.call('ZREM', KEYS[2], ARGV[i]) > 0 then
    redis.call('HDEL', KEYS[3], ARGV[i], ARGV[i] .. '|e')
    removed = removed + 1
  end
end
if removed > 0 then redis.pcall('HINCRBY', KEYS[4], 'discarded', removed) end
return removed
