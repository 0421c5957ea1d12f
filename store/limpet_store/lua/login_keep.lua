-- login_keep: keep the lock of the login for another while, if it is still held under this token.
-- ARGV: run, token, time to live (ms)
-- Returns 1 or 0.
if redis.call("GET", P .. ":login") ~= ARGV[2] then return 0 end
return redis.call("PEXPIRE", P .. ":login", ARGV[3])
