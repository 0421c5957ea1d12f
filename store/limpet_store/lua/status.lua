-- status: where the frontier is, without touching it.
-- ARGV: run
-- Returns {now, cursor seq or "", cursor mark or "", hosts waiting, leases, messages in the stream, next host due or -1}
local c = redis.call("HMGET", P .. ":cursor", "seq", "mark", "run")
if c[3] ~= ARGV[1] then c = {false, false} end
local nearest = redis.call("ZRANGE", P .. ":hosts", 0, 0, "WITHSCORES")
return {int(NOW), c[1] or "", c[2] or "", redis.call("ZCARD", P .. ":hosts"), redis.call("HLEN", P .. ":nonces"),
  redis.call("XLEN", P .. ":stream"), nearest[2] or "-1"}
