-- rebuild_begin: become the one rebuilder, if the cursor is missing or is the one that is to go.
-- ARGV: run, token, time to live (ms), horizon (ms), seq and mark of a cursor to drop ("" for none)
-- Returns {"standing"} when there is a cursor, {"busy"} when another rebuilds, else {"ok", now}
local run, token, ttl = ARGV[1], ARGV[2], ARGV[3]
local c = redis.call("HMGET", P .. ":cursor", "seq", "mark", "run")
if c[3] and c[3] ~= run then redis.call("DEL", P .. ":cursor") end
if c[3] == run then
  if c[1] ~= ARGV[5] or c[2] ~= ARGV[6] then return {"standing"} end
  redis.call("DEL", P .. ":cursor")
end
-- A token that outlives its time comes from a clock that was set back, or has none at all.
local left = redis.call("PTTL", P .. ":rebuild")
if left == -1 or left > tonumber(ttl) then redis.call("DEL", P .. ":rebuild") end
-- Its own token again: the reply of this very call was lost.
if not redis.call("SET", P .. ":rebuild", run .. "/" .. token, "NX", "PX", ttl) and not token_stands(run, token, ttl) then
  return {"busy"}
end
redis.call("SET", P .. ":fed", int(NOW + tonumber(ARGV[4])))
return {"ok", int(NOW)}
