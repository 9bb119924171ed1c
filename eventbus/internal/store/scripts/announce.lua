-- Raises the counter that tells of changed settings.
-- KEYS 1 revision
-- PERSIST stands first so that it works over maxmemory; see describe.lua.
redis.call('PERSIST', KEYS[1])
return redis.call('INCR', KEYS[1])
