-- Removes a consumer whose lease has run out, unless it came back meanwhile.
-- KEYS 1 consumers
-- ARGV 1 consumer
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score then return 0 end
local t = redis.call('TIME')
if tonumber(score) > t[1] * 1000 + math.floor(t[2] / 1000) then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
