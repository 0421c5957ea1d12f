"""The Redis keys of a crawl. Every one begins with the prefix `{<crawl>:<store_id>}`: one hash tag, one life.

    key              type    member or field -> value
    :cursor          hash    seq, mark of the last outbox row applied; run: the server run it was made under;
                             paused: 1 while the crawl is
    :fed             string  the horizon: pages due up to it (ms) are here, later ones wait in SQL
    :clock           string  the server's time (ms) at the last lease call: tells when it was set back
    :hosts           zset    host id -> when it can next give out a page (ms)
    :h:<host>        hash    d delay (ms), m max in flight (0: any), b blocked until, p paused, r the page that
                             must come first (robots.txt, 0: none), q probe (1: one page at a time), s next slot
    :p:<host>        zset    page id -> visible at (ms): its due time, or when its lease lapses
    :l:<host>        zset    page id -> lease deadline (ms); in flight = deadlines in the future
    :nonces          hash    page id -> "<nonce> <host> <score>" of its lease; the score that it had before
    :call:<nonce>    string  what a lease call gave, for a reply that was lost; lives for one lease
    :stream          stream  messages, ids <seq>-<n>
    :pace            string  how many requests the last slice let overlap; expires
    :login           string  token of the one worker that logs in; expires like a lease
    :rebuild         string  token of the one rebuilder; expires

Nothing here is true by itself: it is the fold of the outbox, and may vanish at any moment (R-1).
"""

from __future__ import annotations


def prefix(crawl: str, store_id: str) -> str:
    """The prefix of every key of a crawl in one life of its store."""
    return f"{{{crawl}:{store_id}}}"


def pointer(crawl: str) -> str:
    """The key that names the current store_id, for subscribers."""
    return f"limpet:{crawl}"
