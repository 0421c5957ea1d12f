"""One page at a time, outside of a crawl: tried, shown, saved, replayed, and at hand at a prompt."""
