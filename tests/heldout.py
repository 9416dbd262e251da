"""The whole road on data that rankwise was not built on: python -m tests.heldout FOLDER ... [--rows N] [--quick]

The files of a folder that are of one format are one data set. It is read, written in every format and read back,
fitted with every loss, solver and engine that suits, saved, loaded, predicted and evaluated. A table per data set shows
the fits; the violations come last, and the exit code is 1 if there are any:

    a round trip that changes a bit; a `gap` smaller than the distance to the best value found; a fit that says
    "converged" and is further than 3 · tol from the best; a value that the sum over listed pairs does not confirm;
    threads that change a bit; solvers of RankRLS that disagree; a saved model that predicts otherwise
"""

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy import sparse
from typer.testing import CliRunner

import rankwise
from rankwise import RankingData, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.cli.app import app
from rankwise.data.formats import format_of, known_suffixes
from rankwise.foundation.compression import COMPRESSED
from rankwise.foundation.texts import table
from rankwise.objective import losses
from rankwise.objective.building import build
from rankwise.pairs.queries import Queries
from rankwise.solvers import SOLVERS, needs_of

SMOOTH = [name for name in SOLVERS if "smooth loss" in needs_of(name)]
LOSSES = "squared_hinge", "hinge", "huber:1.0", "logistic:0.001", "squared"
QUICK = "newton", "newton-cg", "trust-region", "bundle", "dual"  # the solvers that --quick leaves
TOL = 1e-3
FURTHER = 3.0  # times tol, that a converged fit may be from the best value found
ROUNDING = 1e-12  # share of the value that its own evaluation may be off
SCORES = 1e-6  # relative distance of the scores that the solvers of RankRLS find
FEW_PAIRS = 2_000_000  # of a data set: the sum over listed pairs is computed, and solver "dual" is tried
FEW_ROWS = 3000  # for solvers with an array of rows × rows
SAME_BITS = "2 threads", "chunks"  # engines that promise the weights of the default, to the last bit
ENDLESS = 4.0  # times the limit, by which a fit must have heeded its callback


@dataclass
class Fit:
    loss: str
    C: float
    name: str
    seconds: float
    ranker: RankSVM
    tol: float
    at: float  # value of the objective at coef_, evaluated in memory

    @property
    def title(self):
        return f"{self.name} {self.loss} C={self.C:g}"


class Violations(list):
    """What went wrong, each said where it was found too."""

    def say(self, where, what):
        self.append(f"{where}: {what}")
        print(f"  VIOLATION {self[-1]}", flush=True)


# data sets


def find_data(folder):
    """The data sets below a folder: name -> files of one format in one folder."""
    sets = {}
    for path in sorted(Path(folder).rglob("*")):
        plain = path.with_suffix("") if path.suffix in COMPRESSED else path
        if path.is_file() and plain.suffix.lower() in known_suffixes():
            sets.setdefault((path.parent, format_of(path).name), []).append(path)
    several = {where for where, _ in sets if sum(where == one for one, _ in sets) > 1}
    return {where.name + (f" {kind}" if where in several else ""): paths for (where, kind), paths in sets.items()}


def bundled():
    """scikit-learn's own data, as one query and with query ids drawn at random."""
    from sklearn import datasets

    for name in ("diabetes", "breast_cancer", "wine", "digits", "iris"):
        options = {"scaled": False} if name == "diabetes" else {}
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True, **options)
        X = np.ascontiguousarray(X, dtype=np.float64)
        yield name, RankingData(X, y, np.zeros(y.size, np.int64))
        qid = np.random.default_rng(0).integers(max(y.size // 20, 2), size=y.size)
        yield f"{name} by query", RankingData(X, y, qid)


def variants(name, data):
    """The same data as they might have come: columns in all units, ids as features, a large constant, float32."""
    yield name, data
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    rng = np.random.default_rng(1)
    codes = Queries(data.qid, len(data)).codes
    ids = 1e9 + rng.integers(1_000_000, size=codes.max() + 1)[codes]
    changed = {
        "units": X * 10.0 ** rng.integers(-6, 7, size=X.shape[1]),
        "id per query": np.column_stack((X, ids)),
        "large constant": np.column_stack((np.full(len(data), 123456789012.3), X)),
        "float32": X.astype(np.float32),
    }
    for kind, columns in changed.items():
        yield f"{name}, {kind}", RankingData(columns, data.y, data.qid, None, data.first_index)


def some_queries(data, rows):
    """Whole queries drawn at random, about so many rows; some rows of each where queries are longer than that."""
    if rows is None or len(data) <= rows:
        return data
    codes = Queries(data.qid, len(data)).codes
    rng = np.random.default_rng(0)
    turn = rng.permutation(codes.max() + 1)[codes]
    order = np.lexsort((rng.random(len(data)), turn))
    return data.select(np.sort(order[:rows]))


# round trips


def check_round_trips(name, data, folder, violations):
    """Written in every format, read back, and once more by way of another format."""
    suffixes = [".txt", ".csv", ".npz", ".chunks"] + ([".parquet"] if find_spec("pyarrow") else [])
    before = None
    for suffix in suffixes:
        path = folder / f"data{suffix}"
        try:
            rankwise.write_data(path, data if before is None else before)
            before = read_again(path, data)
            differences = differing(data, before)
        except Exception as error:
            differences = [f"{type(error).__name__}: {error}"]
            before = None
        for difference in differences:
            violations.say(name, f"round trip by {suffix}: {difference}")


def read_again(path, like):
    options = {"dtype": like.X.dtype, "dense": not sparse.issparse(like.X), "comments": True}
    if format_of(path).is_indexed:
        options |= {"n_features": like.n_features, "zero_based": like.first_index == 0}
    return rankwise.read_data(path, **options)


def differing(data, other):
    """The parts of two data sets that are not the same, bit for bit; chunks keep queries together and no comments."""
    if not np.array_equal(np.asarray(data.qid, str), np.asarray(other.qid, str)):
        codes = Queries(data.qid, len(data)).codes
        _, first = np.unique(codes, return_index=True)
        data = data.select(np.argsort(first[codes], kind="stable"))
    X, again = (one.canonical if sparse.issparse(one.X) else one.X for one in (data, other))
    if sparse.issparse(X):
        same = again.shape == X.shape and (again != X).nnz == 0
    else:
        again = again.toarray() if sparse.issparse(again) else again
        same = X.dtype == again.dtype and np.array_equal(X.view(f"u{X.itemsize}"), again.view(f"u{X.itemsize}"))
    checks = {"X": same, "y": np.array_equal(data.y, other.y), "qid": np.array_equal(data.qid, other.qid)}
    return [f"{what} differs" for what, equal in checks.items() if not equal]


# fits of RankSVM


class Fits:
    """All fits of one data set."""

    def __init__(self, name, data, folder, options, violations):
        self.name, self.data, self.folder, self.options, self.violations = name, data, folder, options, violations
        sizes = np.diff(Queries(data.qid, len(data)).starts).astype(float)
        self.pairs = float(sizes @ (sizes - 1)) / 2
        self.fits = []
        self.client = options.client
        self.text, self.chunks = folder / "fit.txt", folder / "fit.chunks"
        rankwise.write_data(self.text, data)
        rankwise.write_chunks(self.chunks, data, chunk_bytes=1 << 18)

    def run(self):
        for loss in LOSSES:
            for C in self.options.C:
                fits = [self.fit(loss, C, name, **settings) for name, settings in self.plans(loss)]
                fits = [fit for fit in fits if fit is not None]
                self.compare(fits)
                self.fits += fits
        print(summary(self.fits), flush=True)

    def plans(self, loss):
        """name -> what is other than in RankSVM(): solvers, then engines."""
        smooth = losses.parse(loss).smooth
        names = (
            [*SMOOTH, "bundle", "bmrm", "sgd", "sgd-queries"] if smooth else ["bundle", "bmrm", "sgd", "sgd-queries"]
        )
        if loss in ("hinge", "squared_hinge") and self.pairs <= FEW_PAIRS:
            names.append("dual")
        if self.options.quick:
            names = [name for name in names if name in QUICK]
        yield "auto", {}
        yield "auto, exact", {"tol": 1e-8 if smooth else 1e-5}
        for name in names:
            yield name, {"solver": name}
        yield "2 threads", {"n_jobs": 2}
        yield "chunks", {"source": "chunks"}
        if find_spec("torch"):
            yield "torch", {"device": "torch:cpu"}
        if self.client is not None:
            yield "dask", {"source": "dask"}

    def fit(self, loss, C, name, source="memory", **options):
        data, began = self.data, time.perf_counter()
        limit = self.options.limit
        settings = {"C": C, "loss": loss, "n_jobs": 1, "random_state": 0, "tol": TOL} | options
        settings["callback"] = lambda step: time.perf_counter() - began > limit
        try:
            if source == "dask":
                from rankwise.distributed import DaskRankSVM

                ranker = DaskRankSVM(**settings | {"callback": None}).fit(str(self.text))
            elif source == "chunks":
                ranker = RankSVM(**settings).fit(rankwise.open_chunks(self.chunks))
            else:
                ranker = RankSVM(**settings).fit(data.X, data.y, data.qid)
        except Exception as error:
            kind = "" if isinstance(error, ValueError) else traceback.format_exc()
            self.violations.say(self.name, f"{name} {loss} C={C:g}: {type(error).__name__}: {error} {kind}")
            return None
        seconds = time.perf_counter() - began
        if seconds > ENDLESS * limit + 5:
            self.violations.say(self.name, f"{name} {loss} C={C:g}: {seconds:.0f} s, the callback was not heeded")
        at = build(data.X, data.y, data.qid, loss=losses.parse(loss), C=C, n_jobs=1).at(padded(ranker.coef_, data))
        return Fit(loss, C, name, seconds, ranker, settings["tol"], at.value)

    def compare(self, fits):
        """With the best value found, with what is proven, and with the sum over listed pairs."""
        say = self.violations.say
        if not fits:
            return
        best = min(fit.at for fit in fits)
        at_zero = (
            self.value_by_pairs(fits[0], 0.0) if self.pairs <= FEW_PAIRS else fits[0].ranker.result_.history[0].value
        )
        for fit in fits:
            result, off = fit.ranker.result_, fit.at - best
            fit.off = off / max(best, 1e-300)
            if abs(result.value - fit.at) > 1e-9 * fit.at:
                say(self.name, f"{fit.title}: says {result.value!r}, its weights have {fit.at!r}")
            if result.gap is not None and off > result.gap + ROUNDING * fit.at:
                say(self.name, f"{fit.title}: gap {result.gap:.3g}, but it is {off:.3g} above the best")
            if result.converged and off > FURTHER * fit.tol * min(fit.at, max(at_zero - best, 0.0)) + ROUNDING * fit.at:
                say(self.name, f"{fit.title}: converged {off:.3g} above the best value {best:.9g} ({result.message})")
            if fit.name == "auto" and not result.converged:
                say(self.name, f"{fit.title}: auto did not converge in {fit.seconds:.1f} s: {result.message}")
        auto = fits[0]
        for fit in fits:
            same = np.array_equal(padded(fit.ranker.coef_, self.data), auto.ranker.coef_)
            if fit.name in SAME_BITS and not same and in_time(fit, auto):
                say(self.name, f"{fit.title}: not the weights of one thread in memory, bit for bit")
        if self.pairs <= FEW_PAIRS:
            listed = self.value_by_pairs(auto, 1.0)
            if abs(listed - auto.at) > 1e-9 * listed:
                say(self.name, f"{auto.title}: value {auto.at!r}, by listed pairs {listed!r}")

    def value_by_pairs(self, fit, scale):
        """½|w|² + C Σ loss, pair by pair, at `scale` times the weights."""
        loss, w = losses.parse(fit.loss), scale * padded(fit.ranker.coef_, self.data)
        total = 0.0
        for X, y in by_query(self.data):
            scores = (X - X[:1]) @ w
            margins = (scores[:, None] - scores)[y[:, None] > y]
            total += float(np.sum(loss(margins)))
        return 0.5 * float(w @ w) + fit.C * total


def in_time(*fits):
    return not any(fit.ranker.result_.message.startswith("stopped") for fit in fits)


def padded(w, data):
    """Weights of files whose last columns are 0 everywhere."""
    return np.append(np.asarray(w), np.zeros(data.n_features - len(w)))


def by_query(data):
    codes = Queries(data.qid, len(data)).codes
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        X = data.X[rows].toarray() if sparse.issparse(data.X) else data.X[rows]
        yield X.astype(np.float64), data.y[rows]


def summary(fits):
    """One line per fit."""
    rows = []
    for fit in fits:
        result = fit.ranker.result_
        shares = [None if one is None else one / max(result.value, 1e-300) for one in (result.gap, result.gap_estimate)]
        shown = ["-" if share is None else f"{share:.1e}" for share in (fit.off, *shares)]
        rows.append([fit.name, fit.loss, f"{fit.C:g}", f"{fit.seconds:.2f}", f"{fit.at:.9g}", *shown])
        rows[-1].append("yes" if result.converged else f"NO: {result.message[:60]}")
    header = ["solver", "loss", "C", "seconds", "value", "above best", "certified", "estimated", "converged"]
    return table(rows, header)


# the rest of the road


def check_least_squares(name, data, violations):
    """Every solver of RankRLS, and the one of RankRLSCV, ranks alike."""
    solvers = [one for one in ("primal", "dual", "cg") if one != "dual" or len(data) <= FEW_ROWS]
    for alpha in (1e-4, 1.0, 1e4):
        rankers = {one: RankRLS(alpha=alpha, solver=one, n_jobs=1) for one in solvers}
        rankers["cv"] = RankRLSCV(alphas=[alpha], n_jobs=1)
        began = time.perf_counter()
        fitted = {one: ranker.fit(data.X, data.y, data.qid) for one, ranker in rankers.items()}
        scores = {one: differences(data, ranker.coef_) for one, ranker in fitted.items()}
        size = max(float(np.abs(scores["primal"]).max()), 1e-300)
        apart = {one: float(np.abs(found - scores["primal"]).max()) / size for one, found in scores.items()}
        took = time.perf_counter() - began
        print(f"  RankRLS alpha={alpha:g}: scores apart by {max(apart.values()):.1e}, {took:.1f} s")
        for one, distance in apart.items():
            if distance > SCORES:
                violations.say(name, f"RankRLS alpha={alpha:g}: scores of {one} and primal are {distance:.2g} apart")


def differences(data, w):
    """Scores relative to the first row of their query."""
    return np.concatenate([(X - X[:1]) @ w for X, _ in by_query(data)])


def check_selection(name, data, folder, violations):
    """RankSVMCV, saved and loaded; what it predicts is evaluated before and after, and by the commands."""
    ranker = RankSVMCV(Cs=[1e-4, 1e-2, 1.0], cv=3, measure="pairwise-accuracy", n_jobs=1).fit(data.X, data.y, data.qid)
    rankwise.save_model(ranker.best_ranker_, folder / "model.json")
    scores, again = ranker.predict(data.X), rankwise.load_model(folder / "model.json").predict(data.X)
    if not np.array_equal(scores, again):
        violations.say(name, "a loaded model predicts otherwise than the saved one")
    values = rankwise.evaluate(data.y, scores, data.qid, ["pairwise-accuracy", "kendall-tau-b"])
    print(f"  RankSVMCV: C={ranker.C_:g}, {', '.join(f'{key} {value:.4f}' for key, value in values.items())}")
    done = CliRunner().invoke(app, ["predict", str(folder / "model.json"), str(folder / "fit.txt")])
    by_command = np.array(done.stdout.split(), dtype=float) if done.exit_code == 0 else np.empty(0)
    digits = 1e-9 if data.X.dtype == np.float64 else 1e-6  # text of float32 values is read as float64
    close = by_command.shape == scores.shape and np.allclose(
        by_command, scores, rtol=digits, atol=digits * abs(scores).max()
    )
    if not close:
        violations.say(
            name, f"`rankwise predict` differs from predict (exit code {done.exit_code}): {done.stderr[:300]}"
        )


def walk(name, data, options, violations):
    """The whole road with one data set."""
    print(f"\n{name}: {data}", flush=True)
    stages = [
        lambda folder: check_round_trips(name, data, folder, violations),
        lambda folder: Fits(name, data, folder, options, violations).run(),
        lambda folder: check_least_squares(name, data, violations),
        lambda folder: check_selection(name, data, folder, violations),
    ]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for stage in stages:
            try:
                stage(Path(folder))
            except Exception:
                violations.say(name, traceback.format_exc())


def data_sets(options):
    for folder in options.folders:
        for name, paths in find_data(folder).items():
            try:
                yield name, rankwise.read_data(paths)
            except (ValueError, OSError) as error:
                print(f"\n{name} is not read: {error}")
    if options.bundled:
        yield from bundled()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.heldout", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="with LETOR, CSV, Parquet or NPZ files")
    parser.add_argument("--bundled", action="store_true", help="scikit-learn's own data too")
    parser.add_argument("--rows", type=int, help="take about so many rows of each data set")
    parser.add_argument("--quick", action="store_true", help=f"of the solvers only {', '.join(QUICK)}")
    parser.add_argument(
        "--variants", action="store_true", help="each data set also in other units, with ids, in float32"
    )
    parser.add_argument("--dask", action="store_true", help="on a local Dask cluster too")
    parser.add_argument("--C", type=float, nargs="+", default=[1e-4, 1.0, 1e4])
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per fit; 20 by default")
    options = parser.parse_args(arguments)
    violations = Violations()
    with ExitStack() as closing:
        options.client = closing.enter_context(local_client(closing)) if options.dask else None
        for name, data in data_sets(options):
            part = some_queries(data, options.rows)
            for title, variant in variants(name, part) if options.variants else [(name, part)]:
                walk(title, variant, options, violations)
    print(f"\n{len(violations)} violations", *violations, sep="\n  ")
    return 1 if violations else 0


def local_client(closing):
    from distributed import Client, LocalCluster

    cluster = closing.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
    return Client(cluster)


if __name__ == "__main__":
    sys.exit(main())
