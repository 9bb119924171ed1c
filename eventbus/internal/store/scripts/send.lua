-- Puts entries into the queue of every group of a topic: all of them or none.
-- KEYS 1 config, then for each group: queue, bell, counts
-- ARGV 1 revision under which the sender has read the groups
--      2 '1' to ring the bells
--      3.. entries, the first to be handed out first
-- Returns {status, which}: 1 sent, 0 no topic, -1 being deleted, -2 settings
-- have changed, -3 disabled, -4 full (which: number of the group, how many wait).
local c = redis.call('HMGET', KEYS[1], 'rev', 'enabled', 'max_waiting', 'deleting')
if not c[1] then return {0} end
if c[4] then return {-1} end
if c[2] ~= '1' then return {-3} end
if c[1] ~= ARGV[1] then return {-2} end
local entries = #ARGV - 2
local most = tonumber(c[3] or 0)
for g = 2, #KEYS, 3 do
  local waiting = redis.call('LLEN', KEYS[g])
  if most > 0 and waiting + entries > most then return {-4, (g + 1) / 3, waiting} end
  redis.call('LLEN', KEYS[g + 1])
end
for g = 2, #KEYS, 3 do
  for i = 3, #ARGV, 500 do
    redis.call('LPUSH', KEYS[g], unpack(ARGV, i, math.min(i + 499, #ARGV)))
  end
  if ARGV[2] == '1' and redis.call('LLEN', KEYS[g + 1]) == 0 then
    redis.call('LPUSH', KEYS[g + 1], '1')
  end
  redis.pcall('HINCRBY', KEYS[g + 2], 'sent', entries)
end
return {1}
