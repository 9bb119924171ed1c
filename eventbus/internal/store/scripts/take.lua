-- Hands out entries of an at_most_once topic: nothing is kept of them.
-- KEYS 1 config, 2 queue, 3 returns (only where it is not the queue)
-- ARGV 1 field of the group in config, 2 most entries
-- Returns {revision, number that came from returns, entries…}, newest first;
-- revision 0: no such topic or group, or disabled.
local c = redis.call('HMGET', KEYS[1], 'rev', 'enabled', ARGV[1])
if not c[1] or not c[3] or c[2] ~= '1' then return {0, 0} end
local out = {tonumber(c[1]) or 0, 0} -- a nil would end the reply here
local most = tonumber(ARGV[2])
if KEYS[3] then
  redis.call('LLEN', KEYS[2])
  local back = redis.call('RPOP', KEYS[3], most)
  if back then
    for i = 1, #back do out[i + 2] = back[i] end
    out[2] = #back
    most = most - #back
  end
end
if most > 0 then
  local got = redis.call('LPOP', KEYS[2], most)
  if got then
    for i = 1, #got do out[#out + 1] = got[i] end
  end
end
return out
