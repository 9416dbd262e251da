"""What the commands do: read, call the library, show the outcome."""

import json
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from rankwise import metrics
from rankwise.cli.inputs import (
    left_on_disk,
    names_for,
    note_one_query,
    parse_measures,
    read_data,
    scores_of,
)
from rankwise.cli.judging import Judge
from rankwise.cli.models import make_training
from rankwise.cli.speech import answer, answer_json, counted, doing, say, stop_here, table
from rankwise.cli.targets import check_target
from rankwise.data.columns import ModelColumns
from rankwise.foundation.compiling import clock
from rankwise.foundation.texts import visible
from rankwise.model_io.conversion import estimator_of, model_of
from rankwise.model_io.files import is_model_file, read_model, write_model
from rankwise.rankers.models import LinearModel, Model
from rankwise.rankers.training import Training as Trainer
from rankwise.solvers import Callback, Step

LIST_SHOWN = 30  # entries of a parameter
BAR = 24  # characters of the longest weight's bar


@dataclass(frozen=True)
class Training:
    model: str
    data: list[str]
    output: str
    options: dict[str, Any]
    normalize: str | None
    valid: str | None
    measures: list[str] | None
    names: str | None
    float32: bool
    force: bool

    def check_output(self) -> None:
        reads = [*self.data, self.valid, self.names]
        check_target(self.output, reads, self.force, is_model_file, "rankwise model")


def train(asked: Training, as_json: bool) -> None:
    measures = parse_measures(asked.measures)
    training = make_training(asked.model, asked.options, asked.normalize)
    asked.check_output()
    data = left_on_disk(training, asked.data)
    if data is None:
        data = read_data(asked.data, dtype=np.float32 if asked.float32 else None)
    names = names_for(data, asked.names)
    known = ModelColumns(data.n_features, data.first_index, None if names is None else tuple(names))
    evaluated = {"train": data} | ({} if asked.valid is None else {"valid": read_data(asked.valid, known)})
    note_one_query(data.n_queries, len(data))
    began = clock()
    with doing("training") as progress:
        ranker = fitted(training, data, progress)
    seconds = clock() - began
    model = replace(ranker, columns=known) if isinstance(ranker, Model) else model_of(ranker, names, data.first_index)
    write_model(model, asked.output)
    asked_for = measures or metrics.default_measures(np.concatenate([one.y for one in evaluated.values()]))
    found = {
        name: metrics.evaluate(one.y, scores_of(ranker, one), one.qid, asked_for) for name, one in evaluated.items()
    }
    shape = {"documents": len(data), "queries": data.n_queries, "features": data.n_features}
    tell(asked, Outcome(model.result, shape, seconds, found), as_json)


@dataclass(frozen=True)
class Outcome:
    """Of a training: what the solver says, how large the data are, and how good the model is on which."""

    result: Any
    shape: dict[str, int]
    seconds: float
    found: dict[str, metrics.Evaluation]


def tell(asked: Training, outcome: Outcome, as_json: bool) -> None:
    result, shape, seconds, found = outcome.result, outcome.shape, outcome.seconds, outcome.found
    rounds = {name: getattr(result, name) for name in ("rounds", "bytes") if hasattr(result, name)}  # of a cluster
    report = partial(answer, aside=asked.output == "-")  # the model itself is on stdout then
    if as_json:
        fit = {"objective": result.value, "converged": result.converged, "iterations": result.iterations} | rounds
        told = {"model": asked.output, **shape, **fit, "message": result.message, "seconds": seconds}
        report(json.dumps(told | {name: one.to_dict() for name, one in found.items()}, indent=1))
        return
    report(", ".join(counted(n, what) for what, n in shape.items()))
    report(
        f"objective {result.value:.9g} after {counted(result.iterations, 'steps')}, {seconds:.2f} s: {result.message}"
    )
    if rounds:
        report(f"{counted(rounds['rounds'], 'rounds')} of messages, {counted(rounds['bytes'], 'bytes')}")
    rows = [[name, *(f"{one[name]:.4f}" for one in found.values())] for name in found["train"]]
    report(table(rows, ["measure", *found]))
    if asked.output != "-":
        say(f"model written to {asked.output}")


def fitted(training: Any, data: Any, progress: Any) -> Any:
    """A LinearModel by a Training, or else the estimator."""
    if isinstance(training, Trainer):
        return training.fit(data, follower(progress))
    follow(training, progress)
    return training.fit(data.X, data.y, data.qid)


def follow(ranker: Any, progress: Any) -> None:
    """Let an estimator call `follower`."""
    solved_by = getattr(ranker, "ranker", ranker)
    if hasattr(solved_by, "callback"):
        solved_by.callback = follower(progress)


def follower(progress: Any) -> Callback:
    """Tells of every step, and stops between two of them when asked to."""

    def after(step: Step) -> None:
        stop_here()
        progress(f"step {step.iteration}, objective {step.value:.6g}, gradient {step.gradient_norm:.2g}")

    return after


def evaluate(ranker_file: str, judge: Judge, asked: list[str] | None, per_query: bool, as_json: bool) -> None:
    measures = parse_measures(asked)
    scored = judge.scored(ranker_file)
    found = metrics.evaluate(*scored, measures or metrics.default_measures(scored.y))
    if as_json:
        answer_json(found.to_dict(per_query))
    elif per_query:
        columns = [[f"{value:.4f}" for value in column] for column in found.per_query.values()]
        rows = [[str(query), *values] for query, *values in zip(found.query_ids.tolist(), *columns, strict=True)]
        answer(table(rows, ["query", *found.per_query]))
    else:
        answer(repr(found))


def inspect(model_file: str, top: int, as_json: bool) -> None:
    model = read_model(model_file)
    width, names = model.columns.n_features, model.columns.names
    if not isinstance(model, LinearModel):
        known = f"{model.dual_coef.size:,} references of {width:,} features, no weights of them"
        answer(f"{_signature(model)}: {known}")
        return
    labels = [str(i + model.columns.first_index) for i in range(width)] if names is None else list(names)
    scaler = None if model.scaling is None else model.scaling.name
    if as_json:
        params = {key: value for key, value in _params(model).items() if key not in ("callback", "costs")}
        weights = {labels[i]: float(model.coef[i]) for i in _largest(model.coef, top)}
        answer_json({"kind": model.kind, "params": params, "normalize": scaler, "weights": weights})
        return
    scaled = "" if scaler is None else f" after {scaler}"
    message = "" if model.result is None else f": {model.result.message}"  # partial_fit leaves none
    answer(visible(f"{_signature(model)}{scaled}, {width:,} features{message}"))
    answer(weight_table(model.coef, labels, top))


def _params(model: LinearModel) -> dict[str, Any]:
    """All parameters by name, those of the run at their defaults."""
    options = model.options
    if options is None:
        ranker = estimator_of(model)
        return dict(getattr(ranker, "ranker_", ranker).get_params())
    return {name: getattr(options, name) for name in sorted(field.name for field in fields(options))}


def _signature(model: Model) -> str:
    """The estimator with the parameters that are not at their defaults, as scikit-learn shows it."""
    options = model.options if isinstance(model, LinearModel) else None
    if options is None:
        ranker = estimator_of(model)
        return " ".join(str(getattr(ranker, "ranker_", ranker)).split())
    defaults = {field.name: field.default for field in fields(options)}
    given = {name: getattr(options, name) for name in sorted(defaults)}
    changed = (f"{name}={_shown(one)}" for name, one in given.items() if repr(one) != repr(defaults[name]))
    return f"{model.kind}({', '.join(changed)})"


def _shown(value: object) -> str:
    """Of a long list, the costs of documents say, the first entries."""
    if isinstance(value, list) and len(value) > LIST_SHOWN:
        return f"{repr(value[:LIST_SHOWN])[:-1]}, ...]"
    return repr(value)


def weight_table(weights: Any, names: list[str], top: int = 0) -> str:
    """The weights by size, each with a bar."""
    order = _largest(weights, top)
    widest = float(np.abs(weights).max()) or 1.0
    rows = []
    for i in order:
        bar = ("+" if weights[i] > 0 else "-") * round(BAR * (abs(weights[i]) / widest))
        rows.append([names[i], f"{weights[i]:.6g}", bar.ljust(BAR)])
    rest = len(names) - order.size
    more = f"\n... and {rest:,} smaller ones (--top 0 shows all)" if rest else ""
    return table(rows, ["feature", "weight", " " * BAR]) + more


def _largest(weights: Any, top: int) -> Any:
    return np.argsort(-np.abs(weights), kind="stable")[: top or None]
