-- Removes a consumer from the holders of a queue when it holds nothing.
-- KEYS 1 in flight, 2 holders
-- ARGV 1 consumer
if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
return redis.call('SREM', KEYS[2], ARGV[1])
