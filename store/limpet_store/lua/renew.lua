-- renew: keep leases for another lease time, if they are still held under their nonce.
-- ARGV: run, lease (ms), then page, host, nonce for each
-- Returns {"rebuild"} when there is no cursor, else {"ok", now, 1 or 0 for each}
local run, lease = ARGV[1], tonumber(ARGV[2])
if not standing(run) then return {"rebuild"} end
local kept = {}
for i = 3, #ARGV, 3 do
  local page, host, nonce = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local mine = holder(page, host) == nonce
  if mine then
    redis.call("ZADD", P .. ":p:" .. host, int(NOW + lease), page)
    redis.call("ZADD", P .. ":l:" .. host, int(NOW + lease), page)
  end
  kept[#kept + 1] = mine and 1 or 0
end
return {"ok", int(NOW), unpack(kept)}
