-- Rings the bell of a queue that has entries and no token.
-- KEYS 1 config, 2 bell, 3.. the lists it stands for
-- ARGV 1 field of the group in config
-- Returns 0 when the lists are empty or there is no such topic or group, 1 when
-- they are not, 2 when it rang as well.
-- DEL of nothing stands first so that it works over maxmemory; see describe.lua.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
local token = redis.call('LLEN', KEYS[2]) > 0
for i = 3, #KEYS do
  if redis.call('LLEN', KEYS[i]) > 0 then
    if token then return 1 end
    redis.call('DEL', KEYS[2])
    redis.call('LPUSH', KEYS[2], '1')
    return 2
  end
end
return 0
