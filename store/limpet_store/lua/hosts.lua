-- hosts: how these hosts stand in the frontier. Touches nothing.
-- ARGV: run, host...
-- Returns for each {when it can next give out a page (ms) or -1, pages that wait, leases}.
local found = {}
for i = 2, #ARGV do
  local host = ARGV[i]
  local live = redis.call("ZCOUNT", P .. ":l:" .. host, "(" .. int(NOW), "+inf")
  local all = redis.call("ZCARD", P .. ":p:" .. host)
  local at = redis.call("ZSCORE", P .. ":hosts", host)
  found[#found + 1] = {at and int(tonumber(at)) or "-1", math.max(0, all - live), live}
end
return found
