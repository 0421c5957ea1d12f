-- rebuild_stream: one chunk of messages, oldest first; what the stream has is left.
-- ARGV: token, time to live (ms), then seq, n and bytes of each message
-- Returns 1, or 0 when the token is gone.
if redis.call("GET", P .. ":rebuild") ~= ARGV[1] then return 0 end
redis.call("PEXPIRE", P .. ":rebuild", ARGV[2])
local top = redis.call("XREVRANGE", P .. ":stream", "+", "-", "COUNT", 1)[1]
local seq, n = 0, 0
if top then
  local a, b = string.match(top[1], "^(%d+)-(%d+)$")
  seq, n = tonumber(a), tonumber(b)
end
for i = 3, #ARGV, 3 do
  local s, m = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  if s > seq or (s == seq and m > n) then
    redis.call("XADD", P .. ":stream", ARGV[i] .. "-" .. ARGV[i + 1], "event", ARGV[i + 2])
  end
end
return 1
