-- Looks when the next delayed event of each topic is due.
-- KEYS for each: delayed set, index, order list
-- Returns for each the µs until then, 0 when it is due, -1 when there is none, -2
-- when the key cannot be read. What is left over in index or order list, after others
-- have moved the last event, counts as due: a transfer drops it.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local out = {}
-- mostly nothing is delayed anywhere, which one call tells
local any = redis.pcall('EXISTS', unpack(KEYS)) ~= 0
for i = 1, #KEYS, 3 do
  local head = any and redis.pcall('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES') or {}
  local wait = -1
  if head.err then
    wait = -2
  elseif head[2] then
    wait = math.max(0, math.min((tonumber(head[2]) or math.huge) * 1000 - now, 1e15))
  elseif any and redis.call('EXISTS', KEYS[i + 1], KEYS[i + 2]) > 0 then
    wait = 0
  end
  out[#out + 1] = wait
end
return out
