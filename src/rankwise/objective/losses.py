"""Losses as data. With u = 1 - (s_i - s_j), a piece (t; a, b, c) adds a + b u + c u²/2 for every preference pair with
s_i - s_j < t; a loss is the sum of its pieces, and no other code knows more about it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter, signature
from itertools import groupby

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.registry import Registry, can_take

EXACT = 1e-9  # relative jump of value or slope at a threshold that counts as continuous
ROUNDED = 4 * float(np.finfo(float).eps)  # rounding error of 1 - threshold, relative to the threshold


@dataclass(frozen=True)
class Piece:
    """a + b u + c u²/2 for the pairs with s_i - s_j < threshold.

    Examples
    --------
    >>> from rankwise import losses
    >>> losses.hinge().pieces
    (Piece(threshold=1.0, constant=0.0, slope=1.0, curvature=0.0),)
    """

    threshold: float
    constant: float
    slope: float
    curvature: float


@dataclass(frozen=True)
class Loss:
    """A margin loss: its name as `parse` reads it, and its pieces. Called with margins s_i - s_j, it returns values.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankSVM, load_sample, losses
    >>> steep = losses.Loss("steep", (losses.Piece(threshold=1.0, constant=0.0, slope=0.0, curvature=8.0),))
    >>> steep(np.array([0.0, 0.5, 1.0]))
    array([4., 1., 0.])
    >>> RankSVM(loss=steep).fit(load_sample()).result_.converged
    True
    """

    name: str
    pieces: tuple[Piece, ...]
    smooth: bool = True  # whether the slope is continuous
    error: float = 0.0  # the largest error per pair, if the pieces approximate the loss of that name

    def __str__(self) -> str:
        return self.name

    @property
    def bend(self) -> float:
        """A bound on the curvature, divided by the value for equal scores; 0 if that value is 0: w = 0 is optimal."""
        at_zero = float(self(np.zeros(1))[0])
        return sum(abs(piece.curvature) for piece in self.pieces) / at_zero if at_zero else 0.0

    @property
    def minimal_for_equal_scores(self) -> bool:
        """Whether it does not fall, within rounding, where the margin rises from 0."""
        slope, size = _slope_at_zero([piece for piece in self.pieces if piece.threshold > 0.0])
        return slope >= -ROUNDED * size

    def __call__(self, margin: Array) -> Array:
        u = 1.0 - margin
        total: Array = 0.0 * u
        for piece in self.pieces:
            value = piece.constant + piece.slope * u + piece.curvature * u * u / 2
            total = total + (margin < piece.threshold) * value
        return total


def hinge() -> Loss:
    """max(0, u).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import losses
    >>> losses.hinge()(np.array([-1.0, 0.0, 1.0]))
    array([2., 1., 0.])
    """
    return Loss("hinge", (Piece(1.0, 0.0, 1.0, 0.0),), smooth=False)


def squared() -> Loss:
    """u² for every pair, also for satisfied ones: least squares on the differences of scores.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import losses
    >>> losses.squared()(np.array([-1.0, 0.0, 1.0, 2.0]))
    array([4., 1., 0., 1.])
    """
    return Loss("squared", (Piece(float("inf"), 0.0, 0.0, 2.0),))


def squared_hinge() -> Loss:
    """max(0, u)².

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import losses
    >>> losses.squared_hinge()(np.array([-1.0, 0.0, 1.0, 2.0]))
    array([4., 1., 0., 0.])
    """
    return Loss("squared_hinge", (Piece(1.0, 0.0, 0.0, 2.0),))


def huber(width: float = 1.0) -> Loss:
    """u²/2h up to u = h, then u - h/2: the hinge with its corner rounded over the width h.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import losses
    >>> losses.huber(0.5)(np.array([-1.0, 0.5, 0.75, 2.0]))
    array([1.75  , 0.25  , 0.0625, 0.    ])
    """
    if not 0 < width < float("inf"):
        raise ValueError(f"the width of huber is {width:g}: it must be positive and finite, as in 'huber:0.5'")
    quadratic = Piece(1.0, 0.0, 0.0, 1.0 / width)
    to_linear = Piece(1.0 - width, -width / 2, 1.0, -1.0 / width)
    return Loss(f"huber:{width!r}", (quadratic, to_linear))


def beyond(width: float) -> Loss:
    """u where u > width, else 0: the hinge without its corner. Not for fitting: it has the linear part of huber."""
    return Loss(f"beyond:{width!r}", (Piece(1.0 - width, 0.0, 1.0, 0.0),), smooth=False)


def reaching(loss: Loss, further: float) -> Loss:
    """The pieces of a loss for margins larger by `further`, too. Not for fitting: it may jump."""
    pieces = tuple(replace(piece, threshold=piece.threshold + further) for piece in loss.pieces)
    return Loss(f"{loss}, {further!r} further", pieces, smooth=False)


@cache
def logistic(error: float = 1e-3) -> Loss:
    """log(1 + exp(-(s_i - s_j))), approximated by a convex quadratic spline with an error of at most `error`.

    The spline is Σ c_k max(0, t_k - margin)²/2. For given knots t, a linear program finds the c with the smallest
    maximum error on a fine grid, such that the curvature is nowhere negative and the tails are 0 to the right and
    -margin to the left. The knots are denser in the middle, where the curvature is; their number is increased until the
    error on the grid is 2 % below `error`, which leaves room for the points between.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import losses
    >>> margins = np.linspace(-3, 3, 100)
    >>> bool(np.abs(losses.logistic(0.01)(margins) - np.log1p(np.exp(-margins))).max() <= 0.01)
    True
    """
    if not 1e-5 <= error <= 0.1:
        raise ValueError(f"the error of logistic is {error:g}: it must be between 1e-5 and 0.1, as in 'logistic:1e-3'")
    end = -float(np.log(np.expm1(0.7 * error)))  # for larger margins, 0 is close enough
    n_knots = 4
    while True:
        at = np.linspace(-1, 1, n_knots)
        knots = end * np.sign(at) * np.abs(at) ** 1.4
        off, curvatures = _best_spline(knots, lambda margin: np.logaddexp(0.0, -margin))
        if off <= 0.98 * error:
            break
        n_knots += max(1, n_knots // 8)
    pieces = [Piece(t, c * (t - 1) ** 2 / 2, c * (t - 1), c) for t, c in zip(knots.tolist(), curvatures, strict=True)]
    return Loss(f"logistic:{error!r}", tuple(pieces), error=error)


def _best_spline(knots: Array, wanted: Callable[[Array], Array]) -> tuple[float, list[float]]:
    """The largest error of the best spline with these knots (infinity if there is no spline), and its curvatures."""
    from scipy.optimize import linprog

    n = knots.size
    grid = np.linspace(knots[0] - 1, knots[-1] + 1, 40 * n)
    spline, values, one = np.maximum(knots - grid[:, None], 0.0) ** 2 / 2, wanted(grid), np.ones((grid.size, 1))
    convex = np.hstack((-np.triu(np.ones((n, n))), np.zeros((n, 1))))
    most = np.vstack((np.hstack((spline, -one)), np.hstack((-spline, -one)), convex))
    tails = np.column_stack((np.vstack((np.ones(n), knots, knots**2)), np.zeros(3)))
    solution = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=most,
        b_ub=np.concatenate((values, -values, np.zeros(n))),
        A_eq=tails,
        b_eq=[0.0, 1.0, 0.0],
        bounds=[(None, None)] * n + [(0, None)],
    )
    return (float(solution.x[-1]), solution.x[:-1].tolist()) if solution.success else (float("inf"), [])


LossMaker = Callable[..., Loss]  # called without arguments, or with the number after the colon of its name

LOSSES: Registry[Loss | LossMaker] = Registry(
    "loss",
    {"hinge": hinge, "squared_hinge": squared_hinge, "huber": huber, "logistic": logistic, "squared": squared},
)


def register_loss(name: str, loss: Loss | LossMaker | str, *, replace: bool = False) -> None:
    """Register `name` for a loss: `RankSVM(loss=name)`.

    loss     a `Loss` of that name; or a function that returns one, whose argument, if it has one, is the number after
             the colon of "name:0.5"; or the place where either is defined, "package.module:name"
    replace  whether to replace a loss that is registered under this name

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample, losses, register_loss
    >>> half = losses.Loss("half-squared-hinge", (losses.Piece(threshold=1.0, constant=0.0, slope=0.0, curvature=1.0),))
    >>> register_loss("half-squared-hinge", half)
    >>> RankSVM(loss="half-squared-hinge").fit(load_sample()).result_.converged
    True
    """
    if isinstance(loss, Loss):
        _checked(loss)
        if loss.name != name:
            raise ValueError(f"the loss to be registered as {name!r} is called {loss.name!r}: the names must agree")
    elif not isinstance(loss, str):
        if not can_take(loss) and not can_take(loss, 1.0):
            raise TypeError(f"a loss is a Loss, or a function of at most one number that returns one; got {loss!r}")
        if can_take(loss):
            _checked(loss())
    LOSSES.register(name, loss, replace=replace)


def parse(text: str | Loss) -> Loss:
    """The loss of that name, which may be followed by a colon and the value of its parameter, as in 'huber:0.5'.

    Examples
    --------
    >>> from rankwise import losses
    >>> losses.parse("huber:0.5") == losses.huber(0.5)
    True
    """
    if isinstance(text, Loss):
        return _checked(text)
    name, colon, number = str(text).strip().partition(":")
    entry = LOSSES[name]
    if not colon:
        if not isinstance(entry, Loss) and not can_take(entry):
            raise ValueError(f"loss {text!r} needs a parameter: write it as '{name}:1'")
        return _checked(entry if isinstance(entry, Loss) else entry())
    defaults = [] if isinstance(entry, Loss) else [one.default for one in signature(entry).parameters.values()]
    if isinstance(entry, Loss) or not defaults:
        raise ValueError(f"loss {text!r}: {name} takes no parameter")
    try:
        value = float(number)
    except ValueError:
        example = 1 if defaults[0] is Parameter.empty else defaults[0]
        raise ValueError(f"loss {text!r}: {number!r} is not a number; write it as '{name}:{example}'") from None
    return _checked(entry(value))


def _checked(loss: object) -> Loss:
    """The loss itself; an error if it cannot be minimised."""
    if not isinstance(loss, Loss):
        raise TypeError(f"a loss must be a rankwise.losses.Loss; got {loss!r}")
    if not all(isinstance(piece, Piece) for piece in loss.pieces):
        raise TypeError(f"loss {loss}: pieces must be a tuple of Piece; got {loss.pieces!r}")
    _check_shape(loss)
    return loss


@cache
def _check_shape(loss: Loss) -> None:
    _check_pieces(loss)
    _check_values(loss)


def _check_values(loss: Loss) -> None:
    """Raise ValueError if a loss is negative or not finite, or increases with the margin at 0."""
    gaps = np.append(np.linspace(-5.0, 5.0, 101), [one.threshold for one in loss.pieces if abs(one.threshold) < 1e6])
    values = loss(gaps)
    if not np.isfinite(values).all():
        raise ValueError(f"loss {loss} is not finite at the margin {gaps[~np.isfinite(values)][0]:g}")
    worst = int(values.argmin())
    if values[worst] < -EXACT * float(np.abs(values).max()):
        raise ValueError(f"loss {loss} is {values[worst]:g} at the margin {gaps[worst]:g}: it must not be negative")
    slope, size = _slope_at_zero([piece for piece in loss.pieces if piece.threshold >= 0.0])
    if slope > EXACT * size:
        raise ValueError(f"loss {loss} rises with the margin at 0: minimising it would put the worse documents first")


def _slope_at_zero(pieces: Iterable[Piece]) -> tuple[float, float]:
    """The slope of the pieces at the margin 0, where u is 1, and the sum of their sizes."""
    slope, size = 0.0, 0.0
    for piece in pieces:
        slope -= piece.slope + piece.curvature
        size += abs(piece.slope) + abs(piece.curvature)
    return slope, size


def _check_pieces(loss: Loss) -> None:
    """Raise ValueError if a loss is not convex, not continuous, or has a corner although `smooth` is true."""
    curvature, largest = 0.0, sum(abs(piece.curvature) for piece in loss.pieces)
    if not loss.pieces:
        raise ValueError(f"loss {loss} has no pieces")
    by_threshold = sorted(loss.pieces, key=lambda piece: -piece.threshold)
    for threshold, pieces in groupby(by_threshold, key=lambda piece: piece.threshold):
        group = list(pieces)
        curvature += sum(piece.curvature for piece in group)
        if curvature < -EXACT * largest:
            raise ValueError(f"loss {loss} is not convex: its curvature below the margin {threshold:g} is negative")
        if threshold == float("inf"):
            continue
        u = 1.0 - threshold
        in_u = ROUNDED * max(1.0, abs(threshold))
        jump = sum(piece.constant + piece.slope * u + piece.curvature * u * u / 2 for piece in group)
        corner = sum(piece.slope + piece.curvature * u for piece in group)
        sizes = [abs(piece.slope) + abs(piece.curvature * u) for piece in group]
        in_corner = EXACT * sum(sizes) + in_u * sum(abs(piece.curvature) for piece in group)
        if abs(jump) > EXACT * sum(abs(piece.constant) for piece in group) + (EXACT * abs(u) + in_u) * sum(sizes):
            raise ValueError(f"loss {loss} jumps by {jump:g} at the margin {threshold:g}: it must be continuous")
        if corner < -in_corner:
            raise ValueError(f"loss {loss} is not convex: its slope falls at the margin {threshold:g}")
        if loss.smooth and corner > in_corner:
            raise ValueError(f"loss {loss} has a corner at the margin {threshold:g}: give it smooth=False")
