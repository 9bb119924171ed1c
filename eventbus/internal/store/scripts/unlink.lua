-- Removes keys of a topic, if the mark under which this was begun still stands.
-- Where it does not, somebody else has come to the end, and the keys may be those
-- of a topic or group made anew.
-- KEYS 1 config, 2.. the keys to remove, of which config may be one
-- ARGV 1 field of the mark, 2 the mark, 3.. fields of config to remove with them
-- Returns 1, or 0 when the mark does not stand.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
for i = 3, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
return 1
