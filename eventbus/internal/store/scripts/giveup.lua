-- Marks a consumer's lease as run out.
-- KEYS 1 consumers
-- ARGV 1 consumer
-- ZREM stands first so that it works over maxmemory; see describe.lua.
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('ZADD', KEYS[1], 0, ARGV[1])
