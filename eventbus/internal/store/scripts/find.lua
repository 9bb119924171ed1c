-- Reads the record of one failure, without its entry.
-- KEYS 1 failures, 2 retry, 3 dead
-- ARGV 1 id
-- Returns set ('retry' or 'dead'), score, meta, length of the entry; nothing for a
-- failure that is gone.
-- include place
local set, score = place(KEYS[2], KEYS[3], ARGV[1])
local meta = redis.call('HGET', KEYS[1], ARGV[1])
local entry = ARGV[1] .. '|e'
if not set or not meta or redis.call('HEXISTS', KEYS[1], entry) == 0 then return {} end
return {set, score, meta, redis.call('HSTRLEN', KEYS[1], entry)}
