-- Keeps one job: a hash with its fields, and with 'started', 'updated' (ms) and,
-- once somebody wants it to end, 'cancel'.
-- KEYS 1 the hash
-- ARGV 1 'save', 'load' or 'cancel', 2 ms for which a saved job is kept, 3… fields
--      and values to save
-- Returns {now (ms), field, value, …}; {now} where there is none.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
if ARGV[1] == 'save' then
  redis.call('HSETNX', KEYS[1], 'started', now)
  redis.call('HSET', KEYS[1], 'updated', now, unpack(ARGV, 3))
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif ARGV[1] == 'cancel' and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'cancel', '1')
end
local reply = redis.call('HGETALL', KEYS[1])
table.insert(reply, 1, now)
return reply
