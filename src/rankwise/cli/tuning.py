"""The work of `rankwise tune`: evaluate every model of a grid on every fold, choose one, fit it to all the data.

Models that differ only in their strength of regularisation (C, or alpha) form a family, and each family is one search
(`rankwise.model_selection.search`). The journal records it: one line per model and fold, with the weights that
warm-start the rest of the path if the search is resumed.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import typer
from sklearn.base import clone

from rankwise.cli.click_options import Clicks
from rankwise.cli.inputs import click_problems, names_for, note_one_query, parse_measures, read_data
from rankwise.cli.journal import Journal, check_journal, entry_of, known_cells
from rankwise.cli.models import check_signs, make_model
from rankwise.cli.options import Naming
from rankwise.cli.progress import progress_bar
from rankwise.cli.reports import check_report, report_on_model
from rankwise.cli.runs import Run
from rankwise.cli.speech import checked, counted, doing, say, stop_here
from rankwise.cli.targets import check_distinct, check_target, check_unread
from rankwise.cli.tuned import Family, best_of, rows_of, show, shown
from rankwise.data.columns import ModelColumns
from rankwise.data.fingerprint import content_hash, fingerprint
from rankwise.data.records import RankingData
from rankwise.estimators.ranksvm_path import GRID, fold_of, usual_grid
from rankwise.foundation.outputs import check_writable
from rankwise.metrics import Measure, default_measures
from rankwise.model_io.conversion import model_of
from rankwise.model_io.files import is_model_file, write_model
from rankwise.model_selection.choice import check_rule, end_of_grid
from rankwise.model_selection.folds import Documents, Halves
from rankwise.model_selection.search import Cell, Table, search
from rankwise.model_selection.signs import with_signs_by_place
from rankwise.model_selection.splits import splits_of
from rankwise.pairs.preferences import Preferences
from rankwise.solvers import Step


@dataclass(frozen=True)
class Tuning:
    """The options that determine the results; the journal of another tuning is an error."""

    model: str
    grid: dict[str, list[Any]]
    signs: dict[str, int] | None
    measure: str | None
    folds: int | None
    seed: int
    float32: bool


@dataclass(frozen=True)
class Files:
    """The files of a tuning."""

    data: list[str]
    columns: Naming
    valid: str | None
    output: str
    journal: str | None
    names: str | None
    force: bool
    clicks: Clicks | None = None
    report: str | None = None

    @property
    def notes(self) -> str:
        return self.journal or self.output + ".journal"

    def read(self, dtype: type[np.float32] | None) -> RankingData:
        if self.clicks is not None:
            return click_problems(self.clicks, self.data, self.columns, dtype=dtype).read()
        data = read_data(self.data, columns=self.columns, dtype=dtype, comments=self.report is not None)
        note_one_query(data.n_queries, len(data))
        return data

    def check(self, reads: list[str]) -> None:
        check_distinct([self.output, self.notes, self.report])
        check_target(self.output, reads, self.force, is_model_file, "rankwise model")
        check_unread(self.notes, reads)
        check_journal(self.notes)
        check_writable(self.notes)
        if self.report is not None:
            check_report(self.report, reads, self.force)


@dataclass(frozen=True)
class Manner:
    """How to search and choose; a journal can be resumed with other values of these."""

    rule: str
    early_stopping: bool
    jobs: int | None


def tune(request: Tuning, files: Files, manner: Manner, run: Run, as_json: bool) -> None:
    measures = parse_measures(None if request.measure is None else [request.measure])
    checked("--rule", check_rule, manner.rule)
    if files.output == "-":
        raise typer.BadParameter("give a file: the model cannot be written to stdout", param_hint="--output")
    if files.valid is not None and request.folds is not None:
        raise typer.BadParameter("give --valid or --folds, not both", param_hint="--folds")
    families = _families(request, manner.jobs)
    files.check(run.reads)
    run.begin()
    reports = files.report is not None  # which shows ids of documents
    data = files.read(np.float32 if request.float32 else None)
    names = names_for(data, files.names)
    known = ModelColumns(data.n_features, data.first_index, None if names is None else tuple(names))
    valid = None if files.valid is None else read_data(files.valid, known, files.columns, comments=reports)
    if "C" not in request.grid:
        families = [_with_usual_grid(family, data) for family in families]
    if request.signs is not None:
        check_signs(request.signs, known)
        families = [replace(family, model=with_signs_by_place(family.model, known)) for family in families]
    halves = _halves(request, data, valid)
    measure = (measures or parse_measures(default_measures(data.y)))[0]
    job = asdict(request) | {"data": content_hash(data), "valid": valid and content_hash(valid)}
    with Journal(files.notes, job) as journal:
        try:
            tables = _search(families, _documents(data), halves, measure, journal, manner)
        except KeyboardInterrupt:
            say(f"{counted(len(journal.entries), 'fits')} recorded in {journal.path}: give the same command to resume")
            raise
        rows = [row for family, results in zip(families, tables, strict=True) for row in rows_of(family, results)]
        best = best_of(rows, manner.rule)
        with doing("fitting the chosen model to all the data"):
            chosen = clone(best.family.model).set_params(**{best.family.parameter: best.value})
            chosen.fit(data.X, data.y, data.qid, data.weight)
        fitted = replace(model_of(chosen, names, data.first_index), data=fingerprint(data, hashed=False))
        recorded = run.recorded_in(fitted, request.seed)
        write_model(recorded, files.output)
        if files.journal is None:
            journal.remove()
    show(rows, best, str(measure), manner.rule, files.output, as_json)
    if files.report is not None:
        report_on_model(files.report, recorded, data, valid, run, [measure])
    run.compare(fitted)
    if note := end_of_grid(best.family.strength, best.family.values, best.value):
        say(f"note: {note}")
    if not as_json:
        if skipped := sum(row.error is None for row in rows):
            say(f"note: {counted(skipped, 'models')} skipped, as {measure} had passed its best: --no-early-stopping")
        options = ", ".join(f"{option} = {shown(value)}" for option, value in best.options.items())
        say(f"{options} ({measure} {best.mean:.4f} on {files.valid or counted(len(halves), 'folds')})")


def _families(request: Tuning, jobs: int | None) -> list[Family]:
    """One family per combination of the other options, all checked before any file is read."""
    if request.model == "rankrls-cv":
        raise typer.BadParameter("rankrls-cv chooses alpha itself: use `rankwise train`", param_hint="--model")
    strength = "alpha" if request.model == "rankrls" else "C"
    values = np.array(sorted(set(request.grid.get(strength, GRID))))
    others = {key: given for key, given in request.grid.items() if key != strength}
    families = []
    for combination in product(*others.values()):
        options = dict(zip(others, combination, strict=True))
        given = {key: value for key, value in options.items() if key != "normalize"}
        given |= {"n_jobs": jobs, "monotonic_cst": request.signs}
        for value in values.tolist():
            model = make_model(request.model, given | {strength: value}, options.get("normalize"))
        family = Family(model, options, strength, values)
        if "random_state" in family.ranker.get_params():
            family.ranker.set_params(random_state=request.seed)
        if hasattr(family.ranker, "callback"):
            family.ranker.callback = _stop_between_steps
        families.append(family)
    return families


def _with_usual_grid(family: Family, data: RankingData) -> Family:
    """The Cs to try if none are given, which depend on the number of pairs."""
    if family.strength != "C":
        return family
    n_pairs = float(Preferences(data.y, data.qid, data.weight).pairs_per_query().sum())
    return replace(family, values=usual_grid(n_pairs, getattr(family.ranker, "normalize_pairs", "sum")))


def _stop_between_steps(_: Step) -> None:
    stop_here()


def _halves(request: Tuning, data: RankingData, valid: RankingData | None) -> list[Halves]:
    """Documents to train and to evaluate on: the folds, or all of the data and the validation file."""
    documents = _documents(data)
    if valid is not None:
        return [lambda: (documents, _documents(valid))]
    splits = splits_of(request.folds, data.X, data.y, data.qid, request.seed, data.groups)
    return [partial(documents.halves, split) for split in splits]


def _documents(data: RankingData) -> Documents:
    return Documents(data.X, data.y, data.qid, data.weight)


def _search(
    families: list[Family],
    documents: Documents,
    halves: list[Halves],
    measure: Measure,
    journal: Journal,
    manner: Manner,
) -> list[Table]:
    """One table per family; each cell that is computed becomes a line of the journal."""
    workers = documents.workers(len(halves), manner.jobs)
    total, tables = len(halves) * sum(family.values.size for family in families), []
    with progress_bar("tuning", total, len(journal.entries)) as advance:
        for place, family in enumerate(families):

            def note(cell: Cell, place: int = place) -> None:
                journal.add(entry_of(place, cell))
                advance()
                stop_here()

            folds = [fold_of(family.model, family.parameter, one, measure, workers.threads) for one in halves]
            order, known = np.argsort(family.simplest_first), known_cells(journal, place, family.values, len(halves))
            tables.append(
                search(
                    folds,
                    family.values,
                    order,
                    early_stopping=manner.early_stopping,
                    workers=workers,
                    known=known,
                    observer=note,
                )
            )
    return tables
