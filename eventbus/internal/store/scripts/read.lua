-- Reads the records and entries of failures.
-- KEYS 1 failures, 2 retry, 3 dead
-- ARGV 1 most bytes, 2.. ids
-- Returns for the first ids, until the bytes are spent (the last may go over):
-- set ('retry', 'dead' or ''), score, meta, entry.
-- include place
local out, room = {}, tonumber(ARGV[1])
for i = 2, #ARGV do
  if room <= 0 then break end
  local set, score = place(KEYS[2], KEYS[3], ARGV[i])
  local meta = redis.call('HGET', KEYS[1], ARGV[i])
  local entry = redis.call('HGET', KEYS[1], ARGV[i] .. '|e')
  if not score or not meta or not entry then set, score, meta, entry = '', '', '', '' end
  out[#out + 1] = set
  out[#out + 1] = score
  out[#out + 1] = meta
  out[#out + 1] = entry
  room = room - #entry - #meta
end
return out
