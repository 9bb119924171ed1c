-- Wakes a consumer that blocks on its own list; one token is enough.
-- KEYS 1 wake
-- DEL of nothing stands first so that it works over maxmemory; see describe.lua.
if redis.call('LLEN', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[1])
  redis.call('LPUSH', KEYS[1], '1')
  redis.call('EXPIRE', KEYS[1], 60)
end
return 1
