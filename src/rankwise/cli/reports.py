"""The reports that commands write: `rankwise report`, and --report of train, tune and compare."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from rankwise.cli.runs import Run, file_hash, given_options, trained_on
from rankwise.cli.speech import doing, say
from rankwise.cli.targets import check_target
from rankwise.data.columns import for_model
from rankwise.data.records import RankingData
from rankwise.metrics import Measure
from rankwise.model_io.origins import words
from rankwise.rankers.models import Model
from rankwise.reporting.building import origin_of
from rankwise.reporting.pages import Page, is_page, page_of
from rankwise.reporting.studies import Study
from rankwise.reporting.subjects import Subject


def check_report(target: str, reads: Sequence[str | None], force: bool) -> None:
    """Raise an error before any work if the report cannot be written; a report may replace a report."""
    check_target(target, reads, force, is_page, "rankwise report")


@dataclass(frozen=True)
class Sources:
    """Where a report comes from.

    command  the words of the command
    data     the file that rankers are judged on
    train    the files of the training data
    """

    command: Sequence[str]
    data: str
    train: Sequence[str] = ()

    @classmethod
    def of(cls, ctx: typer.Context, rankers: Sequence[str], data: str, train: Sequence[str] = ()) -> "Sources":
        options = {name: value for name, value in given_options(ctx).items() if name != "rankers"}
        return cls(["rankwise", str(ctx.info_name), *rankers, "--data", data, *words(options)], data, train)

    def origin(self, target: str) -> dict[str, str]:
        """What the page says about it; `target`: the report."""
        option = "-o" if self.command[1] == "report" else "--report"
        facts = {"command": shlex.join([*self.command, option, target]), "data": _hashed(self.data)}
        return facts | ({"training data": "\n".join(map(_hashed, self.train))} if self.train else {})


def _hashed(path: str) -> str:
    return f"{path}, sha256 {file_hash(path) or 'unknown'}"


def write_report(
    target: str,
    subjects: Sequence[Subject],
    data: RankingData,
    train: RankingData | None,
    sources: Sources,
    **options: Any,
) -> Page:
    """Write the report of rankers, the baseline first; `options` are fields of `Study`."""
    seen = [one.name for one in subjects if one.model is not None and trained_on(one.model, sources.data)]
    remarks = [
        f"{one} was trained on these queries: expect lower values on queries that it has not seen." for one in seen
    ]
    origin, source = sources.origin(target) | origin_of(subjects), Path(sources.data).name
    with doing("making the report") as tell:
        study = Study(subjects, data, train=train, remarks=remarks, source=source, origin=origin, tell=tell, **options)
        page = page_of(study)
        page.save(target)
    if target != "-":
        say(f"report written to {target}")
    return page


def report_on_model(
    target: str, model: Model, train: RankingData, valid: RankingData | None, run: Run, measures: Sequence[Measure]
) -> None:
    """What train and tune write: the model on the validation data or, if there are none, on the training data."""
    name = Path(str(run.output)).name.split(".")[0] if run.output not in (None, "-") else model.kind
    judged = train if valid is None else valid
    subject = Subject.of_model(name, model, for_model(judged, model.columns, "the data"))
    typed = [*run.typed, *([] if run.output is None else ["-o", run.output])]
    sources = Sources(typed, run.data[0] if run.valid is None else run.valid, run.data)
    write_report(target, [subject], judged, train, sources, measures=measures)
