-- Reads members that were set aside, in the order in which they were. The list ends
-- early where they are large.
-- KEYS 1 list
-- ARGV 1 '1' to begin at its right end, 2 most members, 3 most bytes of all but the
--      first
-- Returns the length of the list, then the members.
local total = redis.call('LLEN', KEYS[1])
local out, room = {total}, tonumber(ARGV[3])
for i = 0, math.min(total, tonumber(ARGV[2])) - 1 do
  local member = redis.call('LINDEX', KEYS[1], ARGV[1] == '1' and -1 - i or i)
  room = room - #member
  if i > 0 and room < 0 then break end
  out[#out + 1] = member
end
return out
