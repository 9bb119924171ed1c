-- Moves waiting entries into a consumer's in-flight hash.
-- KEYS 1 config, 2 queue, 3 bell, 4 in flight, 5 holders, 6 returns (only where it is not the queue)
-- ARGV 1 field of the group in config, 2 consumer, 3 prefix of the receipts,
--      4 most entries, 5 most bytes, 6 how many to pop first
-- Returns {revision, number that came from returns, entries…}; revision 0: no
-- such topic or group, or disabled. The i-th entry's receipt is prefix .. i, and
-- an 'r' behind it where the entry came from returns.
local c = redis.call('HMGET', KEYS[1], 'rev', 'enabled', ARGV[1])
if not c[1] or not c[3] or c[2] ~= '1' then return {0, 0} end
local out = {tonumber(c[1]) or 0, 0} -- a nil would end the reply here
local queued, returned = redis.call('LLEN', KEYS[2]), 0
if KEYS[6] then returned = redis.call('LLEN', KEYS[6]) end
if queued + returned == 0 then return out end
-- all keys are read before the first of them is written
redis.call('LLEN', KEYS[3])
redis.call('HLEN', KEYS[4])
local holder = redis.call('SISMEMBER', KEYS[5], ARGV[2])

local most, room, taken, fields = tonumber(ARGV[4]), tonumber(ARGV[5]), 0, {}
local function take(key, left, upto, mark)
  local step = tonumber(ARGV[6])
  while left > 0 and taken < upto and room > 0 do
    local n = math.min(step, left, upto - taken)
    if n > 1 then
      -- step goes by the sizes of those before: where larger ones come, go slowly
      local size = math.max(#redis.call('LINDEX', key, -n), #redis.call('LINDEX', key, -math.ceil(n / 2)))
      if size * n > 524288 then n = math.max(1, math.floor(262144 / size)) end
    end
    local got = redis.call('RPOP', key, n)
    local size = 0
    for i = 1, n do
      taken = taken + 1
      size = size + #got[i]
      out[taken + 2] = got[i]
      fields[2 * taken - 1] = ARGV[3] .. taken .. mark
      fields[2 * taken] = got[i]
    end
    left = left - n
    room = room - size
    -- small entries are popped many at a time, large ones singly
    step = math.max(1, math.min(500, 4 * step, math.floor(262144 * n / (size + 1))))
  end
end
if KEYS[6] then
  -- what came back and what is new share the claim by halves
  take(KEYS[6], returned, math.max(math.ceil(most / 2), most - queued), 'r')
  out[2] = taken
end
take(KEYS[2], queued, most, '')
for i = 1, 2 * taken, 1000 do
  redis.call('HSET', KEYS[4], unpack(fields, i, math.min(i + 999, 2 * taken)))
end
if holder == 0 then redis.call('SADD', KEYS[5], ARGV[2]) end
if queued + returned > taken and redis.call('LLEN', KEYS[3]) == 0 then
  redis.call('LPUSH', KEYS[3], '1')
end
return out
