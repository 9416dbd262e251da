"""What `rankwise tune` does: judge every model of a grid by every fold, choose, fit the chosen one to all the data.

Models that differ in their strength of regularisation only (C, or alpha) are a family; a linear RankSVM's is solved
along one path. The journal holds a line for each model and fold, with the weights from which the path goes on.
"""

import hashlib
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import typer

from rankwise.cli.families import Family
from rankwise.cli.inputs import names_for, note_one_query, parse_measures, read_data
from rankwise.cli.journal import Journal, check_journal
from rankwise.cli.models import make_model
from rankwise.cli.progress import progress_bar
from rankwise.cli.speech import answer, answer_json, checked, counted, doing, say, stop_here, table
from rankwise.cli.targets import check_distinct, check_target, check_unread
from rankwise.data.matching import ModelColumns
from rankwise.data.outputs import check_writable
from rankwise.data.records import RankingData
from rankwise.data.strict_json import is_number
from rankwise.foundation.threads import share
from rankwise.metrics import default_measures
from rankwise.model_io.files import is_model_file, save_model
from rankwise.model_selection.choice import check_rule, choose, end_of_grid, means_and_errors
from rankwise.model_selection.path import CS, side_by_side
from rankwise.model_selection.splits import splits_of

Fold = tuple[Any, Any]  # the rows to train on, the rows to judge by or the validation data themselves


@dataclass(frozen=True)
class Tuning:
    """What decides about the results: a journal of another tuning is refused."""

    model: str
    grid: dict[str, list[Any]]
    measure: str | None
    folds: int | None
    seed: int
    float32: bool


@dataclass(frozen=True)
class Files:
    data: list[str]
    valid: str | None
    output: str
    journal: str | None
    names: str | None
    force: bool

    @property
    def notes(self) -> str:
        return self.journal or self.output + ".journal"

    def check(self) -> None:
        reads = [*self.data, self.valid, self.names]
        check_distinct([self.output, self.notes])
        check_target(self.output, reads, self.force, is_model_file, "rankwise model")
        check_unread(self.notes, reads)
        check_journal(self.notes)
        check_writable(self.notes)


def tune(asked: Tuning, files: Files, rule: str, jobs: int | None, as_json: bool) -> None:
    measures = parse_measures(None if asked.measure is None else [asked.measure])
    checked("--rule", check_rule, rule)
    if files.output == "-":
        raise typer.BadParameter("what takes long to find goes to a file, not to stdout", param_hint="--output")
    if files.valid is not None and asked.folds is not None:
        raise typer.BadParameter("judge by a file or by folds: give --valid or --folds", param_hint="--folds")
    families = _families(asked, jobs)
    files.check()
    data = read_data(files.data, dtype=np.float32 if asked.float32 else None)
    note_one_query(data.n_queries, len(data))
    names = names_for(data, files.names)
    known = ModelColumns(data.n_features, data.first_index, None if names is None else tuple(names))
    folds = _folds(asked, data, known, files.valid)
    measure = (measures or parse_measures(default_measures(data.y)))[0]
    job = asdict(asked) | {"data": _fingerprint(data), "valid": files.valid and _fingerprint(folds[0][1])}
    with Journal(files.notes, job) as journal:
        _check_entries(journal)
        try:
            _judge(families, data, folds, measure, journal, jobs)
        except KeyboardInterrupt:
            say(f"{counted(len(journal.entries), 'fits')} noted in {journal.path}: the same command goes on from there")
            raise
        rows = _rows(families, journal.entries, len(folds))
        best = _best(rows, rule)
        with doing("fitting the chosen model to all the data"):
            chosen = families[best["family"]].member(best["value"]).fit(data.X, data.y, data.qid)
        save_model(chosen, files.output, names, data.first_index)
        if files.journal is None:
            journal.remove()
    _show(rows, best, str(measure), rule, files.output, as_json)
    family = families[best["family"]]
    if note := end_of_grid(family.strength, np.array(family.values), best["value"]):
        say(f"note: {note}")
    if not as_json:
        chosen = ", ".join(f"{option} = {_value(value)}" for option, value in best["options"].items())
        say(f"{chosen} ({measure} {best['mean']:.4f} on {files.valid or counted(len(folds), 'folds')})")


def _families(asked: Tuning, jobs: int | None) -> list[Family]:
    """One for each combination of the options but the strength, all checked before anything is read."""
    if asked.model == "rankrls-cv":
        raise typer.BadParameter("rankrls-cv chooses alpha itself: `rankwise train` will do", param_hint="--model")
    strength = "alpha" if asked.model == "rankrls" else "C"
    values = sorted(set(asked.grid.get(strength, CS)))
    others = {key: given for key, given in asked.grid.items() if key != strength}
    families = []
    for combination in product(*others.values()):
        options = dict(zip(others, combination, strict=True))
        given = {key: value for key, value in options.items() if key != "normalize"} | {"n_jobs": jobs}
        for value in values:
            model = make_model(asked.model, given | {strength: value}, options.get("normalize"))
        family = Family(model, options, strength, values)
        if "random_state" in family.ranker.get_params():
            family.ranker.set_params(random_state=asked.seed)
        if hasattr(family.ranker, "callback"):
            family.ranker.callback = _stop_between_steps
        families.append(family)
    return families


def _stop_between_steps(_: Any) -> None:
    stop_here()


def _folds(asked: Tuning, data: RankingData, known: ModelColumns, valid: str | None) -> list[Fold]:
    if valid is None:
        return list(splits_of(asked.folds, data.X, data.y, data.qid, asked.seed))
    return [(slice(None), read_data(valid, known))]


def _fingerprint(data: RankingData) -> str:
    told = hashlib.blake2b(digest_size=16)
    X = data.X
    for part in (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr):
        told.update(np.ascontiguousarray(part).view(np.uint8).data)
    for column in (data.y, data.qid):
        told.update(f"{X.shape} {column.dtype}".encode() + column.tobytes())
    return told.hexdigest()


def _check_entries(journal: Journal) -> None:
    for entry in journal.entries:
        sound = all(is_number(entry.get(key)) for key in ("family", "fold", "strength", "error", "seconds"))
        sound = sound and (entry.get("score", "") is None or is_number(entry.get("score")))
        if not sound or not isinstance(entry.get("coef", 0), str | None):
            raise ValueError(f"{journal.path} is damaged: remove it, or give another --journal")


def _judge(
    families: list[Family], data: RankingData, folds: list[Fold], measure: Any, journal: Journal, jobs: int | None
) -> None:
    """Fill the journal: a line for each family, fold and strength."""
    tasks = list(product(range(len(families)), range(len(folds))))
    total = len(folds) * sum(len(family.values) for family in families)
    at_once, inside = side_by_side(data.X, len(tasks), jobs)
    before = list(journal.entries)
    with progress_bar("tuning", total, len(before)) as advance:

        def follow(task: tuple[int, int]) -> None:
            done = [entry for entry in before if (entry["family"], entry["fold"]) == task]
            family, (train, valid) = families[task[0]], folds[task[1]]
            if len(done) == len(family.values):
                return
            judged_by = valid if isinstance(valid, RankingData) else data.select(valid)
            for entry in family.judged(data.select(train), judged_by, measure, done, inside):
                journal.add({"family": task[0], "fold": task[1]} | entry)
                advance()
                stop_here()

        share(follow, tasks, at_once)


def _rows(families: list[Family], entries: list[dict[str, Any]], n_folds: int) -> list[dict[str, Any]]:
    """What each model of the grid scored, in the grid's order."""
    found = {(one["family"], one["strength"], one["fold"]): one for one in entries}
    rows = []
    for place, family in enumerate(families):
        for value in family.values:
            cells = [found[place, value, fold] for fold in range(n_folds)]
            scores = [cell["score"] for cell in cells]  # None: no query of the fold counts
            means, errors = means_and_errors(np.array(scores, dtype=np.float64)[:, None])
            error = float(errors[0]) if n_folds > 1 else cells[0]["error"]
            of_model = {"family": place, "value": value, "options": family.options | {family.strength: value}}
            seconds = sum(cell["seconds"] for cell in cells)
            simple = value if family.strength == "C" else -value
            mean = None if np.isnan(means[0]) else float(means[0])
            outcome = {"mean": mean, "error": error, "scores": scores, "seconds": seconds, "simple": simple}
            rows.append(of_model | outcome)
    return rows


def _best(rows: list[dict[str, Any]], rule: str) -> dict[str, Any]:
    """The row to take; the one-standard-error rule stays within the family of the best."""

    def taken(among: list[dict[str, Any]], rule: str) -> dict[str, Any]:
        means, errors, simple = (
            np.array([row[key] for row in among], np.float64) for key in ("mean", "error", "simple")
        )
        return among[choose(means, errors, simple, rule)]

    family = taken(rows, "best")["family"]
    return taken([row for row in rows if row["family"] == family], rule)


def _show(
    rows: list[dict[str, Any]], best: dict[str, Any], measure: str, rule: str, output: str, as_json: bool
) -> None:
    if as_json:
        told = [
            row["options"]
            | {"mean": row["mean"], "standard_error": row["error"], "folds": row["scores"], "seconds": row["seconds"]}
            for row in rows
        ]
        answer_json(
            {"model": output, "measure": measure, "rule": rule, "chosen": best["options"], "mean": best["mean"]}
            | {"standard_error": best["error"], "results": told}
        )
        return
    options = list(rows[0]["options"])
    lines = []
    for row in rows:
        shown = [_value(one) for one in row["options"].values()]
        mean = "-" if row["mean"] is None else f"{row['mean']:.4f}"
        numbers = [mean, f"{row['error']:.4f}", f"{row['seconds']:.2f}"]
        lines.append([*shown, *numbers, "<-" if row is best else ""])
    answer(table(lines, [*options, measure, "std. error", "seconds", ""]))
    say(f"model written to {output}")


def _value(option: Any) -> str:
    return f"{option:g}" if isinstance(option, float) else str(option)
