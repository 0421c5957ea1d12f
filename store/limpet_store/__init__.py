"""All state: the SQL store, the frontier, the relay between them, the embedded server."""
