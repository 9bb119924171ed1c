-- Rings the bell of a queue that has entries and no token.
-- KEYS 1 bell, 2.. the lists it stands for
-- Returns 1 when it rang, else 0.
-- DEL of nothing stands first so that it works over maxmemory; see describe.lua.
if redis.call('LLEN', KEYS[1]) > 0 then return 0 end
for i = 2, #KEYS do
  if redis.call('LLEN', KEYS[i]) > 0 then
    redis.call('DEL', KEYS[1])
    redis.call('LPUSH', KEYS[1], '1')
    return 1
  end
end
return 0
