"""Losses, solvers, measures and schemes from outside the package: as objects and by registered names, everywhere."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rankwise
from rankwise import RankSVM, RankSVMCV, load_model, load_sample, losses, save_model
from rankwise.metrics import evaluate, parse
from rankwise.model_io.files import read_model
from rankwise.objective.losses import LOSSES, Loss, Piece
from rankwise.pairs.compiled import Engine
from rankwise.solvers import Newton, Result, make_solver

DATA = load_sample()
CHAPELLE = Loss("twice-huber", (Piece(1.0, 0.0, 0.0, 2.0), Piece(0.0, -1.0, 2.0, -2.0)))  # 2 · huber(1)
SLOPED = Loss("sloped", (Piece(1.0, 0.0, 1.0, 0.0), Piece(0.0, -1.0, 1.0, 0.0)), smooth=False)  # two corners


pytestmark = pytest.mark.usefixtures("registries_as_before")


def fitted(**params):
    return RankSVM(**{"C": 0.01, **params}).fit(DATA.X, DATA.y, DATA.qid)


# losses


@pytest.mark.parametrize("solver", ["auto", "newton-cg", "trust-region", "bundle", "dual"])
def test_a_loss_of_twice_hubers_value_has_hubers_optimum_at_twice_the_c(solver):
    mine = fitted(loss=CHAPELLE, tol=1e-8, solver=solver)
    theirs = fitted(loss="huber:1", C=0.02, tol=1e-8)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    assert mine.result_.value == pytest.approx(theirs.result_.value, rel=1e-7)


def test_a_loss_with_corners_of_its_own_is_left_to_cutting_planes():
    assert type(make_solver("auto", SLOPED, DATA.X, tol=1e-3)).__name__ == "Bundle"
    assert fitted(loss=SLOPED).result_.converged
    with pytest.raises(ValueError, match="solver 'smoothing' is for the hinge loss: for sloped use 'auto'"):
        fitted(loss=SLOPED, solver="smoothing")


def test_where_only_cutting_planes_are_left_nobody_is_sent_to_auto():
    with pytest.raises(ValueError, match="the loss sloped needs solver 'bundle', which takes neither"):
        fitted(loss=SLOPED, l1_ratio=0.5)
    with pytest.raises(ValueError, match="solver 'newton' needs a smooth loss, and sloped has a corner: use 'auto'"):
        fitted(loss=SLOPED, solver="newton")


@pytest.mark.parametrize("solver", ["sgd", "sgd-queries"])
def test_stochastic_steps_take_a_loss_with_corners_of_its_own(solver):
    best = fitted(loss=SLOPED, tol=1e-6).result_.value
    with pytest.warns(ConvergenceWarning, match="max_iter = 40 epochs were not enough"):
        found = fitted(loss=SLOPED, solver=solver, max_iter=40, random_state=0).result_.value
    assert best <= found <= 1.1 * best


def test_a_hinge_of_another_name_is_the_hinge():
    other = Loss("my-hinge", losses.hinge().pieces, smooth=False)
    assert fitted(loss=other).result_.value == fitted(loss="hinge").result_.value


def test_a_registered_loss_goes_by_its_name():
    rankwise.register_loss("twice-huber", CHAPELLE)
    assert losses.parse("Twice_Huber") is CHAPELLE
    np.testing.assert_array_equal(fitted(loss="twice-huber").coef_, fitted(loss=CHAPELLE).coef_)


def test_a_registered_loss_may_have_a_parameter():
    rankwise.register_loss(
        "scaled-hinge", lambda factor=1.0: Loss(f"scaled-hinge:{factor!r}", (Piece(1.0, 0.0, factor, 0.0),), False)
    )
    assert losses.parse("scaled-hinge:3").pieces[0].slope == 3.0
    assert losses.parse("scaled-hinge").pieces[0].slope == 1.0
    with pytest.raises(ValueError, match=r"'x' is not a number; write it as 'scaled-hinge:1.0'"):
        losses.parse("scaled-hinge:x")
    rankwise.register_loss("twice-huber", CHAPELLE)
    with pytest.raises(ValueError, match="twice-huber takes no parameter"):
        losses.parse("twice-huber:2")


FLAT = [
    Loss("late", (Piece(-1.0, 4.0, -4.0, 2.0),)),  # max(0, -1 - margin)²
    Loss("late hinge", (Piece(0.0, -1.0, 1.0, 0.0),), smooth=False),  # max(0, -margin): its corner is at 0
    Loss("even", (Piece(np.inf, 1.0, -2.0, 2.0),)),  # margin²
    Loss("even tenth", (Piece(np.inf, 0.1, -0.2, 0.2),)),
]
RANKERS_WITH_LOSS = [
    RankSVM(C=1.0),
    RankSVM(C=1.0, solver="sgd", random_state=0, max_iter=5),
    rankwise.KernelRankSVM(n_components=20, random_state=0),
    rankwise.FactorizedRankSVM(n_components=2, random_state=0, max_iter=5),
    RankSVMCV(Cs=[0.1, 1.0], cv=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:C = ")
@pytest.mark.parametrize("ranker", RANKERS_WITH_LOSS)
@pytest.mark.parametrize("loss", FLAT, ids=str)
def test_a_loss_that_equal_scores_minimise_is_said(loss, ranker):
    test = load_sample("test")
    ranker = clone(ranker).set_params(**{"ranker": RankSVM(loss=loss)} if hasattr(ranker, "cv") else {"loss": loss})
    with pytest.warns(UserWarning, match=f"loss {loss} does not fall with the margin at 0: .* change its pieces"):
        ranker.fit(test.X, test.y, test.qid)


def test_a_loss_that_equal_scores_minimise_is_said_once_of_many_batches():
    ranker = RankSVM(C=1.0, loss=FLAT[0], solver="sgd", random_state=0)
    with pytest.warns(UserWarning, match="loss late does not fall with the margin at 0"):
        ranker.partial_fit(DATA.X, DATA.y, DATA.qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.partial_fit(DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize(
    "loss", ["hinge", "squared_hinge", "squared", "logistic:0.1", "logistic:1e-5", "huber:1e-12", "huber:1e12"]
)
def test_no_loss_of_ours_is_minimal_for_equal_scores(loss):
    assert not losses.parse(loss).minimal_for_equal_scores


def test_margins_set_by_costs_may_be_above_the_thresholds_of_a_loss():
    late = Loss("late squares", (Piece(0.0, 1.0, -2.0, 2.0),))  # max(0, -margin)²
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = fitted(loss=late, costs="gain", rescaling="margin")
    assert ranker.result_.converged


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((), "loss odd has no pieces"),
        ((Piece(1.0, 0.0, 1.0, 0.0),), "has a corner at the margin 1: give it smooth=False"),
        ((Piece(1.0, 0.5, 0.0, 2.0),), r"jumps by 0.5 at the margin 1: it must be continuous"),
        ((Piece(1.0, 0.0, -1.0, 0.0),), "is not convex: its slope falls at the margin 1"),
        ((Piece(1.0, 0.0, 0.0, -2.0),), "is not convex: its curvature below the margin 1 is negative"),
        ((Piece(np.inf, -1.0, 0.0, 2.0),), "odd is -1 at the margin 1: it must not be negative"),
        ((Piece(np.inf, 9.0, -6.0, 2.0),), "odd rises with the margin at 0: minimising it would put the worse"),
        ((Piece(np.inf, np.nan, 0.0, 2.0),), "odd is not finite at the margin -5"),
    ],
)
def test_what_no_solver_could_minimise_is_refused(pieces, words):
    odd = Loss("odd", pieces)
    for use in (lambda: rankwise.register_loss("odd", odd), lambda: fitted(loss=odd)):
        with pytest.raises(ValueError, match=words):
            use()


def test_a_loss_is_registered_under_its_own_name():
    with pytest.raises(ValueError, match="to be registered as 'mine' is called 'twice-huber': the names must agree"):
        rankwise.register_loss("mine", CHAPELLE)


NONSENSE = (None, 3, [], object(), int, lambda: 3)


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize(
    ("register", "words"),
    [
        (rankwise.register_loss, r"a loss (is a Loss, or a function|must be a rankwise\.losses\.Loss)"),
        (rankwise.register_solver, r"a solver is called with \(objective, start, callback\); got"),
        (rankwise.register_measure, r"a measure is called with \(labels, scores\) of one query; got"),
        (rankwise.register_scheme, r"a scheme is called with \(layout, n_threads\); got"),
    ],
)
def test_nonsense_is_refused_when_it_is_registered(register, words, nonsense):
    with pytest.raises(TypeError, match=words):
        register("mine", nonsense)


@pytest.mark.parametrize("name", ["", " ", "a b", "a:b", "A", None, 3])
@pytest.mark.parametrize("what", ["loss", "solver", "measure", "scheme"])
def test_names_that_no_option_could_spell(what, name):
    register = getattr(rankwise, f"register_{what}")
    entry = CHAPELLE if what == "loss" else lambda *arguments: None
    with pytest.raises(ValueError, match=rf"the name of a {what} must be lower-case words|the names must agree"):
        register(name, entry)


def test_a_registered_function_that_makes_no_solver():
    rankwise.register_solver("hollow", lambda X: 3)
    with pytest.raises(TypeError, match=r"solver 'hollow' must be called with \(objective, start, callback\); got 3"):
        fitted(solver="hollow")


def test_a_registered_loss_may_need_a_parameter():
    rankwise.register_loss("steep", lambda factor: Loss("steep", (Piece(1.0, 0.0, 0.0, factor),)))
    assert losses.parse("steep:3").pieces[0].curvature == 3.0
    with pytest.raises(ValueError, match="loss 'steep' needs a parameter: write it as 'steep:1'"):
        losses.parse("steep")


# solvers


def descent(objective, start=None, callback=None):
    """Steps of one over the largest curvature."""
    w = np.zeros(objective.size) if start is None else start
    length = 1.0 / np.linalg.eigvalsh(objective.at(w).hessian_matrix())[-1]
    for _ in range(200):
        w = w - length * objective.at(w).gradient
    here = objective.at(w)
    return Result(w, here.value, float(np.linalg.norm(here.gradient)), 200, True, "done", [])


class Descent:
    """The same as a class with options."""

    needs = ("NumPy arrays", "smooth loss")

    def __init__(self, tol=1e-3, max_iter=200):
        self.tol, self.max_iter = tol, max_iter

    def __call__(self, objective, start=None, callback=None):
        return descent(objective, start, callback)


def test_a_solver_is_a_function_an_object_or_a_name():
    rankwise.register_solver("descent", descent)
    rankwise.register_solver("descent-class", Descent)
    exact = fitted(loss="squared_hinge", C=1e-4, tol=1e-9).result_.value
    for solver in (descent, Descent(), "descent", "descent-class", "Descent_Class"):
        ranker = fitted(C=1e-4, solver=solver)
        assert exact * (1 - 1e-12) <= ranker.result_.value <= exact * 1.01
        assert clone(ranker).fit(DATA.X, DATA.y, DATA.qid).result_.value == ranker.result_.value
    assert fitted(C=1e-4, solver=Newton(tol=1e-9)).result_.value == pytest.approx(exact, rel=1e-12)


def test_a_registered_class_gets_the_options_that_it_names():
    rankwise.register_solver("descent-class", Descent)
    made = make_solver("descent-class", losses.squared_hinge(), DATA.X, tol=0.5, max_iter=7, random_state=3)
    assert (made.tol, made.max_iter) == (0.5, 7)
    assert make_solver("descent-class", losses.squared_hinge(), DATA.X, tol=0.5).max_iter == 200
    with pytest.raises(ValueError, match="stopping='gradient' is for solvers of smooth losses: solver 'descent-class'"):
        make_solver("descent-class", losses.squared_hinge(), DATA.X, tol=0.5, stopping="gradient")


def test_needs_are_checked_before_anything_is_computed():
    rankwise.register_solver("descent-class", Descent)
    for solver, name in (("descent-class", "descent-class"), (Descent(), "Descent")):
        with pytest.raises(ValueError, match=f"solver '{name}' needs a smooth loss, and hinge has a corner"):
            fitted(solver=solver, loss="hinge")
    odd = Descent()
    odd.needs = ("luck",)
    with pytest.raises(ValueError, match=r"must be among 'smooth loss', .*; got 'luck'"):
        fitted(solver=odd)
    with pytest.raises(TypeError, match=r"solver must be a name or be called with .*; got 5"):
        fitted(solver=5)
    with pytest.raises(TypeError, match=r"a solver is called with .*; got 5"):
        rankwise.register_solver("five", 5)


# measures


def top_label(labels, scores):
    """Documents come best first."""
    assert (np.diff(scores) <= 0).all()
    return labels[0]


def at_top(labels, scores, cutoff):
    return float(np.mean(labels[:cutoff]))


def test_a_measure_is_a_function_of_a_query_or_its_name():
    y, scores, qid = [0, 2, 1, 3, 0], [0.1, 0.9, 0.5, 0.2, 0.8], ["a", "a", "a", "b", "b"]
    rankwise.register_measure("top", top_label)
    rankwise.register_measure("mean-at", at_top, cutoff="optional")
    found = evaluate(y, scores, qid, ["top", top_label, "mean-at@2", "mean-at", "ndcg"])
    assert list(found) == ["top", "top-label", "mean-at@2", "mean-at", "ndcg"]
    assert found["top"] == found[top_label] == found["top-label"] == 1.0  # (2 + 0) / 2
    assert found["mean-at@2"] == (1.5 + 1.5) / 2
    assert found["mean-at"] == (1.0 + 1.5) / 2
    assert "top-label" in found
    assert top_label in found
    np.testing.assert_array_equal(found.per_query["top"], [2.0, 0.0])


def test_a_query_may_not_count():
    found = evaluate([1, 0, 5], [1, 2, 3], [1, 1, 2], nan_for_one)
    assert found[nan_for_one] == 0.0
    assert found.counted == {"nan-for-one": 1}


def nan_for_one(labels, scores):
    return np.nan if labels.size == 1 else labels[0]


@pytest.mark.parametrize("measure", [top_label, "top"])
def test_a_measure_of_ones_own_chooses_c(measure):
    rankwise.register_measure("top", top_label)
    ranker = RankSVMCV(Cs=[1e-6, 1e-2], cv=2, measure=measure).fit(DATA.X, DATA.y, DATA.qid)
    assert 0 < ranker.best_score_ < 5
    validated = rankwise.model_selection.cross_validate(
        RankSVM(C=1e-2), DATA.X, DATA.y, DATA.qid, cv=2, measures=measure
    )
    assert validated.mean(measure) == pytest.approx(ranker.scores_[1])
    assert validated.per_query(measure)[1].size == DATA.n_queries
    ranker = rankwise.RankRLSCV(alphas=[1.0, 10.0], measure=measure).fit(DATA.X, DATA.y, DATA.qid)
    assert ranker.scores_.shape == (2,)
    ranker = rankwise.FactorizedRankSVM(3, measure=measure, validation_fraction=0.2, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ranker.fit(DATA.X, DATA.y, DATA.qid).validation_score_ > 0


def test_pictures_take_a_measure_of_ones_own():
    from rankwise.report import CutoffDisplay, QueryDifferenceDisplay, RegularizationDisplay

    scores = fitted().predict(DATA.X)
    shown = QueryDifferenceDisplay.from_predictions(DATA.y, scores, -scores, DATA.qid, top_label)
    assert shown.measure == "top-label"
    ranker = RankSVMCV(Cs=[1e-6, 1e-2], cv=2, measure=top_label).fit(DATA.X, DATA.y, DATA.qid)
    assert RegularizationDisplay.from_estimator(ranker).measure == "top-label"
    rankwise.register_measure("mean-at", at_top, cutoff="optional")
    curve = CutoffDisplay.from_predictions(DATA.y, {"mine": scores}, DATA.qid, parse("mean-at"), cutoffs=[1, 2])
    assert curve.measure == "mean-at"
    assert curve.curves["mine"].shape == (2,)


def test_what_is_no_measure():
    with pytest.raises(ValueError, match="a measure needs a name, and <lambda> is not a valid one"):
        parse(lambda labels, scores: 1.0)
    with pytest.raises(ValueError, match="cutoff must be one of 'none', 'optional', 'needed'; got 'maybe'"):
        rankwise.register_measure("top", top_label, cutoff="maybe")
    with pytest.raises(TypeError, match="a measure is called with"):
        rankwise.register_measure("top", "ndcg")


# schemes


class Counting(Engine):
    """The compiled engine, which says how often it was made."""

    made = 0

    def __init__(self, layout, n_threads=1):
        type(self).made += 1
        super().__init__(layout, n_threads)


def test_a_scheme_is_a_class_or_its_name():
    rankwise.register_scheme("counting", Counting)
    wanted = fitted().result_.value
    for scheme in (Counting, "counting"):
        before = Counting.made
        assert fitted(scheme=scheme).result_.value == pytest.approx(wanted, rel=1e-12)
        assert Counting.made > before
    with pytest.raises(TypeError, match=r"scheme must be a name or an object called with .*; got 5"):
        fitted(scheme=5)
    with pytest.raises(TypeError, match=r"a scheme is called with .*; got 5"):
        rankwise.register_scheme("five", 5)


@pytest.mark.parametrize("given", ["at once", "later"])
def test_the_old_name_of_the_scheme_is_accepted(given):
    ranker = RankSVM(C=0.01, pairs="avl-tree") if given == "at once" else RankSVM(C=0.01).set_params(pairs="avl-tree")
    with pytest.warns(DeprecationWarning, match="is now called scheme") as caught:
        ranker = clone(ranker).fit(DATA.X, DATA.y, DATA.qid)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ranker.coef_, fitted(scheme="avl-tree").coef_)
    assert ranker.options.pairing().scheme == "avl-tree"
    ranker.set_params(scheme="explicit")
    with pytest.raises(ValueError, match="pairs is the former name of scheme, and both are given: leave pairs out"):
        ranker.options.pairing()


# models on disk


def test_a_model_has_the_name_of_its_loss_solver_and_scheme(tmp_path):
    rankwise.register_loss("twice-huber", CHAPELLE)
    rankwise.register_solver("descent", descent)
    rankwise.register_scheme("counting", Counting)
    ranker = fitted(loss=CHAPELLE, solver=descent, scheme=Counting)
    save_model(ranker, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert (again.loss, again.solver, again.scheme) == ("twice-huber", "descent", "counting")
    np.testing.assert_array_equal(again.coef_, ranker.coef_)
    LOSSES._entries.pop("twice-huber")
    with pytest.raises(
        ValueError,
        match=r"m\.json cannot be loaded: its loss 'twice-huber' is not registered: call rankwise\.register_loss",
    ):
        load_model(tmp_path / "m.json")
    scores = read_model(tmp_path / "m.json").scores(DATA)  # as the commands do: predictions need no loss
    np.testing.assert_array_equal(scores, ranker.predict(DATA.X))


def test_an_object_of_ours_is_saved_by_its_name(tmp_path):
    from rankwise.papers import trees

    save_model(fitted(scheme=trees.avl, loss=losses.huber(0.5)), tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert (again.scheme, again.loss) == ("avl-tree", "huber:0.5")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"loss": CHAPELLE}, "its loss 'twice-huber' is not registered; call rankwise.register_loss first"),
        ({"loss": Loss("squared_hinge", CHAPELLE.pieces)}, "its loss 'squared_hinge' is not registered"),
        ({"solver": Newton()}, r"its solver .* is not registered; .* or set_params\(solver=...\) with a name"),
        ({"scheme": Counting}, "its scheme .* is not registered"),
    ],
)
def test_what_is_not_registered_is_not_saved(tmp_path, params, words):
    ranker = fitted(**params)
    with pytest.raises(ValueError, match="the model cannot be saved: " + words):
        save_model(ranker, tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()
    name = next(iter(params))
    save_model(ranker.set_params(**{name: RankSVM().get_params()[name]}), tmp_path / "m.json")


def test_a_measure_is_saved_by_its_name(tmp_path):
    ranker = rankwise.FactorizedRankSVM(measure=top_label, max_iter=2, random_state=0).fit(DATA.X, DATA.y, DATA.qid)
    with pytest.raises(ValueError, match="its measure 'top-label' is not registered"):
        save_model(ranker, tmp_path / "m.json")
    rankwise.register_measure("top-label", top_label)
    save_model(ranker, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").measure == "top-label"


def test_a_model_of_version_0_1_has_its_scheme_under_the_old_name(tmp_path):
    path = tmp_path / "m.json"
    save_model(fitted(scheme="by-level"), path)
    text = path.read_text()
    assert '"scheme": "by-level"' in text
    assert '"pairs"' not in text
    path.write_text(text.replace('"scheme"', '"pairs"'))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_model(path).scheme == "by-level"
