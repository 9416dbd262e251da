"""Models that people and programs read: JSON, an SQL expression, a Python function."""

import json as json_text

from rankwise import __version__
from rankwise.exporting.expressions import expression
from rankwise.exporting.parts import Linear
from rankwise.exporting.targets import Request, Target


def json(model: Linear, request: Request) -> str:
    """Weights by name, with the intercept, so that the scores are those of the model."""
    weights = dict(zip(model.names, model.weights.tolist(), strict=True))
    body: dict[str, object] = {"name": request.name, "kind": model.kind, "intercept": model.intercept}
    if model.scaling is not None:
        bounds = model.scaling.bounds
        pairs = zip(model.names, *(one.tolist() for one in bounds.values()), strict=True)
        body["scaling"] = {name: dict(zip(bounds, pair, strict=True)) for name, *pair in pairs if weights[name]}
    return json_text.dumps(body | {"weights": weights}, indent=1, ensure_ascii=False) + "\n"


def sql(model: Linear, request: Request) -> str:
    """An expression over columns called as the features are; names in double quotes, as in standard SQL."""
    return expression(model, _quoted, "\n  ") + "\n"


def _quoted(name: str) -> str:
    if not name or "\0" in name:
        raise ValueError(f"feature {name!r} cannot be a column in SQL: give it another name")
    return '"' + name.replace('"', '""') + '"'


def python(model: Linear, request: Request) -> str:
    """A module with a function `score`, which imports nothing but `math`."""
    scaled = model.scaling is not None
    value = "((value - SHIFT[name]) * SCALE[name])" if scaled else "value"
    tables = {"WEIGHTS": model.weights} | ({"SHIFT": model.shift, "SCALE": model.scale} if scaled else {})
    lines = [f'"""A {model.kind} exported by rankwise {__version__}: `score(features)`, the higher, the better."""', ""]
    lines += ["from math import fsum", "", f"NAME = {request.name!r}", f"INTERCEPT = {model.intercept!r}"]
    for table, numbers in tables.items():
        entries = [f"    {name!r}: {one!r}," for name, one in zip(model.names, numbers.tolist(), strict=True)]
        lines += [f"{table} = {{", *entries, "}"]
    return "\n".join([*lines, "", "", _FUNCTION.replace("VALUE", value)])


_FUNCTION = '''def score(features):
    """The score of a document.

    features  a dict by feature name, or a sequence in the order of WEIGHTS
    """
    if not hasattr(features, "keys"):
        if len(features) != len(WEIGHTS):
            raise ValueError(f"expected {len(WEIGHTS)} features, got {len(features)}")
        features = dict(zip(WEIGHTS, features))
    named = ((name, weight, features[name]) for name, weight in WEIGHTS.items())
    return fsum([INTERCEPT, *(weight * VALUE for name, weight, value in named)])
'''


def _to_sql(request: Request) -> str:
    return "SELECT ..., (EXPRESSION) AS score FROM ... ORDER BY score DESC, with the file as EXPRESSION"


def _to_python(request: Request) -> str:
    return "import the file as a module and call its score(features), with a dict by feature name"


JSON = Target("json", json)
SQL = Target("sql", sql, next_step=_to_sql)
PYTHON = Target("python", python, next_step=_to_python)
