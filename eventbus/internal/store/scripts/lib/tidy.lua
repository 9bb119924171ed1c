-- Takes members from the head of Redisson's list of delayed events as long as they
-- are not delayed any more. Removing each where it stands would cost a scan of the
-- list for every event.
local function tidy(list, set, most)
  local gone = {}
  for i = 0, most - 1 do
    local head = redis.call('LINDEX', list, i)
    if not head or redis.call('ZSCORE', set, head) then break end
    gone[#gone + 1] = i
  end
  if #gone > 0 then redis.call('LPOP', list, #gone) end
end
