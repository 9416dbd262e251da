"""The work of the commands: read, call the library, print the outcome."""

import json
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankwise import metrics
from rankwise.cli.click_options import Clicks
from rankwise.cli.inputs import (
    click_problems,
    left_on_disk,
    names_for,
    note_one_query,
    parse_measures,
    read_data,
)
from rankwise.cli.judging import Judge
from rankwise.cli.models import check_signs, make_training
from rankwise.cli.options import Naming
from rankwise.cli.runs import Run
from rankwise.cli.speech import BAD_DATA, Report, answer, answer_json, counted, doing, say, stop_here, table
from rankwise.cli.targets import check_distinct, check_target
from rankwise.data.columns import ModelColumns
from rankwise.data.fingerprint import fingerprint
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.compiling import clock
from rankwise.foundation.texts import visible
from rankwise.model_io.conversion import estimator_of, model_of, scores_of
from rankwise.model_io.files import is_model_file, read_model, write_model
from rankwise.model_io.origins import origin
from rankwise.rankers.models import LinearModel, Model, Params
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.rankers.training import Training as Trainer
from rankwise.rankers.training import TrainingData
from rankwise.solvers import Callback, Result, Step

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

LIST_SHOWN = 30  # entries of a list among the parameters
SIGN_OF = {"increasing": 1.0, "decreasing": -1.0}
BAR = 24  # characters of the longest weight's bar


@dataclass(frozen=True)
class Training:
    """The arguments of `rankwise train`."""

    model: str
    data: list[str]
    columns: Naming
    output: str | None
    options: Params
    normalize: str | None
    valid: str | None
    measures: list[str] | None
    names: str | None
    float32: bool
    force: bool
    run: Run
    clicks: Clicks | None = None
    report: str | None = None

    def begin(self) -> None:
        """Check the output before any work is done, and begin the record of the run."""
        if self.output is not None:
            check_target(self.output, self.run.reads, self.force, is_model_file, "rankwise model")
        if self.report is not None:
            from rankwise.cli.reports import check_report

            check_distinct([self.output, self.report])
            check_report(self.report, self.run.reads, self.force)
        self.run.begin()

    def write(self, model: Model) -> Model:
        """Write the model with the record of the run; the model with it."""
        recorded = self.run.recorded_in(model, model.params.get("random_state"))
        if self.output is not None:
            write_model(recorded, self.output)
        return recorded

    def end(self, model: Model) -> None:
        """Of a repeated run, compare the models; if they differ and nothing was written, that is an error."""
        if not self.run.compare(model) and self.output is None:
            raise SystemExit(BAD_DATA)


def train(request: Training, as_json: bool) -> None:
    measures = parse_measures(request.measures)
    training = make_training(request.model, request.options, request.normalize)
    request.begin()
    data, reports = _training_data(request, training), request.report is not None
    names = names_for(data, request.names)
    known = ModelColumns(data.n_features, data.first_index, None if names is None else tuple(names))
    evaluated = {"train": data} if request.clicks is None else {}  # labels of click problems are no judgements
    if request.valid is not None:
        evaluated["valid"] = read_data(request.valid, known, request.columns, comments=reports)
    if (signs := request.options["monotonic_cst"]) is not None:
        check_signs(signs, known)
    if request.clicks is None:
        note_one_query(data.n_queries, len(data))
    began = clock()
    with doing("training") as progress:
        ranker = fitted(training, data, known, progress)
    seconds = clock() - began
    model = ranker if isinstance(ranker, Model) else model_of(ranker, names, data.first_index)
    model = replace(model, data=fingerprint(data, hashed=False))
    recorded = request.write(model)
    if not measures and evaluated:
        measures = parse_measures(metrics.default_measures(np.concatenate([one.y for one in evaluated.values()])))
    evaluations = {
        name: metrics.evaluate(one.y, scores_of(ranker, one), one.qid, measures) for name, one in evaluated.items()
    }
    queries = "queries" if request.clicks is None else "problems"
    shape = {"documents": len(data), queries: data.n_queries, "features": data.n_features}
    assert model.result is not None
    kept = int(np.count_nonzero(model.coef)) if isinstance(model, LinearModel) else None
    show_outcome(request, Outcome(model.result, shape, seconds, evaluations, kept), as_json)
    if request.report is not None:
        from rankwise.cli.reports import report_on_model

        judged = evaluated.get("valid")
        assert isinstance(data, RankingData)
        assert judged is None or isinstance(judged, RankingData)
        report_on_model(request.report, recorded, data, judged, request.run, measures)
    request.end(model)


def _training_data(request: Training, training: "Trainer | BaseEstimator") -> TrainingData:
    dtype, reports = np.float32 if request.float32 else None, request.report is not None
    if request.clicks is not None:
        problems = click_problems(request.clicks, request.data, request.columns, dtype=dtype)
        return problems if getattr(training, "reads_parts", False) and not reports else problems.read()
    if not reports and (stored := left_on_disk(training, request.data, columns=request.columns)) is not None:
        return stored
    # a report needs the documents in memory, and their ids
    return read_data(request.data, columns=request.columns, dtype=dtype, comments=reports)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a training: the solver's result, the size of the data, and the evaluation on each of them.

    kept  how many features of a linear model have a weight other than 0
    """

    result: Result
    shape: dict[str, int]
    seconds: float
    evaluations: dict[str, metrics.Evaluation]
    kept: int | None


def show_outcome(request: Training, outcome: Outcome, as_json: bool) -> None:
    result, shape, seconds, evaluations = outcome.result, outcome.shape, outcome.seconds, outcome.evaluations
    rounds = {name: getattr(result, name) for name in ("rounds", "bytes") if hasattr(result, name)}  # of a cluster
    report = partial(answer, aside=request.output == "-")  # the model itself is on stdout then
    if as_json:
        fit = {"objective": result.value, "converged": result.converged, "iterations": result.iterations} | rounds
        shape = shape if outcome.kept is None else shape | {"features_kept": outcome.kept}
        summary = {"model": request.output, **shape, **fit, "message": result.message, "seconds": seconds}
        report(json.dumps(summary | {name: one.to_dict() for name, one in evaluations.items()}, indent=1))
        return
    report(", ".join(counted(n, what) for what, n in shape.items()))
    report(
        f"objective {result.value:.9g} after {counted(result.iterations, 'steps')}, {seconds:.2f} s: {result.message}"
    )
    if outcome.kept is not None and outcome.kept < shape["features"]:
        report(kept_of(outcome.kept, shape["features"]))
    if rounds:
        report(f"{counted(rounds['rounds'], 'rounds')} of messages, {counted(rounds['bytes'], 'bytes')}")
    if evaluations:
        names = next(iter(evaluations.values()))
        rows = [[name, *(f"{one[name]:.4f}" for one in evaluations.values())] for name in names]
        report(table(rows, ["measure", *evaluations]))
    if request.output not in ("-", None):
        say(f"model written to {request.output}")


def fitted(
    training: "Trainer | BaseEstimator", data: TrainingData, known: ModelColumns, progress: Report
) -> "LinearModel | BaseEstimator":
    """A linear model if it is trained without scikit-learn, else the fitted estimator."""
    if isinstance(training, Trainer):
        return training.fit(data, follower(progress), known)
    assert isinstance(data, RankingData)
    follow(training, progress)
    from sklearn.utils.validation import has_fit_parameter

    groups = {"groups": data.groups} if has_fit_parameter(training, "groups") else {}
    return training.fit(data.X, data.y, data.qid, data.weight, **groups)


def follow(estimator: "BaseEstimator", progress: Report) -> None:
    """Show the steps of an estimator's solver, if it has a callback."""
    ranker = getattr(estimator, "ranker", estimator)
    if hasattr(ranker, "callback"):
        ranker.callback = follower(progress)


def follower(progress: Report) -> Callback:
    """A callback that shows every step, and lets Ctrl-C stop the solver between two of them."""

    def after(step: Step) -> None:
        stop_here()
        progress(f"step {step.iteration}, objective {step.value:.6g}, gradient {step.gradient_norm:.2g}")

    return after


def evaluate(ranker: str, judge: Judge, names: list[str] | None, per_query: bool, form: str) -> str:
    parse_measures(names)  # wrong ones are reported before anything is read
    scored = judge.scored(ranker)
    evaluation = judge.evaluate(scored, judge.measures(names, scored))
    if per_query and form == "json":
        return json.dumps(evaluation.to_dict(per_query=True), indent=1)
    return (evaluation.query_table() if per_query else evaluation).to_form(form)


def inspect(model_file: str, top: int, as_json: bool) -> None:
    model = read_model(model_file)
    width, names = model.columns.n_features, model.columns.names
    came = {"versions": model.versions, "data": model.data, "run": model.run}
    if not isinstance(model, LinearModel):
        size = f"a kernel model, which compares with {model.dual_coef.size:,} documents of {width:,} features"
        if as_json:
            answer_json({"kind": model.kind, "params": model.params, "normalize": _scaler(model)} | came)
            return
        answer(f"{_signature(model)}: {size}: it has a weight per document and none per feature")
        answer("\n".join(map(visible, origin(model))))
        return
    labels = [str(i + model.columns.first_index) for i in range(width)] if names is None else list(names)
    scaler = _scaler(model)
    kept = int(np.count_nonzero(model.coef))
    if as_json:
        params = {key: value for key, value in _params(model).items() if key not in ("callback", "costs")}
        weights = {labels[i]: float(model.coef[i]) for i in _largest(model.coef, top)}
        learnt = {"features_kept": kept, "weights": weights}
        answer_json({"kind": model.kind, "params": params, "normalize": scaler} | learnt | came)
        return
    scaled = "" if scaler is None else f" after {scaler}"
    message = "" if model.result is None else f": {model.result.message}"  # partial_fit leaves none
    answer(visible(f"{_signature(model)}{scaled}, {width:,} features{message}"))
    if kept < width:
        answer(kept_of(kept, width))
    for line in _signs_shown(model, labels):
        answer(visible(line))
    answer(weight_table(model.coef, labels, top))
    answer("\n".join(map(visible, origin(model))))


def kept_of(kept: int, width: int) -> str:
    return f"{kept:,} of {counted(width, 'features')} kept: the others have the weight 0"


def _signs_shown(model: LinearModel, labels: list[str]) -> list[str]:
    """The features whose weights have a given sign, under the names of the options that give it."""
    options = model.options
    signs = options.named(model.columns).signs(len(labels)) if isinstance(options, RankSVMOptions) else None
    if signs is None:
        return []
    named = {option: [labels[i] for i in np.flatnonzero(signs == sign)] for option, sign in SIGN_OF.items()}
    return [f"{option}: {', '.join(names)}" for option, names in named.items() if names]


def _scaler(model: Model) -> str | None:
    return None if model.scaling is None else model.scaling.name


def _params(model: LinearModel) -> Params:
    """All parameters by name; those that are not stored have their default values."""
    options = model.options
    if options is None:
        ranker = estimator_of(model)
        return dict(getattr(ranker, "ranker_", ranker).get_params())
    return {name: getattr(options, name) for name in sorted(field.name for field in fields(options))}


def _signature(model: Model) -> str:
    """The estimator with the parameters that differ from their defaults, as scikit-learn prints it."""
    options = model.options if isinstance(model, LinearModel) else None
    if options is None:
        ranker = estimator_of(model)
        return " ".join(str(getattr(ranker, "ranker_", ranker)).split())
    defaults = {field.name: field.default for field in fields(options)}
    given = {name: getattr(options, name) for name in sorted(defaults)}
    if given.get("random_state") == 0:  # which the commands give if nobody does
        del given["random_state"]
    given.pop("monotonic_cst", None)  # shown by name
    changed = (f"{name}={_shown(one)}" for name, one in given.items() if repr(one) != repr(defaults[name]))
    return f"{model.kind}({', '.join(changed)})"


def _shown(value: object) -> str:
    """The repr of a parameter; of a long list, such as costs per document, the first entries."""
    if isinstance(value, list) and len(value) > LIST_SHOWN:
        return f"{repr(value[:LIST_SHOWN])[:-1]}, ...]"
    return repr(value)


def weight_table(weights: Floats, names: list[str], top: int = 0) -> str:
    """The weights, the largest first, each with a bar."""
    order = _largest(weights, top)
    widest = float(np.abs(weights).max()) or 1.0
    rows = []
    for i in order:
        bar = ("+" if weights[i] > 0 else "-") * round(BAR * (abs(weights[i]) / widest))
        rows.append([names[i], f"{weights[i]:.6g}", bar.ljust(BAR)])
    rest = len(names) - order.size
    more = f"\n... and {rest:,} smaller ones (--top 0 shows all)" if rest else ""
    return table(rows, ["feature", "weight", " " * BAR]) + more


def _largest(weights: Floats, top: int) -> Ints:
    return np.argsort(-np.abs(weights), kind="stable")[: top or None]
