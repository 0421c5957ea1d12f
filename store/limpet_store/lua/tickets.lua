-- Who is at work: live workers and live slices, two sorted sets scored by a deadline in Redis milliseconds.
--
-- KEYS[1]  the crawl's prefix, {<crawl>:<store_id>}
-- ARGV[1]  verb
--   touch  ARGV[2] "workers" | "slices", ARGV[3] member, ARGV[4] milliseconds to live -> 1
--   live   -> { workers, slices } after the lapsed ones were removed
--   unlock ARGV[2] token -> 1 if the lock was ours and is gone, else 0

local prefix = KEYS[1]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function key(name)
  return prefix .. ":" .. name
end

-- "%.0f": tostring would round to 14 digits.
local function count(name)
  redis.call("ZREMRANGEBYSCORE", key(name), "-inf", string.format("%.0f", now))
  return redis.call("ZCARD", key(name))
end

if ARGV[1] == "touch" then
  redis.call("ZADD", key(ARGV[2]), string.format("%.0f", now + ARGV[4]), ARGV[3])
  redis.call("EXPIRE", key(ARGV[2]), 86400)
  return 1
end

if ARGV[1] == "live" then
  return { count("workers"), count("slices") }
end

if ARGV[1] == "unlock" then
  if redis.call("GET", key("tickets")) == ARGV[2] then
    return redis.call("DEL", key("tickets"))
  end
  return 0
end

return redis.error_reply("tickets: unknown verb")
