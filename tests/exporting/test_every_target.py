"""Every target, read back by a reader written apart, gives the scores and the ranking of the model."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from readers import READERS, SINGLE, linear_model, served

from rankwise import (
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankSVM,
    ScaledRanker,
    evaluate,
    export,
    load_sample,
    save_model,
)
from rankwise.exporting.targets import TARGETS, Target, register_export
from rankwise.model_io.conversion import model_of

TEST = load_sample("test")
pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:the kernel is not positive semidefinite"),
]
BY_POSITION = {"ranklib", "liblinear", "liblinear-ranksvm", "svmrank"}
WITHOUT_INTERCEPT = {"elasticsearch", "opensearch", "solr", "ranklib", "liblinear-ranksvm"}


@pytest.fixture(scope="module")
def train():
    return load_sample("train")


@pytest.fixture(scope="module")
def rankers(train):
    """By the name of their scaling; columns have names."""
    import pandas

    frame = pandas.DataFrame(train.X, columns=train.names)
    fitted = {name: ScaledRanker(RankSVM(), name).fit(frame, train.y, train.qid) for name in ("zscore", "minmax")}
    return fitted | {"none": RankSVM().fit(frame, train.y, train.qid)}


def centred(scores, qid):
    return scores - np.array([scores[qid == one].mean() for one in qid])


def assert_same(target, exact, scores, qid):
    """Scores to the precision of the target, up to a constant where it has none; the ranking as a measure sees it."""
    if target in WITHOUT_INTERCEPT:
        exact, scores = centred(exact, qid), centred(scores, qid)
    tolerance = 1e-5 if target in SINGLE else 1e-12
    assert np.abs(scores - exact).max() <= tolerance * np.abs(exact).max()


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("scaling", ["none", "zscore fold", "zscore engine", "minmax fold", "minmax engine"])
def test_scores_and_ranking(target, scaling, rankers, tmp_path):
    name, _, how = scaling.partition(" ")
    if how == "engine" and target in BY_POSITION:
        with pytest.raises(ValueError, match=f"{target} cannot scale features: take scaling='fold'"):
            export(rankers[name], target, scaling=how)
        return
    exact = rankers[name].predict(TEST.X)
    done = export(rankers[name], target, tmp_path / "file", scaling=how or None, check=TEST)
    assert (tmp_path / "file").read_bytes() == done.content
    scores = served(target, done.content, TEST, TEST.names, tmp_path)
    assert_same(target, exact, scores, TEST.qid)
    assert done.check.is_same
    before, after = (evaluate(TEST.y, one, TEST.qid, ["ndcg@10", "map"]) for one in (exact, scores))
    assert before["ndcg@10"] == after["ndcg@10"]
    assert before["map"] == after["map"]


def test_every_target_has_a_reader():
    assert set(TARGETS) == set(READERS)


@pytest.mark.parametrize("target", sorted(set(TARGETS) - BY_POSITION))
def test_columns_in_another_order(target, rankers, tmp_path):
    """Features are found by name where a target knows names; in ONNX the order is written beside them."""
    done = export(rankers["zscore"], target)
    order = np.random.default_rng(1).permutation(TEST.n_features)
    names = [TEST.names[j] for j in order]
    if target == "onnx":
        with pytest.raises(AssertionError):
            served(target, done.content, replace(TEST, X=TEST.X[:, order]), names)
        return
    if target == "python":
        module = {}
        exec(done.text, module)
        scores = [module["score"](dict(zip(names, row, strict=True))) for row in TEST.X[:, order].tolist()]
    else:
        scores = served(target, done.content, replace(TEST, X=TEST.X[:, order]), names)
    assert_same(target, rankers["zscore"].predict(TEST.X), np.array(scores), TEST.qid)


STRANGE = ['a "quoted" name', "it's; DROP TABLE documents --", "Größe ☃ 数", "tab\tand\nline", "back\\slash {x} %s"]


@pytest.mark.parametrize("target", sorted(set(TARGETS) - BY_POSITION - {"vespa"}))
@pytest.mark.parametrize("how", ["fold", "engine"])
def test_strange_names(target, how, train, tmp_path):
    import pandas

    frame = pandas.DataFrame(train.X[:, :5], columns=STRANGE)
    ranker = ScaledRanker(RankSVM(), "zscore").fit(frame, train.y, train.qid)
    done = export(ranker, target, scaling=how)
    some = replace(TEST, X=TEST.X[:, :5], names=STRANGE)
    assert_same(target, ranker.predict(some.X), served(target, done.content, some, STRANGE, tmp_path), TEST.qid)


@pytest.mark.parametrize("name", ["nul\0", "escape\x1b"])
def test_names_that_a_target_cannot_hold(name):
    model = linear_model([1.0, 2.0], [name, "b"])
    with pytest.raises(ValueError, match="cannot be written in XML"):
        export(model, "pmml")
    if "\0" in name:
        with pytest.raises(ValueError, match="cannot be a column in SQL: give it another name"):
            export(model, "sql")
    for target in ("elasticsearch", "solr", "json", "python", "onnx"):
        row = [{name: 1.5, "b": -2.0}]
        assert READERS[target](export(model, target).content)(row)[0] == -2.5


def test_a_name_in_the_way_of_the_score():
    """Features called as the output and the derived fields of the PMML would be."""
    from rankwise.preprocessing.scaling import Scaling

    scaling = Scaling("zscore", 3, np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 0.5]))
    names = ["score", "scaled score", "scaled scaled score"]
    model = linear_model([1.0, -1.0, 2.0], names, scaling)
    scores = READERS["pmml"](export(model, "pmml", scaling="engine").content)
    assert scores([dict(zip(names, [2.0, 2.5, 7.0], strict=True))])[0] == 2.0 - 2.0 + 4.0


def test_a_model_without_names(train):
    ranker = RankSVM().fit(train.X, train.y, train.qid)
    with pytest.warns(UserWarning, match="no feature names: solr gets f1 to f13"):
        done = export(ranker, "solr")
    assert json.loads(done.text)["features"][0] == {"name": "f1"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = export(ranker, "solr", names=train.names)
        export(ranker, "svmrank")
    assert [one["name"] for one in json.loads(done.text)["features"]] == list(train.names)
    ranker.first_index_ = 0
    with pytest.warns(UserWarning, match="counts its features from 0, ranklib from 1: feature 0 becomes 1"):
        assert export(ranker, "ranklib").text.splitlines()[-1].startswith("1:")


def test_names_are_checked(rankers):
    with pytest.raises(ValueError, match="one name for each of the 13 features of the model; got 2"):
        export(rankers["none"], "solr", names=["a", "b"])
    with pytest.raises(ValueError, match="feature names of its own, and names holds others"):
        export(rankers["none"], "solr", names=[f"x{j}" for j in range(13)])
    with pytest.raises(ValueError, match="two features are called 'a'"):
        export(linear_model([1.0, 2.0], ["a", "a"]), "solr")
    with pytest.raises(ValueError, match="is no text that UTF-8 can hold"):
        export(linear_model([1.0, 2.0], ["a", "\ud800"]), "json")


def test_constant_columns(train):
    """Their standard deviation is 0, which the engines refuse: they get weight 0 and no normaliser."""
    X = np.column_stack([train.X[:, :3], np.full(len(train), 7.0)])
    ranker = ScaledRanker(RankSVM(), "zscore").fit(X, train.y, train.qid)
    names = ["a", "b", "c", "constant"]
    bodies = {to: json.loads(export(ranker, to, scaling="engine", names=names).text) for to in ("solr", "opensearch")}
    assert bodies["solr"]["features"][3] == {"name": "constant"}
    assert bodies["solr"]["params"]["weights"]["constant"] == 0
    assert "constant" not in bodies["opensearch"]["model"]["model"]["feature_normalizers"]
    data = RankingData(np.column_stack([TEST.X[:, :3], TEST.X[:, 3]]), TEST.y, TEST.qid, names=names)
    for target in ("elasticsearch", "solr", "python", "onnx", "pmml"):
        scores = served(target, export(ranker, target, scaling="engine", names=names).content, data, names)
        assert_same(target, ranker.predict(data.X), scores, data.qid)


def test_scaling_by_query_is_refused(train):
    ranker = ScaledRanker(RankSVM(), "query-zscore").fit(train.X, train.y, train.qid)
    with pytest.raises(ValueError, match=r"scales its features by query-zscore.*train with zscore or without scaling"):
        export(ranker, "python")


@pytest.mark.parametrize("target", sorted(set(TARGETS) - {"onnx"}))
def test_kernels_are_refused(target, train):
    some = train.select(train.qid == train.qid[0])
    ranker = KernelRankSVM("rbf").fit(some.X, some.y, some.qid)
    with pytest.raises(ValueError, match=f"{target} holds linear models only.*'rbf': export it to onnx"):
        export(ranker, target, names=train.names)


@pytest.mark.parametrize("scaler", [None, "minmax"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "RBF"},
        {"kernel": "polynomial", "degree": 2},
        {"kernel": "poly", "gamma": 0.1, "coef0": 0.5},
        {"kernel": "sigmoid", "gamma": 0.05},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
        {"kernel": "linear"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_kernels_in_onnx(options, precision, scaler, train):
    ranker = KernelRankSVM(**options, n_components=60, random_state=0)
    ranker = ranker if scaler is None else ScaledRanker(ranker, scaler)
    ranker.fit(train.X, train.y, train.qid)
    done = export(ranker, "onnx", precision=precision, names=train.names)
    scores = served("onnx", done.content, TEST, TEST.names)
    inner, X = (ranker, TEST.X) if scaler is None else (ranker.ranker_, ranker.scaler_.transform(TEST.X))
    summed = np.abs(inner.map_.kernel.matrix(X, inner.X_fit_)) @ np.abs(inner.dual_coef_)  # large terms may cancel
    tolerance = 2e-5 if precision == "float32" else 1e-13
    assert (np.abs(scores - ranker.predict(TEST.X)) <= tolerance * summed).all()


def test_one_feature_in_onnx():
    """onnxruntime rounds a lone factor beside a matrix product to float32, also in a graph of float64."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(3, 1.234, size=(200, 1)), rng.integers(0, 3, 200), np.repeat(np.arange(10), 20)
    for inner in (RankSVM(), *(KernelRankSVM(kernel, n_components=4, random_state=0) for kernel in ("rbf", "poly"))):
        ranker = ScaledRanker(inner, "zscore").fit(X, y, qid)
        content = export(ranker, "onnx", precision="float64", scaling="engine", names=["a"]).content
        scores = served("onnx", content, RankingData(X, y, qid), ["a"])
        assert np.allclose(scores, ranker.predict(X), rtol=0, atol=1e-12)


def test_a_linear_kernel_is_a_linear_model(train, tmp_path):
    ranker = KernelRankSVM("linear", n_components=30, random_state=0).fit(train.X, train.y, train.qid)
    done = export(ranker, "solr", names=train.names)
    assert_same("solr", ranker.predict(TEST.X), served("solr", done.content, TEST, TEST.names), TEST.qid)


def test_other_kernels_are_refused(train):
    some = train.select(train.qid == train.qid[0])
    ranker = KernelRankSVM("additive_chi2").fit(some.X, some.y, some.qid)
    with pytest.raises(ValueError, match="the kernel must be one of 'linear', 'rbf'"):
        export(ranker, "onnx", names=train.names)
    with pytest.raises(ValueError, match="scaling cannot be folded into a kernel"):
        export(ScaledRanker(KernelRankSVM(), "zscore").fit(some.X, some.y, some.qid), "onnx", scaling="fold")


def test_kernel_parameters_of_a_damaged_model(train, tmp_path):
    """A parameter that is null matters only where the kernel has it."""
    some = train.select(train.qid == train.qid[0])
    for kernel, is_used in (("rbf", False), ("poly", True)):
        save_model(KernelRankSVM(kernel).fit(some.X, some.y, some.qid), tmp_path / "m.json", train.names)
        state = json.loads((tmp_path / "m.json").read_text())
        state["params"]["kernel_params"] = {"degree": None}
        (tmp_path / "m.json").write_text(json.dumps(state))
        if is_used:
            with pytest.raises(ValueError, match="the model has numbers beyond the range of float32"):
                export(tmp_path / "m.json", "onnx")
        else:
            export(tmp_path / "m.json", "onnx")


def test_a_model_without_features():
    model = linear_model([1.0])
    model = replace(model, coef=np.empty(0), columns=replace(model.columns, n_features=0))
    with pytest.raises(ValueError, match="the model has no features"):
        export(model, "solr")


def test_from_a_file_a_model_and_an_estimator(rankers, tmp_path):
    save_model(rankers["minmax"], tmp_path / "model.json")
    found = {export(one, "json").text for one in (tmp_path / "model.json", str(tmp_path / "model.json"))}
    found |= {export(one, "json").text for one in (rankers["minmax"], model_of(rankers["minmax"]))}
    assert len(found) == 1


def test_what_is_no_ranker(train):
    from sklearn.linear_model import LinearRegression

    with pytest.raises(ValueError, match="a LinearRegression cannot be saved"):
        export(LinearRegression().fit(train.X, train.y), "solr")
    with pytest.raises(ValueError, match="RankRLS is not fitted"):
        export(RankRLS(), "solr")


def test_wrong_options(rankers):
    ranker = rankers["zscore"]
    with pytest.raises(ValueError, match=r"target must be one of .*; got 'elastic'. Did you mean 'elasticsearch'\?"):
        export(ranker, "elastic")
    with pytest.raises(ValueError, match="scaling must be one of 'fold', 'engine'; got 'none'"):
        export(ranker, "solr", scaling="none")
    with pytest.raises(ValueError, match="precision must be 'float32'; got 'float64'"):
        export(ranker, "solr", precision="float64")
    for name in ("", " ", "a\nb", 3):
        with pytest.raises(ValueError, match="name must be a text of printable characters"):
            export(ranker, "solr", name=name)


def test_requests(rankers):
    done = export(rankers["none"], "elasticsearch", name="m", feature_set="my set/1")
    assert done.next_step == "POST _ltr/_featureset/my%20set%2F1/_createmodel"
    assert json.loads(done.text)["model"]["name"] == "m"
    done = export(rankers["none"], "solr", name="m", feature_set="shop")
    assert done.next_step == "PUT /solr/COLLECTION/schema/model-store"
    assert (json.loads(done.text)["store"], json.loads(done.text)["name"]) == ("shop", "m")


@pytest.mark.usefixtures("registries_as_before")
def test_a_target_that_needs_a_package(rankers):
    register_export(Target("needy", lambda model, request: "", requires=("no_such_module", "no-such-package")))
    with pytest.raises(ImportError, match="needy needs a package: pip install no-such-package"):
        export(rankers["none"], "needy")


def test_many_features():
    """Databases limit the depth of an expression; SQLite to 1,000."""
    weights = np.random.default_rng(0).normal(size=20_301)
    weights[7] = 0
    model = linear_model([1.0, 1.0])
    model = replace(model, coef=weights, columns=replace(model.columns, n_features=weights.size))
    with pytest.warns(UserWarning, match="f1 to f20301"):
        text = export(model, "sql").text
    assert 'f8"' not in text
    depth = [text[:i].count("(") - text[:i].count(")") for i in range(0, len(text), 1000)]
    assert max(depth) <= 3
    with pytest.warns(UserWarning, match="f1 to f1500"):
        few = export(replace(model, coef=weights[:1500], columns=replace(model.columns, n_features=1500)), "sql")
    row = {f"f{j + 1}": float(j % 7) for j in range(1500)}
    assert np.isclose(READERS["sql"](few.content)([row])[0], weights[:1500] @ list(row.values()), rtol=1e-12)


def test_a_model_of_zeros(tmp_path):
    """As after a fit without preferences; and a feature of weight 0 is not asked for."""
    model = linear_model([0.0, 0.0], ["a", "b"])
    data = RankingData(np.ones((2, 2)), np.zeros(2), np.zeros(2))
    for target in TARGETS:
        assert served(target, export(model, target).content, data, ["a", "b"], tmp_path).tolist() == [0, 0]


VESPA = ["bm25(title)", "fieldMatch(title).completeness", 'attribute(tags,"a b")', "nativeRank", "term(0).weight"]


def test_rank_features_of_vespa():
    model = linear_model([1.0, -2.0, 3.0, 0.5, 0.25], VESPA)
    row = dict(zip(VESPA, [1.0, 2.0, 3.0, 4.0, 5.0], strict=True))
    assert READERS["vespa"](export(model, "vespa", name="by-svm").content)([row])[0] == 1 - 4 + 9 + 2 + 1.25


@pytest.mark.parametrize("name", ["a b", "1st", "f", "if", "a) } evil {", "max(", "ü", "", "a\n", 'a("}")', "a#b"])
def test_no_rank_features_of_vespa(name):
    model = linear_model([1.0, 2.0], [name, "b"])
    with pytest.raises(ValueError, match="is no rank feature of Vespa such as bm25"):
        export(model, "vespa")
    mapped = {name: "bm25(title)"}
    scores = READERS["vespa"](export(model, "vespa", feature_map=mapped).content, mapped)
    assert scores([{name: 1.0, "b": 3.0}])[0] == 7


@pytest.mark.parametrize("expression", ["", "a) + (b", "a }", "a # b", "a\nb", "((a)", 3])
def test_unsafe_rank_expressions(expression):
    with pytest.raises(ValueError, match=r"must be one line without '#', and its brackets must match"):
        export(linear_model([1.0], ["x"]), "vespa", feature_map={"x": expression})


def test_feature_maps_are_checked():
    with pytest.raises(ValueError, match="a name in feature_map must be 'x'; got 'y'"):
        export(linear_model([1.0], ["x"]), "vespa", feature_map={"y": "a"})
    with pytest.raises(ValueError, match="solr takes no feature map"):
        export(linear_model([1.0], ["x"]), "solr", feature_map={"x": "a"})
    with pytest.raises(ValueError, match="cannot name a rank profile"):
        export(linear_model([1.0], ["x"]), "vespa", name="a {")


@pytest.mark.parametrize("name", ["mq2008", "ohsumed"])
def test_real_data(name, read_parts, tmp_path):
    """Trained on three parts, ranked alike on a fourth one by every target."""
    train, test = read_parts(name, 1, 2, 3), read_parts(name, 5)
    names = [f"f{j + 1}" for j in range(train.n_features)]
    ranker = ScaledRanker(RankSVM(), "zscore").fit(train.X, train.y, train.qid)
    exact = ranker.predict(test.X)
    before = evaluate(test.y, exact, test.qid, ["ndcg@10", "map"])
    some = test.select(slice(300))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* does not keep the order")
        exports = {
            (target, how): export(ranker, target, scaling=how, names=names, check=test)
            for target in TARGETS
            for how in (("fold",) if target in BY_POSITION else ("fold", "engine"))
        }
    for (target, _), done in exports.items():
        assert done.check.reversed <= 1e-5 * done.check.pairs
        assert done.check.largest_difference <= (2e-5 if target in SINGLE else 1e-12) * np.abs(exact).max()
        assert_same(target, exact[:300], served(target, done.content, some, names, tmp_path), some.qid)
    for target in ("solr", "onnx", "sql"):
        scores = served(target, exports[target, "engine"].content, test, names)
        after = evaluate(test.y, scores, test.qid, ["ndcg@10", "map"])
        for measure in ("ndcg@10", "map"):
            assert np.isclose(before[measure], after[measure], rtol=0, atol=1e-4)


def test_an_export_prints_as_its_content(rankers):
    as_sql = export(rankers["none"], "sql")
    assert str(as_sql) == as_sql.text
    assert repr(as_sql) == f"<Export to sql: {len(as_sql.content):,} bytes>"
    pytest.importorskip("onnx")
    as_graph = export(rankers["none"], "onnx")
    assert str(as_graph) == repr(as_graph)
