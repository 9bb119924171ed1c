-- Moves failures whose next attempt is due back to the queue.
-- KEYS 1 config, 2 retry, 3 failures, 4 returns, 5 bell
-- ARGV 1 field of the group in config, 2 most failures, 3 most bytes (the last may go over)
-- Returns {number moved, ms until the next is due (-1: none), ids without a record…}.
-- A disabled topic keeps what it has.
local c = redis.call('HMGET', KEYS[1], 'enabled', ARGV[1])
if c[1] ~= '1' or not c[2] then return {0, -1} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HLEN', KEYS[3])
redis.call('LLEN', KEYS[4])
redis.call('LLEN', KEYS[5])
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[2])
local out, moved, room = {0, -1}, 0, tonumber(ARGV[3])
for i = 1, #due do
  if room <= 0 then break end
  local entry = redis.call('HGET', KEYS[3], due[i] .. '|e')
  redis.call('ZREM', KEYS[2], due[i])
  redis.call('HDEL', KEYS[3], due[i], due[i] .. '|e')
  if entry then
    redis.call('LPUSH', KEYS[4], entry)
    moved = moved + 1
    room = room - #entry
  else
    out[#out + 1] = due[i]
  end
end
if moved > 0 and redis.call('LLEN', KEYS[5]) == 0 then
  redis.call('LPUSH', KEYS[5], '1')
end
out[1] = moved
local next = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if next[2] then out[2] = math.max(0, math.ceil(tonumber(next[2]) - now)) end
return out
