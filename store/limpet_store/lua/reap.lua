-- reap: end every lease of a worker known to be dead; its pages are visible at once. So is the lock of the login.
-- ARGV: run, what the worker's nonces begin with ("" for all workers)
-- Returns the number of leases ended.
local run, token = ARGV[1], ARGV[2]
-- Nobody works: nobody rebuilds either, and a dead rebuilder's token would hold the next one up.
if token == "" then redis.call("DEL", P .. ":rebuild") end
local login = redis.call("GET", P .. ":login")
if login and string.sub(login, 1, #token) == token then redis.call("DEL", P .. ":login") end
if not standing(run) then return 0 end
local ended, touched = 0, {}
local all = redis.call("HGETALL", P .. ":nonces")
for i = 1, #all, 2 do
  local page, nonce, host = all[i], string.match(all[i + 1], "^(%S+) (%d+)")
  if nonce and string.sub(nonce, 1, #token) == token then
    if redis.call("ZSCORE", P .. ":l:" .. host, page) then
      redis.call("ZADD", P .. ":p:" .. host, int(place_before(page)), page)
      touched[host] = true
      ended = ended + 1
    end
    end_lease(page, host)
  end
end
for host in pairs(touched) do reschedule(host) end
return ended
