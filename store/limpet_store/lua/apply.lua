-- apply: the relay's verb. Fold whole outbox rows into the frontier and the stream, if the cursor is where the
-- relay read it; whoever applies a row twice, or late, changes nothing (R-9).
-- ARGV: run, cursor seq, cursor mark, new seq, new mark, longest allowed delay (ms), most messages in the stream,
--       number of messages, then id and bytes of each message, then the ops (see ops.py)
-- Returns {"rebuild"} when there is no cursor, {"moved"} when it is elsewhere, else {"ok", now}
local run, seq, mark = ARGV[1], ARGV[2], ARGV[3]
local longest = tonumber(ARGV[6])
local c = redis.call("HMGET", P .. ":cursor", "seq", "mark", "run")
if c[3] ~= run then return {"rebuild"} end
if c[1] ~= seq or c[2] ~= mark then return {"moved"} end

local touched = {}
local horizon = math.max(NOW, tonumber(redis.call("GET", P .. ":fed") or "0"))

-- Bring a page in, or leave it to the feeder when it is due beyond the horizon.
local function place(page, host, due, shift)
  if due > NOW + longest then due = NOW end
  if due > horizon then
    redis.call("ZREM", P .. ":p:" .. host, page)
  else
    redis.call("ZADD", P .. ":p:" .. host, int(place_of(due, shift)), page)
  end
end

-- The row may end a lease under its own nonce, or any lease when it names none; another's stands.
local function may_move(page, host, nonce)
  touched[host] = true
  if nonce == "" then return true end
  local held = holder(page, host)
  return not held or held == nonce
end

local count = tonumber(ARGV[8])
local i = 9 + 2 * count
while i <= #ARGV do
  local op = ARGV[i]
  if op == "k" then
    local page, host = ARGV[i + 1], ARGV[i + 2]
    if may_move(page, host, ARGV[i + 3]) then
      end_lease(page, host)
      redis.call("ZREM", P .. ":p:" .. host, page)
    end
    i = i + 4
  elseif op == "p" then
    local page, host = ARGV[i + 1], ARGV[i + 2]
    if may_move(page, host, ARGV[i + 3]) then
      end_lease(page, host)
      place(page, host, tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]))
    end
    i = i + 6
  elseif op == "n" then
    local host, due, shift = ARGV[i + 3], tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5])
    touched[host] = true
    for page = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]) do
      if not redis.call("ZSCORE", P .. ":p:" .. host, int(page)) then place(int(page), host, due, shift) end
    end
    i = i + 6
  elseif op == "r" then
    local host, due, shift = ARGV[i + 3], tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5])
    touched[host] = true
    for page = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]) do
      -- One under a live lease is left to its holder, whose own row is still to come.
      if not holder(int(page), host) then place(int(page), host, due, shift) end
    end
    i = i + 6
  elseif op == "h" then
    local host = ARGV[i + 1]
    touched[host] = true
    redis.call("HSET", P .. ":h:" .. host, "d", ARGV[i + 2], "m", ARGV[i + 3], "b", ARGV[i + 4], "p", ARGV[i + 5],
      "r", ARGV[i + 6], "q", ARGV[i + 7])
    i = i + 8
  elseif op == "s" then
    local host, at = ARGV[i + 1], tonumber(ARGV[i + 2])
    touched[host] = true
    local slot = tonumber(redis.call("HGET", P .. ":h:" .. host, "s") or 0)
    if slot > NOW + longest then slot = 0 end
    if at > slot and at <= NOW + longest then redis.call("HSET", P .. ":h:" .. host, "s", int(at)) end
    i = i + 3
  elseif op == "c" then
    redis.call("HSET", P .. ":cursor", "paused", ARGV[i + 1])
    i = i + 2
  elseif op == "f" then
    local fed = tonumber(ARGV[i + 1])
    if fed > horizon then
      redis.call("SET", P .. ":fed", int(fed))
      horizon = fed
    end
    i = i + 2
  else
    return redis.error_reply("ERR limpet: unknown op " .. op)
  end
end
for host in pairs(touched) do reschedule(host) end

local above = stream_top()
for m = 9, 8 + 2 * count, 2 do
  if above(ARGV[m]) then
    redis.call("XADD", P .. ":stream", "MAXLEN", "~", ARGV[7], ARGV[m], "event", ARGV[m + 1])
  end
end
redis.call("HSET", P .. ":cursor", "seq", ARGV[4], "mark", ARGV[5], "run", run)
return {"ok", int(NOW)}
