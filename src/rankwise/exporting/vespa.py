"""Vespa: a rank profile whose first phase is the model."""

import re

from rankwise.exporting.expressions import expression
from rankwise.exporting.parts import Linear
from rankwise.exporting.targets import Request, Target

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_ARGUMENT = rf'\s*(?:{_WORD}(?:\.{_WORD})*|-?\d+(?:\.\d+)?|"[^"\\{{}}\n#]*")\s*'
_FEATURE = re.compile(rf"{_WORD}(?:\((?:{_ARGUMENT}(?:,{_ARGUMENT})*)?\))?(?:\.[A-Za-z0-9_]+)*", re.ASCII)
_PROFILE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_RESERVED = {"if", "in", "switch", "case", "default", "f", "true", "false"}
_BRACKETS = {")": "(", "]": "[", "}": "{"}


def vespa(model: Linear, request: Request) -> str:
    """A rank profile; a feature's name is a rank feature such as bm25(title), or `feature_map` has an expression."""
    if not _PROFILE.fullmatch(request.name):
        raise ValueError(
            f"name {request.name!r} cannot name a rank profile of Vespa: take letters, digits, '_' and '-', and begin "
            "with a letter"
        )
    for mapped in request.feature_map.values():
        _check_expression(mapped)
    terms = expression(model, lambda name: _field(name, request), "\n                ")
    return f"""rank-profile {request.name} {{
    first-phase {{
        expression {{
                {terms}
        }}
    }}
}}
"""


def _field(name: str, request: Request) -> str:
    if name in request.feature_map:
        return f"({request.feature_map[name]})"
    if not _FEATURE.fullmatch(name) or name in _RESERVED:
        raise ValueError(
            f"feature {name!r} is no rank feature of Vespa such as bm25(title) or attribute(popularity): give "
            "feature_map (--feature-map FILE), a JSON object of names and rank expressions"
        )
    return name


def _check_expression(text: str) -> None:
    """Raise an error if a rank expression could end before its parentheses do: brackets must match, on one line."""
    unsafe = not isinstance(text, str) or not text.strip() or not text.isprintable() or "#" in text
    open_ones: list[str] = []
    for sign in "" if unsafe else text:
        if sign in _BRACKETS.values():
            open_ones.append(sign)
        elif sign in _BRACKETS and (not open_ones or open_ones.pop() != _BRACKETS[sign]):
            unsafe = True
            break
    if unsafe or open_ones:
        raise ValueError(
            f"the rank expression {text!r} in the feature map must be one line without '#', and its brackets must match"
        )


def _next_step(request: Request) -> str:
    return f"put it into the schema, deploy it, and query with ranking={request.name}"


VESPA = Target("vespa", vespa, maps_features=True, next_step=_next_step)
