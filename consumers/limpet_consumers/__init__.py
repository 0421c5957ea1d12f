"""Takes pages out: lease, attempt, fetch, extract, commit, relay."""
