-- Reads one page of a set of failures, without their entries.
-- KEYS 1 retry or dead, 2 failures
-- ARGV 1 score and 2 id after which to go on ('' to begin), 3 greatest score, 4 most
-- Returns id, score, meta, length of the entry, id, score, …
-- include rank
local start = 0
if ARGV[2] ~= '' then start = rank(KEYS[1], ARGV[1], ARGV[2] .. '\0', false) end
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
