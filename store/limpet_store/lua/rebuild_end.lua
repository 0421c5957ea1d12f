-- rebuild_end: set the cursor, if the token stands and no cursor does; from here on the frontier is whole.
-- ARGV: run, token, seq, mark
-- Returns 1, or 0 when the token is gone or a cursor stands.
if redis.call("GET", P .. ":rebuild") ~= ARGV[2] then return 0 end
if redis.call("EXISTS", P .. ":cursor") == 1 then return 0 end
redis.call("HSET", P .. ":cursor", "seq", ARGV[3], "mark", ARGV[4], "run", ARGV[1])
redis.call("DEL", P .. ":rebuild")
return 1
