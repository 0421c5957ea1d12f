-- lease: hand out pages that are visible now, within every host's limits.
-- ARGV: run, nonce, pages wanted, of them at most so many on hosts with a delay, lease (ms), slack (ms),
--       longest allowed delay (ms), thousandths of a delay that are added to it
-- Returns {"rebuild"} when there is no cursor, nothing while the crawl is paused, else
--   {"ok", now, when the next host is due or -1, page, host, page, host, ...}
local run, nonce, want, polite = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local lease, slack, longest = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local jitter = tonumber(ARGV[8])
local c = redis.call("HMGET", P .. ":cursor", "run", "paused")
if c[1] ~= run then return {"rebuild"} end

local given = {}

-- The reply of this very call was lost: give what is still leased under it, and nothing new.
local known = redis.call("GET", P .. ":call:" .. nonce)
if known then
  for page, host in string.gmatch(known, "(%d+) (%d+)") do
    if holder(page, host) == nonce then
      given[#given + 1] = page
      given[#given + 1] = host
    end
  end
  return {"ok", int(NOW), int(NOW), unpack(given)}
end

if c[2] == "1" then return {"ok", int(NOW), "-1"} end

-- A time further ahead than any allowed delay comes from a clock that was set back: it counts as now (I-11).
local function tame(key, ahead, at)
  for _, member in ipairs(redis.call("ZRANGEBYSCORE", key, "(" .. int(NOW + ahead), "+inf", "LIMIT", 0, 1000)) do
    redis.call("ZADD", key, int(at), member)
  end
end

-- The clock was set back since the last call: what was visible stays visible, leases last one lease from now, and
-- no host waits for a slot of the old time.
local function went_back(last)
  for _, host in ipairs(redis.call("ZRANGE", P .. ":hosts", 0, -1)) do
    local pages, leases = P .. ":p:" .. host, P .. ":l:" .. host
    for _, page in ipairs(redis.call("ZRANGEBYSCORE", pages, "(" .. int(NOW), int(last))) do
      redis.call("ZADD", pages, int(NOW), page)
    end
    for _, page in ipairs(redis.call("ZRANGEBYSCORE", leases, "(" .. int(NOW + lease), "+inf")) do
      redis.call("ZADD", leases, int(NOW + lease), page)
      redis.call("ZADD", pages, int(NOW + lease), page)
    end
    redis.call("HSET", P .. ":h:" .. host, "s", "0")
    reschedule(host)
  end
end

local last = tonumber(redis.call("GET", P .. ":clock") or "0")
if last > NOW + 1000 then went_back(last) end
redis.call("SET", P .. ":clock", int(NOW))

local function room(host, f)
  local leases = P .. ":l:" .. host
  redis.call("ZREMRANGEBYSCORE", leases, "-inf", int(NOW))
  local limit = f[5] == "1" and 1 or tonumber(f[2] or 0)
  if limit == 0 then return want end
  return limit - redis.call("ZCARD", leases)
end

local function visible(host, first, count)
  local pages = P .. ":p:" .. host
  if first and first ~= "0" then
    local at = redis.call("ZSCORE", pages, first)
    if at and tonumber(at) <= NOW then return {first} end
    return {}
  end
  return redis.call("ZRANGEBYSCORE", pages, "-inf", int(NOW), "LIMIT", 0, count)
end

local function serve(host, share)
  tame(P .. ":p:" .. host, longest, NOW)
  local f = redis.call("HMGET", P .. ":h:" .. host, "d", "m", "b", "p", "q", "r", "s")
  local delay, blocked = tonumber(f[1] or 0), tonumber(f[3] or 0)
  local slot = tonumber(f[7] or 0)
  if blocked > NOW + longest then blocked = 0 end
  if slot > NOW + longest then slot = 0 end
  if f[4] == "1" or blocked > NOW or slot > NOW then return end
  local count = math.min(share, room(host, f))
  if delay > 0 then count = math.min(count, 1, polite) end
  if count <= 0 then return end
  for _, page in ipairs(visible(host, f[6], count)) do
    local place = redis.call("ZSCORE", P .. ":p:" .. host, page)
    redis.call("ZADD", P .. ":p:" .. host, int(NOW + lease), page)
    redis.call("ZADD", P .. ":l:" .. host, int(NOW + lease), page)
    redis.call("HSET", P .. ":nonces", page, nonce .. " " .. host .. " " .. int(place))
    given[#given + 1] = page
    given[#given + 1] = host
    want = want - 1
    if delay > 0 then
      polite = polite - 1
      redis.call("HSET", P .. ":h:" .. host, "s", int(NOW + delay + math.ceil(delay * jitter / 1000) + slack))
    end
  end
end

tame(P .. ":hosts", longest, NOW)
-- Hosts come in the order in which they became free, so one with a million pages does not starve the others:
-- served, it goes behind those that have waited longer.
local hosts = redis.call("ZRANGEBYSCORE", P .. ":hosts", "-inf", int(NOW), "LIMIT", 0, want * 2)
for i, host in ipairs(hosts) do
  if want > 0 then
    serve(host, math.ceil(want / math.max(1, #hosts - i + 1)))
    reschedule(host)
    local at = redis.call("ZSCORE", P .. ":hosts", host)
    if at and tonumber(at) < NOW then redis.call("ZADD", P .. ":hosts", int(NOW), host) end
  end
end
if #given > 0 then redis.call("SET", P .. ":call:" .. nonce, table.concat(given, " "), "PX", int(lease)) end
local nearest = redis.call("ZRANGE", P .. ":hosts", 0, 0, "WITHSCORES")
return {"ok", int(NOW), nearest[2] or "-1", unpack(given)}
