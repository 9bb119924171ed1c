-- Makes a topic.
-- KEYS 1 config
-- ARGV fields and values of the settings hash
-- Returns 1 made, 0 exists, -1 exists and is being deleted.
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('HGET', KEYS[1], 'deleting') then return -1 end
  return 0
end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'rev', 1, 'created', t[1] * 1000 + math.floor(t[2] / 1000), unpack(ARGV))
return 1
