"""The request bodies under requests/, for one query: KEYWORDS and IDS in them stand for its text and its documents."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REQUESTS = Path(__file__).parent / "requests"


def body(name: str, keywords: str = "", ids: Sequence[str] = ()) -> Any:
    """The body of requests/NAME.json. JSON is filled in after it was parsed, so that a quote in a query is harmless."""
    return _filled(json.loads((REQUESTS / f"{name}.json").read_text(encoding="utf-8")), keywords, list(ids))


def _filled(value: Any, keywords: str, ids: list[str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(one, keywords, ids) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, keywords, ids) for one in value]
    if isinstance(value, str) and value.endswith("}IDS"):  # Solr's {!terms f=id}IDS
        return value.removesuffix("IDS") + ",".join(ids)
    return {"KEYWORDS": keywords, "IDS": ids}.get(value, value) if isinstance(value, str) else value
