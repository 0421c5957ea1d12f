-- holds: is a page in the frontier, visible or leased? The net under the relay asks.
-- ARGV: run, page, host
-- Returns 1 or 0; 1 when there is no cursor, for then a rebuild comes anyway.
if not standing(ARGV[1]) then return 1 end
return redis.call("ZSCORE", P .. ":p:" .. ARGV[3], ARGV[2]) and 1 or 0
