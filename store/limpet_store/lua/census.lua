-- census: how many pages of these hosts can be leased now, are leased, and can be leased later. Touches nothing.
-- ARGV: run, host...
-- Returns {ready, leased, delayed}. What a host that is blocked or paused has is delayed, and all of a paused crawl.
local paused = redis.call("HGET", P .. ":cursor", "paused") == "1"
local ready, leased, delayed = 0, 0, 0
for i = 2, #ARGV do
  local host = ARGV[i]
  local all = redis.call("ZCARD", P .. ":p:" .. host)
  if all > 0 then
    local live = redis.call("ZCOUNT", P .. ":l:" .. host, "(" .. int(NOW), "+inf")
    local free = redis.call("ZCOUNT", P .. ":p:" .. host, "-inf", int(NOW))
    local f = redis.call("HMGET", P .. ":h:" .. host, "b", "p")
    if paused or f[2] == "1" or tonumber(f[1] or 0) > NOW then free = 0 end
    ready = ready + free
    leased = leased + live
    delayed = delayed + math.max(0, all - free - live)
  end
end
return {ready, leased, delayed}
