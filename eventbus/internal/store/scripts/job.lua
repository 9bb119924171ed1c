-- Keeps the record of one job: a hash with its fields, and with 'state', 'started',
-- 'updated' (ms) and, once somebody wants it to end, 'cancel'.
-- KEYS 1 the hash
-- ARGV 1 'save', 'load' or 'cancel', and to save: 2 ms for which it is kept, 3 ms at
--      which it started, '' for now, 4 '1' where it is to end, 5 its state, 6… fields
--      and values
-- Returns {now (ms), field, value, …}; {now} where there is none.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
if ARGV[1] == 'save' then
  -- A job that has ended stays so: this may be a call that nobody waited for any more.
  local state = redis.call('HGET', KEYS[1], 'state')
  if ARGV[5] ~= 'running' or not state or state == 'running' then
    -- HDEL stands first so that it works over maxmemory; see describe.lua.
    redis.call('HDEL', KEYS[1], 'error')
    redis.call('HSETNX', KEYS[1], 'started', ARGV[3] ~= '' and ARGV[3] or now)
    redis.call('HSET', KEYS[1], 'updated', now, 'state', ARGV[5], unpack(ARGV, 6))
    if ARGV[4] == '1' then
      redis.call('HSET', KEYS[1], 'cancel', '1')
    end
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
elseif ARGV[1] == 'cancel' and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HDEL', KEYS[1], 'cancel') -- likewise
  redis.call('HSET', KEYS[1], 'cancel', '1')
end
local reply = redis.call('HGETALL', KEYS[1])
table.insert(reply, 1, now)
return reply
