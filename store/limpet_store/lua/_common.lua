-- Put before every verb by the loader. KEYS[1] is the crawl's prefix; the keys are described in keys.py.
-- Time is the server's alone, in milliseconds. Numbers above 1e14 must be printed with %d: tostring rounds them.
local P = KEYS[1]
local T = redis.call("TIME")
local NOW = T[1] * 1000 + math.floor(T[2] / 1000)

-- Due pages sort by when they were due, less what their priority is worth. All of them go so far back (ms) that those
-- of a negative priority, which is worth as much at most, are visible too: see ops.py.
local HEAD = 24 * 3600000

local function int(n) return string.format("%d", n) end

-- Is there a cursor, made under this run of the server? Without one the frontier is to be rebuilt.
local function standing(run)
  return redis.call("HGET", P .. ":cursor", "run") == run
end

-- The lease of a page: its nonce, or nil when it is free or has lapsed.
local function holder(page, host)
  local deadline = redis.call("ZSCORE", P .. ":l:" .. host, page)
  if not deadline or tonumber(deadline) <= NOW then return nil end
  local found = redis.call("HGET", P .. ":nonces", page)
  return found and string.match(found, "^%S+")
end

-- A function that says whether a message id is above the stream's top: a repeat, or a row that comes late, must
-- not double a message, and the server would refuse it in the middle of a script.
local function stream_top()
  local top = redis.call("XREVRANGE", P .. ":stream", "+", "-", "COUNT", 1)[1]
  local seq, n = -1, -1
  if top then
    local a, b = string.match(top[1], "^(%d+)-(%d+)$")
    seq, n = tonumber(a), tonumber(b)
  end
  return function(id)
    local a, b = string.match(id, "^(%d+)-(%d+)$")
    a, b = tonumber(a), tonumber(b)
    return a > seq or (a == seq and b > n)
  end
end

-- Does this rebuilder's token stand, under the run of the server that it was given by? Keeps it alive if so.
local function token_stands(run, token, ttl)
  if redis.call("GET", P .. ":rebuild") ~= run .. "/" .. token then return false end
  if ttl then redis.call("PEXPIRE", P .. ":rebuild", ttl) end
  return true
end

-- The score of a page that nobody holds: when it is visible, among the due ones its place.
local function place_of(due, shift)
  if due > NOW then return due end
  return math.min(NOW, due - HEAD - shift)
end

-- The score that a leased page had before, for one whose lease ends without an outcome: it is visible at once.
local function place_before(page)
  local found = redis.call("HGET", P .. ":nonces", page)
  local had = tonumber(found and string.match(found, " (-?%d+)$") or "")
  return math.min(NOW, had or NOW - HEAD)
end

local function end_lease(page, host)
  redis.call("ZREM", P .. ":l:" .. host, page)
  redis.call("HDEL", P .. ":nonces", page)
end

-- Note in :hosts when the host can next give out a page. Called after every change to its pages or leases.
local function reschedule(host)
  local f = redis.call("HMGET", P .. ":h:" .. host, "m", "b", "p", "r", "q", "s")
  local first
  if f[4] and f[4] ~= "0" then
    first = redis.call("ZSCORE", P .. ":p:" .. host, f[4])
  else
    first = redis.call("ZRANGE", P .. ":p:" .. host, 0, 0, "WITHSCORES")[2]
  end
  if not first or f[3] == "1" then
    redis.call("ZREM", P .. ":hosts", host)
    return
  end
  local at = math.max(tonumber(first), tonumber(f[2] or 0), tonumber(f[6] or 0))
  -- A slot or block further ahead than any allowed delay (25 h, see retry.py) is forgotten by the lease call.
  if at > NOW + 25 * 3600000 then at = NOW end
  local limit = f[5] == "1" and 1 or tonumber(f[1] or 0)
  if limit > 0 then
    local live = redis.call("ZRANGEBYSCORE", P .. ":l:" .. host, "(" .. int(NOW), "+inf", "WITHSCORES", "LIMIT", 0, limit)
    if #live >= 2 * limit then at = math.max(at, tonumber(live[2])) end
  end
  redis.call("ZADD", P .. ":hosts", int(at), host)
end
