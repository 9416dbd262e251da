"""Solvers: called with (objective, start, callback), they return a `Result`.

`Newton` and `TrustRegion` minimise anything with `.at(w)` and know no ranking; their detours and samples are for
objectives that offer more (see `rankwise.foundation.functions`). `Smoothing` is for the hinge. `Newton` and `Smoothing`
also take penalties with corners. `Stochastic` and `DualCoordinateAscent` use single pairs.
"""

from rankwise.foundation.functions import Expansion, Function
from rankwise.solvers.automatic import WORTH_SAMPLING, cheapest
from rankwise.solvers.base import Callback, Result, Start, Step
from rankwise.solvers.choice import NEEDS, SOLVERS, Solver, make_solver, name_of, needs_of, register_solver
from rankwise.solvers.dual import DualCoordinateAscent
from rankwise.solvers.newton import Newton
from rankwise.solvers.smoothing import Smoothing
from rankwise.solvers.stochastic import Stochastic
from rankwise.solvers.trust_region import TrustRegion

__all__ = [
    "NEEDS",
    "SOLVERS",
    "WORTH_SAMPLING",
    "Callback",
    "DualCoordinateAscent",
    "Expansion",
    "Function",
    "Newton",
    "Result",
    "Smoothing",
    "Solver",
    "Start",
    "Step",
    "Stochastic",
    "TrustRegion",
    "cheapest",
    "make_solver",
    "name_of",
    "needs_of",
    "register_solver",
]
