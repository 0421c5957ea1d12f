-- rebuild_end: set the cursor, if the token stands and no cursor does; from here on the frontier is whole.
-- ARGV: run, token, seq, mark, whether the crawl is paused
-- Returns 1, or 0 when the token is gone or another cursor stands.
local c = redis.call("HMGET", P .. ":cursor", "seq", "mark", "run")
if c[3] then return (c[1] == ARGV[3] and c[2] == ARGV[4] and c[3] == ARGV[1]) and 1 or 0 end
if not token_stands(ARGV[1], ARGV[2]) then return 0 end
redis.call("HSET", P .. ":cursor", "seq", ARGV[3], "mark", ARGV[4], "run", ARGV[1], "paused", ARGV[5])
redis.call("DEL", P .. ":rebuild")
return 1
