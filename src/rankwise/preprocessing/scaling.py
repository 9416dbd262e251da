"""Feature scaling: x' = (x - shift) · scale, both from the training data or from the row's own query.

    minmax   shift = least value, scale = 1 / (greatest - least):  x' in [0, 1], up to rounding
    zscore   shift = mean,        scale = 1 / standard deviation:  x' of mean 0, variance 1

A column that is constant (in the training data, or within the query) gives 0: its scale is 0.
Preferences see differences within a query only, so a shift that is the same for all rows changes no linear
ranking. Sparse data therefore keep their zeros: FeatureScaler leaves their shift at 0, whatever the method.

A fitted scaling is stored in the units of its columns (`UNITS`), and shift and scale always follow from these by the
same operations, so that a scaling read from a file gives the same numbers to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.names import spelled
from rankwise.foundation.strict_json import Json
from rankwise.foundation.threads import share, thread_count
from rankwise.pairs.queries import Queries, QueryIds, cut

if TYPE_CHECKING:  # SciPy is imported only where it is needed
    from scipy.sparse import csc_array, csr_array

    Sparse: TypeAlias = csr_array | csc_array
else:
    Sparse = Any

METHODS = ("minmax", "zscore")
BY_QUERY = "query-"  # before the method: scaled within each query
NAMES = (*(BY_QUERY + method for method in METHODS), *METHODS)
UNITS = {"minmax": ("minimum", "maximum"), "zscore": ("mean", "standard_deviation")}  # method -> of each column
BLOCK_VALUES = 1 << 20

Matrix: TypeAlias = Array | Sparse


@dataclass(frozen=True, eq=False)
class Scaling:
    """A scaler as fitted: a value, which knows nothing of scikit-learn.

    name   minmax, zscore, query-minmax or query-zscore, as the command line spells them
    shift, scale  one number per feature; None of a scaling by query that was fitted with query ids
    feature_names  None, or those of the columns that it was fitted to
    units  the statistics that shift and scale follow from, by their names in `UNITS`; None where these two are None,
           and of a file of version 0.1, which had no others
    """

    name: str
    n_features: int
    shift: Floats | None = None
    scale: Floats | None = None
    feature_names: Array | None = None
    units: dict[str, Floats] | None = None

    @property
    def method(self) -> str:
        return self.name.removeprefix(BY_QUERY)

    @property
    def by_query(self) -> bool:
        return self.name.startswith(BY_QUERY)

    @property
    def centred(self) -> bool:
        """Whether the mean, or the minimum, is subtracted; sparse data keep their zeros instead."""
        if self.units is None or self.shift is None:
            return False
        return bool(np.array_equal(self.units[UNITS[self.method][0]], self.shift))

    @classmethod
    def fitted(cls, name: str, X: Matrix, qid: QueryIds | None = None) -> Self:
        """Learn from the rows X, of finite numbers; query ids matter to a scaling by query only."""
        name = check_name(name)
        by_query, n_features = name.startswith(BY_QUERY), int(X.shape[1])
        check_rows(name, X)
        if by_query and qid is not None:
            Queries(qid, X.shape[0])
            return cls(name, n_features)
        return cls.of_units(name, *_units(X, name.removeprefix(BY_QUERY)), centred=not is_sparse(X))

    @classmethod
    def of_units(
        cls, name: str, first: Floats, second: Floats, *, centred: bool, feature_names: Array | None = None
    ) -> Self:
        """The scaling by minimum and maximum, or by mean and standard deviation."""
        method = name.removeprefix(BY_QUERY)
        shift, scale = _shift_and_scale(method, first, second)
        units = dict(zip(UNITS[method], (first, second), strict=True))
        return cls(name, first.size, shift if centred else np.zeros_like(shift), scale, feature_names, units)

    def transform(self, X: Matrix, qid: QueryIds | None = None, n_jobs: int | None = None) -> Matrix:
        """The rows X scaled, float32 where X is float32; scaling per query uses `n_jobs` threads."""
        check_rows(self.name, X)
        if self.by_query and qid is not None:
            return _scaled_within(X, Queries(qid, X.shape[0]), self.method, thread_count(n_jobs))
        if self.shift is None or self.scale is None:
            raise ValueError("qid is missing: this QueryScaler was fitted with query ids, so transform needs them too")
        return _scaled(X, self.shift, self.scale)

    def to_dict(self) -> dict[str, Json]:
        """The same in plain numbers, lists and strings, for JSON."""
        arrays = {"shift": self.shift, "scale": self.scale} if self.units is None else self.units
        state: dict[str, Json] = {"name": self.name, "n_features": self.n_features}
        state |= {} if self.units is None else {"centred": self.centred}
        named = {} if self.feature_names is None else {"feature_names_in": self.feature_names.tolist()}
        return state | {key: array.tolist() for key, array in arrays.items() if array is not None} | named

    @classmethod
    def from_dict(cls, state: Mapping[str, Json]) -> Self:
        """The scaling whose `to_dict` gave `state`."""
        try:
            name = check_name(state["name"])
            units = UNITS[name.removeprefix(BY_QUERY)]
            fields = units if not {*units}.isdisjoint(state) else ("shift", "scale")
            numbers = [np.array(state[key], np.float64) for key in fields if key in state]
            names = np.array(state["feature_names_in"], object) if "feature_names_in" in state else None
            n_features = int(state["n_features"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the saved state of a scaler: {error}") from error
        complete = len(numbers) == 2 or (not numbers and name.startswith(BY_QUERY))
        sized = all(one.shape == (n_features,) for one in (*numbers, *([] if names is None else [names])))
        if not (complete and sized and np.isfinite(numbers).all()):
            raise ValueError(f"the saved scaler {name!r} lacks a number for some feature")
        if not numbers:
            return cls(name, n_features, feature_names=names)
        if fields != units:
            return cls(name, n_features, numbers[0], numbers[1], names)
        if (numbers[1] < (numbers[0] if "maximum" in units else 0)).any():
            raise ValueError(f"the saved scaler {name!r} has a {units[1]} that is too small for some feature")
        return cls.of_units(name, *numbers, centred=bool(state.get("centred", True)), feature_names=names)


def check_name(name: str) -> str:
    """The name of a scaler as NAMES spells it."""
    return spelled("scaler", name, NAMES)


def check_rows(name: str, X: Matrix) -> None:
    """One sentence where that scaler cannot scale the rows X."""
    if name.startswith(BY_QUERY) and is_sparse(X):
        cure = "take minmax or zscore, which keep sparse data sparse, or dense data"
        raise ValueError(f"X is sparse, and {name} would move its zeros: {cure}")
    _refuse_nonfinite(X)


def _refuse_nonfinite(X: Matrix) -> None:
    values = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = np.argwhere(~np.isfinite(values))
    if bad.size and is_sparse(X):
        raise ValueError("X holds a NaN or inf: give finite numbers only")
    if bad.size:
        raise ValueError(f"X holds a NaN or inf at row {bad[0, 0]}, column {bad[0, 1]}: give finite numbers only")


def _units(X: Matrix, method: str) -> tuple[Floats, Floats]:
    """Minimum and maximum of the columns, or mean and standard deviation; the latter is 0 if a column is constant."""
    bounds = _sparse_bounds(X) if is_sparse(X) else (X.min(axis=0), X.max(axis=0))
    low, high = (bound.astype(np.float64) for bound in bounds)
    if method == "minmax":
        return low, high
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = _moments(X)
        deviation = np.sqrt(variance)
    _check_spread(deviation)
    return mean, np.where(low == high, 0.0, deviation)


def _shift_and_scale(method: str, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    with np.errstate(over="ignore"):
        return first, _inverse(second - first if method == "minmax" else second)


def _moments(X: Matrix) -> tuple[Floats, Floats]:
    """Mean and variance of the columns, in float64 whatever X is, by blocks of rows."""
    if is_sparse(X):
        return _sparse_moments(X)
    mean, variance = np.zeros((2, X.shape[1]))
    step = max(1, BLOCK_VALUES // X.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(X), step)]
    for rows in blocks:
        mean += X[rows].astype(np.float64).sum(axis=0) / len(X)
    for rows in blocks:
        variance += np.square(X[rows] - mean).sum(axis=0) / len(X)
    return mean, variance


def _columns(X: Sparse) -> Ints:
    """The column of each number that a CSR or CSC matrix holds."""
    columns: Ints = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    return columns


def _sparse_bounds(X: Sparse) -> tuple[Array, Array]:
    """Least and greatest value of each column of a sparse matrix, its zeros among them."""
    low, high = (getattr(X, which)(axis=0).toarray().ravel() for which in ("min", "max"))
    return low, high


def _sparse_moments(X: Sparse) -> tuple[Floats, Floats]:
    """Mean and variance of the columns of a sparse matrix, in two passes with a correction for rounding.

    scikit-learn's `mean_variance_axis`, operation by operation.
    """
    n, d = X.shape
    columns, values = _columns(X), X.data.astype(np.float64)
    zeros = n - np.bincount(columns, minlength=d).astype(np.float64)
    mean = np.bincount(columns, values, minlength=d) / n
    values -= mean[columns]
    rounding = np.bincount(columns, values, minlength=d) - zeros * mean
    squares = np.bincount(columns, values * values, minlength=d) + zeros * mean**2
    return mean, (squares - rounding**2 / n) / n


def _inverse(spread: Floats) -> Floats:
    """1 / spread; 0 if a column is constant, or its spread so small that float32 cannot represent the inverse."""
    _check_spread(spread)
    return np.divide(1, spread, out=np.zeros_like(spread), where=spread >= np.finfo(np.float32).tiny)


def _check_spread(spread: Floats) -> None:
    if not np.isfinite(spread).all():
        feature = np.argwhere(~np.isfinite(spread))[0, -1]
        raise ValueError(
            f"column {feature} of X spans more than float64 can hold: divide it by its largest value first"
        )


def _scaled(X: Matrix, shift: Floats, scale: Floats) -> Matrix:
    if isinstance(X, np.ndarray):
        out: Array = X - shift.astype(X.dtype)
        out *= scale.astype(X.dtype)
        return out
    if shift.any():
        raise ValueError(
            "X is sparse, but this scaler was fitted on dense data and would move the zeros: "
            "fit it on sparse data, or give X.toarray()"
        )
    X = X.copy()
    X.data *= scale.astype(X.dtype)[_columns(X)]
    return X


def _scaled_within(X: Array, queries: Queries, method: str, n_threads: int) -> Array:
    out = np.empty_like(X)
    enough = max(1, BLOCK_VALUES // X.shape[1])

    def scale(first: int, last: int) -> None:
        """Queries first … last - 1, which share a block."""
        start, stop = queries.starts[first], queries.starts[last]
        rows = slice(start, stop) if queries.rows is None else queries.rows[start:stop]
        if last == first + 1 and stop - start >= enough:  # as large as X perhaps: the way that needs no copies of it
            out[rows] = _scaled(X[rows], *_shift_and_scale(method, *_units(X[rows], method)))
        else:
            out[rows] = _scaled_block(X[rows], queries.starts[first:last] - start, method)

    blocks = cut(queries.starts, enough)
    share(lambda bounds: scale(*bounds), blocks, n_threads)
    return out


def _scaled_block(part: Array, starts: Ints, method: str) -> Array:
    sizes = np.diff(starts, append=len(part))
    low = np.minimum.reduceat(part, starts, axis=0).astype(np.float64)
    high = np.maximum.reduceat(part, starts, axis=0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "minmax":
            shift, spread = low, high - low
        else:
            centred = part.astype(np.float64)
            shift = np.add.reduceat(centred, starts, axis=0) / sizes[:, None]
            centred -= np.repeat(shift, sizes, axis=0)
            spread = np.sqrt(np.add.reduceat(np.square(centred, out=centred), starts, axis=0) / sizes[:, None])
    _check_spread(spread)
    scale = _inverse(np.where(low == high, 0.0, spread))
    scaled = part - np.repeat(shift.astype(part.dtype), sizes, axis=0)
    scaled *= np.repeat(scale.astype(part.dtype), sizes, axis=0)
    return scaled  # type: ignore[no-any-return]
