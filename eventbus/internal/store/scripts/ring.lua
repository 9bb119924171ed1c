-- Rings the bell of a queue that has entries and no token.
-- KEYS 1 bell, 2.. the lists it stands for
-- Returns 0 when the lists are empty, 1 when they are not, 2 when it rang as well.
-- DEL of nothing stands first so that it works over maxmemory; see describe.lua.
local token = redis.call('LLEN', KEYS[1]) > 0
for i = 2, #KEYS do
  if redis.call('LLEN', KEYS[i]) > 0 then
    if token then return 1 end
    redis.call('DEL', KEYS[1])
    redis.call('LPUSH', KEYS[1], '1')
    return 2
  end
end
return 0
