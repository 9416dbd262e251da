"""Kernel rankers: a map from the kernel to features, then a linear ranker on these.

score(x) = Σ β_z k(x, z),   minimising ½|f|² + C Σ loss(f(x_i) - f(x_j)) over f in the span of the references z
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from rankwise.estimators.base import Ranker
from rankwise.estimators.inputs import (
    Column,
    Ids,
    check_columns,
    curable,
    documents,
    is_frame,
    keep_columns,
    rows_to_score,
    warn_of_query_ids,
)
from rankwise.estimators.on_device import check_rows
from rankwise.estimators.ranksvm import RankSVM
from rankwise.foundation.arrays import Floats, Ints, finite
from rankwise.foundation.devices import is_sparse, library_of, namespace, to_host
from rankwise.foundation.names import key
from rankwise.kernel_maps import Kernel, KernelMap
from rankwise.kernel_maps.factor import ROUNDING
from rankwise.kernel_maps.kernel import Objects
from rankwise.model_selection.splits import Seed
from rankwise.objective.losses import Loss
from rankwise.objective.stored import is_stored
from rankwise.pairs.queries import Queries
from rankwise.rankers.checks import check_pair_weights, positive
from rankwise.rankers.models import Params
from rankwise.solvers import Callback, Result, Solver
from rankwise.solvers.base import may_overflow

SYMMETRY = 1e-8  # how far a precomputed kernel may be from symmetric, as a share of its largest value
SLAB = 256  # rows compared at a time
OF_PRODUCTS = ("linear", "polynomial", "poly", "sigmoid")  # kernels of inner products
EPS = float(np.finfo(float).eps)
KEPT = 1e3  # squared differences within queries are at least this many times the rounding of inner products
SAME = (
    "the kernel has the same value for all documents, within rounding, so that their scores are equal: scale the "
    "features to a usual size, for example by ScaledRanker, or change gamma"
)


class KernelRanker(Ranker):
    """What kernel rankers share: the map, and predictions from coefficients of the references."""

    kernel: str | Callable[..., float]
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Params | None
    n_components: int | None
    landmarks: str
    random_state: Seed

    dual_coef_: Floats
    result_: Result
    X_fit_: Objects
    support_: Ints | None

    def _mapped(self, X: Objects, y: Column, sample_weight: Column) -> tuple[Objects, Floats, Floats, Floats | None]:
        """The training objects, their features, the labels and the weights, all checked."""
        if is_stored(X):
            raise ValueError(f"{type(self).__name__} needs rows in memory: give data.read()")
        self.map_ = self.new_map()
        self.__dict__.pop("first_index_", None)
        y, sample_weight = (to_host(one) if library_of(one) else one for one in (y, sample_weight))
        y = self._exact_labels(y)
        if library_of(X):
            X, y = check_rows(self, X, reset=True), finite(y, "y", X.shape[0])
        elif self._takes_objects(X):
            X, y = list(X), validate_data(self, X="no_validation", y=y, y_numeric=True)
            check_consistent_length(X, y)
        else:
            with curable(X):
                X, y = validate_data(self, X, y, **self._rows_wanted(), y_numeric=True)
        if self.map_.kernel.precomputed:
            _check_symmetric(X)
        weights: Floats | None = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
            check_pair_weights(weights)
        with may_overflow():
            features = self.map_.fit_transform(X)
        self._check_range(X, features)
        self.X_fit_, self.support_ = self.map_.references, self.map_.chosen
        return X, features, np.asarray(y, dtype=np.float64), weights

    def _check_range(self, X: Objects, features: Floats) -> None:
        """Raise if kernel values of the rows X overflow or underflow to 0; warn if they are equal, but not the rows."""
        name, xp = type(self).__name__, namespace(features)
        if not features.shape[1] or not bool(xp.all(xp.isfinite(features))):
            raise ValueError(f"{name} overflows: scale the features to a usual size, for example by ScaledRanker")
        any_value = bool(xp.any(features != 0))
        if callable(self.kernel) or self.map_.kernel.precomputed or (any_value and not _is_constant(features)):
            return
        X = to_host(X) if library_of(X) else X
        if any_value:
            if float(abs(X.max(axis=0) - X.min(axis=0)).max()) > 0:
                warnings.warn(SAME, stacklevel=4)
            return
        largest = float(abs(X).max())
        if largest > 0 and self.map_.kernel.diagonal(X / largest).any():  # the same rows at a usual size
            raise ValueError(
                f"{name}'s scores underflow: scale the features to a usual size, for example by ScaledRanker"
            )

    def new_map(self) -> KernelMap:
        """The map that the parameters describe, not fitted yet."""
        if isinstance(self.gamma, str):
            cure = "give a number, such as 1 / (X.shape[1] * X.var()), which scikit-learn calls 'scale'"
            raise ValueError(f"gamma is {self.gamma!r}: {cure}; None is 1 / n_features")
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        extra = dict(self.kernel_params or {})
        kernel = Kernel(self.kernel, extra if callable(self.kernel) else named | extra)
        components = None if self.n_components is None else int(positive("n_components", self.n_components))
        return KernelMap(kernel, components, self.landmarks, self.random_state)

    def predict(self, X: Objects, qid: Ids = None) -> Floats:
        """Scores, one per object, in the order of the objects; the higher, the better. `qid` is not needed.

        With kernel="precomputed", X holds the kernel between these objects (rows) and the training objects (columns).
        Kernel values are computed block by block, so their matrix is never held in memory as a whole.
        """
        check_is_fitted(self)
        with rows_to_score(self, X) as rows, curable(rows):
            check_columns(self, rows)
            return self._scores_of_rows(rows)

    def _scores_of_rows(self, X: Objects) -> Floats:
        if library_of(X):
            return self.map_.scores(check_rows(self, X, reset=False), self.dual_coef_)
        X = list(X) if self._takes_objects(X) else validate_data(self, X, **self._rows_wanted(), reset=False)
        return self.map_.scores(X, self.dual_coef_)

    def _takes_objects(self, X: Objects) -> bool:
        """Whether X is passed to a callable kernel unchecked; rows of numbers are checked in any case."""
        if not callable(self.kernel):
            return False
        dtype = getattr(X, "dtype", None)
        if is_frame(X):
            return False
        return not (is_sparse(X) or (getattr(X, "ndim", 0) == 2 and dtype is not None and dtype.kind in "fiub"))

    def _named(self, kernel: str) -> bool:
        return isinstance(self.kernel, str) and key(self.kernel) == kernel

    def _rows_wanted(self) -> dict[str, object]:
        wanted: dict[str, object] = {"dtype": np.float64, "order": "C"}
        if self._named("precomputed"):
            return wanted
        # scikit-learn's Manhattan distances support 32-bit indices only
        return wanted | {"accept_sparse": "csr", "accept_large_sparse": not self._named("laplacian")}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._named("precomputed")
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


class KernelRankSVM(KernelRanker):
    """½|f|² + C Σ loss(f(x_i) - f(x_j)), the sum over all pairs of documents of one query with y_i > y_j.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        A kernel of scikit-learn's `pairwise_kernels` ("linear", "rbf", "polynomial", "laplacian", "cosine", ...),
        "precomputed" (X is then the kernel matrix), or a function of two objects. With a function, X may be a list of
        anything: strings, graphs, trees.
    C : float or "auto", default=1.0
        Weight of the sum over the pairs; "auto" is 30 divided by their number.
    loss, solver, tol, max_iter, n_jobs, verbose, callback : as for RankSVM
    gamma, degree, coef0 : the kernel's parameters, where it has them; gamma None is 1 / n_features
    kernel_params : dict, default=None
        Further parameters of the kernel.
    n_components : int, default=None
        None: the exact kernel, in memory for n_documents² numbers and time that grows with n_documents³. A number: that
        many landmarks (Nyström's approximation), in memory for n_documents * n_components numbers.
    landmarks : {"random", "kmeans", "leverage"}, default="random"
        How landmarks are chosen: documents drawn uniformly, centres of clusters, or documents drawn by approximate
        leverage scores.
    random_state : int, RandomState or None, default=None
        For the landmarks, and for solvers that draw random numbers.
    device : str, default=None
        The device to move the features of the kernel map to, as in RankSVM: "cuda", ... If X is an array of torch or
        CuPy, kernel values are computed on its device too, for random landmarks and kernels that depend on inner
        products of rows ("linear", "rbf", "polynomial", "sigmoid"); else on the CPU.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_references,)
        score(x) = Σ dual_coef_[r] * kernel(x, X_fit_[r]).
    X_fit_ : array or list
        The references: landmarks or, for the exact kernel, training objects that span all others; with
        kernel="precomputed" the numbers of their columns.
    support_ : ndarray or None
        The rows of the training set that X_fit_ consists of; None for centres of clusters.
    map_ : KernelMap
    C_ : float
        The value of C used.
    n_iter_, result_ : as for RankSVM, in the space of the map's features.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> from rankwise.estimators.kernel import KernelRankSVM
    >>> data = load_sample()
    >>> ranker = KernelRankSVM(C=0.1).fit(data.X, data.y, data.qid)
    >>> ranker.predict(data.X[:2]).shape
    (2,)
    """

    labels_by_order = True

    def __init__(
        self,
        kernel: str | Callable[..., float] = "rbf",
        C: float | str = 1.0,
        loss: str | Loss = "squared_hinge",
        solver: str | Solver = "auto",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Params | None = None,
        n_components: int | None = None,
        landmarks: str = "random",
        random_state: Seed = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.solver = solver
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.device = device

    def fit(self, X: Objects, y: Column = None, qid: Ids = None, sample_weight: Column = None) -> Self:
        """Learn `dual_coef_` from objects X with labels y; arguments as for RankSVM."""
        given = documents(X, y, qid, sample_weight)
        warn_of_query_ids(given.X, given.qid)
        rows, features, labels, weights = self._mapped(given.X, given.y, given.sample_weight)
        keep_columns(self, given.columns)
        names = ("C", "loss", "solver", "tol", "max_iter", "n_jobs", "verbose", "callback", "random_state", "device")
        linear = RankSVM(**{name: getattr(self, name) for name in names})
        linear.fit(features, labels, given.qid, weights)
        self.dual_coef_ = self.map_.coefficients(to_host(linear.coef_))
        self.result_: Result = linear.result_
        self.n_iter_, self.n_queries_, self.C_ = linear.n_iter_, linear.n_queries_, linear.C_
        if self.map_.kernel.function in OF_PRODUCTS and _products_lose_digits(rows, given.qid):
            lost_digits(self)
        return self


def lost_digits(ranker: KernelRanker) -> None:
    """Warn that rounding spoils the kernel values of a fit, which has not converged then."""
    message = "kernel values are so large that features of small scale are lost to rounding"
    cure = "scale the features, or use the linear ranker if the kernel is linear"
    warnings.warn(f"{type(ranker).__name__} loses digits: {message}; {cure}", ConvergenceWarning, stacklevel=3)
    if hasattr(ranker, "result_"):  # with several alphas there is none
        ranker.result_ = replace(ranker.result_, converged=False, message=message)


def _products_lose_digits(X: Objects, qid: Ids) -> bool:
    """Whether rounding in inner products of rows is not small beside what a feature differs within queries.

    Sparse rows are not looked at: their features have no offsets, which are the usual cause.
    """
    X = to_host(X) if library_of(X) else X
    if not isinstance(X, np.ndarray):
        return False
    queries = Queries(None if qid is None else to_host(qid), len(X))
    first = np.unique(queries.codes, return_index=True)[1]
    with may_overflow():
        spread = np.square(X - X[first[queries.codes]]).mean(axis=0)
        rounding = EPS * float(np.square(X).sum(axis=1).max())
    return bool(((spread > 0) & (spread < KEPT * rounding)).any())


def _is_constant(features: Floats) -> bool:
    """Whether the features of a map differ by no more than the rounding of kernel values, which it leaves out."""
    if features.shape[1] != 1:  # rounding adds no dimension
        return False
    low, high = float(features.min()), float(features.max())
    return bool(high - low <= features.shape[0] * ROUNDING * max(abs(low), abs(high)))


def _check_symmetric(K: Floats) -> None:
    n, width = K.shape
    if n != width:
        raise ValueError(f"with kernel='precomputed', fit needs X of shape (n, n); got {K.shape}")
    limit = SYMMETRY * float(np.abs(K).max(initial=0.0))
    for i in range(0, n, SLAB):
        apart = np.abs(K[i : i + SLAB] - K[:, i : i + SLAB].T)
        if apart.max() > limit:
            row, column = np.unravel_index(int(apart.argmax()), apart.shape)
            raise ValueError(
                f"a precomputed kernel must be symmetric: X[{i + row}, {column}] is not X[{column}, {i + row}]"
            )
