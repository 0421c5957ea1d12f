"""A trial as JSON, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from limpet import encoding
from limpet.trying.trial import Kept, Trial
from limpet_store.records import PartWrite


def as_json(trial: Trial) -> dict[str, Any]:
    """The stable form: snake_case, seconds. Fields are added, never renamed."""
    outcome, response, page = trial.outcome, trial.response, trial.page
    kind = response.headers.get("content-type", "") if response else ""
    return {
        "url": trial.url,
        "method": trial.row.method,
        "robots": trial.robots,
        "outcome": outcome.kind.value if outcome else None,
        "reason": outcome.reason if outcome else None,
        "error": (outcome.error or outcome.login_failed) if outcome else None,
        "status": response.status if response else None,
        "type": encoding.media_type(kind),
        "bytes": len(response.body) if response else None,
        "charset": encoding.decide(response.body, kind).replace("_", "-") if response else None,
        "charset_from": encoding.whence(response.body, kind) if response else None,
        "seconds": {"fetch": round(trial.fetching, 6), "extract": round(trial.extracting, 6)},
        "handler": trial.handler,
        "pattern": trial.pattern or None,
        "params": dict(page.params) if page else {},
        "data": trial.fetched.data if trial.fetched else None,
        "records": [_record(part) for part in outcome.parts] if outcome else [],
        "rejections": [asdict(rejection) for rejection in outcome.rejections] if outcome else [],
        "links": [_link_json(kept) for kept in trial.kept],
        "dropped": dict(trial.left_out),
        "nothing": []
        if page is None
        else [
            {"selector": each.css, "required": each.required, "near": page.nearest(each) or None}
            for each in page.missed
        ],
    }


def _record(part: PartWrite) -> dict[str, Any]:
    return {"type": part.type, "key": part.key, "part": part.part, "data": json.loads(part.data)}


def _link_json(kept: Kept) -> dict[str, Any]:
    page = kept.page
    return {
        "url": page.address.url,
        "method": page.method,
        "handler": kept.handler,
        "data": json.loads(page.data) if page.data else None,
        "allowed": kept.allowed,
    }
