-- Looks when the next delayed event of each topic is due.
-- KEYS the delayed sets
-- Returns for each the µs until then, 0 when it is due, -1 when there is none, -2
-- when the key cannot be read.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local out = {}
for i = 1, #KEYS do
  local head = redis.pcall('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
  if head.err then
    out[i] = -2
  elseif not head[2] then
    out[i] = -1
  else
    out[i] = math.max(0, math.min((tonumber(head[2]) or math.huge) * 1000 - now, 1e15))
  end
end
return out
