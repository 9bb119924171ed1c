-- Drops dead failures that are over the age or the number allowed.
-- KEYS 1 dead, 2 failures, 3 counts
-- ARGV 1 greatest age in ms (0: any), 2 greatest number (0: any), 3 most to drop in this call
-- Returns the number dropped.
redis.call('HLEN', KEYS[2])
local most, ids = tonumber(ARGV[3]), {}
if ARGV[1] ~= '0' then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]), 'LIMIT', 0, most)
end
if #ids == 0 and ARGV[2] ~= '0' then
  local over = math.min(redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[2]), most)
  if over > 0 then ids = redis.call('ZRANGE', KEYS[1], 0, over - 1) end
end
for i = 1, #ids do
  redis.call('ZREM', KEYS[1], ids[i])
  redis.call('HDEL', KEYS[2], ids[i], ids[i] .. '|e')
end
if #ids > 0 then redis.pcall('HINCRBY', KEYS[3], 'dropped', #ids) end
return #ids
