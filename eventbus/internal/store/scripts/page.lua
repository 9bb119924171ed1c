-- Reads one page of a set of failures, without their entries.
-- KEYS 1 retry or dead, 2 failures
-- ARGV 1 score and 2 id after which to go on ('' to begin), 3 greatest score, 4 most
-- Returns id, score, meta, length of the entry, id, score, …
local start = 0
if ARGV[2] ~= '' then
  local rank = redis.call('ZRANK', KEYS[1], ARGV[2])
  if rank and tonumber(redis.call('ZSCORE', KEYS[1], ARGV[2])) == tonumber(ARGV[1]) then
    start = rank + 1
  else
    start = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[1])
  end
end
local ids = redis.call('ZRANGE', KEYS[1], start, start + tonumber(ARGV[4]) - 1, 'WITHSCORES')
local out, most = {}, ARGV[3] == '+inf' and math.huge or tonumber(ARGV[3])
for i = 1, #ids, 2 do
  if tonumber(ids[i + 1]) > most then break end
  out[#out + 1] = ids[i]
  out[#out + 1] = ids[i + 1]
  out[#out + 1] = redis.call('HGET', KEYS[2], ids[i]) or ''
  out[#out + 1] = redis.call('HSTRLEN', KEYS[2], ids[i] .. '|e')
end
return out
