-- login_take: become the worker that logs in, or stay it.
-- ARGV: run, token, time to live (ms)
-- Returns 1, or 0 while another has the lock.
local key, token, ttl = P .. ":login", ARGV[2], tonumber(ARGV[3])
local held = redis.call("GET", key)
-- One that outlives its time comes from a clock that was set back, or has none at all.
local left = redis.call("PTTL", key)
if held and held ~= token and left >= 0 and left <= ttl then return 0 end
redis.call("SET", key, token, "PX", ttl)
return 1
