-- Removes failures for good, record and index together, each only if it is still the
-- failure that was picked: one that has failed anew since then was replayed meanwhile.
-- KEYS 1 config, 2 retry, 3 dead, 4 failures, 5 counts
-- ARGV 1 field of the group in config, then of each: id, time of the failure as its
--      record begins, or '' for any
-- Returns the number removed, -1 when there is no such topic or group.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return -1 end
redis.call('ZCARD', KEYS[3])
redis.call('HLEN', KEYS[4])
local removed = 0
for i = 2, #ARGV, 2 do
  local id, begins = ARGV[i], ARGV[i + 1]
  local same = true
  if begins ~= '' then
    local meta = redis.call('HGET', KEYS[4], id)
    same = not meta or string.sub(meta, 1, #begins + 1) == begins .. '{' -- a bare index goes, too
  end
  if same and redis.call('ZREM', KEYS[2], id) + redis.call('ZREM', KEYS[3], id) > 0 then
    redis.call('HDEL', KEYS[4], id, id .. '|e')
    removed = removed + 1
  end
end
if removed > 0 then redis.pcall('HINCRBY', KEYS[5], 'discarded', removed) end
return removed
