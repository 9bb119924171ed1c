-- Takes a group out of a topic's settings, and leaves a mark that says that its
-- keys are still to be removed. See delete.go.
-- KEYS 1 config
-- ARGV 1 group, 2 a mark that was never used before
-- Returns 1 taken out, 2 taken out before, under a mark that still stands,
-- 0 no topic, -1 being deleted, -3 no such group.
local c = redis.call('HMGET', KEYS[1], 'rev', 'deleting', 'removing|' .. ARGV[1])
if not c[1] then return 0 end
if c[2] then return -1 end
if c[3] then return 2 end
-- HDEL stands first so that it works over maxmemory; see describe.lua.
if redis.call('HDEL', KEYS[1], 'group|' .. ARGV[1]) == 0 then return -3 end
redis.call('HDEL', KEYS[1], 'since|' .. ARGV[1])
local prefix = 'handler|' .. ARGV[1] .. '|'
local fields = redis.call('HKEYS', KEYS[1])
for i = 1, #fields do
  if string.sub(fields[i], 1, #prefix) == prefix then redis.call('HDEL', KEYS[1], fields[i]) end
end
redis.call('HSET', KEYS[1], 'removing|' .. ARGV[1], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'rev', 1)
return 1
