"""What the commands do: read, call the library, show the outcome."""

import sys
import time
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import typer

from rankwise import losses, metrics
from rankwise.cli.speech import answer, answer_json, checked, doing, say, table
from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData
from rankwise.data.streams import open_bytes, written_beside
from rankwise.io import load_model, save_model

BAR = 24  # characters of the longest weight's bar


@dataclass(frozen=True)
class Training:
    model: str
    data: list[str]
    output: str
    params: dict[str, Any]
    normalize: str | None
    valid: str | None
    measures: list[str] | None
    names: str | None
    float32: bool


def train(asked: Training, as_json: bool) -> None:
    ranker = _ranker(asked)
    measures = _measures(asked.measures)
    data = _read(asked.data, dtype=np.float32 if asked.float32 else np.float64)
    names = None if asked.names is None else _names(asked.names, data.n_features)
    began = time.perf_counter()
    with doing("training") as progress:
        solved_by = ranker if asked.normalize is None else ranker.ranker
        if hasattr(solved_by, "callback"):
            solved_by.callback = lambda step: progress(
                f"step {step.iteration}, objective {step.value:.6g}, gradient {step.gradient_norm:.2g}"
            )
        ranker.fit(data.X, data.y, data.qid)
    seconds = time.perf_counter() - began
    save_model(ranker, asked.output, names)
    evaluations = {"train": _evaluated(ranker, data, measures)}
    if asked.valid is not None:
        evaluations["valid"] = _evaluated(ranker, _read(asked.valid, n_features=data.n_features), measures)
    result = getattr(ranker, "ranker_", ranker).result_
    if as_json:
        found = {"documents": len(data), "queries": data.n_queries, "features": data.n_features}
        fit = {"objective": result.value, "converged": result.converged, "iterations": result.iterations}
        tables = {name: evaluation.to_dict() for name, evaluation in evaluations.items()}
        answer_json({"model": asked.output, **found, **fit, "message": result.message, "seconds": seconds} | tables)
        return
    answer(f"{len(data):,} documents, {data.n_queries:,} queries, {data.n_features:,} features")
    answer(f"objective {result.value:.9g} after {result.iterations} steps, {seconds:.2f} s: {result.message}")
    columns = list(evaluations)
    rows = [[name, *(f"{evaluations[c][name]:.4f}" for c in columns)] for name in evaluations["train"]]
    answer(table(rows, ["measure", *columns]))
    say(f"model written to {asked.output}")


def predict(model_file: str, data_file: str, output: str) -> None:
    model = load_model(model_file)
    data = _read(data_file, n_features=model.n_features_in_)
    lines = "".join(f"{score!r}\n" for score in _scores(model, data).tolist())
    with written_beside(output) as file:
        file.write(lines.encode())


def evaluate(ranker_file: str, data_file: str, asked: list[str] | None, per_query: bool, as_json: bool) -> None:
    measures = _measures(asked)
    if ranker_file != "-" and _is_model(ranker_file):
        model = load_model(ranker_file)
        data = _read(data_file, n_features=model.n_features_in_)
        scores = _scores(model, data)
    else:
        if ranker_file == data_file == "-":
            raise ValueError("scores and data cannot both come from stdin: give one of them as a file")
        data = _read(data_file)
        scores = _read_scores(ranker_file, len(data))
    found = metrics.evaluate(data.y, scores, data.qid, measures or _fitting_measures(data))
    if as_json:
        answer_json(found.to_dict(per_query))
    elif per_query:
        columns = [[f"{value:.4f}" for value in column] for column in found.per_query.values()]
        rows = [[str(query), *values] for query, *values in zip(found.query_ids.tolist(), *columns, strict=True)]
        answer(table(rows, ["query", *found.per_query]))
    else:
        answer(repr(found))


def inspect(model_file: str, top: int, as_json: bool) -> None:
    model = load_model(model_file)
    ranker = getattr(model, "ranker_", model)
    names = getattr(model, "feature_names_in_", None)
    if not hasattr(ranker, "coef_"):
        answer(
            f"{ranker}: {ranker.dual_coef_.size:,} references of {ranker.n_features_in_:,} features, no weights of them"
        )
        return
    labels = [str(i + 1) for i in range(model.coef_.size)] if names is None else [str(name) for name in names]
    if as_json:
        scaler = model.scaler if model is not ranker else None
        params = {key: value for key, value in ranker.get_params().items() if key not in ("callback", "costs")}
        weights = dict(zip(labels, model.coef_.tolist(), strict=True))
        answer_json({"kind": type(ranker).__name__, "params": params, "normalize": scaler, "weights": weights})
        return
    scaled = "" if model is ranker else f" after {model.scaler}"
    shown = " ".join(str(ranker).split())
    answer(f"{shown}{scaled}, {model.coef_.size:,} features: {ranker.result_.message}")
    answer(weight_table(model.coef_, labels, top))


def weight_table(weights: Any, names: list[str], top: int = 0) -> str:
    """The weights by size, each with a bar."""
    order = np.argsort(-np.abs(weights), kind="stable")[: top or None]
    widest = float(np.abs(weights).max()) or 1.0
    rows = []
    for i in order:
        bar = ("+" if weights[i] > 0 else "-") * round(BAR * abs(weights[i]) / widest)
        rows.append([names[i], f"{weights[i]:.6g}", bar.ljust(BAR)])
    rest = len(names) - order.size
    more = f"\n... and {rest:,} smaller ones (--top 0 shows all)" if rest else ""
    return table(rows, ["feature", "weight", " " * BAR]) + more


def _ranker(asked: Training) -> Any:
    """The estimator asked for; what is wrong with an option is said before anything is read."""
    from rankwise.costs import known
    from rankwise.estimators.base import positive
    from rankwise.pairs.schemes import SCHEMES
    from rankwise.problems import Pairing
    from rankwise.solvers import make_solver

    params = asked.params
    for name in ("C", "alpha", "tol", "max_iter", "n_components"):
        if params[name] is not None:
            checked(f"--{name.replace('_', '-')}", partial(positive, name), params[name])
    loss = checked("--loss", losses.parse, params["loss"])
    checked("--solver", lambda name: make_solver(name, loss, np.zeros((1, 1)), tol=1.0), params["solver"])
    checked("--pairs", partial(_one_of, list(SCHEMES)), params["pairs"])
    checked("--scope", partial(_one_of, ["all", "adjacent"]), params["scope"])
    checked("--costs", known, params["costs"])
    checked("--rescaling", lambda name: Pairing(rescaling=name), params["rescaling"])
    checked("--normalize-pairs", lambda name: Pairing(normalize=name), params["normalize_pairs"])
    ranker = _model(asked.model, params)
    if asked.normalize is None:
        return ranker
    from rankwise.estimators.scaled import ScaledRanker
    from rankwise.preprocessing import make_scaler

    checked("--normalize", make_scaler, asked.normalize)
    return ScaledRanker(ranker, asked.normalize)


MODELS = {  # model -> (module, class), without and with a kernel
    "ranksvm": (("ranksvm", "RankSVM"), ("kernel", "KernelRankSVM")),
    "rankrls": (("rankrls", "RankRLS"), ("kernel_rankrls", "KernelRankRLS")),
    "rankrls-cv": (("rankrls_cv", "RankRLSCV"),),
    "factorized": (("factorized", "FactorizedRankSVM"),),
}


def _model(name: str, params: dict[str, Any]) -> Any:
    """The estimator of that name, given those of the options that it has."""
    checked("--model", partial(_one_of, list(MODELS)), name)
    with_kernel = params["kernel"] is not None
    if with_kernel and len(MODELS[name]) == 1:
        raise typer.BadParameter(f"{name} takes no kernel: --model ranksvm or rankrls do", param_hint="--kernel")
    module, cls = MODELS[name][with_kernel]
    estimator = getattr(import_module(f"rankwise.estimators.{module}"), cls)
    defaults = estimator().get_params()
    if name != "ranksvm":  # their losses, solvers and tolerances are their own
        params = {key: params[key] for key in params if key not in ("loss", "solver", "tol")}
    given = {key: value for key, value in params.items() if key in defaults and value is not None}
    return estimator(**given)


def _one_of(names: list[str], given: str) -> None:
    if given not in names:
        raise ValueError(f"{given!r} is none of {', '.join(names)}")


def _measures(asked: list[str] | None) -> list[metrics.Measure]:
    return [checked("--measure", metrics.parse, one) for one in asked or []]


def _fitting_measures(data: RankingData) -> list[str]:
    """What to show when nothing was asked for: NDCG and MAP make sense for grades, not for any real number."""
    grades = bool((data.y >= 0).all() and (data.y <= 31).all() and (data.y == np.round(data.y)).all())
    return ["ndcg@10", "map", "pairwise-accuracy"] if grades else ["pairwise-accuracy", "kendall-tau-b"]


def _read(source: Any, **options: Any) -> RankingData:
    name = source if isinstance(source, str) else " ".join(source)
    with doing(f"reading {name}"):
        return read_letor(source, **options)


def _names(path: str, n_features: int) -> list[str]:
    with open(path, encoding="utf-8") as file:
        names = [line.strip() for line in file if line.strip()]
    if len(names) != n_features:
        raise ValueError(f"{path} holds {len(names)} names, the data have {n_features} features: one name a line")
    return names


def _scores(model: Any, data: RankingData) -> Any:
    return model.predict(data.X, data.qid) if hasattr(model, "scaler_") else model.predict(data.X)


def _evaluated(model: Any, data: RankingData, measures: list[metrics.Measure]) -> metrics.Evaluation:
    return metrics.evaluate(data.y, _scores(model, data), data.qid, measures or _fitting_measures(data))


def _is_model(path: str) -> bool:
    with open_bytes(Path(path), "rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def _read_scores(path: str, n: int) -> Any:
    name = "standard input" if path == "-" else path
    lines = sys.stdin.buffer.read().split() if path == "-" else open_bytes(Path(path), "rb").read().split()
    if len(lines) != n:
        raise ValueError(f"{name} holds {len(lines)} scores, the data have {n} documents: one score a line")
    try:
        return np.array([float(line) for line in lines])
    except ValueError as error:
        raise ValueError(f"{name}: a score is not a number: {error}") from None
