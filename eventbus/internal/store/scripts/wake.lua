-- Wakes a consumer that blocks on its own list; one token is enough.
-- KEYS 1 wake
if redis.call('LLEN', KEYS[1]) == 0 then
  redis.call('LPUSH', KEYS[1], '1')
  redis.call('EXPIRE', KEYS[1], 60)
end
return 1
