-- login_release: give the lock of the login back; another's is left alone.
-- ARGV: run, token
-- Returns 1 or 0.
if redis.call("GET", P .. ":login") ~= ARGV[2] then return 0 end
return redis.call("DEL", P .. ":login")
