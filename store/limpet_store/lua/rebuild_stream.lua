-- rebuild_stream: one chunk of messages, oldest first; what the stream has is left.
-- ARGV: run, token, time to live (ms), most messages in the stream, then id and bytes of each message
-- Returns 1, or 0 when the token is gone.
if not token_stands(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
local above = stream_top()
for i = 5, #ARGV, 2 do
  if above(ARGV[i]) then
    redis.call("XADD", P .. ":stream", "MAXLEN", "~", ARGV[4], ARGV[i], "event", ARGV[i + 1])
  end
end
return 1
