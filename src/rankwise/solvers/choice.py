"""From the argument `solver` to a solver that can handle the problem.

A solver is anything called with (objective, start, callback) that returns a `Result`. Its attribute `needs` lists what
it requires of the problem, as keys of `NEEDS`; a solver without that attribute is assumed to need NumPy arrays.
A true attribute `takes_penalties` says that it minimises objectives with any penalty, not only ½|w|².
"""

from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Protocol, cast

from rankwise.foundation.devices import AnyFloats, library_of
from rankwise.foundation.registry import Registry, can_take
from rankwise.objective.losses import Loss, hinge
from rankwise.objective.objective import Objective
from rankwise.objective.stored import Features, is_stored
from rankwise.solvers.automatic import automatic, automatic_name, smoothing
from rankwise.solvers.base import Callback, Result, Start
from rankwise.solvers.dual import DualCoordinateAscent, has_dual
from rankwise.solvers.newton import Newton
from rankwise.solvers.stochastic import Stochastic
from rankwise.solvers.trust_region import TrustRegion


class Solver(Protocol):
    """What minimises an objective: it starts from `start`, or from zero, and calls `callback` after every step.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.solvers import Newton, Solver
    >>> solver: Solver = Newton(tol=1e-9)
    >>> RankSVM(solver=solver).fit(load_sample()).result_.converged
    True
    """

    def __call__(
        self, objective: Objective, start: AnyFloats | Start | None = None, callback: Callback | None = None
    ) -> Result: ...


Entry = Callable[..., object]  # a solver, or a class or function that makes one from some of `OPTIONS`
CALLED_WITH = ("objective", None, None)  # a solver: objective, start, callback
OPTIONS = ("tol", "max_iter", "random_state", "stopping", "loss", "X", "corners")

SOLVERS: Registry[Entry] = Registry(
    "solver",
    {
        "auto": automatic,
        "newton": Newton,
        "newton-cg": partial(Newton, inner="cg"),
        "trust-region": TrustRegion,
        "trust-region-diagonal": partial(TrustRegion, precondition="diagonal"),
        "trust-region-sampled": partial(TrustRegion, precondition="sampled"),
        "smoothing": smoothing,
        "sgd": Stochastic,
        "sgd-queries": partial(Stochastic, over="queries"),
        "dual": DualCoordinateAscent,
    },
    extension="rankwise.papers",
)

# need -> whether it is met, what is said if not, and what to do instead
NEEDS: dict[str, tuple[Callable[[Loss, Features], bool], str, str]] = {
    "smooth loss": (lambda loss, X: loss.smooth, "needs a smooth loss, and {loss} has a corner", "use 'auto'"),
    "hinge loss": (
        lambda loss, X: loss.pieces == hinge().pieces,
        "is for the hinge loss",
        "for {loss} use 'auto'",
    ),
    "dual loss": (
        lambda loss, X: has_dual(loss),
        "is for the losses hinge, squared_hinge and huber",
        "for {loss} use 'auto'",
    ),
    "NumPy arrays": (
        lambda loss, X: library_of(X) is None,
        "takes arrays of NumPy only",
        "for other arrays use 'auto'",
    ),
    "single pairs": (
        lambda loss, X: not is_stored(X),
        "uses single rows, which must be in memory",
        "use 'auto', or pass data.read()",
    ),
}
NO_PENALTIES = ("takes neither monotonic_cst nor l1_ratio", "use 'auto'")


def register_solver(name: str, solver: Entry | str, *, replace: bool = False) -> None:
    """Register `name` for a solver: `RankSVM(solver=name)`.

    solver   called with (objective, start, callback), returns a `Result`; or a class or function that makes one, called
             with those of tol, max_iter, random_state, stopping, loss, X and corners (whether the penalty has any) that
             are among its parameters; or the place where it is defined, "package.module:name"
    replace  whether to replace a solver that is registered under this name

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample, register_solver
    >>> from rankwise.solvers import Newton
    >>> register_solver("patient-newton", Newton(tol=1e-9, max_iter=1000))
    >>> RankSVM(solver="patient-newton").fit(load_sample()).result_.converged
    True
    """
    if not isinstance(solver, str) and not _is_entry(solver):
        raise TypeError(f"a solver is called with (objective, start, callback); got {solver!r}")
    SOLVERS.register(name, solver, replace=replace)


def needs_of(solver: str | Entry) -> tuple[str, ...]:
    """The declared needs of a solver, of the class that makes it, or of the solver of that name.

    Examples
    --------
    >>> from rankwise.solvers import needs_of
    >>> needs_of("sgd")
    ('NumPy arrays', 'single pairs')
    """
    entry = SOLVERS[solver] if isinstance(solver, str) else solver
    kind = entry.func if isinstance(entry, partial) else entry
    needs: tuple[str, ...] = getattr(kind, "needs", ("NumPy arrays",))
    for need in needs:
        if need not in NEEDS:
            raise ValueError(f"needs of {kind!r} must be among {', '.join(map(repr, NEEDS))}; got {need!r}")
    return needs


def name_of(solver: str | Solver) -> str:
    """What messages call a solver.

    Examples
    --------
    >>> from rankwise.solvers import Newton, name_of
    >>> name_of("newton-cg"), name_of(Newton())
    ('newton-cg', 'Newton')
    """
    return solver if isinstance(solver, str) else getattr(solver, "__name__", type(solver).__name__)


def make_solver(
    solver: str | Solver,
    loss: Loss,
    X: Features,
    *,
    tol: float,
    max_iter: int | None = None,
    random_state: int = 0,
    stopping: str = "gap",
    corners: bool = False,
) -> Solver:
    """The solver of that name with these options; an object has its own options and is returned as it is.

    corners  whether the penalty has corners, as one that fixes signs or makes weights 0 has

    An error, before anything is computed, if the solver cannot handle the loss, the penalty or X.

    Examples
    --------
    >>> from rankwise import load_sample, losses
    >>> from rankwise.solvers import make_solver
    >>> make_solver("newton", losses.squared_hinge(), load_sample().X, tol=1e-6).tol
    1e-06
    """
    if isinstance(solver, str):
        asked = SOLVERS.spelling(solver)
        name = automatic_name(loss) if asked == "auto" else asked
        given = {
            "tol": tol,
            "random_state": random_state,
            "stopping": stopping,
            "loss": loss,
            "X": X,
            "corners": corners,
        }
        made = _made(name, given | ({} if max_iter is None else {"max_iter": max_iter}))
    elif callable(solver):
        asked = name = name_of(solver)
        made = solver
    else:
        raise TypeError(f"solver must be a name or be called with (objective, start, callback); got {solver!r}")
    lacks = [why for is_met, *why in (NEEDS[need] for need in needs_of(made)) if not is_met(loss, X)]
    if corners and not getattr(made, "takes_penalties", False):
        lacks.insert(0, [*NO_PENALTIES])
    if lacks:
        what, instead = (text.format(loss=loss) for text in lacks[0])
        if asked == "auto":  # which has chosen the only solver that there is
            raise ValueError(f"the loss {loss} needs solver {name!r}, which {what}")
        raise ValueError(f"solver {name!r} {what}: {instead}")
    return made


def _made(name: str, given: dict[str, object]) -> Solver:
    """The solver of that name, made with those of the given options that it has."""
    entry = SOLVERS[name]
    parameters = signature(entry).parameters
    if given["stopping"] != "gap" and "stopping" not in parameters:
        raise ValueError(
            f"stopping={given['stopping']!r} is for solvers of smooth losses: solver {name!r} stops by its gap"
        )
    is_maker = _makes_solvers(entry)
    made = entry(**{key: value for key, value in given.items() if key in parameters}) if is_maker else entry
    if not can_take(made, *CALLED_WITH):
        raise TypeError(f"solver {name!r} must be called with (objective, start, callback); got {made!r}")
    return cast(Solver, made)


def _is_entry(given: Entry) -> bool:
    """Whether this is a solver or makes one, as far as can be told without a problem to solve."""
    try:
        is_maker = _makes_solvers(given)
    except (TypeError, ValueError):  # nothing to call, or a class such as int, which has no signature
        return False
    if not is_maker:
        return can_take(given, *CALLED_WITH)
    return not can_take(given) or can_take(given(), *CALLED_WITH)


def _makes_solvers(entry: Entry) -> bool:
    """Whether an entry needs nothing but options: else it needs an objective, and is the solver itself."""
    needed = [key for key, one in signature(entry).parameters.items() if one.default is Parameter.empty]
    return set(needed) <= set(OPTIONS)
