"""Records against their parts and messages. The messages are copied, without their contents, into a scratch
database on disk, where SQL can look at all versions of a record beside each other in constant memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from limpet_store import outbox
from limpet_store.content import GONE_HASH, canonical_json, content_hash, record_id
from limpet_store.database import Row
from limpet_store.findings import Finding, run
from limpet_store.records import merge, steady, together
from limpet_store.store import Store

CHUNK = 500  # rows in one read
MESSAGES = f"SELECT seq, messages FROM outbox WHERE seq > ? AND messages <> '' ORDER BY seq LIMIT {CHUNK}"
BOUND = f"SELECT max(id) FROM (SELECT id FROM records WHERE id > ? ORDER BY id LIMIT {CHUNK})"
RECORDS = """SELECT r.id, r.source, r.type, r.key, r.version, r.hash, r.data, r.gone, p.part, p.hash, p.data, p.volatile
FROM records r LEFT JOIN parts p ON p.record = r.id WHERE r.id > ? AND r.id <= ? ORDER BY r.id, p.part"""
ONE = "SELECT version, hash FROM records WHERE id = ?"
ORPHAN = """SELECT record FROM parts WHERE record > ? AND record <= ?
AND NOT EXISTS (SELECT 1 FROM records r WHERE r.id = record) LIMIT 1"""
ORPHAN_BOUND = (
    f"SELECT max(record) FROM (SELECT record FROM parts WHERE record > ? ORDER BY record LIMIT {CHUNK})"
)

SCRATCH = """CREATE TABLE said (record TEXT, seq INTEGER, n INTEGER, epoch INTEGER, version INTEGER, hash TEXT,
PRIMARY KEY (record, seq, n)) WITHOUT ROWID"""
BESIDE = """SELECT record, version, hash, epoch, lag(version) OVER w AS before, lag(hash) OVER w AS hash_before,
lag(epoch) OVER w AS epoch_before FROM said WINDOW w AS (PARTITION BY record ORDER BY seq, n)"""
STEPS = f"""SELECT 'version ' || version || ' of record ' || record ||
  CASE WHEN before IS NULL THEN ' is the first' ELSE ' follows version ' || before END
FROM ({BESIDE}) WHERE version <> coalesce(before + 1, CASE WHEN :whole THEN 1 ELSE version END)
  OR epoch < epoch_before LIMIT 1"""
DIFFER = f"""SELECT 'versions ' || before || ' and ' || version || ' of record ' || record || ' are the same'
FROM ({BESIDE}) WHERE hash = hash_before LIMIT 1"""
LAST = "SELECT version, hash FROM said WHERE record = ? ORDER BY seq DESC, n DESC LIMIT 1"


def verify(store: Store) -> Iterator[Finding]:
    """The findings about records, parts and messages."""
    said = Said(store)
    try:
        said.catch_up()
        yield run("messages hold what they announce", lambda: said.wrong)
        yield run("versions of a record step by one", lambda: said.first(STEPS, {"whole": said.whole}))
        yield run("neighbouring versions differ", lambda: said.first(DIFFER))
        records = _Records(store, said)
        records.look()
        yield run("a record, its hash and its last message agree", records.disagreement)
        yield run("a record is the merge of its parts", lambda: records.unmerged or orphan(store))
    finally:
        said.close()


class Said:
    """Which versions the outbox's messages speak of. `wrong` is the first message that contradicts itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._raw = sqlite3.connect("", isolation_level=None)  # a file of its own that is gone with it
        self._raw.execute("PRAGMA journal_mode=OFF")
        self._raw.execute(SCRATCH)
        self._upto = 0
        self.wrong: str | None = None
        self.whole = not store.db.value("SELECT pruned FROM meta")

    def catch_up(self) -> None:
        """Take in what was committed since."""
        while rows := self._store.db.rows(MESSAGES, (self._upto,)):
            found = [
                (fact[0], seq, n, *fact[1:])
                for seq, text in rows
                for n, line in enumerate(text.split("\n"))
                if (fact := self._fact(seq, line))
            ]
            self._raw.executemany("INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)", found)
            self._upto = rows[-1][0]

    def _fact(self, seq: int, line: str) -> tuple[str, int, int, str] | None:
        """(record, epoch, version, hash) of a record's message; None for others and for one that is wrong."""
        try:
            message = json.loads(line)
            if not message["type"].startswith("limpet.record."):
                return None
            record, _, at = message["id"].rpartition(":")
            epoch, _, version = at.partition(".")
            fact = (record, int(epoch), int(version), message["contenthash"])
            wrong = _contradiction(message, fact)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.wrong = self.wrong or f"outbox row {seq}: not a message: {error}"
            return None
        if wrong:
            self.wrong = self.wrong or f"outbox row {seq}: {wrong}"
        return fact

    def first(self, sql: str, params: dict[str, Any] | None = None) -> str | None:
        found = self._raw.execute(sql, params or {}).fetchone()
        return found[0] if found else None

    def last(self, record: str) -> tuple[int, str] | None:
        """(version, hash) of the newest message about it."""
        found = self._raw.execute(LAST, (record,)).fetchone()
        return (found[0], found[1]) if found else None

    def close(self) -> None:
        self._raw.close()


def _contradiction(message: dict[str, Any], fact: tuple[str, int, int, str]) -> str | None:
    record, _, version, hash_ = fact
    data = message["data"]
    if data["version"] != version or message["subject"] != record:
        return f"{message['id']} is about version {data['version']} of {message['subject']}"
    content = canonical_json(data.get("record"))
    if "record" in data and content_hash(steady(content, canonical_json(data.get("volatile")))) != hash_:
        return f"the content of {message['id']} has another hash than it says"
    return None


class _Records:
    """One pass over the records with their parts; each piece is one statement, so one state of the store."""

    def __init__(self, store: Store, said: Said) -> None:
        self._store = store
        self._said = said
        self.unmerged: str | None = None
        self._mismatch: str | None = None
        self._suspects: list[str] = []

    def look(self) -> None:
        last = ""
        while (upto := self._store.db.value(BOUND, (last,))) is not None:
            for record, parts in _grouped(self._store.db.rows(RECORDS, (last, upto))):
                self._look_at(record, parts)
            last = upto

    def _look_at(self, record: Row, parts: list[Row]) -> None:
        id_, version, hash_, data, gone = record[0], *record[4:8]
        self._mismatch = self._mismatch or _record_problem(record, _together(parts))
        self.unmerged = self.unmerged or _parts_problem(id_, data, gone, parts)
        said = self._said.last(id_)
        if version and said != (version, hash_) and (said or self._said.whole):
            self._suspects.append(id_)

    def disagreement(self) -> str | None:
        """What is wrong with a record by itself, or with its last message when both are looked at again."""
        if self._mismatch:
            return self._mismatch
        while self._suspects:
            self._said.catch_up()
            top = outbox.top(self._store.db)
            self._suspects = [record for record in self._suspects if self._disagrees(record)]
            if outbox.top(self._store.db) == top:  # nothing came in between: that is how it is
                return self._disagrees(self._suspects[0]) if self._suspects else None
        return None

    def _disagrees(self, record: str) -> str | None:
        found, said = self._store.db.one(ONE, (record,)), self._said.last(record)
        if found == said:
            return None
        there = f"version {found[0]}" if found else "not there"
        message = f"version {said[0]}" if said else "none"
        return f"record {record} is {there}, its last message is {message}" + (
            " with another content" if found and said and found[0] == said[0] else ""
        )


def _grouped(rows: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """(record, its parts) from the rows of the join."""
    record: Row = ()
    parts: list[Row] = []
    for row in rows:
        if row[:8] != record:
            if record:
                yield record, parts
            record, parts = row[:8], []
        if row[8] is not None:
            parts.append(row[8:])
    if record:
        yield record, parts


def _record_problem(record: Row, volatile: str | None) -> str | None:
    id_, source, type_, key, version, hash_, data, gone = record
    if record_id(source, type_, key) != id_:
        return f"record {id_} is not the id of {type_} {key}"
    if content_hash(steady(data, volatile)) != hash_:
        return f"record {id_} ({type_} {key}) has content of another hash"
    if bool(gone) != (hash_ == GONE_HASH) or (version == 0 and not gone):
        return f"record {id_} ({type_} {key}) is marked {'gone' if gone else 'live'} and its content is not"
    return None


def _parts_problem(id_: str, data: str, gone: int, parts: list[Row]) -> str | None:
    if not gone and not parts:
        return f"record {id_} is live and has no parts"
    for part, hash_, content, volatile in parts:
        if content_hash(steady(content, volatile)) != hash_:
            return f"part {part!r} of record {id_} has content of another hash"
    if gone:
        return None  # its parts, if it has any, wait for others
    volatile = _together(parts)
    if steady(merge(content for _, _, content, _ in parts), volatile) != steady(data, volatile):
        return f"record {id_} is not the merge of its {len(parts)} parts"
    return None


def _together(parts: list[Row]) -> str | None:
    return together(volatile for *_, volatile in parts)


def orphan(store: Store) -> str | None:
    """A part whose record is not there."""
    last = ""
    while (upto := store.db.value(ORPHAN_BOUND, (last,))) is not None:
        if found := store.db.one(ORPHAN, (last, upto)):
            return f"a part belongs to record {found[0]}, which is not there"
        last = upto
    return None
