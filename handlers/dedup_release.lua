-- Frees a claim, if it is still the caller's. Another run may hold it by now,
-- or it may be marked done.
--
-- KEYS[1]  the event's key, a string: the token of the run that claims it, or "done"
-- ARGV[1]  the caller's token
--
-- Returns 1 when the claim was freed, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
