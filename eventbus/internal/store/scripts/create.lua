-- Makes a topic.
-- KEYS 1 config
-- ARGV fields and values of the settings hash
-- The revision begins at the time in ms, so that it goes on growing where a topic
-- is deleted and made anew: whoever knows the former one must not take the new one
-- for it.
-- Returns 1 made, 0 exists, -1 exists and is being deleted.
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('HGET', KEYS[1], 'deleting') then return -1 end
  return 0
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[1], 'rev', now, 'created', now, unpack(ARGV))
return 1
