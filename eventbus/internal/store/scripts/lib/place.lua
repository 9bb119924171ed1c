-- The set in which a failure is ('dead' or 'retry') and its score there; nil for one
-- that is in none.
local function place(retry, dead, id)
  local score = redis.call('ZSCORE', dead, id)
  if score then return 'dead', score end
  score = redis.call('ZSCORE', retry, id)
  if score then return 'retry', score end
end
