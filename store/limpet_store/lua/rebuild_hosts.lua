-- rebuild_hosts: one chunk of hosts. A host's first slot is a full delay from now, so that limits hold over a wipe.
-- ARGV: run, token, time to live (ms), slack (ms), then for each host: id, delay, max, blocked until, paused, robots, probe
-- Returns 1, or 0 when the token is gone.
if not token_stands(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
for i = 5, #ARGV, 7 do
  local delay = tonumber(ARGV[i + 1])
  local slot = delay > 0 and NOW + delay + tonumber(ARGV[4]) or 0
  redis.call("HSET", P .. ":h:" .. ARGV[i], "d", ARGV[i + 1], "m", ARGV[i + 2], "b", ARGV[i + 3], "p", ARGV[i + 4],
    "r", ARGV[i + 5], "q", ARGV[i + 6], "s", int(slot))
end
return 1
