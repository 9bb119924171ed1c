-- Renews a consumer's lease, or takes it for the first time.
-- KEYS 1 consumers
-- ARGV 1 consumer, 2 lease in ms, 3 '1' to take a lease that is not there
-- Returns {1 renewed | 0 gone, expired consumers (at most 16)…}.
-- A lease that has run out but still stands here is renewed: after an outage of
-- Redis all of them have, and nobody has reclaimed anything.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local held = redis.call('ZREM', KEYS[1], ARGV[1])
if held == 0 and ARGV[3] ~= '1' then return {0} end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
local out = {1}
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 16)
for i = 1, #expired do out[i + 1] = expired[i] end
return out
