-- rebuild_pages: one chunk of pending pages within the horizon.
-- ARGV: run, token, time to live (ms), lease (ms), longest allowed delay (ms), 1 when no worker lives,
--       then for each page: id, host, due, shift, nonce of its open attempt or ""
-- An open page is leased again under its nonce: a live holder renews it as if nothing had happened, a dead one's
-- lapses. Where no worker lives it is free at once. A live lease is left as it is.
-- Returns 1, or 0 when the token is gone.
if not token_stands(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
local lease, longest, free = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == "1"
local horizon = math.max(NOW, tonumber(redis.call("GET", P .. ":fed") or "0"))
local touched = {}
for i = 7, #ARGV, 5 do
  local page, host, due, shift, nonce = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), ARGV[i + 4]
  touched[host] = true
  if free then end_lease(page, host) end
  if not holder(page, host) then
    if due > NOW + longest then due = NOW end
    if nonce ~= "" and not free then
      redis.call("ZADD", P .. ":p:" .. host, int(NOW + lease), page)
      redis.call("ZADD", P .. ":l:" .. host, int(NOW + lease), page)
      redis.call("HSET", P .. ":nonces", page, nonce .. " " .. host .. " " .. int(place_of(due, shift)))
    elseif due <= horizon then
      redis.call("ZADD", P .. ":p:" .. host, int(place_of(due, shift)), page)
    end
  end
end
for host in pairs(touched) do reschedule(host) end
return 1
