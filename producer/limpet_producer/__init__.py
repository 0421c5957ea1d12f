"""Puts pages in: seeds, enqueued URLs, new rounds."""
