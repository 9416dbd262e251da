"""Log features as the LTR plugin of Elasticsearch and OpenSearch does: one response per query, as JSON lines.

With a real engine these are its answers to requests/elasticsearch-log.json. `_name` in that request is the query text,
so that each hit tells its query in `matched_queries`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import FEATURES, Engine


def write_log(path: Path, engine: Engine, judged: Mapping[str, Sequence[str]]) -> None:
    """The features of the documents that were judged, by query text."""
    with path.open("w", encoding="utf-8") as file:
        for text, ids in judged.items():
            file.write(json.dumps(response(text, engine.features(text, ids))) + "\n")


def response(text: str, features: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """What Elasticsearch answers; a feature that does not match a document has no value."""
    hits = [
        {"_index": "films", "_id": id, "_score": 0.0, "fields": {"_ltrlog": [{"log": entries(values)}]}}
        | {"matched_queries": [text]}
        for id, values in features.items()
    ]
    return {"took": 1, "timed_out": False, "hits": {"total": {"value": len(hits), "relation": "eq"}, "hits": hits}}


def entries(values: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"name": name} | ({"value": values[name]} if name in values else {}) for name in FEATURES]
