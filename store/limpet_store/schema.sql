-- Schema 4. One crawl is one such database. Times are milliseconds of the frontier's clock since 1970.

PRAGMA application_id = 1818848624;        -- "limp": tells the file from other programs' databases

CREATE TABLE meta (                         -- one row: what the store says of itself
  id            INTEGER PRIMARY KEY CONSTRAINT meta_one_row CHECK (id = 1),
  schema        INTEGER NOT NULL,
  canonicaliser INTEGER NOT NULL,           -- page keys were made by this version of the URL rules
  crawl         TEXT NOT NULL,
  store_id      TEXT NOT NULL,              -- renewed when the store went back in time
  epoch         INTEGER NOT NULL,           -- renewed with it; leads every version in an idempotency key
  life          INTEGER NOT NULL,           -- outbox top when this store_id began
  fence         INTEGER NOT NULL,           -- the newest fencing token handed out, store-wide
  pruned        INTEGER NOT NULL,           -- highest outbox seq removed
  handlers      TEXT,                       -- hash of all handlers' code at the last crawl command
  sample        REAL,                       -- the share of pages that is visited; NULL: all
  paused        INTEGER NOT NULL DEFAULT 0, -- 1: nothing is handed out until somebody resumes the crawl
  periods       TEXT                        -- the site's refresh periods by which refresh_at was set last
);

CREATE TRIGGER meta_fence_rises BEFORE UPDATE OF fence ON meta WHEN NEW.fence < OLD.fence
BEGIN SELECT RAISE(ABORT, 'meta_fence_rises: a fence never decreases'); END;

CREATE TABLE hosts (                        -- politeness is a fact, so it is kept here and copied to Redis
  id            INTEGER PRIMARY KEY,
  scheme        TEXT NOT NULL,
  name          TEXT NOT NULL,
  port          INTEGER NOT NULL,
  scope         INTEGER NOT NULL,           -- 1: links to it are followed
  delay         INTEGER NOT NULL CONSTRAINT hosts_delay CHECK (delay >= 0),
  crawl_delay   INTEGER NOT NULL DEFAULT 0, -- what its robots.txt asks for, ms; the longer delay holds
  pace          INTEGER NOT NULL DEFAULT 0, -- median of its recent response times, ms; no delay is shorter
  max_in_flight INTEGER NOT NULL CONSTRAINT hosts_max CHECK (max_in_flight >= 0),  -- 0: no limit
  blocked_until INTEGER NOT NULL DEFAULT 0,
  blocked_at    INTEGER NOT NULL DEFAULT 0, -- when the block began; older requests change nothing
  blocks        INTEGER NOT NULL DEFAULT 0, -- blocks in a row: the next one is longer
  streak        INTEGER NOT NULL DEFAULT 0, -- failures in a row, over all pages
  rests         INTEGER NOT NULL DEFAULT 0, -- rests in a row; above 0 the host gives out one probe page
  error         TEXT,                       -- its last failure; NULL once it answers
  logins        INTEGER NOT NULL DEFAULT 0, -- logins that failed in a row; from 3 on the host is held
  paused        INTEGER NOT NULL DEFAULT 0,
  robots_page   INTEGER NOT NULL DEFAULT 0, -- page id of its robots.txt, 0: not asked
  robots        TEXT,                       -- the rules as text; NULL: unknown, nothing else is fetched
  robots_at     INTEGER,
  CONSTRAINT hosts_origin UNIQUE (scheme, name, port)
);

CREATE TABLE pages (
  id            INTEGER PRIMARY KEY,
  key           TEXT NOT NULL,              -- identity: the canonical URL of a plain GET, see page_key
  kind          TEXT NOT NULL CONSTRAINT pages_kind CHECK (kind IN ('page', 'robots', 'sitemap')),
  url           TEXT NOT NULL,              -- as found, for people
  canonical     TEXT NOT NULL,              -- what is requested, asked about in robots.txt and matched
  method        TEXT NOT NULL DEFAULT 'GET',
  body          BLOB,
  headers       TEXT,                       -- JSON: sent besides the site's; secrets by name only
  query         TEXT,                       -- JSON: parameters added when it is sent, likewise
  host          INTEGER NOT NULL REFERENCES hosts (id),
  handler       TEXT,                       -- chosen by the link; NULL: by pattern
  data          TEXT,                       -- handed down by the first discovery, or collected: see `handed`
  merges        INTEGER NOT NULL DEFAULT 0, -- 1: data is the list of what all its parents hand down
  led           INTEGER NOT NULL DEFAULT 0, -- 1: made due by the page that leads to it, not by a refresh
  lastmod       TEXT,                       -- what its sitemap says of it
  parent        INTEGER,
  depth         INTEGER NOT NULL,
  hops          INTEGER NOT NULL DEFAULT 0, -- redirects that led here
  priority      INTEGER NOT NULL DEFAULT 0,
  state         TEXT NOT NULL
    CONSTRAINT pages_state CHECK (state IN ('pending', 'done', 'alias', 'dead', 'gone', 'held')),
  due_at        INTEGER NOT NULL,
  refresh_at    INTEGER,                    -- when a finished page is due again by itself; NULL: with a round
  round         INTEGER NOT NULL,           -- in which it was last made due
  fence         INTEGER NOT NULL DEFAULT 0, -- of the newest attempt
  nonce         TEXT,                       -- of the lease of the newest attempt
  open          INTEGER NOT NULL DEFAULT 0, -- 1: attempted, outcome not committed
  attempted_at  INTEGER,
  failures      INTEGER NOT NULL DEFAULT 0, -- retryable outcomes in a row
  rereads       INTEGER NOT NULL DEFAULT 0, -- visits of this round that other pages asked for
  lost          INTEGER NOT NULL DEFAULT 0 CONSTRAINT pages_lost CHECK (lost >= 0),
  status        INTEGER,
  reason        TEXT,                       -- what kind of failure the newest one is, why it is dead or held
  error         TEXT,
  fetched_at    INTEGER,                    -- last 2xx
  etag          TEXT,                       -- validators of the last 2xx, sent back to ask for changes alone
  modified      TEXT,                       -- its Last-Modified
  missed        INTEGER,                    -- the round in which it was not there any more; a later one takes it away
  missed_at     INTEGER,
  code          TEXT,                       -- handler:hash that extracted it
  dropped       TEXT,                       -- JSON: links left out, by reason
  forgotten     INTEGER NOT NULL DEFAULT 0, -- 1: not visited any more, whoever finds it again
  CONSTRAINT pages_key UNIQUE (key),
  CONSTRAINT pages_open_is_pending CHECK (open = 0 OR state = 'pending')
);
CREATE INDEX pages_due ON pages (state, due_at);
CREATE INDEX pages_open ON pages (id) WHERE open = 1;
CREATE INDEX pages_refresh ON pages (refresh_at) WHERE refresh_at IS NOT NULL;
CREATE INDEX pages_pending ON pages (id) WHERE state = 'pending';
CREATE INDEX pages_sitemaps ON pages (state) WHERE kind = 'sitemap';
CREATE INDEX pages_excluded ON pages (host) WHERE state = 'dead' AND reason = 'excluded';
CREATE INDEX pages_missed ON pages (id) WHERE missed IS NOT NULL;
CREATE INDEX pages_of_host ON pages (host) WHERE kind = 'page';
CREATE INDEX pages_failing ON pages (id) WHERE state = 'pending' AND failures > 0;

CREATE TRIGGER pages_fence_rises BEFORE UPDATE OF fence ON pages WHEN NEW.fence < OLD.fence
BEGIN SELECT RAISE(ABORT, 'pages_fence_rises: a fence never decreases'); END;

CREATE TABLE handed (                       -- what each parent hands down to a page that collects it
  page          INTEGER NOT NULL REFERENCES pages (id),
  parent        INTEGER NOT NULL REFERENCES pages (id),
  data          TEXT NOT NULL,              -- JSON: a list
  PRIMARY KEY (page, parent)
) WITHOUT ROWID;
CREATE INDEX handed_parent ON handed (parent);

CREATE TABLE records (
  id            TEXT PRIMARY KEY,           -- hash of (source, type, key)
  source        TEXT NOT NULL,
  type          TEXT NOT NULL,
  key           TEXT NOT NULL,
  url           TEXT NOT NULL,              -- the page behind the newest version
  version       INTEGER NOT NULL,           -- 0: it waits for parts that it requires
  hash          TEXT NOT NULL,              -- of the merged content, volatile fields left out
  data          TEXT NOT NULL,              -- the merge of its parts, canonical JSON
  schema        INTEGER NOT NULL DEFAULT 1,
  gone          INTEGER NOT NULL DEFAULT 0,
  first_seen    INTEGER NOT NULL,
  last_changed  INTEGER NOT NULL,
  CONSTRAINT records_key UNIQUE (source, type, key)
);

CREATE TRIGGER records_begin_at_1 BEFORE INSERT ON records
WHEN NEW.version <> 1 AND (NEW.version <> 0 OR NEW.gone <> 1)
BEGIN SELECT RAISE(ABORT, 'records_begin_at_1: the first version is 1'); END;
CREATE TRIGGER records_version_steps BEFORE UPDATE ON records WHEN NEW.version <> OLD.version + 1
BEGIN SELECT RAISE(ABORT, 'records_version_steps: a version steps by exactly 1'); END;
CREATE TRIGGER records_content_differs BEFORE UPDATE ON records WHEN NEW.hash = OLD.hash
BEGIN SELECT RAISE(ABORT, 'records_content_differs: neighbouring versions differ'); END;
CREATE TRIGGER records_first_seen BEFORE UPDATE OF first_seen ON records WHEN NEW.first_seen <> OLD.first_seen
BEGIN SELECT RAISE(ABORT, 'records_first_seen: first_seen never moves'); END;

CREATE TABLE parts (
  record        TEXT NOT NULL REFERENCES records (id),
  part          TEXT NOT NULL,
  page          INTEGER NOT NULL REFERENCES pages (id),
  fence         INTEGER NOT NULL,           -- of the attempt behind its content
  hash          TEXT NOT NULL,              -- of its data, volatile fields left out
  data          TEXT NOT NULL,
  volatile      TEXT,                       -- JSON: the fields that make no version
  requires      TEXT,                       -- JSON: parts without which a new record is not shown
  schema        INTEGER NOT NULL DEFAULT 1, -- of the record's type when it was read
  last_seen     INTEGER NOT NULL,
  missed        INTEGER,                    -- the round in which a page that gives all it has did not give it
  missed_at     INTEGER,
  PRIMARY KEY (record, part)
) WITHOUT ROWID;
CREATE INDEX parts_page ON parts (page);

CREATE TABLE also_on (                      -- pages that have given a part too, besides the one that gave it last
  record        TEXT NOT NULL,
  part          TEXT NOT NULL,
  page          INTEGER NOT NULL REFERENCES pages (id),
  PRIMARY KEY (record, part, page)
) WITHOUT ROWID;
CREATE INDEX also_on_page ON also_on (page);

CREATE TRIGGER parts_fence_rises BEFORE UPDATE OF fence ON parts WHEN NEW.fence < OLD.fence
BEGIN SELECT RAISE(ABORT, 'parts_fence_rises: the attempts behind a part rise'); END;

CREATE TABLE rejections (                   -- of the newest extraction of each page
  page          INTEGER NOT NULL REFERENCES pages (id),
  n             INTEGER NOT NULL,
  type          TEXT NOT NULL,
  key           TEXT NOT NULL,
  field         TEXT NOT NULL DEFAULT '',   -- the one to blame, where it is known
  reason        TEXT NOT NULL,
  value         TEXT NOT NULL,
  at            INTEGER NOT NULL,
  PRIMARY KEY (page, n)
) WITHOUT ROWID;

CREATE TABLE outbox (                       -- what the relay must apply, in order of commit
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  mark          TEXT NOT NULL,              -- random: tells this row from another life's row of the same seq
  kind          TEXT NOT NULL,
  ops           TEXT NOT NULL,              -- JSON, flat: see ops.py
  messages      TEXT NOT NULL,              -- final bytes, one message a line
  n             INTEGER NOT NULL DEFAULT 0, -- how many messages that are
  at            INTEGER NOT NULL
);

CREATE INDEX outbox_messages ON outbox (seq, n) WHERE n > 0;

CREATE TRIGGER outbox_append_only BEFORE UPDATE OF seq, mark, kind, ops, n, at ON outbox
BEGIN SELECT RAISE(ABORT, 'outbox_append_only: a row is never changed'); END;
CREATE TRIGGER outbox_no_early_purge BEFORE DELETE ON outbox WHEN OLD.seq > (SELECT pruned FROM meta)
BEGIN SELECT RAISE(ABORT, 'outbox_no_early_purge: rows above meta.pruned stay'); END;

CREATE TABLE rounds (
  number        INTEGER PRIMARY KEY,
  why           TEXT NOT NULL,
  started_at    INTEGER NOT NULL,
  fence         INTEGER NOT NULL,           -- the newest when it began: attempts of the round come after it
  refreshed_to  INTEGER,                    -- pages up to this id were made due; NULL: all of them
  finished_at   INTEGER
);
