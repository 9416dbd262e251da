"""The report: its numbers are those of compare and evaluate, its names are text, and its file is whole and small."""

import base64
import gzip
import json
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from commands import run, write_sample
from sklearn.linear_model import LinearRegression

import rankwise
from rankwise import (
    FactorizedRankSVM,
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    compare,
    evaluate,
    load_sample,
    save_model,
)
from rankwise.metrics import Procedure
from rankwise.model_selection import cross_validate
from rankwise.reporting.features import effects_of
from rankwise.reporting.pages import page_of
from rankwise.reporting.queries import detail
from rankwise.reporting.refits import learning_curve_of, weights_of
from rankwise.reporting.studies import Study, by_length, calibration
from rankwise.reporting.subjects import subjects_of

VOID = {"meta", "br", "input", "link", "img", "hr"}
SHORT = Procedure(resamples=100, sign_flips=100)
TRAIN, TEST = load_sample("train"), load_sample("test")


class Tree(HTMLParser):
    """The elements of a page with their attributes and texts; an error if one is not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def held(page, name):
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page).group(1))


def unpacked(text):
    return gzip.decompress(base64.b64decode(text)).decode()


def fragments(page):
    """The rankings of the queries, by the places that the rows name."""
    return [one for block in held(page, "details") for one in json.loads(unpacked(block))]


def rows_of(page, section):
    """The rows of the first table of a section, as texts."""
    body = page.partition(f'<section id="{section}"')[2].partition("</section>")[0]
    table = body.partition("<table")[2].partition("</table>")[0]
    lines = re.findall(r"<tr>(.*?)</tr>", table, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines]
    return [[" ".join(unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in line] for line in cells]


def check_whole(page):
    """Well formed, no id twice, every link leads somewhere, nothing is fetched, every table has a caption."""
    tree = Tree(page)
    ids = [one["id"] for _, one in tree.found if "id" in one]
    assert len(ids) == len(set(ids))
    assert {one["href"][1:] for one in tree.all("a")} <= set(ids)
    assert {one["aria-labelledby"] for _, one in tree.found if "aria-labelledby" in one} <= set(ids)
    assert "http://" not in page
    assert "https://" not in page
    assert not [one for name, one in tree.found if {"src", "srcset", "action", "data"} & set(one) or name == "link"]
    assert not [name for _, one in tree.found for name in one if name.startswith("on")]
    assert len(tree.all("script")) == 3
    assert len(tree.all("table")) == len(tree.all("caption"))
    assert len(tree.all("h1")) == len(tree.all("main")) == 1
    return tree


@pytest.fixture(scope="module")
def svm():
    return RankSVM(C=0.01).fit(TRAIN)


@pytest.fixture(scope="module")
def page(svm):
    return rankwise.report.html({"new": svm}, TEST, train=TRAIN, baseline="clicks", resamples=12)


def test_the_numbers_are_those_of_compare(page, svm):
    measures = ["ndcg@10", "map", "pairwise-accuracy"]
    found = compare({"new": svm.predict(TEST.X)}, TEST, measures=measures, baseline="clicks")
    assert page.comparison.to_dict() == found.to_dict()
    one = next(one for one in found.contrasts if one.ranker == "new")
    low, high = one.difference_interval
    said = (
        f"new is better than clicks by {one.difference:.3f} NDCG@10, 95 % interval {low:.3f} to {high:.3f}, p < 0.001"
    )
    assert page.verdict == f"{said}; {one.wins} queries better, {one.losses} worse."
    assert f"<title>{page.verdict.replace('<', '&lt;')}</title>" in page.html
    head, *rows = rows_of(page.html, "measures")
    assert head[:4] == ["measure", "clicks", "new", "difference"]
    assert [row[0] for row in rows] == ["NDCG@10", "MAP", "pairwise-accuracy"]
    for row, measure in zip(rows, measures, strict=True):
        before, after = (found.evaluations[name][measure] for name in ("clicks", "new"))
        assert [row[i].split()[0] for i in (1, 2, 3)] == [
            f"{before:.3f}",
            f"{after:.3f}",
            f"{after - before:+.3f}",
        ]
    _, *rows = rows_of(page.html, "queries")
    table = found.per_query()
    assert [row[0] for row in rows] == [str(one) for one in table["query"]]
    worst = [f"{one:+.3f}".replace("-", "−") for one in table["new ndcg@10 difference"]]
    assert [row[4] for row in rows] == [re.sub(r"[+−](?=0\.000)", "", one) for one in worst]


def test_one_ranker_has_the_numbers_of_evaluate(svm):
    page = rankwise.report.html(svm, TEST, measures="map", procedure=SHORT)
    mean = evaluate(TEST.y, svm.predict(TEST.X), TEST.qid, "map")["map"]
    assert page.verdict.startswith(f"RankSVM reaches {mean:.3f} MAP on 40 queries, 95 % interval ")
    assert rows_of(page.html, "measures")[1][1] == f"{mean:.3f}"
    tree = check_whole(page.html)
    assert "Learning curve" not in tree.texts
    assert "By cut-off" not in tree.texts  # MAP has none


def test_the_page_is_whole_and_the_same_again(page, svm):
    tree = check_whole(page.html)
    sections = [one["id"] for one in tree.all("section")]
    order = "measures queries worst weights features cutoffs scores learning convergence check repeat"
    assert sections == order.split()
    again = rankwise.report.html({"new": svm}, TEST, train=TRAIN, baseline="clicks", resamples=12)
    assert again.html == page.html
    assert repr(page) == f"<Page: {page.verdict}>"
    frame = Tree(page._repr_html_()).all("iframe")
    assert [one["srcdoc"] for one in frame] == [page.html]


def test_a_query_shows_its_rankings_and_reasons(page, svm):
    places = {row: int(place) for place, row in re.findall(r"<th scope=row data-detail=(\d+)>(.*?)</th>", page.html)}
    assert len(places) == 40
    shown = fragments(page.html)
    for query in np.unique(TEST.qid)[:5].tolist():
        rows = np.flatnonzero(TEST.qid == query)
        tables = re.findall(r"<table>.*?</table>", shown[places[str(query)]])
        ids = rankwise.data.document_ids.document_ids(TEST)
        for scores, table in zip((TEST.X[:, 4], svm.predict(TEST.X)), tables, strict=True):
            order = rows[np.argsort(-scores[rows], kind="stable")][:10]
            assert re.findall(r"<th scope=row>([\w-]+)", table) == [str(ids[i]) for i in order]
            assert re.findall(r"class=grade[^>]*>(\d)<", table) == [f"{TEST.y[i]:g}" for i in order]
        best = rows[np.argmax(svm.predict(TEST.X)[rows])]
        parts = svm.coef_ * (TEST.X[best] - TEST.X[rows].mean(axis=0))
        assert "e−1" not in tables[1]  # parts that are rounding
        name, part = re.search(r"class=why>(\w+)\xa0(\S+)", tables[1]).groups()
        assert name == TEST.names[np.abs(parts).argmax()]
        assert float(part.replace("−", "-")) == pytest.approx(parts[np.abs(parts).argmax()], rel=0.05)


KINDS = {
    "rankrls": lambda: RankRLS(),
    "chosen": lambda: RankSVMCV(Cs=[0.001, 0.01], cv=2),
    "factorized": lambda: FactorizedRankSVM(C=0.01, random_state=0),
    "kernel": lambda: KernelRankSVM(kernel="rbf", n_components=20, random_state=0),
    "scaled": lambda: ScaledRanker(RankSVM(), "query-zscore"),
    "scaled kernel": lambda: ScaledRanker(KernelRankSVM(n_components=10, random_state=0), "minmax"),
}
SOME = TRAIN.select(slice(0, 300))
FEW = TEST.select(np.isin(TEST.qid, np.unique(TEST.qid)[:12]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model(kind, tmp_path):
    ranker = KINDS[kind]().fit(SOME.X, SOME.y, SOME.qid)
    page = rankwise.report.html({kind: ranker}, FEW, baseline="clicks", procedure=SHORT)
    tree = check_whole(page.html)
    assert len(fragments(page.html)) == 12
    assert ("compares documents by a kernel" in page.html) == ("kernel" in kind)
    assert f"What each feature adds to NDCG@10 of {kind}" in " ".join(tree.texts)
    save_model(ranker, tmp_path / "model.json", TRAIN.names)
    again = rankwise.report.html({kind: tmp_path / "model.json"}, FEW, baseline="clicks", procedure=SHORT)
    assert again.verdict == page.verdict


def test_scores_and_strangers_have_no_weights():
    stranger = LinearRegression().fit(TRAIN.X, TRAIN.y)
    rankers = {"regression": stranger, "scores": TEST.X[:, 0], "cheapest": "-price"}
    page = rankwise.report.html(rankers, TEST, baseline="cheapest", procedure=SHORT)
    head, *rows = rows_of(page.html, "measures")
    assert head[1:4] == ["ranker", "cheapest", "mean"]
    assert {row[1] for row in rows} == rankers.keys() - {"cheapest"}
    tree = check_whole(page.html)
    assert [one["id"] for one in tree.all("section")] == [
        "measures",
        "queries",
        "worst",
        "cutoffs",
        "scores",
        "check",
        "repeat",
    ]
    assert page.comparison.rankers == ["cheapest", "regression", "scores"]
    assert page.verdict.startswith("regression is better than cheapest by ")
    assert "corrected by Holm for 2 comparisons" in page.html


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><b>",
    "a\u2028b\x00\n",
    "&lt;",
    "−1",
]


def test_names_are_text_everywhere():
    n = len(HOSTILE)
    X = np.random.default_rng(0).random((3 * n, n))
    qid, ids = np.repeat(np.array(HOSTILE), 3), np.array([f"{one}{i}" for one in HOSTILE for i in range(3)])
    data = RankingData(X, np.tile([0.0, 1, 2], n), qid, names=HOSTILE, docid=ids)
    model = RankSVM().fit(data)
    page = rankwise.report.html(
        {HOSTILE[0]: model, HOSTILE[1]: X[:, 0]}, data, train=data, procedure=SHORT, resamples=10
    )
    tree = check_whole(page.html)
    tags = {name for name, _ in tree.found}
    for one in fragments(page.html):
        inside = Tree(one)
        assert {name for name, _ in inside.found} <= {
            "div",
            "table",
            "caption",
            "b",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "abbr",
            "span",
            "p",
        }
        tree.texts += inside.texts
    assert not tags & {"img", "iframe"}
    for name in HOSTILE:
        assert any(
            name.replace("\u2028", "\\u2028").replace("\x00", "\\x00").replace("\n", "\\n") in one for one in tree.texts
        )


def made(n_queries, n_documents, random=0):
    rng = np.random.default_rng(random)
    n = n_queries * n_documents
    X = rng.random((n, 4))
    ids = np.array([f"https-example-org-a-long-name-of-a-document-{i}" for i in rng.integers(10**9, size=n)])
    return RankingData(X, rng.integers(0, 3, n).astype(float), np.repeat(np.arange(n_queries), n_documents), docid=ids)


@pytest.mark.parametrize(("n_queries", "n_documents", "megabytes"), [(1000, 20, 2.0), (5000, 3, 1.2)])
def test_the_file_is_small(n_queries, n_documents, megabytes, monkeypatch):
    if n_queries > 1000:
        monkeypatch.setattr("rankwise.reporting.queries.ROOM", 300_000)  # 1,100,000 takes some seconds to fill
    data = made(n_queries, n_documents)
    model = RankSVM(C=1e-3).fit(data.X, data.y, data.qid)
    page = rankwise.report.html({"a model": model}, data, baseline="1", procedure=SHORT)
    check_whole(page.html)
    assert len(page.html.encode()) < megabytes * 1e6
    rest = held(page.html, "rest")
    rows = re.findall(r"<tr><th scope=row[^>]*>(\d+)</th>", page.html + (unpacked(rest) if rest else ""))
    assert sorted(map(int, rows)) == list(range(n_queries))
    assert bool(rest) == (n_queries > 1000)
    assert len(fragments(page.html)) >= 1000


def test_details_stop_where_there_is_no_room(monkeypatch, svm):
    monkeypatch.setattr("rankwise.reporting.queries.ROOM", 8000)
    page = rankwise.report.html({"new": svm}, TEST, baseline="clicks", procedure=SHORT)
    n = len(fragments(page.html))
    assert 0 < n < 40
    assert f"Rankings are kept for the {n} queries that differ most" in page.html
    differences = {
        str(q): abs(d) for q, d in zip(page.comparison.query_ids, page.comparison.differences("new"), strict=True)
    }
    kept = re.findall(r"<th scope=row data-detail=\d+>(\d+)</th>", page.html)
    assert min(differences[one] for one in kept) >= max(differences[one] for one in differences if one not in kept)


ODD = {
    "one level": ([1, 1, 1, 0, 1, 0], [1, 1, 1, 2, 2, 2]),
    "one level throughout": ([1, 1, 1, 1, 1, 1], [1, 1, 1, 2, 2, 2]),
    "one document": ([0, 1, 2, 0, 1, 2], [1, 2, 3, 4, 5, 6]),
    "one query": ([0, 1, 2, 0, 1, 2], [1, 1, 1, 1, 1, 1]),
    "negative labels": ([-1, 0.5, 2, -1, 1, 0], [1, 1, 1, 2, 2, 2]),
    "no relevant document": ([0, 0, 0, 0, 0, 0], [1, 1, 1, 2, 2, 2]),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.filterwarnings("ignore:.*no ranking is better:UserWarning")
@pytest.mark.filterwarnings("ignore:.*same value:UserWarning")
def test_odd_data(kind, svm):
    y, qid = ODD[kind]
    data = RankingData(TEST.X[:6], np.array(y, float), np.array(qid), names=TEST.names)
    rankers = {"new": svm, "ties": np.ones(6), "scores": np.arange(6.0)}
    page = rankwise.report.html(rankers, data, train=data, procedure=SHORT, resamples=10)
    tree = check_whole(page.html)
    assert not {"nan", "inf"} & set(re.findall(r"[a-z]+", " ".join(tree.texts[2:-1]).lower()))
    assert not re.search(r'(points|[xydr]|width)="[^"]*(nan|inf)', page.html)


def test_documents_that_nobody_judged(svm):
    y = TEST.y.copy()
    y[::3] = np.nan
    data = RankingData(TEST.X, y, TEST.qid, names=TEST.names)
    with pytest.raises(ValueError, match="unjudged=0"):
        rankwise.report.html(svm, data)
    page = rankwise.report.html(svm, data, unjudged=0, procedure=SHORT)
    assert (
        page.comparison.evaluations["RankSVM"]["ndcg@10"]
        == evaluate(y, svm.predict(TEST.X), TEST.qid, unjudged=0)["ndcg@10"]
    )
    assert any("<td class=n>–</td>" in one for one in fragments(page.html))
    assert page.comparison.measures == ["ndcg@10", "map", "pairwise-accuracy", "judged@10"]


def study_of(rankers, data=TEST, **options):
    return Study(subjects_of(rankers, data), data, procedure=SHORT, **options)


def test_groups_and_bins_add_up(svm):
    study = study_of({"by clicks": "clicks", "new": svm})
    groups = by_length(study)
    assert sum(one.queries for one in groups) == 40
    assert all(one.most < other.least for one, other in pairwise(groups))
    for name in ("by clicks", "new"):
        mean = sum(one.queries * one.means[name][0] for one in groups) / 40
        assert mean == pytest.approx(study.comparison.evaluations[name]["ndcg@10"])
    bins = calibration(study, study.main)
    assert sum(one.documents for one in bins) == len(TEST)
    assert sum(one.documents * one.label for one in bins) == pytest.approx(TEST.y.sum())
    assert [one.score for one in bins] == sorted(one.score for one in bins)


def test_shuffling_the_only_feature_leaves_chance():
    """The expected value of a random order is that of scores that are all tied."""
    data = made(400, 6, random=1)
    X = data.X[:, :1] + 0.3 * data.y[:, None]
    data = RankingData(np.hstack((X, data.X[:, 1:2])), data.y, data.qid, names=["useful", "useless"])
    model = RankSVM(C=1e-3).fit(data)
    model.coef_ = np.array([1.0, 0.0])
    found = effects_of(study_of(model, data), subjects_of(model, data)[0])
    before, chance = (evaluate(data.y, scores, data.qid)["ndcg@10"] for scores in (X[:, 0], np.zeros(len(data))))
    assert found.names.tolist() == ["useful"]
    assert found.falls[0] == pytest.approx(before - chance, abs=0.01)
    assert found.low[0] < found.falls[0] < found.high[0]


def test_weights_have_intervals_by_refits(svm):
    study = study_of({"new": svm}, train=TRAIN, resamples=12)
    found = weights_of(study, study.main)
    assert found.refits == 12
    assert np.array_equal(found.values, svm.coef_)
    assert (found.low < found.values).all()
    assert np.allclose(found.values - found.low, found.high - found.values)
    useless = TRAIN.names.index("cover_brightness")
    assert found.low[useless] < 0 < found.high[useless]
    assert found.same_sign[TRAIN.names.index("text_match")] == 1
    assert weights_of(study_of({"new": svm}), study.main).refits == 0


def test_signs_by_name_are_kept_by_refits():
    ranker = RankSVM(C=0.01, monotonic_cst={"text_match": -1})
    study = study_of({"new": ranker.fit(TRAIN)}, train=TRAIN, resamples=12)
    found = weights_of(study, study.main)
    at = TRAIN.names.index("text_match")
    assert found.refits == 12
    assert found.values[at] == found.low[at] == found.high[at] == 0
    assert learning_curve_of(study, study.main) is not None


def test_the_learning_curve_has_weights_and_groups(svm):
    rng = np.random.default_rng(0)
    weight, groups = rng.exponential(size=len(TRAIN)), TRAIN.qid % 6
    train = RankingData(TRAIN.X, TRAIN.y, TRAIN.qid, names=TRAIN.names, weight=weight, groups=groups)
    study = study_of({"new": svm}, TEST, train=train)
    curve = learning_curve_of(study, study.main)
    besides = {"cv": 3, "measures": study.chosen[:1]}
    expected = cross_validate(RankSVM(C=0.01), train, **besides).by_fold(study.measure)
    np.testing.assert_allclose(curve.valid[-1], expected)
    assert not np.allclose(expected, cross_validate(RankSVM(C=0.01), TRAIN, **besides).by_fold(study.measure))


def test_detail_marks_ties_and_moves():
    data = RankingData(np.zeros((3, 1)), np.array([0.0, 1, 2]), np.zeros(3, int), docid=np.array(["a", "b", "c"]))
    study = study_of({"base": np.array([3.0, 2, 1]), "new": np.array([1.0, 1, 2])}, data)
    text = detail(study, 0)
    assert "c <span class=up>↑2</span>" in text
    assert "a <span class=down>↓1</span>" in text
    assert text.count("<abbr title=tied>=</abbr>") == 2


def test_scores_that_differ_look_different():
    """Also with a large offset, of which three digits would all be the same."""
    data = RankingData(np.zeros((3, 1)), np.array([0.0, 1, 2]), np.zeros(3, int))
    for scores, shown in (
        ([1e9 + 2.5, 1e9 + 1, 1e9], ["1.00000000250e+09", "1.00000000100e+09", "1.00000000000e+09"]),
        ([1000.02, 1000.01, 1000.0], ["1000.0200", "1000.0100", "1000.0000"]),
        ([1e308, 0, -1e308], ["1.00e+308", "0.00e+00", "−1.00e+308"]),
    ):
        text = detail(study_of({"new": np.array(scores)}, data), 0)
        assert re.findall(r"<td class=n>([^<]+)</td></tr>", text) == shown


def test_blank_names_can_be_seen_and_clicked():
    data = RankingData(np.zeros((4, 1)), np.array([0.0, 1, 0, 1]), np.array(["", "", " ", " "]))
    page = rankwise.report.html({"new": np.arange(4.0)}, data, procedure=SHORT).html
    assert [row[0] for row in rows_of(page, "queries")[1:]] == ["“”", "“ ”"]


def test_the_comparison_of_one_ranker_has_its_means_only(svm):
    comparison = rankwise.report.html(svm, TEST, resamples=0, procedure=SHORT).comparison
    assert comparison.to_markdown() == (
        "40 queries, baseline RankSVM\n\n"
        "| ranker | ndcg@10 | map | pairwise-accuracy |\n| :-- | --: | --: | --: |\n"
        + "| RankSVM | {} |".format(
            " | ".join(f"**{comparison.evaluations['RankSVM'].means[one]:.4f}**" for one in comparison.measures)
        )
    )
    assert list(comparison.per_query()["query"]) == comparison.query_ids.tolist()
    assert all(column.size == 0 for column in comparison.worst().values())
    assert comparison.to_dict()["worst"]["queries"] == []


def test_rankers_that_do_not_rank_are_told_at_the_top(svm):
    page = rankwise.report.html({"new": svm, "by query": TEST.qid * 1.0}, TEST, baseline="clicks", procedure=SHORT)
    assert page.cautions == ["by query does not rank: within every query its scores are equal."]


def test_training_data_are_told_at_the_top(svm):
    twin = RankingData(TEST.X.copy(), TEST.y, TEST.qid, names=TEST.names)
    for train in (TEST, twin):
        page = rankwise.report.html(svm, TEST, train=train, resamples=0, procedure=SHORT)
        assert "40 queries of 40 in the test data have documents of the training data" in page.cautions[0]
        assert page.html.partition("<nav")[0].count('class="remark"') == 1
    assert rankwise.report.html(svm, TEST, train=TRAIN, resamples=0, procedure=SHORT).cautions == []


def test_what_cannot_be_reported(svm):
    for given, error in (
        ({"data": TEST.X}, "data must be RankingData"),
        ({"data": TEST, "train": TEST.X}, "train must be RankingData"),
        ({"data": TEST.select(slice(0, 0))}, "data has no rows"),
        ({"data": TEST, "resamples": -1}, "resamples must be 0, or 10 or more"),
        ({"data": TEST, "resamples": 9}, "resamples must be 0, or 10 or more"),
        ({"data": TEST, "baseline": "clickz"}, "did you mean 'clicks'"),
        ({"data": TEST, "measures": ["judged@5", "map"]}, "judged@5 cannot be the first measure of a report"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            rankwise.report.html(svm, **given)
    for rankers, error in (
        ({}, "rankers is empty"),
        ({"x": np.full(len(TEST), np.nan)}, "the scores of x"),
        ("none.json", "none.json: no such file, and the data have no column of this name"),
        (__file__, "not a model file"),
        ({"x": RankSVM()}, "RankSVM is not fitted: call fit first"),
    ):
        with pytest.raises(ValueError, match=error):
            rankwise.report.html(rankers, TEST)


def test_a_baseline_that_could_be_a_ranker_or_a_column(svm):
    with pytest.raises(ValueError, match="'clicks' is both a ranker and a column of the data: rename the ranker"):
        rankwise.report.html({"clicks": svm}, TEST, baseline="clicks")
    page = rankwise.report.html({"new": svm, "clicks": TEST.X[:, 4]}, TEST, baseline="clicks", procedure=SHORT)
    assert page.comparison.others == ["new"]


def test_refits_are_told_and_can_be_left_out(svm):
    told = []
    study = study_of({"new": svm}, train=TRAIN, resamples=10, tell=told.append)
    titles = re.findall(r"<th[^>]*>([^<]*)</th>", page_of(study).html)
    assert titles.count("number of training queries") == titles.count("training queries") == 1
    assert told == [f"fit {i} of 10 for the intervals of weights of new" for i in range(1, 11)] + [
        f"fit {i} of 18 for the learning curve of new" for i in range(1, 19)
    ]
    told.clear()
    page = page_of(study_of({"new": svm}, train=TRAIN, resamples=0, tell=told.append)).html
    assert told == []
    assert "No model was fitted again (--resamples 0): there is no learning curve" in page


def test_the_gap_is_relative_as_in_the_result(svm):
    """The message has it relative to what the tolerance refers to, and the last column has the bound itself."""
    page = rankwise.report.html({"new": svm}, TEST, procedure=SHORT).html
    row = re.search(r"certified relative gap.*?</tr>", page, re.DOTALL).group()
    assert page.count("relative gap") == 1
    assert "of the objective" not in row
    assert f"{svm.result_.gap:.2g}" in row


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = write_sample(tmp_path_factory.mktemp("report"))
    for name, model in (("svm", "ranksvm"), ("rls", "rankrls")):
        run("train", folder / "train.txt", "-o", folder / f"{name}.json", "--model", model)
    return folder


def test_the_command_says_the_verdict_of_compare(files):
    target = files / "report.html"
    data = ("--data", files / "test.txt")
    done = run("report", files / "svm.json", *data, "--baseline-column", "5", "-o", target, "-m", "ndcg@10")
    told = json.loads(
        run("compare", files / "svm.json", *data, "--baseline-column", "5", "-m", "ndcg@10", "--json").stdout
    )
    assert f"svm is better than feature 5 by {told['contrasts'][1]['difference']:.3f} NDCG@10" in done.stdout
    tree = check_whole(target.read_text())
    texts = " ".join(tree.texts)
    assert "book-" in texts
    command = (
        r"rankwise report \S*svm\.json --data \S*test\.txt --baseline-column=5 --measure=ndcg@10 -o \S*report\.html"
    )
    assert re.search(command, texts)
    assert "trained by rankwise train" in texts
    run("report", files / "svm.json", *data, "-o", target)  # a report replaces a report
    target.write_text("mine")
    assert (
        "exists and is not a rankwise report" in run("report", files / "svm.json", *data, "-o", target, code=1).stderr
    )
    told = run("report", files / "svm.json", *data, "-o", files / "page.pdf", code=1).stderr
    assert "page.pdf: a report is an HTML page: give a name that ends in .html" in told
    assert run("report", files / "svm.json", *data, "-o", "-").stdout.startswith("<!DOCTYPE html>")


def test_other_commands_write_it_too(files):
    train, test = files / "train.txt", files / "test.txt"
    paths = {name: files / f"{name}.html" for name in ("train", "tune", "compare")}
    model = ("-o", files / "model.json")
    run("train", train, *model, "--valid", test, "--report", paths["train"])
    run("tune", train, *model, "--C", "0.01", "--C", "0.1", "--folds", "2", "--report", paths["tune"])
    run(
        "compare", files / "svm.json", files / "rls.json", "-d", test, "--baseline", "rls", "--report", paths["compare"]
    )
    texts = {name: " ".join(check_whole(path.read_text()).texts) for name, path in paths.items()}
    assert "Norm of the gradient" in paths["train"].read_text()
    assert "model was trained on these queries" not in texts["train"]
    assert "model was trained on these queries" in texts["tune"]
    assert re.search(r"svm is .* rls", texts["compare"])
    assert "standard output has the results" in run("train", train, *model, "--report", "-", code=2).stderr
    refused = run("compare", files / "svm.json", files / "rls.json", "--qrels", test, "--report", "x.html", code=2)
    assert "a report needs the documents" in refused.stderr
    assert (
        "not available with --dask"
        in run("train", train, *model, "--dask", "local:1", "--report", "x.html", code=2).stderr
    )
    run("train", "--like", files / "model.json", "--report", files / "again.html", code=1)  # it was tuned
