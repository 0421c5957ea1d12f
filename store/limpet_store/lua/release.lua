-- release: give back pages that were never attempted; they are visible at once.
-- ARGV: run, then page, host, nonce for each. A page under another nonce is left to its holder.
-- Returns the number released.
if not standing(ARGV[1]) then return 0 end
local released = 0
for i = 2, #ARGV, 3 do
  local page, host, nonce = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if holder(page, host) == nonce then
    redis.call("ZADD", P .. ":p:" .. host, int(place_before(page)), page)
    end_lease(page, host)
    reschedule(host)
    released = released + 1
  end
end
return released
