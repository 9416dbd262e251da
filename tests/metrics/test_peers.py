"""Agreement with other tools, query by query, on random data full of ties."""

import numpy as np
import pytest

from rankwise.metrics import evaluate


def ranking_data(seed, n_queries=40, levels=4, sizes=(2, 12), distinct_scores=5):
    """Contiguous queries with integer scores, so that ties are many; the first has no relevant document."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(*sizes, n_queries))
    y = rng.integers(0, levels, qid.size)
    y[qid == 0] = 0
    return y, rng.integers(0, distinct_scores, qid.size).astype(float), qid


def by_query(function, y, s, qid):
    return [function(y[qid == q], s[qid == q]) for q in np.unique(qid)]


def agree(measure, y, s, qid, expected, **tolerance):
    np.testing.assert_allclose(evaluate(y, s, qid, measure).per_query[measure], expected, **tolerance)


@pytest.mark.parametrize("k", [1, 3, 10, None])
def test_sklearn_ndcg(k):
    ndcg_score = pytest.importorskip("sklearn.metrics").ndcg_score
    y, s, qid = ranking_data(1)
    expected = by_query(lambda a, b: ndcg_score([a], [b], k=k), y, s, qid)
    agree("ndcg:sklearn" if k is None else f"ndcg@{k}:sklearn", y, s, qid, expected, rtol=1e-13)
    powers = by_query(lambda a, b: ndcg_score([2.0**a - 1], [b], k=k), y, s, qid)
    agree("ndcg" if k is None else f"ndcg@{k}", y, s, qid, powers, rtol=1e-13)


def test_sklearn_dcg_and_average_precision_of_untied_scores():
    metrics = pytest.importorskip("sklearn.metrics")
    y, _, qid = ranking_data(2, levels=2)
    s = np.random.default_rng(2).permutation(qid.size).astype(float)
    agree("dcg@5:sklearn", y, s, qid, by_query(lambda a, b: metrics.dcg_score([a], [b], k=5), y, s, qid), rtol=1e-13)
    some = np.isin(qid, np.unique(qid[y > 0]))
    expected = by_query(metrics.average_precision_score, y[some], s[some], qid[some])
    agree("map", y[some], s[some], qid[some], expected, rtol=1e-13)


def test_sklearn_auc():
    roc_auc_score = pytest.importorskip("sklearn.metrics").roc_auc_score
    y, s, qid = ranking_data(3, levels=2)
    assert evaluate(2 * y - 1, s, measures="auc")["auc"] == pytest.approx(roc_auc_score(y, s), rel=1e-14)
    both = np.isin(qid, [q for q in np.unique(qid) if np.unique(y[qid == q]).size == 2])
    expected = by_query(roc_auc_score, y[both], s[both], qid[both])
    result = evaluate(y, s, qid, "auc")
    assert result["auc"] == pytest.approx(np.mean(expected), rel=1e-13)
    assert result.counted["auc"] == len(expected) < len(result.query_ids)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scipy_kendall_tau_b():
    kendalltau = pytest.importorskip("scipy.stats").kendalltau
    y, s, qid = ranking_data(4, sizes=(1, 12))
    expected = by_query(lambda a, b: kendalltau(a, b).statistic if a.size > 1 else np.nan, y, s, qid)
    assert np.isnan(expected).any()
    agree("kendall-tau-b", y, s, qid, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_xgboost(k):
    xgboost = pytest.importorskip("xgboost")
    y, s, qid = ranking_data(5)
    data = xgboost.DMatrix(np.zeros((qid.size, 1)), label=y, qid=qid, base_margin=s)

    def reported(**options):
        metric = {"objective": "rank:ndcg", "disable_default_eval_metric": True, **options}
        return float(xgboost.train(metric, data, num_boost_round=0).eval(data).rsplit(":", 1)[1])

    tolerance = {"abs": 2e-6}  # float32 within, six digits printed
    assert evaluate(y, s, qid, f"ndcg@{k}:xgboost")[f"ndcg@{k}:xgboost"] == pytest.approx(
        reported(eval_metric=f"ndcg@{k}"), **tolerance
    )
    zero = f"ndcg@{k}:xgboost,gain=linear,no-relevant=0"
    assert evaluate(y, s, qid, zero)[zero] == pytest.approx(
        reported(eval_metric=f"ndcg@{k}-", ndcg_exp_gain=False), **tolerance
    )


@pytest.mark.parametrize("k", [1, 3, 10])
def test_lightgbm(k):
    lightgbm = pytest.importorskip("lightgbm")
    y, s, qid = ranking_data(6)
    data = lightgbm.Dataset(np.zeros((qid.size, 1)), label=y, group=np.bincount(qid), init_score=s)
    options = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [k], "verbose": -1}
    ((_, _, reported, _),) = lightgbm.Booster(options, data).eval_train()
    measure = f"ndcg@{k}:lightgbm"
    assert evaluate(y, s, qid, measure)[measure] == pytest.approx(reported, rel=1e-12)


def test_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    y, s, qid = ranking_data(7)
    # trec_eval puts tied documents in descending order of their names: number the rows downwards
    names = [f"d{1000 - i:04}" for i in range(qid.size)]
    judged, run = {}, {}
    for q, name, label, score in zip(qid, names, y, s, strict=True):
        judged.setdefault(str(q), {})[name] = int(label)
        run.setdefault(str(q), {})[name] = float(score)
    wanted = {"ndcg", "ndcg_cut", "map", "P", "recip_rank", "recall"}
    found = pytrec_eval.RelevanceEvaluator(judged, wanted).evaluate(run)
    pairs = {
        "ndcg:trec": "ndcg",
        "ndcg@5:trec": "ndcg_cut_5",
        "ndcg@10:trec": "ndcg_cut_10",
        "map:ties=stable": "map",
        "precision@5:ties=stable": "P_5",
        "recall@5:ties=stable": "recall_5",
        "mrr:ties=stable": "recip_rank",
    }
    result = evaluate(y, s, qid, pairs)
    for ours, theirs in pairs.items():
        expected = [found[str(q)][theirs] for q in result.query_ids]
        np.testing.assert_allclose(result.per_query[ours], expected, rtol=1e-12, err_msg=ours)
