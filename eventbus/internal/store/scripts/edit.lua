-- Changes fields of a topic's settings and raises its revision, if there are any.
-- KEYS 1 config
-- ARGV 1 revision that must stand there, 0 for any
--      2 field that must exist, or ''
--      3 field that must not exist, or ''
--      4 how many groups there may be
--      5 number of fields to set, then each field and its value
--      then the fields to remove
-- Returns {status, revision}: 1 done, 0 no topic, -1 being deleted,
-- -2 another revision, -3 the field of ARGV 2 is missing, -4 that of ARGV 3 exists,
-- -5 a group to be set is still being removed, -6 there are as many groups as may be.
local rev = redis.call('HGET', KEYS[1], 'rev')
if not rev then return {0, 0} end
rev = tonumber(rev)
if redis.call('HGET', KEYS[1], 'deleting') then return {-1, rev} end
if ARGV[1] ~= '0' and tonumber(ARGV[1]) ~= rev then return {-2, rev} end
if ARGV[2] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return {-3, rev} end
if ARGV[3] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 then return {-4, rev} end
if #ARGV == 5 then return {1, rev} end -- nothing is to be changed
local n = tonumber(ARGV[5])
for i = 6, 5 + 2 * n, 2 do
  local group = string.match(ARGV[i], '^group|(.*)$')
  if group then
    if redis.call('HEXISTS', KEYS[1], 'removing|' .. group) == 1 then return {-5, rev} end
    local groups = 0
    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
      if string.sub(field, 1, 6) == 'group|' then groups = groups + 1 end
    end
    if groups >= tonumber(ARGV[4]) then return {-6, rev} end
  end
end
redis.call('HDEL', KEYS[1], 'deleting') -- of nothing, so that it works over maxmemory; see describe.lua
for i = 6, 5 + 2 * n, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  local group = string.match(ARGV[i], '^group|(.*)$')
  if group then redis.call('HSET', KEYS[1], 'since|' .. group, rev + 1) end
end
for i = 6 + 2 * n, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
return {1, redis.call('HINCRBY', KEYS[1], 'rev', 1)}
