-- reap: end every lease of a worker known to be dead; its pages are visible at once.
-- ARGV: run, what the worker's nonces begin with ("" for all workers)
-- Returns the number of leases ended.
local run, token = ARGV[1], ARGV[2]
if not standing(run) then return 0 end
local ended, touched = 0, {}
local all = redis.call("HGETALL", P .. ":nonces")
for i = 1, #all, 2 do
  local page, nonce, host = all[i], string.match(all[i + 1], "^(%S+) (%d+)$")
  if nonce and string.sub(nonce, 1, #token) == token then
    if redis.call("ZSCORE", P .. ":l:" .. host, page) then
      redis.call("ZADD", P .. ":p:" .. host, int(NOW), page)
      touched[host] = true
      ended = ended + 1
    end
    end_lease(page, host)
  end
end
for host in pairs(touched) do reschedule(host) end
return ended
