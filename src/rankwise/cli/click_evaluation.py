"""`rankwise evaluate --clicks`: measures of a ranking that was not shown, estimated from clicks."""

from typing import NamedTuple

import numpy as np
import typer

from rankwise.cli.click_options import Clicks, check_stdin
from rankwise.cli.inputs import check_order, finite_scores, ids_in, is_model, read_features, read_ranker, read_scores
from rankwise.cli.judging import COLUMN, is_column, is_run, is_score_table
from rankwise.cli.options import Naming
from rankwise.cli.runs import trained_on
from rankwise.cli.speech import checked, doing, say
from rankwise.clicks.evaluation import ClickEvaluation, evaluate_clicks
from rankwise.clicks.measures import parse
from rankwise.data import formats
from rankwise.data.column_scores import column_scores
from rankwise.data.records import RankingData
from rankwise.data.score_table import SCORE
from rankwise.data.trec import read_run
from rankwise.foundation.arrays import Array, Floats


class Scored(NamedTuple):
    """Documents by qid and docid, and a score of each."""

    data: RankingData
    scores: Floats


def evaluate(
    ranker: str, files: list[str] | None, columns: Naming, clicks: Clicks, names: list[str] | None, over: str
) -> ClickEvaluation:
    measures = None if names is None else [str(checked("--measure", parse, name)) for name in names]
    check_stdin([*clicks.files, ranker, *(files or [])])
    scored = _scored(ranker, files, columns, clicks)
    log, propensities = clicks.read()
    with doing("estimating"):
        return evaluate_clicks(log, *scored, propensities, measures, clip=clicks.clip, over=over, random_state=0)


def _scored(ranker: str, files: list[str] | None, columns: Naming, clicks: Clicks) -> Scored:
    """The scores of a table or a run, which have ids; or of a model, a column or a file of scores for the features."""
    is_file = ranker != "-" and not is_column(ranker)
    if is_file and is_score_table(ranker):
        table = formats.read_data(ranker, label=SCORE, features=())
        return Scored(_with_ids(table.qid, ids_in(table, ranker)), table.y)
    if is_file and is_run(ranker):
        run = read_run(ranker)
        return Scored(_with_ids(run.qid, run.docid), run.values)
    if not files:
        raise typer.BadParameter(f"give the features of the documents, which {ranker} needs", param_hint="--features")
    name = " ".join(files)
    check_order(ranker, files[0])
    if is_file and is_model(ranker):
        model = read_ranker(ranker, columns)
        if trained_on(model, clicks.path):
            say(f"note: {ranker} was trained on {clicks.path}: expect worse values on queries that it has not seen")
        features = read_features(files, model.columns, columns)
        return Scored(features, finite_scores(model, features, ranker, name))
    features = read_features(files, None, columns)
    if is_column(ranker):
        return Scored(features, column_scores(features, ranker.removeprefix(COLUMN), name))
    return Scored(features, read_scores(ranker, len(features)))


def _with_ids(qid: Array, docid: Array) -> RankingData:
    n = len(qid)
    return RankingData(np.zeros((n, 0)), np.zeros(n), qid, docid=docid)
